"""A 3 Patti table at a casino over real HTTP, its clock ticked by hand, and players who send what they like."""

import secrets
from typing import Any

import httpx

from domain.game import Role
from tests.services.conftest import Casino

CONFIG = {
    "currency": "EUR", "boot": 100, "chip": 10, "seats": 4, "buy_in_min": 1_000, "buy_in_max": 20_000,
    "max_stake": 1_600, "pot_limit": 0, "pause_seconds": 0, "see": "any_time", "rake_bps": 250,
}  # fmt: skip
BUY_IN = 5_000
CASH = 10_000


class PattiTable:
    """`tokens` by player; who acts is named, and everything goes over HTTP."""

    def __init__(self, casino: Casino, table: str) -> None:
        self.casino = casino
        self.name = table
        self.tokens: dict[str, str] = {}

    async def open(self, *players: str, **config: Any) -> "PattiTable":
        """The table, and these players at it with their hands dealt. Names are the table's own: `a` is `<table>-a`."""
        body = {"table": self.name, "game": "three_patti", "config": CONFIG | config}
        await self.casino.done("/v1/tables", body)
        await self.casino.tick(self.name)
        for player in players:
            await self.arrive(player)
            await self.does(player, "SitDown", amount=BUY_IN)
        if players:
            await self.dealt()
        return self

    def full(self, player: str) -> str:
        return f"{self.name}-{player}"

    async def arrive(self, player: str, cash: int = CASH) -> str:
        self.tokens[player] = await self.casino.player(self.full(player), cash)
        return self.tokens[player]

    async def dealt(self) -> Any:
        """Let the clock tick until a hand is on."""
        return await self.casino.until(self.name, "turn")

    async def send(self, player: str, kind: str, key: str = "", **fields: Any) -> httpx.Response:
        body = {"type": kind, **fields}
        return await self.casino.send(f"/v1/tables/{self.name}/commands", body, self.tokens[player], key)

    async def does(self, player: str, kind: str, **fields: Any) -> Any:
        answer = await self.send(player, kind, **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def staff(self, kind: str, **fields: Any) -> Any:
        body = {"type": kind, **fields}
        return await self.casino.done(
            f"/v1/tables/{self.name}/commands", body, self.casino.bearer(Role.SUPERVISOR), secrets.token_hex(6)
        )

    async def view(self, player: str = "") -> Any:
        bearer = self.tokens[player] if player else self.casino.bearer(Role.SUPERVISOR)
        return (await self.casino.get(f"/v1/tables/{self.name}", bearer))["view"]

    async def turn(self) -> str:
        """Whose turn it is."""
        view = await self.view()
        [seat] = [seat for seat in view["seats"] if seat["seat"] == view["turn"]]
        return seat["player"].removeprefix(f"{self.name}-")

    async def seat(self, player: str, viewer: str = "") -> Any:
        view = await self.view(viewer)
        return next((seat for seat in view["seats"] if seat["player"] == self.full(player)), None)

    async def allowed(self, player: str) -> dict[str, Any]:
        return {entry["command"]: entry for entry in (await self.view(player))["allowed"]}

    async def circuit(self) -> None:
        """Everybody bets the least once; whose turn it then is, is the first again."""
        for _ in range(len([seat for seat in (await self.view())["seats"] if seat["status"] in ("blind", "seen")])):
            player = await self.turn()
            await self.does(player, "Bet", amount=(await self.allowed(player))["Bet"]["min"])

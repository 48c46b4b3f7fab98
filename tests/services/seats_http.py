"""A table of a game with chips at a casino over real HTTP, its clock ticked by hand, and players who send what they
like.
"""

import secrets
from typing import Any, ClassVar, Self

import httpx

from domain.game import Role
from tests.services.conftest import Casino

CASH = 10_000


class SeatsOverHttp:
    """`tokens` by player; who acts is named, and everything goes over HTTP. A game adds what is played.

    Names are the table's own: `a` is `<table>-a`.
    """

    game = ""
    config: ClassVar[dict[str, Any]] = {}
    buy_in = 0

    def __init__(self, casino: Casino, table: str) -> None:
        self.casino = casino
        self.name = table
        self.tokens: dict[str, str] = {}

    async def open(self, *players: str, **config: Any) -> Self:
        """The table, with these players at it."""
        body = {"table": self.name, "game": self.game, "config": self.config | config}
        await self.casino.done("/v1/tables", body)
        await self.casino.tick(self.name)
        for player in players:
            await self.arrive(player)
            await self.does(player, "SitDown", amount=self.buy_in)
        return self

    def full(self, player: str) -> str:
        return f"{self.name}-{player}"

    async def arrive(self, player: str, cash: int = CASH) -> str:
        self.tokens[player] = await self.casino.player(self.full(player), cash)
        return self.tokens[player]

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

    async def void(self, kind: str, reason: str) -> Any:
        """It takes two: one supervisor pauses, another one cancels."""
        return await self.casino.void(self.name, reason, kind)

    async def view(self, player: str = "") -> Any:
        bearer = self.tokens[player] if player else self.casino.bearer(Role.SUPERVISOR)
        return (await self.casino.get(f"/v1/tables/{self.name}", bearer))["view"]

    async def allowed(self, player: str) -> dict[str, Any]:
        return {entry["command"]: entry for entry in (await self.view(player))["allowed"]}


async def balance(casino: Casino, player: str) -> int:
    await casino.project()
    return (await casino.get(f"/v1/players/{player}/balance"))["balance"]


async def unchanged(casino: Casino) -> list[object]:
    """Every stream but the records of refusals."""
    query = "select stream, version, state from streams where stream not like 'refused:%' order by 1"
    return await casino.services.pool.fetch(query)

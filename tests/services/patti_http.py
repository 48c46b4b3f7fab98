"""A 3 Patti table at a casino over real HTTP."""

from typing import Any, Self

from tests.services.seats_http import SeatsOverHttp

CONFIG = {
    "currency": "EUR", "boot": 100, "chip": 10, "seats": 4, "buy_in_min": 1_000, "buy_in_max": 20_000,
    "max_stake": 1_600, "pot_limit": 0, "pause_seconds": 0, "see": "any_time", "rake_bps": 250,
}  # fmt: skip
BUY_IN = 5_000


class PattiTable(SeatsOverHttp):
    game = "three_patti"
    config = CONFIG
    buy_in = BUY_IN

    async def open(self, *players: str, **config: Any) -> Self:
        """The table, and these players at it with their hands dealt."""
        await super().open(*players, **config)
        if players:
            await self.dealt()
        return self

    async def dealt(self) -> Any:
        """Let the clock tick until a hand is on."""
        return await self.casino.until(self.name, "turn")

    async def turn(self) -> str:
        """Whose turn it is."""
        view = await self.view()
        [seat] = [seat for seat in view["seats"] if seat["seat"] == view["turn"]]
        return seat["player"].removeprefix(f"{self.name}-")

    async def seat(self, player: str, viewer: str = "") -> Any:
        view = await self.view(viewer)
        return next((seat for seat in view["seats"] if seat["player"] == self.full(player)), None)

    async def circuit(self) -> None:
        """Everybody bets the least once; whose turn it then is, is the first again."""
        for _ in range(len([seat for seat in (await self.view())["seats"] if seat["status"] in ("blind", "seen")])):
            player = await self.turn()
            await self.does(player, "Bet", amount=(await self.allowed(player))["Bet"]["min"])

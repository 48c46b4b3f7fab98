"""Load for the scenarios: players who bet, take back, and whose operator moves cash, each at once with all others."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from domain.games import GAMES
from infra.eventlog import DATABASE_ERRORS
from ops.fault_house import House

GAME = GAMES["teen_patti_2020"]
SPOTS = ("player_a", "player_b", "tie")
LOOK_S = 0.05


class Load:
    """`round` is the one that takes bets now, as everybody sees it a moment late."""

    def __init__(self, house: House, players: int) -> None:
        self.house = house
        self.players = house.players[:players]
        self.round = ""
        self.over = False

    async def run(self, seconds: float) -> None:
        clock = asyncio.get_running_loop()
        until = clock.time() + seconds
        looking = asyncio.create_task(self._look())
        try:
            await asyncio.gather(*(self._live(player, until) for player in self.players))
        finally:
            looking.cancel()

    async def _look(self) -> None:
        while True:
            try:
                state = await self.house.state()
            except DATABASE_ERRORS:  # Postgres is away: that is what we are here for
                self.round = ""
            else:
                self.round = (GAME.round(state) or "") if type(state).__name__ == "Betting" else ""
            await asyncio.sleep(LOOK_S)

    async def _live(self, player: str, until: float) -> None:
        house, dice = self.house, random.Random(player)  # noqa: S311 - so that a run can be told again
        clock, bets = asyncio.get_running_loop(), list[str]()
        while clock.time() < until:
            chance = dice.random()
            if chance < 0.1:
                await house.deposit(player, dice.randint(1, 5_000))
            elif chance < 0.2:
                await house.withdraw(player, dice.randint(1, 5_000))
            elif chance < 0.35 and bets:
                await house.cancel_bet(player, bets.pop())
            elif self.round:
                bets.append(house.key())
                await house.bet(player, self.round, {dice.choice(SPOTS): 100 * dice.randint(1, 9)}, bets[-1])
            await asyncio.sleep(dice.random() * 0.05)


async def under_load(house: House, seconds: float, fault: Callable[[], Awaitable[None]], *, players: int = 24) -> None:
    """Players live for some seconds; in the middle of it, the fault."""
    if len(house.players) < players:
        await house.open_players(players - len(house.players))
    load = asyncio.create_task(Load(house, players).run(seconds))
    try:
        await asyncio.sleep(seconds / 4)
        await fault()
    except BaseException:
        load.cancel()
        raise
    await load

"""A 3 Patti table on real servers, played through an executor whose vault has keys: hands of each kind, for tests of
what becomes of them.

Whoever acts first in a hand is `first`, then `second` and `third`: who that is depends on the dealer.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from domain.decider import TABLE, Submission
from domain.game import Role, TimeOut
from domain.games import GAMES
from infra import codec, eventlog, postgres
from services.batch import Accepted
from services.executor import Executor

GAME = GAMES["three_patti"]
CONFIG = {
    "currency": "EUR",
    "boot": 100,
    "chip": 10,
    "buy_in_min": 1_000,
    "buy_in_max": 10_000,
    "rake_bps": 500,
    "turn_seconds": 300,
    "pause_seconds": 0,
}
BUY_IN = 5_000
BOOT, BLIND, SEEN = 100, 100, 200
"""What is put in, as long as nobody raises: to be dealt a hand, blind, and seen."""


class Patti:
    def __init__(self, executor: Executor, pool: postgres.Pool, operator: str, table: str = "p") -> None:
        self.executor = executor
        self.pool = pool
        self.operator = operator
        self.stream = TABLE + table
        self.keys = 0

    async def asks(self, actor: str, role: Role, type_name: str, *, game: str = "", **fields: Any) -> Any:
        """The answer to a command, whatever it is."""
        self.keys += 1
        told = {"type": type_name, **fields}
        command = msgspec.convert(told, GAME.commands[role])
        text = msgspec.json.encode(told).decode()
        key = f"{self.stream.partition(':')[2]}-{self.keys}"
        submission = Submission(self.operator, actor, role, self.stream, command, key, game, text)
        return await self.executor.submit(submission, b"f")

    async def does(self, player: str, type_name: str, **fields: Any) -> Accepted:
        answer = await self.asks(player, Role.PLAYER, type_name, **fields)
        assert isinstance(answer, Accepted), (player, type_name, answer)
        return answer

    async def supervisor(self, type_name: str, **fields: Any) -> Accepted:
        answer = await self.asks("sue", Role.SUPERVISOR, type_name, **fields)
        assert isinstance(answer, Accepted), (type_name, answer)
        return answer

    async def open(self, *players: str, amount: int = BUY_IN, **config: Any) -> "Patti":
        """The table, with these players at it, in this order."""
        opened = await self.asks("ops", Role.OPERATOR, "OpenTable", game=GAME.name, config=CONFIG | config)
        assert isinstance(opened, Accepted), opened
        for player in players:
            await self.does(player, "SitDown", amount=amount)
        return self

    async def state(self) -> Any:
        row = await self.pool.fetchrow(eventlog.SQL["stream"], self.operator, self.stream)
        return codec.decode_state(row["decider"], row["state"])

    async def tick(self, until: Callable[[Any], bool]) -> Any:
        """Send the table's clock until its state is as wanted."""
        async with asyncio.timeout(15):
            while not until(state := await self.state()):
                await self.executor.submit(Submission(self.operator, "platform", Role.CLOCK, self.stream, TimeOut()))
                await asyncio.sleep(0.01)
            return state

    async def deals(self) -> tuple[str, ...]:
        """The next hand: its id, and whoever is in it, in the order in which they act."""
        state = await self.tick(lambda state: GAME.round(state) is not None)
        return state.round.id, *(each.player for each in state.round.players)

    async def turn(self) -> str:
        state = await self.state()
        return state.round.at(getattr(state, "target", None) or state.seat).player

    # --- Hands of three, played to the end; each gives its round's id -------------------------------------------------

    async def all_see(self) -> tuple[str, ...]:
        """Everybody looks at the cards and goes on: 900 in the pot."""
        round_id, *players = await self.deals()
        for player in players:
            await self.does(player, "SeeCards")
            await self.does(player, "Bet", amount=SEEN)
        return round_id, *players

    async def shown(self) -> str:
        """The third folds, the first asks for a show and both pay: a pot of 1,700, of which 85 are raked."""
        round_id, first, second, third = await self.all_see()
        await self.does(first, "Bet", amount=SEEN)
        await self.does(second, "Bet", amount=SEEN)
        await self.does(third, "Fold")
        await self.does(first, "Show")
        return round_id

    async def folded(self) -> str:
        """The first bets blind and the others fold: a pot of 400, without rake, for it is the first circuit."""
        round_id, first, second, third = await self.deals()
        await self.does(first, "Bet", amount=BLIND)
        await self.does(second, "Fold")
        await self.does(third, "Fold")
        return round_id

    async def sideshow(self) -> str:
        """The first and the third compare their hands in private; the two who are left show: a pot of 1,500."""
        round_id, first, _, third = await self.all_see()
        await self.does(first, "SideShow")
        await self.does(third, "AnswerSideShow", accept=True)
        await self.does(await self.turn(), "Show")
        return round_id

    async def still_on(self) -> str:
        """The first has bet, and the second is to act: 400 in the pot."""
        round_id, first, *_ = await self.deals()
        await self.does(first, "Bet", amount=BLIND)
        return round_id

    async def cancelled(self) -> str:
        round_id = await self.still_on()
        await self.supervisor("CancelRound", reason="a card fell off the table")
        return round_id

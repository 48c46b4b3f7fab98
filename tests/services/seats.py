"""A table of a game with chips on real servers, played through an executor whose vault has keys."""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, Self

import msgspec

from domain.decider import Submission
from domain.game import Role, TimeOut
from domain.games import GAMES
from domain.names import TABLE
from infra import codec, eventlog, postgres
from services.batch import Accepted
from services.executor import Executor


class Seats:
    """Whoever plays, by commands as they come over HTTP. A game adds what is played."""

    game = ""
    config: ClassVar[dict[str, Any]] = {}
    buy_in = 0

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
        command = msgspec.convert(told, GAMES[self.game].commands[role])
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

    async def void(self, type_name: str, **fields: Any) -> Accepted:
        """It takes two: one supervisor pauses, another one cancels."""
        assert isinstance(await self.asks("sid", Role.SUPERVISOR, "Pause", reason="a doubt"), Accepted)
        return await self.supervisor(type_name, **fields)

    async def open(self, *players: str, amount: int = 0, **config: Any) -> Self:
        """The table, with these players at it, in this order."""
        opened = await self.asks("ops", Role.OPERATOR, "OpenTable", game=self.game, config=self.config | config)
        assert isinstance(opened, Accepted), opened
        for player in players:
            await self.does(player, "SitDown", amount=amount or self.buy_in)
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

"""What all bots share, whatever they play: how often they ask, who they are, and going on whenever something fails."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from secrets import SystemRandom
from typing import Any, TypeVar

import httpx

from infra import tasks
from ops.client import Client, Problem

CURRENCY = "INR"
TOP_UP = 500_000
LOST = (httpx.HTTPError, OSError)

T = TypeVar("T")

chance = SystemRandom()


class Pace:
    """So many commands a second and no more, whoever sends them."""

    def __init__(self, a_second: int) -> None:
        self._interval = 1 / a_second
        self._next = 0.0

    async def turn(self) -> None:
        now = asyncio.get_running_loop().time()
        self._next = max(now, self._next + self._interval)
        await asyncio.sleep(self._next - now)


class Bot:
    """A player of the house: an ordinary caller, whose money is topped up when it is gone."""

    def __init__(self, name: str, operator: Client) -> None:
        self.name = name
        self._operator = operator
        self._client: Client | None = None

    async def arrive(self) -> None:
        opened = await self._operator.open_player(self.name, CURRENCY)
        if opened.balance and opened.balance.cash < TOP_UP // 10:
            await self.bring_money()

    async def bring_money(self) -> None:
        await self._operator.deposit(self.name, TOP_UP, CURRENCY, "top-up")

    async def ask(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Do this as the player; a token that has expired is replaced."""
        for last in (False, True):
            if self._client is None:
                self._client = self._operator.acting_as((await self._operator.session(self.name)).token)
            try:
                return await work(self._client)
            except Problem as problem:
                if problem.status != 401 or last:
                    raise
                self._client = None
        raise AssertionError


async def quietly(work: Coroutine[Any, Any, Any]) -> None:
    with suppress(Problem, *LOST):
        await work


@asynccontextmanager
async def beside() -> AsyncGenerator[Callable[[Coroutine[Any, Any, Any]], None]]:
    """To begin work beside a table that is watched. When the watching ends, so does all of it: nothing is asked of a
    client that is closed."""
    begun = set[asyncio.Task[None]]()

    def begin(work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(quietly(work))
        begun.add(task)
        task.add_done_callback(begun.discard)

    try:
        yield begin
    finally:
        await tasks.end(begun)


async def for_ever(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Begin again whenever the service was away or refused something."""
    while True:
        await quietly(work())
        await asyncio.sleep(1)

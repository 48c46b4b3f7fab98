"""What happens, as it happens: each process reads an operator's events once and hands them to all who follow.

Redis is the fast path. Where it is silent, has a hole or another link than the last hash, the log itself is read.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import structlog

from infra import eventlog, fanout
from infra.eventlog import EventRow
from infra.postgres import Pool
from services.api import problems

BUFFER_MAX = 256
BLOCK_MS, BEHIND_MS = 1_000, 100
"""How long to wait for Redis, and how long where it has just been found behind the log."""
POLL_S = 0.25

log: Any = structlog.get_logger()


class Follower:
    """Somebody who wants the events of some streams. One who does not keep up is let go, and may come again."""

    def __init__(self, streams: frozenset[str]) -> None:
        self.streams = streams
        self.gone = False
        self._waiting: asyncio.Queue[EventRow | None] = asyncio.Queue(BUFFER_MAX)

    def give(self, row: EventRow) -> None:
        if self._waiting.full():
            self.let_go()
        elif not self.gone:
            self._waiting.put_nowait(row)

    def let_go(self) -> None:
        self.gone = True
        if self._waiting.empty():
            self._waiting.put_nowait(None)

    async def next(self, seconds: float) -> EventRow | None:
        """The next event; None after some seconds without one, or if this follower was let go."""
        if self.gone:
            return None
        try:
            async with asyncio.timeout(seconds):
                return await self._waiting.get()
        except TimeoutError:
            return None


class Hub:
    """All who follow in this process."""

    def __init__(self, pool: Pool, redis: fanout.Redis) -> None:
        self._pool = pool
        self._redis = redis
        self._readings: dict[str, _Reading] = {}
        self.closed = False

    @asynccontextmanager
    async def follow(self, operator: str, streams: Iterable[str]) -> AsyncGenerator[Follower]:
        """Inside, the follower is given every event of the streams that was not in the log before."""
        if self.closed:
            raise problems.not_now("This process is about to end; another will serve you.")
        reading = self._readings.get(operator)
        if reading is None or reading.over:
            reading = self._readings[operator] = _Reading(self._pool, self._redis, operator)
        follower = Follower(frozenset(streams))
        reading.admit(follower)
        try:
            await asyncio.shield(reading.begun)
            yield follower
        finally:
            reading.dismiss(follower)

    @property
    def followers(self) -> int:
        return sum(reading.followers for reading in self._readings.values())

    def close(self) -> None:
        """Let all go, so that the process can end."""
        self.closed = True
        for reading in self._readings.values():
            reading.end()


class _Reading:
    """The reading of one operator's events, from the tip of the log on, for as long as anyone follows."""

    def __init__(self, pool: Pool, redis: fanout.Redis, operator: str) -> None:
        self._pool = pool
        self._redis = redis
        self._operator = operator
        self._by_stream: dict[str, set[Follower]] = {}
        self._position = 0
        self._hash = b""
        self._epoch = 0
        self._is_ours = True
        self._looked_at = 0.0
        self._block_ms = BLOCK_MS
        self.followers = 0
        self.over = False
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.begun.add_done_callback(lambda begun: begun.exception())  # it may be that nobody waits any more
        self._task = asyncio.create_task(self._run())

    def admit(self, follower: Follower) -> None:
        self.followers += 1
        for stream in follower.streams:
            self._by_stream.setdefault(stream, set()).add(follower)

    def dismiss(self, follower: Follower) -> None:
        self.followers -= 1
        for stream in follower.streams:
            left = self._by_stream[stream]
            left.discard(follower)
            if not left:
                del self._by_stream[stream]
        if not self.followers:
            self.end()

    def end(self) -> None:
        self.over = True
        self._task.cancel()
        self._not_begun(ConnectionResetError("the reading has ended"))  # or who waits for it waits for ever
        for follower in set[Follower]().union(*self._by_stream.values()):
            follower.let_go()

    async def _run(self) -> None:
        try:
            await self._begin()
            while True:
                self._hand_on(await self._next())
        except eventlog.DATABASE_ERRORS as problem:
            log.warning("cannot read the log for those who follow", operator=self._operator, problem=repr(problem))
            self._not_begun(problem)
        except Exception as problem:
            log.exception("the reading for those who follow ended by a bug", operator=self._operator, alarm=True)
            self._not_begun(problem)
        finally:
            self.end()

    def _not_begun(self, problem: Exception) -> None:
        if not self.begun.done():
            self.begun.set_exception(problem)

    async def _begin(self) -> None:
        before = await eventlog.tip(self._pool, self._operator)
        assert before is not None, "whoever follows was found in this log"
        streamed = await self._streamed(before.epoch)
        tip = await eventlog.tip(self._pool, self._operator)
        assert tip is not None
        self._is_ours = streamed <= tip.position
        self._position, self._hash, self._epoch, self._looked_at = tip.position, tip.hash, tip.epoch, time.monotonic()
        self.begun.set_result(None)

    async def _streamed(self, epoch: int) -> int:
        """How far the stream goes. Farther than the log: that was restored, and the stream holds what it has lost."""
        try:
            return await fanout.last_position(self._redis, fanout.key(self._operator, epoch))
        except fanout.SILENT_ERRORS:
            return 0

    async def _next(self) -> Sequence[EventRow]:
        """What follows, from Redis if it fits, else from the log. Waits a moment where nothing does."""
        begun = time.monotonic()
        entries = await self._from_redis() if self._is_ours else []
        if entries and self._fit(entries):
            self._block_ms = BLOCK_MS
            return entries
        if begun - self._looked_at > 1 and not await self._is_same_log():
            raise ConnectionResetError("the log goes on in another epoch")
        rows = await eventlog.after(self._pool, self._operator, self._position, fanout.BATCH)
        self._block_ms = BEHIND_MS if rows else BLOCK_MS
        if not rows:
            await asyncio.sleep(max(0.0, POLL_S - (time.monotonic() - begun)))
        return rows

    async def _from_redis(self) -> list[fanout.Entry]:
        try:
            stream = fanout.key(self._operator, self._epoch)
            return await fanout.read(self._redis, stream, self._position, block_ms=self._block_ms)
        except (*fanout.SILENT_ERRORS, ValueError):
            return []

    def _fit(self, entries: Sequence[fanout.Entry]) -> bool:
        before = self._hash
        for expected, entry in enumerate(entries, start=self._position + 1):
            if entry.position != expected or entry.before != before:
                return False
            before = entry.hash
        return True

    async def _is_same_log(self) -> bool:
        tip = await eventlog.tip(self._pool, self._operator)
        self._looked_at = time.monotonic()
        return tip is not None and tip.epoch == self._epoch and tip.position >= self._position

    def _hand_on(self, rows: Sequence[EventRow]) -> None:
        for row in rows:
            for follower in self._by_stream.get(row.stream, ()):
                follower.give(row)
        if rows:
            self._position, self._hash = rows[-1].position, rows[-1].hash

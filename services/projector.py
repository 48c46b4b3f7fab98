"""The projector: brings every projection of an operator up to date, from Redis while that fits, else from the log.

A batch begins at checkpoint + 1, is dense and linked by hash, and commits with its checkpoint: each event takes effect
exactly once, however many projectors run. A projection that fails on an event stops there; the others go on.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

import asyncpg
import structlog

from infra import eventlog, fanout, metrics
from infra.eventlog import EventRow, LogTorn
from infra.postgres import Connection, Pool
from services import checkpoints
from services.checkpoints import Checkpoint, NotInTheLog
from services.heartbeat import Beat, unheard
from services.lanes import OUTAGE, Backoff, Lease, each_operator
from services.projections import PROJECTIONS, Projection

BATCH = fanout.BATCH
_SIP = BATCH // 8
"""Events read ahead at a time, between the answers of Postgres."""

_BLOCK_MS = 250
_STANDBY_SECONDS = 0.5
_REDIS_PAUSE_SECONDS = 2.0
"""After a failure, the log alone is read for so long: a Redis that does not answer must not slow anybody down."""

_PACE_SECONDS = 0.01
"""Small batches begin at least so far apart: under load events come together, and an idle log is read at once."""

_RETRY_STOPPED_SECONDS = 15.0

_AN_EVENTS_FAULT = ("21", "22", "23", "42", "54")
"""SQLSTATE classes that come again however often one tries: bad values, broken constraints, unknown columns."""

log: Any = structlog.get_logger()


class _Reader:
    """One projection of one operator: its checkpoint as last seen, and whether it stands still."""

    def __init__(self, pool: Pool, operator: str, projection: Projection) -> None:
        self._pool = pool
        self._operator = operator
        self.projection = projection
        self.at: Checkpoint | None = None
        self._retry_at = 0.0
        self._stopped = False
        labels = (operator, projection.name)
        self._position = metrics.projection_position.labels(*labels)
        self._stands_still = metrics.projection_stopped.labels(*labels)

    @property
    def waits(self) -> bool:
        """Stopped at an event, and not yet to be tried again."""
        return time.monotonic() < self._retry_at

    @property
    def position(self) -> int:
        return self.at.position if self.at else 0

    async def load(self) -> Checkpoint:
        if self.at is None:
            self.at = await checkpoints.live(self._pool, self._operator, self.projection.name)
        return self.at

    async def take(self, rows: Sequence[EventRow]) -> int:
        """Apply what of these rows comes next; returns how many took effect. Raises for an outage, and NotInTheLog."""
        if self.at is None or not rows or self.at.position + 1 < rows[0].position:
            return 0
        rows = rows[self.at.position + 1 - rows[0].position :]
        if not rows:
            return 0
        try:
            after = await self._apply(self.at, rows)
        except Exception as problem:
            if _is_outage(problem) or isinstance(problem, NotInTheLog):
                self.at = None
                raise
            return await self._narrow(rows, problem)
        applied = after.position - self.at.position if after else 0
        self.at = after  # None: another projector was quicker, or a rebuild came: read the checkpoint again
        if after:
            self._position.set(after.position)
            self._go_on()
        return applied

    async def _apply(self, at: Checkpoint, rows: Sequence[EventRow]) -> Checkpoint | None:
        async with self._pool.acquire() as connection:
            return await checkpoints.apply(cast("Connection", connection), self._operator, self.projection, at, rows)

    async def _narrow(self, rows: Sequence[EventRow], problem: Exception) -> int:
        """Apply what comes before the event that fails, and stop at it."""
        if len(rows) == 1:
            await self._stop(rows[0], problem)
            return 0
        half = len(rows) // 2
        applied = await self.take(rows[:half])
        if self.at is None or self.waits:
            return applied
        return applied + await self.take(rows[half:])

    async def _stop(self, row: EventRow, problem: Exception) -> None:
        assert self.at is not None
        said = f"position {row.position} ({row.type}): {type(problem).__name__}: {problem}"
        self._retry_at = time.monotonic() + _RETRY_STOPPED_SECONDS
        self._stands_still.set(1)
        if not self._stopped:
            log.error("a projection stops", operator=self._operator, projection=self.projection.name, problem=said)
        self._stopped = True
        key = (self._operator, self.projection.name, self.at.generation)
        await self._pool.execute(checkpoints.SQL["stop"], *key, self.at.position, said[:1_000])

    def _go_on(self) -> None:
        if self._stopped:
            log.info("a projection goes on", operator=self._operator, projection=self.projection.name)
            self._stands_still.set(0)
            self._stopped, self._retry_at = False, 0.0


def _is_outage(problem: Exception) -> bool:
    """Is it the database's state of the moment, rather than what the event does to the projection?"""
    if isinstance(problem, asyncpg.PostgresError):
        return str(problem.sqlstate)[:2] not in _AN_EVENTS_FAULT
    return isinstance(problem, OUTAGE)


class Projector:
    """All projections of one operator. Each `once` applies at most a batch to each."""

    def __init__(
        self, pool: Pool, redis: fanout.Redis | None, operator: str, projections: Sequence[Projection] = PROJECTIONS
    ) -> None:
        self._pool = pool
        self._redis = redis
        self.operator = operator
        self._readers = [_Reader(pool, operator, projection) for projection in projections]
        self._ahead: list[EventRow] = []
        self._stream: str | None = None
        self._epoch_at = 0.0
        self._redis_again = 0.0

    async def once(self, block_ms: int = 0) -> int:
        """Apply what comes next, waiting up to `block_ms` for Redis to have it; returns the most that any applied."""
        readers = [reader for reader in self._readers if not reader.waits]
        if not readers:
            await asyncio.sleep(block_ms / 1_000)
            return 0
        front = max([(await reader.load()).position for reader in readers])
        near = [reader for reader in readers if reader.position + BATCH >= front]
        far = [reader for reader in readers if reader.position + BATCH < front]
        work = [self._follow(near, 0 if far else block_ms), *(self._catch_up(reader) for reader in far)]
        results = await asyncio.gather(*work, return_exceptions=True)
        self._measure(max(reader.position for reader in readers))
        return max(_raising(results), default=0)

    async def _follow(self, readers: Sequence[_Reader], block_ms: int) -> int:
        """Those that stand close together share what is read, from Redis while that is whole."""
        slowest = min((reader.at for reader in readers if reader.at), key=lambda at: at.position)
        rows = self._take_ahead(slowest) or await self._next(slowest, block_ms)
        work = [*(reader.take(rows) for reader in readers), self._read_ahead(rows)]
        results = await asyncio.gather(*work, return_exceptions=True)
        for result in results:
            if isinstance(result, NotInTheLog):
                return self._doubt(result)
        return max(_raising(results), default=0)

    def _doubt(self, problem: NotInTheLog) -> int:
        """What Redis holds is not this log. Until there is another stream, the log alone is read."""
        log.error("Redis has events that the log does not hold, reading the log", problem=str(problem))
        self._stream, self._ahead = None, []
        self._redis_again = time.monotonic() + _REDIS_PAUSE_SECONDS
        return 0

    async def _read_ahead(self, rows: Sequence[EventRow]) -> int:
        """What comes after a full batch, while Postgres works on that batch: a third of the time at full load."""
        if len(rows) < BATCH:
            return 0
        at, ahead = Checkpoint(0, rows[-1].position, rows[-1].hash), list[EventRow]()
        while len(ahead) < BATCH:
            entries = await self._from_redis(at.position, 0, _SIP)
            if not entries or not checkpoints.follows(at, entries):
                break
            ahead += entries
            at = Checkpoint(0, ahead[-1].position, ahead[-1].hash)
        self._ahead = ahead
        return 0

    def _take_ahead(self, at: Checkpoint) -> list[EventRow]:
        ahead, self._ahead = self._ahead, []
        return ahead if checkpoints.follows(at, ahead[:1]) else []

    async def _catch_up(self, reader: _Reader) -> int:
        """One that is far behind reads the log by itself, so that the others need not wait for it."""
        assert reader.at is not None
        return await reader.take(await self._from_log(reader.at))

    def forget(self) -> None:
        """After an outage, nothing that was known of checkpoints and streams is sure."""
        self._stream, self._ahead = None, []
        for reader in self._readers:
            reader.at = None

    def _measure(self, front: int) -> None:
        for reader in self._readers:
            if reader.at is not None:
                lag = metrics.projection_lag.labels(self.operator, reader.projection.name)
                lag.set(max(0, front - reader.position))

    async def _next(self, at: Checkpoint, block_ms: int) -> list[EventRow]:
        """What follows a checkpoint: from Redis if that is whole, else from the log."""
        entries = await self._from_redis(at.position, block_ms)
        return list(entries) if entries and checkpoints.follows(at, entries) else await self._from_log(at)

    async def _from_log(self, at: Checkpoint) -> list[EventRow]:
        """Raises LogTorn."""
        rows = await eventlog.after(self._pool, self.operator, at.position, BATCH)
        if not checkpoints.follows(at, rows):
            raise LogTorn(f"{self.operator}: the log does not go on from checkpoint {at.position}")
        metrics.projection_from_log.labels(self.operator).inc(len(rows))
        return rows

    async def _from_redis(self, position: int, block_ms: int, count: int = BATCH) -> Sequence[EventRow]:
        if self._redis is None or time.monotonic() < self._redis_again:
            await asyncio.sleep(block_ms / 1_000)
            return []
        try:
            stream = await self._stream_now()
            entries = await fanout.read(self._redis, stream, position, count=count, block_ms=block_ms)
        except (*fanout.SILENT_ERRORS, fanout.BadEntry) as problem:
            if not self._redis_again:
                log.warning("Redis fails, reading the log", operator=self.operator, problem=repr(problem))
            self._stream = None
            self._redis_again = time.monotonic() + _REDIS_PAUSE_SECONDS
            return []
        if self._redis_again:
            log.info("reading from Redis again", operator=self.operator)
            self._redis_again = 0.0
        return entries

    async def _stream_now(self) -> str:
        """The stream of the log's epoch, asked for once a second."""
        if self._stream is None or time.monotonic() >= self._epoch_at:
            tip = await eventlog.tip(self._pool, self.operator)
            self._stream = fanout.key(self.operator, tip.epoch if tip else 1)
            self._epoch_at = time.monotonic() + 1
        return self._stream


def _raising(results: Sequence[int | BaseException]) -> list[int]:
    """The counts, once all have ended; raises the first failure among them."""
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if isinstance(result, int)]


class Projectors:
    """Every operator's projections in this process."""

    def __init__(
        self,
        pool: Pool,
        redis: fanout.Redis | None,
        projections: Sequence[Projection] = PROJECTIONS,
        *,
        beat: Beat = unheard,
    ) -> None:
        self._pool = pool
        self._redis = redis
        self._projections = projections
        self._beat = beat

    async def run(self) -> None:
        await each_operator(self._pool, self._serve, partial(self._beat, "projector"))

    async def _serve(self, operator: str) -> None:
        lease = Lease(self._pool, operator, "projector")
        projector = Projector(self._pool, self._redis, operator, self._projections)
        backoff = Backoff("projector", operator)
        try:
            while True:
                self._beat(f"projector of {operator}")
                try:
                    await self._step(lease, projector)
                except (*OUTAGE, asyncpg.PostgresError, LogTorn) as problem:
                    projector.forget()
                    await backoff.after(problem)
                else:
                    backoff.over()
        finally:
            with suppress(*OUTAGE, asyncpg.PostgresError):
                await lease.end()

    async def _step(self, lease: Lease, projector: Projector) -> None:
        if not await lease.held():
            projector.forget()
            await asyncio.sleep(_STANDBY_SECONDS)
        elif 0 < await projector.once(_BLOCK_MS) < BATCH:
            await asyncio.sleep(_PACE_SECONDS)

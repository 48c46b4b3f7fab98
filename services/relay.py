"""The relay: copies each operator's log into its Redis stream, in order, without gaps and without doubles.

It keeps no place of its own: it resumes at the stream's last id. Two relays at once are harmless, since an append
names the position it follows; a lease saves the double work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import asyncpg
import structlog
from msgspec import Struct

from infra import eventlog, fanout, metrics
from infra.eventlog import LogTorn, Tip
from infra.postgres import Pool
from infra.sql import queries
from services.heartbeat import Beat, unheard
from services.lanes import OUTAGE, Backoff, Lease, each_operator

SQL = queries("relay")
CAP = 200_000
"""Most entries a stream keeps, whoever has not read them: readers find older ones in the log."""

MARGIN = 1_000
"""Entries kept behind the slowest projection, for clients that resume a moment later."""

_TRIM_EVERY = 5_000
_POLL_LEAST, _POLL_MOST = 0.005, 0.25
_PACE_SECONDS = 0.005
"""Small batches begin at least so far apart, so that under load events go together."""

_TORN_PAUSE = 5.0

log: Any = structlog.get_logger()


class LogRestored(Exception):
    """Redis holds events that the log does not: the log was restored to an earlier state, and needs a new epoch after
    the one in which that was seen."""

    def __init__(self, epoch: int, what: str) -> None:
        super().__init__(what)
        self.epoch = epoch


class Place(Struct, frozen=True):
    """Where the stream ends: the epoch it belongs to, the last position in it and that event's hash."""

    epoch: int
    position: int
    hash: bytes
    begins: bool = False
    """Nothing was ever added to the stream."""


class Relay:
    """One operator's relay. Each `once` copies what the log has next, at most a batch."""

    def __init__(self, pool: Pool, redis: fanout.Redis, operator: str, *, cap: int = CAP) -> None:
        self._pool = pool
        self._redis = redis
        self._writer = fanout.Writer(redis)
        self.operator = operator
        self._cap = cap
        self._at: Place | None = None
        self._trimmed = 0

    async def look(self) -> None:
        """Raises LogRestored if Redis holds what the log does not; copies nothing."""
        tip = await eventlog.tip(self._pool, self.operator)
        if tip is not None:
            self._at = await self._resume(tip)

    async def once(self) -> int:
        """Copy the next batch; returns how many entries were added. Raises LogRestored or LogTorn."""
        tip = await eventlog.tip(self._pool, self.operator)
        if tip is None:
            return 0
        if self._at is None or self._at.epoch != tip.epoch:
            self._at = await self._resume(tip)
        at = self._at
        if tip.position == at.position and tip.hash == at.hash:
            return 0
        records = await self._read(at, tip)
        if not records:
            return 0  # another relay has come farther since the tip was read
        entries = [fanout.encode(record, before) for record, before in _linked(records, at.hash)]
        stream = fanout.key(self.operator, at.epoch)
        if not await self._writer.append(stream, at.position, entries, begin=at.begins):
            self._at = None  # another relay was quicker, or Redis lost the stream: look again where it ends
            return 0
        ends = at.position + len(entries)
        self._at = Place(at.epoch, ends, records[-1]["hash"])
        metrics.relay_position.labels(self.operator).set(ends)
        if ends - self._trimmed >= _TRIM_EVERY:
            await self.trim()
        return len(entries)

    async def trim(self) -> None:
        """Let go of what every projection has read, and of everything beyond the cap."""
        if self._at is None:
            return
        last = self._trimmed = self._at.position
        slowest = await self._pool.fetchval(SQL["slowest"], self.operator)
        below = max(last - self._cap, min(slowest or 0, last) - MARGIN) + 1
        if below > 1:
            await fanout.trim(self._redis, fanout.key(self.operator, self._at.epoch), below)

    def forget(self) -> None:
        """After an error: nothing is known of the stream's end any more."""
        self._at = None

    async def _resume(self, tip: Tip) -> Place:
        await self._refuse_later(tip)
        stream = fanout.key(self.operator, tip.epoch)
        try:
            entry = await fanout.last_entry(self._redis, stream)
        except fanout.BadEntry as problem:
            log.error("the stream is begun anew", operator=self.operator, problem=str(problem))
            await fanout.drop(self._redis, stream)
            entry = None
        if entry is not None:
            known = await self._hash_at(entry.position, tip)
            if entry.hash != known:
                what = f"{self.operator}: the stream's event {entry.position} is not the one of the log"
                raise LogRestored(tip.epoch, what)
            return Place(tip.epoch, entry.position, known)
        if last := await fanout.last_position(self._redis, stream):
            return Place(tip.epoch, last, await self._hash_at(last, tip))
        if tip.epoch > 1:
            await fanout.retire(self._redis, self.operator, tip.epoch - 1)
        slowest = await self._pool.fetchval(SQL["slowest"], self.operator)
        begin = min(tip.position, max(slowest or 0, tip.position - self._cap))
        return Place(tip.epoch, begin, await self._hash_at(begin, tip), begins=True)

    async def _refuse_later(self, tip: Tip) -> None:
        """A stream of a later epoch than the log's: the log was restored to before that epoch began."""
        streams = await fanout.epochs(self._redis, self.operator)
        if streams and streams[-1] > tip.epoch:
            now = await eventlog.tip(self._pool, self.operator)
            if now is not None and now.epoch == tip.epoch:  # else it has just begun
                raise LogRestored(tip.epoch, f"{self.operator}: there is a stream of epoch {streams[-1]}")

    async def _hash_at(self, position: int, tip: Tip) -> bytes:
        if position == 0:
            return eventlog.genesis(self.operator, 1)
        found = await self._pool.fetchval(eventlog.SQL["hash_at"], self.operator, position)
        if found is None:
            what = f"{self.operator}: the stream has event {position}, the log ends before it"
            raise LogRestored(tip.epoch, what)
        return found

    async def _read(self, at: Place, tip: Tip) -> list[asyncpg.Record]:
        """The next events, dense; the one at our place is read again, to see that it is still the same."""
        overlap = 1 if at.position else 0
        records = await self._pool.fetch(
            eventlog.SQL["events_after"], self.operator, at.position - overlap, fanout.BATCH + overlap
        )
        if overlap and (not records or records[0]["position"] != at.position or records[0]["hash"] != at.hash):
            what = f"{self.operator}: the log's event {at.position} is not the one that was relayed"
            raise LogRestored(at.epoch, what)
        fresh = records[overlap:]
        for expected, record in enumerate(fresh, start=at.position + 1):
            if record["position"] != expected:
                raise LogTorn(f"{self.operator}: position {expected} is missing from the log")
        if not fresh and at.position < tip.position:
            raise LogTorn(f"{self.operator}: the head says {tip.position}, the events end at {at.position}")
        return fresh


def _linked(records: Sequence[asyncpg.Record], before: bytes) -> list[tuple[asyncpg.Record, bytes]]:
    hashes = [before, *(record["hash"] for record in records)]
    return list(zip(records, hashes, strict=False))


async def _say_restored(operator: str, _epoch: int) -> None:
    log.error("the log was restored; it needs a new epoch: croupier restore", operator=operator)
    await asyncio.sleep(_TORN_PAUSE)


class Relays:
    """Every operator's relay in this process. `wake` says that a log has grown; without it, the log is polled."""

    def __init__(
        self,
        pool: Pool,
        redis: fanout.Redis,
        *,
        restored: Callable[[str, int], Awaitable[None]] = _say_restored,
        cap: int = CAP,
        beat: Beat = unheard,
    ) -> None:
        self._pool = pool
        self._redis = redis
        self._restored = restored
        self._beat = beat
        self._cap = cap
        self._grown: dict[str, asyncio.Event] = {}

    def wake(self, operator: str) -> None:
        if operator in self._grown:
            self._grown[operator].set()

    async def run(self) -> None:
        await each_operator(self._pool, self._serve, partial(self._beat, "relay"))

    async def _serve(self, operator: str) -> None:
        lease = Lease(self._pool, operator, "relay")
        relay = Relay(self._pool, self._redis, operator, cap=self._cap)
        backoff = Backoff("relay", operator)
        grown = self._grown[operator] = asyncio.Event()
        pause = _POLL_LEAST
        try:
            while True:
                self._beat(f"relay of {operator}")
                try:
                    moved = await self._step(lease, relay)
                except (*OUTAGE, asyncpg.PostgresError) as problem:
                    relay.forget()
                    await backoff.after(problem)
                    continue
                backoff.over()
                pause = _POLL_LEAST if moved else min(_POLL_MOST, pause * 1.1)
                if not moved:
                    await _wait(grown, pause)
                elif moved < fanout.BATCH:
                    await asyncio.sleep(_PACE_SECONDS)
        finally:
            with suppress(*OUTAGE):
                await lease.end()

    async def _step(self, lease: Lease, relay: Relay) -> int:
        if not await lease.held():
            await asyncio.sleep(_POLL_MOST)
            return 0
        try:
            return await relay.once()
        except LogRestored as restored:
            log.error("the log was restored", what=str(restored))
            relay.forget()
            await self._restored(relay.operator, restored.epoch)
        except LogTorn as torn:
            log.error("the log is torn; the relay stands still", what=str(torn))
            metrics.relay_torn.labels(relay.operator).inc()
            relay.forget()
            await asyncio.sleep(_TORN_PAUSE)
        return 0


async def _wait(grown: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await grown.wait()
    grown.clear()

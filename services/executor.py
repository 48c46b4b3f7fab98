"""The executor: the only writer of the log, by group commit.

Commands wait in a queue for each operator. A flush takes all that wait, decides them in memory under the lock of the
log's row, and appends what they gave in one statement; then every caller is answered. There is no added delay: the
next flush starts as soon as the last one ended. A refusal or an exception touches only its own command.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import asyncpg
import msgspec
import structlog

from domain.decider import Missing, Stream, Submission
from domain.errors import Rejected
from domain.game import Micros, RoundTotals
from infra import codec, eventlog, postgres
from infra.columns import BadColumn
from infra.sql import queries
from infra.vault import Vault
from services.batch import (
    Accepted,
    Answer,
    Appended,
    Batch,
    Earlier,
    Entry,
    MissingAnswer,
    MissingTotals,
    NotYet,
    Refused,
    Stored,
    StoredAccepted,
    StoredRefused,
    Unwritable,
    fresh,
    streams_named,
)
from services.refold import fold_stream

SQL = queries("executor")
LOG_SQL = eventlog.SQL
BATCH_MAX = 128
QUEUE_MAX = 4_096
LOCK_TIMEOUT_MS = 5_000
IDLE_TIMEOUT_MS = 2_000

CULPRITS = ("22", "23", "54")
"""SQLSTATE classes of a row that the database cannot take: one command's bug, found by splitting the batch."""

log: Any = structlog.get_logger()
_stored: msgspec.json.Decoder[Stored] = msgspec.json.Decoder(Stored)


class Busy(Exception):
    """The queue is full; nothing was taken in. Try again in a moment."""


class Unavailable(Exception):
    """The log could not be reached or its answer was lost; ask by the key what became of the command."""


class UnknownOperator(Exception):
    """There is no log of this operator."""


class NewerSchema(Exception):
    """A state was folded by a newer version of this program than this one: this process must not write."""


LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    ConnectionError,
    TimeoutError,
    OSError,
)

_Waiting = tuple[Entry, "asyncio.Future[Answer]"]


class Executor:
    """Takes commands from many callers and writes them through one connection for each operator."""

    def __init__(self, dsn: str, vault: Vault) -> None:
        self._dsn = dsn
        self._vault = vault
        self.wake: Callable[[str], None] = lambda operator: None
        """Hears the operator of every append: the doorbell of a relay in the same process."""
        self._lanes: dict[str, _Lane] = {}
        self.newer_schema = False
        """Set once this process met a state of a newer program; health reports not ready."""

    async def submit(self, submission: Submission, fingerprint: bytes = b"") -> Answer:
        """Decide a command durably. Raises Busy, Unavailable, UnknownOperator, or what a bug in a decision raised."""
        lane = self._lanes.get(submission.operator)
        if lane is None:
            lane = self._lanes[submission.operator] = _Lane(
                submission.operator, self._dsn, self._vault, lambda: self.wake(submission.operator)
            )
        try:
            return await lane.submit(Entry(submission, fingerprint, time.time_ns() // 1000))
        except NewerSchema:
            self.newer_schema = True
            raise
        except UnknownOperator:
            self._lanes.pop(submission.operator, None)
            raise

    @property
    def queued(self) -> int:
        return sum(len(lane.queue) for lane in self._lanes.values())

    async def close(self) -> None:
        for lane in self._lanes.values():
            await lane.close()


class _Lane:
    """One operator's queue, and the connection that holds the lock of its log while a batch is written."""

    def __init__(self, operator: str, dsn: str, vault: Vault, wake: Callable[[], None]) -> None:
        self.operator = operator
        self.queue: deque[_Waiting] = deque()
        self._dsn = dsn
        self._vault = vault
        self._wake = wake
        self._session: _Session | None = None
        self._flusher: asyncio.Task[None] | None = None

    def submit(self, entry: Entry) -> "asyncio.Future[Answer]":
        if len(self.queue) >= QUEUE_MAX:
            raise Busy
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.queue.append((entry, future))
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.create_task(self._flush_all())
        return future

    async def close(self) -> None:
        if self._flusher is not None:
            await asyncio.wait([self._flusher], timeout=LOCK_TIMEOUT_MS / 1000)
        if self._session is not None:
            await self._session.close()

    async def _flush_all(self) -> None:
        while self.queue:
            waiting = [self.queue.popleft() for _ in range(min(len(self.queue), BATCH_MAX))]
            await self._flush(waiting)

    async def _flush(self, waiting: list[_Waiting]) -> None:
        try:
            answers = await self._write_with_retry([entry for entry, _ in waiting])
        except Exception as problem:  # noqa: BLE001 - whatever it was, every caller must hear of it
            if _is_culprits(problem) and len(waiting) > 1:
                half = len(waiting) // 2
                await self._flush(waiting[:half])
                await self._flush(waiting[half:])
                return
            if _is_culprits(problem):
                said = "what a command gave cannot be written; this is a bug"
                log.error(said, alarm=True, operator=self.operator, problem=repr(problem))
            answers = [problem] * len(waiting)
        later = [each for each, answer in zip(waiting, answers, strict=True) if isinstance(answer, NotYet)]
        self.queue.extendleft(reversed(later))
        for (_, future), answer in zip(waiting, answers, strict=True):
            if future.done() or isinstance(answer, NotYet):
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    async def _write_with_retry(self, entries: list[Entry]) -> list[Answer | Exception]:
        """Write a batch; if the connection is lost, even at the commit, once more: `commands` tells what had landed,
        and internal commands are once-only by state."""
        try:
            return await self._write(entries)
        except LOST as problem:
            log.warning("writer connection lost, trying once more", operator=self.operator, problem=repr(problem))
        except asyncpg.PostgresError as problem:
            raise self._told(problem) from problem
        try:
            return await self._write(entries)
        except (asyncpg.PostgresError, *LOST) as problem:
            raise self._told(problem) from problem

    def _told(self, problem: Exception) -> Exception:
        """What callers hear of a fault of the database: that it is away (full, locked, read-only, out of connections),
        so that they send again, for a first attempt may have landed. A command's own fault stays its own."""
        if _is_culprits(problem):
            return problem
        log.error("the log cannot be written", operator=self.operator, problem=repr(problem))
        return Unavailable(str(problem))

    async def _write(self, entries: list[Entry]) -> list[Answer | Exception]:
        session = self._session
        if session is None or session.connection.is_closed():
            session = self._session = await _Session.open(self._dsn)
        try:
            answers = await session.write(self.operator, self._vault, entries)
        except BaseException:
            await session.abandon()
            if session.connection.is_closed():
                self._session = None
            raise
        self._wake()
        return answers


class _Session:
    """A writer connection with all of its statements prepared before any transaction begins.

    A process frozen in the middle of a prepare would hold the log with neither timeout to end it.
    """

    def __init__(self, connection: postgres.Connection, dsn: str) -> None:
        self.connection = connection
        self._dsn = dsn
        self._prepared: dict[str, Any] = {}

    @classmethod
    async def open(cls, dsn: str) -> "_Session":
        connection = await postgres.connect(
            dsn,
            name="executor",
            cached=0,
            idle_in_transaction_session_timeout=str(IDLE_TIMEOUT_MS),
            lock_timeout=str(LOCK_TIMEOUT_MS),
        )
        session = cls(connection, dsn)
        try:
            await session._prepare()
        except BaseException:
            connection.terminate()
            raise
        return session

    async def _prepare(self) -> None:
        for page, names in ((SQL, ("lock", "load", "answers", "totals", "append")), (LOG_SQL, _READS)):
            for name in names:
                self._prepared[name] = await self.connection.prepare(page[name])
        await self.connection.execute("select")  # a prepare leaves the session active until the next execute

    async def close(self) -> None:
        with suppress(*LOST):
            await self.connection.close(timeout=1)

    async def abandon(self) -> None:
        """Roll back; a connection that cannot even do that is dropped."""
        try:
            await asyncio.wait_for(self.connection.execute("rollback"), 1)
        except (*LOST, asyncpg.PostgresError):
            self.connection.terminate()

    async def _fetch(self, name: str, *arguments: Any) -> list[asyncpg.Record]:
        return await self._prepared[name].fetch(*arguments)

    async def write(self, operator: str, vault: Vault, entries: list[Entry]) -> list[Answer | Exception]:
        """One transaction: lock, load, decide, append, commit. An answer for each entry, in order."""
        await self.connection.execute("begin isolation level read committed")
        head = await self._lock(operator)
        names = sorted(set[str]().union(*(streams_named(entry.submission) for entry in entries)))
        loaded = await self._fetch("load", operator, names)
        now: Micros = max(loaded[0]["now"], head["at"])
        batch = Batch(operator, head["position"], head["hash"], now, vault)
        await self._take_in(batch, loaded)
        await self._load_answers(batch, {(e.submission.actor, e.submission.key) for e in entries if e.submission.key})
        answers = [await self._decide(batch, entry) for entry in entries]
        answers = [await self._complete(batch, *pair) for pair in zip(entries, answers, strict=True)]
        if batch.changes:
            await self._fetch("append", operator, *batch.arguments())
        await self.connection.execute("commit")
        return answers

    async def _lock(self, operator: str) -> asyncpg.Record:
        try:
            rows = await self._fetch("lock", operator)
        except asyncpg.LockNotAvailableError:
            await self.connection.execute("rollback")
            rows = await self._lock_by_force(operator)
        if not rows:
            raise UnknownOperator(operator)
        return rows[0]

    async def _lock_by_force(self, operator: str) -> list[asyncpg.Record]:
        """Whoever has held the log for longer than any timeout allows is frozen: end its session, and try once."""
        await self.connection.execute("begin isolation level read committed")
        waiter = asyncio.create_task(self._fetch("lock", operator))
        try:
            await asyncio.sleep(0.1)
            async with postgres.connected(self._dsn, name="executor rescue") as rescue:
                ended = await rescue.fetch(SQL["holders"], self.connection.get_server_pid())
        except BaseException:
            waiter.cancel()
            await asyncio.wait([waiter])
            raise
        log.error("ended a session that held the log", operator=operator, sessions=len(ended))
        return await waiter

    async def _load(self, batch: Batch, names: Iterable[str]) -> None:
        await self._take_in(batch, await self._fetch("load", batch.operator, list(names)))

    async def _take_in(self, batch: Batch, rows: list[asyncpg.Record]) -> None:
        for row in rows:
            name, decider = row["stream"], row["decider"]
            if decider is None:
                batch.streams[name] = fresh(name)
            elif row["state_schema"] == codec.STATE_SCHEMA:
                batch.streams[name] = Stream(decider, row["version"], codec.decode_state(decider, row["state"]))
            elif row["state_schema"] > codec.STATE_SCHEMA:
                raise NewerSchema(f"{name} was folded by a newer version of croupier than this one")
            else:
                batch.streams[name] = await fold_stream(self._fetch, batch.operator, name, decider)

    async def _load_answers(self, batch: Batch, names: set[tuple[str, str]]) -> None:
        if not names:
            return
        batch.earlier.update(dict.fromkeys(names))
        actors, keys = [actor for actor, _ in names], [key for _, key in names]
        for row in await self._fetch("answers", batch.operator, actors, keys):
            outcome = _stored.decode(row["outcome"])
            earlier = Earlier(row["fingerprint"], outcome, row["first"], row["last"], batch.now)
            batch.earlier[row["actor"], row["key"]] = earlier

    async def _decide(self, batch: Batch, entry: Entry) -> Answer | Earlier | Exception:
        """Decide one command, loading what it turns out to need; its failure is its own."""
        while True:
            try:
                return batch.decide(entry)
            except Missing as missing:
                await self._load(batch, [missing.stream])
            except MissingAnswer as missing:
                await self._load_answers(batch, {missing.name})
            except MissingTotals as missing:
                [row] = await self._fetch("totals", batch.operator, missing.round)
                batch.totals[missing.round] = RoundTotals(**row)
            except NotYet as later:
                return later
            except (asyncpg.PostgresError, Unwritable, *LOST):
                raise
            except Exception as problem:
                log.exception("a decision failed", operator=batch.operator, stream=entry.submission.stream)
                return problem

    async def _complete(self, batch: Batch, entry: Entry, answer: Answer | Earlier | Exception) -> Answer | Exception:
        """Put refusals on record, and fetch the events of a repeated command's answer."""
        if isinstance(answer, Rejected):
            while True:
                try:
                    return batch.refuse(entry, answer)
                except Missing as missing:
                    await self._load(batch, [missing.stream])
        if not isinstance(answer, Earlier):
            return answer
        if isinstance(answer.outcome, StoredRefused):
            return Refused(answer.outcome.rule, answer.outcome.facts, repeated=True)
        assert isinstance(answer.outcome, StoredAccepted)
        events = await self._events(batch.operator, answer.first, answer.last)
        at = events[0].at if events else batch.now
        appended = tuple(Appended(row.position, row.stream, row.event) for row in events)
        states = batch.states_of(entry.submission)
        return Accepted(answer.first, answer.last, appended, at, answer.outcome.fenced, repeated=True, states=states)

    async def _events(self, operator: str, first: int | None, last: int | None) -> list[eventlog.EventRow]:
        if first is None:
            return []
        return [eventlog.row_of(record) for record in await self._fetch("events_between", operator, first, last)]


_READS = ("events_of_stream", "last_of_type", "events_between")


def _is_culprits(problem: BaseException) -> bool:
    """Is this a value of one command that our own, the driver's or the database's encoding could not take?"""
    if isinstance(problem, asyncpg.PostgresError):
        return str(problem.sqlstate or "")[:2] in CULPRITS
    return isinstance(problem, Unwritable | BadColumn | UnicodeEncodeError | OverflowError)

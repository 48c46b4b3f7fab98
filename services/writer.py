"""The writer: one connection that appends to operators' logs, batch by batch.

A batch is two messages, load and append: an append does nothing unless the log still stands where it was loaded. Where
processes race for one log, or a decision turns out to need more than was loaded, a batch holds the log's lock: begin
and lock, load, more as it is asked for, append, commit.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import asyncpg
import msgspec
import structlog

from domain.decider import Missing, Rule, Stream, record_of
from domain.errors import Rejected
from domain.game import NEVER, Ended, Micros, RoundTotals
from domain.names import TABLE, table_of
from infra import codec, eventlog, postgres
from infra.columns import texts
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
    MissingEnded,
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
from services.ended import ended_of, query_of
from services.kept import KEPT_MAX, Kept
from services.refold import fold_stream

SQL = queries("executor")
LOCK_TIMEOUT_MS = 5_000
IDLE_TIMEOUT_MS = 2_000
LATE_US = IDLE_TIMEOUT_MS * 1_000
"""How old a batch may be when the database takes up its append without a lock: then its time has passed, and it is
decided again. What waits there for a holder of the lock who then writes nothing goes in as it was decided."""
SINCE_MAX = 1_000
"""Events of others that a writer reads to learn what they changed; after more it forgets all that it kept."""
POSITION_MAX = 2**62
WARY = 3
"""Batches that take the lock after a lost race, from the last one on before which somebody else had written."""

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

T = TypeVar("T")
Key = tuple[str, str]
"""Actor and idempotency key."""

log: Any = structlog.get_logger()
_stored: msgspec.json.Decoder[Stored] = msgspec.json.Decoder(Stored)


class UnknownOperator(Exception):
    """There is no log of this operator."""


class NewerSchema(Exception):
    """A state was folded by a newer version of this program than this one: this process must not write."""


class Writer:
    """A connection with all of its statements prepared before any transaction begins.

    A process frozen in the middle of a prepare would hold the log with neither timeout to end it.
    """

    def __init__(self, connection: postgres.Connection, dsn: str, room: Callable[[], int]) -> None:
        self.connection = connection
        self._dsn = dsn
        self._prepared: dict[str, Any] = {}
        self.seen: eventlog.Tip | None = None
        """Where the log stood after the last batch, and what is kept with it."""
        self._kept = Kept(room)
        self.sent = False
        """Was the last batch's append on its way? Then it may have landed, whatever was heard of it."""
        self.races = 0
        """How many batches still take the lock, because somebody else wrote between load and append of one."""

    @classmethod
    async def open(cls, dsn: str, room: Callable[[], int] = lambda: KEPT_MAX) -> "Writer":
        """`room` is for how many streams there is at a time (services/kept.py)."""
        connection = await postgres.connect(
            dsn,
            name="executor",
            cached=0,
            idle_in_transaction_session_timeout=str(IDLE_TIMEOUT_MS),
            lock_timeout=str(LOCK_TIMEOUT_MS),
        )
        session = cls(connection, dsn, room)
        try:
            await session._prepare()
        except BaseException:
            connection.terminate()
            raise
        return session

    async def _prepare(self) -> None:
        for page, names in ((SQL, ("load", "totals", "refused_before", "append")), (eventlog.SQL, _READS)):
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

    async def write(self, operator: str, vault: Vault, entries: list[Entry]) -> Sequence[Answer | Exception]:
        """Load, decide, append: all as in one transaction. An answer for each entry, in order."""
        self.sent = False
        lock = self._lock
        if not self.races:
            try:
                if (answers := await self._write_at_once(operator, vault, entries)) is not None:
                    return answers
            except asyncpg.LockNotAvailableError:
                lock = self._lock_by_force
        await lock(operator)
        return await self._write_locked(operator, vault, entries)

    async def _write_at_once(
        self, operator: str, vault: Vault, entries: list[Entry]
    ) -> Sequence[Answer | Exception] | None:
        """None, and nothing was done, if somebody else was quicker, or a decision needs more than what was loaded, or
        the database minds: then the lock makes all clear. Raises LockNotAvailableError."""
        streams = _named(entries)
        batch = await self._take(operator, vault, entries, streams)
        if (answers := await self._decided_at_once(batch, entries, streams)) is None:
            return None
        try:
            if batch.changes and not await self._append(batch, until=batch.now + LATE_US):
                self.races = WARY
                return None
        except (*LOST, asyncpg.LockNotAvailableError):
            raise
        except asyncpg.PostgresError:
            return None
        self._leave(batch)
        return answers

    async def _write_locked(self, operator: str, vault: Vault, entries: list[Entry]) -> Sequence[Answer | Exception]:
        left, streams = self.seen, _named(entries)
        batch = await self._take(operator, vault, entries, streams)
        if self.races:
            self.races = self.races - 1 if batch.begun == left else WARY
        await self._load(batch, streams - batch.streams.keys())
        answers = [await self._decide(batch, entry) for entry in entries]
        answers = [await self._complete(batch, *pair) for pair in zip(entries, answers, strict=True)]
        if batch.changes and not await self._append(batch, until=NEVER):
            raise AssertionError(f"the log of {operator} moved under its lock")
        await self.connection.execute("commit")
        self._leave(batch)
        return answers

    async def _append(self, batch: Batch, until: Micros) -> bool:
        self.sent = True
        return bool(await self._fetch("append", batch.operator, *batch.arguments(until)))

    def _leave(self, batch: Batch) -> None:
        self.seen = batch.left
        self._kept.keep(batch.streams)

    async def _lock(self, operator: str) -> None:
        """Begin, and be the log's only writer. What is read in the same message would be stale, so nothing is."""
        try:
            await self._begin(operator)
        except asyncpg.LockNotAvailableError:
            await self.connection.execute("rollback")
            await self._lock_by_force(operator)

    async def _begin(self, operator: str) -> None:
        quoted = operator.replace("'", "''")  # a simple query takes no arguments; it is what saves a round trip
        lock = f"select from logs where operator = '{quoted}' for update"
        await self.connection.execute(f"begin isolation level read committed; {lock}")

    async def _lock_by_force(self, operator: str) -> None:
        """Whoever has held the log for longer than any timeout allows is frozen: end its session, and try once. Those
        who wait as well do the same, and are not to be ended for it: one of them keeps the others from the log."""
        waiter = asyncio.create_task(self._begin(operator))
        try:
            await asyncio.sleep(0.1)
            async with postgres.connected(self._dsn, name="executor rescue") as rescue:
                ended = await rescue.fetch(SQL["holders"], self.connection.get_server_pid(), IDLE_TIMEOUT_MS)
        except BaseException:
            waiter.cancel()
            await asyncio.wait([waiter])
            raise
        if ended:
            log.error("ended a session that held the log", operator=operator, sessions=len(ended))
        await waiter

    async def _take(self, operator: str, vault: Vault, entries: list[Entry], streams: set[str]) -> Batch:
        """The log's head and time, and of the streams that the commands name those not kept, in one query."""
        kept = self._kept.among(streams)
        keys = {(e.submission.actor, e.submission.key) for e in entries if e.submission.key}
        rows = await self._rows(operator, streams - kept.keys(), keys, kept)
        head = next((row for row in rows if row["kind"] == "head"), None)
        if head is None:
            raise UnknownOperator(operator)
        begun = eventlog.Tip(head["last"], head["first"], head["bytes"], head["at"], "")
        if begun != self.seen:
            self._catch_up(begun, [row for row in rows if row["kind"] == "since"])
        batch = Batch(operator, begun, max(head["now"], begun.at), vault)
        batch.streams.update(self._kept.among(streams))
        await self._take_in(batch, rows, keys)
        return batch

    def _catch_up(self, begun: eventlog.Tip, since: list[asyncpg.Record]) -> None:
        """Others have written: forget the streams that they changed, or all if the log does not go on from there."""
        seen, self.seen = self.seen, begun
        links = seen is not None and since and (since[0]["first"], since[0]["bytes"]) == (seen.position, seen.hash)
        if links and seen and seen.epoch == begun.epoch and len(since) < SINCE_MAX:
            self._kept.drop(row["name"] for row in since[1:])
        else:
            self._kept.clear()

    async def _rows(
        self, operator: str, streams: Collection[str], keys: Collection[Key], kept: Collection[str] = ()
    ) -> list[asyncpg.Record]:
        """Where nothing is kept, nobody asks what has been written since."""
        actors, names = texts([actor for actor, _ in keys]), texts([name for _, name in keys])
        since = self.seen.position if self.seen else POSITION_MAX
        asked = (texts(list(streams)), actors, names, since, SINCE_MAX, texts(list(kept)))
        return await self._fetch("load", operator, *asked)

    async def _load(self, batch: Batch, streams: Collection[str] = (), keys: Collection[Key] = ()) -> None:
        kept = self._kept.among(streams)
        batch.streams.update(kept)
        missing = [name for name in streams if name not in kept]
        if missing or keys:
            batch.of_one_moment = False
            await self._take_in(batch, await self._rows(batch.operator, missing, keys), keys)

    async def _take_in(self, batch: Batch, rows: list[asyncpg.Record], keys: Collection[Key]) -> None:
        batch.earlier.update(dict.fromkeys(keys))
        for kind, name, key, text, first, last, fingerprint, at, _ in rows:
            if kind == "answer":
                batch.earlier[name, key] = Earlier(fingerprint, _stored.decode(text), first, last, at)
            elif kind == "stream":
                batch.streams[name] = await self._stream(batch, name, key, first, last, text)

    async def _stream(
        self, batch: Batch, name: str, decider: str | None, version: int, schema: int, state: str
    ) -> Stream:
        if decider is None:
            return fresh(name)
        if schema > codec.STATE_SCHEMA:
            raise NewerSchema(f"{name} was folded by a newer version of croupier than this one")
        if schema < codec.STATE_SCHEMA:
            batch.of_one_moment = False
            return await fold_stream(self._fetch, batch.operator, name, decider)
        return Stream(decider, version, codec.decode_state(decider, state))

    async def _decided_at_once(
        self, batch: Batch, entries: list[Entry], streams: set[str]
    ) -> Sequence[Answer | Exception] | None:
        """None if the lock is needed. What is read besides has another snapshot, so that only an append proves it."""
        try:
            await self._load(batch, streams - batch.streams.keys())  # what was forgotten only now, all at once
            decided = [await self._loading(batch, partial(batch.decide, entry)) for entry in entries]
            answers = [await self._complete(batch, *pair) for pair in zip(entries, decided, strict=True)]
        except Exception:  # noqa: BLE001 - whatever it is, it comes again under the lock, and is told there
            return None
        return answers if batch.changes or batch.of_one_moment else None

    async def _loading(self, batch: Batch, decide: Callable[[], T]) -> T:
        while True:
            try:
                return decide()
            except Missing as missing:
                await self._load(batch, [missing.stream])

    async def _decide(self, batch: Batch, entry: Entry) -> Answer | Earlier | Exception:
        """Decide one command, loading what it turns out to need; its failure is its own."""
        while True:
            try:
                return batch.decide(entry)
            except Missing as missing:
                await self._load(batch, [missing.stream])
            except MissingAnswer as missing:
                await self._load(batch, keys=[missing.name])
            except MissingTotals as missing:
                [row] = await self._fetch("totals", batch.operator, missing.round)
                batch.totals[missing.round] = RoundTotals(**row)
            except MissingEnded as missing:
                batch.ended[missing.round] = await self._ended(batch.operator, missing.round)
            except NotYet as later:
                return later
            except (asyncpg.PostgresError, Unwritable, *LOST):
                raise
            except Exception as problem:
                log.exception("a decision failed", operator=batch.operator, stream=entry.submission.stream)
                return problem

    async def _ended(self, operator: str, round_id: str) -> Ended | None:
        records = await self._fetch(query_of(round_id), operator, round_id, TABLE + table_of(round_id))
        return ended_of(round_id, map(eventlog.row_of, records))

    async def _complete(self, batch: Batch, entry: Entry, answer: Answer | Earlier | Exception) -> Answer | Exception:
        """Put refusals on record, and fetch the events of a repeated command's answer."""
        if isinstance(answer, Rejected):
            if answer.rule is Rule.Fenced and await self._on_record(batch, entry):
                return Refused(str(answer.rule), answer.facts, repeated=True)
            return await self._loading(batch, partial(batch.refuse, entry, answer))
        if not isinstance(answer, Earlier):
            return answer
        if isinstance(answer.outcome, StoredRefused):
            return Refused(answer.outcome.rule, answer.outcome.facts, repeated=True)
        assert isinstance(answer.outcome, StoredAccepted)
        events = await self._events(batch.operator, answer.first, answer.last)
        appended = tuple(Appended(row.position, row.stream, row.event) for row in events)
        states = batch.states_of(entry.submission)
        return Accepted(
            answer.first, answer.last, appended, answer.at, answer.outcome.fenced, repeated=True, states=states
        )

    async def _on_record(self, batch: Batch, entry: Entry) -> bool:
        """Was this fenced command refused before? Its key is the fence's, which does not remember it."""
        stream, key = record_of(entry.submission), entry.submission.key
        if any((row.stream, row.command) == (stream, key) for row in batch.rows):
            return True
        return bool(await self._fetch("refused_before", batch.operator, stream, key))

    async def _events(self, operator: str, first: int | None, last: int | None) -> list[eventlog.EventRow]:
        if first is None:
            return []
        return [eventlog.row_of(record) for record in await self._fetch("events_between", operator, first, last)]


def _named(entries: list[Entry]) -> set[str]:
    return set[str]().union(*(streams_named(entry.submission) for entry in entries))


_READS = ("events_of_stream", "last_of_type", "events_between", "ended", "ended_match")

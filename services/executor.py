"""The executor: the only writer of the log, by group commit.

Commands wait in a queue for each operator. A flush takes all that wait, decides them in memory, and appends what they
gave in one statement; then every caller is answered. No timer delays a flush: it starts as soon as the last one ended
and what is at hand was taken in. A refusal or an exception touches only its own command.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg
import structlog

from domain.decider import Submission
from domain.game import Role
from domain.names import TABLE
from infra.columns import BadColumn
from infra.eventlog import Tip
from infra.vault import Vault
from services.batch import Answer, Entry, NotYet, Unwritable
from services.kept import KEPT_MAX
from services.writer import LOCK_TIMEOUT_MS, LOST, NewerSchema, UnknownOperator, Writer

BATCH_MAX = 128
QUIET_TURNS = 4
"""Of the event loop that bring no further command, before a flush begins. Whoever was just answered needs two or three
to come again; so few large batches are made, and not many small ones that each cost a commit."""
TURNS_MAX = 32
"""Before a flush in all: where each turn is long and brings one more, those who came first are not to wait for it."""
QUEUE_MAX = 4_096
PATIENCE_S = 10
"""How long a caller waits for its command. Longer than the writer waits for the lock of the log."""

CULPRITS = ("22", "23", "54")
"""SQLSTATE classes of a row that the database cannot take: one command's bug, found by splitting the batch."""

log: Any = structlog.get_logger()


class Busy(Exception):
    """The queue is full; nothing was taken in. Try again in a moment."""


class Unavailable(Exception):
    """The log could not be reached or its answer was lost; ask by the key what became of the command."""


class TookTooLong(Unavailable):
    """The command has waited for longer than anybody shall; it may still be decided."""


class InDoubt(Exception):
    """The log may have been restored to an earlier state, and players may know cards of hands that are on. Nothing was
    done; a worker finds out, cancels them and resumes the log."""


IsKnown = Callable[[str, Tip | None], Awaitable[bool]]
"""Is an operator's log the one that players know? The tip is where this process left it, if it wrote in it."""

_Waiting = tuple[Entry, "asyncio.Future[Answer]"]


class Executor:
    """Takes commands from many callers and writes them through one connection for each operator."""

    def __init__(self, dsn: str, vault: Vault, is_known: IsKnown | None = None) -> None:
        """`is_known` is asked over each new connection before a player acts; where it is not given, nothing is held."""
        self._dsn = dsn
        self._vault = vault
        self._is_known = is_known
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
                submission.operator,
                self._dsn,
                self._vault,
                lambda: self.wake(submission.operator),
                self._is_known,
                lambda: KEPT_MAX // max(1, len(self._lanes)),
            )
        try:
            return await lane.submit(Entry(submission, fingerprint, time.time_ns() // 1000))
        except NewerSchema:
            self.newer_schema = True
            raise
        except UnknownOperator:
            if self._lanes.get(submission.operator) is lane:
                del self._lanes[submission.operator]
                await lane.close()
            raise

    @property
    def queued(self) -> int:
        return sum(len(lane.queue) for lane in self._lanes.values())

    async def close(self) -> None:
        for lane in self._lanes.values():
            await lane.close()


class _Lane:
    """One operator's queue, and the connection over which its log is written."""

    def __init__(
        self,
        operator: str,
        dsn: str,
        vault: Vault,
        wake: Callable[[], None],
        is_known: IsKnown | None,
        room: Callable[[], int],
    ) -> None:
        self.operator = operator
        self.queue: deque[_Waiting] = deque()
        self._dsn = dsn
        self._vault = vault
        self._wake = wake
        self._is_known = is_known
        self._room = room
        self._in_doubt = False
        self._sent = False
        self._seen: Tip | None = None
        self._writer: Writer | None = None
        self._flusher: asyncio.Task[None] | None = None
        self._patience: deque[tuple[float, asyncio.Future[Answer]]] = deque()
        self._watch: asyncio.TimerHandle | None = None

    def submit(self, entry: Entry) -> "asyncio.Future[Answer]":
        if len(self.queue) >= QUEUE_MAX:
            raise Busy
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        self.queue.append((entry, future))
        self._patience.append((loop.time() + PATIENCE_S, future))
        if self._watch is None:
            self._watch = loop.call_later(PATIENCE_S, self._end_patience)
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.create_task(self._flush_all())
        return future

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        if self._flusher is not None:
            await asyncio.wait([self._flusher], timeout=LOCK_TIMEOUT_MS / 1000)
        if self._writer is not None:
            await self._writer.close()

    def _end_patience(self) -> None:
        """Tell whoever has waited too long. One timer for all of them: a timer for each would cost 10 us a command."""
        loop = asyncio.get_running_loop()
        while self._patience and (self._patience[0][1].done() or self._patience[0][0] <= loop.time()):
            _, future = self._patience.popleft()
            if not future.done():
                future.set_exception(TookTooLong)
        self._watch = loop.call_at(self._patience[0][0], self._end_patience) if self._patience else None

    async def _flush_all(self) -> None:
        while self.queue:
            await self._gather()
            waiting = [self.queue.popleft() for _ in range(min(len(self.queue), BATCH_MAX))]
            await self._flush(waiting)

    async def _gather(self) -> None:
        """Let what is at hand come along. No time is waited, only turns of the loop: an idle one takes 10 us."""
        quiet = 0
        for _ in range(TURNS_MAX):
            if quiet == QUIET_TURNS or len(self.queue) >= BATCH_MAX:
                break
            before = len(self.queue)
            await asyncio.sleep(0)
            quiet = 0 if len(self.queue) > before else quiet + 1

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
                problem = Unwritable(said)  # no fault of the database's: to send it again would be in vain
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
        while self._patience and self._patience[0][1].done():
            self._patience.popleft()

    async def _write_with_retry(self, entries: list[Entry]) -> Sequence[Answer | Exception]:
        """Write a batch; if the connection is lost, even at the commit, once more: `commands` tells what had landed,
        and internal commands are once-only by state. Of what is in doubt by then, nobody can say that it was not done.
        """
        self._sent = False
        try:
            return await self._write(entries)
        except LOST as problem:
            log.warning("writer connection lost, trying once more", operator=self.operator, problem=repr(problem))
        except asyncpg.PostgresError as problem:
            raise self._told(problem) from problem
        sent = self._sent
        try:
            answers = await self._write(entries)
        except (asyncpg.PostgresError, *LOST) as problem:
            raise self._told(problem) from problem
        return [Unavailable("in doubt") if sent and isinstance(each, InDoubt) else each for each in answers]

    def _told(self, problem: Exception) -> Exception:
        """What callers hear of a fault of the database: that it is away (full, locked, read-only, out of connections),
        so that they send again, for a first attempt may have landed. A command's own fault stays its own."""
        if _is_culprits(problem):
            return problem
        log.error("the log cannot be written", operator=self.operator, problem=repr(problem))
        return Unavailable(str(problem))

    async def _write(self, entries: list[Entry]) -> Sequence[Answer | Exception]:
        writer = self._writer
        if writer is None or writer.connection.is_closed():
            writer = self._writer = await Writer.open(self._dsn, self._room)
            self._in_doubt = True
        if self._in_doubt:
            self._in_doubt = await self._doubts()
        writing = [each for each in entries if not _plays(each)] if self._in_doubt else entries
        try:
            answers = await writer.write(self.operator, self._vault, writing)
        except BaseException:
            self._sent = writer.sent
            await writer.abandon()
            if writer.connection.is_closed():
                self._writer = None
            raise
        self._seen = writer.seen
        self._wake()
        if writing is entries:
            return answers
        rest = iter(answers)
        return [InDoubt() if _plays(each) else next(rest) for each in entries]

    async def _doubts(self) -> bool:
        """Asked over each new connection, for a restored database means one: a hand can end by what its players do, and
        who knows its cards from the lost tail would end it before a worker cancels it."""
        return self._is_known is not None and not await self._is_known(self.operator, self._seen)


def _plays(entry: Entry) -> bool:
    return entry.submission.role is Role.PLAYER and entry.submission.stream.startswith(TABLE)


def _is_culprits(problem: BaseException) -> bool:
    """Is this a value of one command that our own, the driver's or the database's encoding could not take?"""
    if isinstance(problem, asyncpg.PostgresError):
        return str(problem.sqlstate or "")[:2] in CULPRITS
    return isinstance(problem, Unwritable | BadColumn | UnicodeEncodeError | OverflowError)

"""Timers: when a deadline of a table, or of another stream, has passed, tell it so. Deadlines are data in the state,
indexed in `streams.due`.

A `TimeOut` is safe to send early or twice, so timers keep nothing: after any crash they read what is due and go on.
A round with a final outcome is due at once; its bettors are then settled.
"""

import asyncio
import time
from contextlib import suppress
from typing import Any

import structlog

from domain.decider import MarkFaulted, Submission
from domain.game import Role, TimeOut
from domain.games import GAMES
from domain.names import RESETTLEMENT
from infra import codec, eventlog, fanout, tasks
from infra.eventlog import SQL, Tip
from infra.postgres import Pool
from services import epochs
from services.executor import Busy, Executor, Unavailable
from services.heartbeat import Beat, unheard
from services.lanes import OUTAGE, Lease, tell_once
from services.lines import submit
from services.resettling import resettle_round
from services.settlement import PLATFORM, settle_round

LOOK_EVERY_S = 0.2
"""How often to look for new deadlines; a known one is met when it comes."""

REDIS_PATIENCE_S = 10
"""A Redis that is away may know that the log was restored. It is waited for, but not for ever: it is a fast path."""

FAILURES_MAX = 3
WAITS_MAX = 8
"""Waits between tries double so often: up to a minute."""

DUE_MAX = 200
RESETTLING_MAX = 4
"""Resettlements at work at once: a step of each moves some hundred wallets under the lock for which players wait."""

log: Any = structlog.get_logger()


class Timers:
    """Watches every operator's streams. Each that is due has a task of its own: none waits for another."""

    def __init__(
        self, executor: Executor, pool: Pool, redis: fanout.Redis | None = None, *, beat: Beat = unheard
    ) -> None:
        self._executor = executor
        self._beat = beat
        self._pool = pool
        self._redis = redis
        """A witness: it may have seen what a restored log has lost."""
        self._leases: dict[str, Lease] = {}
        self._checked: set[str] = set()
        self._seen: dict[str, Tip] = {}
        self._patient_until: dict[str, float] = {}
        self._at_work: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._failures: dict[tuple[str, str], int] = {}
        self._resettling = asyncio.Semaphore(RESETTLING_MAX)

    async def run(self) -> None:
        """Look for due tables for ever, or until cancelled."""
        said = ""
        try:
            while True:
                self._beat("timers")
                try:
                    await self.look()
                    said = ""
                    await asyncio.sleep(await self._pause())
                except (*eventlog.DATABASE_ERRORS, *fanout.SILENT_ERRORS, Unavailable, Busy) as problem:
                    said = tell_once(said, "timers cannot read what is due", problem)
                    self._checked.clear()
                    await asyncio.sleep(1)
                except Exception:
                    log.exception("timers cannot look, for a bug; they try again", alarm=True)
                    await asyncio.sleep(1)
        finally:
            await tasks.end(self._at_work.values())
            with suppress(*OUTAGE):
                await asyncio.gather(*(lease.end() for lease in self._leases.values()))

    async def look(self) -> None:
        """Start the work of every stream that is due and not at work already, where no other process does."""
        for operator, tip in (await eventlog.tips(self._pool)).items():
            if operator not in self._leases:
                self._leases[operator] = Lease(self._pool, operator, "clock")
            if await self._leases[operator].held() and await self._is_safe(operator, tip):
                await self._look_at(operator)

    async def _is_safe(self, operator: str, tip: Tip) -> bool:
        """Is this log sound? One that cannot even be asked, for lack of a vault key say, holds up no other."""
        try:
            return await self._is_sound(operator, tip)
        except (*eventlog.DATABASE_ERRORS, *fanout.SILENT_ERRORS, Unavailable, Busy):
            raise
        except Exception:
            log.exception("an operator's log cannot be resumed; its clock stands", operator=operator, alarm=True)
            return False

    async def _is_sound(self, operator: str, tip: Tip) -> bool:
        """Before anything is dealt: is this log the one that players know, or has it been restored to an earlier state?

        Asked of a new process, after every outage, and where the log does not simply go on from where it was.
        """
        if operator not in self._checked or not _goes_on(self._seen[operator], tip):
            redis = self._redis if await self._redis_answers() else None
            if redis is None and self._redis is not None:
                until = self._patient_until.setdefault(operator, time.monotonic() + REDIS_PATIENCE_S)
                if time.monotonic() < until:
                    return False
                log.warning("Redis is away and cannot tell whether the log was restored", operator=operator)
            seen = self._seen.get(operator)
            tip = await epochs.check_database(self._executor, self._pool, operator, seen=seen, redis=redis)
            self._patient_until.pop(operator, None)
            self._checked.add(operator)
        self._seen[operator] = tip
        return True

    async def _redis_answers(self) -> bool:
        if self._redis is None:
            return False
        try:
            return await fanout.answers(self._redis)
        except fanout.SILENT_ERRORS:
            return False

    async def _look_at(self, operator: str) -> None:
        for row in await self._pool.fetch(SQL["due"], operator, DUE_MAX):
            name = (operator, row["stream"])
            if name not in self._at_work:
                task = asyncio.create_task(self._serve(operator, row["stream"], row["decider"], row["state"]))
                self._at_work[name] = task
                task.add_done_callback(lambda _, name=name: self._at_work.pop(name))

    async def _pause(self) -> float:
        micros = await self._pool.fetchval(SQL["next_due"])
        if micros is None or micros <= 0:
            return LOOK_EVERY_S / 4 if self._at_work else LOOK_EVERY_S
        return min(LOOK_EVERY_S, micros / 1_000_000 + 0.001)

    async def _serve(self, operator: str, stream: str, decider: str, state: str) -> None:
        """Submit what is due at one stream. Failures are counted by stream: after three a table is put to rest; what
        is no table has no rest, and is tried again in a while."""
        name = (operator, stream)
        try:
            await self._submit(operator, stream, decider, state)
            self._failures.pop(name, None)
        except (*OUTAGE, Busy, Unavailable) as problem:
            log.warning("the log cannot be written now", operator=operator, problem=repr(problem))
            await asyncio.sleep(1)
        except Exception as problem:  # noqa: BLE001 - any bug of one stream must leave the others running
            failures = self._failures[name] = self._failures.get(name, 0) + 1
            log.error(
                "a stream's clock failed", operator=operator, stream=stream, failures=failures, problem=repr(problem)
            )
            if failures >= FAILURES_MAX and decider in GAMES:
                await self._put_to_rest(operator, stream, repr(problem))
            else:
                await asyncio.sleep(2 ** min(failures, WAITS_MAX) / 4)

    async def _submit(self, operator: str, stream: str, decider: str, state: str) -> None:
        if decider == "resettlement":
            async with self._resettling:
                await resettle_round(self._executor, self._pool, operator, stream.removeprefix(RESETTLEMENT))
            return
        game = GAMES.get(decider)
        outcome = game.result(codec.decode_state(decider, state)) if game else None
        if outcome is not None:
            await settle_round(self._executor, self._pool, operator, outcome.round)
        else:
            await submit(self._executor, Submission(operator, PLATFORM, Role.CLOCK, stream, TimeOut()))

    async def _put_to_rest(self, operator: str, stream: str, problem: str) -> None:
        log.error("table faulted: a supervisor must resume or cancel", operator=operator, stream=stream, alarm=True)
        fault = MarkFaulted(f"its clock failed {FAILURES_MAX} times")
        try:
            await submit(self._executor, Submission(operator, PLATFORM, Role.CLOCK, stream, fault))
            self._failures.pop((operator, stream), None)
        except Exception:
            log.exception("a table cannot be put to rest; it is tried again", operator=operator, stream=stream)
            await asyncio.sleep(2 ** min(self._failures[operator, stream], WAITS_MAX) / 4)


def _goes_on(before: Tip, now: Tip) -> bool:
    """Is this the same log, grown or as it was?"""
    if (now.epoch, now.system) != (before.epoch, before.system):
        return False
    return now.position > before.position or (now.position, now.hash) == (before.position, before.hash)

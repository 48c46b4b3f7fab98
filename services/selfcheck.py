"""The self-check: what is deployed here, held against what is expected and recorded in every operator's log.

Each worker checks at its start and every 24 hours, an API process when it is asked. What differs is an alarm, a
significant event, and goes on being one until a supervisor accepts what was found, or what was is there again.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import asyncpg
import structlog
from msgspec import Struct

from domain import house, selfcheck
from domain.decider import Submission
from domain.game import Micros, Role
from domain.names import HOUSE
from domain.selfcheck import CheckSelf, Found, ManifestRecorded, Scope, SelfChecked
from infra import codec, deployed, eventlog
from infra.deployed import Manifest
from infra.postgres import Pool
from infra.settings import Settings
from infra.sql import queries
from services.batch import Accepted
from services.executor import Busy, Executor, InDoubt, NewerSchema, Unavailable
from services.lanes import OUTAGE, Backoff, each_operator
from services.lines import submit
from services.settlement import PLATFORM

SQL = queries("selfcheck")
DAY_S = 24 * 3_600
_LOOK_S = 0.5
_LAST = 2**62

log: Any = structlog.get_logger()


class Checked(Struct, frozen=True):
    """A check as it is kept: who made it (`platform` where nobody asked), and when. `differing` names the first parts
    that differ from the manifest of what is expected, `differ` is how many do; 0 too where no manifest is known."""

    position: int
    at: Micros
    actor: str
    scope: Scope
    expected: str
    found: str
    holds: bool
    differ: int
    differing: tuple[str, ...]


def told(position: int, at: Micros, actor: str, event: SelfChecked) -> Checked:
    of_event = (event.scope, event.expected, event.found, event.holds, event.differ, event.differing)
    return Checked(position, at, actor, *of_event)


async def look(pool: Pool, operator: str, settings: Settings, scopes: tuple[Scope, ...], *, asked: bool) -> CheckSelf:
    """The command that has it recorded how things are here now. An alarm, if they are not as they should be."""
    checks = await checks_of(pool, operator)
    found: list[Found] = []
    for scope in scopes:
        manifest = await asyncio.to_thread(_manifest, settings, scope)
        said = settings.expected_digest if scope is Scope.CODE else ""
        expected = said or checks.expected.get(scope, "")
        differing = await _differing(pool, operator, scope, expected, manifest)
        found.append(Found(scope, manifest.digest, manifest.parts, said, differing))
        if expected not in ("", manifest.digest):
            names = differing[: selfcheck.DIFFERING_MAX]
            facts = {"scope": scope.value, "expected": expected, "found": manifest.digest, "differing": names}
            log.error("what is deployed is not what is expected", operator=operator, **facts, alarm=True)
    return CheckSelf(tuple(found), asked)


async def checks_of(pool: Pool, operator: str) -> selfcheck.Checks:
    row = await pool.fetchrow(eventlog.SQL["stream"], operator, HOUSE)
    found: house.House = codec.decode_state("house", row["state"]) if row else house.INITIAL
    return found.checks or selfcheck.INITIAL


async def is_another_program(pool: Pool, operator: str) -> bool:
    """Is the code here another than this log expects?"""
    expected = (await checks_of(pool, operator)).expected.get(Scope.CODE, "")
    return expected not in ("", (await asyncio.to_thread(deployed.code)).digest)


async def page(pool: Pool, operator: str, before: int | None, limit: int) -> list[Checked]:
    """The checks that were recorded, the newest first."""
    until = _LAST if before is None else before
    rows = [eventlog.row_of(record) for record in await pool.fetch(SQL["page"], operator, until, limit)]
    return [told(row.position, row.at, row.actor, row.event) for row in rows]


def _manifest(settings: Settings, scope: Scope) -> Manifest:
    return deployed.code() if scope is Scope.CODE else deployed.settings(settings)


async def _differing(pool: Pool, operator: str, scope: Scope, expected: str, found: Manifest) -> tuple[str, ...]:
    """The parts that are not as they should be, put in or taken out."""
    if expected in ("", found.digest):
        return ()
    data = await pool.fetchval(SQL["manifest"], operator, scope, expected)
    if data is None:
        return ()
    recorded: ManifestRecorded = codec.decode_event("house.ManifestRecorded", 1, data)
    return tuple(differing(recorded.parts, found.parts))


def differing(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*expected, *found} if expected.get(name) != found.get(name))


class SelfChecks:
    """A worker's own checks, in every operator's log."""

    def __init__(self, executor: Executor, pool: Pool, settings: Settings) -> None:
        self._executor = executor
        self._pool = pool
        self._settings = settings

    async def run(self) -> None:
        await each_operator(self._pool, self._serve)

    async def once(self, operator: str) -> list[SelfChecked]:
        """What was recorded; nothing where the same was found within the hour."""
        asked = await look(self._pool, operator, self._settings, (Scope.CODE, Scope.WORKER), asked=False)
        answer = await submit(self._executor, Submission(operator, PLATFORM, Role.OPERATOR, HOUSE, asked))
        events = answer.events if isinstance(answer, Accepted) else ()
        return [each.event for each in events if isinstance(each.event, SelfChecked)]

    async def _serve(self, operator: str) -> None:
        backoff = Backoff("selfcheck", operator)
        while True:
            try:
                pause = DAY_S if await self._begun(operator) else _LOOK_S
                if pause == DAY_S:
                    await self.once(operator)
            except (*OUTAGE, asyncpg.PostgresError, Busy, InDoubt, NewerSchema, Unavailable) as problem:
                await backoff.after(problem)
            else:
                backoff.over()
                await asyncio.sleep(pause)

    async def _begun(self, operator: str) -> bool:
        """The first event of a log is its opening."""
        tip = await eventlog.tip(self._pool, operator)
        return tip is not None and tip.position > 0

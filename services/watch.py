"""Who came to an API's door: seen here, and told to the log now and then, so that nobody waits for it and nobody who
knocks a thousand times makes a thousand events.
"""

import asyncio
import time
from contextlib import suppress
from typing import Any

import asyncpg
import structlog
from msgspec import Struct

from domain.decider import Submission
from domain.game import Micros, Role
from domain.watch import DOORS, NAMED_MAX, Came
from services.executor import Busy, Executor, InDoubt, NewerSchema, Unavailable, UnknownOperator
from services.lanes import OUTAGE
from services.settlement import PLATFORM

PACE_S = 60.0
"""So long what was seen is gathered. A key's first use is told at once: that is once a day."""
OPERATORS_MAX = 1_000

log: Any = structlog.get_logger()


class _Seen(Struct):
    """At one operator's door."""

    since: Micros
    keys: dict[str, None]
    named: dict[str, None]
    turned_away: int = 0


class Watch:
    """What one process saw and has not told yet."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._seen: dict[str, _Seen] = {}
        self._wake = asyncio.Event()

    def took(self, operator: str, key: str) -> None:
        self._at(operator).keys[key] = None
        self._wake.set()

    def turned_away(self, operator: str, key: str) -> None:
        """`operator` must be there; `key` is what the bearer said, an id or not."""
        seen = self._at(operator)
        seen.turned_away += 1
        if len(seen.named) < NAMED_MAX:
            seen.named[key] = None

    def _at(self, operator: str) -> _Seen:
        if operator not in self._seen and len(self._seen) >= OPERATORS_MAX:
            self._seen.pop(next(iter(self._seen)))
        return self._seen.setdefault(operator, _Seen(time.time_ns() // 1_000, {}, {}))

    async def run(self) -> None:
        """Tell for ever, or until cancelled; then once more."""
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(PACE_S):
                        await self._wake.wait()
                await self.tell()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self.tell()

    async def tell(self) -> None:
        """What cannot be told now is kept for the next time."""
        self._wake.clear()
        for operator in tuple(self._seen):
            each = self._seen.pop(operator)
            came = Came(tuple(each.keys), each.turned_away, tuple(each.named), each.since)
            try:
                await self._executor.submit(Submission(operator, PLATFORM, Role.CLOCK, DOORS, came))
            except (
                *OUTAGE,
                asyncpg.PostgresError,
                Busy,
                InDoubt,
                NewerSchema,
                Unavailable,
                UnknownOperator,
            ) as problem:
                log.warning("who came cannot be told to the log now", operator=operator, problem=repr(problem))
                self._keep(operator, each)
            except Exception:
                log.exception("who came cannot be told for a bug; it is tried again", operator=operator, alarm=True)
                self._keep(operator, each)

    def _keep(self, operator: str, before: _Seen) -> None:
        seen = self._at(operator)
        seen.since = min(seen.since, before.since)
        seen.keys |= before.keys
        seen.named = dict(list((before.named | seen.named).items())[:NAMED_MAX])
        seen.turned_away += before.turned_away

"""Every stream's state folded from the log, from its beginning: the way back, for all of it at once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg

from infra import codec, eventlog
from infra.eventlog import LogTorn
from infra.postgres import Pool
from infra.sql import queries

SQL = queries("replay")


class Fold:
    def __init__(self) -> None:
        self.states: dict[str, Any] = {}
        self.position = 0
        self._evolve: dict[str, Callable[[Any, Any], Any]] = {}

    def take(self, stream: str, event_type: str, schema: int, data: str) -> None:
        evolve = self._evolve.get(stream)
        if evolve is None:
            decider = event_type.partition(".")[0]
            evolve = self._evolve[stream] = codec.evolve(decider)
            self.states[stream] = codec.initial(decider)
        self.states[stream] = evolve(self.states[stream], codec.decode_event(event_type, schema, data))

    async def pages(self, pool: Pool, operator: str) -> AsyncIterator[int]:
        """Fold page after page, each read while the one before is folded; gives the count of each. Raises LogTorn."""
        following = asyncio.create_task(self._page(pool, operator, self.position))
        try:
            while records := await following:
                first, last = self.position + 1, records[-1][0]
                if last - first + 1 != len(records):
                    raise LogTorn(f"{operator}: a position between {first} and {last} is missing from the log")
                following = asyncio.create_task(self._page(pool, operator, last))
                await asyncio.sleep(0)  # so that the request is on its way before the fold takes the processor
                for _, stream, event_type, schema, data in records:
                    self.take(stream, event_type, schema, data)
                self.position = last
                yield len(records)
        finally:
            following.cancel()

    async def _page(self, pool: Pool, operator: str, after: int) -> list[asyncpg.Record]:
        return await pool.fetch(SQL["facts"], operator, after, eventlog.PAGE)

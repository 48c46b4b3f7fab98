"""Folding streams anew from their events, when their stored state has an older shape than this program gives them.

`croupier migrate` does it beforehand for all; the executor for whatever it meets before that. A table is folded from
its last round's opening, which carries all that the round needs, so the work is bounded.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg

from domain.decider import Stream
from infra import codec, eventlog
from infra.eventlog import SQL
from infra.postgres import Pool

Fetch = Callable[..., Awaitable[Sequence[asyncpg.Record]]]
"""A query of `eventlog.sql` by its name, with its arguments."""

_PAGE = 500


async def fold_stream(fetch: Fetch, operator: str, stream: str, decider: str) -> Stream:
    """The stream as its events make it."""
    state, evolve, version = codec.initial(decider), codec.evolve(decider), 0
    opening = codec.opening(decider)
    if opening is not None:
        found = await fetch("last_of_type", operator, stream, opening)
        version = found[0]["version"] - 1 if found else 0
    while records := await fetch("events_of_stream", operator, stream, version, eventlog.PAGE):
        for record in records:
            state = evolve(state, eventlog.row_of(record).event)
        version = records[-1]["version"]
    return Stream(decider, version, state)


async def refold(pool: Pool, say: Callable[[str], None]) -> int:
    """Bring every state of an older shape up to date; returns how many. Safe beside running processes: a stream that
    moves on meanwhile keeps what its mover wrote, and is met again."""

    def fetch(name: str, *arguments: Any) -> Awaitable[list[asyncpg.Record]]:
        return pool.fetch(SQL[name], *arguments)

    done = 0
    for operator in await eventlog.operators(pool):
        while rows := await pool.fetch(SQL["older_states"], operator, codec.STATE_SCHEMA, _PAGE):
            for row in rows:
                folded = await fold_stream(fetch, operator, row["stream"], row["decider"])
                state = codec.encode(folded.state)
                arguments = (operator, row["stream"], folded.version, state, codec.STATE_SCHEMA)
                await pool.execute(SQL["replace_state"], *arguments)
            done += len(rows)
            say(f"{operator}: {done} states folded anew")
    return done

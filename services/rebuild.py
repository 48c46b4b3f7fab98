"""Rebuild: a projection made anew from the log while the old one is read, then put in its place at once.

Two generations take turns. The new one catches up beside; the swap waits for nobody but the projector, for as long as
the last few events take. Cut off in the middle, the old generation is untouched and the next rebuild begins afresh.
"""

from collections.abc import Callable
from typing import cast

from infra import eventlog
from infra.eventlog import LogTorn
from infra.postgres import Connection, Pool
from services import checkpoints
from services.checkpoints import SQL, Checkpoint
from services.lanes import Lease
from services.projections import Projection

PAGE = 2_000
NEAR = 500
"""So few events behind, the rest is applied while the projector waits."""

CLEAR_AT_ONCE = 5_000

Progress = Callable[[int, int], None]


class RebuildRuns(Exception):
    """Somebody else is rebuilding this projection."""


async def rebuild(pool: Pool, operator: str, projection: Projection, progress: Progress = lambda done, of: None) -> int:
    """Make the projection anew; returns the position at which the new generation took over. Raises RebuildRuns."""
    lease = Lease(pool, operator, f"rebuild {projection.name}")
    if not await lease.held():
        raise RebuildRuns(f"{operator}: another rebuild of {projection.name} is on")
    try:
        await clear_leftovers(pool, operator, projection)
        live = await checkpoints.live(pool, operator, projection.name)
        start = Checkpoint(live.generation % 2 + 1, 0, eventlog.genesis(operator, 1))
        await pool.execute(SQL["build"], operator, projection.name, start.generation, start.hash)
        built = await _catch_up(pool, operator, projection, start, lease, progress)
        position = await _swap(pool, operator, projection, built)
        await clear_leftovers(pool, operator, projection)
        return position
    finally:
        await lease.end()


async def clear_leftovers(pool: Pool, operator: str, projection: Projection) -> None:
    """Delete generations that nobody reads, a few rows at a time."""
    for [generation] in await pool.fetch(SQL["leftovers"], operator, projection.name):
        for clear in projection.clear:
            while await pool.execute(clear, operator, generation, CLEAR_AT_ONCE) != "DELETE 0":
                pass
        await pool.execute(SQL["drop"], operator, projection.name, generation)


async def _catch_up(
    pool: Pool, operator: str, projection: Projection, at: Checkpoint, lease: Lease, progress: Progress
) -> Checkpoint:
    while True:
        if not await lease.held():
            raise RebuildRuns(f"{operator}: the rebuild of {projection.name} was held up, and another took over")
        tip = await eventlog.tip(pool, operator)
        behind = tip.position - at.position if tip else 0
        progress(at.position, at.position + behind)
        if behind <= NEAR:
            return at
        async with pool.acquire() as connection:
            at = await _apply(pool, cast("Connection", connection), operator, projection, at, PAGE)


async def _swap(pool: Pool, operator: str, projection: Projection, at: Checkpoint) -> int:
    key = (operator, projection.name)
    async with pool.acquire() as acquired, acquired.transaction():
        connection = cast("Connection", acquired)
        await connection.execute(SQL["hold_briefly"])
        live = await connection.fetchrow(SQL["lock"], *key)
        assert live is not None
        while at.position < live["position"]:
            at = await _apply(pool, connection, operator, projection, at, min(PAGE, live["position"] - at.position))
        await connection.execute(SQL["retire"], *key)
        await connection.execute(SQL["promote"], *key, at.generation)
    return at.position


async def _apply(
    pool: Pool, connection: Connection, operator: str, projection: Projection, at: Checkpoint, limit: int
) -> Checkpoint:
    rows = await eventlog.after(pool, operator, at.position, limit)
    if not checkpoints.follows(at, rows):
        raise LogTorn(f"{operator}: the log does not go on from position {at.position}")
    after = await checkpoints.apply(connection, operator, projection, at, rows)
    if after is None:
        raise RebuildRuns(f"{operator}: another rebuild of {projection.name} took over")
    return after

"""How far each projection has come, kept in Postgres beside its rows, and how a reader waits for its own writes."""

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from infra import eventlog
from infra.eventlog import EventRow
from infra.postgres import Connection, Pool
from infra.sql import queries
from services.projections import Place, Projection

SQL = queries("projections")
_PATIENCE = (0.005, 0.01, 0.02)
_PATIENCE_END = 0.03


class NotInTheLog(Exception):
    """Redis holds events that fit the checkpoint and are not in the log: it was restored, or they are forged."""


class Checkpoint(Struct, frozen=True):
    """Every event up to `position` has taken effect on the rows of this generation, and none after it. `kept` is what
    the projection remembers of its rows as they are then."""

    generation: int
    position: int
    hash: bytes
    problem: str | None = None
    kept: Any = None


async def live(pool: Pool, operator: str, projection: str) -> Checkpoint:
    """The checkpoint whose generation is read; made at the log's beginning for a projection that is new."""
    record = await pool.fetchrow(SQL["live"], operator, projection)
    if record is None:
        await pool.execute(SQL["begin"], operator, projection, eventlog.genesis(operator, 1))
        record = await pool.fetchrow(SQL["live"], operator, projection)
    assert record is not None
    return Checkpoint(*record)


def follows(at: Checkpoint, rows: Sequence[EventRow]) -> bool:
    """Do these rows begin after the checkpoint, without a gap, each hash made of the one before and its event?"""
    before = at.hash
    for expected, row in enumerate(rows, start=at.position + 1):
        if row.position != expected or eventlog.link(before, row) != row.hash:
            return False
        before = row.hash
    return True


async def apply(
    connection: Connection, operator: str, projection: Projection, at: Checkpoint, rows: Sequence[EventRow]
) -> Checkpoint | None:
    """The rows after `at` take effect, in one transaction with the checkpoint; None if `at` is no longer true.

    The last one's hash stands for all of them, since they are linked. Raises NotInTheLog.
    """
    last = rows[-1]
    key = (operator, projection.name, at.generation)
    async with connection.transaction():
        moved = await connection.fetchrow(SQL["advance"], *key, at.position, last.position, last.hash, at.hash)
        if moved is None:
            if await connection.fetchval(eventlog.SQL["hash_at"], operator, last.position) != last.hash:
                raise NotInTheLog(f"{operator}: the log has no such event {last.position}")
            return None
        kept = await projection.apply(connection, Place(operator, at.generation, at.kept), rows)
    return Checkpoint(at.generation, last.position, last.hash, kept=kept)


async def wait_for(pool: Pool, operator: str, projection: str, position: int, timeout: float) -> bool:  # noqa: ASYNC109
    """Wait until a projection shows the event at `position`; False if it does not within `timeout` seconds."""
    clock = asyncio.get_running_loop()
    until = clock.time() + timeout
    pauses = iter(_PATIENCE)
    while True:
        reached = await pool.fetchval(SQL["position"], operator, projection)
        if reached is not None and reached >= position:
            return True
        left = until - clock.time()
        if left <= 0:
            return False
        await asyncio.sleep(min(left, next(pauses, _PATIENCE_END)))

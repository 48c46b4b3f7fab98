"""The notary: takes the events of each log into its Merkle tree, and signs how the tree stands, soon after they landed.

It runs beside everything and holds nothing up. What it has signed, nobody who has the database can change, take out,
put in or reorder without its key: `croupier audit` finds the place.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import asyncpg
import structlog
from msgspec import Struct

from domain import merkle
from infra import eventlog, metrics, notes
from infra.eventlog import EventRow, LogTorn, Tip
from infra.postgres import Connection, Pool
from services import tree
from services.lanes import OUTAGE, Backoff, Lease, each_operator
from services.tree import SQL

_POLL_SECONDS = 0.25
_PACE_SECONDS = 0.5
"""Between two signatures while events come: with the polling, the newest of them waits for less than a second."""
_TORN_SECONDS = 5.0

log: Any = structlog.get_logger()


class _Stand(Struct, frozen=True):
    """How far the tree has come: so many leaves, and the chain's link at the last."""

    size: int
    hash: bytes


def origin(operator: str, epoch: int) -> str:
    """The name of a log as it is signed. A log that was set back goes on under another: no name has two histories."""
    return f"croupier/{operator}/{epoch}"


class Notary:
    """One operator's notary. Each `once` takes in at most a page of the log, and signs."""

    def __init__(self, pool: Pool, operator: str, keys: Mapping[str, bytes]) -> None:
        self._pool = pool
        self.operator = operator
        self._seeds = list(keys.values())

    async def once(self) -> int:
        """How many events were taken in. Raises LogTorn if the log is not what was taken in before and what links."""
        tip, stand = await eventlog.tip(self._pool, self.operator), await self._stand()
        if tip is None or tip.position == stand.size:
            return 0
        rows = await eventlog.after(self._pool, self.operator, stand.size)
        if not rows:
            raise LogTorn(f"{self.operator}: {stand.size} events were signed, and the log ends at {tip.position}")
        after = _Stand(rows[-1].position, _linked(self.operator, stand.hash, rows))
        tiles = await tree.load(self._pool, self.operator, tree.edge(stand.size))
        for row in rows:
            tiles.append(row.position - 1, eventlog.leaf(row))
        async with self._pool.acquire() as connection:
            grown = await self._grow(cast("Connection", connection), tip, stand, after, tiles)
        if grown:
            metrics.notary_position.labels(self.operator).set(after.size)
        return len(rows) if grown else 0

    async def _stand(self) -> _Stand:
        record = await self._pool.fetchrow(SQL["tree"], self.operator)
        if record is None:
            await self._pool.execute(SQL["begin"], self.operator, eventlog.genesis(self.operator, 1))
            record = await self._pool.fetchrow(SQL["tree"], self.operator)
        assert record is not None
        return _Stand(*record)

    async def _grow(self, connection: Connection, tip: Tip, at: _Stand, after: _Stand, tiles: tree.Tiles) -> bool:
        """False if another notary was quicker."""
        name = origin(self.operator, tip.epoch)
        checkpoint = notes.Checkpoint(name, after.size, merkle.root(tiles.node, after.size))
        note = notes.signed(checkpoint, self._seeds)
        async with connection.transaction():
            if await connection.fetchrow(SQL["grow"], self.operator, at.size, after.size, after.hash) is None:
                return False
            await tree.save(connection, self.operator, tiles)
            await connection.execute(SQL["sign"], self.operator, after.size, note)
            for seed in self._seeds:
                await connection.execute(SQL["know_key"], self.operator, str(notes.public_key(name, seed)))
        return True


def _linked(operator: str, before: bytes, rows: Sequence[EventRow]) -> bytes:
    for row in rows:
        before = eventlog.link(before, row)
        if row.hash != before:
            raise LogTorn(f"{operator}: event {row.position} does not link to the one before")
    return before


class Notaries:
    """Every operator's notary in this process."""

    def __init__(self, pool: Pool, keys: Mapping[str, bytes]) -> None:
        self._pool = pool
        self._keys = keys

    async def run(self) -> None:
        await each_operator(self._pool, self._serve)

    async def _serve(self, operator: str) -> None:
        lease = Lease(self._pool, operator, "notary")
        notary = Notary(self._pool, operator, self._keys)
        backoff = Backoff("notary", operator)
        try:
            while True:
                try:
                    pause = await self._step(lease, notary)
                except (*OUTAGE, asyncpg.PostgresError) as problem:
                    await backoff.after(problem)
                else:
                    backoff.over()
                    await asyncio.sleep(pause)
        finally:
            with suppress(*OUTAGE, asyncpg.PostgresError):
                await lease.end()

    async def _step(self, lease: Lease, notary: Notary) -> float:
        """How long to wait before the next."""
        if not await lease.held():
            return _POLL_SECONDS
        try:
            taken = await notary.once()
        except LogTorn as torn:
            log.error("the log is torn; the notary signs no more of it", what=str(torn), alarm=True)
            return _TORN_SECONDS
        if taken == eventlog.PAGE:
            return 0
        return _PACE_SECONDS if taken else _POLL_SECONDS

"""The log as it is stored: what an event's row is, how rows are chained, and how they are read, by position.

Long reads go in pages of short statements: one old snapshot keeps dead versions of the `logs` row and slows every
flush. Positions are dense, so whoever reads may insist that the next is exactly one higher.
"""

import hashlib
import struct
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any

import asyncpg
from msgspec import Struct

from domain import merkle
from domain.game import Micros
from domain.names import DISPUTE
from domain.proposals import DecideDispute, Proposed
from infra import codec
from infra.postgres import Pool
from infra.sql import queries

SQL = queries("eventlog")
PAGE = 5_000
DATABASE_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""What a read may raise while the database is away or coming back."""

_LENGTH = struct.Struct(">BI")
_NUMBERS = struct.Struct(">qqqq")


class EventRow(Struct, frozen=True):
    """An event with its place, as stored. `data` is the JSON text exactly as it was hashed."""

    position: int
    stream: str
    version: int
    type: str
    schema: int
    round: str | None
    command: str | None
    actor: str
    role: str
    at: Micros
    data: str
    hash: bytes

    @property
    def event(self) -> Any:
        return codec.decode_event(self.type, self.schema, self.data)


class Tip(Struct, frozen=True):
    """Where an operator's log stands."""

    epoch: int
    position: int
    hash: bytes
    at: Micros
    system: str


class LogTorn(Exception):
    """The log has a gap or a link that does not fit: proof of tampering or of a broken restore."""


def genesis(operator: str, epoch: int) -> bytes:
    """What the first event of a log links to."""
    return hashlib.sha256(_field("croupier-log-1") + _field(operator) + epoch.to_bytes(8, "big")).digest()


def canonical(row: EventRow) -> bytes:
    """What an event's place and content are, as bytes that can be read in one way only; its hash is no part of it.

    Position, version, schema and `at` as 8 bytes big-endian each; then stream, type, round, command, actor, role and
    data, each as byte 0 for null, or byte 1, the length of its UTF-8 in 4 bytes big-endian, and the UTF-8 itself. `at`
    is microseconds since 1970 UTC.
    """
    form = (
        _NUMBERS.pack(row.position, row.version, row.schema, row.at),
        _field(row.stream),
        _field_of_few(row.type),
        _field_of_few(row.round),
        _field(row.command),
        _field(row.actor),
        _field_of_few(row.role),
        _field(row.data),
    )
    return b"".join(form)


def link(before: bytes, row: EventRow) -> bytes:
    """SHA-256 of a version byte (1), the hash before (32 bytes), and the event in canonical form."""
    return hashlib.sha256(b"\x01" + before + canonical(row)).digest()


def leaf(row: EventRow) -> bytes:
    """The event's leaf in its operator's tree: RFC 6962's hash of a version byte (1) and the canonical form."""
    return merkle.leaf_hash(b"\x01" + canonical(row))


def _field(text: str | None) -> bytes:
    if text is None:
        return b"\x00"
    encoded = text.encode()
    return _LENGTH.pack(1, len(encoded)) + encoded


_field_of_few = lru_cache(1_024)(_field)
"""For what takes few values at a time: every event is hashed when it is written and whenever it is read."""


def row_of(record: asyncpg.Record) -> EventRow:
    return EventRow(*record)


async def tip(pool: Pool, operator: str) -> Tip | None:
    record = await pool.fetchrow(SQL["tip"], operator)
    return Tip(*record) if record else None


async def tips(pool: Pool) -> dict[str, Tip]:
    return {operator: Tip(*tip) for operator, *tip in await pool.fetch(SQL["tips"])}


async def operators(pool: Pool) -> list[str]:
    return [record[0] for record in await pool.fetch(SQL["operators"])]


async def after(pool: Pool, operator: str, position: int, limit: int = PAGE) -> list[EventRow]:
    """At most `limit` events after `position`. Raises LogTorn where a position is missing."""
    rows = [row_of(record) for record in await pool.fetch(SQL["events_after"], operator, position, limit)]
    for expected, row in enumerate(rows, start=position + 1):
        if row.position != expected:
            raise LogTorn(f"{operator}: position {expected} is missing from the log")
    return rows


async def of_round(pool: Pool, operator: str, round_id: str) -> AsyncIterator[EventRow]:
    """All events of a round in order, paged. What is disputed of it, and how that shall be decided, is no part of it;
    that it was settled once more is, with the proposal."""
    position, of_disputes = 0, set[str]()
    while records := await pool.fetch(SQL["events_of_round"], operator, round_id, position, PAGE):
        for row in map(row_of, records):
            if row.type == "proposal.Proposed" and _is_of_dispute(row.event):
                of_disputes.add(row.stream)
            if not row.stream.startswith(DISPUTE) and row.stream not in of_disputes:
                yield row
        position = records[-1]["position"]


def _is_of_dispute(proposed: Proposed) -> bool:
    return isinstance(proposed.asked, DecideDispute)


async def of_stream(pool: Pool, operator: str, stream: str, version: int = 0) -> AsyncIterator[EventRow]:
    """One stream's events after `version`, in order, paged."""
    while rows := await pool.fetch(SQL["events_of_stream"], operator, stream, version, PAGE):
        for record in rows:
            yield row_of(record)
        version = rows[-1]["version"]

"""Disputes as they are read: how each stands, what was said in it, and whether what one is about is there."""

from typing import Any

from msgspec import Struct

from domain.disputes import DAY, Dispute, DisputeDecided, DisputeStage, Event
from domain.game import Micros, Role
from domain.names import DISPUTE, TABLE, WALLET, table_of
from domain.refused import CommandRefused
from infra import codec, eventlog
from infra.postgres import Pool
from infra.sql import queries

SQL = queries("disputes")


class DisputeView(Struct, frozen=True):
    """`bet` is the key of the player's command that it is about, empty if it is about the whole `round`. It shall be
    decided by `due`; evidence that was asked for is awaited up to `until`, and `due` counts that. `evidence` is how
    many pieces of it there are. `position` is that of its last event."""

    id: str
    stage: DisputeStage
    player: str
    round: str
    bet: str
    opened_by: str
    due: Micros
    until: Micros | None
    overdue: bool
    evidence: int
    ruling: DisputeDecided | None
    position: int


class DisputeEvent(Struct, frozen=True):
    """An event of the dispute: who did what when."""

    position: int
    at: Micros
    actor: str
    role: Role
    event: Event


class DisputeCase(Struct, frozen=True):
    """`replay` and `dossier` lead to the round that it is about."""

    dispute: DisputeView
    events: tuple[DisputeEvent, ...]
    replay: str
    dossier: str


class Wanted(Struct, frozen=True):
    """Which disputes to list: all, or those of one stage, of one round, of one player, or those that are overdue."""

    stage: DisputeStage | None = None
    round: str | None = None
    player: str | None = None
    overdue: bool | None = None


def within(days: int) -> Micros:
    return days * DAY


def view(stream: str, position: int, found: Dispute) -> DisputeView:
    return DisputeView(
        stream.removeprefix(DISPUTE),
        found.stage,
        found.player,
        found.round,
        found.bet,
        found.by,
        found.due,
        found.until,
        found.overdue,
        found.evidence,
        found.decided,
        position,
    )


def _view(record: Any) -> DisputeView:
    return view(record["stream"], record["position"], codec.decode_state("dispute", record["state"]))


async def page(
    pool: Pool, operator: str, wanted: Wanted, *, before: int | None = None, limit: int = 100
) -> list[DisputeView]:
    """Those that changed last come first."""
    return [_view(record) for record in await _found(pool, operator, wanted, before, limit)]


async def _found(pool: Pool, operator: str, wanted: Wanted, before: int | None, limit: int) -> list[Any]:
    """By what leads to the fewest."""
    asked = (operator, wanted.stage, wanted.overdue, before, limit)
    if wanted.player is not None:
        return await pool.fetch(SQL["of_player"], *asked, wanted.player, wanted.round)
    if wanted.round is not None:
        return await pool.fetch(SQL["of_round"], *asked, wanted.round)
    if wanted.stage is DisputeStage.OPEN:
        return await pool.fetch(SQL["open"], operator, wanted.overdue, before, limit)
    return await pool.fetch(SQL["page"], *asked)


async def one(pool: Pool, operator: str, name: str) -> DisputeView | None:
    record = await pool.fetchrow(SQL["one"], operator, DISPUTE + name)
    return None if record is None else _view(record)


async def case(pool: Pool, operator: str, name: str) -> DisputeCase | None:
    """A dispute with all that was said in it."""
    found = await one(pool, operator, name)
    if found is None:
        return None
    rows = [row async for row in eventlog.of_stream(pool, operator, DISPUTE + name)]
    said = tuple(DisputeEvent(row.position, row.at, row.actor, Role(row.role), row.event) for row in rows)
    path = f"/v1/rounds/{found.round}"
    return DisputeCase(found, said, f"{path}/replay", f"{path}/dossier")


async def times(pool: Pool, operator: str, player: str, name: str) -> int:
    """How often has the player opened a dispute about the round, or a bet in it?"""
    found: int = await pool.fetchval(SQL["times"], operator, player, name)
    return found


async def is_of_round(pool: Pool, operator: str, player: str, bet: str, name: str) -> bool:
    """Is it a command of this player's that did something in the round, or was refused at its table?"""
    sent = await pool.fetchrow(eventlog.SQL["command"], operator, player, bet)
    if sent is None or sent["first"] is None:
        return False
    gave = await pool.fetch(eventlog.SQL["events_between"], operator, sent["first"], sent["last"])
    return any(_is_about(eventlog.row_of(record), name) for record in gave)


def _is_about(row: eventlog.EventRow, name: str) -> bool:
    refused = isinstance(row.event, CommandRefused) and row.event.stream == TABLE + table_of(name)
    return refused or (row.round == name and row.stream.startswith((TABLE, WALLET)))

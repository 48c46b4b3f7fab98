"""The audit log: who did what when, refused money commands with their rule included.

Its rows say where to look and hold no data; what an event tells is read from the log itself and shown as the game
shows it to a viewer who is nobody. So there is nothing here that could be hidden.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from domain import refused
from domain.game import Micros
from domain.games import GAMES
from domain.names import TABLE
from infra import codec, columns
from infra.eventlog import EventRow
from infra.postgres import Connection, Pool
from infra.sql import queries
from services.projections.projection import Place, Projection
from services.projections.rounds import LAST, NOBODY

SQL = queries("audit")
REFUSED = refused.CommandRefused.__struct_config__.tag
_NEVER_SHOWN = ("digest",)


class Entry(Struct, frozen=True):
    """`action` is the event's type, `subject` its stream, `command` the idempotency key it came with. `round` of what
    was refused at a table is the one it was asked of, if it named one, else the one that the rule speaks of."""

    position: int
    at: Micros
    actor: str
    role: str
    action: str
    subject: str
    round: str | None
    command: str | None
    rule: str | None
    """The rule that refused what was asked, if it was refused."""


class Told(Struct, frozen=True):
    """An entry with what its event tells everybody."""

    entry: Entry
    told: dict[str, Any]


class _Named(Struct):
    round: str | None = None


_named = msgspec.json.Decoder(_Named)


def entry(row: EventRow) -> Entry:
    about, rule = row.round, None
    if row.type == REFUSED:
        about, rule = _asked_of(row.event), row.event.rule
    return Entry(row.position, row.at, row.actor, row.role, row.type, row.stream, about, row.command, rule)


def _asked_of(event: refused.CommandRefused) -> str | None:
    """In the log a refusal stands in no round: whoever reads a round reads what happened in it."""
    if not event.stream.startswith(TABLE):
        return None
    told = event.facts.get("round")
    try:
        named = _named.decode(event.asked).round
    except msgspec.MsgspecError:  # it is sealed
        named = None
    return named or (told if isinstance(told, str) else None)


async def apply(connection: Connection, place: Place, rows: Sequence[EventRow]) -> None:
    entries = [entry(row) for row in rows]
    await connection.execute(
        SQL["apply"],
        place.operator,
        place.generation,
        columns.numbers([each.position for each in entries]),
        columns.numbers([each.at for each in entries]),
        columns.texts([each.actor for each in entries]),
        columns.texts([each.role for each in entries]),
        columns.texts([each.action for each in entries]),
        columns.texts([each.subject for each in entries]),
        columns.nullable([each.round for each in entries]),
        columns.nullable([each.command for each in entries]),
        columns.nullable([each.rule for each in entries]),
    )


async def page(
    pool: Pool,
    operator: str,
    *,
    actor: str | None = None,
    subject: str | None = None,
    about: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[Told]:
    """Who did what, the newest first, of one actor, on one stream, in one round or of all."""
    until = LAST if before is None else before
    asked = (operator, actor, subject, until, limit)
    records = await (pool.fetch(SQL["page_of_round"], *asked, about) if about else pool.fetch(SQL["page"], *asked))
    return [_told(*record) for record in records]


def _told(*record: Any) -> Told:
    *of_entry, schema, data = record
    found = Entry(*of_entry)
    return Told(found, shown(found.action, codec.decode_event(found.action, schema, data)))


def shown(action: str, event: Any) -> dict[str, Any]:
    """What an event tells everybody, as the game shows it to a viewer who is nobody."""
    game = GAMES.get(action.partition(".")[0])
    public = game.public(event, NOBODY) if game else event
    told: dict[str, Any] = msgspec.to_builtins(public) if public is not None else {}
    return {name: value for name, value in told.items() if name not in _NEVER_SHOWN}


AUDIT = Projection("audit", apply, (SQL["clear"],))

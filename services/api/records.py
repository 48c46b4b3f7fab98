"""The record: the log itself for auditors, who did what, and what became of a command."""

from typing import Annotated, Literal

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec import UNSET, Meta, Struct, UnsetType

from domain.auditing import OpenSeal
from domain.errors import Fact
from domain.game import Micros, Role
from domain.money import AMOUNT_MAX
from domain.names import AUDIT
from domain.texts import Words
from infra import eventlog
from infra.eventlog import SQL, EventRow
from services import openings
from services.api import problems
from services.api.auth import EVERYONE, may
from services.api.bodies import Cursor, Limit, Position, checked_round, cursor_after, decode
from services.api.commands import checked_key, command_of, respond
from services.api.parts import Asked
from services.api.problems import Problem
from services.batch import Stored, StoredAccepted, StoredFence, StoredRefused
from services.openings import Opened
from services.projections import audit


class LogEntry(Struct, frozen=True):
    """An event as it stands in the log. `data` is the JSON text exactly as it was hashed; hashes are hex."""

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
    hash: str


class LogPage(Struct, frozen=True):
    """Events in the order of the log. `before` is the hash that the first of them links to (at the beginning of a log,
    that of its genesis), `next` the cursor of what follows; `tip` is where the log stands."""

    events: tuple[LogEntry, ...]
    before: str
    next: int | None
    tip: int
    epoch: int


class CommandRecord(Struct, frozen=True):
    """What became of a command. `accepted`: its events are at positions `first` to `last`. `refused`: by the rule
    `code`. `fenced`: it did not come in time, and never will act."""

    key: str
    became: Literal["accepted", "refused", "fenced"]
    received: Micros
    decided: Micros
    first: int | None = None
    last: int | None = None
    code: str | None = None
    facts: dict[str, Fact] = {}
    fenced: Literal[True] | UnsetType = UNSET
    """It was accepted, and there was nothing yet to take back: what it names never acts. Else it is left out."""


class Fenced(Struct, frozen=True):
    key: str
    became: Literal["fenced"] = "fenced"


PLAYING = may(Role.PLAYER, Role.STUDIO, Role.SUPERVISOR, Role.OPERATOR)

_stored: "msgspec.json.Decoder[Stored]" = msgspec.json.Decoder(Stored)


@get("/events", guards=[may(Role.AUDITOR, Role.OPERATOR)])
async def read_log(request: Asked, cursor: Position = 0, limit: Limit = 100) -> LogPage:
    """Read the log, in order, without gaps; every event links to the one before by its hash."""
    operator, pool = request.caller.operator, request.parts.pool
    tip = await eventlog.tip(pool, operator)
    if tip is None:
        raise problems.not_found("log", operator)
    if cursor > tip.position:
        raise problems.bad_cursor(f"the log ends at {tip.position}")
    before = await pool.fetchval(SQL["hash_at"], operator, cursor) if cursor else eventlog.genesis(operator, 1)
    rows = await eventlog.after(pool, operator, cursor, limit)
    following = cursor_after(rows, limit, lambda row: row.position)
    return LogPage(tuple(map(_entry, rows)), before.hex(), following, tip.position, tip.epoch)


def _entry(row: EventRow) -> LogEntry:
    told = (row.round, row.command, row.actor, row.role, row.at, row.data, row.hash.hex())
    return LogEntry(row.position, row.stream, row.version, row.type, row.schema, *told)


@get("/commands/{key:str}", guards=[EVERYONE])
async def read_command(request: Asked, key: FromPath[str]) -> CommandRecord:
    """What became of the caller's own command with this Idempotency-Key."""
    caller = request.caller
    row = await request.parts.pool.fetchrow(SQL["command"], caller.operator, caller.actor, checked_key(key))
    if row is None:
        raise problems.undecided(key)
    match _stored.decode(row["outcome"]):
        case StoredAccepted(fenced=fenced):
            told = (row["received"], row["decided"], row["first"], row["last"])
            return CommandRecord(key, "accepted", *told, fenced=True if fenced else UNSET)
        case StoredRefused(rule=rule, facts=facts):
            return CommandRecord(key, "refused", row["received"], row["decided"], code=rule, facts=facts)
        case StoredFence():
            return CommandRecord(key, "fenced", row["received"], row["decided"])


@post("/commands/{key:str}/fence", guards=[PLAYING], status_code=200, keyless=True)
async def fence_command(request: Asked, key: FromPath[str]) -> Fenced:
    """Make sure that the caller's command with this key never acts, if it has not been decided yet. Needs no
    Idempotency-Key: the one in the path says it all, and twice is as good as once."""
    caller = request.caller
    await request.parts.door.fence(caller, checked_key(key))
    return Fenced(key)


class OpenSealed(Struct, frozen=True, forbid_unknown_fields=True):
    """`position` is that of a round's opening, of a seed that was dropped, or of a refusal with something sealed."""

    position: Annotated[int, Meta(ge=1, le=AMOUNT_MAX)]
    why: Words


class Opening(Struct, frozen=True):
    """What was sealed. `position` is that of the record of this opening."""

    position: int
    at: Micros
    opened: Opened


_opening = msgspec.json.Decoder(OpenSealed)


@post("/openings", guards=[may(Role.AUDITOR)], status_code=200, body=OpenSealed)
async def open_sealed(request: Asked) -> Response[Opening]:
    """Open what is sealed in an event. It is of a game with hidden cards, and its round is over: you are told the whole
    deck, a seed that was not used, or what a player had asked for. Who opened it and why is itself an event."""
    command, parts, operator = await command_of(request), request.parts, request.caller.operator
    body = decode(_opening, command.body)
    try:
        row = await openings.sealed_at(parts.pool, operator, body.position)
    except openings.NothingSealed as nothing:
        detail = f"The event at this position ({nothing}) holds nothing sealed that an auditor may open."
        raise Problem(422, "NothingSealed", detail, facts={"position": body.position}) from None
    except openings.RoundIsOn as on:
        raise problems.round_is_on(on.round) from None
    if row is None:
        raise problems.not_found("event", str(body.position))
    opened = await openings.opened(parts.pool, parts.services.vault, operator, row)
    asked = OpenSeal(row.position, row.stream, row.round, body.why)
    accepted = await parts.door.send(command, AUDIT + request.caller.actor, asked)
    assert accepted.last is not None
    return respond(Opening(accepted.last, accepted.at, opened), accepted)


About = Annotated[str | None, QueryParameter(name="round")]


class AuditPage(Struct, frozen=True):
    """Who did what when, the newest first; `next` is the cursor of older ones."""

    entries: tuple[audit.Told, ...]
    next: int | None


@get("/audit", guards=[may(Role.AUDITOR, Role.OPERATOR)])
async def read_audit(
    request: Asked,
    actor: FromQuery[str | None] = None,
    subject: FromQuery[str | None] = None,
    round_: About = None,
    cursor: Cursor = None,
    limit: Limit = 100,
    after: Position = 0,
) -> AuditPage:
    """The audit log: all of it, or of one actor, of one subject (a stream, as `wallet:ann` or `table:t1`), or of one
    round, with what was refused in it."""
    operator, about = request.caller.operator, checked_round(round_) if round_ is not None else None
    await request.parts.visible(operator, "audit", after)
    narrowed = {"actor": _name(actor), "subject": _name(subject), "about": about}
    page = await audit.page(request.parts.pool, operator, **narrowed, before=cursor, limit=limit)
    return AuditPage(tuple(page), cursor_after(page, limit, lambda each: each.entry.position))


def _name(text: str | None) -> str | None:
    if text is not None and not (text.isascii() and text.isprintable() and len(text) <= 100):
        raise Problem(400, "BadParameter", "actor and subject are at most 100 printable characters of ASCII.")
    return text


HANDLERS = (read_log, read_command, fence_command, open_sealed, read_audit)

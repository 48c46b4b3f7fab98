"""Incidents at a table: who is there reports one, a supervisor resolves it, and staff read what was done about it."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec import Struct

from domain import incidents
from domain.game import Micros, Role
from domain.games import GAMES
from domain.incidents import AddNote, Event, Incident, IncidentKind, ReportIncident, Resolution, ResolveIncident
from domain.names import INCIDENT, TABLE, id_of
from infra import codec, eventlog
from infra.postgres import Pool
from infra.sql import queries
from services.api import problems
from services.api.auth import may
from services.api.bodies import Cursor, Limit, checked_id, cursor_after, decode
from services.api.commands import Command, command_of, replayed
from services.api.parts import Asked
from services.api.problems import Problem
from services.batch import Accepted
from services.projections import rounds

SQL = queries("incidents")
Open = Annotated[bool | None, QueryParameter(name="open")]
REPORTERS = may(Role.STUDIO, Role.SUPERVISOR, Role.OPERATOR)
READERS = may(Role.STUDIO, Role.SUPERVISOR, Role.OPERATOR, Role.AUDITOR)


class IncidentView(Struct, frozen=True):
    """`round` is null for what happened while none was on. `words` and `resolved_words` are of staff and for staff;
    `video` says where it can be seen. `resolution` is null while it is open; where it took a second person, that was by
    the `proposal`. `position` is that of its last event."""

    id: str
    table: str
    round: str | None
    kind: IncidentKind
    words: str
    video: str
    reported_by: str
    notes: int
    resolution: Resolution | None
    resolved_by: str | None
    resolved_words: str | None
    proposal: str | None
    position: int


class IncidentAnswer(Struct, frozen=True):
    """`position` is that of the last event the command gave, with those of the table."""

    position: int | None
    at: Micros
    incident: IncidentView


class IncidentPage(Struct, frozen=True):
    """Those that changed last come first."""

    incidents: tuple[IncidentView, ...]
    next: int | None


class IncidentStep(Struct, frozen=True):
    position: int
    at: Micros
    actor: str
    role: str
    event: Event


class IncidentTold(Struct, frozen=True):
    """`allowed` is how it may be resolved as things stand; once the round is over, `correct` and `void` are proposed as
    a resettlement of it (`POST /v1/rounds/{round}/resettlements`) that names the incident. `steps` are what was
    reported, noted and resolved."""

    incident: IncidentView
    allowed: tuple[Resolution, ...]
    steps: tuple[IncidentStep, ...]


Done = Response[IncidentAnswer]
_report = msgspec.json.Decoder(ReportIncident)
_note = msgspec.json.Decoder(AddNote)
_resolve = msgspec.json.Decoder(ResolveIncident)


def view(stream: str, position: int, found: Incident) -> IncidentView:
    return IncidentView(
        id=stream.removeprefix(INCIDENT),
        table=found.table,
        round=found.round,
        kind=found.kind,
        words=found.words,
        video=found.video,
        reported_by=found.by,
        notes=found.notes,
        resolution=found.resolution,
        resolved_by=found.resolved_by or None,
        resolved_words=found.resolved_words or None,
        proposal=found.proposal or None,
        position=position,
    )


async def page(
    pool: Pool,
    operator: str,
    *,
    table: str | None = None,
    is_open: bool | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[IncidentView]:
    if table is not None:
        rows = await pool.fetch(SQL["of_table"], operator, is_open, before, limit, table)
    elif is_open:
        rows = await pool.fetch(SQL["open"], operator, before, limit)
    else:
        rows = await pool.fetch(SQL["page"], operator, is_open, before, limit)
    return [view(row["stream"], row["position"], codec.decode_state("incident", row["state"])) for row in rows]


async def one(pool: Pool, operator: str, name: str) -> IncidentTold | None:
    """With all that was written of it, and how it may be resolved now."""
    row = await pool.fetchrow(SQL["one"], operator, INCIDENT + name)
    if row is None:
        return None
    found: Incident = codec.decode_state("incident", row["state"])
    allowed = () if found.resolution else await _allowed(pool, operator, found)
    steps = [step async for step in eventlog.of_stream(pool, operator, INCIDENT + name, 0)]
    told = tuple(IncidentStep(each.position, each.at, each.actor, each.role, each.event) for each in steps)
    return IncidentTold(view(INCIDENT + name, row["position"], found), allowed, told)


async def _allowed(pool: Pool, operator: str, incident: Incident) -> tuple[Resolution, ...]:
    row = await pool.fetchrow(eventlog.SQL["stream"], operator, TABLE + incident.table)
    assert row is not None, "an incident is of a table that is there"
    game, state = GAMES[row["decider"]], codec.decode_state(row["decider"], row["state"])
    return incidents.allowed(incident.kind, incidents.phase_of(incident, game, game.standing(state)), game)


@post("/incidents", guards=[REPORTERS], body=ReportIncident)
async def report_incident(request: Asked) -> Done:
    """Report what went wrong at a table. If it is about what is on there, the table is paused in the same moment, and
    players are told the kind; the words are for staff. `round` names one that is over, a match's last hand or the match
    itself."""
    command = await command_of(request)
    body = decode(_report, command.body)
    game = await request.parts.tables.game_at(request.caller.operator, body.table)
    if request.caller.role is Role.STUDIO and Role.STUDIO not in GAMES[game].commands:
        raise problems.forbidden(Role.STUDIO, "this game has none")
    if body.round is not None:
        await _check_round(request.parts.pool, request.caller.operator, body.round)
    return await _sent(request, command, id_of(command.caller.actor, command.key), body, game)


@post("/incidents/{incident:str}/notes", guards=[REPORTERS], status_code=200, body=AddNote)
async def note_incident(request: Asked, incident: FromPath[str]) -> Done:
    """Add what else is known of it, also when it was resolved."""
    command = await command_of(request)
    return await _sent(request, command, incident, decode(_note, command.body))


@post("/incidents/{incident:str}/resolve", guards=[may(Role.SUPERVISOR)], status_code=200, body=ResolveIncident)
async def resolve_incident(request: Asked, incident: FromPath[str]) -> Done:
    """Say what was done about it, and have it done: the table goes on, is scanned again from the first card, or the
    round is voided, by another person than who reported it. What is allowed depends on what it was and on how far the
    round is. A round that is over is put right by a resettlement, which is proposed."""
    command = await command_of(request)
    body = decode(_resolve, command.body)
    return await _sent(request, command, incident, body, await _game_of(request, incident))


@get("/incidents", guards=[READERS])
async def list_incidents(
    request: Asked,
    table: FromQuery[str | None] = None,
    open_: Open = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> IncidentPage:
    """Incidents, of all tables or of one; those that are `open`, or those that are not."""
    operator = request.caller.operator
    if table is not None:
        await request.parts.tables.game_at(operator, table)
    found = await page(request.parts.pool, operator, table=table, is_open=open_, before=cursor, limit=limit)
    return IncidentPage(tuple(found), cursor_after(found, limit, lambda each: each.position))


@get("/incidents/{incident:str}", guards=[READERS])
async def read_incident(request: Asked, incident: FromPath[str]) -> IncidentTold:
    """An incident, all that was written of it, and how it may be resolved as things stand."""
    found = await one(request.parts.pool, request.caller.operator, checked_id("incident", incident))
    if found is None:
        raise problems.not_found("incident", incident)
    return found


async def _sent(request: Asked, command: Command, incident: str, asked: incidents.Command, game: str = "") -> Done:
    stream = INCIDENT + checked_id("incident", incident)
    accepted = await request.parts.door.send(command, stream, asked, game)
    return _answer(stream, accepted)


def _answer(stream: str, accepted: Accepted) -> Done:
    found = accepted.states[stream]
    assert isinstance(found, Incident), "it was reported"
    shown = view(stream, accepted.first or 0, found)
    return Response(IncidentAnswer(accepted.last, accepted.at, shown), headers=replayed(accepted))


async def _game_of(request: Asked, incident: str) -> str:
    """Whose rules may refuse what is done at the table."""
    found: Any = await request.parts.stream(request.caller.operator, INCIDENT + checked_id("incident", incident))
    return await request.parts.tables.game_at(request.caller.operator, found.state.table) if found else ""


async def _check_round(pool: Pool, operator: str, round_id: str) -> None:
    """That the log knows it; a match, once it is over: while it is on, the report is about its hand."""
    if not rounds.is_match(round_id):
        if await pool.fetch(eventlog.SQL["events_of_round"], operator, round_id, 0, 1):
            return
    elif (match := await rounds.one(pool, operator, round_id)) is not None:
        if match.status != "open":
            return
        detail = f"The match {round_id} is still on: report about the hand that is on, and leave `round` out."
        raise Problem(409, "RoundIsOn", detail, facts={"round": round_id})
    raise problems.not_found("round", round_id)


HANDLERS = (report_incident, note_incident, resolve_incident, list_incidents, read_incident)

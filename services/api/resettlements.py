"""Rounds settled once more, and what players owe by it: both are proposed here, and take a second person."""

from typing import Annotated

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from msgspec import Meta, Struct

from domain.game import Micros, Role
from domain.money import Amount
from domain.names import RESETTLEMENT
from domain.proposals import Resettle, WriteOff
from domain.resettlements import Basis, Completed
from domain.texts import Words
from domain.wallet.commands import Code, Money
from infra import eventlog
from infra.postgres import Pool
from services.api import problems
from services.api.auth import may
from services.api.bodies import checked_id, checked_round, decode
from services.api.commands import command_of
from services.api.parts import Asked
from services.api.proposals import PERSONS, ProposalAnswer, propose
from services.ended import is_there
from services.projections import resettled

Incident = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{0,64}(?![\s\S])", description="An incident's id, or empty.")]


class NewResettlement(Struct, frozen=True, forbid_unknown_fields=True):
    """`basis` is `Void`, by which every wager is returned, or `Corrected` with the six cards that truly lay there, in
    the order in which they were dealt. `incident` is the id of what it is about, if that is on record."""

    basis: Basis
    reason: Words
    incident: Incident = ""


class NewWriteOff(Struct, frozen=True, forbid_unknown_fields=True):
    """Of what the player owes, `amount` is given up."""

    amount: Money
    currency: Code
    reason: Words


class ResettlementView(Struct, frozen=True):
    """`proposed_by` wanted it, `approved_by` let it be done. It is run to its end at once; until then `completed_at`,
    `players`, `gained` (by all of them in sum, less than nothing for a loss) and `owed` (of their losses, what their
    cash did not cover) are null."""

    round: str
    number: int
    basis: Basis
    reason: str
    incident: str | None
    proposal: str
    proposed_by: str
    approved_by: str
    opened_at: Micros
    completed_at: Micros | None
    players: int | None
    gained: Amount | None
    owed: Amount | None
    position: int


class ResettlementList(Struct, frozen=True):
    """In the order in which they were done: the round stands as the last one says."""

    resettlements: tuple[ResettlementView, ...]


_new = msgspec.json.Decoder(NewResettlement)
_write_off = msgspec.json.Decoder(NewWriteOff)


@post("/rounds/{round_id:str}/resettlements", guards=[PERSONS], status_code=202, body=NewResettlement)
async def resettle_round(request: Asked, round_id: FromPath[str]) -> Response[ProposalAnswer]:
    """Propose to settle a settled round once more, or a match. It begins when another person approves
    (`POST /v1/proposals/{proposal}/approve`) and runs to its end by itself, in each player's wallet a compensating
    settlement; what could not be done now is refused at once."""
    command = await command_of(request)
    body = decode(_new, command.body)
    await _check_there(request, round_id)
    return await propose(request, command, Resettle(round_id, body.basis, body.reason, body.incident))


async def _check_there(request: Asked, round_id: str) -> None:
    if not await is_there(request.parts.pool, request.caller.operator, checked_round(round_id)):
        raise problems.not_found("round", round_id)


@get("/rounds/{round_id:str}/resettlements", guards=[may(Role.OPERATOR, Role.SUPERVISOR, Role.AUDITOR, Role.STUDIO)])
async def list_resettlements(request: Asked, round_id: FromPath[str]) -> ResettlementList:
    """How often a round was settled once more, why, who wanted and who approved it, and what it came to."""
    await _check_there(request, round_id)
    found = await told(request.parts.pool, request.caller.operator, round_id)
    return ResettlementList(tuple(found))


@post("/players/{player:str}/write-offs", guards=[PERSONS], status_code=202, body=NewWriteOff)
async def write_off(request: Asked, player: FromPath[str]) -> Response[ProposalAnswer]:
    """Propose to give up what a player owes since a round was resettled, or a part of it. It is done when another
    person approves."""
    command = await command_of(request)
    body = decode(_write_off, command.body)
    asked = WriteOff(checked_id("player", player), body.amount, body.currency, body.reason)
    return await propose(request, command, asked)


async def told(pool: Pool, operator: str, round_id: str) -> list[ResettlementView]:
    """From the log itself: there are few of a round."""
    records = await pool.fetch(resettled.SQL["told"], operator, RESETTLEMENT + round_id)
    found: list[ResettlementView] = []
    for row in map(eventlog.row_of, records):
        event = row.event
        if isinstance(event, Completed):
            sums = {"players": event.players, "gained": event.gained, "owed": event.owed}
            found[-1] = msgspec.structs.replace(found[-1], completed_at=row.at, position=row.position, **sums)
        else:
            what = (round_id, event.number, event.basis, event.reason, event.incident or None)
            who = (event.proposal, event.proposed_by, row.actor, row.at)
            found.append(ResettlementView(*what, *who, None, None, None, None, row.position))
    return found


HANDLERS = (resettle_round, list_resettlements, write_off)

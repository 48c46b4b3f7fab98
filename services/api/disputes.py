"""Disputes: a player, or the operator for one, disputes a round or a bet; staff hears both sides, and two persons rule.

Whoever may see a dispute sees all that was said in it. Another player's is not there.
"""

from typing import Annotated, Literal

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, FromQuery
from msgspec import Meta, Struct

from domain import disputes as cases
from domain.disputes import AskEvidence, AttachEvidence, Dispute, DisputeStage, OpenDispute, WithdrawDispute
from domain.game import Micros, Role
from domain.money import AMOUNT_MAX
from domain.names import DISPUTE, Id, id_of
from domain.proposals import DecideDispute
from domain.texts import Lines
from services import case_file, disputes, make_case
from services.api import problems
from services.api.auth import check_own, may
from services.api.bodies import Cursor, Limit, checked_id, checked_round, cursor_after, decode
from services.api.commands import Command, command_of, replayed
from services.api.dossiers import DossierFile, story_of
from services.api.parts import Asked
from services.api.problems import Problem
from services.api.proposals import ProposalAnswer, propose
from services.batch import Accepted
from services.case_file import CaseFile
from services.disputes import DisputeCase, DisputeView, Wanted
from services.ended import is_there
from services.make_dossier import NotSigned
from services.projections.rounds import is_match

READERS = may(Role.OPERATOR, Role.SUPERVISOR, Role.AUDITOR, Role.PLAYER)
PARTIES = may(Role.OPERATOR, Role.PLAYER)
HEARD = may(Role.OPERATOR, Role.SUPERVISOR, Role.PLAYER)


class NewDispute(Struct, frozen=True, forbid_unknown_fields=True):
    """`player`: whose it is, where an operator opens it. `bet`: the key of the command that it is about, as that of a
    bet; without it, the whole round. Not every complaint has one: a bet that never came left nothing."""

    round: str
    words: Lines
    bet: Annotated[str, Meta(max_length=64, pattern=r"^[A-Za-z0-9_-]*(?![\s\S])")] = ""
    player: Id | None = None


class NewRuling(Struct, frozen=True, forbid_unknown_fields=True):
    """`reason` is told to the player. `evidence`: how many pieces of it you have seen, as the dispute's `evidence`
    counts them; if more have come by then, the ruling is refused. `amount` is given to the player, if it is upheld."""

    ruling: cases.Ruling
    code: cases.RulingCode
    reason: Lines
    evidence: Annotated[int, Meta(ge=0, le=AMOUNT_MAX)]
    amount: cases.Award = 0
    currency: Annotated[str, Meta(pattern=r"^([A-Z]{3})?(?![\s\S])", description="Its ISO 4217 code.")] = ""


class DisputeAnswer(Struct, frozen=True):
    """`position` is that of the last event the command gave."""

    position: int | None
    at: Micros
    dispute: DisputeView


class DisputePage(Struct, frozen=True):
    """Those that changed last come first."""

    disputes: tuple[DisputeView, ...]
    next: int | None


class DisputeExport(CaseFile, frozen=True, kw_only=True):
    """One line of JSON, to be kept as it is: `sha256` is over all that comes after it. `croupier verify` shows what it
    proves, without any server."""

    format: Literal["croupier-case/1"]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")]
    dossier: DossierFile  # type: ignore[assignment]  # it is written into the file as it is


Done = Response[DisputeAnswer]
_new = msgspec.json.Decoder(NewDispute)
_ruling = msgspec.json.Decoder(NewRuling)
_evidence = msgspec.json.Decoder(AttachEvidence)
_ask = msgspec.json.Decoder(AskEvidence)
_withdraw = msgspec.json.Decoder(WithdrawDispute)


@post("/disputes", guards=[PARTIES], body=NewDispute)
async def open_dispute(request: Asked) -> Done:
    """Dispute a round or a bet: a player an own one, an operator one of a player's. It shall be decided within
    `CROUPIER_DISPUTE_DAYS`. A player does so three times a round at most."""
    command = await command_of(request)
    body = decode(_new, command.body)
    player = _whose(request, body)
    await _check_there(request, player, body)
    days = request.parts.services.settings.dispute_days
    before = await disputes.times(request.parts.pool, request.caller.operator, player, body.round)
    asked = OpenDispute(player, body.round, body.bet, body.words, disputes.within(days), before)
    return await _sent(request, command, id_of(request.caller.actor, command.key), asked)


def _whose(request: Asked, body: NewDispute) -> str:
    caller = request.caller
    if caller.role is not Role.PLAYER:
        if body.player is None:
            raise Problem(400, "MissingField", "Say whose dispute it is: `player`.", facts={"field": "player"})
        return body.player
    if body.player not in (None, caller.actor):
        raise problems.not_found("player", body.player or "")
    return caller.actor


async def _check_there(request: Asked, player: str, body: NewDispute) -> None:
    """What was in the log once stays there, so this holds when the command is decided."""
    pool, operator, round_id = request.parts.pool, request.caller.operator, checked_round(body.round)
    await request.parts.wallet(operator, player)
    if is_match(round_id):
        detail = f"{round_id} is a match: dispute the round of it in which it happened, or its last one."
        raise Problem(422, "DisputesOfItsRounds", detail, facts={"match": round_id})
    if not await is_there(pool, operator, round_id):
        raise problems.not_found("round", round_id)
    if body.bet and not await disputes.is_of_round(pool, operator, player, body.bet, round_id):
        raise problems.not_found("bet", body.bet)


@post("/disputes/{dispute:str}/evidence", guards=[HEARD], status_code=200, body=AttachEvidence)
async def attach_evidence(request: Asked, dispute: FromPath[str]) -> Done:
    """Say something in a dispute. A document is kept by you: name it, and its SHA-256, by which it is known again."""
    command = await command_of(request)
    return await _sent(request, command, dispute, decode(_evidence, command.body))


@post(
    "/disputes/{dispute:str}/ask", guards=[may(Role.OPERATOR, Role.SUPERVISOR)], status_code=200, body=AskEvidence
)  # fmt: skip
async def ask_evidence(request: Asked, dispute: FromPath[str]) -> Done:
    """Ask the player for evidence. Until it comes, a week at most, the clock stands. Three times at most."""
    command = await command_of(request)
    return await _sent(request, command, dispute, decode(_ask, command.body))


@post("/disputes/{dispute:str}/withdraw", guards=[PARTIES], status_code=200, body=WithdrawDispute)
async def withdraw_dispute(request: Asked, dispute: FromPath[str]) -> Done:
    """Take a dispute back: the player any own one, the operator those that it opened itself."""
    command = await command_of(request)
    return await _sent(request, command, dispute, decode(_withdraw, command.body))


@post("/disputes/{dispute:str}/ruling", guards=[may(Role.SUPERVISOR)], status_code=202, body=NewRuling)
async def rule_dispute(request: Asked, dispute: FromPath[str]) -> Response[ProposalAnswer]:
    """Propose how to decide it. It is decided, and an amount given, when another person approves
    (`POST /v1/proposals/{proposal}/approve`)."""
    command = await command_of(request)
    body = decode(_ruling, command.body)
    if body.amount and not body.currency:
        raise Problem(400, "MissingField", "Say what the amount is of: `currency`.", facts={"field": "currency"})
    found = await _seen(request, dispute)
    told = (body.ruling, body.code, body.reason, body.evidence, body.amount, body.currency)
    return await propose(request, command, DecideDispute(found.id, found.player, found.round, *told))


async def _sent(request: Asked, command: Command, name: str, asked: cases.Command) -> Done:
    stream = DISPUTE + checked_id("dispute", name)
    accepted: Accepted = await request.parts.door.send(command, stream, asked)
    found = accepted.states[stream]
    assert isinstance(found, Dispute), "it was opened"
    last = max((each.position for each in accepted.events if each.stream == stream), default=0)
    shown = disputes.view(stream, last, found)
    return Response(DisputeAnswer(accepted.last, accepted.at, shown), headers=replayed(accepted))


# --- Reads --------------------------------------------------------------------------------------------------------


async def _seen(request: Asked, name: str) -> DisputeView:
    """The dispute, if it is there and the caller's to see."""
    caller = request.caller
    found = await disputes.one(request.parts.pool, caller.operator, checked_id("dispute", name))
    if found is None or (caller.role is Role.PLAYER and found.player != caller.actor):
        raise problems.not_found("dispute", name)
    return found


@get("/disputes", guards=[READERS])
async def list_disputes(
    request: Asked,
    stage: FromQuery[DisputeStage | None] = None,
    player: FromQuery[str | None] = None,
    about: FromQuery[str | None] = None,
    overdue: FromQuery[bool | None] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> DisputePage:
    """Disputes: all, or those of a stage, of a player, `about` a round, or those that are (not) overdue. To a player,
    the own ones."""
    caller = request.caller
    if player is not None:
        check_own(caller, player)
        await request.parts.wallet(caller.operator, player)
    whose = caller.actor if caller.role is Role.PLAYER else player
    wanted = Wanted(stage, None if about is None else checked_round(about), whose, overdue)
    found = await disputes.page(request.parts.pool, caller.operator, wanted, before=cursor, limit=limit)
    return DisputePage(tuple(found), cursor_after(found, limit, lambda each: each.position))


@get("/disputes/{dispute:str}", guards=[READERS])
async def read_dispute(request: Asked, dispute: FromPath[str]) -> DisputeCase:
    """A dispute, and all that was said in it."""
    await _seen(request, dispute)
    found = await disputes.case(request.parts.pool, request.caller.operator, dispute)
    assert found is not None, "it was there just now"
    return found


@get("/disputes/{dispute:str}/export", guards=[READERS])
async def export_dispute(request: Asked, dispute: FromPath[str]) -> Response[DisputeExport]:
    """A dispute in one file that proves itself: all that was said and done in it, and the dossier of its round, once
    that is over. To a player it tells what that player may know."""
    pool, operator = request.parts.pool, request.caller.operator
    seen = await _seen(request, dispute)
    told = await story_of(request, seen.round)
    found = await make_case.case(pool, operator, seen.id)
    assert found is not None, "it was there just now"
    form: case_file.CaseForm = "player" if request.caller.role is Role.PLAYER else "operator"
    try:
        made = await make_case.make(pool, found, told, form)
    except NotSigned as unsigned:
        raise problems.not_signed(unsigned.size) from None
    named = {"content-disposition": f'attachment; filename="{seen.id}.case.json"'}
    raw = case_file.write(made)
    whole: Response[DisputeExport] = Response(raw, headers=named, media_type="application/json")  # type: ignore[arg-type]
    return whole


HANDLERS = (
    open_dispute,
    list_disputes,
    read_dispute,
    export_dispute,
    attach_evidence,
    ask_evidence,
    withdraw_dispute,
    rule_dispute,
)

"""Dossiers: a round in one file, with all that proves it. An auditor's is asked for by POST, for that it was made is
an event of the log.
"""

from typing import Annotated, Literal

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from msgspec import Meta, Struct

from domain.auditing import OpenSeal
from domain.game import Role
from domain.names import AUDIT
from domain.texts import Words
from services import dossier, make_dossier
from services.api import problems
from services.api.auth import may
from services.api.bodies import checked_round, decode
from services.api.commands import command_of, replayed
from services.api.parts import Asked
from services.api.problems import Problem
from services.make_dossier import Auditing, NotSigned, Story
from services.openings import RoundIsOn
from services.projections.rounds import is_match

EVENTS_MAX = 10_000
"""Of a round, over HTTP: some 20 MB. What takes longer to make would hold up the others."""


class DossierFile(dossier.Dossier, frozen=True, kw_only=True):
    """One line of JSON, to be kept as it is: `sha256` is over all that comes after it. What it proves, `croupier
    verify` shows, and ops/standalone/verify_dossier.py, without any server."""

    format: Literal["croupier-dossier/1"]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")]


class MakeDossier(Struct, frozen=True, forbid_unknown_fields=True):
    why: Words


_make = msgspec.json.Decoder(MakeDossier)


@get("/rounds/{round_id:str}/dossier", guards=[may(Role.OPERATOR, Role.AUDITOR, Role.PLAYER)])
async def read_dossier(request: Asked, round_id: FromPath[str]) -> Response[DossierFile]:
    """A round that is over, in one file that proves itself. To a player it tells what that player may know; of the
    rest it has the hashes. To an operator or auditor it has all events, and what is sealed stays so."""
    caller, pool = request.caller, request.parts.pool
    told = await story_of(request, round_id)
    form: dossier.Form = "player" if caller.role is Role.PLAYER else "operator"
    try:
        made = await make_dossier.make(pool, told, form, caller.viewer)
    except NotSigned as unsigned:
        raise problems.not_signed(unsigned.size) from None
    return _file(made)


@post("/rounds/{round_id:str}/dossier", guards=[may(Role.AUDITOR)], status_code=200, body=MakeDossier)
async def make_auditors_dossier(request: Asked, round_id: FromPath[str]) -> Response[DossierFile]:
    """The auditor's form of a round's dossier: everything, with deck and commands opened. Who made it and why is itself
    an event, and stands in it."""
    command, parts = await command_of(request), request.parts
    why = decode(_make, command.body).why
    told = await story_of(request, round_id)
    seed = await make_dossier.opened_seed(parts.pool, parts.services.vault, told)
    asked = OpenSeal(told.opening.position, told.table, told.round, why)
    accepted = await parts.door.send(command, AUDIT + request.caller.actor, asked)
    assert accepted.last is not None
    auditing = Auditing(accepted.last, seed, parts.services.vault)
    try:
        made = await make_dossier.make(parts.pool, told, "auditor", request.caller.viewer, auditing)
    except NotSigned as unsigned:
        raise problems.not_signed(unsigned.size, recorded=True) from None
    return _file(made, replayed(accepted))


async def story_of(request: Asked, round_id: str) -> Story:
    """Of a round that is over and small enough to be told over HTTP."""
    try:
        told = await make_dossier.story(request.parts.pool, request.caller.operator, checked_round(round_id))
    except RoundIsOn:
        detail = f"The round {round_id} is still on: its dossier is made once it is over."
        raise Problem(409, "RoundIsOn", detail, facts={"round": round_id}) from None
    if told is None:
        if is_match(round_id):
            detail = f"{round_id} is a match: each of its rounds has a dossier, and GET /v1/rounds?table= lists them."
            raise Problem(422, "DossiersOfItsRounds", detail, facts={"match": round_id})
        raise problems.not_found("round", round_id)
    if len(told.rows) > EVENTS_MAX:
        detail = f"The round has {len(told.rows)} events, more than go over HTTP: `croupier dossier` makes its file."
        raise Problem(422, "DossierTooLarge", detail, facts={"round": round_id, "events": len(told.rows)})
    return told


def _file(made: dossier.Dossier, headers: dict[str, str] | None = None) -> Response[DossierFile]:
    """As bytes: what is written in one way must not be written anew."""
    named = {"content-disposition": f'attachment; filename="{made.round}.dossier.json"', **(headers or {})}
    whole: Response[DossierFile] = Response(dossier.write(made), headers=named, media_type="application/json")  # type: ignore[arg-type]
    return whole


HANDLERS = (read_dossier, make_auditors_dossier)

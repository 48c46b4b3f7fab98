"""Proposals: what takes two persons is proposed by the route of each thing; here others approve or decline it."""

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, FromQuery
from msgspec import Struct

from domain import proposals
from domain.game import Micros, Role
from domain.names import PROPOSAL, id_of
from domain.proposals import Approve, Asked, Decline, Proposal, Propose, Stage, WithdrawProposal
from infra import codec
from infra.postgres import Pool
from infra.sql import queries
from services.api import parts, problems
from services.api.auth import may
from services.api.bodies import Cursor, Limit, checked_id, cursor_after, decode
from services.api.commands import Command, command_of, replayed
from services.batch import Accepted

SQL = queries("proposals")
PERSONS = may(Role.OPERATOR, Role.SUPERVISOR)
"""Who proposes, approves and declines."""


class ProposalView(Struct, frozen=True):
    """`proposed_by` wants what is `asked`; until `due`, another person may approve or decline it. `decided_by` did, and
    `reason` is why it was declined. `position` is that of its last event."""

    id: str
    stage: Stage
    asked: Asked
    proposed_by: str
    due: Micros
    decided_by: str | None
    reason: str | None
    position: int


class ProposalAnswer(Struct, frozen=True):
    """`position` is that of the last event the command gave, with those of what was carried out."""

    position: int | None
    at: Micros
    proposal: ProposalView


class ProposalPage(Struct, frozen=True):
    """Those that changed last come first."""

    proposals: tuple[ProposalView, ...]
    next: int | None


Done = Response[ProposalAnswer]
_approve = msgspec.json.Decoder(Approve)
_decline = msgspec.json.Decoder(Decline)
_withdraw = msgspec.json.Decoder(WithdrawProposal)


def view(stream: str, position: int, found: Proposal) -> ProposalView:
    name, decided_by, reason = stream.removeprefix(PROPOSAL), found.decided_by or None, found.reason or None
    return ProposalView(name, found.stage, found.asked, found.by, found.due, decided_by, reason, position)


async def page(
    pool: Pool, operator: str, *, stage: Stage | None = None, before: int | None = None, limit: int = 100
) -> list[ProposalView]:
    if stage is Stage.OPEN:
        rows = await pool.fetch(SQL["open"], operator, before, limit)
    else:
        rows = await pool.fetch(SQL["page"], operator, stage, before, limit)
    return [view(row["stream"], row["position"], codec.decode_state("proposal", row["state"])) for row in rows]


async def one(pool: Pool, operator: str, name: str) -> ProposalView | None:
    row = await pool.fetchrow(SQL["one"], operator, PROPOSAL + name)
    return None if row is None else view(PROPOSAL + name, row["position"], codec.decode_state("proposal", row["state"]))


async def propose(request: parts.Asked, command: Command, asked: Asked) -> Done:
    """For the routes of what takes two persons. It is tried, and refused as it would be if one person could do it."""
    stream = PROPOSAL + id_of(command.caller.actor, command.key)
    return _answer(stream, await request.parts.door.send(command, stream, Propose(asked)))


def _answer(stream: str, accepted: Accepted) -> Done:
    found = accepted.states[stream]
    assert isinstance(found, Proposal), "it was proposed"
    shown = view(stream, accepted.first or 0, found)
    return Response(ProposalAnswer(accepted.last, accepted.at, shown), headers=replayed(accepted))


@get("/proposals", guards=[may(Role.OPERATOR, Role.SUPERVISOR, Role.AUDITOR)])
async def list_proposals(
    request: parts.Asked, stage: FromQuery[Stage | None] = None, cursor: Cursor = None, limit: Limit = 100
) -> ProposalPage:
    """What was proposed: all, or those of one stage, as those that are `open`."""
    found = await page(request.parts.pool, request.caller.operator, stage=stage, before=cursor, limit=limit)
    return ProposalPage(tuple(found), cursor_after(found, limit, lambda each: each.position))


@get("/proposals/{proposal:str}", guards=[may(Role.OPERATOR, Role.SUPERVISOR, Role.AUDITOR)])
async def read_proposal(request: parts.Asked, proposal: FromPath[str]) -> ProposalView:
    """What was proposed, by whom, and what became of it."""
    found = await one(request.parts.pool, request.caller.operator, checked_id("proposal", proposal))
    if found is None:
        raise problems.not_found("proposal", proposal)
    return found


@post("/proposals/{proposal:str}/approve", guards=[PERSONS], status_code=200, body=Approve)
async def approve_proposal(request: parts.Asked, proposal: FromPath[str]) -> Done:
    """Have done what another person proposed: in the same moment, or not at all."""
    command = await command_of(request)
    return await _decided(request, command, proposal, decode(_approve, command.body))


@post("/proposals/{proposal:str}/decline", guards=[PERSONS], status_code=200, body=Decline)
async def decline_proposal(request: parts.Asked, proposal: FromPath[str]) -> Done:
    """Say no to what another person proposed."""
    command = await command_of(request)
    return await _decided(request, command, proposal, decode(_decline, command.body))


@post("/proposals/{proposal:str}/withdraw", guards=[PERSONS], status_code=200, body=WithdrawProposal)
async def withdraw_proposal(request: parts.Asked, proposal: FromPath[str]) -> Done:
    """Take back what you proposed yourself."""
    command = await command_of(request)
    return await _decided(request, command, proposal, decode(_withdraw, command.body))


async def _decided(request: parts.Asked, command: Command, proposal: str, decision: proposals.Command) -> Done:
    stream = PROPOSAL + checked_id("proposal", proposal)
    return _answer(stream, await request.parts.door.send(command, stream, decision))


HANDLERS = (list_proposals, read_proposal, approve_proposal, decline_proposal, withdraw_proposal)

"""The self-check: what is deployed, held against what is expected: the checks that were kept, and one made now."""

from typing import Annotated

import msgspec
from litestar import Response, get, post
from msgspec import Meta, Struct

from domain.game import Micros, Role
from domain.names import HOUSE
from domain.selfcheck import AcceptManifest, Scope, SelfChecked
from domain.texts import Words
from services import selfcheck
from services.api.auth import may
from services.api.bodies import Cursor, Limit, cursor_after, decode, nothing
from services.api.commands import command_of, respond
from services.api.parts import Asked
from services.selfcheck import Checked

CHECKING = may(Role.AUDITOR, Role.OPERATOR, Role.SUPERVISOR)


class ExpectedDigest(Struct, frozen=True):
    """What was accepted for a scope; a release that states the digest of its code outdoes it."""

    scope: Scope
    expected: str


class SelfChecks(Struct, frozen=True):
    """The checks that were kept, the newest first; `next` is the cursor of older ones."""

    expected: tuple[ExpectedDigest, ...]
    checks: tuple[Checked, ...]
    next: int | None


class CheckedNow(Struct, frozen=True):
    """One check a scope. `holds` tells that all of them found what is expected."""

    holds: bool
    checks: tuple[Checked, ...]


class Accept(Struct, frozen=True, forbid_unknown_fields=True):
    scope: Scope
    digest: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")]
    reason: Words


class AcceptedDigest(Struct, frozen=True):
    """`position` is null where it was the expected one already."""

    scope: Scope
    expected: str
    position: int | None
    at: Micros


_accept = msgspec.json.Decoder(Accept)


@get("/selfcheck", guards=[CHECKING])
async def read_selfchecks(request: Asked, cursor: Cursor = None, limit: Limit = 100) -> SelfChecks:
    """The program's checks of itself: of its code and its settings, by digest. Workers make one at their start and
    every 24 hours."""
    pool, operator = request.parts.pool, request.caller.operator
    checks = await selfcheck.checks_of(pool, operator)
    page = await selfcheck.page(pool, operator, cursor, limit)
    expected = (ExpectedDigest(Scope(scope), digest) for scope, digest in checks.expected.items())
    return SelfChecks(tuple(expected), tuple(page), cursor_after(page, limit, lambda each: each.position))


@post("/selfcheck", guards=[CHECKING], status_code=200)
async def check_now(request: Asked) -> Response[CheckedNow]:
    """Check now what the process that answers was made of: its code and its settings. It is kept who asked."""
    command, parts, operator = await command_of(request), request.parts, request.caller.operator
    decode(nothing, command.body)
    asked = await selfcheck.look(parts.pool, operator, parts.services.settings, (Scope.CODE, Scope.API), asked=True)
    accepted = await parts.door.send(command, HOUSE, asked)
    made = [
        selfcheck.told(each.position, accepted.at, request.caller.actor, each.event)
        for each in accepted.events
        if isinstance(each.event, SelfChecked)
    ]
    return respond(CheckedNow(all(each.holds for each in made), tuple(made)), accepted)


@post("/selfcheck/accept", guards=[may(Role.SUPERVISOR)], status_code=200, body=Accept)
async def accept_manifest(request: Asked) -> Response[AcceptedDigest]:
    """Accept what a check found as what is expected from here on: who did so and why is kept."""
    command = await command_of(request)
    body = decode(_accept, command.body)
    asked = AcceptManifest(body.scope, body.digest, body.reason)
    accepted = await request.parts.door.send(command, HOUSE, asked)
    return respond(AcceptedDigest(body.scope, body.digest, accepted.last, accepted.at), accepted)


HANDLERS = (read_selfchecks, check_now, accept_manifest)

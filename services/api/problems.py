"""Every error of the API as an RFC 9457 problem: what and why, what to do next, and whether anything happened."""

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException

from domain.errors import Fact
from domain.game import Role
from infra.eventlog import DATABASE_ERRORS
from infra.vault import VaultClosed
from services.api import wanted
from services.api.lines import tell_request
from services.api.rulebook import meaning

MEDIA_TYPE = "application/problem+json"
Outcome = Literal["applied", "not_applied", "unknown"]

log: Any = structlog.get_logger()


class Problem(Exception):
    """An answer that says no. `code` is stable: branch on it, never on the texts or the status."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        retryable: bool = False,
        outcome: Outcome = "not_applied",
        facts: Mapping[str, Fact] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(code)
        self.status = status
        self.headers = dict(headers or {})
        self.told = False
        """Whether the log has a line of it."""
        facts = dict(facts or {})
        self.body = ProblemBody(f"/problems/{code}", title_of(code), status, detail, code, retryable, outcome, facts)

    @property
    def code(self) -> str:
        return self.body.code

    def encoded(self) -> bytes:
        return _encoder.encode(self.body)


class ProblemBody(msgspec.Struct, frozen=True):
    """RFC 9457. `outcome` tells whether the command took effect (`applied`: it did, and only its answer is not to be
    had yet); `retryable`, whether the same request may succeed later (with the same Idempotency-Key)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    outcome: Outcome
    facts: dict[str, Fact]


_encoder = msgspec.json.Encoder()
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def title_of(code: str) -> str:
    """ "StakeOffStep" reads "Stake off step"."""
    return _WORDS.sub(" ", code).capitalize()


# --- Refused by a rule --------------------------------------------------------------------------------------------

UNKNOWN = {
    "UnknownPlayer",
    "UnknownTable",
    "UnknownKey",
    "UnknownProposal",
    "UnknownIncident",
    "UnknownDispute",
    "NeverFound",
}
_BOUNDS = re.compile(
    r"^(Above|Below|Over|TooMany|Insufficient|NotEnough|NoSuch|Off|Wrong|False|Unknown)"
    r"|(OffStep|TooLarge|OutOfRange|Fractions|Disagree|TheEntry)$"
)


def status_of(rule: str) -> int:
    """404: what is named is not there. 422: what was asked is out of bounds. 409: not in this state of things."""
    if rule in UNKNOWN:
        return 404
    return 422 if _BOUNDS.search(rule) else 409


def refused(rule: str, facts: Mapping[str, Fact], game: str = "", *, repeated: bool = False) -> Problem:
    told = "; ".join(f"{name.replace('_', ' ')}: {_shown(fact)}" for name, fact in facts.items())
    text = meaning(rule, game) or f"The rule {rule} refused this."
    detail = f"{text} Nothing changed{f' ({told})' if told else ''}."
    headers = {"idempotent-replayed": "true"} if repeated else None
    return Problem(status_of(rule), rule, detail, facts=facts, headers=headers)


def _shown(fact: Fact) -> str:
    return ", ".join(map(str, fact)) if isinstance(fact, tuple | list) else str(fact)


# --- Refused at the door ------------------------------------------------------------------------------------------


def unauthorized(why: str) -> Problem:
    detail = f"{why} Send `Authorization: Bearer <API key or player token>`."
    return Problem(401, "Unauthorized", detail, headers={"www-authenticate": 'Bearer realm="croupier"'})


def forbidden(role: Role, may: str) -> Problem:
    return Problem(403, "Forbidden", f"A key of the role {role} may not do this; {may}.", facts={"role": role.value})


def not_found(what: str, name: str) -> Problem:
    """Also for what belongs to another operator or player: that it exists is not for this caller to know."""
    return Problem(404, "NotFound", f"There is no {what} {name!r} that you may see.", facts={what: name})


def round_is_on(round_id: str) -> Problem:
    detail = f"The round {round_id} is still on: open it once it is over."
    return Problem(409, "RoundIsOn", detail, facts={"round": round_id})


def busy() -> Problem:
    detail = "The queue of commands is full; yours was not taken in. Send it again in a moment, with the same key."
    return Problem(503, "Busy", detail, retryable=True, headers={"retry-after": "1"})


def unavailable(key: str, why: str) -> Problem:
    detail = (
        f"{why} Whether the command took effect is not known. Send it again with the same Idempotency-Key: it will not "
        f"act twice. Or ask GET /v1/commands/{key} what became of it."
    )
    facts = {"key": key} if key else {}
    return Problem(
        503, "Unavailable", detail, retryable=True, outcome="unknown", facts=facts, headers={"retry-after": "1"}
    )


def not_now(why: str) -> Problem:
    return Problem(503, "Unavailable", f"{why} Try again in a moment.", retryable=True, headers={"retry-after": "1"})


def keyless(closed: VaultClosed, *, changing: bool) -> Problem:
    log.error("a vault key is missing here", problem=str(closed), alarm=True)
    detail = "This process does not hold the vault key of the game's cards (CROUPIER_VAULT_KEYS); another one may."
    outcome: Outcome = "unknown" if changing else "not_applied"
    return Problem(503, "NoVaultKey", detail, retryable=True, outcome=outcome, headers={"retry-after": "1"})


def behind(position: int, timeout: int) -> Problem:
    why = f"What is read here has not come to position {position} within {timeout} s."
    detail = f"{why if timeout else f'The log has not come to position {position}.'} Try again in a moment."
    return Problem(503, "Behind", detail, retryable=True, facts={"after": position}, headers={"retry-after": "1"})


def not_signed(size: int, *, recorded: bool = False) -> Problem:
    """`recorded`: what was asked for is on record already, and only its answer is not to be had yet."""
    what = f"Nothing that is over {size} events was signed yet." if size else "Nothing of this log was signed yet."
    detail = f"{what} A worker with CROUPIER_LOG_KEYS signs within a second of an event. Try again in a moment."
    if recorded:
        detail += " That you asked is on record; the same Idempotency-Key gives you the answer."
    outcome: Outcome = "applied" if recorded else "not_applied"
    facts, headers = {"size": size}, {"retry-after": "1"}
    return Problem(503, "NotSigned", detail, retryable=True, outcome=outcome, facts=facts, headers=headers)


def beyond_the_end(position: int, tip: int) -> Problem:
    detail = f"The log ends at position {tip}: ask for one from 1 to that."
    return Problem(422, "NoSuchPosition", detail, facts={"position": position, "tip": tip})


def bad_cursor(why: str) -> Problem:
    return Problem(400, "BadCursor", f"The cursor leads nowhere: {why}. Take it from `next` of the page before.")


def undecided(key: str) -> Problem:
    detail = (
        "No command of yours was decided under this key. It may still be on its way: send it again with the same key, "
        "or POST /v1/commands/{key}/fence to make sure that it never acts."
    )
    return Problem(404, "Undecided", detail, outcome="unknown", facts={"key": key})


def internal(*, changing: bool) -> Problem:
    detail = "This is a fault of ours; it is logged."
    if changing:
        detail += " Ask GET /v1/commands/{key} whether the command took effect, or fence it."
    return Problem(500, "InternalError", detail, outcome="unknown" if changing else "not_applied")


# --- As Litestar's exception handlers -----------------------------------------------------------------------------

Asked = Request[Any, Any, Any]


def told(exception: Exception, scope: Mapping[str, Any]) -> Problem:
    """The problem to answer with; the log has a line of it from here on. What no one foresaw is told there alone."""
    if isinstance(exception, Problem):
        if not exception.told:
            tell_request(scope, exception.status, exception.code)
        return exception
    if isinstance(exception, DATABASE_ERRORS):
        log.warning("the database cannot be read", path=scope["path"], problem=type(exception).__name__)
        return not_now("The database cannot be read.")
    if isinstance(exception, VaultClosed):
        return keyless(exception, changing=scope["method"] != "GET")
    log.error("a request failed", method=scope["method"], path=scope["path"], exc_info=exception)
    return internal(changing=scope["method"] != "GET")


def on_exception(request: Asked, exception: Exception) -> Response[bytes]:
    problem = told(exception, cast("Mapping[str, Any]", request.scope))
    return Response(problem.encoded(), status_code=problem.status, media_type=MEDIA_TYPE, headers=problem.headers)


def on_http_exception(request: Asked, exception: HTTPException) -> Response[bytes]:
    """What Litestar itself refuses: unknown paths, wrong methods, parameters of the wrong type, bodies too large."""
    match exception.status_code:
        case 404:
            problem = Problem(404, "NotFound", "There is nothing at this path. GET /docs shows what there is.")
        case 405:
            *others, last = (exception.headers or {}).get("allow", "").split(", ")
            allowed = f"{', '.join(others)} and {last} are" if others else f"{last} is"
            detail = f"{request.method} is not possible here{f'; {allowed}' if last else ''}."
            problem = Problem(405, "MethodNotAllowed", detail, headers=exception.headers)
        case 413:
            problem = too_large()
        case 400:
            problem = _bad_parameter(request, exception)
        case status:
            problem = Problem(status, "BadRequest", exception.detail)
    return on_exception(request, problem)


def _bad_parameter(request: Asked, exception: HTTPException) -> Problem:
    if not (isinstance(exception, ValidationException) and isinstance(exception.extra, list)):
        return Problem(400, "BadParameter", exception.detail[:500])
    faults: list[dict[str, Any]] = exception.extra
    detail = "; ".join(_parameter(request, fault.get("key", ""), fault.get("message", "")) for fault in faults)[:1000]
    facts = {"parameter": _as_sent(faults[0].get("key", ""))} if faults else {}
    return Problem(400, "BadParameter", detail, facts=facts)


def _parameter(request: Asked, key: str, message: str) -> str:
    told = f"{_as_sent(key)}: {message[:300]}"
    field = request.route_handler.parsed_fn_signature.parameters.get(key)
    known = wanted.members(field.annotation) if field and message.startswith("Invalid enum value") else []
    return f"{told}; it is one of {', '.join(known)}" if known else told


def _as_sent(key: str) -> str:
    """`open`, where Python must have `open_`."""
    return key.removesuffix("_")


BODY_MAX = 8 * 1024
"""Twice the longest of commands, written with blanks. What is sent is kept: under its key, on record if it was refused
(and so in Redis too), where padding would cost as much as words."""


def too_large() -> Problem:
    return Problem(413, "TooLarge", f"The body is larger than {BODY_MAX} bytes.", facts={"limit": BODY_MAX})

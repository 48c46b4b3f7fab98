"""The OpenAPI 3.1 document, told from the routes and types themselves.

Components of a game carry its name, so that a second game with a `PlaceBet` of its own renames nobody's types.
"""

import inspect as python
from collections.abc import Iterable
from typing import Any, cast, get_args, get_origin, get_type_hints

import msgspec
from litestar import Litestar, Response
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp

from domain.game import Game, Role
from domain.games import GAMES
from domain.wallet.events import BetStaked
from domain.wallet.events import Event as WalletEvent
from services.api import problems
from services.api.auth import Guard
from services.api.examples import COMMANDS, KNOWN, REQUESTS, example_of
from services.api.fields import tell_fields
from services.api.problems import MEDIA_TYPE, Problem, ProblemBody
from services.api.samples import sample_of
from services.api.tables import AT_TABLE
from services.frames import Frame

REF = "#/components/schemas/{name}"
ABOUT = """\
Croupier holds players' cash (a transfer wallet), runs tables and settles bets; every change is an event of a log that
can be replayed and checked.

**Who calls.** `Authorization: Bearer` with an API key (`ck_...`, of the role operator, studio, supervisor or auditor)
or with a player's token, which an operator mints (`POST /v1/sessions`). A key sees its own operator only.

**Commands** carry an `Idempotency-Key` of 1 to 64 of `A-Za-z0-9_-`, a new one for each command. The same key with the
same request gives the same outcome again, marked `Idempotent-Replayed: true`, also if a rule refused it; with another
request it is refused. What was answered by 400, 401, 429 or 503 is not remembered. If an answer is lost, send the
command again with the same key, ask `GET /v1/commands/{key}`, or fence it: then it never acts.

**Tables.** `GET /v1/tables/{table}` says what a table is about and how it stands. Where players sit, `allowed` in its
view is what the caller may send now, and within which bounds.

**Amounts** are whole minor units of the currency; moments are microseconds since 1970 UTC.

**Reads** of what is folded from the log take `after`, the position that a command was answered with, and wait for it.
A parameter of the query that is not known is refused, like a field of a body.

**Problems** are RFC 9457. Branch on `code`; `outcome` tells whether a command took effect (`applied`, `not_applied`,
`unknown`), `retryable` whether the same request may succeed later.
"""


# --- Problems -----------------------------------------------------------------------------------------------------


def _problems() -> list[Problem]:
    """Examples of every kind, made by the very functions that make the real ones."""
    return [
        Problem(400, "MalformedJson", "The body is not JSON in UTF-8: Input data was truncated."),
        Problem(400, "UnknownField", "Object contains unknown field `amout`. Leave it out.", facts={"field": "amout"}),
        Problem(400, "WrongType", "Expected `int`, got `float` - at `$.amount`: whole numbers only, without point or "
                "exponent.", facts={"field": "amount"}),
        Problem(400, "KeyMissing", "A command needs the header Idempotency-Key."),
        problems.unauthorized("This key is unknown or revoked."),
        problems.forbidden(Role.STUDIO, "it takes one of the roles operator"),
        Problem(403, "WrongRole", "DealCard is a command of the role studio; the role player may send CancelBet, "
                "GiveClientSeed, PlaceBet.", facts={"type": "DealCard", "role": "player"}),
        problems.not_found("player", "ann"),
        problems.refused("PlayerBlocked", {}),
        problems.refused("Fenced", {}),
        problems.too_large(),
        Problem(415, "UnsupportedMediaType", "Send the body as Content-Type: application/json (UTF-8)."),
        problems.round_is_on("table-1.42"),
        Problem(409, "NotOpened", "What ann saw is sealed: open it first.", facts={"positions": (1_042,)}),
        problems.refused("InsufficientFunds", {"balance": 2_000, "needed": 8_000}),
        Problem(422, "KeyReused", "This Idempotency-Key was used before, for another request.", facts={"key": "bet-1"}),
        problems.internal(changing=True),
        problems.busy(),
        problems.unavailable("bet-0001", "The log could not be reached."),
        problems.behind(1_042, 5),
        problems.not_signed(1_042, recorded=True),
    ]  # fmt: skip


_TITLES = {
    400: "The request is not what it should be; nothing changed.",
    401: "It is not proved who calls.",
    403: "The caller may not do this.",
    404: "What is named is not there, or not the caller's to see.",
    409: "A rule refused it, as things stand; nothing changed.",
    413: "The body is too large.",
    415: "The body is of another kind than JSON.",
    422: "A rule refused what was asked, or the key was used before; nothing changed.",
    500: "A fault of ours.",
    503: "Not now: try again in a moment.",
}


def _responses() -> dict[str, Any]:
    told: dict[str, Any] = {}
    for each in sorted(_problems(), key=lambda problem: problem.status):
        schema = {"$ref": REF.format(name="ProblemBody")}
        content: dict[str, Any] = {MEDIA_TYPE: {"schema": schema, "examples": {}}}
        response = told.setdefault(f"Problem{each.status}", {"description": _TITLES[each.status], "content": content})
        response["content"][MEDIA_TYPE]["examples"][each.code] = {"value": msgspec.to_builtins(each.body)}
    return told


# --- Operations ---------------------------------------------------------------------------------------------------


class Operation:
    """What a handler says of itself: its parameters, body, answer, roles and words."""

    def __init__(self, path: str, method: str, handler: HTTPRouteHandler) -> None:
        fn = python.unwrap(handler.fn)
        hints = get_type_hints(fn, include_extras=True)
        answer = hints.pop("return")
        self.path, self.method, self.name = path, method.lower(), fn.__name__
        self.words = python.cleandoc(fn.__doc__ or "")
        self.answer: Any = get_args(answer)[0] if get_origin(answer) is Response else answer
        self.body: Any = handler.opt.get("body")
        self.besides: list[int] = handler.opt.get("besides", [])
        self.example: str = handler.opt.get("example", _SIGNED)
        self.status: int = handler.status_code
        guards = cast("list[Any]", handler.guards or [])
        self.roles: tuple[Role, ...] = next((guard.roles for guard in guards if isinstance(guard, Guard)), ())
        self.is_command = method in ("POST", "DELETE") and not handler.opt.get("keyless")
        self.parameters = {name: hint for name, hint in hints.items() if name != "request"}
        self.defaults = {name: p.default for name, p in python.signature(fn).parameters.items()}

    @property
    def types(self) -> list[Any]:
        return [kind for kind in (self.body, self.answer) if kind not in (None, ASGIApp, AT_TABLE, str)]

    def told(self) -> dict[str, Any]:
        summary, _, more = " ".join(self.words.split()).partition(". ")
        roles = f"Roles: {', '.join(self.roles)}." if self.roles else "No key is needed."
        told: dict[str, Any] = {
            "operationId": self.name,
            "summary": summary.removesuffix(".").replace("`", ""),  # shown as it is, while descriptions are Markdown
            "description": f"{more} {roles}".strip(),
            "tags": [self.path.split("/")[2 if self.path.startswith("/v1/") else 1].split("/")[0]],
            "parameters": [*map(self._parameter, self.parameters), *self._headers()],
            "responses": self._answers(),
        }
        if self.body is not None:
            told["requestBody"] = {"required": True, "content": {"application/json": self._body()}}
        if not self.roles:
            told["security"] = []
        return told

    def _parameter(self, name: str) -> dict[str, Any]:
        in_path = f"{{{name}}}" in self.path
        schema = msgspec.json.schema(self.parameters[name])
        default = self.defaults[name]
        if not in_path and default not in (None, ""):
            schema["default"] = default
        return {
            "name": name.removesuffix("_"),
            "in": "path" if in_path else "query",
            "required": in_path,
            "schema": schema,
        }

    def _headers(self) -> Iterable[dict[str, Any]]:
        if self.is_command:
            schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
            yield {
                "name": "Idempotency-Key",
                "in": "header",
                "required": True,
                "schema": schema,
                "example": self._key(),
            }
        if self.answer == ASGIApp:
            yield {"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "integer"}}

    def _key(self) -> str:
        """One of its own for each operation: whoever tries one after the other here is not told that it was used."""
        return f"{self.name.replace('_', '-')}-1"

    def _body(self) -> dict[str, Any]:
        if self.body is AT_TABLE:
            return _commands_body()
        example = {name: value for name, value in example_of(self.body).items() if name != "type"}
        return {"schema": _ref(self.body), "example": example | REQUESTS.get(self.body.__name__, {})}

    def _answers(self) -> dict[str, Any]:
        statuses = [400, 404, 500, 503] + [401, 403] * bool(self.roles)
        statuses += [409, 413, 415, 422] * (self.method in ("post", "delete")) + self.besides
        refs = {str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in sorted(statuses)}
        if self.answer == ASGIApp:
            content = {"text/event-stream": {"schema": {"type": "string"}, "example": _STREAMED}}
        elif self.answer is str:
            content = {"text/plain": {"schema": {"type": "string"}, "example": self.example}}
        else:
            example = sample_of(self.answer) or example_of(self.answer)
            content = {"application/json": {"schema": _ref(self.answer), "example": example}}
        headers = {"Idempotent-Replayed": {"schema": {"const": "true"}}} if self.is_command else {}
        done = {"description": "Done." if self.is_command else "As asked.", "headers": headers, "content": content}
        return {str(self.status): done, **refs}


_STREAMED = 'retry: 500\n\nid: 1042\nevent: wallet.BetStaked\ndata: {"position":1042,"at":1767225600000000, ...}\n\n'
_SIGNED = "croupier/demo/1\n1042\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\u2014 croupier/demo/1 xKs1tQ...\n"


def _ref(kind: Any) -> dict[str, str]:
    return {"$ref": REF.format(name=kind.__name__)}


# --- Games --------------------------------------------------------------------------------------------------------


def prefix(game: Game[Any, Any, Any]) -> str:
    """What the components of a game are called by: `TeenPatti2020`."""
    return "".join(word.capitalize() for word in game.name.split("_"))


def _members(union: Any) -> tuple[Any, ...]:
    return getattr(union, "__args__", (union,))


def _commands_body() -> dict[str, Any]:
    schemas: list[Any] = []
    examples: dict[str, Any] = {}
    for game in GAMES.values():
        for role, union in game.commands.items():
            if role is Role.CLOCK:
                continue
            names = {member.__struct_config__.tag: f"{prefix(game)}{member.__name__}" for member in _members(union)}
            mapping = {tag: REF.format(name=name) for tag, name in names.items()}
            schemas.append(
                {
                    "title": f"{game.title}: {role}",
                    "oneOf": [{"$ref": ref} for ref in mapping.values()],
                    "discriminator": {"propertyName": "type", "mapping": mapping},
                }
            )
            for member in _members(union):
                name = f"{game.title}, {role}: {member.__struct_config__.tag}"
                instead = COMMANDS.get((game.name, member.__struct_config__.tag), {})
                examples[name] = {"value": example_of(member, whole=False) | instead}
    return {"schema": {"anyOf": schemas}, "examples": examples}


def _of_game(game: Game[Any, Any, Any]) -> dict[str, Any]:
    """The components of a game: its commands, events, configuration, and what its functions say they return."""
    commands = [member for role, union in game.commands.items() if role is not Role.CLOCK for member in _members(union)]
    shown = [kind for kind in (_returned(game.view), _returned(game.about)) if kind is not None]
    kinds = [*commands, *_members(game.events), game.config, *shown]
    _, found = msgspec.json.schema_components(kinds, ref_template=_template(game))
    tell_fields(kinds, found)
    return {f"{prefix(game)}{name}": schema for name, schema in found.items()}


def _template(game: Game[Any, Any, Any]) -> str:
    return REF.format(name=prefix(game) + "{name}")


def _returned(function: Any) -> Any:
    kinds = [kind for kind in _members(get_type_hints(function).get("return")) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 else None


def _any_of(names: Iterable[str]) -> dict[str, Any]:
    return {"anyOf": [{"$ref": REF.format(name=name)} for name in names]}


def _fill_in(schemas: dict[str, Any]) -> None:
    """What the generic types leave open, told by the games there are."""
    games = list(GAMES.values())
    views = _any_of(f"{prefix(game)}{_returned(game.view).__name__}" for game in games)
    abouts = _any_of(f"{prefix(game)}{_returned(game.about).__name__}" for game in games)
    events = [f"{prefix(game)}{kind.__name__}" for game in games for kind in _members(game.events)]
    events += [kind.__name__ for kind in _members(WalletEvent)]
    open_fields = {"view": views, "about": abouts, "event": _any_of(events)}
    for schema in schemas.values():
        for name, known in open_fields.items():
            if schema.get("properties", {}).get(name) == {}:
                schema["properties"][name] = known
            elif schema.get("properties", {}).get(name) == {"default": None}:
                schema["properties"][name] = {"anyOf": [*known["anyOf"], {"type": "null"}], "default": None}


# --- The document -------------------------------------------------------------------------------------------------


def _know_a_game() -> None:
    """Where a type is open, its example is that of a game."""
    game = next(iter(GAMES.values()))
    shown = {"view": _returned(game.view), "about": _returned(game.about), "event": BetStaked}
    KNOWN.update({name: example_of(kind) for name, kind in shown.items()})


def document(app: Litestar) -> dict[str, Any]:
    _know_a_game()
    told = [
        Operation(route.path_format, method, handler)
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        for method in handler.http_methods
        if handler.opt.get("told", True) and method != "OPTIONS" and _is_ours(route.path)
    ]
    paths: dict[str, dict[str, Any]] = {}
    for each in told:
        paths.setdefault(each.path, {})[each.method] = each.told()
    types = [kind for each in told for kind in each.types]
    bodies = {each.body.__name__ for each in told if each.body not in (None, AT_TABLE)}
    kinds = [*types, ProblemBody, Frame, *_members(WalletEvent)]
    _, schemas = msgspec.json.schema_components(kinds, ref_template=REF)
    tell_fields(kinds, schemas)
    for name in bodies & schemas.keys():  # the path says what it is already
        schemas[name]["required"] = [field for field in schemas[name].get("required", ()) if field != "type"]
    for game in GAMES.values():
        schemas.update(_of_game(game))
    _fill_in(schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Croupier", "version": "1", "description": ABOUT},
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": _responses(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _is_ours(path: str) -> bool:
    return path.startswith(("/v1/", "/health/"))

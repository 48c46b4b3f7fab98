"""Tables: opened by the operator, looked at by all, played at by commands of one's own role."""

from typing import Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, FromQuery
from litestar.types import HTTPScope, Receive, Send
from msgspec import Struct

from domain.game import Role
from domain.games import GAMES
from domain.names import TABLE, WALLET, Id
from infra import codec
from infra.eventlog import SQL
from services.api import problems
from services.api.auth import EVERYONE, Caller, may
from services.api.bodies import Limit, checked_id, decode, is_id
from services.api.commands import (
    Command,
    CommandAnswer,
    answer_at_table,
    check_json,
    checked_key,
    command_of,
    replayed,
    respond,
)
from services.api.parts import Asked, Parts
from services.api.problems import BODY_MAX, Problem
from services.batch import Accepted


class NewTable(Struct, frozen=True, forbid_unknown_fields=True):
    """`config` is that of the game; what is left out has the game's default."""

    table: Id
    game: str
    config: msgspec.Raw


PLAYING = may(Role.PLAYER, Role.STUDIO, Role.SUPERVISOR, Role.OPERATOR)
AT_TABLE = "at table"
"""For the documentation: the body depends on the table's game and the caller's role."""

_new_table = msgspec.json.Decoder(NewTable)
_encoder = msgspec.json.Encoder()
_unions: dict[tuple[str, Role], msgspec.json.Decoder[Any]] = {
    (game.name, role): msgspec.json.Decoder(union) for game in GAMES.values() for role, union in game.commands.items()
}
_names: dict[tuple[str, Role], frozenset[str]] = {
    (game.name, role): frozenset(member.__struct_config__.tag for member in getattr(union, "__args__", (union,)))
    for game in GAMES.values()
    for role, union in game.commands.items()
}


class _Tagged(Struct, frozen=True):
    type: str = ""


_tagged = msgspec.json.Decoder(_Tagged)


@post("/tables", guards=[may(Role.OPERATOR)], body=NewTable)
async def open_table(request: Asked) -> Response[CommandAnswer]:
    """Open a table of a game."""
    command = await command_of(request)
    body = decode(_new_table, command.body)
    if body.game not in GAMES:
        detail = f"There is no game {body.game[:64]!r}; there is {', '.join(GAMES)}."
        raise Problem(422, "UnknownGame", detail, facts={"game": body.game[:64]})
    opening = decode(_unions[body.game, Role.OPERATOR], b'{"type":"OpenTable","config":%b}' % bytes(body.config))
    accepted = await request.parts.door.send(command, TABLE + body.table, opening, body.game, opens=True)
    open_seed = request.parts.open_of(request.caller.operator)
    return respond(answer_at_table(request.caller, body.game, TABLE + body.table, accepted, open_seed), accepted)


def asked_of(game: str, caller: Caller, body: bytes) -> Any:
    """The command in the body, from the union of the caller's role: a player cannot even spell DealCard."""
    decoder = _unions.get((game, caller.role))
    if decoder is None:
        raise problems.forbidden(caller.role, "it has no commands at this table")
    try:
        return decode(decoder, body)
    except Problem as problem:
        raise _of_another_role(game, caller.role, body) or problem from None


def _of_another_role(game: str, role: Role, body: bytes) -> Problem | None:
    """Say it plainly when the command is there, but not for this role; or is none of this game's at all."""
    try:
        named = _tagged.decode(body).type
    except (msgspec.MsgspecError, RecursionError):
        return None
    mine = _names[game, role]
    if not named or named in mine:
        return None
    theirs = [
        other for (at, other), names in _names.items() if at == game and named in names and other is not Role.CLOCK
    ]
    may = ", ".join(sorted(mine))
    if theirs:
        detail = f"{named} is a command of the role {' or '.join(theirs)}; the role {role} may send {may}."
        return Problem(403, "WrongRole", detail, facts={"type": named, "role": role.value})
    detail = f"There is no command {named[:64]!r} here; the role {role} may send {may}."
    return Problem(400, "UnknownCommand", detail, facts={"type": named[:64], "role": role.value})


@post("/tables/{table:str}/commands", guards=[PLAYING], status_code=200, body=AT_TABLE)
async def send_command(request: Asked, table: FromPath[str]) -> Response[CommandAnswer]:
    """Send a command of the caller's role to a table."""
    answer, accepted = await play(request.parts, await command_of(request), table)
    return respond(answer, accepted)


async def play(parts: Parts, command: Command, table: str) -> tuple[CommandAnswer, Accepted]:
    game = await parts.tables.game_at(command.caller.operator, table)
    accepted = await parts.door.send(command, TABLE + table, asked_of(game, command.caller, command.body), game)
    open_seed = parts.open_of(command.caller.operator)
    return answer_at_table(command.caller, game, TABLE + table, accepted, open_seed), accepted


def table_commanded(scope: HTTPScope) -> str | None:
    """The table, if this is a request for `TableCommands`."""
    path = scope["path"]
    if (
        path.startswith("/v1/tables/")
        and path.endswith("/commands")
        and scope["method"] == "POST"
        and not scope["query_string"]  # it has none that is known: Litestar's handler says so
    ):
        table = path[len("/v1/tables/") : -len("/commands")]
        return table if is_id(table) else None
    return None


class TableCommands:
    """`POST /v1/tables/{table}/commands` is the way of nearly all traffic: bare ASGI, with nothing between.

    It saves a third of a request's CPU. What it does not know it leaves to Litestar, whose handler does the same.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def handle(self, table: str, scope: HTTPScope, receive: Receive, send: Send) -> None:
        try:
            command = await self._read(scope, receive)
            answer, accepted = await play(self._parts, command, table)
            status, headers, body = 200, {"content-type": "application/json"}, _encoder.encode(answer)
            headers.update(replayed(accepted))
        except Exception as exception:  # noqa: BLE001 - as Litestar's own exception handlers do
            problem = problems.told(exception, scope)
            status, headers, body = problem.status, {"content-type": problems.MEDIA_TYPE}, problem.encoded()
            headers.update(problem.headers)
        told = [(name.encode(), value.encode()) for name, value in headers.items()]
        told.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": told})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _read(self, scope: HTTPScope, receive: Receive) -> Command:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in _READ}
        authorization = headers.get(b"authorization", "")
        gate = self._parts.gate
        caller = scope["user"] = gate.at_once(authorization) or await gate.caller(authorization)
        key = checked_key(headers.get(b"idempotency-key", ""))
        check_json(headers.get(b"content-type", ""))
        body = await _body(receive, headers.get(b"content-length", "0"))
        return Command(caller, key, f"POST {scope['path']}", body)


_READ = frozenset((b"authorization", b"idempotency-key", b"content-type", b"content-length"))


async def _body(receive: Receive, length: str) -> bytes:
    if len(length) > 9 or int(length) > BODY_MAX:
        raise problems.too_large()
    body = b""
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "Disconnected", "The body did not come to its end.")
        body += message.get("body", b"")
        if len(body) > BODY_MAX:
            raise problems.too_large()
        if not message.get("more_body", False):
            return body


# --- Reads --------------------------------------------------------------------------------------------------------


class TableEntry(Struct, frozen=True):
    table: str
    game: str
    title: str
    round: str | None
    """The round that is on."""


class TablePage(Struct, frozen=True):
    tables: tuple[TableEntry, ...]
    next: str | None


class TableNow(Struct, frozen=True):
    """A table: as the caller sees it now, and its particulars (`about`): limits, pay table, exact returns."""

    table: str
    game: str
    title: str
    view: Any
    about: Any


@get("/tables", guards=[EVERYONE])
async def list_tables(request: Asked, cursor: FromQuery[str] = "", limit: Limit = 100) -> TablePage:
    """Tables by their ids."""
    after, operator = checked_id("table", cursor) if cursor else "", request.caller.operator
    rows = await request.parts.pool.fetch(SQL["streams_like"], operator, TABLE + after, TABLE + "\x7f", limit)
    tables = tuple(
        _entry(row["stream"], row["decider"], codec.decode_state(row["decider"], row["state"])) for row in rows
    )
    return TablePage(tables, tables[-1].table if len(tables) == limit else None)


def _entry(stream: str, decider: str, state: Any) -> TableEntry:
    game = GAMES[decider]
    return TableEntry(stream.removeprefix(TABLE), game.name, game.title, game.round(state))


@get("/tables/{table:str}", guards=[EVERYONE])
async def read_table(request: Asked, table: FromPath[str]) -> TableNow:
    """A table as the caller sees it now."""
    caller, parts = request.caller, request.parts
    found = await parts.stream(caller.operator, TABLE + checked_id("table", table))
    if found is None:
        raise problems.not_found("table", table)
    game = GAMES[found.decider]
    on, bets = game.round(found.state), ()
    if caller.role is Role.PLAYER and on is not None:
        wallet = await parts.stream(caller.operator, WALLET + caller.actor)
        bets = wallet.state.open_in(on) if wallet else ()
    view = game.view(found.state, caller.viewer, bets, parts.open_of(caller.operator))
    return TableNow(table, game.name, game.title, view, game.about(found.state))


HANDLERS = (open_table, send_command, list_tables, read_table)

"""At the door: who calls, under which key, with what kind of body, by which method, and to read what."""

from collections.abc import AsyncGenerator
from typing import Any

import jwt
import msgspec
import pytest

from domain.game import Role
from services.api.auth import Caller, Gate
from services.api.bodies import queried
from services.api.openapi import Operation
from tests.services.conftest import SECRET, Casino, assert_problem, state

BET = {"type": "PlaceBet", "round": "h1.1", "wagers": [{"spot": "player_a", "amount": 500}]}
DEPOSIT = {"amount": 100, "currency": "EUR"}
COMMANDS = "/v1/tables/h1/commands"
DEPOSITS = "/v1/players/ann/deposits"
OPERATOR, PLAYER, STUDIO = Role.OPERATOR, Role.PLAYER, Role.STUDIO
SUPERVISOR, AUDITOR = Role.SUPERVISOR, Role.AUDITOR


@pytest.fixture
def casino(two_houses):
    return two_houses


def as_token(claims: dict[str, Any], algorithm: str = "HS256", secret: bytes | None = None) -> str:
    gate = Gate(None, SECRET)  # type: ignore[arg-type]
    key = gate._token_secret if secret is None else secret
    return jwt.encode(claims, key if algorithm != "none" else None, algorithm=algorithm)


def claims(casino: Casino, **changed: Any) -> dict[str, Any]:
    key = casino.bearer().partition(".")[2].partition("_")[0]
    return {"aud": "croupier-player", "iss": "lotus", "sub": "ann", "key": key, "exp": 2**33} | changed


async def bearers(casino: Casino) -> dict[str, str]:
    good = casino.bearer()
    return {
        "none": "",
        "basic": "Basic YW5uOmFubg==",
        "no scheme": good,
        "empty bearer": "Bearer .",
        "a word": "Bearer hello",
        "one letter of the secret changed": f"Bearer {good[:-1]}{'A' if good[-1] != 'A' else 'B'}",
        "the secret cut off": f"Bearer {good[:-10]}",
        "no secret": f"Bearer {good.rpartition('_')[0]}_" if good.count("_") == 2 else "Bearer ck_lotus.x_",
        "another operator's name": f"Bearer {good.replace('ck_lotus', 'ck_other')}",
        "an operator of nowhere": f"Bearer {good.replace('ck_lotus', 'ck_nowhere')}",
        "an operator of odd letters": f"Bearer {good.replace('ck_lotus', 'ck_lo;tus')}",
        "an unsigned token": f"Bearer {as_token(claims(casino), 'none')}",
        "a token signed by somebody": f"Bearer {as_token(claims(casino), secret=b'x' * 32)}",
        "a token signed with the service's own secret": f"Bearer {as_token(claims(casino), secret=SECRET)}",
        "a token of another algorithm": f"Bearer {as_token(claims(casino), 'HS512')}",
        "an expired token": f"Bearer {as_token(claims(casino, exp=1))}",
        "a token without expiry": f"Bearer {as_token({k: v for k, v in claims(casino).items() if k != 'exp'})}",
        "a token for another audience": f"Bearer {as_token(claims(casino, aud='bank'))}",
        "a token of another operator's key": f"Bearer {as_token(claims(casino, iss='other'))}",
        "a token of a key that is not there": f"Bearer {as_token(claims(casino, key='nothing'))}",
        "a token with a piece missing": f"Bearer {as_token(claims(casino)).rpartition('.')[0]}",
        "a very long one": "Bearer " + "x" * 5_000,
    }  # fmt: skip


BEARERS = [
    "none", "basic", "no scheme", "empty bearer", "a word", "one letter of the secret changed", "the secret cut off",
    "no secret", "another operator's name", "an operator of nowhere", "an operator of odd letters", "an unsigned token",
    "a token signed by somebody", "a token signed with the service's own secret", "a token of another algorithm",
    "an expired token", "a token without expiry", "a token for another audience", "a token of another operator's key",
    "a token of a key that is not there", "a token with a piece missing", "a very long one",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
@pytest.mark.parametrize("name", BEARERS)
@pytest.mark.parametrize("path", [COMMANDS, DEPOSITS])
async def test_whoever_does_not_prove_who_calls_is_turned_away(casino, name, path):
    before = await state(casino)
    headers = {"idempotency-key": "bearer", "authorization": (await bearers(casino))[name]}
    answer = await casino.http.post(path, json=BET, headers=headers)
    assert_problem(answer, 401, "Unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert await state(casino) == before


KEYS = [
    ("", "KeyMissing"),
    ("a b", "BadKey"),
    ("x" * 65, "BadKey"),
    ("a/b", "BadKey"),
    ("ümlaut", "BadKey"),
    ("a.b", "BadKey"),
]


@pytest.mark.parametrize(("key", "code"), KEYS, ids=[repr(key[:8]) for key, _ in KEYS])
@pytest.mark.parametrize("path", [COMMANDS, DEPOSITS])
async def test_a_command_without_a_proper_key_is_refused(casino, path, key, code):
    before = await state(casino)
    bearer = casino.bearers["lotus", PLAYER if path == COMMANDS else OPERATOR]
    headers = {"idempotency-key": key.encode()} if key else {}
    body = BET if path == COMMANDS else DEPOSIT
    assert_problem(await casino.ask("POST", path, bearer, json=body, headers=headers), 400, code)
    assert await state(casino) == before


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
@pytest.mark.parametrize("path", [COMMANDS, DEPOSITS])
async def test_a_body_of_another_kind_than_json_is_refused(casino, path, kind):
    before = await state(casino)
    bearer = casino.bearers["lotus", PLAYER if path == COMMANDS else OPERATOR]
    headers = {"idempotency-key": "kind", "content-type": kind}
    answer = await casino.ask("POST", path, bearer, json=BET, headers=headers)
    assert_problem(answer, 415, "UnsupportedMediaType")
    assert await state(casino) == before


READS = [
    ("a path of nowhere", OPERATOR, "/v1/nothing", 404, "NotFound"),
    ("another path of nowhere", OPERATOR, "/v2/players", 404, "NotFound"),
    ("an unknown player", OPERATOR, "/v1/players/nobody", 404, "NotFound"),
    ("another operator's player", OPERATOR, "/v1/players/only-there", 404, "NotFound"),
    ("another operator's player's statement", OPERATOR, "/v1/players/only-there/statement", 404, "NotFound"),
    ("another player", PLAYER, "/v1/players/bob", 404, "NotFound"),
    ("another player's statement", PLAYER, "/v1/players/bob/statement", 404, "NotFound"),
    ("another player's bets", PLAYER, "/v1/players/bob/bets", 404, "NotFound"),
    ("another player's balance", PLAYER, "/v1/players/bob/balance", 404, "NotFound"),
    ("all players", PLAYER, "/v1/players", 403, "Forbidden"),
    ("an unknown table", PLAYER, "/v1/tables/nowhere", 404, "NotFound"),
    ("another operator's table", PLAYER, "/v1/tables/there", 404, "NotFound"),
    ("another operator's table live", PLAYER, "/v1/tables/there/events", 404, "NotFound"),
    ("a table live for an auditor", AUDITOR, "/v1/tables/h1/events", 403, "Forbidden"),
    ("an unknown round", OPERATOR, "/v1/rounds/h1.999", 404, "NotFound"),
    ("another operator's round", OPERATOR, "/v1/rounds/there.1", 404, "NotFound"),
    ("another operator's round again", OPERATOR, "/v1/rounds/there.1/replay", 404, "NotFound"),
    ("a step that is not there", OPERATOR, "/v1/rounds/h1.1/replay?step=999", 404, "NotFound"),
    ("step nought", OPERATOR, "/v1/rounds/h1.1/replay?step=0", 400, "BadParameter"),
    ("a round as a player who is not here", AUDITOR, "/v1/rounds/h1.1/replay?as=only-there", 404, "NotFound"),
    ("a round as an odd player", AUDITOR, "/v1/rounds/h1.1/replay?as=a%00", 400, "BadId"),
    ("a round as another player", PLAYER, "/v1/rounds/h1.1/replay?as=bob", 403, "Forbidden"),
    ("another operator's round as text", OPERATOR, "/v1/rounds/there.1/replay/text", 404, "NotFound"),
    ("a round without a number", OPERATOR, "/v1/rounds/h1", 400, "BadId"),
    ("a round of a text", OPERATOR, "/v1/rounds/h1.one", 400, "BadId"),
    ("rounds of an unknown table", OPERATOR, "/v1/rounds?table=nowhere", 404, "NotFound"),
    ("incidents at an unknown table", OPERATOR, "/v1/incidents?table=nowhere", 404, "NotFound"),
    ("incidents at an odd table", OPERATOR, "/v1/incidents?table=a%00", 400, "BadId"),
    ("disputes of an unknown player", OPERATOR, "/v1/disputes?player=nobody", 404, "NotFound"),
    ("disputes of another player", PLAYER, "/v1/disputes?player=bob", 404, "NotFound"),
    ("rounds of an odd table", OPERATOR, "/v1/rounds?table=a%00", 400, "BadId"),
    ("a cursor of words", OPERATOR, "/v1/rounds?cursor=yesterday", 400, "BadParameter"),
    ("a negative cursor", OPERATOR, "/v1/players/ann/statement?cursor=-1", 400, "BadParameter"),
    ("a cursor with a point", OPERATOR, "/v1/players/ann/statement?cursor=1.5", 400, "BadParameter"),
    ("an absurd cursor", OPERATOR, "/v1/players/ann/statement?cursor=99999999999999999999", 400, "BadParameter"),
    ("a cursor beyond the log", AUDITOR, "/v1/events?cursor=1000000", 400, "BadCursor"),
    ("an odd cursor of players", OPERATOR, "/v1/players?cursor=a%01", 400, "BadId"),
    ("an odd cursor of tables", OPERATOR, "/v1/tables?cursor=%C3%A4", 400, "BadId"),
    ("a limit of nought", OPERATOR, "/v1/players?limit=0", 400, "BadParameter"),
    ("a limit without limits", AUDITOR, "/v1/events?limit=1000000", 400, "BadParameter"),
    ("a negative after", OPERATOR, "/v1/players/ann/balance?after=-5", 400, "BadParameter"),
    ("the log for a player", PLAYER, "/v1/events", 403, "Forbidden"),
    ("the log for a studio", STUDIO, "/v1/events", 403, "Forbidden"),
    ("the audit log for a player", PLAYER, "/v1/audit", 403, "Forbidden"),
    ("an odd actor", AUDITOR, "/v1/audit?actor=%00", 400, "BadParameter"),
    ("an audit log of an odd round", AUDITOR, "/v1/audit?round=h1", 400, "BadId"),
    ("a parameter that is not known", AUDITOR, "/v1/audit?rounds=h1.1", 400, "BadParameter"),
    ("one misspelt", OPERATOR, "/v1/tables?limitt=3", 400, "BadParameter"),
    ("one in another case", OPERATOR, "/v1/tables?Limit=3", 400, "BadParameter"),
    ("one as Python has it", OPERATOR, "/v1/reports/revenue?from_=2026-11-30", 400, "BadParameter"),
    ("one of the path", OPERATOR, "/v1/players/ann/statement?player=bob", 400, "BadParameter"),
    ("one where none is taken", OPERATOR, "/v1/tables/h1?limit=3", 400, "BadParameter"),
    ("one where none is taken, live", PLAYER, "/v1/tables/h1/events?cursor=3", 400, "BadParameter"),
    ("one without a value", OPERATOR, "/v1/tables?x", 400, "BadParameter"),
    ("one without a name", OPERATOR, "/v1/tables?=3", 400, "BadParameter"),
    ("one twice", OPERATOR, "/v1/tables?limit=3&limit=5", 400, "BadParameter"),
    ("keys for a supervisor", SUPERVISOR, "/v1/keys", 403, "Forbidden"),
    ("an odd key of a command", PLAYER, "/v1/commands/a.b", 400, "BadKey"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "role", "path", "status", "code"), READS, ids=[each[0] for each in READS])
async def test_a_bad_read_is_refused_with_its_reason(casino, why, role, path, status, code):
    before = await state(casino)
    assert_problem(await casino.ask("GET", path, casino.bearers["lotus", role]), status, code)
    assert await state(casino) == before


async def test_a_parameter_that_is_not_known_is_named_with_those_there_are(casino):
    answer = await casino.ask("GET", "/v1/tables?limit=3&limitt=3")
    assert_problem(answer, 400, "BadParameter")
    assert answer.json()["detail"] == "There is no parameter `limitt` here; it takes cursor, limit."
    assert answer.json()["facts"] == {"parameter": "limitt"}


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/v1/incidents?open=perhaps", "open: Expected `bool | null`, got `str`"),
        ("/v1/reports/liability?format=xml", "format: Invalid enum value 'xml'; it is one of json, csv"),
    ],
)
async def test_a_parameter_of_another_form_is_named_as_it_is_sent(casino, path, detail):
    answer = await casino.ask("GET", path)
    assert_problem(answer, 400, "BadParameter")
    assert (answer.json()["detail"], answer.json()["facts"]) == (detail, {"parameter": detail.partition(":")[0]})


@pytest.mark.parametrize("path", [COMMANDS, COMMANDS + "/", DEPOSITS, "/v1/commands/k/fence", "/v1/keys"])
async def test_a_command_takes_no_parameter(casino, path):
    """Not even on the bare route, which hands it to Litestar's handler."""
    before = await state(casino)
    role = PLAYER if path.startswith(COMMANDS) else OPERATOR
    answer = await casino.send(f"{path}?amount=5", BET if role is PLAYER else DEPOSIT, casino.bearers["lotus", role])
    assert_problem(answer, 400, "BadParameter")
    assert await state(casino) == before


async def test_the_parameters_that_are_taken_are_those_that_are_told(casino):
    for route in casino.app.routes:
        for handler in getattr(route, "route_handlers", ()):
            if "GET" in handler.http_methods and route.path.startswith("/v1/"):
                operation = Operation(route.path_format, "GET", handler)
                told = [each["name"] for each in operation.told()["parameters"] if each["in"] == "query"]
                assert queried(handler, route.path_parameters) == sorted(told)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", DEPOSITS), ("PUT", DEPOSITS), ("PATCH", "/v1/players/ann"), ("DELETE", "/v1/players/ann"),
        ("GET", COMMANDS), ("DELETE", COMMANDS), ("PUT", "/v1/tables/h1"), ("POST", "/v1/events"),
        ("TRACE", "/v1/keys"),
    ],
)  # fmt: skip
async def test_a_method_that_is_not_possible_is_refused_with_those_that_are(casino, method, path):
    before = await state(casino)
    answer = await casino.ask(method, path)
    assert_problem(answer, 405, "MethodNotAllowed")
    allowed = answer.headers["allow"].split(", ")
    assert len(allowed) > 1
    assert f"; {', '.join(allowed[:-1])} and {allowed[-1]} are." in answer.json()["detail"]
    assert await state(casino) == before


async def test_head_and_options_give_no_more_than_they_should(casino):
    head = await casino.ask("HEAD", "/v1/players/ann")
    assert (head.status_code, head.content) == (405, b"")
    options = await casino.ask("OPTIONS", COMMANDS)
    assert (options.status_code, "POST" in options.headers["allow"]) == (204, True)


async def test_a_body_that_grows_beyond_the_bound_without_saying_so_is_cut_off(casino):
    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(100):
            yield b" " * 1_000

    for path, role in ((COMMANDS, PLAYER), (DEPOSITS, OPERATOR)):
        headers = {"idempotency-key": "chunks", "content-type": "application/json"}
        answer = await casino.ask("POST", path, casino.bearers["lotus", role], content=chunks(), headers=headers)
        assert_problem(answer, 413, "TooLarge")


async def test_a_token_of_the_gate_itself_is_taken_so_that_the_forged_ones_prove_something(casino):
    token = as_token(claims(casino))
    assert (await casino.get("/v1/players/ann", token))["player"] == "ann"
    gate: Gate = casino.app.state.parts.gate
    minted, _ = gate.mint(Caller("lotus", claims(casino)["key"], OPERATOR), "ann", 60)
    assert (await casino.get("/v1/players/ann", minted))["player"] == "ann"


async def test_the_documented_twin_of_the_command_route_answers_in_the_same_way(casino):
    """A trailing slash leads past the bare route to Litestar's handler: both take the same and say the same."""
    token = casino.bearers["lotus", PLAYER]
    for body in (BET, BET | {"x": 1}, BET | {"round": "h1.7"}, {"type": "DealCard"}):
        bare = await casino.send(COMMANDS, body, token)
        twin = await casino.send(COMMANDS + "/", body, token)
        known = [
            (a.status_code, a.headers["content-type"], sorted(a.json()), a.json().get("code")) for a in (bare, twin)
        ]
        assert known[0] == known[1]
    answer = msgspec.json.decode((await casino.send(COMMANDS + "/", BET, token)).content)
    assert answer["view"]["phase"] == "betting"

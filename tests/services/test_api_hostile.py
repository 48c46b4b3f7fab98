"""Bad requests, one a line: each gets a problem that says what and why, and changes nothing."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import jwt
import msgspec
import pytest

from domain.game import Role
from services.api.auth import Caller, Gate
from tests.services.conftest import SECRET, Casino

BET = {"type": "PlaceBet", "round": "h1.1", "wagers": [{"spot": "player_a", "amount": 500}]}
DEPOSIT = {"amount": 100, "currency": "EUR"}
COMMANDS = "/v1/tables/h1/commands"
PLAYERS, TABLES = "/v1/players", "/v1/tables"
DEPOSITS, WITHDRAWALS, ADJUSTMENTS = (f"/v1/players/ann/{what}" for what in ("deposits", "withdrawals", "adjustments"))
OPERATOR, PLAYER, STUDIO = Role.OPERATOR, Role.PLAYER, Role.STUDIO
SUPERVISOR, AUDITOR = Role.SUPERVISOR, Role.AUDITOR


@pytest.fixture(scope="module")
async def casino(house_of_module: Casino) -> Casino:
    """Two operators, each with a player ann and a table h1 on which betting is open."""
    for operator in ("lotus", "other"):
        token = await house_of_module.player("ann", 10_000, operator)
        house_of_module.bearers[operator, PLAYER] = token
        await house_of_module.player("bob", 10_000, operator)
        await house_of_module.table("h1", operator)
    await house_of_module.player("only-there", 0, "other")
    await house_of_module.table("there", "other")
    return house_of_module


async def state(casino: Casino) -> Any:
    positions = [await casino.position(operator) for operator in ("lotus", "other")]
    return positions, await casino.services.pool.fetch(
        "select operator, stream, balance, state from streams order by 1, 2"
    )


def bet(**changed: Any) -> str:
    return json.dumps(BET | changed)


def wagers(*given: Any) -> str:
    return json.dumps(BET | {"wagers": list(given)})


def deposit(**changed: Any) -> str:
    return json.dumps(DEPOSIT | changed)


def table(config: str, name: str = "n", game: str = "teen_patti_2020", after: str = "") -> str:
    return f'{{"table":"{name}","game":"{game}","config":{config}}}{after}'


def raw(text: str) -> str:
    """A bet of an amount that Python's own JSON could not write."""
    return '{"type":"PlaceBet","round":"h1.1","wagers":[{"spot":"player_a","amount":' + text + "}]}"


DEEP = '{"a":' * 20_000 + "1" + "}" * 20_000
NESTED_WAGERS = '{"type":"PlaceBet","round":"h1.1","wagers":' + "[" * 20_000 + "]" * 20_000 + "}"

BODIES: list[tuple[str, Role, str, str | bytes, int, str]] = [
    # not JSON, or too much of it
    ("nothing", PLAYER, COMMANDS, "", 400, "MalformedJson"),
    ("half of it", PLAYER, COMMANDS, bet()[:-5], 400, "MalformedJson"),
    ("more than it", PLAYER, COMMANDS, bet() + "{}", 400, "MalformedJson"),
    ("words", PLAYER, COMMANDS, "place a bet", 400, "MalformedJson"),
    ("single quotes", PLAYER, COMMANDS, bet().replace('"', "'"), 400, "MalformedJson"),
    ("not UTF-8", PLAYER, COMMANDS, b'{"type":"PlaceBet","round":"\xff\xfe"}', 400, "MalformedJson"),
    ("a byte order mark", PLAYER, COMMANDS, b"\xef\xbb\xbf" + bet().encode(), 400, "MalformedJson"),
    ("UTF-16", PLAYER, COMMANDS, bet().encode("utf-16"), 400, "MalformedJson"),
    ("huge", PLAYER, COMMANDS, bet() + " " * 70_000, 413, "TooLarge"),
    ("huge elsewhere", OPERATOR, DEPOSITS, deposit() + " " * 70_000, 413, "TooLarge"),
    ("deep", PLAYER, COMMANDS, DEEP[:60_000], 400, "MalformedJson"),
    ("deep in a field", PLAYER, COMMANDS, NESTED_WAGERS, 400, "WrongType"),
    ("an array", PLAYER, COMMANDS, "[]", 400, "WrongType"),
    ("null", PLAYER, COMMANDS, "null", 400, "WrongType"),
    ("a text", PLAYER, COMMANDS, '"PlaceBet"', 400, "WrongType"),
    # fields
    ("no type", PLAYER, COMMANDS, '{"round":"h1.1","wagers":[]}', 400, "MissingField"),
    ("a type of no game", PLAYER, COMMANDS, bet(type="Hack"), 400, "UnknownCommand"),
    ("a type that is a number", PLAYER, COMMANDS, bet(type=1), 400, "WrongType"),
    ("the type twice", PLAYER, COMMANDS, '{"type":"CancelBet","type":"CancelBet","bet":"x"}', 400, "RepeatedField"),
    ("a field twice", PLAYER, COMMANDS, '{"type":"CancelBet","bet":"x","bet":"y"}', 400, "RepeatedField"),
    ("a hidden field twice", PLAYER, COMMANDS, '{"type":"CancelBet","bet":"","b\\u0065t":""}', 400, "RepeatedField"),
    ("an amount twice", PLAYER, COMMANDS, raw('100,"amount":900000'), 400, "RepeatedField"),
    ("an unknown field", PLAYER, COMMANDS, bet(stake=5), 400, "UnknownField"),
    ("an unknown field inside", PLAYER, COMMANDS, wagers({"spot": "tie", "amount": 1, "odds": 9}), 400, "UnknownField"),
    ("a field too few", PLAYER, COMMANDS, '{"type":"PlaceBet","round":"h1.1"}', 400, "MissingField"),
    ("no wagers", PLAYER, COMMANDS, wagers(), 400, "InvalidValue"),
    ("too many wagers", PLAYER, COMMANDS, wagers(*[{"spot": "tie", "amount": 100}] * 33), 400, "InvalidValue"),
    ("an unknown spot", PLAYER, COMMANDS, wagers({"spot": "player_c", "amount": 100}), 400, "InvalidValue"),
    ("somebody else's bet", PLAYER, COMMANDS, bet(player="bob"), 400, "UnknownField"),
    ("odd letters for a round", PLAYER, COMMANDS, bet(round="h1.1\u0000"), 400, "InvalidValue"),
    ("a line feed after a round", PLAYER, COMMANDS, bet(round="h1.1\n"), 400, "InvalidValue"),
    ("half a surrogate pair", PLAYER, COMMANDS, '{"type":"CancelBet","bet":"\\ud800"}', 400, "MalformedJson"),
    # amounts
    ("1.0", PLAYER, COMMANDS, raw("1.0"), 400, "WrongType"),
    ("100.0", PLAYER, COMMANDS, raw("100.0"), 400, "WrongType"),
    ("1e3", PLAYER, COMMANDS, raw("1e3"), 400, "WrongType"),
    ("0.1", PLAYER, COMMANDS, raw("0.1"), 400, "WrongType"),
    ("a text of digits", PLAYER, COMMANDS, raw('"500"'), 400, "WrongType"),
    ("true", PLAYER, COMMANDS, raw("true"), 400, "WrongType"),
    ("null for an amount", PLAYER, COMMANDS, raw("null"), 400, "WrongType"),
    ("NaN", PLAYER, COMMANDS, raw("NaN"), 400, "MalformedJson"),
    ("infinity", PLAYER, COMMANDS, raw("Infinity"), 400, "MalformedJson"),
    ("1e999", PLAYER, COMMANDS, raw("1e999"), 400, "InvalidValue"),
    ("zero", PLAYER, COMMANDS, raw("0"), 400, "InvalidValue"),
    ("minus zero", PLAYER, COMMANDS, raw("-0"), 400, "InvalidValue"),
    ("a negative amount", PLAYER, COMMANDS, raw("-500"), 400, "InvalidValue"),
    ("2 to the 53rd", PLAYER, COMMANDS, raw("9007199254740992"), 400, "InvalidValue"),
    ("2 to the 64th", PLAYER, COMMANDS, raw("18446744073709551616"), 400, "InvalidValue"),
    ("four thousand digits", PLAYER, COMMANDS, raw("9" * 4_000), 400, "InvalidValue"),
    ("a leading zero", PLAYER, COMMANDS, raw("0500"), 400, "MalformedJson"),
    ("hexadecimal", PLAYER, COMMANDS, raw("0x10"), 400, "InvalidValue"),
    ("a deposit of nothing", OPERATOR, DEPOSITS, deposit(amount=0), 400, "InvalidValue"),
    ("a negative deposit", OPERATOR, DEPOSITS, deposit(amount=-1), 400, "InvalidValue"),
    ("a deposit with a point", OPERATOR, DEPOSITS, '{"amount":1.0,"currency":"EUR"}', 400, "WrongType"),
    ("a withdrawal with an exponent", OPERATOR, WITHDRAWALS, '{"amount":1e1,"currency":"EUR"}', 400, "WrongType"),
    ("an adjustment beyond reason", OPERATOR, ADJUSTMENTS, deposit(amount=-(2**53), reason="x"), 400, "InvalidValue"),
    # refused by rules
    ("more than the balance", OPERATOR, WITHDRAWALS, deposit(amount=10_001), 422, "InsufficientFunds"),
    ("another currency", OPERATOR, DEPOSITS, deposit(currency="USD"), 422, "WrongCurrency"),
    ("a currency in small letters", OPERATOR, DEPOSITS, deposit(currency="eur"), 400, "InvalidValue"),
    ("a currency and a line feed", OPERATOR, DEPOSITS, deposit(currency="EUR\n"), 400, "InvalidValue"),
    ("a balance beyond all bounds", OPERATOR, DEPOSITS, deposit(amount=2**53 - 1), 422, "BalanceTooLarge"),
    ("off the step", PLAYER, COMMANDS, raw("150"), 422, "StakeOffStep"),
    ("over the limit of a spot", PLAYER, COMMANDS, raw("1000100"), 422, "AboveSpotLimit"),
    ("more than there is", PLAYER, COMMANDS, raw("20000"), 422, "InsufficientFunds"),
    ("a round that is over or never was", PLAYER, COMMANDS, bet(round="h1.999"), 409, "AnotherRound"),
    ("a control character in a reference", OPERATOR, DEPOSITS, deposit(reference="a\u0007"), 400, "InvalidValue"),
    ("a line feed at the end of a reference", OPERATOR, DEPOSITS, deposit(reference="a\n"), 400, "InvalidValue"),
    ("a reference too long", OPERATOR, DEPOSITS, deposit(reference="a" * 201), 400, "InvalidValue"),
    # things that are not there, or not the caller's
    ("an unknown player", OPERATOR, "/v1/players/nobody/deposits", deposit(), 404, "UnknownPlayer"),
    ("another operator's player", OPERATOR, "/v1/players/only-there/deposits", deposit(), 404, "UnknownPlayer"),
    ("an unknown table", PLAYER, "/v1/tables/nowhere/commands", bet(), 404, "NotFound"),
    ("another operator's table", PLAYER, "/v1/tables/there/commands", bet(), 404, "NotFound"),
    ("a session for nobody", OPERATOR, "/v1/sessions", '{"player":"nobody"}', 404, "NotFound"),
    ("a session of a day", OPERATOR, "/v1/sessions", '{"player":"ann","seconds":86400}', 400, "InvalidValue"),
    ("an odd player", OPERATOR, "/v1/players/a.b/deposits", deposit(), 400, "BadId"),
    ("a player of control characters", OPERATOR, "/v1/players/a%00b/deposits", deposit(), 400, "BadId"),
    ("a very long player", OPERATOR, f"/v1/players/{'a' * 65}/deposits", deposit(), 400, "BadId"),
    ("a table of another alphabet", PLAYER, "/v1/tables/tisch-%C3%A4/commands", bet(), 400, "BadId"),
    ("a new player with an odd name", OPERATOR, PLAYERS, '{"player":"a b","currency":"EUR"}', 400, "InvalidValue"),
    ("a new player with odd money", OPERATOR, PLAYERS, '{"player":"new","currency":"XXX"}', 422, "UnknownCurrency"),
    ("a player named like the clock", OPERATOR, PLAYERS, '{"player":"platform","currency":"EUR"}', 422, "ReservedId"),
    ("a player of two currencies", OPERATOR, PLAYERS, '{"player":"ann","currency":"USD"}', 409, "PlayerExists"),
    ("a game of nowhere", OPERATOR, TABLES, table("{}", game="poker"), 422, "UnknownGame"),
    ("a table without a currency", OPERATOR, TABLES, table("{}"), 400, "MissingField"),
    ("a config's field twice", OPERATOR, TABLES, table('{"step":1,"currency":"EUR","step":2}'), 400, "RepeatedField"),
    ("a stranger in a configuration", OPERATOR, TABLES, table('{"currency":"EUR","rake":5}'), 400, "UnknownField"),
    ("two tables at once", OPERATOR, TABLES, table('{"currency":"EUR"}', after=',{"x":1}'), 400, "MalformedJson"),
    ("a table that is there", OPERATOR, TABLES, table('{"currency":"EUR"}', "h1"), 409, "TableExists"),
    # roles
    ("a player who deals", PLAYER, COMMANDS, '{"type":"DealCard","slot":"A1","card":"As"}', 403, "WrongRole"),
    ("a player who cancels the round", PLAYER, COMMANDS, '{"type":"CancelRound","reason":"I lost"}', 403, "WrongRole"),
    ("a player who is the clock", PLAYER, COMMANDS, '{"type":"TimeOut"}', 400, "UnknownCommand"),
    ("an operator who bets", OPERATOR, COMMANDS, bet(), 403, "WrongRole"),
    ("a studio that bets", STUDIO, COMMANDS, bet(), 403, "WrongRole"),
    ("a supervisor who deals", SUPERVISOR, COMMANDS, '{"type":"DealCard","slot":"A1","card":"As"}', 403, "WrongRole"),
    ("an auditor who does anything", AUDITOR, COMMANDS, '{"type":"Resume"}', 403, "Forbidden"),
    ("a player who deposits", PLAYER, DEPOSITS, deposit(), 403, "Forbidden"),
    ("a player who opens a table", PLAYER, "/v1/tables", "{}", 403, "Forbidden"),
    ("a supervisor who mints a key", SUPERVISOR, "/v1/keys", '{"role":"operator"}', 403, "Forbidden"),
    ("a key of the clock", OPERATOR, "/v1/keys", '{"role":"clock"}', 400, "InvalidValue"),
    ("a studio that mints sessions", STUDIO, "/v1/sessions", '{"player":"ann"}', 403, "Forbidden"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "role", "path", "body", "status", "code"), BODIES, ids=[each[0] for each in BODIES])
async def test_a_bad_body_is_refused_with_its_reason(casino, why, role, path, body, status, code):
    before = await _unless_on_record(casino, code)
    headers = {"idempotency-key": f"hostile-{BODIES.index((why, role, path, body, status, code))}"}
    headers["content-type"] = "application/json"
    answer = await casino.ask("POST", path, casino.bearers["lotus", role], content=body, headers=headers)
    assert_problem(answer, status, code)
    assert await _unless_on_record(casino, code) == before


async def _unless_on_record(casino: Casino, code: str) -> Any:
    """What must not change; a money command refused by a rule leaves its record, and nothing else."""
    positions, streams = await state(casino)
    kept = [tuple(row) for row in streams if not row["stream"].startswith("refused:")]
    return kept if code in ON_RECORD else (positions, kept)


ON_RECORD = {
    "InsufficientFunds", "WrongCurrency", "BalanceTooLarge", "StakeOffStep", "AboveSpotLimit", "AnotherRound",
    "PlayerExists",
}  # fmt: skip


def assert_problem(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    told = answer.json()
    assert (told["code"], told["status"], told["outcome"]) == (code, status, "not_applied"), told
    assert told["type"] == f"/problems/{code}"
    assert told["title"]
    assert len(told["detail"]) > 20
    assert isinstance(told["facts"], dict)
    assert len(answer.content) < 2_000
    for never in ("Traceback", "File ", "site-packages", "asyncpg", "ck_lotus", "select "):
        assert never not in answer.text


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
    answer = await casino.ask("POST", path, bearer, content=bet(), headers=headers)
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
    ("a round without a number", OPERATOR, "/v1/rounds/h1", 400, "BadId"),
    ("a round of a text", OPERATOR, "/v1/rounds/h1.one", 400, "BadId"),
    ("rounds of an unknown table", OPERATOR, "/v1/rounds?table=nowhere", 404, "NotFound"),
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
    ("keys for a supervisor", SUPERVISOR, "/v1/keys", 403, "Forbidden"),
    ("an odd key of a command", PLAYER, "/v1/commands/a.b", 400, "BadKey"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "role", "path", "status", "code"), READS, ids=[each[0] for each in READS])
async def test_a_bad_read_is_refused_with_its_reason(casino, why, role, path, status, code):
    before = await state(casino)
    assert_problem(await casino.ask("GET", path, casino.bearers["lotus", role]), status, code)
    assert await state(casino) == before


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
    assert answer.headers["allow"]
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

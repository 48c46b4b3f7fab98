"""Bad requests, one a line: each gets a problem that says what and why, and changes nothing."""

import json
from typing import Any

import pytest

from domain.game import Role
from tests.services.conftest import Casino, assert_problem, state

BET = {"type": "PlaceBet", "round": "h1.1", "wagers": [{"spot": "player_a", "amount": 500}]}
DEPOSIT = {"amount": 100, "currency": "EUR"}
COMMANDS = "/v1/tables/h1/commands"
PLAYERS, TABLES = "/v1/players", "/v1/tables"
DEPOSITS, WITHDRAWALS, ADJUSTMENTS = (f"/v1/players/ann/{what}" for what in ("deposits", "withdrawals", "adjustments"))
PROPOSALS, INCIDENTS = "/v1/proposals", "/v1/incidents"
AGAIN, WRITE_OFFS = "/v1/rounds/h1.1/resettlements", "/v1/players/ann/write-offs"
OPERATOR, PLAYER, STUDIO = Role.OPERATOR, Role.PLAYER, Role.STUDIO
SUPERVISOR, AUDITOR = Role.SUPERVISOR, Role.AUDITOR


@pytest.fixture
def casino(two_houses):
    return two_houses


def bet(**changed: Any) -> str:
    return json.dumps(BET | changed)


def wagers(*given: Any) -> str:
    return json.dumps(BET | {"wagers": list(given)})


def deposit(**changed: Any) -> str:
    return json.dumps(DEPOSIT | changed)


def adjustment(**changed: Any) -> str:
    return deposit(**{"code": "other", "reason": "x"} | changed)


def incident(**changed: Any) -> str:
    return json.dumps({"table": "h1", "kind": "misdeal", "words": "x"} | changed)


def again(**changed: Any) -> str:
    return json.dumps({"basis": {"type": "Void"}, "reason": "x"} | changed)


def cards(*given: str) -> dict[str, Any]:
    return {"type": "Corrected", "cards": given}


def table(config: str, name: str = "n", game: str = "teen_patti_2020", after: str = "") -> str:
    return f'{{"table":"{name}","game":"{game}","config":{config}}}{after}'


def raw(text: str) -> str:
    """A bet of an amount that Python's own JSON could not write."""
    return '{"type":"PlaceBet","round":"h1.1","wagers":[{"spot":"player_a","amount":' + text + "}]}"


RESUMED = '{"resolution":"resume","words":"x"}'
ODDS = '{"currency":"EUR","pay_table":{"tie":%s}}'
DEEP = '{"a":' * 20_000 + "1" + "}" * 20_000
NESTED_WAGERS = '{"type":"PlaceBet","round":"h1.1","wagers":' + "[" * 4_000 + "]" * 4_000 + "}"
ODD_BYTES = table(ODDS % '{"numerator":5,"a":"\xff"}').encode("latin-1")

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
    ("huge", PLAYER, COMMANDS, bet() + " " * 8_192, 413, "TooLarge"),
    ("huge elsewhere", OPERATOR, DEPOSITS, deposit() + " " * 8_192, 413, "TooLarge"),
    ("deep", PLAYER, COMMANDS, DEEP[:8_000], 400, "MalformedJson"),
    ("deep in a field", PLAYER, COMMANDS, NESTED_WAGERS, 400, "WrongType"),
    ("an array", PLAYER, COMMANDS, "[]", 400, "WrongType"),
    ("null", PLAYER, COMMANDS, "null", 400, "WrongType"),
    ("a text", PLAYER, COMMANDS, '"PlaceBet"', 400, "WrongType"),
    # fields
    ("no type", PLAYER, COMMANDS, '{"round":"h1.1","wagers":[]}', 400, "MissingField"),
    ("a type of no game", PLAYER, COMMANDS, bet(type="Hack"), 400, "UnknownCommand"),
    ("a type that is a number", PLAYER, COMMANDS, bet(type=1), 400, "WrongType"),
    ("the type twice", PLAYER, COMMANDS, '{"type":"CancelBet","type":"CancelBet","bet":"x"}', 400, "RepeatedField"),
    ("two types", PLAYER, COMMANDS, '{"type":"PlaceBet","type":"CancelBet","bet":"x"}', 400, "RepeatedField"),
    ("a field twice", PLAYER, COMMANDS, '{"type":"CancelBet","bet":"x","bet":"y"}', 400, "RepeatedField"),
    ("a hidden repeat", PLAYER, COMMANDS, '{"type":"CancelBet","bet":"x","b\\u0065t":"y"}', 400, "RepeatedField"),
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
    ("an incident of no kind", STUDIO, INCIDENTS, incident(kind="earthquake"), 400, "InvalidValue"),
    ("an incident without words", STUDIO, INCIDENTS, incident(words=""), 400, "InvalidValue"),
    ("words that turn the text round", STUDIO, INCIDENTS, incident(words="a\u202eb"), 400, "InvalidValue"),
    ("words that are blank", STUDIO, INCIDENTS, incident(words=" "), 400, "InvalidValue"),
    ("words that nobody sees", STUDIO, INCIDENTS, incident(words="\u200b"), 400, "InvalidValue"),
    ("a blank video", STUDIO, INCIDENTS, incident(video=" "), 400, "InvalidValue"),
    ("a pause for a blank reason", SUPERVISOR, COMMANDS, '{"type":"Pause","reason":" "}', 400, "InvalidValue"),
    ("a round cancelled for nothing", SUPERVISOR, COMMANDS, '{"type":"CancelRound","reason":""}', 400, "InvalidValue"),
    ("a round cancelled for blanks", SUPERVISOR, COMMANDS, '{"type":"CancelRound","reason":"  "}', 400, "InvalidValue"),
    ("a block for a blank reason", OPERATOR, "/v1/players/ann/block", '{"reason":" "}', 400, "InvalidValue"),
    ("a block for an empty reason", OPERATOR, "/v1/players/ann/block", '{"reason":""}', 400, "InvalidValue"),
    ("declining with a blank", SUPERVISOR, f"{PROPOSALS}/x/decline", '{"reason":" "}', 400, "InvalidValue"),
    ("a key with a blank label", OPERATOR, "/v1/keys", '{"role":"studio","label":" "}', 400, "InvalidValue"),
    ("words of two lines", STUDIO, INCIDENTS, incident(words="a\nb"), 400, "InvalidValue"),
    ("words without end", STUDIO, INCIDENTS, incident(words="x" * 201), 400, "InvalidValue"),
    ("a video with a null", STUDIO, INCIDENTS, incident(video="a\u0000"), 400, "InvalidValue"),
    ("an incident of whoever", STUDIO, INCIDENTS, incident(by="bob"), 400, "UnknownField"),
    ("an incident of no table's round", STUDIO, INCIDENTS, incident(round="h1"), 400, "InvalidValue"),
    ("an incident of a round to come", STUDIO, INCIDENTS, incident(round="h1.9"), 404, "NotFound"),
    ("an incident elsewhere", STUDIO, INCIDENTS, incident(table="there"), 404, "NotFound"),
    ("an unknown incident", SUPERVISOR, f"{INCIDENTS}/x/resolve", RESUMED, 404, "UnknownIncident"),
    ("an incident with odd letters", SUPERVISOR, f"{INCIDENTS}/a%0Ab/resolve", RESUMED, 400, "BadId"),
    ("no such resolution", SUPERVISOR, f"{INCIDENTS}/x/resolve", RESUMED.replace("resume", "forget"), 400,
     "InvalidValue"),
    ("a note without words", STUDIO, f"{INCIDENTS}/x/notes", "{}", 400, "MissingField"),
    ("a negative deposit", OPERATOR, DEPOSITS, deposit(amount=-1), 400, "InvalidValue"),
    ("a deposit with a point", OPERATOR, DEPOSITS, '{"amount":1.0,"currency":"EUR"}', 400, "WrongType"),
    ("a withdrawal with an exponent", OPERATOR, WITHDRAWALS, '{"amount":1e1,"currency":"EUR"}', 400, "WrongType"),
    ("an adjustment beyond reason", OPERATOR, ADJUSTMENTS, adjustment(amount=-(2**53)), 400, "InvalidValue"),
    ("an adjustment of nothing", OPERATOR, ADJUSTMENTS, adjustment(amount=0), 400, "InvalidValue"),
    ("an adjustment without a code", OPERATOR, ADJUSTMENTS, deposit(reason="x"), 400, "MissingField"),
    ("an adjustment for a reason of one's own", OPERATOR, ADJUSTMENTS, adjustment(code="because"), 400, "InvalidValue"),
    ("an adjustment for no reason", OPERATOR, ADJUSTMENTS, adjustment(reason=""), 400, "InvalidValue"),
    ("an adjustment for a blank reason", OPERATOR, ADJUSTMENTS, adjustment(reason=" \u3000"), 400, "InvalidValue"),
    ("an adjustment whose reason turns", OPERATOR, ADJUSTMENTS, adjustment(reason="a\u202eb"), 400, "InvalidValue"),
    ("an adjustment approved at once", OPERATOR, ADJUSTMENTS, adjustment(proposal="x"), 400, "UnknownField"),
    ("approving with words", SUPERVISOR, f"{PROPOSALS}/{'0' * 16}/approve", '{"reason":"x"}', 400, "UnknownField"),
    ("approving as somebody else", SUPERVISOR, f"{PROPOSALS}/{'0' * 16}/approve", '{"by":"x"}', 400, "UnknownField"),
    ("declining without words", SUPERVISOR, f"{PROPOSALS}/{'0' * 16}/decline", "{}", 400, "MissingField"),
    ("declining with a line feed", SUPERVISOR, f"{PROPOSALS}/x/decline", '{"reason":"a\\nb"}', 400, "InvalidValue"),
    ("a proposal of an odd name", SUPERVISOR, f"{PROPOSALS}/a.b/approve", "{}", 400, "BadId"),
    ("a proposal that is another stream", SUPERVISOR, f"{PROPOSALS}/..%2Fhouse/approve", "{}", 404, "NotFound"),
    ("a proposal of nowhere", SUPERVISOR, f"{PROPOSALS}/{'0' * 16}/approve", "{}", 404, "UnknownProposal"),
    ("a resettlement on no basis", OPERATOR, AGAIN, '{"reason":"x"}', 400, "MissingField"),
    ("a resettlement on a basis of one's own", OPERATOR, AGAIN, again(basis={"type": "Edited"}), 400, "InvalidValue"),
    ("a resettlement by no cards", OPERATOR, AGAIN, again(basis=cards()), 400, "InvalidValue"),
    ("a resettlement by a card that is none", OPERATOR, AGAIN, again(basis=cards("1x")), 400, "InvalidValue"),
    ("a resettlement by 53 cards", OPERATOR, AGAIN, again(basis=cards(*["As"] * 53)), 400, "InvalidValue"),
    ("a resettlement that pays as it likes", OPERATOR, AGAIN, again(payouts=[]), 400, "UnknownField"),
    ("a resettlement for no reason", OPERATOR, AGAIN, again(reason=""), 400, "InvalidValue"),
    ("a resettlement for a blank reason", OPERATOR, AGAIN, again(reason=" "), 400, "InvalidValue"),
    ("a resettlement of an odd incident", OPERATOR, AGAIN, again(incident="a/b"), 400, "InvalidValue"),
    ("a resettlement approved at once", OPERATOR, AGAIN, again(proposed_by="x"), 400, "UnknownField"),
    ("a resettlement of another stream", OPERATOR, AGAIN.replace("h1.1", "..%2Fhouse"), again(), 404, "NotFound"),
    ("a resettlement of a table", OPERATOR, AGAIN.replace("h1.1", "h1"), again(), 400, "BadId"),
    ("a resettlement of a round that is on", OPERATOR, AGAIN, again(), 409, "RoundNotSettled"),
    ("a write-off of nothing", OPERATOR, WRITE_OFFS, deposit(amount=0, reason="x"), 400, "InvalidValue"),
    ("a write-off of less", OPERATOR, WRITE_OFFS, deposit(amount=-1, reason="x"), 400, "InvalidValue"),
    ("a write-off for no reason", OPERATOR, WRITE_OFFS, deposit(), 400, "MissingField"),
    ("a write-off of what is not owed", OPERATOR, WRITE_OFFS, deposit(reason="x"), 409, "MoreThanOwed"),
    # refused by rules
    ("more than the balance", OPERATOR, WITHDRAWALS, deposit(amount=10_001), 422, "InsufficientFunds"),
    ("more than the balance, proposed", OPERATOR, ADJUSTMENTS, adjustment(amount=-10_001), 422, "InsufficientFunds"),
    ("an adjustment in dollars", OPERATOR, ADJUSTMENTS, adjustment(currency="USD"), 422, "WrongCurrency"),
    ("another currency", OPERATOR, DEPOSITS, deposit(currency="USD"), 422, "WrongCurrency"),
    ("a currency in small letters", OPERATOR, DEPOSITS, deposit(currency="eur"), 400, "InvalidValue"),
    ("a currency and a line feed", OPERATOR, DEPOSITS, deposit(currency="EUR\n"), 400, "InvalidValue"),
    ("a balance beyond all bounds", OPERATOR, DEPOSITS, deposit(amount=2**53 - 1), 422, "BalanceTooLarge"),
    ("off the step", PLAYER, COMMANDS, raw("150"), 422, "StakeOffStep"),
    ("over the limit of a spot", PLAYER, COMMANDS, raw("1000100"), 422, "AboveSpotLimit"),
    ("more than there is", PLAYER, COMMANDS, raw("20000"), 422, "InsufficientFunds"),
    ("a round that is over or never was", PLAYER, COMMANDS, bet(round="h1.999"), 409, "AnotherRound"),
    ("a control character in a reference", OPERATOR, DEPOSITS, deposit(reference="a\u0007"), 400, "InvalidValue"),
    ("a reference that is turned round", OPERATOR, DEPOSITS, deposit(reference="a\u202eb"), 400, "InvalidValue"),
    ("a line feed at the end of a reference", OPERATOR, DEPOSITS, deposit(reference="a\n"), 400, "InvalidValue"),
    ("a blank reference", OPERATOR, DEPOSITS, deposit(reference="\u00a0"), 400, "InvalidValue"),
    ("a reference too long", OPERATOR, DEPOSITS, deposit(reference="a" * 201), 400, "InvalidValue"),
    # things that are not there, or not the caller's
    ("an adjustment for nobody", OPERATOR, "/v1/players/nobody/adjustments", adjustment(), 404, "UnknownPlayer"),
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
    ("a stranger in odds", OPERATOR, TABLES, table(ODDS % '{"numerator":5,"a":1}'), 400, "UnknownField"),
    ("odd bytes in odds", OPERATOR, TABLES, ODD_BYTES, 400, "UnknownField"),
    ("two tables at once", OPERATOR, TABLES, table('{"currency":"EUR"}', after=',{"x":1}'), 400, "MalformedJson"),
    ("a table that is there", OPERATOR, TABLES, table('{"currency":"EUR"}', "h1"), 409, "TableExists"),
    ("a body where none is wanted", OPERATOR, "/v1/keys/x/rotate", '{"x":1}', 400, "UnknownField"),
    ("bytes where nothing is wanted", OPERATOR, "/v1/keys/x/rotate", b"\x1f\x1e\xff", 400, "MalformedJson"),
    # roles
    ("a player who deals", PLAYER, COMMANDS, '{"type":"DealCard","slot":"A1","card":"As"}', 403, "WrongRole"),
    ("a player who cancels the round", PLAYER, COMMANDS, '{"type":"CancelRound","reason":"I lost"}', 403, "WrongRole"),
    ("a player who is the clock", PLAYER, COMMANDS, '{"type":"TimeOut"}', 400, "UnknownCommand"),
    ("an operator who bets", OPERATOR, COMMANDS, bet(), 403, "WrongRole"),
    ("a studio that bets", STUDIO, COMMANDS, bet(), 403, "WrongRole"),
    ("a supervisor who deals", SUPERVISOR, COMMANDS, '{"type":"DealCard","slot":"A1","card":"As"}', 403, "WrongRole"),
    ("an auditor who does anything", AUDITOR, COMMANDS, '{"type":"Resume"}', 403, "Forbidden"),
    ("a player who deposits", PLAYER, DEPOSITS, deposit(), 403, "Forbidden"),
    ("a player who proposes", PLAYER, ADJUSTMENTS, adjustment(), 403, "Forbidden"),
    ("a studio that proposes", STUDIO, ADJUSTMENTS, adjustment(), 403, "Forbidden"),
    ("a player who approves", PLAYER, f"{PROPOSALS}/{'0' * 16}/approve", "{}", 403, "Forbidden"),
    ("an auditor who approves", AUDITOR, f"{PROPOSALS}/{'0' * 16}/approve", "{}", 403, "Forbidden"),
    ("a player who reports an incident", PLAYER, INCIDENTS, incident(), 403, "Forbidden"),
    ("an auditor who reports one", AUDITOR, INCIDENTS, incident(), 403, "Forbidden"),
    ("a studio that resolves one", STUDIO, f"{INCIDENTS}/x/resolve", '{"resolution":"void"}', 403, "Forbidden"),
    ("an operator who resolves one", OPERATOR, f"{INCIDENTS}/x/resolve", '{"resolution":"void"}', 403, "Forbidden"),
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
    "PlayerExists", "MoreThanOwed",
}  # fmt: skip

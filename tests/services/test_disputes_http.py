"""Disputes over HTTP: who opens, hears, rules and sees what, and who does not."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from domain.game import SECOND, Role
from services import disputes
from services.timers import Timers
from tests.services.conftest import Casino, assert_problem

AUDITOR, OPERATOR, PLAYER = Role.AUDITOR, Role.OPERATOR, Role.PLAYER
STUDIO, SUPERVISOR = Role.STUDIO, Role.SUPERVISOR
STORY = "My bet on A showed on the screen.\nIt was not paid."
RULING = {"ruling": "upheld", "code": "settlement_error", "reason": "It should have been paid.", "evidence": 0}
PAID = RULING | {"amount": 195, "currency": "EUR"}


class Court:
    """A player of the test's own with a bet in the round h1.1 that is on."""

    def __init__(self, casino: Casino, name: str, token: str) -> None:
        self.casino = casino
        self.name = name
        self.token = token

    async def open(self, bearer: str | None = None, key: str = "", **changed: Any) -> Any:
        body = {"round": "h1.1", "words": STORY, **changed}
        return (await self.casino.done("/v1/disputes", body, bearer or self.token, key))["dispute"]

    async def does(self, dispute: Any, what: str, body: Any, bearer: str) -> Any:
        return await self.casino.done(f"/v1/disputes/{dispute['id']}/{what}", body, bearer)

    async def cash(self) -> int:
        return (await self.casino.get(f"/v1/players/{self.name}"))["balance"]


@pytest.fixture
async def court(two_houses: Casino, request: pytest.FixtureRequest) -> Court:
    name = f"p-{abs(hash(request.node.name)) % 10**12}"
    token = await two_houses.player(name, 10_000)
    assert (await two_houses.bet(token, "h1.1", f"b-{name}", player_a=100)).status_code == 200
    return Court(two_houses, name, token)


async def test_a_player_s_dispute_is_heard_and_paid_by_two_persons(court: Court) -> None:
    casino, supervisor = court.casino, court.casino.bearer(SUPERVISOR)
    opened = await court.open(bet=f"b-{court.name}")
    assert (opened["stage"], opened["player"], opened["evidence"]) == ("open", court.name, 0)
    asked = await court.does(opened, "ask", {"words": "A picture of the screen, please."}, supervisor)
    assert asked["dispute"]["due"] - opened["due"] >= 7 * 86_400_000_000
    evidence = {"words": "Here it is.", "reference": "mail 12", "sha256": 64 * "a"}
    seen = await court.does(opened, "evidence", evidence, court.token)
    assert (seen["dispute"]["until"], seen["dispute"]["evidence"]) == (None, 1)
    assert abs(seen["dispute"]["due"] - opened["due"]) < 60_000_000, "what was left is left"
    path, before = f"/v1/disputes/{opened['id']}", await court.cash()
    assert_problem(await casino.send(f"{path}/ruling", PAID, supervisor), 409, "EvidenceCameSince")
    proposed = await casino.send(f"{path}/ruling", PAID | {"evidence": 1}, supervisor)
    assert proposed.status_code == 202, proposed.text
    proposal = proposed.json()["proposal"]
    assert_problem(
        await casino.send(f"/v1/proposals/{proposal['id']}/approve", {}, supervisor), 409, "SecondPersonNeeded"
    )
    await casino.done(f"/v1/proposals/{proposal['id']}/approve", {}, casino.bearer(OPERATOR))
    told = await casino.get(path, court.token)
    assert (told["dispute"]["stage"], await court.cash() - before) == ("upheld", 195)
    ruling = told["dispute"]["ruling"]
    assert (ruling["amount"], ruling["proposal"], ruling["reason"]) == (195, proposal["id"], RULING["reason"])
    assert [each["event"]["type"] for each in told["events"]] == [
        "dispute.Opened",
        "dispute.EvidenceAsked",
        "dispute.EvidenceAttached",
        "dispute.Decided",
    ]
    assert told["events"][-1]["actor"] != ruling["proposed_by"]
    assert (told["replay"], told["dossier"]) == ("/v1/rounds/h1.1/replay", "/v1/rounds/h1.1/dossier")
    assert (await casino.get(told["replay"], court.token))["round"] == "h1.1", "it is the round's, and nothing more"


async def test_the_same_request_again_opens_nothing_again(court: Court) -> None:
    first = await court.open(key="once")
    answer = await court.casino.send("/v1/disputes", {"round": "h1.1", "words": STORY}, court.token, key="once")
    assert (answer.json()["dispute"]["id"], answer.headers["idempotent-replayed"]) == (first["id"], "true")
    answer = await court.casino.send("/v1/disputes", {"round": "h1.1", "words": "no"}, court.token, key="once")
    assert_problem(answer, 422, "KeyReused")
    answer = await court.casino.send("/v1/disputes", {"round": "h1.1", "words": "no"}, court.token)
    assert_problem(answer, 409, "DisputeIsOpen")
    assert answer.json()["facts"] == {"dispute": first["id"]}


async def test_the_operator_opens_one_for_a_player_and_both_see_it(court: Court) -> None:
    casino = court.casino
    opened = await court.open(casino.bearer(OPERATOR), player=court.name)
    assert (opened["player"], opened["opened_by"] != court.name) == (court.name, True)
    for bearer in (court.token, *(casino.bearer(role) for role in (OPERATOR, SUPERVISOR, AUDITOR))):
        assert (await casino.get(f"/v1/disputes/{opened['id']}", bearer))["dispute"]["id"] == opened["id"]
    own = await casino.get("/v1/disputes", court.token)
    assert [each["id"] for each in own["disputes"]] == [opened["id"]]
    await court.does(opened, "withdraw", {}, court.token)
    assert (await casino.get("/v1/disputes", court.token, stage="open"))["disputes"] == []


async def test_disputes_are_listed_by_stage_player_round_and_page(court: Court) -> None:
    casino, supervisor = court.casino, court.casino.bearer(SUPERVISOR)
    first, second = await court.open(), await court.open(bet=f"b-{court.name}")
    found = await casino.get("/v1/disputes", supervisor, player=court.name, limit=1)
    assert [each["id"] for each in found["disputes"]] == [second["id"]]
    found = await casino.get("/v1/disputes", supervisor, player=court.name, limit=1, cursor=found["next"])
    assert [each["id"] for each in found["disputes"]] == [first["id"]]
    listed = await casino.get("/v1/disputes", supervisor, about="h1.1", stage="open", overdue=False, limit=1_000)
    assert {first["id"], second["id"]} <= {each["id"] for each in listed["disputes"]}
    for query in ({"about": "h1.2"}, {"overdue": "true"}, {"stage": "upheld", "player": court.name}):
        assert (await casino.get("/v1/disputes", supervisor, **query))["disputes"] == []


async def test_what_is_another_s_is_not_there(court: Court) -> None:
    casino, path = court.casino, f"/v1/disputes/{(await court.open())['id']}"
    stranger = await casino.player(f"{court.name}-not", 0)
    elsewhere = [casino.bearer(role, "other") for role in (OPERATOR, SUPERVISOR, AUDITOR, PLAYER)]
    for bearer in (stranger, *elsewhere):
        assert_problem(await casino.ask("GET", path, bearer), 404, "NotFound")
        assert path not in str(await casino.get("/v1/disputes", bearer))
    for bearer in (stranger, casino.bearer(OPERATOR, "other")):
        assert_problem(await casino.send(f"{path}/evidence", {"words": "me too"}, bearer), 404, "UnknownDispute")
        assert_problem(await casino.send(f"{path}/withdraw", {}, bearer), 404, "UnknownDispute")
    assert_problem(await casino.send(f"{path}/ruling", RULING, casino.bearer(SUPERVISOR, "other")), 404, "NotFound")
    assert len((await casino.get(path, court.token))["events"]) == 1


@pytest.mark.parametrize(
    ("who", "what", "body"),
    [
        (STUDIO, "", {"round": "h1.1", "words": STORY}),
        (SUPERVISOR, "", {"round": "h1.1", "words": STORY, "player": "ann"}),
        (AUDITOR, "/evidence", {"words": "x"}),
        (PLAYER, "/ask", {"words": "x"}),
        (SUPERVISOR, "/withdraw", {}),
        (PLAYER, "/ruling", RULING),
        (OPERATOR, "/ruling", RULING),
    ],
)
async def test_each_role_does_its_own_part(court: Court, who: Role, what: str, body: Any) -> None:
    path = f"/v1/disputes/{(await court.open())['id']}{what}" if what else "/v1/disputes"
    bearer = court.token if who is PLAYER else court.casino.bearer(who)
    assert_problem(await court.casino.send(path, body, bearer), 403, "Forbidden")


BAD: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("a round that never was", "", {"round": "h1.999"}, 404, "NotFound"),
    ("another operator's round", "", {"round": "there.1"}, 404, "NotFound"),
    ("a round with no number", "", {"round": "h1"}, 400, "BadId"),
    ("a match", "", {"round": "h1.m1"}, 422, "DisputesOfItsRounds"),
    ("a bet that never was", "", {"bet": "none"}, 404, "NotFound"),
    ("another one's bet", "", {"bet": "bobs"}, 404, "NotFound"),
    ("for somebody else", "", {"player": "bob"}, 404, "NotFound"),
    ("an odd bet", "", {"bet": "a b"}, 400, "InvalidValue"),
    ("no words", "", {"words": ""}, 400, "InvalidValue"),
    ("blank words", "", {"words": " \n\n "}, 400, "InvalidValue"),
    ("words without end", "", {"words": "x" * 2_001}, 400, "InvalidValue"),
    ("words that turn round", "", {"words": "a\u202eb"}, 400, "InvalidValue"),
    ("words that move the cursor", "", {"words": "a\x1b[2Jb"}, 400, "InvalidValue"),
    ("a stranger among the fields", "", {"due": 1}, 400, "UnknownField"),
    ("words that are a number", "", {"words": 1}, 400, "WrongType"),
    ("a reference of two lines", "/evidence", {"reference": "a\nb"}, 400, "InvalidValue"),
    ("half a digest", "/evidence", {"sha256": 63 * "a"}, 400, "InvalidValue"),
    ("a digest in large letters", "/evidence", {"sha256": 64 * "A"}, 400, "InvalidValue"),
]


@pytest.mark.parametrize(("name", "what", "changed", "status", "code"), BAD)
async def test_what_is_wrong_is_said_and_changes_nothing(
    court: Court, name: str, what: str, changed: dict[str, Any], status: int, code: str
) -> None:
    casino = court.casino
    await casino.bet(casino.bearers["lotus", PLAYER], "h1.1", "bobs", player_a=100)
    body = {"words": "x", **changed} if what else {"round": "h1.1", "words": STORY, **changed}
    path = f"/v1/disputes/{(await court.open())['id']}{what}" if what else "/v1/disputes"
    before = await casino.position()
    assert_problem(await casino.send(path, body, court.token), status, code)
    assert await casino.position() == before


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"code": "none_of_ours"}, 400, "InvalidValue"),
        ({"amount": -1}, 400, "InvalidValue"),
        ({"amount": 5, "currency": "USD"}, 422, "WrongCurrency"),
        ({"amount": 5, "currency": "euro"}, 400, "InvalidValue"),
        ({"amount": 5}, 400, "MissingField"),
        ({"ruling": "rejected"}, 409, "RulingContradictsItself"),
        (
            {"ruling": "rejected", "code": "by_the_rules", "amount": 1, "currency": "EUR"},
            409,
            "RulingContradictsItself",
        ),
        ({"evidence": 1}, 409, "EvidenceCameSince"),
        ({"player": "bob"}, 400, "UnknownField"),
    ],
)
async def test_a_ruling_that_cannot_be_carried_out_cannot_be_proposed(
    court: Court, changed: dict[str, Any], status: int, code: str
) -> None:
    path = f"/v1/disputes/{(await court.open())['id']}/ruling"
    answer = await court.casino.send(path, RULING | changed, court.casino.bearer(SUPERVISOR))
    assert_problem(answer, status, code)


async def test_an_unknown_dispute_is_a_clear_answer(court: Court) -> None:
    casino = court.casino
    assert_problem(await casino.ask("GET", "/v1/disputes/0123456789abcdef"), 404, "NotFound")
    assert_problem(await casino.ask("GET", "/v1/disputes/a.b"), 400, "BadId")
    assert_problem(await casino.send("/v1/disputes/none/ruling", RULING, casino.bearer(SUPERVISOR)), 404, "NotFound")
    assert_problem(await casino.ask("GET", "/v1/disputes", params={"about": "h1"}), 400, "BadId")


# --- The clock, crowds and the records --------------------------------------------------------------------------------


async def until(court: Court, dispute: Any, holds: Callable[[Any], bool]) -> Any:
    """Under timers as a worker runs them."""
    clock = asyncio.create_task(Timers(court.casino.worker, court.casino.services.pool).run())
    try:
        async with asyncio.timeout(10):
            while not holds(now := await court.casino.get(f"/v1/disputes/{dispute['id']}", court.token)):  # noqa: ASYNC110 - it changes in the servers
                await asyncio.sleep(0.05)
            return now
    finally:
        clock.cancel()
        with suppress(asyncio.CancelledError):
            await clock


async def test_the_clock_says_once_that_it_is_overdue_and_not_while_evidence_is_awaited(
    casino: Casino, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disputes, "DAY", SECOND // 5)
    court = Court(casino, "ann", await casino.player("ann", 1_000))
    await casino.table("h1")
    waiting, late = await court.open(), await court.open(bet=await a_bet(court))
    await court.does(waiting, "ask", {"words": "A picture, please."}, casino.bearer(SUPERVISOR))
    told = await until(court, late, lambda now: now["dispute"]["overdue"])
    [*_, overdue] = told["events"]
    assert (overdue["event"]["type"], overdue["actor"], overdue["role"]) == ("dispute.Overdue", "platform", "clock")
    assert overdue["at"] >= overdue["event"]["due"] == late["due"]
    still = (await casino.get(f"/v1/disputes/{waiting['id']}"))["dispute"]
    assert (still["overdue"], still["until"] is not None) == (False, True)
    found = await casino.get("/v1/disputes", overdue="true")
    assert [each["id"] for each in found["disputes"]] == [late["id"]]
    await court.does(waiting, "evidence", {"words": "here"}, court.token)
    told = await until(court, waiting, lambda now: now["dispute"]["overdue"])
    again = await casino.get(f"/v1/disputes/{late['id']}", court.token)
    for each in (told, again):
        assert [event["event"]["type"] for event in each["events"]].count("dispute.Overdue") == 1


async def a_bet(court: Court) -> str:
    assert (await court.casino.bet(court.token, "h1.1", "a-bet", player_a=100)).status_code == 200
    return "a-bet"


async def test_a_round_is_not_disputed_and_the_dispute_withdrawn_without_end(court: Court) -> None:
    casino, body = court.casino, {"round": "h1.1", "words": STORY}
    for bet in ("", f"b-{court.name}", ""):
        await court.does(await court.open(bet=bet), "withdraw", {}, court.token)
    position = await casino.position()
    again = await casino.send("/v1/disputes", body, court.token)
    assert_problem(again, 409, "DisputedTooOften")
    assert (again.json()["facts"], await casino.position()) == ({"round": "h1.1", "limit": 3}, position + 1)
    by_phone = await court.open(casino.bearer(OPERATOR), player=court.name)
    assert by_phone["player"] == court.name


async def test_of_many_that_come_at_once_there_are_never_too_many(court: Court) -> None:
    casino = court.casino
    rounds = [await casino.table(f"many-{number}") for number in range(30)]
    bodies = [{"round": each, "words": STORY} for each in rounds]
    answers = await asyncio.gather(*(casino.send("/v1/disputes", body, court.token) for body in bodies))
    codes = [answer.json().get("code", "opened") for answer in answers]
    assert (codes.count("opened"), codes.count("TooManyDisputes")) == (20, 10)


async def test_of_two_who_approve_at_once_one_does_and_it_is_paid_once(court: Court) -> None:
    casino, path = court.casino, f"/v1/disputes/{(await court.open())['id']}"
    proposals = [(await casino.send(f"{path}/ruling", PAID, casino.bearer(SUPERVISOR))).json() for _ in range(3)]
    before = await court.cash()
    answers = await asyncio.gather(
        *(
            casino.send(f"/v1/proposals/{each['proposal']['id']}/approve", {}, casino.bearer(OPERATOR))
            for each in proposals
            for _ in range(2)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409, 409]
    assert await court.cash() - before == 195


async def test_a_refused_complaint_is_on_the_player_s_record(court: Court) -> None:
    await court.open()
    await court.casino.send("/v1/disputes", {"round": "h1.1", "words": "again"}, court.token)
    stream = f"refused:{court.name}"
    rows = await court.casino.services.pool.fetch("select data from events where stream = $1", stream)
    [told] = [json.loads(row["data"]) for row in rows]
    assert (told["rule"], json.loads(told["asked"])["words"]) == ("DisputeIsOpen", "again")


async def test_who_decided_and_who_allowed_it_is_a_significant_event_and_in_the_audit_log(court: Court) -> None:
    casino, opened = court.casino, await court.open()
    await casino.by_two(f"/v1/disputes/{opened['id']}/ruling", PAID, casino.bearer(SUPERVISOR), casino.bearer(OPERATOR))
    component = f"dispute:{opened['id']}"
    found = (await casino.get("/v1/significant", casino.bearer(AUDITOR), limit=1_000))["found"]
    first, last = (each for each in found if each["component"] == component)
    assert (first["kind"], first["round"]) == ("dispute_opened", "h1.1")
    names = {role: casino.bearer(role).partition(".")[2].partition("_")[0] for role in (SUPERVISOR, OPERATOR)}
    assert (last["kind"], last["actor"], last["authoriser"]) == ("dispute_decided", names[SUPERVISOR], names[OPERATOR])
    assert (last["reason"], last["told"]["code"]) == (RULING["reason"], "settlement_error")
    await casino.project()
    entries = (await casino.get("/v1/audit", casino.bearer(AUDITOR), subject=component))["entries"]
    assert [each["entry"]["action"] for each in entries] == ["dispute.Decided", "dispute.Opened"]

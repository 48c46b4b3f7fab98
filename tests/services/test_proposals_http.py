"""Proposals over HTTP: who may propose, see and approve; what a repetition, a race and a crash make of it."""

import asyncio
import secrets
from contextlib import suppress
from typing import Any

import pytest

from domain import proposals
from domain.game import SECOND, Role
from services.timers import Timers
from tests.services.conftest import Casino, assert_problem

SLIP = {"amount": -200, "currency": "EUR", "code": "payment_error", "reason": "keyed in twice"}
SORRY = {"amount": 300, "currency": "EUR", "code": "goodwill", "reason": "a long wait"}


@pytest.fixture
async def ann(casino: Casino) -> str:
    """The path of what is proposed for ann, who has 1,000."""
    await casino.player("ann", 1_000)
    return "/v1/players/ann/adjustments"


def actor(casino: Casino, role: Role) -> str:
    """Whom the tests' key of this role speaks for."""
    return casino.bearer(role).partition(".")[2].partition("_")[0]


async def proposed(casino: Casino, path: str, body: Any = SLIP, bearer: str | None = None, key: str = "") -> str:
    """The path of a new proposal."""
    answer = await casino.send(path, body, bearer, key)
    assert answer.status_code == 202, answer.text
    return f"/v1/proposals/{answer.json()['proposal']['id']}"


async def cash(casino: Casino) -> int:
    return (await casino.get("/v1/players/ann"))["balance"]


async def test_nothing_moves_until_a_second_person_says_yes(casino: Casino, ann: str):
    this = await proposed(casino, ann)
    found = await casino.get(this)
    assert (found["stage"], found["asked"]["player"], found["decided_by"]) == ("open", "ann", None)
    assert await cash(casino) == 1_000
    assert_problem(await casino.send(f"{this}/approve", {}), 409, "SecondPersonNeeded")
    supervisor = casino.bearer(Role.SUPERVISOR)
    done = await casino.done(f"{this}/approve", {}, supervisor)
    assert (done["proposal"]["stage"], await cash(casino)) == ("approved", 800)
    assert done["position"] == (await casino.get(this))["position"] + 1
    assert_problem(await casino.send(f"{this}/approve", {}, supervisor), 409, "ProposalClosed")


async def test_a_key_that_was_rotated_is_the_same_person(casino: Casino, ann: str):
    minted = await casino.done("/v1/keys", {"role": "operator"})
    this = await proposed(casino, ann, bearer=minted["token"])
    rotated = await casino.done(f"/v1/keys/{minted['id']}/rotate", {})
    assert_problem(await casino.send(f"{this}/approve", {}, rotated["token"]), 409, "SecondPersonNeeded")
    await casino.done(f"{this}/withdraw", {}, rotated["token"])


async def test_a_repetition_finds_the_same_proposal_and_approves_once(casino: Casino, ann: str):
    this = await proposed(casino, ann, key="once")
    again = await casino.send(ann, SLIP, key="once")
    assert (again.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    assert this.endswith(again.json()["proposal"]["id"])
    assert_problem(await casino.send(ann, SORRY, key="once"), 422, "KeyReused")
    supervisor = casino.bearer(Role.SUPERVISOR)
    first, second = [await casino.send(f"{this}/approve", {}, supervisor, "yes") for _ in range(2)]
    assert first.json() == second.json()
    assert (second.headers["idempotent-replayed"], await cash(casino)) == ("true", 800)


async def test_many_who_decide_at_once_decide_once(casino: Casino, ann: str):
    this = await proposed(casino, ann)
    keys = [(await casino.done("/v1/keys", {"role": "supervisor"}))["token"] for _ in range(4)]
    asked = [(f"{this}/{what}", {"reason": "no"} if what == "decline" else {}, key)
             for key in keys for what in ("approve", "decline", "approve")]  # fmt: skip
    answers = await asyncio.gather(*(casino.send(*each) for each in asked))
    assert sorted(answer.status_code for answer in answers) == [200, *[409] * 11]
    stage = (await casino.get(this))["stage"]
    assert await cash(casino) == (800 if stage == "approved" else 1_000)


async def test_staff_see_all_of_their_own_house_and_others_nothing(casino: Casino, ann: str):
    this = await proposed(casino, ann)
    for role in (Role.OPERATOR, Role.SUPERVISOR, Role.AUDITOR):
        assert (await casino.get(this, casino.bearer(role)))["stage"] == "open"
        assert len((await casino.get("/v1/proposals", casino.bearer(role)))["proposals"]) == 1
    token = (await casino.done("/v1/sessions", {"player": "ann"}))["token"]
    for bearer in (casino.bearer(Role.STUDIO), token):
        assert_problem(await casino.ask("GET", this, bearer), 403, "Forbidden")
        assert_problem(await casino.ask("GET", "/v1/proposals", bearer), 403, "Forbidden")
    await casino.operator("iris")
    stranger = casino.bearer(Role.SUPERVISOR, "iris")
    assert_problem(await casino.ask("GET", this, stranger), 404, "NotFound")
    assert_problem(await casino.send(f"{this}/approve", {}, stranger), 404, "UnknownProposal")
    assert (await casino.get("/v1/proposals", stranger))["proposals"] == []


async def test_lists_are_paged_and_of_one_stage_if_so_asked(casino: Casino, ann: str):
    paths = [await proposed(casino, ann, SORRY) for _ in range(5)]
    names = [path.rpartition("/")[2] for path in paths]
    await casino.done(f"{paths[3]}/approve", {}, casino.bearer(Role.SUPERVISOR))
    order = [names[at] for at in (3, 4, 2, 1, 0)]  # what changed last comes first
    page = await casino.get("/v1/proposals", limit=3)
    rest = await casino.get("/v1/proposals", limit=3, cursor=page["next"])
    assert [each["id"] for each in page["proposals"] + rest["proposals"]] == order
    assert rest["next"] is None
    assert [each["id"] for each in (await casino.get("/v1/proposals", stage="approved"))["proposals"]] == order[:1]
    assert [each["id"] for each in (await casino.get("/v1/proposals", stage="open"))["proposals"]] == order[1:]
    assert_problem(await casino.ask("GET", "/v1/proposals", params={"stage": "shut"}), 400, "BadParameter")


async def test_the_clock_ends_what_nobody_decided(casino: Casino, ann: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(proposals, "OPEN_FOR", SECOND // 5)
    this = await proposed(casino, ann)
    clock = asyncio.create_task(Timers(casino.worker, casino.services.pool).run())
    found = {"stage": "open"}
    for _ in range(200):
        if found["stage"] == "open":
            await asyncio.sleep(0.05)
            found = await casino.get(this)
    clock.cancel()
    with suppress(asyncio.CancelledError):
        await clock
    assert found["stage"] == "expired"
    assert_problem(await casino.send(f"{this}/approve", {}, casino.bearer(Role.SUPERVISOR)), 409, "ProposalClosed")
    assert await cash(casino) == 1_000


async def test_who_wanted_it_who_allowed_it_and_why_is_in_the_report_and_the_audit_log(casino: Casino, ann: str):
    first, second = actor(casino, Role.OPERATOR), actor(casino, Role.SUPERVISOR)
    await casino.by_two(ann, SLIP)
    [row] = (await casino.get("/v1/reports/adjustments", casino.bearer(Role.AUDITOR)))["body"]["rows"]
    assert (row["code"], row["proposed_by"], row["by"], row["amount"]) == ("payment_error", first, second, -200)
    await casino.project()
    told = await casino.get("/v1/audit", casino.bearer(Role.AUDITOR))
    shown = [(each["entry"]["action"], each["entry"]["actor"]) for each in told["entries"][:3]]
    assert shown == [("wallet.Adjusted", second), ("proposal.Approved", second), ("proposal.Proposed", first)]


async def test_a_refused_attempt_to_decide_alone_is_on_record_for_the_auditor(casino: Casino, ann: str):
    this = await proposed(casino, ann)
    await casino.send(f"{this}/approve", {}, key=secrets.token_hex(8))
    await casino.project()
    told = await casino.get("/v1/audit", casino.bearer(Role.AUDITOR))
    [entry] = [each["entry"] for each in told["entries"] if each["entry"]["rule"]]
    assert (entry["rule"], entry["actor"]) == ("SecondPersonNeeded", actor(casino, Role.OPERATOR))


async def test_a_stage_that_there_is_not_is_told_with_those_that_there_are(casino: Casino) -> None:
    answer = await casino.ask("GET", "/v1/proposals", params={"stage": "done"})
    assert_problem(answer, 400, "BadParameter")
    assert "it is one of open, approved, declined, withdrawn, expired" in answer.json()["detail"]

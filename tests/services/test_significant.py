"""Significant events, told from the log: each with who, why, before and after; paged in bounded work."""

import asyncio
import base64
import json
from typing import Any

import pytest
from click.testing import CliRunner

from domain import selfcheck
from domain.decider import MarkFaulted, Submission
from domain.game import Role
from domain.names import HOUSE
from domain.selfcheck import Scope
from infra import codec
from ops.__main__ import croupier
from services import significant
from services.settlement import PLATFORM
from services.significant import SignificantKind
from tests.services.conftest import QUICK, Casino, assert_problem
from tests.services.gin import Gin
from tests.services.patti import Patti
from tests.services.pit_http import Pit


async def listed(casino: Casino, **query: Any) -> list[Any]:
    """All there are, page by page."""
    found: list[Any] = []
    reached, tip = 0, -1
    while reached != tip:
        page = await casino.get("/v1/significant", casino.bearer(Role.AUDITOR), cursor=reached, **query)
        found, reached, tip = [*found, *page["found"]], page["reached"], page["tip"]
    return found


async def one(casino: Casino, kind: SignificantKind, **query: Any) -> Any:
    [found] = await listed(casino, kind=kind.value, **query)
    return found


def actor(casino: Casino, role: Role) -> str:
    """Whom the tests' key of this role speaks for."""
    return casino.bearer(role).partition(".")[2].partition("_")[0]


def test_every_kind_that_tells_of_an_event_is_of_an_event_that_there_is():
    types = {codec.type_of(event) for event in codec.event_types()}
    assert set(significant.KINDS) <= types
    amounts = {SignificantKind.LARGE_WIN, SignificantKind.LARGE_WAGER, SignificantKind.KEY_ROTATED}
    assert {*significant.KINDS.values(), *amounts} == set(SignificantKind)


async def test_a_key_minted_rotated_and_revoked_is_told_without_its_digest(casino: Casino):
    minted = await casino.done("/v1/keys", {"role": "studio", "label": "scanner"})
    await casino.done(f"/v1/keys/{minted['id']}/rotate", {})
    told = [each for each in await listed(casino) if each["actor"] == actor(casino, Role.OPERATOR)]
    assert [each["kind"] for each in told] == ["key_minted", "key_rotated", "key_revoked"]
    assert told[0]["told"]["label"] == "scanner"
    assert "digest" not in json.dumps(told)
    assert told[2]["told"]["id"] == minted["id"]


async def test_a_changed_config_is_told_before_and_after(casino: Casino):
    body = {"table": "t1", "game": "teen_patti_2020", "config": QUICK}
    await casino.done("/v1/tables", body)
    slower = QUICK | {"betting_seconds": 90}
    await casino.done("/v1/tables/t1/commands", {"type": "ConfigureTable", "config": slower})
    changed = await one(casino, SignificantKind.CONFIG_CHANGED)
    assert (changed["before"]["betting_seconds"], changed["after"]["betting_seconds"]) == (60, 90)
    assert (changed["component"], changed["actor"]) == ("table:t1", actor(casino, Role.OPERATOR))
    assert (await one(casino, SignificantKind.TABLE_OPENED))["told"]["config"]["betting_seconds"] == 60


async def test_what_a_supervisor_overrode_and_voided_is_told_with_round_and_reason(casino: Casino):
    round_id = await casino.table("t1")
    supervisor = casino.bearer(Role.SUPERVISOR)
    for command in (
        {"type": "Pause", "reason": "a fly"},
        {"type": "Resume"},
        {"type": "CancelRound", "reason": "void"},
    ):
        await casino.done("/v1/tables/t1/commands", command, supervisor)
    told = [
        await one(casino, kind) for kind in (SignificantKind.PAUSED, SignificantKind.RESUMED, SignificantKind.VOIDED)
    ]
    assert {each["actor"] for each in told} == {actor(casino, Role.SUPERVISOR)}
    assert {each["round"] for each in told} == {round_id}
    assert [each["reason"] for each in told] == ["a fly", None, "void"]


async def test_an_incident_is_told_with_who_reported_it_who_resolved_it_and_why(casino: Casino):
    await casino.table("t1", kind="live")
    body = {"table": "t1", "kind": "stream_lost", "words": "camera 2 is dark"}
    incident = (await casino.done("/v1/incidents", body, casino.bearer(Role.STUDIO)))["incident"]["id"]
    resolved = {"resolution": "resume", "words": "a cable was loose"}
    await casino.done(f"/v1/incidents/{incident}/resolve", resolved, casino.bearer(Role.SUPERVISOR))
    told = await one(casino, SignificantKind.INCIDENT_REPORTED)
    assert (told["component"], told["round"], told["told"]["kind"]) == (f"incident:{incident}", "t1.1", "stream_lost")
    assert (told["actor"], told["role"], told["reason"]) == (actor(casino, Role.STUDIO), "studio", "camera 2 is dark")
    told = await one(casino, SignificantKind.INCIDENT_RESOLVED)
    assert (told["actor"], told["authoriser"]) == (actor(casino, Role.SUPERVISOR), None)
    assert (told["reason"], told["told"]["resolution"]) == ("a cable was loose", "resume")


async def test_what_two_resolved_names_both(casino: Casino):
    pit = await Pit.opened(casino)
    await pit.scan("As 2h Ad 7c Ac 9d")
    await pit.confirm("player_a")
    incident = await pit.report(round="pit.1")
    body = {"basis": {"type": "Void"}, "reason": "by the video", "incident": incident.rpartition("/")[2]}
    await casino.by_two("/v1/rounds/pit.1/resettlements", body)
    told = await one(casino, SignificantKind.INCIDENT_RESOLVED)
    assert (told["actor"], told["authoriser"]) == (actor(casino, Role.OPERATOR), actor(casino, Role.SUPERVISOR))
    assert (told["reason"], told["told"]["resolution"]) == ("by the video", "void")
    [row] = (await casino.get("/v1/reports/incidents", casino.bearer(Role.AUDITOR)))["body"]["rows"]
    assert (row["resolved_by"], row["approved_by"]) == (told["actor"], told["authoriser"])


async def test_a_round_with_money_is_voided_by_two_and_both_are_told(casino: Casino):
    token = await casino.player("ann", 500)
    round_id = await casino.table("t1")
    await casino.bet(token, round_id, tie=100)
    alone = {"type": "CancelRound", "reason": "void"}
    refused = await casino.send("/v1/tables/t1/commands", alone, casino.bearer(Role.SUPERVISOR))
    assert_problem(refused, 409, "SecondPersonNeeded")
    await casino.void("t1", "a doubt")
    paused, voided = await one(casino, SignificantKind.PAUSED), await one(casino, SignificantKind.VOIDED)
    assert (voided["actor"], voided["authoriser"]) == (paused["actor"], actor(casino, Role.SUPERVISOR))
    assert paused["actor"] != voided["authoriser"]
    [row] = (await casino.get("/v1/reports/voided-rounds", casino.bearer(Role.AUDITOR)))["body"]["rows"]
    assert (row["paused_by"], row["by"]) == (voided["actor"], voided["authoriser"])
    seen = await casino.get("/v1/rounds/t1.1/replay", token)
    assert paused["actor"] not in json.dumps([step["event"] for step in seen["steps"]])


async def test_a_match_that_is_voided_is_told_beside_its_hand(casino: Casino):
    for name in ("ann", "bob", "cid"):
        await casino.player(name, 20_000)
    gin = Gin(casino.worker, casino.services.vault, casino.services.pool, "lotus", "g")
    await gin.open("ann", "bob", "cid")
    await gin.deals()
    await gin.void("CancelMatch", reason="the lights went out")
    hand, match = await listed(casino, kind="voided")
    assert ("round" in hand["told"], match["told"]["match"]) == (True, "g.m1")
    assert {each["reason"] for each in (hand, match)} == {"the lights went out"}
    assert hand["actor"] == match["actor"] != hand["authoriser"] == match["authoriser"]


async def test_an_adjustment_a_block_and_a_fault_are_told(casino: Casino):
    await casino.player("ann", 500)
    await casino.table("t1")
    body = {"amount": -200, "currency": "EUR", "code": "payment_error", "reason": "paid twice"}
    await casino.by_two("/v1/players/ann/adjustments", body)
    await casino.done("/v1/players/ann/block", {"reason": "asked for it"})
    await casino.done("/v1/players/ann/unblock", {"reason": "again"})
    await casino.worker.submit(Submission("lotus", PLATFORM, Role.CLOCK, "table:t1", MarkFaulted("a bug")))
    adjusted = await one(casino, SignificantKind.ADJUSTED)
    assert (adjusted["player"], adjusted["before"], adjusted["after"]) == ("ann", 500, 300)
    assert adjusted["reason"] == "paid twice"
    assert adjusted["actor"] == actor(casino, Role.OPERATOR)
    assert (adjusted["authoriser"], adjusted["role"]) == (actor(casino, Role.SUPERVISOR), "supervisor")
    assert (await one(casino, SignificantKind.PLAYER_BLOCKED))["after"] == {"blocked": True}
    assert (await one(casino, SignificantKind.PLAYER_UNBLOCKED))["after"] == {"blocked": False}
    assert (await one(casino, SignificantKind.TABLE_FAULTED))["reason"] == "a bug"


async def test_what_was_proposed_and_came_to_nothing_is_told(casino: Casino):
    await casino.player("ann", 500)
    body = {"amount": -200, "currency": "EUR", "code": "payment_error", "reason": "paid twice"}
    for _ in range(2):
        proposed = (await casino.send("/v1/players/ann/adjustments", body)).json()["proposal"]["id"]
    [first, second] = await listed(casino, kind="proposed")
    assert (first["actor"], first["authoriser"], first["reason"]) == (actor(casino, Role.OPERATOR), None, "paid twice")
    assert second["component"] == f"proposal:{proposed}"
    supervisor = casino.bearer(Role.SUPERVISOR)
    await casino.done(f"/v1/proposals/{proposed}/decline", {"reason": "it was not"}, supervisor)
    await casino.done(f"/v1/proposals/{first['component'].partition(':')[2]}/withdraw", {})
    declined = await one(casino, SignificantKind.PROPOSAL_DECLINED)
    assert (declined["actor"], declined["reason"]) == (actor(casino, Role.SUPERVISOR), "it was not")
    assert (await one(casino, SignificantKind.PROPOSAL_WITHDRAWN))["actor"] == actor(casino, Role.OPERATOR)


async def test_a_self_check_is_told_only_when_it_failed(casino: Casino):
    def found(digest: str) -> selfcheck.CheckSelf:
        return selfcheck.CheckSelf(
            (selfcheck.Found(Scope.CODE, digest * 64, {}, "", ("domain/money.py",)),), asked=True
        )

    for digest in ("a", "a", "b"):
        await casino.worker.submit(Submission("lotus", PLATFORM, Role.OPERATOR, HOUSE, found(digest)))
    failed = await one(casino, SignificantKind.SELF_CHECK_FAILED)
    assert (failed["before"], failed["after"]) == ("a" * 64, "b" * 64)
    assert failed["told"]["differing"] == ["domain/money.py"]
    assert (await one(casino, SignificantKind.MANIFEST_ACCEPTED))["after"] == "a" * 64


async def test_wins_and_wagers_are_large_from_the_threshold_on_and_untold_without_one(casino: Casino):
    token = await casino.player("ann", 10_000)
    round_id = await casino.table("t1", betting_seconds=1)
    await casino.bet(token, round_id, "small", player_a=500)
    await casino.bet(token, round_id, "both", player_a=1_000, player_b=1_000)
    await asyncio.sleep(1)
    await casino.until("t1", "between")
    assert await listed(casino, kind="large_wager") == []
    [wager] = await listed(casino, kind="large_wager", large_wager=2_000)
    assert (wager["player"], wager["amount"], wager["round"]) == ("ann", 2_000, round_id)
    assert (wager["before"], wager["after"]) == (9_500, 7_500)
    assert await listed(casino, kind="large_wager", large_wager=2_001) == []
    settled = await casino.services.pool.fetchval(
        "select (data ->> 'returned')::bigint from events where operator = 'lotus' and type = 'wallet.BetsSettled'"
    )
    assert (await one(casino, SignificantKind.LARGE_WIN, large_win=settled))["amount"] == settled
    assert await listed(casino, kind="large_win", large_win=settled + 1) == []


async def test_a_large_win_of_chips_is_told_of_the_player_who_won(casino: Casino):
    for name in ("ann", "bob", "cid"):
        await casino.player(name, 20_000)
    patti = Patti(casino.worker, casino.services.pool, "lotus", "c1")
    await patti.open("ann", "bob", "cid")
    round_id = await patti.shown()
    win = await one(casino, SignificantKind.LARGE_WIN, large_win=1_615)
    assert (win["round"], win["amount"]) == (round_id, 1_615)
    assert win["player"] in ("ann", "bob", "cid")
    assert await listed(casino, kind="large_win", large_win=1_616) == []
    assert sum(each["amount"] for each in await listed(casino, kind="large_wager", large_wager=1)) == 1_700


async def test_a_request_reads_a_stretch_and_pages_lose_and_repeat_nothing(
    casino: Casino, monkeypatch: pytest.MonkeyPatch
):
    token = await casino.player("ann")
    round_id = await casino.table("t1", betting_seconds=1)
    await casino.bet(token, round_id, player_a=500)
    await asyncio.sleep(1)
    await casino.until("t1", "between")
    whole = await listed(casino, large_win=1, large_wager=1)
    assert [each["position"] for each in whole] == sorted(each["position"] for each in whole)
    assert await listed(casino, large_win=1, large_wager=1, limit=1) == whole
    monkeypatch.setattr(significant, "STRETCH", 2)
    assert await listed(casino, large_win=1, large_wager=1) == whole
    empty = await casino.get("/v1/significant", cursor=await casino.position())
    assert (empty["found"], empty["reached"]) == ([], empty["tip"])


async def test_those_who_have_no_business_with_it_and_bad_questions_are_refused(casino: Casino):
    token = await casino.player("ann")
    for bearer in (token, casino.bearer(Role.STUDIO)):
        assert (await casino.ask("GET", "/v1/significant", bearer)).status_code == 403
    for query in ("kind=anything", "large_win=0", "cursor=-1", "limit=0", "large_wager=x"):
        assert (await casino.ask("GET", f"/v1/significant?{query}")).status_code == 400, query


async def test_the_verb_lists_them_from_a_moment_on(casino: Casino):
    await casino.player("ann", 500)
    await casino.done("/v1/players/ann/block", {"reason": "asked for it"})
    settings = casino.services.settings
    environment = {
        "CROUPIER_POSTGRES": settings.postgres,
        "CROUPIER_REDIS": settings.redis,
        "CROUPIER_SECRET": base64.b64encode(settings.secret).decode(),
    }

    async def run(*arguments: str) -> list[str]:
        result = await asyncio.to_thread(CliRunner(env=environment).invoke, croupier, ["significant", *arguments])
        assert result.exit_code == 0, result.output
        return result.output.splitlines()

    [line] = await run("--kind", "player_blocked")
    assert '{"blocked":false} -> {"blocked":true}  because: asked for it' in line
    assert [json.loads(each)["kind"] for each in await run("--operator", "other", "--json")] == ["key_minted"] * 4
    assert await run("--since", "2999-01-01") == []
    pool = casino.services.pool
    ats = [row["at"] for row in await pool.fetch("select at from events where operator = 'lotus' order by position")]
    for moment in (0, *ats, ats[-1] + 1):
        assert await significant.position_at(pool, "lotus", moment) == sum(at < moment for at in ats)

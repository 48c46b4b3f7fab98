"""Incidents over HTTP, at live tables: reported, read, resolved by the right persons, told to players by kind alone."""

import asyncio
import json
from typing import Any

import pytest

from domain.game import Role
from services.resettling import resettle_round
from services.settlement import settle_round
from tests.services.conftest import Casino, assert_problem
from tests.services.pit_http import INCIDENTS, MISREAD, Pit


@pytest.fixture
async def pit(casino: Casino) -> Pit:
    pit = await Pit.opened(casino)
    await pit.scan("As 2h")
    return pit


async def test_a_misread_card_from_the_report_to_the_right_settlement(pit: Pit):
    incident = await pit.report()
    assert (await pit.view())["reason"] == f"wrong card (incident {incident.rpartition('/')[2]})"
    told = await pit.casino.get(incident)
    assert told["allowed"] == ["rescan", "void", "unfounded"]
    done = await pit.resolve(incident, "rescan")
    assert (done.status_code, done.json()["incident"]["resolution"]) == (200, "rescan")
    assert (await pit.view())["phase"] == "dealing"
    assert "cards" not in await pit.view()
    await pit.scan("As 3h Ad 7c Kc 9d")
    await pit.confirm("player_a")
    assert await pit.cash() == 500 + 975
    told = await pit.casino.get(incident)
    assert (told["allowed"], told["incident"]["round"]) == ([], "pit.1")
    assert [each["event"]["type"] for each in told["steps"]] == ["incident.Reported", "incident.Resolved"]
    assert [each["role"] for each in told["steps"]] == ["studio", "supervisor"]


async def test_a_round_that_cannot_go_on_is_voided_by_a_second_person_and_stakes_go_back_once(pit: Pit):
    incident = await pit.report(pit.supervisor, kind="deck_count", words="51 cards")
    assert_problem(await pit.resolve(incident, "void"), 409, "SecondPersonNeeded")
    assert_problem(await pit.resolve(incident, "resume"), 409, "ResolutionNotAllowed")
    second = [(await pit.casino.done("/v1/keys", {"role": "supervisor"}))["token"] for _ in range(5)]
    answers = await asyncio.gather(*(pit.resolve(incident, "void", each) for each in second))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"IncidentResolved"}
    await settle_round(pit.casino.worker, pit.casino.services.pool, "lotus", "pit.1")
    assert await pit.cash() == 1_000
    [row] = (await pit.casino.get("/v1/reports/voided-rounds"))["body"]["rows"]
    assert (row["incident"], row["refunded"], row["paused_by"] != row["by"]) == ("deck_count", 500, True)
    await pit.casino.project()
    entries = (await pit.casino.get("/v1/audit", pit.casino.bearer(Role.AUDITOR)))["entries"]
    rules = [each["entry"]["rule"] for each in entries if each["entry"]["rule"]]
    assert sorted(rules) == ["IncidentResolved"] * 4 + ["ResolutionNotAllowed", "SecondPersonNeeded"]


async def test_a_repetition_reports_and_resolves_once(pit: Pit):
    first, second = [await pit.casino.send(INCIDENTS, MISREAD, pit.studio, "once") for _ in range(2)]
    assert (first.status_code, first.json()) == (201, second.json())
    assert second.headers["idempotent-replayed"] == "true"
    assert_problem(
        await pit.casino.send(INCIDENTS, MISREAD | {"kind": "misdeal"}, pit.studio, "once"), 422, "KeyReused"
    )
    assert len((await pit.casino.get(INCIDENTS))["incidents"]) == 1
    assert (await pit.casino.get("/v1/commands/once", pit.studio))["became"] == "accepted"


async def test_players_are_told_the_kind_and_never_the_words(pit: Pit):
    watching = asyncio.create_task(pit.casino.watch("pit", pit.ann, 3))
    await asyncio.sleep(0.2)
    incident = await pit.report()
    await pit.resolve(incident, "rescan")
    frames = await watching
    assert [frame[1].partition(".")[2] for frame in frames[1:]] == ["RoundPaused", "RescanOrdered"]
    await pit.scan("As 3h Ad 7c Kc 9d")
    await pit.confirm("player_a")
    await pit.casino.done(f"{incident}/notes", {"words": "the lamp was off"}, pit.studio)
    await pit.casino.project()
    seen: list[Any] = [*frames, await pit.view()]
    seen += [await pit.casino.get(f"/v1/{path}", pit.ann) for path in ("rounds", "rounds/pit.1", "rounds/pit.1/replay")]
    text = json.dumps(seen)
    assert "wrong card" in text
    assert not any(each in text for each in ("three of hearts", "camera", "incident.", "lamp"))
    for path in (INCIDENTS, incident):
        assert_problem(await pit.casino.ask("GET", path, pit.ann), 403, "Forbidden")


async def test_staff_read_it_as_a_part_of_the_round_s_story(pit: Pit):
    incident = await pit.report()
    await pit.resolve(incident, "rescan")
    await pit.scan("As 3h Ad 7c Kc 9d")
    await pit.confirm("player_a")
    await pit.casino.until("pit", "betting")
    await pit.casino.done(f"{incident}/notes", {"words": "the lamp was off"}, pit.studio)
    told = await pit.casino.get("/v1/rounds/pit.1/replay", pit.supervisor)
    kinds = [each["type"] for each in told["steps"] if each["type"].startswith("incident.")]
    assert kinds == ["incident.Reported", "incident.Resolved", "incident.Noted"]
    assert all(each["holds"] for each in (*told["proofs"], *told["fairness"]["checks"]))
    assert "The cards were scanned again from the first" in told["explained"][0]
    text = (await pit.casino.ask("GET", "/v1/rounds/pit.1/replay/text", pit.supervisor)).text
    assert f"{incident.rpartition('/')[2]}: Reported" in text


async def test_lists_are_paged_and_of_a_table_or_of_those_that_are_open(pit: Pit):
    await pit.casino.table("other", kind="live")
    paths = [await pit.report() for _ in range(3)] + [await pit.report(table="other")]
    names = [path.rpartition("/")[2] for path in paths]
    await pit.resolve(paths[1], "unfounded")
    order = [names[at] for at in (1, 3, 2, 0)]  # what changed last comes first
    page = await pit.casino.get(INCIDENTS, limit=3)
    rest = await pit.casino.get(INCIDENTS, limit=3, cursor=page["next"])
    assert [each["id"] for each in page["incidents"] + rest["incidents"]] == order
    assert rest["next"] is None

    async def listed(**query: Any) -> list[str]:
        return [each["id"] for each in (await pit.casino.get(INCIDENTS, **query))["incidents"]]

    assert await listed(open=True) == order[1:]
    assert await listed(open=False) == order[:1]
    assert await listed(table="other") == [names[3]]
    assert await listed(table="pit", open=True) == [names[2], names[0]]
    assert_problem(await pit.casino.ask("GET", INCIDENTS, params={"open": "maybe"}), 400, "BadParameter")
    assert_problem(await pit.casino.ask("GET", INCIDENTS, params={"table": "a b"}), 400, "BadId")


async def test_another_house_sees_nothing_and_does_nothing(pit: Pit):
    incident = await pit.report()
    stranger = pit.casino.bearer(Role.SUPERVISOR, "other")
    assert_problem(await pit.casino.ask("GET", incident, stranger), 404, "NotFound")
    assert_problem(await pit.resolve(incident, "void", stranger), 404, "UnknownIncident")
    assert_problem(await pit.casino.send(INCIDENTS, MISREAD, stranger), 404, "NotFound")
    assert (await pit.casino.get(INCIDENTS, stranger))["incidents"] == []


async def test_what_an_incident_is_about_must_be_there(pit: Pit):
    async def refused(**changed: Any) -> Any:
        return await pit.casino.send(INCIDENTS, MISREAD | changed, pit.studio)

    assert_problem(await refused(table="nowhere"), 404, "NotFound")
    assert_problem(await refused(round="pit.2"), 404, "NotFound")
    assert_problem(await refused(round="pit.m1"), 404, "NotFound")
    await pit.casino.table("else")
    assert_problem(await refused(round="else.1"), 409, "AnotherTable")
    config = {"currency": "EUR"}
    await pit.casino.done("/v1/tables", {"table": "gin", "game": "gin_rummy", "config": config})
    assert_problem(await refused(table="gin"), 403, "Forbidden")  # no studio stands there
    assert (await pit.casino.get(INCIDENTS))["incidents"] == []


async def test_a_round_that_was_settled_by_a_misread_card_is_put_right_by_two_persons(pit: Pit):
    await pit.scan("Ad 3c 9h 8d", at=2)
    await pit.confirm("player_a")
    assert await pit.cash() == 500 + 975
    incident = await pit.report(round="pit.1", words="B3 is the four of hearts")
    told = await pit.casino.get(incident)
    assert told["allowed"] == ["correct", "void", "stands", "unfounded"]
    assert_problem(await pit.resolve(incident, "correct"), 409, "ProposalNeeded")
    cards = ["As", "2h", "Ad", "3h", "9h", "4h"]
    name = incident.rpartition("/")[2]
    body = {"basis": {"type": "Corrected", "cards": cards}, "reason": "by the video", "incident": name}
    await pit.casino.by_two("/v1/rounds/pit.1/resettlements", body)
    await resettle_round(pit.casino.worker, pit.casino.services.pool, "lotus", "pit.1")
    assert await pit.cash() == 500  # what was paid out is taken back, and the stake is lost
    told = await pit.casino.get(incident)
    assert (told["allowed"], told["incident"]["resolution"]) == ([], "correct")
    [done] = (await pit.casino.get("/v1/rounds/pit.1/resettlements"))["resettlements"]
    assert (done["incident"], done["proposal"]) == (name, told["incident"]["proposal"])


async def test_what_the_incident_s_kind_does_not_allow_is_not_even_proposed(pit: Pit):
    await pit.scan("Ad 3c 9h 8d", at=2)
    await pit.confirm("player_a")
    incident = await pit.report(round="pit.1", kind="late_bet", words="he pressed in time, he says")
    body = {"basis": {"type": "Void"}, "reason": "he insists", "incident": incident.rpartition("/")[2]}
    assert_problem(await pit.casino.send("/v1/rounds/pit.1/resettlements", body), 409, "ResolutionNotAllowed")
    unknown = body | {"incident": "0123456789abcdef"}
    assert_problem(await pit.casino.send("/v1/rounds/pit.1/resettlements", unknown), 404, "UnknownIncident")
    assert (await pit.casino.get("/v1/proposals"))["proposals"] == []

"""Rounds of every game settled once more, seen from everywhere: reads, statement, replay, dossier, reports, reconcile,
and decided again; and who may ask for it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
import pytest

from domain.game import Role, Viewer
from services import divergence, replay
from services.dossier import write
from services.notary import Notaries
from services.reconcile import reconcile
from services.resettling import resettle_round
from services.round_text import written
from services.verify import verify

from . import plain_reports as plain
from .conftest import Casino, assert_problem
from .dossiers import KEYS, PLAYERS, SEED, Rounds, failing, standalone_failure
from .gin import Gin

TRUE = {"type": "Corrected", "cards": ["As", "2h", "Ad", "7c", "Kc", "9d"]}
"""Player A had a pair of aces, and no trio: the scanner read Kc as Ac."""
VOID = {"type": "Void"}


class Resettled(Rounds):
    match = ""

    async def resettle(self, round_id: str, basis: Any, reason: str = "the scanner misread a card") -> None:
        """Proposed by one, approved by another, and run to its end."""
        await self.house.project()
        told = {"table": round_id.partition(".")[0], "round": round_id, "kind": "wrong_card", "words": reason}
        reported = await self.house.done("/v1/incidents", told, self.house.bearer(Role.SUPERVISOR))
        body = {"basis": basis, "reason": reason, "incident": reported["incident"]["id"]}
        await self.house.by_two(f"/v1/rounds/{round_id}/resettlements", body)
        await resettle_round(self.house.worker, self.house.services.pool, "lotus", round_id)

    async def replayed(self, round_id: str, role: Role = Role.OPERATOR, who: str = "ops") -> replay.Replay:
        services = self.house.services
        open_seed = partial(services.vault.open, "lotus")
        found = await replay.replay(services.pool, "lotus", round_id, Viewer(who, role), open_seed)
        assert found is not None
        return found


@pytest.fixture(scope="module")
async def rounds(house_of_module: Casino) -> AsyncGenerator[Resettled]:
    """A live round was corrected and then voided, a hand of 3 Patti and a match of Gin Rummy voided, when all had taken
    nearly all of their cash."""
    house, pool = house_of_module, house_of_module.services.pool
    notary = asyncio.create_task(Notaries(pool, {"k1": SEED}).run())
    made = Resettled(house, {name: await house.player(name, 100_000) for name in PLAYERS})
    await made.live()
    await made.patti()
    gin = Gin(house.worker, house.services.vault, pool, "lotus", "m")
    await gin.open(*PLAYERS)
    await gin.match()
    made.match = "m.m1"
    for name in PLAYERS:
        cash = (await house.get(f"/v1/players/{name}"))["balance"]
        await house.done(f"/v1/players/{name}/withdrawals", {"amount": cash - 10, "currency": "EUR"})
    await made.resettle("live.1", TRUE)
    await made.resettle("live.1", VOID, "the deck was short of a card")
    await made.resettle(made.ids["patti, shown"], VOID)
    await made.resettle(made.match, VOID)
    await house.project()
    yield made
    notary.cancel()
    with suppress(asyncio.CancelledError):
        await notary


async def test_who_may_propose_it_and_what_is_refused(rounds: Resettled) -> None:
    house, path = rounds.house, "/v1/rounds/live.1/resettlements"
    body = {"basis": VOID, "reason": "again"}
    assert_problem(await house.send(path, body), 409, "NothingChanges")
    for role in (Role.STUDIO, Role.AUDITOR):
        assert_problem(await house.send(path, body, house.bearer(role)), 403, "Forbidden")
    assert_problem(await house.send(path, body, rounds.tokens["ann"]), 403, "Forbidden")
    for nowhere in ("live.9", "nope.1", "m.m9", "live.m1"):
        path_there = f"/v1/rounds/{nowhere}/resettlements"
        assert_problem(await house.send(path_there, body), 404, "NotFound")
        assert_problem(await house.ask("GET", path_there), 404, "NotFound")
    for moved_nothing in (rounds.ids["patti, cancelled"], "m.1"):  # a hand of a match moves no money
        asked = await house.send(f"/v1/rounds/{moved_nothing}/resettlements", body)
        assert_problem(asked, 409, "RoundNotSettled")
    hand = f"/v1/rounds/{rounds.ids['patti, shown']}/resettlements"
    assert_problem(await house.send(hand, {**body, "basis": TRUE}), 409, "CannotBeCorrected")
    for wrong in ({"type": "Edited"}, {**TRUE, "cards": ["1x"]}, {**TRUE, "cards": []}, VOID | {"all": True}, None):
        assert (await house.send(path, {**body, "basis": wrong})).status_code == 400


async def test_the_round_stays_as_it_was_settled_and_beside_it_stands_what_came_to_it(rounds: Resettled) -> None:
    house = rounds.house
    found = await house.get("/v1/rounds/live.1")
    [ann] = found["bettors"]
    assert (found["round"]["staked"], found["round"]["returned"], ann["returned"]) == (200, 195, 195)
    again = [(each["number"], each["player"], each["gain"]) for each in found["resettled"]]
    assert again == [(1, "ann", 0), (2, "ann", 5)]
    assert [each["outcome"] for each in found["resettled"][1]["payouts"]] == ["refunded", "refunded"]
    history = await house.get("/v1/players/ann/bets", rounds.tokens["ann"])
    assert {each["round"] for each in history["resettled"]} == {"live.1", rounds.ids["patti, shown"], rounds.match}
    assert (await house.get("/v1/rounds", table="live"))["resettled"] == ["live.1"]
    assert (await house.get("/v1/rounds", table="p"))["resettled"] == [rounds.ids["patti, shown"]]
    own = await house.get("/v1/rounds/live.1", rounds.tokens["bob"])
    assert own["resettled"] == []


async def test_who_wanted_it_and_who_approved_it_is_told(rounds: Resettled) -> None:
    first, second = (await rounds.house.get("/v1/rounds/live.1/resettlements"))["resettlements"]
    assert (first["number"], first["basis"]["type"], second["basis"]["type"]) == (1, "Corrected", "Void")
    assert first["proposed_by"] != first["approved_by"]
    assert (second["players"], second["gained"], second["owed"]) == (1, 5, 0)
    found = (await rounds.house.get("/v1/significant?limit=1000", rounds.house.bearer(Role.AUDITOR)))["found"]
    told = [each for each in found if each["kind"] == "resettled"]
    assert [each["round"] for each in told][:2] == ["live.1", "live.1"]
    assert (told[0]["actor"], told[0]["authoriser"]) == (first["proposed_by"], first["approved_by"])
    assert told[0]["reason"] == "the scanner misread a card"


async def test_a_pot_and_a_prize_go_back_with_their_rake(rounds: Resettled) -> None:
    house = rounds.house
    for round_id in (rounds.ids["patti, shown"], rounds.match):
        found = await house.get(f"/v1/rounds/{round_id}")
        gains = {each["player"]: each["gain"] for each in found["resettled"]}
        assert gains == {each["player"]: each["staked"] - each["returned"] for each in found["bettors"]}
        assert sum(gains.values()) == found["round"]["staked"] - found["round"]["returned"]


async def test_what_is_owed_is_shown_taken_from_what_comes_and_written_off_by_two(rounds: Resettled) -> None:
    house = rounds.house
    owing = {name: (await house.get(f"/v1/players/{name}"))["owed"] for name in PLAYERS}
    name, owed = max(owing.items(), key=lambda each: each[1])
    assert owed > 100
    path = f"/v1/players/{name}"
    came = await house.done(f"{path}/deposits", {"amount": 60, "currency": "EUR"})
    assert (came["balance"]["cash"], came["balance"]["owed"]) == (0, owed - 60)
    assert [each["event"]["type"] for each in came["events"]] == ["wallet.Deposited", "wallet.OwedTaken"]
    body = {"amount": owed - 60, "currency": "EUR", "reason": "not to be had"}
    assert_problem(await house.send(f"{path}/write-offs", {**body, "amount": owed}), 409, "MoreThanOwed")
    assert_problem(await house.send(f"{path}/write-offs", body, house.bearer(Role.AUDITOR)), 403, "Forbidden")
    for wrong in (0, -1, 2**53, 1.5, "7", None):
        assert (await house.send(f"{path}/write-offs", {**body, "amount": wrong})).status_code == 400
    await house.by_two(f"{path}/write-offs", body)
    assert (await house.get(path))["owed"] == 0
    await house.project()
    assert (await house.get(f"{path}/balance"))["owed"] == 0
    moved = (await house.get(f"{path}/statement"))["movements"]
    assert [each["kind"] for each in moved][:2] == ["owed_taken", "deposit"]
    assert "resettlement" in {each["kind"] for each in moved}
    rows = (await house.get("/v1/reports/owed", house.bearer(Role.AUDITOR)))["body"]["rows"]
    told = {row["player"]: row for row in rows}
    of_player = told[name]
    assert (of_player["written_off"], of_player["owed"], of_player["since"]) == (owed - 60, 0, None)
    assert of_player["arose"] == of_player["collected"] + of_player["written_off"]
    assert {each: row["owed"] for each, row in told.items() if row["owed"]} == {
        each: amount for each, amount in owing.items() if amount and each != name
    }


@pytest.mark.parametrize("what", ["live.1", "patti, shown", "match"])
async def test_a_replay_proves_it_and_tells_it_in_words(rounds: Resettled, what: str) -> None:
    round_id = rounds.match if what == "match" else rounds.ids.get(what, what)
    told = await rounds.replayed(round_id)
    assert told.holds, told.proofs
    proved = {each.what: each.tried for each in told.proofs}
    assert proved["every resettlement gives what its basis says"] == 1
    assert any(line.startswith("Settled once more, number 1 (the scanner misread a card)") for line in told.explained)
    assert any("now: " in line for line in told.explained)
    kinds = [each.type for each in told.steps]
    assert {"resettlement.Opened", "resettlement.Completed", "wallet.Resettled", "proposal.Approved"} <= set(kinds)
    text = written(told)
    assert "Resettled" in text
    seen = await rounds.replayed(round_id, Role.PLAYER, "ann")
    assert {each.stream for each in seen.steps if "ettle" in each.type and "table" not in each.stream} == {"wallet:ann"}
    assert not any("misread" in line for line in seen.explained)
    onlooker = await rounds.replayed(round_id, Role.PLAYER, "nobody")
    assert not [each for each in onlooker.steps if each.stream.startswith(("wallet:", "proposal:", "resettlement:"))]


@pytest.mark.parametrize("what", ["live.1", "patti, shown"])
@pytest.mark.parametrize("form", ["operator", "auditor", "player"])
async def test_a_dossier_has_it_and_is_verified(rounds: Resettled, what: str, form: Any) -> None:
    round_id = rounds.ids.get(what, what)
    raw = write(await rounds.dossier(round_id, form, "ann"))
    assert failing(raw) is None
    assert standalone_failure(raw) is None
    told = [check.what for check in verify(raw, KEYS)]
    if form != "player":
        assert any("being settled once more none is missing" in line for line in told)
        assert any(line.startswith("Settled once more, number 1") for line in told)
    else:
        assert b"misread" not in raw


async def test_a_compensation_that_is_left_out_or_another_is_found(rounds: Resettled) -> None:
    """Of what the log has for all time nothing can be changed; a file that is made anew can lack something."""
    made = await rounds.dossier("live.1", "operator")
    entries = [each for each in made.events if each.entry is not None]
    for kind in ("wallet.Resettled", "resettlement.Advanced", "resettlement.Opened"):
        left = tuple(each for each in made.events if not (each.entry and each.entry.type == kind))
        assert len(left) < len(entries)
        assert failing(write(msgspec.structs.replace(made, events=left))) is not None, kind


async def test_decided_again_it_comes_out_the_same(rounds: Resettled) -> None:
    services = rounds.house.services
    found = [each async for each in divergence.rounds_again(services.pool, "lotus", services.vault)]
    assert [each.round for each in found if each.differences] == []
    assert {"live.1", rounds.ids["patti, shown"], rounds.match} <= {each.round for each in found}
    began = await services.pool.fetchval("select max(at) from events where type like '%.MatchOpened'")
    late = [each.round async for each in divergence.rounds_again(services.pool, "lotus", services.vault, began)]
    assert {"live.1", rounds.ids["patti, shown"], rounds.match} <= set(late), "rounds of before, settled again since"
    assert len(late) == len(set(late))
    said: list[str] = []
    done = await reconcile(services.pool, "lotus", said.append)
    assert said == []
    assert done.compared["resettled"] == 2 + 3 + 3


async def test_the_reports_tell_what_the_log_says(rounds: Resettled) -> None:
    house, pool = rounds.house, rounds.house.services.pool

    async def rows(name: str, **query: Any) -> list[dict[str, Any]]:
        return (await house.get(f"/v1/reports/{name}", house.bearer(Role.AUDITOR), **query))["body"]["rows"]

    log = plain.read(await pool.fetch("select * from events where operator = 'lotus' order by position"))
    told = await rows("resettlements")
    by_round: dict[tuple[str, int], int] = {}
    for each in plain.resettled(log):
        about = (each["row"]["data"]["round"], each["row"]["data"]["number"])
        by_round[about] = by_round.get(about, 0) + each["gained"]
    assert {(row["round"], row["number"]): row["gained"] for row in told} == by_round
    assert [(each["basis"], each["gained"]) for each in told[:2]] == [("corrected", 0), ("void", 5)]
    assert all(each["completed_at"] for each in told)
    [unfinished] = await rows("resettlements", position=told[0]["position"])
    assert (unfinished["completed_at"], unfinished["players"]) == (None, 0)
    owing = await rows("owed")
    assert {row["player"]: (row["arose"], row["collected"], row["written_off"]) for row in owing} == plain.owed(log)
    assert all(row["owed"] == row["arose"] - row["collected"] - row["written_off"] for row in owing)
    assert all((row["since"] is not None) == (row["owed"] > 0) for row in owing)
    assert sum(row["owed"] for row in owing) == (await rows("liability"))[0]["owed"]


async def test_what_is_disputed_of_it_is_no_part_of_it(rounds: Resettled) -> None:
    house = rounds.house
    told = {"player": "ann", "round": "live.1", "words": "I had a pair of kings"}
    dispute = (await house.done("/v1/disputes", told))["dispute"]["id"]
    ruling = {"ruling": "rejected", "code": "by_the_rules", "reason": "you had not", "evidence": 0}
    await house.by_two(f"/v1/disputes/{dispute}/ruling", ruling, *map(house.bearer, (Role.SUPERVISOR, Role.OPERATOR)))
    raw = write(await rounds.dossier("live.1", "operator"))
    assert failing(raw) is None
    assert (b"misread" in raw, b"kings" in raw, b"you had not" in raw) == (True, False, False)

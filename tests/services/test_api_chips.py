"""Rounds played with chips, as they are read over HTTP: results, histories, statements, replay and the audit log."""

import itertools
import json
import re

import msgspec
import pytest

from domain.cards import Card
from domain.game import Role
from domain.games import GAMES, gin_rummy
from services.api.openapi import document
from services.api.players import HistoryPage, StatementPage
from services.api.rounds import RoundPage, RoundResult
from services.api.samples import SAMPLES, sample_of
from tests.services.conftest import Casino
from tests.services.patti import Patti


@pytest.fixture
def casino(house_of_module: Casino) -> Casino:
    return house_of_module


async def seated(casino: Casino, table: str, *players: str) -> tuple[Patti, dict[str, str]]:
    """The table, and its players' tokens by name."""
    tokens = {name: await casino.player(name, 20_000) for name in players}
    patti = Patti(casino.worker, casino.services.pool, "lotus", table)
    return await patti.open(*players), tokens


async def test_a_round_shows_all_its_players_to_staff_and_to_a_player_the_own_row(casino):
    patti, tokens = await seated(casino, "c1", "ann", "bob", "cid")
    round_id = await patti.shown()
    await casino.project()
    found = await casino.get(f"/v1/rounds/{round_id}", after=await casino.position())
    assert (found["round"]["staked"], found["round"]["returned"], found["round"]["result"]["rake"]) == (
        1_700,
        1_615,
        85,
    )
    assert {each["player"] for each in found["bettors"]} == {"ann", "bob", "cid"}
    assert sum(each["staked"] for each in found["bettors"]) == 1_700
    own = await casino.get(f"/v1/rounds/{round_id}", tokens["bob"])
    assert [each["player"] for each in own["bettors"]] == ["bob"]
    assert own["bettors"][0]["wagers"][0]["bet"] == round_id
    assert own["round"] == found["round"]
    page = await casino.get(f"/v1/rounds?table={patti.stream.partition(':')[2]}", casino.bearer(Role.SUPERVISOR))
    assert [each["game"] for each in page["rounds"]] == ["three_patti"]


async def test_a_players_history_and_statement_go_over_both_games(casino):
    patti, tokens = await seated(casino, "c2", "dan", "eve", "fay")
    hand = await patti.cancelled()
    betting = await casino.table("c2-bets")
    await casino.bet(tokens["dan"], betting, "one", player_a=500)
    await casino.project()
    history = await casino.get("/v1/players/dan/bets", tokens["dan"])
    told = [
        (each["round"], each["status"], each["wagers"][0]["outcome"], each["wagers"][0]["odds"])
        for each in history["rounds"]
    ]
    assert told == [(betting, "open", "open", "0.95:1"), (hand, "refunded", "refunded", None)]
    movements = (await casino.get("/v1/players/dan/statement", tokens["dan"]))["movements"]
    assert [(each["kind"], each["reference"]) for each in movements[:2]] == [("bet", "one"), ("buy_in", "c2")]
    assert (await casino.ask("GET", "/v1/players/dan/bets", tokens["eve"])).status_code == 404


async def test_a_hand_that_is_on_shows_no_card_to_anybody_who_reads_the_records(casino):
    patti, tokens = await seated(casino, "c3", "gus", "hal", "ida")
    round_id, *_ = await patti.all_see()
    await casino.project()
    auditor = casino.bearer(Role.AUDITOR)
    read = [
        await casino.get(f"/v1/rounds/{round_id}", auditor),
        await casino.get(f"/v1/rounds/{round_id}/replay", auditor),
        await casino.get("/v1/audit", auditor, subject=patti.stream),
        await casino.get("/v1/players/gus/bets", tokens["gus"]),
    ]
    assert not re.findall(r'"[2-9TJQKA][shdc]"', json.dumps(read))
    replayed = read[1]
    assert (replayed["totals"]["staked"], replayed["totals"]["open"]) == (900, 3)
    assert all(proof["holds"] for proof in replayed["proofs"])
    await patti.void("CancelRound", reason="so that the table is left at rest")


# --- The document's examples --------------------------------------------------------------------------------------


async def test_the_document_tells_each_answer_by_its_sample(casino):
    told = json.dumps(document(casino.app)["paths"])
    for kind in SAMPLES:
        assert json.dumps(sample_of(kind)) in told, kind


def test_a_sampled_round_is_the_sum_of_its_bettors():
    found = SAMPLES[RoundResult]
    assert (found.round.bettors, found.round.staked) == (len(found.bettors), sum(each.staked for each in found.bettors))
    assert found.round.returned == sum(each.returned for each in found.bettors)
    result = msgspec.json.decode(found.round.result)
    assert result["pot"] == result["rake"] + found.round.returned
    assert [(each["player"], each["paid"], each["won"]) for each in result["results"]] == [
        (each.player, each.staked, each.returned) for each in found.bettors
    ]


def test_a_sampled_page_has_every_game_and_a_match_whose_points_and_money_add_up():
    page = SAMPLES[RoundPage].rounds
    assert {each.game for each in page} == GAMES.keys()
    assert [each.first for each in page] == sorted((each.first for each in page), reverse=True)
    hand, match = page[:2]
    scored, won = msgspec.json.decode(hand.result), msgspec.json.decode(match.result)
    assert scored["match"] == won["match"] == match.round
    left = gin_rummy.melds.deadwood(tuple(map(Card, scored["results"][1]["cards"])))
    assert (gin_rummy.melds.deadwood(tuple(map(Card, scored["results"][0]["cards"]))), left) == (0, 113 - 25)
    assert (match.staked, match.returned) == (won["prize"], won["prize"] - won["rake"])
    assert [sum(each[what] for each in won["results"]) for what in ("paid", "won")] == [match.staked, match.returned]


def test_a_sampled_history_and_statement_add_up():
    for each in SAMPLES[HistoryPage].rounds:
        assert each.staked == sum(wager.staked for wager in each.wagers)
        assert each.returned == sum(wager.returned for wager in each.wagers)
    movements = SAMPLES[StatementPage].movements
    assert all(each.before + each.amount == each.after for each in movements)
    assert all(newer.before == older.after for newer, older in itertools.pairwise(movements))

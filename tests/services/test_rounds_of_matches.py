"""What becomes of matches of several rounds: rows of match and hands, statement, replay and reconcile, by Gin Rummy."""

import re
from collections.abc import AsyncGenerator

import msgspec
import pytest

from domain.game import Role, Viewer
from domain.money import Payout
from infra import postgres
from services import projector, rebuild
from services.projections import PROJECTIONS, audit, rounds, statement
from services.projections.statement import Kind
from services.refold import refold
from tests.services.gin import ENTRY, PRIZE, RAKE, Gin
from tests.services.patti import Patti
from tests.services.told import (
    TABLES,
    bettors,
    differences,
    events_of,
    everything,
    forge,
    replayed,
    round_row,
    told,
)
from tests.services.town import OPERATOR, Town, town

CASH = 20_000
PLAYERS = ("ann", "bob", "cid")
CARD = re.compile(r'"([2-9TJQKA][shdc])"')
CHIPS_MOVE = "chips are only moved, but for those brought, taken away and raked"
EXPLAINED = "the round and its payouts can be explained from the events"
FOLDS = "the table's state is what its round's own events fold to"


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        for name in PLAYERS:
            await made.player(name, CASH)
        yield made


@pytest.fixture
async def gin(acme: Town) -> Gin:
    return await Gin(acme.executor, acme.vault, acme.pool, OPERATOR).open(*PLAYERS)


async def again(gin: Gin) -> None:
    """The same three sit down for another match."""
    for player in PLAYERS:
        await gin.does(player, "SitDown", amount=ENTRY)


# --- Rows ---------------------------------------------------------------------------------------------------------


async def test_a_match_that_is_on_has_the_entries_and_its_hand_no_money(acme, gin):
    hand = await gin.still_on()
    match, row = await round_row(acme, "g.m1"), await round_row(acme, hand)
    assert (match.table, match.game, match.number, match.status) == ("g", "gin_rummy", 1, "open")
    assert (match.bettors, match.staked, match.returned, match.result, match.ended_at) == (3, PRIZE, 0, None, None)
    assert (hand, row.number, row.status, row.bettors, row.staked, row.returned) == ("g.1", 1, "open", 0, 0, 0)
    assert match.first == row.first - 1, "the match is opened by the event before its first hand"
    found = await bettors(acme, "g.m1")
    assert found.keys() == set(PLAYERS)
    for each in found.values():
        assert each.wagers == (Payout("g.m1", "entry", ENTRY, "", 0),)
        assert (each.status, each.staked, each.returned, each.ended_at) == ("open", ENTRY, 0, None)
    assert await bettors(acme, hand) == {}
    assert await differences(acme) == []


async def test_a_match_that_is_won_has_the_prize_and_each_hand_who_scored_what_and_the_hands_that_were_shown(acme, gin):
    hands = await gin.match()
    assert len(hands) > 1
    match = await round_row(acme, "g.m1")
    settled = (await events_of(acme, hands[-1]))[-1]
    [winner] = [each.player for each in settled.results if each.won]
    assert (match.status, match.bettors, match.staked, match.returned) == ("settled", 3, PRIZE, PRIZE - RAKE)
    result = told(match)
    assert (result["why"], result["prize"], result["rake"]) == ("target", PRIZE, RAKE)
    assert "openings" not in result
    for player, bettor in (await bettors(acme, "g.m1")).items():
        won = PRIZE - RAKE if player == winner else 0
        wager = Payout("g.m1", "entry", ENTRY, "won" if won else "lost", won)
        assert (bettor.status, bettor.wagers, bettor.staked, bettor.returned) == ("settled", (wager,), ENTRY, won)
        assert (bettor.placed_at, bettor.ended_at) == (match.opened_at, match.ended_at)
    totals = dict.fromkeys(PLAYERS, 0)
    for number, hand in enumerate(hands, 1):
        row = await round_row(acme, hand)
        assert (row.number, row.status, row.bettors, row.staked, row.returned) == (number, "settled", 0, 0, 0)
        result = told(row)
        assert (result["match"], "openings" in result) == ("g.m1", False)
        points = {each["player"]: each.get("points", 0) for each in result["results"]}
        assert [player for player, scored in points.items() if scored] == [result["winner"]]
        totals = {player: total + points[player] for player, total in totals.items()}
        assert {each["player"]: each.get("total", 0) for each in result["results"]} == totals
        assert sorted(len(each.get("cards", ())) for each in result["results"]) == [0, 10, 10]
    assert max(totals, key=lambda player: totals[player]) == winner


async def test_matches_are_counted_apart_from_hands_and_a_page_has_both_the_newest_first(acme, gin):
    first = await gin.forfeited_between_hands()
    await again(gin)
    await gin.still_on()
    await gin.void("CancelMatch", reason="the lights went out")
    await acme.project()
    page = await rounds.page(acme.pool, OPERATOR, "g")
    assert [(each.round, each.number) for each in page] == [("g.2", 2), ("g.m2", 2), (first[0], 1), ("g.m1", 1)]
    older = await rounds.page(acme.pool, OPERATOR, "g", before=page[0].first, limit=2)
    assert older == page[1:3]


async def test_a_match_won_between_two_hands_is_closed_though_no_round_was_on(acme, gin):
    [hand] = await gin.forfeited_between_hands()
    match = await round_row(acme, "g.m1")
    assert (match.status, match.returned, told(match)["why"]) == ("settled", PRIZE - RAKE, "forfeits")
    assert not any(type(event).__name__ == "MatchSettled" for event in await events_of(acme, hand))
    assert sorted(each.returned for each in (await bettors(acme, "g.m1")).values()) == [0, 0, PRIZE - RAKE]
    assert await differences(acme) == []
    assert (await replayed(acme, hand)).holds


async def test_a_cancelled_hand_says_why_and_the_match_goes_on(acme, gin):
    hand = await gin.cancelled()
    row = await round_row(acme, hand)
    assert (row.status, told(row), row.staked, row.returned) == (
        "refunded",
        {"reason": "a card fell off the table"},
        0,
        0,
    )
    following = await gin.played()
    assert (await round_row(acme, "g.m1")).status == "open"
    assert [(await round_row(acme, each)).number for each in (hand, following)] == [1, 2]
    assert await differences(acme) == []


async def test_a_drawn_hand_shows_no_card(acme, gin):
    row = await round_row(acme, await gin.drawn())
    result = told(row)
    assert (row.status, result["why"], result["winner"]) == ("settled", "stock", None)
    assert not CARD.findall(msgspec.json.encode(result).decode())
    replay = await replayed(acme, row.round)
    assert replay.holds
    assert any("cards are those of the committed deck" in check.what for check in replay.checks)


@pytest.mark.parametrize("in_hand", [True, False])
async def test_a_cancelled_match_gives_every_entry_back_and_voids_the_hand_that_is_on(acme, gin, in_hand):
    played = await gin.played()
    on = await gin.still_on() if in_hand else None
    await gin.void("CancelMatch", reason="the lights went out")
    match = await round_row(acme, "g.m1")
    assert (match.status, match.staked, match.returned) == ("refunded", PRIZE, PRIZE)
    assert told(match)["reason"] == "the lights went out"
    assert {each.wagers for each in (await bettors(acme, "g.m1")).values()} == {
        (Payout("g.m1", "entry", ENTRY, "refunded", ENTRY),)
    }
    assert (await round_row(acme, played)).status == "settled", "the log keeps all hands"
    if on is not None:
        assert ((await round_row(acme, on)).status, (await replayed(acme, on)).holds) == ("refunded", True)
    assert await differences(acme) == []


async def test_a_players_history_has_the_match_once_with_entry_and_winnings_beside_hands_of_another_game(acme, gin):
    patti = await Patti(acme.executor, acme.pool, OPERATOR).open(*PLAYERS)
    await gin.match()
    other = await patti.folded()
    await acme.project()
    history = await rounds.history(acme.pool, OPERATOR, "ann")
    assert [each.round for each in history] == [other, "g.m1"]
    assert history[1] == (await bettors(acme, "g.m1"))["ann"]
    assert await differences(acme) == []


async def test_the_statement_has_the_entry_and_the_prize_with_their_table(acme, gin):
    await gin.match()
    await acme.project()
    paid = {each.player: each.returned for each in (await bettors(acme, "g.m1")).values()}
    for player, won in paid.items():
        deposit, *moved = await statement.page(acme.pool, OPERATOR, player, after=0)
        expected = [(Kind.BUY_IN, "g", -ENTRY)] + ([(Kind.CASH_OUT, "g", won)] if won else [])
        assert [(each.kind, each.reference, each.amount) for each in moved] == expected
        assert moved[-1].after == deposit.after - ENTRY + won


async def test_whoever_leaves_before_the_match_has_no_row_and_the_entry_back(acme, database):
    gin = await Gin(acme.executor, acme.vault, acme.pool, OPERATOR).open("ann", "bob")
    await gin.does("ann", "LeaveTable")
    await acme.project()
    assert await rounds.history(acme.pool, OPERATOR, "ann") == []
    moved = await statement.page(acme.pool, OPERATOR, "ann", after=0)
    assert [each.amount for each in moved] == [CASH, -ENTRY, ENTRY]
    assert await differences(acme) == []


# --- However it is folded -----------------------------------------------------------------------------------------


async def all_kinds(gin: Gin) -> None:
    """A match won by points, one won between hands, one cancelled in a hand; and one that is on."""
    await gin.cancelled()
    await gin.match()
    await again(gin)
    await gin.forfeited_between_hands()
    await again(gin)
    await gin.still_on()
    await gin.void("CancelMatch", reason="the lights went out")
    await again(gin)
    await gin.played()
    await gin.still_on()


async def test_a_rebuild_or_one_event_at_a_time_gives_the_same_rows(acme, gin, monkeypatch):
    for player in PLAYERS:
        await acme.deposit(player, 20_000)
    await all_kinds(gin)
    await acme.project()
    at_once = await everything(acme)
    assert await differences(acme) == []
    for projection in PROJECTIONS:
        await rebuild.rebuild(acme.pool, OPERATOR, projection)
    assert await everything(acme) == at_once
    await acme.pool.execute("delete from checkpoints")
    for table in TABLES:
        await acme.pool.execute(f"delete from {table}")
    monkeypatch.setattr(projector, "BATCH", 1)
    await acme.project()
    assert await everything(acme) == at_once


async def test_a_table_folds_from_the_opening_of_its_last_hand_wherever_the_match_stands(acme, gin, database):
    async def refolded() -> tuple[object, object]:
        before = await gin.state()
        async with postgres.connected(database, name="tamper") as owner:
            older = "update streams set state_schema = 0, state = '{\"type\":\"NotOpened\"}' where stream = 'table:g'"
            await owner.execute(older)
        await refold(acme.pool, lambda _: None)
        return before, await gin.state()

    for play in (gin.deals, gin.cancelled, gin.played, gin.match):
        await play()
        before, after = await refolded()
        assert before == after, play
    await gin.does("ann", "SitDown", amount=ENTRY)
    before, after = await refolded()
    assert before == after


async def test_no_row_and_no_entry_of_the_audit_log_has_a_card_that_not_all_have_seen(acme, gin):
    shown, hidden = {await gin.played()}, {await gin.cancelled(), await gin.drawn(), await gin.still_on()}
    await acme.project()
    cards: dict[str | None, set[str]] = {}
    for table in ("rounds", "bettors"):
        for row in await acme.pool.fetch(f"select round, row_to_json(t)::text as told from {table} t"):
            cards.setdefault(row["round"], set()).update(CARD.findall(row["told"]))
    assert {round_id: len(found) for round_id, found in cards.items() if found} == dict.fromkeys(shown, 20)
    assert all(not cards[round_id] for round_id in hidden)
    state = await gin.state()
    captain, box = [set(map(str, await gin.hand(each.player))) for each in state.round.players]
    told_of_hand = {
        card
        for each in await audit.page(acme.pool, OPERATOR, limit=1_000)
        if each.entry.round == state.round.id
        for card in CARD.findall(msgspec.json.encode(each.told).decode())
    }
    assert told_of_hand == {str(state.round.upcard)}
    assert (len(captain), len(box), str(state.round.upcard) in captain) == (11, 10, True)


# --- Replay -------------------------------------------------------------------------------------------------------


async def test_every_hand_of_a_match_is_replayed_from_its_own_events_and_proves_itself(acme, gin):
    hands = await gin.match()
    for hand in hands:
        replay = await replayed(acme, hand)
        assert (replay.holds, replay.ended) == (True, True), hand
        assert (replay.totals.bettors, replay.totals.staked, replay.totals.returned, replay.totals.open) == (0, 0, 0, 0)
        kinds = [step.type.partition(".")[2] for step in replay.steps]
        assert (kinds[0] == "MatchOpened", kinds[-1] == "MatchSettled") == (hand == hands[0], hand == hands[-1])
        assert all(step.view.match for step in replay.steps[:-1]), "what the table was before is seen from its log"
        known = 2 if kinds[0] == "MatchOpened" else 1
        tried = {proof.what: proof.tried for proof in replay.proofs}
        assert tried == {CHIPS_MOVE: len(kinds) - known, EXPLAINED: 1} | ({FOLDS: 1} if hand == hands[-1] else {})
        assert sum("; returned: " in each for each in replay.explained) == (3 if hand == hands[-1] else 0)
        assert ("what was won and the rake are all that was paid in" in [check.what for check in replay.checks]) == (
            hand == hands[-1]
        )


async def test_a_hand_that_is_broken_off_because_one_alone_is_left_proves_itself_and_shows_no_card(acme, gin):
    hand = await gin.still_on()
    _, box, out = await gin.roles()
    await gin.does(out, "LeaveTable")
    await gin.does(box, "LeaveTable")
    replay = await replayed(acme, hand)
    assert (replay.holds, replay.ended, {FOLDS} <= {proof.what for proof in replay.proofs}) == (True, True, True)
    row, match = await round_row(acme, hand), await round_row(acme, "g.m1")
    assert (told(row)["why"], told(match)["why"]) == ("forfeit", "forfeits")
    assert not CARD.findall(msgspec.json.encode(told(row)).decode())
    assert (match.status, match.staked, match.returned) == ("settled", PRIZE, PRIZE - RAKE)


async def test_a_table_for_two_has_its_matches_too(acme):
    gin = await Gin(acme.executor, acme.vault, acme.pool, OPERATOR).open("ann", "bob", players=2)
    hands = await gin.match()
    match = await round_row(acme, "g.m1")
    assert (match.bettors, match.staked, match.returned) == (2, 2 * ENTRY, 2 * ENTRY - 500)
    assert all([(await replayed(acme, hand)).holds for hand in hands])
    assert await differences(acme) == []


async def test_a_hand_that_is_on_goes_as_far_as_it_went_and_shows_each_what_the_table_showed_him(acme, gin):
    hand = await gin.still_on()
    captain, box, out = await gin.roles()
    replay = await replayed(acme, hand)
    assert (replay.holds, replay.ended) == (True, False)
    assert FOLDS in {proof.what for proof in replay.proofs}
    for player, seen in ((captain, {captain}), (box, {box}), (out, set[str]())):
        last = (await replayed(acme, hand, Viewer(player, Role.PLAYER))).steps[-1]
        assert {seat.player for seat in last.view.seats if seat.cards} == seen


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("MatchSettled", f'"rake":{RAKE}', '"rake":740'),
        ("MatchSettled", f'"won":{PRIZE - RAKE}', '"won":14260'),
        ("RoundOpened", f'"paid":{ENTRY}', '"paid":5010'),
        ("RoundSettled", '"points":', '"points":1'),
        ("CardDrawn", '"place":20', '"place":21'),
    ],
)
async def test_an_altered_event_is_found_out(acme, gin, database, kind, old, new):
    hands = await gin.match()
    await forge(database, f"gin_rummy.{kind}", old, new)
    found = await replayed(acme, hands[-1])
    assert not found.holds

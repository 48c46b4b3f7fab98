"""What becomes of rounds whose bets are chips at the table: their rows, statement, replay and reconcile, by 3 Patti."""

import re
from collections.abc import AsyncGenerator

import msgspec
import pytest

from domain.money import Payout
from infra import postgres
from services import epochs, projector, rebuild
from services.projections import PROJECTIONS, audit, rounds, statement
from services.projections.statement import Kind
from tests.services.patti import BUY_IN, Patti
from tests.services.told import TABLES, bettors, differences, events_of, everything, forge, replayed, round_row, told
from tests.services.town import OPERATOR, Town, town

CASH = 20_000
PLAYERS = ("ann", "bob", "cid", "dee")
CARD = re.compile(r'"([2-9TJQKA][shdc])"')
CHIPS_MOVE = "chips are only moved, but for those brought, taken away and raked"
BOOKS = "the closed books say what the bettors' events add up to"
REFUNDS = "every refund is the whole open stake of a cancelled round"


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        for name in PLAYERS:
            await made.player(name, CASH)
        yield made


@pytest.fixture
async def patti(acme: Town) -> Patti:
    return await Patti(acme.executor, acme.pool, OPERATOR).open("ann", "bob", "cid")


# --- Rows ---------------------------------------------------------------------------------------------------------


async def test_a_hand_that_was_shown_has_its_pot_what_was_won_and_the_hands_that_all_have_seen(acme, patti):
    round_id = await patti.shown()
    settled = (await events_of(acme, round_id))[-1]
    row = await round_row(acme, round_id)
    assert (row.status, row.table, row.game, row.number) == ("settled", "p", "three_patti", 1)
    assert (row.bettors, row.staked, row.returned) == (3, 1_700, 1_615)
    assert (row.closed_at, row.opened_at < (row.ended_at or 0)) == (None, True)
    result = told(row)
    assert (result["why"], result["pot"], result["rake"]) == ("show", 1_700, 85)
    assert sorted(len(each.get("cards", ())) for each in result["results"]) == [0, 3, 3]
    found = await bettors(acme, round_id)
    for each in settled.results:
        odds = "won" if each.won else "lost"
        wager = Payout(round_id, f"seat {each.seat}", each.paid, odds, each.won)
        bettor = found[each.player]
        assert (bettor.status, bettor.wagers, bettor.ended_at) == ("settled", (wager,), row.ended_at)
        assert (bettor.staked, bettor.returned, bettor.placed_at) == (each.paid, each.won, row.opened_at)
    assert sorted(each.staked for each in found.values()) == [300, 700, 700]


async def test_a_hand_that_was_folded_to_one_shows_no_card(acme, patti):
    round_id = await patti.folded()
    row = await round_row(acme, round_id)
    assert (row.status, row.staked, row.returned, told(row)["why"]) == ("settled", 400, 400, "folds")
    assert not any("cards" in each for each in told(row)["results"])
    found = (await bettors(acme, round_id)).values()
    assert sorted((each.staked, each.returned) for each in found) == [(100, 0), (100, 0), (200, 400)]


async def test_a_sideshow_is_paid_into_the_pot_and_shows_nothing_of_who_folded(acme, patti):
    round_id = await patti.sideshow()
    resolved = next(event for event in await events_of(acme, round_id) if type(event).__name__ == "SideShowResolved")
    row = await round_row(acme, round_id)
    assert (row.staked, row.returned) == (1_500, 1_425)
    shown = {each["seat"]: "cards" in each for each in told(row)["results"]}
    assert shown == {seat: seat != resolved.folded for seat in (1, 2, 3)}
    paid = {each.wagers[0].spot: each.staked for each in (await bettors(acme, round_id)).values()}
    assert sum(paid.values()) == 1_500
    assert paid[f"seat {resolved.seat}"] >= 500, "boot, first bet, and the sideshow"
    assert (await replayed(acme, round_id)).holds


async def test_a_hand_that_is_on_has_what_is_in_the_pot_by_now(acme, patti):
    round_id = await patti.still_on()
    row = await round_row(acme, round_id)
    assert (row.status, row.bettors, row.staked, row.returned) == ("open", 3, 400, 0)
    assert (row.ended_at, row.result) == (None, None)
    better = await patti.turn()
    found = await bettors(acme, round_id)
    assert found[better].wagers == (Payout(round_id, found[better].wagers[0].spot, 100, "", 0),)
    assert sorted((each.staked, each.status, each.ended_at) for each in found.values()) == [
        (100, "open", None),
        (100, "open", None),
        (200, "open", None),
    ]
    await patti.does(better, "Bet", amount=200)
    row, now = await round_row(acme, round_id), (await bettors(acme, round_id))[better]
    assert (row.staked, now.staked, now.first) == (600, 300, found[better].first)
    assert now.last == row.last > found[better].last


async def test_a_cancelled_hand_says_why_and_gives_every_contribution_back(acme, patti):
    round_id = await patti.cancelled()
    row = await round_row(acme, round_id)
    assert (row.status, row.bettors, row.staked, row.returned) == ("refunded", 3, 400, 400)
    assert told(row) == {"reason": "a card fell off the table"}
    for each in (await bettors(acme, round_id)).values():
        [wager] = each.wagers
        assert (each.status, each.returned, wager.odds, wager.returned) == (
            "refunded",
            each.staked,
            "refunded",
            each.staked,
        )


async def test_a_hand_that_a_restored_log_cuts_off_is_refunded(acme, patti):
    round_id = await patti.still_on()
    await epochs.renew(acme.executor, acme.pool, OPERATOR, "restored")
    row = await round_row(acme, round_id)
    assert (row.status, row.returned) == ("refunded", 400)
    assert await differences(acme) == []
    assert (await replayed(acme, round_id)).holds


async def test_a_players_history_holds_both_games(acme, patti):
    hand = await patti.shown()
    await acme.open_table()
    betting = await acme.round_is_on()
    await acme.bet("ann", betting, tie=500)
    await acme.finish_round(betting, ["ann"])
    following = await patti.folded()
    await acme.project()
    history = await rounds.history(acme.pool, OPERATOR, "ann")
    assert [each.round for each in history] == [following, betting, hand]
    assert [each.wagers[0].spot for each in history] == ["seat 1", "tie", "seat 1"]
    older = await rounds.history(acme.pool, OPERATOR, "ann", before=history[0].first, limit=1)
    assert [each.round for each in older] == [betting]
    assert {each.game for each in await rounds.page(acme.pool, OPERATOR)} == {"teen_patti_2020", "three_patti"}
    assert await differences(acme) == []


async def test_the_statement_has_buy_ins_and_cash_outs_with_their_table_and_nothing_of_the_bets(acme, patti):
    round_id = await patti.shown()
    await patti.does("ann", "TopUp", amount=1_000)
    await patti.does("ann", "LeaveTable")
    await acme.project()
    deposit, *moved = await statement.page(acme.pool, OPERATOR, "ann", after=0)
    ann = (await bettors(acme, round_id))["ann"]
    took = BUY_IN + 1_000 - ann.staked + ann.returned
    assert [(each.kind, each.reference, each.amount, each.round) for each in moved] == [
        (Kind.BUY_IN, "p", -BUY_IN, None),
        (Kind.BUY_IN, "p", -1_000, None),
        (Kind.CASH_OUT, "p", took, None),
    ]
    assert moved[-1].after == deposit.after - ann.staked + ann.returned


async def test_whoever_comes_tops_up_or_leaves_in_mid_hand_is_no_bettor_and_nothing_differs(acme, patti):
    round_id = await patti.still_on()
    leaver = await patti.turn()
    await patti.does("dee", "SitDown", amount=2_000)
    await patti.does("dee", "TopUp", amount=500)
    await patti.does(leaver, "LeaveTable")
    await patti.does("dee", "LeaveTable")
    await patti.does(await patti.turn(), "Fold")
    found = await bettors(acme, round_id)
    assert (len(found), "dee" in found, found[leaver].staked) == (3, False, 100)
    hand = await replayed(acme, round_id)
    assert hand.holds
    assert {"SeatTaken", "ToppedUp", "SeatLeft"} <= {step.type.partition(".")[2] for step in hand.steps}
    assert await differences(acme) == []


# --- However it is folded -----------------------------------------------------------------------------------------


async def test_a_rebuild_or_one_event_at_a_time_gives_the_same_rows(acme, patti, monkeypatch):
    for play in (patti.shown, patti.folded, patti.sideshow, patti.cancelled, patti.still_on):
        await play()
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


async def test_no_row_and_no_entry_of_the_audit_log_has_a_card_that_not_all_have_seen(acme, patti):
    shown = {await patti.shown(), await patti.sideshow()}
    hidden = {await patti.folded(), await patti.cancelled(), await patti.still_on()}
    await acme.project()
    cards: dict[str | None, set[str]] = {}
    for table in ("rounds", "bettors"):
        for row in await acme.pool.fetch(f"select round, row_to_json(t)::text as told from {table} t"):
            cards.setdefault(row["round"], set()).update(CARD.findall(row["told"]))
    for each in await audit.page(acme.pool, OPERATOR):
        cards.setdefault(each.entry.round, set()).update(CARD.findall(msgspec.json.encode(each.told).decode()))
    assert {round_id: len(found) for round_id, found in cards.items() if found} == dict.fromkeys(shown, 6)
    assert all(not cards[round_id] for round_id in hidden)


# --- Replay -------------------------------------------------------------------------------------------------------


async def test_a_replayed_hand_proves_that_chips_only_moved_and_that_its_books_are_right(acme, patti):
    found = await replayed(acme, await patti.shown())
    assert (found.holds, found.ended) == (True, True)
    assert (found.totals.bettors, found.totals.staked, found.totals.returned, found.totals.open) == (3, 1_700, 1_615, 0)
    assert {proof.what: proof.tried for proof in found.proofs} == {
        CHIPS_MOVE: len(found.steps) - 1,
        BOOKS: 1,
        "the round and its payouts can be explained from the events": 1,
        "the table's state is what its round's own events fold to": 1,
    }
    assert sum("; returned: " in sentence for sentence in found.explained) == 3


async def test_a_cancelled_hand_proves_its_refunds_and_one_that_is_on_goes_as_far_as_it_went(acme, patti):
    cancelled = await replayed(acme, await patti.cancelled())
    assert (cancelled.holds, cancelled.totals.returned, cancelled.totals.open) == (True, 400, 0)
    assert (REFUNDS, 3) in {(proof.what, proof.tried) for proof in cancelled.proofs}
    still_on = await replayed(acme, await patti.still_on())
    assert (still_on.holds, still_on.ended) == (True, False)
    assert (still_on.totals.staked, still_on.totals.returned, still_on.totals.open) == (400, 0, 3)


@pytest.mark.parametrize(
    ("kind", "old", "new", "broken"),
    [
        ("BetMade", '"amount":200', '"amount":210', BOOKS),
        ("HandsShown", '"amount":200', '"amount":210', BOOKS),
        ("RoundOpened", '"boot":100', '"boot":110', BOOKS),
        ("RoundSettled", '"paid":300', '"paid":310', BOOKS),
        ("RoundSettled", '"rake":85', '"rake":75', CHIPS_MOVE),
        ("RoundSettled", '"won":1615', '"won":1625', CHIPS_MOVE),
        ("RoundRefunded", '"won":100', '"won":110', REFUNDS),
    ],
)
async def test_an_altered_event_is_found_out(acme, patti, database, kind, old, new, broken):
    round_id = await (patti.cancelled() if kind == "RoundRefunded" else patti.shown())
    await forge(database, f"three_patti.{kind}", old, new)
    found = await replayed(acme, round_id)
    assert broken in {proof.what for proof in found.proofs if not proof.holds}


# --- Reconcile ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "old", "new", "said"),
    [
        (
            "wallet.BoughtIn",
            '"amount":5000,"before":20000,"after":15000',
            '"amount":5010,"before":20000,"after":14990',
            ["ann's wallet and table:p differ by 10 in what was brought there", "money held at table:p: "],
        ),
        (
            "three_patti.SeatTaken",
            '"amount":5000',
            '"amount":5010',
            ["ann's wallet and table:p differ by -10 in what was brought there", "money held at table:p after event"],
        ),
        (
            "three_patti.SeatLeft",
            '"amount":5',
            '"amount":15',
            ["wallet and table:p differ by", "money held at table:p after event"],
        ),
        ("three_patti.RoundSettled", '"rake":85', '"rake":75', ["money held at table:p after event"]),
        ("three_patti.RoundSettled", '"won":1615', '"won":1625', ["money held at table:p after event"]),
        ("three_patti.BetMade", '"amount":200', '"amount":210', ["money held at table:p after event"]),
        ("three_patti.RoundOpened", '"stack":5000', '"stack":5010', ["money held at table:p after event"]),
    ],
)
async def test_money_that_a_forger_makes_at_the_table_is_found(acme, patti, database, kind, old, new, said):
    await patti.shown()
    winner = next(seat.player for seat in (await patti.state()).table.seats if seat.stack > BUY_IN)
    await patti.does(winner, "LeaveTable")
    await acme.project()
    assert await differences(acme) == []
    await forge(database, kind, old, new, once=True)
    found = await differences(acme)
    for words in said:
        assert any(words in line for line in found), (words, found)


PLANTED = {
    "a pot": ("update rounds set staked = staked + 1 where round = 'p.1'", "round p.1"),
    "a result": ("update rounds set result = '{}' where round = 'p.1'", "round p.1"),
    "a hand's wager": ("update bettors set returned = returned + 1 where player = 'ann'", "bettor ann of round p.1"),
    "a player who is gone": ("delete from bettors where player = 'bob'", "bettor bob of round p.1 is missing"),
    "a player who lags": ("update bettors set last = first where player = 'cid'", "bettor cid of round p.1 stands at"),
    "a stack": (
        "update streams set state = replace(state::text, '\"stack\":', '\"stack\":1')::json where stream = 'table:p'",
        "state of table:p at version",
    ),
    "a buy-in": ("update statement set reference = 'q' where kind = 'buy_in'", "statement at"),
}


async def test_each_planted_difference_in_what_is_made_of_a_hand_is_found(acme, patti, database):
    await patti.shown()
    await acme.project()
    assert await differences(acme) == []
    async with postgres.connected(database, name="tamper") as owner:
        for planted, (change, said) in PLANTED.items():
            [table] = re.findall(r"^(?:update|delete from) (\w+)", change)
            await owner.execute(f"create table before as select * from {table}")
            assert (await owner.execute(change)).rpartition(" ")[2] != "0"
            found = await differences(acme)
            assert any(said in line for line in found), (planted, found)
            await owner.execute(f"delete from {table}")
            await owner.execute(f"insert into {table} select * from before")
            await owner.execute("drop table before")
    assert await differences(acme) == []

"""The wallet: given what happened, when something is asked, then these events or that refusal."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Rejected
from domain.game import fold
from domain.money import AMOUNT_MAX, Bet, BuyIn, CashOut, Payout, Refund, Settle, Stake, Unstake, Wager
from domain.wallet import commands, events
from domain.wallet.decide import decide
from domain.wallet.evolve import INITIAL, evolve
from domain.wallet.rules import OPEN_WAGERS_MAX, AdjustmentCode
from domain.wallet.state import Wallet
from domain.wallet.views import Account, postings, view

BET = Bet("k1", "t.1", (Wager("player_a", 300), Wager("tie", 100)))
OPENED = (events.Opened("EUR"), events.Deposited(1_000, "cash desk", 0, 1_000))
STAKED = (*OPENED, events.BetStaked(BET, 400, 1_000, 600))


def when(given: tuple[Any, ...], asked: Any) -> tuple[Any, ...]:
    return decide(fold(evolve, INITIAL, given), asked)


def refused(given: tuple[Any, ...], asked: Any) -> tuple[str, dict[str, Any]]:
    with pytest.raises(Rejected) as caught:
        when(given, asked)
    return str(caught.value.rule), caught.value.facts


def adjust(amount: int, reason: str) -> commands.Adjust:
    return commands.Adjust(amount, "EUR", AdjustmentCode.OTHER, reason, "ops", "5d41402abc4b2a76")


def test_a_player_is_opened_once_and_again_with_the_same_currency_without_effect():
    assert when((), commands.OpenWallet("EUR")) == (events.Opened("EUR"),)
    assert when(OPENED, commands.OpenWallet("EUR")) == ()
    assert refused(OPENED, commands.OpenWallet("INR")) == ("PlayerExists", {"currency": "EUR"})


@pytest.mark.parametrize("asked", [commands.Deposit(1, "EUR"), commands.Block(), Refund("ann", "t.1", "x")])
def test_nothing_can_be_done_with_a_player_who_was_never_opened(asked):
    assert refused((), asked) == ("UnknownPlayer", {})


def test_deposits_and_withdrawals_say_the_balance_before_and_after():
    assert when(OPENED, commands.Deposit(5, "EUR", "r")) == (events.Deposited(5, "r", 1_000, 1_005),)
    assert when(OPENED, commands.Withdraw(1_000, "EUR")) == (events.Withdrawn(1_000, "", 1_000, 0),)
    assert refused(OPENED, commands.Withdraw(1_001, "EUR")) == (
        "InsufficientFunds",
        {"balance": 1_000, "needed": 1_001},
    )
    assert refused(OPENED, commands.Withdraw(1, "INR")) == ("WrongCurrency", {"wallet": "EUR", "asked": "INR"})


def test_a_balance_never_passes_what_every_reader_keeps_exact():
    assert refused(OPENED, commands.Deposit(AMOUNT_MAX, "EUR")) == ("BalanceTooLarge", {"limit": AMOUNT_MAX})
    assert refused(OPENED, adjust(AMOUNT_MAX, "oops"))[0] == "BalanceTooLarge"


def test_an_adjustment_goes_up_or_down_but_never_below_zero():
    why = (AdjustmentCode.OTHER, "ops", "5d41402abc4b2a76")
    assert when(OPENED, adjust(-1_000, "typo")) == (events.Adjusted(-1_000, "typo", 1_000, 0, *why),)
    assert when(OPENED, adjust(0, "nothing")) == ()
    assert refused(OPENED, adjust(-1_001, "typo"))[0] == "InsufficientFunds"


def test_a_stake_leaves_the_cash_and_is_open_until_the_round_ends():
    assert when(OPENED, Stake("ann", "EUR", BET)) == (events.BetStaked(BET, 400, 1_000, 600),)
    wallet = fold(evolve, INITIAL, STAKED)
    assert isinstance(wallet, Wallet)
    assert (wallet.cash, wallet.open_stakes, wallet.open_in("t.1"), wallet.open_in("t.2")) == (600, 400, (BET,), ())
    assert view("ann", wallet).balance == 600


def test_a_stake_needs_cash_the_right_currency_and_an_unblocked_player():
    big = Bet("k2", "t.1", (Wager("tie", 1_001),))
    assert refused(OPENED, Stake("ann", "EUR", big)) == ("InsufficientFunds", {"balance": 1_000, "needed": 1_001})
    assert refused(OPENED, Stake("ann", "INR", BET))[0] == "WrongCurrency"
    assert refused((*OPENED, events.Blocked("self")), Stake("ann", "EUR", BET)) == ("PlayerBlocked", {})
    assert refused((*OPENED, events.Blocked("self")), BuyIn("ann", "EUR", "t", 5)) == ("PlayerBlocked", {})


def test_open_wagers_are_bounded():
    many = Bet("k", "t.1", tuple(Wager("tie", 1) for _ in range(OPEN_WAGERS_MAX)))
    full = (*OPENED, events.BetStaked(many, OPEN_WAGERS_MAX, 1_000, 1_000 - OPEN_WAGERS_MAX))
    one_more = Stake("ann", "EUR", Bet("k2", "t.2", (Wager("tie", 1),)))
    assert refused(full, one_more) == ("TooManyOpenBets", {"limit": OPEN_WAGERS_MAX})


def test_a_round_is_settled_once_with_every_payout():
    payouts = (Payout("k1", "player_a", 300, "0.95:1", 585), Payout("k1", "tie", 100, "lost", 0))
    settle = Settle("ann", "t.1", payouts)
    [settled] = when(STAKED, settle)
    assert settled == events.BetsSettled("t.1", 400, 585, payouts, 600, 1_185)
    assert when((*STAKED, settled), settle) == ()


def test_payouts_that_do_not_cover_the_stakes_are_a_bug_and_settle_nothing():
    with pytest.raises(ValueError, match="do not cover"):
        when(STAKED, Settle("ann", "t.1", (Payout("k1", "tie", 100, "lost", 0),)))


def test_refund_and_cancel_give_the_stake_back_once():
    [refunded] = when(STAKED, Refund("ann", "t.1", "fault"))
    assert refunded == events.Refunded("t.1", 400, "fault", 600, 1_000)
    assert when((*STAKED, refunded), Refund("ann", "t.1", "fault")) == ()
    [cancelled] = when(STAKED, Unstake("ann", "t.1", "k1"))
    assert cancelled == events.BetCancelled("k1", "t.1", 400, 600, 1_000)
    assert when((*STAKED, cancelled), Unstake("ann", "t.1", "k1")) == ()


@pytest.mark.parametrize("credit", [Refund("ann", "t.1", "x"), Unstake("ann", "t.1", "k1"), CashOut("ann", "t", 7)])
def test_being_blocked_holds_back_no_money_that_is_the_players(credit):
    assert when((*STAKED, events.Blocked("self")), credit)


def test_blocking_twice_is_blocking_once():
    assert when(OPENED, commands.Block("a")) == (events.Blocked("a"),)
    assert when((*OPENED, events.Blocked("a")), commands.Block("b")) == ()
    assert when((*OPENED, events.Blocked("a")), commands.Unblock("c")) == (events.Unblocked("c"),)
    assert when(OPENED, commands.Unblock()) == ()


def test_chips_go_to_the_table_and_come_back():
    assert when(OPENED, BuyIn("ann", "EUR", "t", 250)) == (events.BoughtIn("t", 250, 1_000, 750),)
    assert when(OPENED, CashOut("ann", "t", 250)) == (events.CashedOut("t", 250, 1_000, 1_250),)
    assert when(OPENED, CashOut("ann", "t", 0)) == ()


WON = (Payout("k1", "player_a", 300, "0.95:1", 585), Payout("k1", "tie", 100, "lost", 0))
LOST = (Payout("k1", "player_a", 300, "lost", 0), Payout("k1", "tie", 100, "lost", 0))
SETTLED = (*STAKED, events.BetsSettled("t.1", 400, 585, WON, 600, 1_185))
CORRECTED = commands.Compensate("t.1", 1, WON, LOST)
OWING = (
    *SETTLED, events.Withdrawn(1_000, "", 1_185, 185), events.Resettled("t.1", 1, WON, LOST, -585, 400, 185, 0),
)  # fmt: skip


def test_a_resettlement_takes_what_was_paid_wrongly_from_the_cash():
    assert when(SETTLED, CORRECTED) == (events.Resettled("t.1", 1, WON, LOST, -585, 0, 1_185, 600),)


def test_what_the_cash_does_not_cover_is_owed_and_open_stakes_are_not_touched():
    other = events.BetStaked(Bet("k2", "t.2", (Wager("tie", 100),)), 100, 185, 85)
    given = (*SETTLED, events.Withdrawn(1_000, "", 1_185, 185), other)
    [resettled] = when(given, CORRECTED)
    assert resettled == events.Resettled("t.1", 1, WON, LOST, -585, 500, 85, 0)
    wallet = fold(evolve, INITIAL, (*given, resettled))
    assert isinstance(wallet, Wallet)
    assert (wallet.cash, wallet.owed, wallet.open_stakes) == (0, 500, 100)
    assert view("ann", wallet).owed == 500


def test_a_resettlement_that_gives_pays_what_is_owed_first():
    again = commands.Compensate("t.1", 2, LOST, WON)
    assert when(OWING, again) == (
        events.Resettled("t.1", 2, LOST, WON, 585, 400, 0, 585),
        events.OwedTaken(400, 0, 585, 185),
    )


@pytest.mark.parametrize(
    ("credit", "came"),
    [
        (commands.Deposit(50, "EUR", "cash desk"), 50),
        (commands.Deposit(1_000, "EUR", "cash desk"), 1_000),
        (CashOut("ann", "t", 400), 400),
        (Refund("ann", "t.2", "fault"), 100),
        (Unstake("ann", "t.2", "k2"), 100),
        (Settle("ann", "t.2", (Payout("k2", "tie", 100, "50:1", 5_100),)), 5_100),
        (commands.Compensate("t.1", 2, LOST, WON), 585),
    ],
)
def test_whatever_comes_while_something_is_owed_goes_to_that_first(credit, came):
    """The bet on another round was open before the first round was settled otherwise."""
    other = events.BetStaked(Bet("k2", "t.2", (Wager("tie", 100),)), 100, 1_185, 1_085)
    paid_out = events.Withdrawn(900, "", 1_085, 185)
    owing = (*SETTLED, other, paid_out, events.Resettled("t.1", 1, WON, LOST, -585, 400, 185, 0))
    happened = when(owing, credit)
    taken = min(came, 400)
    assert len(happened) == 2
    assert happened[0].after == came
    assert happened[1] == events.OwedTaken(taken, 400 - taken, came, came - taken)


def test_what_brings_no_cash_takes_none():
    assert when(OWING, CashOut("ann", "t", 0)) == ()
    assert when(OWING, commands.Block("b")) == (events.Blocked("b"),)
    assert refused(OWING, commands.Withdraw(1, "EUR")) == ("InsufficientFunds", {"balance": 0, "needed": 1})


def test_a_lost_bet_of_a_player_who_owes_takes_nothing():
    open_bet = events.BetStaked(Bet("k2", "t.2", (Wager("tie", 100),)), 100, 1_185, 1_085)
    given = (*SETTLED, open_bet, events.Withdrawn(1_085, "", 1_085, 0))
    owing = (*given, events.Resettled("t.1", 1, WON, LOST, -585, 585, 0, 0))
    lost = Settle("ann", "t.2", (Payout("k2", "tie", 100, "lost", 0),))
    assert [type(each) for each in when(owing, lost)] == [events.BetsSettled]


def test_what_is_owed_is_written_off_as_far_as_it_is_owed():
    why = ("gone", "desk-1", "0f1e2d3c4b5a6978")
    assert when(OWING, commands.WriteOff(150, "EUR", *why)) == (events.WrittenOff(150, 250, *why),)
    assert refused(OWING, commands.WriteOff(401, "EUR", *why)) == ("MoreThanOwed", {"owed": 400, "asked": 401})
    assert refused(OWING, commands.WriteOff(400, "INR", *why))[0] == "WrongCurrency"
    assert refused(SETTLED, commands.WriteOff(1, "EUR", *why)) == ("MoreThanOwed", {"owed": 0, "asked": 1})


def test_payouts_of_other_wagers_are_a_bug_and_correct_nothing():
    with pytest.raises(ValueError, match="other wagers"):
        when(SETTLED, commands.Compensate("t.1", 1, WON, LOST[:1]))


ASKED = st.one_of(
    st.builds(commands.Deposit, st.integers(1, 500), st.just("EUR")),
    st.builds(commands.Withdraw, st.integers(1, 500), st.just("EUR")),
    st.builds(commands.Adjust, st.integers(-200, 200), st.just("EUR"), st.just("why")),
    st.builds(commands.Block),
    st.builds(commands.Unblock),
    st.builds(
        lambda key, round_id, amounts: Stake(
            "ann", "EUR", Bet(key, round_id, tuple(Wager("tie", amount) for amount in amounts))
        ),
        st.sampled_from("abc"),
        st.sampled_from(["t.1", "t.2"]),
        st.lists(st.integers(1, 100), min_size=1, max_size=3),
    ),
    st.builds(Unstake, st.just("ann"), st.sampled_from(["t.1", "t.2"]), st.sampled_from("abc")),
    st.builds(Refund, st.just("ann"), st.sampled_from(["t.1", "t.2"]), st.just("fault")),
    st.builds(CashOut, st.just("ann"), st.just("t"), st.integers(0, 50)),
    st.builds(
        lambda before, now: commands.Compensate(
            "t.0", 1, (Payout("z", "tie", 50, "?", before),), (Payout("z", "tie", 50, "?", now),)
        ),
        st.integers(0, 600),
        st.integers(0, 600),
    ),
    st.builds(commands.WriteOff, st.integers(1, 300), st.just("EUR"), st.just("gone"), st.just("x"), st.just("p")),
)


@given(st.lists(ASKED, max_size=40))
def test_whatever_is_asked_money_only_moves_and_every_event_says_how(asked):
    state: Any = evolve(INITIAL, events.Opened("EUR"))
    for each in asked:
        try:
            happened = decide(state, each)
        except Rejected:
            continue
        for event in happened:
            after = evolve(state, event)
            gains = dict.fromkeys(Account, 0)
            for account, gain in postings(event):
                gains[account] += gain
            assert sum(gains.values()) == 0
            assert after.cash - state.cash == gains[Account.CASH]
            assert after.open_stakes - state.open_stakes == gains[Account.OPEN_STAKES]
            assert after.open_stakes == sum(bet.amount for bet in after.bets)
            assert after.owed - state.owed == -gains[Account.OWED]
            assert after.cash >= 0
            assert after.owed >= 0
            if gains[Account.CASH]:
                assert (event.before, event.after) == (state.cash, after.cash)
            state = after
        assert not (state.owed and state.cash), "whatever came was taken in the same breath"

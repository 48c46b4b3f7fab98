"""Teen Patti 20-20: what is paid, what it returns in the long run, and which tables may be opened at all."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from domain.cards import parse
from domain.errors import Rejected
from domain.game import SECOND, Cancelled, Resulted
from domain.games.teen_patti_2020 import GAME, pays, rules, state, views
from domain.games.teen_patti_2020.pays import BonusPays, PairPlusPays, PayTable, Result, Spot, showdown
from domain.money import AMOUNT_MAX, Bet, Odds, Payout, Wager

DATA = Path(__file__).parents[1] / "data"


def cards_of(texts: list[str]) -> tuple[Any, ...]:
    return parse(" ".join(text[0] + text[1].lower() for text in texts))


@pytest.mark.parametrize("case", json.loads((DATA / "teen_patti_2020_rounds.json").read_text())["cases"])
def test_a_round_worked_out_elsewhere_has_the_same_result_and_returns_here(case: dict[str, Any]) -> None:
    shown = showdown(cards_of(case["deal_order"]))
    assert (shown.winner, shown.category_a, shown.category_b, shown.bonus) == (
        case["winner"],
        case["category_a"],
        case["category_b"],
        case["bonus"],
    )
    wagers = tuple(Wager(spot, amount) for spot, amount in case["stakes"].items())
    payouts = GAME.returns(Resulted("t.1", Result(shown, PayTable())), (Bet("b", "t.1", wagers),))
    assert {payout.spot: payout.returned for payout in payouts} == case["returned"]
    assert sum(payout.returned for payout in payouts) == case["total_returned"]


def test_every_wager_of_every_bet_has_its_own_payout_with_the_odds_it_was_paid_at() -> None:
    tie = Resulted("t.1", Result(showdown(parse("Ks Kh 9d 9c 4c 4s")), PayTable()))
    bets = (
        Bet("b1", "t.1", (Wager("player_a", 200), Wager("tie", 100))),
        Bet("b2", "t.1", (Wager("tie", 300), Wager("pair_plus_a", 100))),
    )
    assert GAME.returns(tie, bets) == (
        Payout("b1", "player_a", 200, "push", 200),
        Payout("b1", "tie", 100, "50:1", 5_100),
        Payout("b2", "tie", 300, "50:1", 15_300),
        Payout("b2", "pair_plus_a", 100, "lost", 0),
    )


def test_a_cancelled_round_returns_every_stake_and_nothing_else() -> None:
    bets = (Bet("b1", "t.1", (Wager("tie", 100), Wager("six_card_bonus", 700))),)
    assert [payout.returned for payout in GAME.returns(Cancelled("t.1", "flood"), bets)] == [100, 700]


def test_the_exact_return_of_every_bet_is_the_one_enumerated_elsewhere() -> None:
    enumerated = {bet["bet"]: bet for bet in json.loads((DATA / "teen_patti_2020_exact.json").read_text())["bets"]}
    names = ("main A", "main A", "tie 50:1", "pair+", "pair+", "6card")
    for spot, name in zip(pays.returns_of(PayTable()), names, strict=True):
        assert Fraction(spot.rtp_exact) == 1 + Fraction(enumerated[name]["ev_exact"])
        assert spot.rtp_percent == f"{enumerated[name]['rtp_percent']:.6f}"
        assert spot.hit_percent == f"{enumerated[name]['hit_percent']:.6f}"
    [tie] = (each for each in pays.returns_of(PayTable("other", tie=Odds(800))) if each.spot is Spot.TIE)
    assert Fraction(tie.rtp_exact) == 1 + Fraction(enumerated["tie 800:1"]["ev_exact"])


def test_the_table_shows_the_tie_as_it_is() -> None:
    about = views.about(state.Between(state.Table(rules.Config("INR")), 0))
    assert about is not None
    assert {each.spot: each.rtp_percent for each in about.returns} == {
        "player_a": "97.502766",
        "player_b": "97.502766",
        "tie": "5.643074",
        "pair_plus_a": "93.085973",
        "pair_plus_b": "93.085973",
        "six_card_bonus": "91.438592",
    }
    assert "K-9-4 of one suit beats K-9-4 of several" in about.wording  # D1, never the parenthesis of T20
    assert views.about(state.INITIAL) is None


def test_a_percentage_is_rounded_half_to_even_at_the_sixth_decimal() -> None:
    assert pays.percent(Fraction(1, 3)) == "33.333333"
    assert pays.percent(Fraction(25, 10**9)) == "0.000002"
    assert pays.percent(Fraction(1)) == "100.000000"


def test_the_most_one_player_can_win_is_1060_95_a_unit_and_the_round_limit_bounds_it() -> None:
    assert pays.most_won(PayTable(), 100, 600) == 106_095
    assert pays.most_won(PayTable(), 100, 100) == 100_000  # one unit goes on the royal flush
    assert pays.most_won(PayTable(), 100, 200) == 103_000


def test_the_default_odds_are_those_of_the_document() -> None:
    """T21, T23, T24, each once more by hand."""
    table = PayTable()
    assert [str(odds) for odds in (table.player_a, table.player_b, table.tie)] == ["0.95:1", "0.95:1", "50:1"]
    assert [getattr(table.pair_plus, name).numerator for name in PairPlusPays.__struct_fields__] == [
        50,
        40,
        30,
        6,
        3,
        1,
    ]
    assert [getattr(table.six_card_bonus, name).numerator for name in BonusPays.__struct_fields__] == [
        1000, 200, 100, 20, 15, 10, 7,
    ]  # fmt: skip
    assert len(table.odds) == 16


# --- What a table may be ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"currency": "INX"}, rules.Rule.UnknownCurrency),
        ({"step": 10, "spot_min": 10}, rules.Rule.StepLeavesFractions),
        ({"pay_table": PayTable("fine", tie=Odds(1_000_001))}, rules.Rule.OddsOutOfRange),
        ({"pay_table": PayTable("fine", tie=Odds(1, 1_001))}, rules.Rule.OddsOutOfRange),
        ({"spot_min": 50}, rules.Rule.LimitsDisagree),
        ({"spot_max": 4_000_000}, rules.Rule.LimitsDisagree),
        ({"round_max": 3_000_050}, rules.Rule.LimitsDisagree),
        ({"spot_max": AMOUNT_MAX // 100_000 * 100, "round_max": AMOUNT_MAX // 100_000 * 100}, rules.Rule.WinTooLarge),
    ],
)
def test_a_table_that_could_not_be_run_to_the_last_unit_is_refused(changes: dict[str, Any], rule: rules.Rule) -> None:
    rules.check(rules.Config("INR"))
    with pytest.raises(Rejected) as refused:
        rules.check(replace(rules.Config("INR"), **changes))
    assert refused.value.rule is rule


def test_pauses_and_patience_have_defaults_by_kind() -> None:
    assert rules.Config("INR").pause_limit == 120 * SECOND
    assert rules.Config("INR", rules.Kind.LIVE).pause_limit == 600 * SECOND
    assert rules.Config("INR", pause_limit_seconds=30).pause_limit == 30 * SECOND

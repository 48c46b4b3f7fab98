"""Odds are exact, and nothing is ever rounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.money import EXPONENTS, Odds, whole_step


def test_odds_are_written_as_on_a_pay_table():
    assert [str(odds) for odds in (Odds(19, 20), Odds(50), Odds(1, 3), Odds(3, 2))] == [
        "0.95:1",
        "50:1",
        "1:3",
        "1.50:1",
    ]


def test_a_stake_that_would_leave_a_fraction_is_no_stake():
    assert Odds(19, 20).winnings(100) == 95
    with pytest.raises(ValueError, match="not a whole number"):
        Odds(19, 20).winnings(30)


@given(st.lists(st.builds(Odds, st.integers(1, 1_000), st.integers(1, 60)), min_size=1), st.integers(1, 10_000))
def test_every_multiple_of_the_whole_step_pays_whole_units_at_every_odds(odds, times):
    stake = whole_step(odds) * times
    for each in odds:
        assert each.winnings(stake) * each.denominator == stake * each.numerator


def test_currencies_have_their_own_number_of_minor_digits():
    assert (EXPONENTS["EUR"], EXPONENTS["VND"], EXPONENTS["BHD"]) == (2, 0, 3)

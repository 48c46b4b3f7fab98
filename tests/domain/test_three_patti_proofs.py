"""3 Patti: where the pot went can be proved to the unit. What is planted is found, by the check that is for it."""

from typing import Any

import pytest
from msgspec.structs import replace

from domain.games.three_patti import commands, events
from domain.games.three_patti.events import Dealer
from services.written_rounds import OPERATOR
from tests.domain.patti_table import GAME, SMALL, Table

RAKED = replace(SMALL, rake_bps=777, pot_limit=0)
RAKE = "the rake is what the table takes of the pot"
SUM = "what was won and the rake are all that was put in"
BEST = "the best hand shown won, each share to the unit"
LAST = "the last one who had not folded won, each share to the unit"
BACK = "what was put in went back to whoever put it in"


def acts(table: Table, *what: Any) -> Table:
    """Whoever's turn it is does one after the other."""
    for each in what:
        table.does(table.state.round.at(table.state.seat).player, each)
    return table


def dealt(entropy: str = "proofs") -> Table:
    return Table(RAKED, entropy).seated(500, 500, 500)


def story(table: Table) -> list[Any]:
    return [each.event for each in table.memory.log if each.stream == "table:t" and each.round == "t.1"]


def shown() -> list[Any]:
    """A pot of 90 less a rake of 6."""
    return story(acts(dealt(), *[commands.Bet(10)] * 3, commands.Fold(), *[commands.Bet(10)] * 2, commands.Show()))


def folded() -> list[Any]:
    return story(acts(dealt(), *[commands.Bet(10)] * 3, commands.Fold(), commands.Fold()))


def folded_at_once() -> list[Any]:
    """In the first circuit: no rake is taken."""
    return story(acts(dealt(), commands.Bet(10), commands.Fold(), commands.Fold()))


def cancelled() -> list[Any]:
    table = acts(dealt(), commands.Bet(10), commands.Bet(10))
    table.void(commands.CancelRound("void"))
    return story(table)


def failing(of_round: list[Any]) -> set[str]:
    return {check.what for check in GAME.reveals(OPERATOR, of_round).checks if not check.holds}


def forged(of_round: list[Any], kind: type = events.RoundSettled, **changes: Any) -> list[Any]:
    return [replace(event, **changes) if isinstance(event, kind) else event for event in of_round]


def ended(of_round: list[Any]) -> Any:
    return next(event for event in of_round if isinstance(event, events.RoundSettled | events.RoundRefunded))


def given(of_round: list[Any], *won: int) -> tuple[Any, ...]:
    results = ended(of_round).results
    return tuple(replace(each, won=amount) for each, amount in zip(results, won, strict=True))


@pytest.mark.parametrize("told", [shown, folded, folded_at_once, cancelled])
def test_what_was_played_by_the_rules_holds(told: Any) -> None:
    of_round = told()
    assert failing(of_round) == set()
    checks = {check.what for check in GAME.reveals(OPERATOR, of_round).checks}
    assert checks & {BEST, LAST, BACK}


@pytest.mark.parametrize(("told", "which"), [(shown, BEST), (folded, LAST), (folded_at_once, LAST)])
def test_a_pot_that_went_to_another_or_was_shared_is_found(told: Any, which: str) -> None:
    of_round = told()
    right = [each.won for each in ended(of_round).results]
    whole = sum(right)
    for won in ([whole, 0, 0], [0, whole, 0], [0, 0, whole], [whole - 1, 1, 0], [1, 0, whole - 1]):
        expected = set() if won == right else {which}
        assert failing(forged(of_round, results=given(of_round, *won))) == expected


@pytest.mark.parametrize("told", [shown, folded, folded_at_once])
def test_a_rake_that_is_not_the_tables_is_found_though_the_sums_agree(told: Any) -> None:
    """Also one that is less, and one in the first circuit: before, only more was found."""
    of_round = told()
    end = ended(of_round)
    for more in (-1, 1):
        won = [each.won and each.won - more for each in end.results]
        altered = forged(of_round, rake=end.rake + more, results=given(of_round, *won))
        assert RAKE in failing(altered)


def test_a_pot_that_is_not_what_was_put_in_is_found_though_it_agrees_with_itself() -> None:
    of_round = folded()
    end = ended(of_round)
    results = tuple(replace(each, paid=each.paid + 10, won=each.won and each.won + 30) for each in end.results)
    assert failing(forged(of_round, pot=end.pot + 30, results=results)) == {SUM, LAST}


def test_a_show_from_which_a_hand_is_missing_is_found() -> None:
    of_round = shown()
    [show] = (event for event in of_round if isinstance(event, events.HandsShown))
    winner = next(each.seat for each in ended(of_round).results if each.won)
    one = tuple(hand for hand in show.hands if hand.seat == winner)
    assert failing(forged(of_round, events.HandsShown, hands=one)) == {"the hands shown are those that were still in"}
    assert BEST in failing(forged(of_round, events.HandsShown, hands=()))


def test_a_loser_who_deals_next_is_found() -> None:
    of_round = folded()
    loser = next(each for each in ended(of_round).results if not each.won)
    assert failing(forged(of_round, dealer=Dealer(loser.seat, loser.player))) == {"the winner deals next"}


def test_a_refund_that_is_not_what_each_put_in_is_found() -> None:
    of_round = cancelled()
    first, second, third = (each.won for each in ended(of_round).results)
    for won in ([first + 1, second - 1, third], [first, second, 0]):
        assert failing(forged(of_round, events.RoundRefunded, results=given(of_round, *won))) == {BACK}


def test_a_hand_that_was_awarded_before_its_end_is_found() -> None:
    of_round = [event for event in folded() if not isinstance(event, events.Folded)]
    assert "the hand was played to its end" in failing(of_round)

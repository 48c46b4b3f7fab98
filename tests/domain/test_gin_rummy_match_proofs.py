"""Gin Rummy: what anyone can prove of a match: who has won it, and that the money went there to the unit. What is
planted is found, by the check that is for it.
"""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from domain.games.gin_rummy import commands, events
from domain.games.gin_rummy.events import PlayerResult
from domain.games.gin_rummy.rules import WonBy
from domain.games.gin_rummy.state import Acting
from services.written_rounds import OPERATOR
from tests.domain.gin_table import GAME, SMALL, Table
from tests.domain.test_gin_rummy_ends import drawn_hand, patched

RAKED = replace(SMALL, entry=999, rake_bps=777, target=40)
"""2,997 in all; 232 of it, rounded down, are the rake."""

SUM = "what was won and the rake are all that was paid in"
RAKE = "the rake is what the table takes of the prize"
SHARES = "the prize went to who has won by the points of the hands, each share to the unit"
BACK = "every entry went back to whoever paid it"
NOT_WON = "nobody had won the match that was refunded"
GOES_ON = "the match is over if the hand has decided it, and else goes on"


def last_hand(story: list[Any]) -> list[Any]:
    begins = max(at for at, event in enumerate(story) if isinstance(event, events.RoundOpened))
    return story[begins:]


OVER = events.MatchSettled | events.MatchRefunded


def failing(story: list[Any], *, whole: bool = True) -> set[str]:
    told = (GAME.reveals_match if whole else GAME.reveals)(OPERATOR, story)
    return {check.what for check in told.checks if not check.holds}


def ended(story: list[Any]) -> Any:
    return next(event for event in reversed(story) if isinstance(event, OVER))


def forged(story: list[Any], kind: type, **changes: Any) -> list[Any]:
    return [replace(event, **changes) if isinstance(event, kind) else event for event in story]


def won_by_points() -> list[Any]:
    table = Table(RAKED, "by points").seated()
    while table.state.table.match is not None:
        table.plays() if isinstance(table.state, Acting) else table.clock()
    return table.of_match()


def won_between_hands() -> list[Any]:
    table = Table(RAKED).seated()
    table.plays_hand()
    who = table.state.table.match.roles
    table.does(who.sitting_out, commands.LeaveTable())
    table.does(who.box, commands.LeaveTable())
    return table.of_match()


def hundredth(config: Any, totals: list[int]) -> list[Any]:
    """A match of which the hundredth hand is drawn."""
    table = Table(config).seated()
    table.void(commands.CancelRound("so"))
    patched(table, hands=99, totals=totals)
    while not isinstance(table.state, Acting):
        table.clock()
    drawn_hand(table)
    return table.of_match()


def shared() -> list[Any]:
    """After a hundred hands, by two of three."""
    return hundredth(replace(RAKED, rake_cap=200, target=100), [30, 20, 30])


def cancelled() -> list[Any]:
    """In the second hand, when one had forfeited."""
    table = Table(replace(RAKED, target=1_000)).seated()
    table.plays_hand()
    table.does(table.state.table.match.roles.sitting_out, commands.LeaveTable())
    while not isinstance(table.state, Acting):
        table.clock()
    table.void(commands.CancelMatch("so"))
    return table.of_match()


def cancelled_between_hands() -> list[Any]:
    table = Table(replace(RAKED, target=1_000)).seated()
    table.plays_hand()
    table.void(commands.CancelMatch("so"))
    return table.of_match()


def without_points() -> list[Any]:
    return hundredth(RAKED, [0, 0, 0])


def shared_out(results: tuple[PlayerResult, ...], won: Callable[[PlayerResult], int]) -> tuple[PlayerResult, ...]:
    return tuple(replace(each, won=won(each)) for each in results)


# --- What holds -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", [won_by_points, won_between_hands, cancelled, cancelled_between_hands])
def test_a_match_proves_itself_hand_by_hand_and_to_the_unit(story: Callable[[], list[Any]]) -> None:
    told = GAME.reveals_match(OPERATOR, story())
    assert told.match == "t.m1"
    assert told.rounds == tuple(f"t.{number + 1}" for number in range(len(told.rounds)))
    checks = [check.what for check in told.checks]
    assert [what for what in checks if what.startswith("the hand t.")] == [
        f"the hand {each} proves itself" for each in told.rounds
    ]
    assert {SUM, RAKE, SHARES} <= set(checks) or {BACK, NOT_WON} <= set(checks)
    assert all(check.holds for check in told.checks), told


def test_a_match_that_is_on_proves_itself_as_far_as_it_went_and_no_match_is_none() -> None:
    table = Table(replace(RAKED, target=1_000)).seated()
    table.plays_hand()
    for _ in range(5):
        assert failing(table.of_match()) == set()
        table.plays() if isinstance(table.state, Acting) else table.clock()
    assert GAME.reveals_match(OPERATOR, last_hand(table.of_match())) is None


@pytest.mark.parametrize("story", [won_by_points, shared, cancelled, without_points])
def test_the_last_hand_proves_the_end_of_the_match_as_well(story: Callable[[], list[Any]]) -> None:
    told = GAME.reveals(OPERATOR, last_hand(story()))
    assert {SHARES, BACK} & {check.what for check in told.checks}
    assert all(check.holds for check in told.checks), told


# --- What is planted ------------------------------------------------------------------------------------------------


def test_a_prize_that_went_to_somebody_else_is_found() -> None:
    story = won_by_points()
    end = ended(story)
    [winner] = [each for each in end.results if each.won]
    assert (end.prize, end.rake, winner.won) == (2_997, 232, 2_765)
    for other in (each.player for each in end.results if each is not winner):
        results = shared_out(end.results, lambda each, other=other: winner.won * (each.player == other))
        altered = forged(story, events.MatchSettled, results=results)
        assert failing(altered) == {SHARES, f"the hand {last_hand(story)[0].round} proves itself"}
        assert failing(last_hand(altered), whole=False) == {SHARES}


def test_a_prize_that_was_shared_though_one_had_won_is_found() -> None:
    story = won_by_points()
    end = ended(story)
    results = shared_out(end.results, lambda each: 1_383 - (each is end.results[0]) if each in end.results[:2] else 0)
    assert sum(each.won for each in results) + end.rake == end.prize
    assert failing(last_hand(forged(story, events.MatchSettled, results=results)), whole=False) == {SHARES}


@pytest.mark.parametrize("rake", [0, 231, 233])
def test_a_rake_that_is_not_the_tables_is_found_though_the_sums_agree(rake: int) -> None:
    """Also one that is less: before, only more was found."""
    story = won_by_points()
    end = ended(story)
    results = shared_out(end.results, lambda each: each.won and end.prize - rake)
    altered = forged(story, events.MatchSettled, rake=rake, results=results)
    assert failing(last_hand(altered), whole=False) == {RAKE, SHARES}


def test_shares_that_are_not_equal_or_whose_odd_unit_went_elsewhere_are_found() -> None:
    """2,797 after a capped rake: 1,399 to who sat down first, 1,398 to the other."""
    story = shared()
    end = ended(story)
    assert (end.why, end.rake, [each.won for each in end.results]) == (WonBy.HANDS, 200, [1_399, 0, 1_398])
    for won in ([1_398, 0, 1_399], [1_398, 1, 1_398], [2_797, 0, 0], [933, 932, 932]):
        results = tuple(replace(each, won=amount) for each, amount in zip(end.results, won, strict=True))
        assert failing(last_hand(forged(story, events.MatchSettled, results=results)), whole=False) == {SHARES}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"prize": 2_998}, {SUM}),
        ({"why": WonBy.FORFEITS}, {SHARES}),
        ({"results": ()}, {SUM, SHARES}),
    ],
)
def test_a_prize_that_is_not_what_was_paid_in_or_is_won_for_another_reason_is_found(
    changes: dict[str, Any], found: set[str]
) -> None:
    assert failing(last_hand(forged(won_by_points(), events.MatchSettled, **changes)), whole=False) == found


@pytest.mark.parametrize("field", ["paid", "total"])
def test_an_end_that_tells_of_other_entries_or_totals_is_found(field: str) -> None:
    story = won_by_points()
    first, *others = ended(story).results
    more = replace(first, **{field: getattr(first, field) + 1})
    assert failing(last_hand(forged(story, events.MatchSettled, results=(more, *others))), whole=False) == {SHARES}


def test_a_prize_won_by_forfeits_that_went_to_one_who_had_gone_is_found() -> None:
    """Between hands: no round tells of it, only the match does."""
    story = won_between_hands()
    end = ended(story)
    [winner] = [each for each in end.results if each.won]
    gone = next(each.player for each in end.results if each is not winner)
    results = shared_out(end.results, lambda each: winner.won * (each.player == gone))
    assert failing(forged(story, events.MatchSettled, results=results)) == {SHARES}


@pytest.mark.parametrize("told", [cancelled, cancelled_between_hands, without_points])
def test_a_refund_that_is_not_every_entry_is_found(told: Callable[[], list[Any]]) -> None:
    story = told()
    end = ended(story)
    first, second, third = end.results
    for results in (
        (replace(first, won=998), second, third),
        (replace(first, won=0), replace(second, won=1_998), third),
        (first, second),
        (replace(first, paid=998, won=998), second, third),
    ):
        assert BACK in failing(forged(story, events.MatchRefunded, results=results))


def test_a_refund_of_a_match_that_somebody_had_won_is_found() -> None:
    for story in (won_by_points(), won_between_hands()):
        end = ended(story)
        back = events.MatchRefunded(end.match, "so", shared_out(end.results, lambda each: each.paid), None)
        assert NOT_WON in failing([*story[:-1], back])


def test_a_match_that_went_on_though_it_was_won_or_ended_though_it_was_not_is_found() -> None:
    story = won_by_points()
    assert failing(last_hand(story)[:-1], whole=False) == {GOES_ON}
    for altered in (forged(story, events.RoundOpened, config=replace(RAKED, target=1_000)),):
        assert failing(last_hand(altered), whole=False) == {SHARES, GOES_ON}


@pytest.mark.parametrize("told", [won_by_points, won_between_hands, cancelled])
def test_hands_that_do_not_follow_from_one_another_are_found(told: Callable[[], list[Any]]) -> None:
    story = told()
    begun, follows = story[0], "each hand began with the totals and roles that were left before it"
    opened = [event for event in story if isinstance(event, events.RoundOpened)][-1]
    players = opened.match.players
    richer = replace(opened.match, players=(replace(players[0], total=players[0].total + 1), *players[1:]))
    other = replace(opened.match, roles=replace(opened.match.roles, box=opened.match.roles.captain))
    for match in (richer, other, replace(opened.match, hands=opened.match.hands + 1), replace(opened.match, id="t.m2")):
        altered = [replace(event, match=match) if event is opened else event for event in story]
        assert follows in failing(altered)
    turned = replace(begun.roles, box=begun.roles.captain, captain=begun.roles.box)
    assert "the cards that were drawn make box, captain and who sits out" in failing(
        forged(story, events.MatchOpened, roles=turned)
    )
    less = forged(story, events.MatchOpened, prize=begun.prize - 1)
    assert "the prize is the entries of those who sat there" in failing(less)

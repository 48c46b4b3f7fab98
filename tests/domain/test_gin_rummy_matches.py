"""Gin Rummy: who is who, what a knock scores, and who wins a match; also against matches that others worked out."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from domain import fairness
from domain.cards import DECK, parse
from domain.decider import TABLE
from domain.game import Role
from domain.games.gin_rummy import commands, events, melds, roles, scoring, turns
from domain.games.gin_rummy.events import Spread
from domain.games.gin_rummy.roles import Contender, Roles
from domain.games.gin_rummy.rules import Config, EndedBy, Oklahoma, Source, WonBy
from services.written_rounds import OPERATOR
from tests.domain.gin_table import SMALL, Table

CASES = json.loads((Path(__file__).parents[1] / "data" / "gin_matches.json").read_text())["cases"]
EUR = Config("EUR")


# --- Who is who -----------------------------------------------------------------------------------------------------


def drawn(*places: int, players: tuple[str, ...] = ("ann", "bob", "cid")) -> tuple[Any, Roles]:
    """The draw in which each takes the card at this place of what is left of the deck."""
    numbers = iter(places)
    return roles.drawn(players, lambda _: next(numbers))


def test_the_highest_card_is_in_the_box_and_the_middle_one_is_captain() -> None:
    """G6, G7; from As 2s 3s ... Ks: king high, ace low (G2)."""
    draws, who = drawn(12, 0, 4)
    assert [[(each.player, each.card) for each in draw.cards] for draw in draws] == [
        [("ann", "Ks"), ("bob", "As"), ("cid", "6s")]
    ]
    assert who == Roles("ann", "cid", "bob")


def test_sgr_1_of_equal_ranks_only_the_equal_ones_draw_again_and_stay_where_they_are() -> None:
    """From the same deck: a card that is drawn is gone."""
    king_of_hearts = DECK.index("Kh")
    draws, who = drawn(12, king_of_hearts - 1, 4, 0, 1)  # ann and bob a king each, cid a five; then an ace and a three
    assert [[each.player for each in draw.cards] for draw in draws] == [["ann", "bob", "cid"], ["ann", "bob"]]
    assert who == Roles("bob", "ann", "cid")
    draws, who = drawn(12, 0, 11, 2, 0)  # bob and cid an ace each
    assert [each.player for each in draws[1].cards] == ["bob", "cid"]
    assert who == Roles("ann", "bob", "cid")
    draws, who = drawn(0, 12, 24, 0, 11, 22, 3, 2, 1)  # three aces, three twos, and then an order
    assert (len(draws), who) == (3, Roles("ann", "bob", "cid"))
    cards = [each.card for draw in draws for each in draw.cards]
    assert len(set(cards)) == len(cards)


def test_at_a_table_for_two_the_higher_card_deals() -> None:
    assert drawn(3, 7, players=("ann", "bob"))[1] == Roles("bob", "ann")


def test_when_equal_draws_have_used_up_the_deck_another_one_is_taken() -> None:
    """After 26 equal draws of two."""
    rest, numbers = list(DECK), list[int]()
    while rest:
        first = rest.pop(0)
        second = next(at for at, card in enumerate(rest) if card.rank is first.rank)
        rest.pop(second)
        numbers += [0, second]
    draws, who = drawn(*numbers, 0, 0, players=("ann", "bob"))
    assert (len(draws), who) == (27, Roles("bob", "ann"))


def test_the_roles_are_drawn_from_the_seed_of_the_first_hand_under_labels_of_their_own() -> None:
    boxes = set[str]()
    for number in range(20):
        table = Table(SMALL, f"roles {number}").seated()
        [opened] = (event for event in table.events if isinstance(event, events.MatchOpened))
        on = table.state.round
        seed, rest = table.memory.open(on.id, on.seed), list(DECK)
        where = {"operator": OPERATOR, "table": "t", "round": "t.1"}
        for label, each in enumerate((each for draw in opened.draws for each in draw.cards), 1):
            assert each.card is rest.pop(fairness.draw(seed, f"roles/{label}", len(rest), **where))
        assert table.state.player == on.roles.captain == opened.roles.captain
        boxes.add(on.roles.box)
    assert boxes == {"ann", "bob", "cid"}


def test_cards_are_dealt_one_by_one_and_the_captain_is_first() -> None:
    table = Table().seated()
    captain, box = table.state.round.players
    assert captain.cards == tuple(range(0, 20, 2))
    assert box.cards == tuple(range(1, 20, 2))
    assert table.state.round.pile[0].place == 20
    assert table.state.round.stock == 31


@pytest.mark.parametrize(
    ("winner", "gone", "then"),
    [
        ("box", "", Roles("box", "out", "cap")),  # SGR.26
        ("cap", "", Roles("cap", "out", "box")),  # SGR.27
        (None, "", Roles("box", "cap", "out")),  # SGR.24
        ("box", "out", Roles("box", "cap")),
        ("cap", "out", Roles("cap", "box")),
        ("box", "cap", Roles("box", "out")),
        ("cap", "box", Roles("cap", "out")),
        ("box", "box", Roles("cap", "out")),
        (None, "cap", Roles("box", "out")),
        (None, "box", Roles("cap", "out")),
    ],
)
def test_how_the_roles_go_round(winner: str | None, gone: str, then: Roles) -> None:
    """G8; and D14 for those who are left when one has gone."""
    assert roles.after(Roles("box", "cap", "out"), winner, frozenset({gone})) == then


def test_at_a_table_for_two_the_winner_of_a_hand_deals_the_next() -> None:
    pair = Roles("ann", "bob")
    assert [roles.after(pair, winner) for winner in ("ann", "bob", None)] == [pair, Roles("bob", "ann"), pair]


# --- What a knock scores ----------------------------------------------------------------------------------------------


def spread(player: str, points: int) -> Spread:
    """A hand with so many points unmatched."""
    return Spread(player, (), parse("Ks") if points else (), points)


def score(knocker: str, opponent: str, *, config: Config = EUR, doubled: bool = False) -> tuple[Any, ...]:
    """Why, who, how much: `knocker` are ten cards, laid out at best; the other ten are the opponent's."""
    best = melds.best(parse(knocker))
    mine = Spread("knocker", best.melds, best.deadwood, best.points)
    answer = turns.answered("opponent", best.melds if best.points else (), parse(opponent))
    scored = scoring.score(config, mine, answer, doubled=doubled)
    return scored.why.value, scored.winner, scored.points


FIVE = "As 2s 3s 7h 7d 7c Jh Jd Jc 5d"
"""Knocks with 5, and offers A-2-3 of spades, sevens and jacks."""
GIN = "As 2s 3s 7h 7d 7c Jh Jd Jc Js"


@pytest.mark.parametrize(
    ("knocker", "opponent", "then"),
    [
        (FIVE, "4s 7s Kh Kd Kc 9h Th Qh 2c Ac", ("knock", "knocker", 27)),
        (FIVE, "4s 7s Kh Kd Kc 9c 9d 9h Td 2c", ("knock", "knocker", 7)),  # SGR.13
        (FIVE, "4s 7s Kh Kd Kc 9c 9d 9h 3d 2c", ("undercut", "opponent", 10)),  # SGR.14
        (FIVE.replace("5d", "8d"), "4s 7s Kh Kd Kc 9c 9d 9h Ad 2c", ("undercut", "opponent", 15)),  # SGR.15
        (FIVE.replace("5d", "4d"), "4s 5s Kh Kd Kc 9c 9d 9h 7s Js", ("undercut", "opponent", 14)),  # SGR.16
        (GIN, "4s 7s Kh Kd Kc 9c 9d 9h Td 9s", ("gin", "knocker", 46)),
        (GIN, "4s 7s Kh Kd Kc 9c 9d 9h Td 9s".replace("Td", "Qd").replace("7s", "6c"), ("gin", "knocker", 45)),
        (GIN, "4s 6s Kh Kd Kc 9c 9d 9h Td Qs", ("gin", "knocker", 55)),  # SGR.17
        (GIN, "4s 5s 6s Kh Kd Kc 9c 9d 9h 9s", ("gin", "knocker", 25)),  # SGR.18
    ],
)
def test_what_a_knock_scores(knocker: str, opponent: str, then: tuple[Any, ...]) -> None:
    assert score(knocker, opponent) == then


def test_sgr_20_a_card_on_a_run_lets_the_next_one_follow() -> None:
    knocker = "7s 7h 7d 8c 9c Tc As Ac Ad 2h"
    answer = turns.answered("opponent", melds.best(parse(knocker)).melds, parse("7c 6c Kh Kd Kc Qh Qd Qs 3s 3h"))
    assert {each.card.value for each in answer.laid} == {"7c", "6c"}
    assert answer.points == 6


def test_the_bonuses_are_those_of_the_table_and_oklahoma_doubles_all_points() -> None:
    config = Config("EUR", gin_bonus=20, undercut_bonus=25)
    assert score(GIN, "4s 5s 6s Kh Kd Kc 9c 9d 9h 9s", config=config) == ("gin", "knocker", 20)
    assert score(FIVE, "4s 7s Kh Kd Kc 9c 9d 9h 3d 2c", config=config) == ("undercut", "opponent", 25)
    assert score(GIN, "4s 6s Kh Kd Kc 9c 9d 9h Td Qs", doubled=True) == ("gin", "knocker", 110)
    assert score(FIVE, "4s 7s Kh Kd Kc 9c 9d 9h 3d 2c", doubled=True) == ("undercut", "opponent", 20)
    assert score(FIVE, "4s 7s Kh Kd Kc 9c 9d 9h Td 2c", doubled=True) == ("knock", "knocker", 14)


@pytest.mark.parametrize(
    ("oklahoma", "upcard", "limit", "doubled"),
    [
        (Oklahoma.OFF, "As", 10, False),
        (Oklahoma.ON, "Ad", 0, False),
        (Oklahoma.ON, "7s", 7, False),
        (Oklahoma.ON, "Kd", 10, False),
        (Oklahoma.SPADES_DOUBLE, "7s", 7, True),
        (Oklahoma.SPADES_DOUBLE, "As", 0, True),
        (Oklahoma.SPADES_DOUBLE, "7h", 7, False),
    ],
)
def test_oklahoma_takes_the_knock_limit_from_the_upcard(
    oklahoma: Oklahoma, upcard: str, limit: int, doubled: bool
) -> None:
    [card] = parse(upcard)
    config = Config("EUR", oklahoma=oklahoma)
    assert (scoring.knock_limit(config, card), scoring.doubles(config, card)) == (limit, doubled)


# --- Who wins a match -------------------------------------------------------------------------------------------------


def totals(*each: int) -> tuple[Contender, ...]:
    return tuple(Contender(name, total) for name, total in zip("abc", each, strict=False))


@pytest.mark.parametrize(
    ("still_in", "hands", "then"),
    [
        (totals(99, 98, 0), 7, None),
        (totals(99, 100, 0), 7, (WonBy.TARGET, "b")),  # SGR.29: exactly
        (totals(99, 98, 0), 99, None),
        (totals(99, 98, 0), 100, (WonBy.HANDS, "a")),
        (totals(50, 20, 50), 100, (WonBy.HANDS, "ac")),
        (totals(0, 0, 0), 100, (WonBy.HANDS, "")),
        (totals(0), 3, (WonBy.FORFEITS, "a")),
    ],
)
def test_when_a_match_is_won(still_in: Any, hands: int, then: Any) -> None:
    won = scoring.won(EUR, still_in, hands)
    assert (won and (won.why, "".join(won.winners))) == then


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_matches_that_others_worked_out_go_the_same_way(case: dict[str, Any]) -> None:
    """gin_matches.json: roles, dealer, who acts first, points, totals, and who wins."""
    first = case["rounds"][0]
    who = Roles(first["box"], first["captain"], first["sitting_out"])
    players = {name: Contender(name) for name in sorted(first["totals"])}
    won = None
    for hands, told in enumerate(case["rounds"], 1):
        assert won is None
        assert (who.box, who.captain, who.sitting_out) == (told["box"], told["captain"], told["sitting_out"])
        assert (who.box, who.captain) == (told["dealer"], told["first_to_act"])
        winner = None
        if told["result"] != "draw":
            other = who.captain if told["knocker"] == who.box else who.box
            knocker = spread(told["knocker"], told["knocker_deadwood"])
            scored = scoring.score(EUR, knocker, spread(other, told["opponent_deadwood"]), doubled=False)
            assert (scored.why, scored.winner, scored.points) == (told["result"], told["winner"], told["points"])
            winner = scored.winner
            players[winner] = replace(players[winner], total=players[winner].total + scored.points)
        assert {name: each.total for name, each in players.items()} == told["totals"]
        who, won = roles.after(who, winner), scoring.won(EUR, tuple(players.values()), hands)
    assert won == scoring.Won(WonBy.TARGET, (case["match_winner"],))


# --- How a match is paid out ----------------------------------------------------------------------------------------


def patched(table: Table, **changes: Any) -> Table:
    """The table with another match on it; `totals` in the order of the seats."""
    state = table.state
    match = state.table.match
    points = changes.pop("totals", [each.total for each in match.players])
    players = tuple(replace(each, total=total) for each, total in zip(match.players, points, strict=True))
    match = replace(match, players=players, **changes)
    stream = table.memory.streams[TABLE + "t"]
    table.memory.streams[TABLE + "t"] = replace(stream, state=replace(state, table=replace(state.table, match=match)))
    return table


def ended(table: Table) -> Any:
    return next(
        event for event in reversed(table.events) if isinstance(event, events.MatchSettled | events.MatchRefunded)
    )


def drawn_hand(table: Table) -> Any:
    """A hand to its end that nobody scores, by players who never knock."""
    while table.state.round.stock > 2 or table.state.round.id != "t.1":
        player = table.state.player
        open_now = {each.command for each in table.view(player).allowed}
        if "Decline" in open_now:
            table.does(player, commands.Decline())
            continue
        table.does(player, commands.Draw(Source.STOCK))
        told = table.does(player, commands.Discard(table.cards(player)[0]))
        if len(told) > 1:
            return told[1]
    raise AssertionError("no draw")


def test_after_a_hundred_hands_equal_highest_totals_share_and_odd_units_go_by_the_seats() -> None:
    """D14. 3,000 less a rake of 45 are 2,955: 1,478 and 1,477."""
    config = replace(SMALL, rake_bps=150)
    table = patched(Table(config).seated("cid", "ann", "bob"), hands=99, totals=[30, 20, 30])
    assert drawn_hand(table).why is EndedBy.STOCK
    end = ended(table)
    assert (end.why, end.rake) == (WonBy.HANDS, 45)
    assert [(each.player, each.won) for each in end.results] == [("cid", 1_478), ("ann", 0), ("bob", 1_477)]
    assert table.money() == 4 * 1_000_000


def test_after_a_hundred_hands_without_a_point_the_entries_go_back() -> None:
    table = patched(Table(replace(SMALL, rake_bps=150)).seated(), hands=99)
    drawn_hand(table)
    end = ended(table)
    assert isinstance(end, events.MatchRefunded)
    assert {each.won for each in end.results} == {1_000}


def test_a_hundred_hands_are_those_that_were_scored_or_drawn() -> None:
    table = patched(Table().seated(), hands=98, totals=[1, 2, 3])
    table.send("sue", Role.SUPERVISOR, commands.CancelRound("void"))
    assert table.state.table.match.hands == 98


def test_the_fiftieth_card_from_the_pile_draws_the_hand_unless_somebody_knocks() -> None:
    table = Table().seated()
    stream = table.memory.streams[TABLE + "t"]
    on = replace(table.state.round, taken=49)
    table.memory.streams[TABLE + "t"] = replace(stream, state=replace(table.state, round=on))
    player = table.state.player
    table.does(player, commands.Draw(Source.PILE))
    [discard, settled] = table.does(player, commands.Discard(table.view(player).allowed[0].cards[0]))
    assert (discard.next, settled.why, settled.winner) == (None, EndedBy.PILE, None)


def test_who_has_forfeited_cannot_win_the_match_whatever_the_hand_brings() -> None:
    """D14: the hand scores, also for him; then he is out."""
    for number in itertools.count():
        table = Table(replace(SMALL, target=40, knock_limit=60), f"gone {number}").seated()
        gone = table.state.round.roles.box
        patched(table, totals=[39 if seat.player == gone else 0 for seat in table.state.table.seats])
        table.does(gone, commands.LeaveTable())
        settled = None
        while settled is None:
            told = table.clock() if table.state.player == gone else table.plays()
            settled = next((event for event in told if isinstance(event, events.RoundSettled)), None)
        if settled.winner == gone:
            break
    assert {each.player: each.total for each in settled.results}[gone] >= 40
    assert table.state.table.match is not None
    assert gone not in (settled.roles.box, settled.roles.captain, settled.roles.sitting_out)


def test_when_both_who_play_have_forfeited_the_one_sitting_out_has_won_at_once() -> None:
    table = Table().seated()
    who = table.state.round.roles
    assert [type(event).__name__ for event in table.does(who.box, commands.LeaveTable())] == ["Forfeited"]
    table.does(who.captain, commands.LeaveTable())
    end = ended(table)
    assert (end.why, {each.player: each.won for each in end.results}[who.sitting_out]) == (WonBy.FORFEITS, 3_000)


def test_when_the_one_sitting_out_has_gone_the_two_play_on_and_nobody_advises() -> None:
    table = Table().seated()
    who = table.state.round.roles
    table.does(who.captain, commands.AskAdvice())
    assert table.cards(who.captain) == table.view(who.sitting_out).seats[seat_of(table, who.captain)].cards
    table.does(who.sitting_out, commands.LeaveTable())
    assert table.view(who.sitting_out).seats[seat_of(table, who.captain)].cards == ()
    assert table.refuses(who.sitting_out, commands.SendAdvice("late")) == "AlreadyForfeited"
    assert table.refuses(who.captain, commands.AskAdvice()) == "NobodyAdvises"
    settled = table.plays_hand()
    assert settled.roles.sitting_out is None
    assert settled.roles.box == (settled.winner or who.box)


def seat_of(table: Table, player: str) -> int:
    return [seat.player for seat in table.state.table.seats].index(player)


def test_at_a_table_for_two_the_first_forfeit_ends_the_match() -> None:
    table = Table(replace(SMALL, players=2)).seated("ann", "bob")
    table.does("ann", commands.LeaveTable())
    assert {each.player: each.won for each in ended(table).results} == {"ann": 0, "bob": 2_000}


def test_three_who_never_come_get_their_entries_back() -> None:
    """None of them has done anything: it is not the one who happens to sit out who wins."""
    table = Table(replace(SMALL, dead_minutes=1)).seated()
    while table.state.table.match is not None:
        table.clock()
    assert isinstance(ended(table), events.MatchRefunded)


def test_while_all_are_away_nobody_forfeits_and_who_comes_back_finds_the_other_forfeiting() -> None:
    config = replace(SMALL, players=2, away_turns=1, dead_minutes=60, time_bank_seconds=0)
    table = Table(config).seated("ann", "bob")
    captain, box = (each.player for each in table.state.round.players)
    for _ in range(6):
        table.clock()
    assert not any(each.forfeited for each in table.state.table.match.players)
    if table.state.player == captain:
        table.clock()
    table.does(box, commands.Draw(Source.STOCK))
    table.does(box, commands.Discard(table.cards(box)[0]))
    table.clock()
    assert {each.player: each.won for each in ended(table).results} == {captain: 0, box: 2_000}


def test_a_seed_published_for_a_next_hand_waits_for_the_next_match() -> None:
    table = Table().seated()
    who = table.state.round.roles
    table.plays_hand()
    table.clock()
    coming = table.state.table.next_seed
    assert coming is not None
    table.does(who.box, commands.LeaveTable())
    table.does(who.captain, commands.LeaveTable())
    assert (table.state.table.next_seed, table.state.due) == (coming, None)
    table.seated()
    assert (table.state.round.id, table.state.round.match) == ("t.2", "t.m2")

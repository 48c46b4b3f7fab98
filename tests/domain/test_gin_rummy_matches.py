"""Gin Rummy: who is who, what a knock scores, and who wins a match; also against matches that others worked out."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from domain import fairness
from domain.cards import DECK, parse
from domain.games.gin_rummy import events, melds, roles, scoring, turns
from domain.games.gin_rummy.events import Spread
from domain.games.gin_rummy.roles import Contender, Roles
from domain.games.gin_rummy.rules import Config, Oklahoma, WonBy
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


def without_c(*each: int) -> tuple[Contender, ...]:
    """The third one has forfeited."""
    return tuple(replace(player, forfeited=player.player == "c") for player in totals(*each))


@pytest.mark.parametrize(
    ("players", "hands", "then"),
    [
        (totals(99, 98, 0), 7, None),
        (totals(99, 100, 0), 7, (WonBy.TARGET, "b")),  # SGR.29: exactly
        (totals(99, 98, 0), 99, None),
        (totals(99, 98, 0), 100, (WonBy.HANDS, "a")),
        (totals(50, 20, 50), 100, (WonBy.HANDS, "ac")),
        (totals(0, 0, 0), 100, (WonBy.HANDS, "")),
        (totals(0), 3, (WonBy.FORFEITS, "a")),
        (without_c(0, 99, 100), 7, None),
        (without_c(20, 30, 50), 100, (WonBy.HANDS, "b")),
        (without_c(0, 0, 50), 100, (WonBy.HANDS, "ab")),  # there are points, and these two have equally many
        (without_c(0, 0, 0), 100, (WonBy.HANDS, "")),
    ],
)
def test_when_a_match_is_won(players: Any, hands: int, then: Any) -> None:
    won = scoring.won(EUR, players, hands)
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

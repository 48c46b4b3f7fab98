"""Gin Rummy by the game's own solver: what `croupier calc gin-deadwood`, `gin-discard` and `gin-knock` answer.

Cards are answered as they were written, in the order of the deck: S H D C, each from its ace to its king.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct

from domain.cards import Card, show
from domain.games import gin_rummy
from ops.calc_cards import cards, written

Ten = Annotated[tuple[str, ...], Meta(min_length=10, max_length=10)]
Eleven = Annotated[tuple[str, ...], Meta(min_length=11, max_length=11)]

LIMIT = 10
"""The points with which one may knock (G17)."""
ANY_POINTS = 100
"""More than any ten cards weigh."""
GIN, GIN_20, UNDERCUT = 25, 20, 10
"""What is scored besides the difference; by some sources a gin is worth 20 (G23, G25)."""


class Hand(Struct):
    hand: Ten


class HandRuling(Struct):
    deadwood: int
    optimal_partitions: int


class Drawn(Struct):
    hand: Eleven
    taken_from_discard_pile: str | None = None


class DrawnRuling(Struct):
    best_deadwood: int
    best_discards: tuple[str, ...]
    deadwood_after: dict[str, int]
    knockable_discards: tuple[str, ...]
    gin_discards: tuple[str, ...]
    best_deadwood_not_discarding_taken: int
    best_discards_not_taken: tuple[str, ...]


class Knock(Struct):
    knocker_melds: tuple[tuple[str, ...], ...]
    knocker_hand: Ten
    opponent_hand: Ten


class KnockRuling(Struct):
    knocker_deadwood: int
    opponent_deadwood_no_layoff: int
    opponent_deadwood: int
    result: Literal["knock", "gin", "undercut"]
    winner: Literal["knocker", "opponent"]
    points: int
    points_gin20: int


def hand_ruled(asked: Hand) -> HandRuling:
    found = gin_rummy.melds.arrangements(tuple(written(asked.hand)))
    return HandRuling(found[0].points, len(found))


def drawn_ruled(asked: Drawn) -> DrawnRuling:
    words = written(asked.hand)
    hand = tuple(words)
    taken = None
    if asked.taken_from_discard_pile is not None:
        [taken] = cards([asked.taken_from_discard_pile])
        if taken not in words:
            raise ValueError(f"{taken}, taken from the discard pile, is not in the hand")
    after = gin_rummy.melds.knocks(hand, ANY_POINTS)

    def named(discards: Iterable[Card]) -> tuple[str, ...]:
        chosen = set(discards)
        return tuple(words[card] for card in after if card in chosen)

    best, best_not_taken = gin_rummy.melds.best_discards(hand), gin_rummy.melds.best_discards(hand, taken)
    return DrawnRuling(
        best_deadwood=after[best[0]],
        best_discards=named(best),
        deadwood_after={words[card]: left for card, left in after.items()},
        knockable_discards=named(gin_rummy.melds.knocks(hand, LIMIT)),
        gin_discards=named(gin_rummy.melds.knocks(hand, 0)),
        best_deadwood_not_discarding_taken=after[best_not_taken[0]],
        best_discards_not_taken=named(best_not_taken),
    )


def knock_ruled(asked: Knock) -> KnockRuling:
    knocker, opponent = tuple(written(asked.knocker_hand)), tuple(written(asked.opponent_hand))
    if twice := [card for card in knocker if card in opponent]:
        raise ValueError(f"{show(twice)} cannot be in both hands")
    declared = gin_rummy.melds.arranged(knocker, tuple(map(cards, asked.knocker_melds)))
    if declared.points > LIMIT:
        raise ValueError(f"one knocks with {LIMIT} points or fewer, not with {declared.points} (G17)")
    alone = gin_rummy.melds.deadwood(opponent)
    if declared.points == 0:  # nothing may be laid off, and no deadwood of the opponent undercuts (G20, G26)
        return KnockRuling(0, alone, alone, "gin", "knocker", GIN + alone, GIN_20 + alone)
    answer = gin_rummy.melds.best_answer(declared.melds, opponent)
    difference = answer.points - declared.points
    if difference > 0:
        return KnockRuling(declared.points, alone, answer.points, "knock", "knocker", difference, difference)
    points = UNDERCUT - difference
    return KnockRuling(declared.points, alone, answer.points, "undercut", "opponent", points, points)

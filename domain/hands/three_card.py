"""The ranking of three cards that both Teen Patti games use (T10-T17, D7): seven categories, 741 ranks.

rank(parse("As 2h 3d")) > rank(parse("Ks Qh Jd")), and rank(parse("Ks 9d 4c")) == rank(parse("Kh 9c 4s")).
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations_with_replacement

from msgspec import Struct

from domain.cards import Card, Rank, show


class Category(StrEnum):
    """High to low (T14). Three aces are simply the best trio, named apart because Pair + pays them more (T23)."""

    TRIO_ACES = "trio_aces"
    TRIO = "trio"
    PURE_SEQUENCE = "pure_sequence"
    SEQUENCE = "sequence"
    COLOR = "color"
    PAIR = "pair"
    HIGH_CARD = "high_card"


class ThreeCardHand(Struct, frozen=True, order=True):
    """What three cards are worth: the greater wins, equal ones tie, and suits never decide (T11, D1).

    `strength` counts the ranks from below: 1 is 5-3-2 of several suits, 741 is three aces.
    """

    strength: int
    category: Category


_Ranks = tuple[Rank, Rank, Rank]
"""The ranks of three cards, highest first."""


def _category(ranks: _Ranks, one_suit: bool) -> Category:
    high, middle, low = ranks
    if high == low:
        return Category.TRIO_ACES if high is Rank.ACE else Category.TRIO
    if middle in {high, low}:
        return Category.PAIR
    if high - 1 == middle == low + 1 or ranks == (Rank.ACE, Rank.THREE, Rank.TWO):  # K-A-2 is nothing (T15)
        return Category.PURE_SEQUENCE if one_suit else Category.SEQUENCE
    return Category.COLOR if one_suit else Category.HIGH_CARD


def _order(ranks: _Ranks, one_suit: bool) -> tuple[int, ...]:
    """Hands in order: by category, then by the cards that decide within it, in their turn (T12, T13, T16, T17)."""
    category = _category(ranks, one_suit)
    return (-list(Category).index(category), *_deciding(ranks, category))


def _deciding(ranks: _Ranks, category: Category) -> tuple[Rank, ...]:
    """For A-2-3 this reads ace, three, two: below A-K-Q and above K-Q-J, just where T15 puts it."""
    high, middle, low = ranks
    kicker = high if middle == low else low
    return (middle, kicker) if category is Category.PAIR else ranks


def _table() -> dict[tuple[_Ranks, bool], ThreeCardHand]:
    """What each set of three ranks is worth, of several suits or of one: all that can differ between hands."""
    triples = list(combinations_with_replacement(sorted(Rank, reverse=True), 3))
    kinds = [(ranks, False) for ranks in triples] + [(ranks, True) for ranks in triples if len(set(ranks)) == 3]
    kinds.sort(key=lambda kind: _order(*kind))
    return {kind: ThreeCardHand(strength, _category(*kind)) for strength, kind in enumerate(kinds, start=1)}


_HANDS = _table()


def rank(cards: Sequence[Card]) -> ThreeCardHand:
    """What these three cards are worth, in whatever order they come."""
    if len(cards) != 3 or len(set(cards)) != 3:
        raise ValueError(f"a hand is three different cards, not {show(cards)!r}")
    one, two, three = cards
    return _HANDS[_ranks(cards), one.suit is two.suit is three.suit]


def deciding(cards: Sequence[Card]) -> tuple[Rank, ...]:
    """The ranks that decide between hands of this category, in their turn: of a pair its own, then the third card's."""
    return _deciding(_ranks(cards), rank(cards).category)


def _ranks(cards: Sequence[Card]) -> _Ranks:
    high, middle, low = sorted((card.rank for card in cards), reverse=True)
    return high, middle, low

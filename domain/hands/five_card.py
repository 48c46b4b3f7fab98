"""The 6 Card Bonus of Teen Patti 20-20: the best five of the six dealt cards (T18, T24)."""

from collections.abc import Sequence
from enum import StrEnum

from domain.cards import Card, Rank, show


class BonusCategory(StrEnum):
    """High to low (T18). NONE is less than three of a kind and pays nothing (T24)."""

    ROYAL_FLUSH = "royal_flush"
    STRAIGHT_FLUSH = "straight_flush"
    FOUR_OF_A_KIND = "four_of_a_kind"
    FULL_HOUSE = "full_house"
    FLUSH = "flush"
    STRAIGHT = "straight"
    THREE_OF_A_KIND = "three_of_a_kind"
    NONE = "none"


_ACE_TO_ACE = [Rank.ACE, *Rank]
_ROYAL = frozenset(_ACE_TO_ACE[-5:])
_STRAIGHTS = [frozenset(_ACE_TO_ACE[start : start + 5]) for start in range(10)]
"""The ace ends 10-J-Q-K-A and begins A-2-3-4-5 (D3); Q-K-A-2-3 is nothing."""


def _has_straight(ranks: set[Rank]) -> bool:
    return len(ranks) >= 5 and any(straight <= ranks for straight in _STRAIGHTS)


def bonus(cards: Sequence[Card]) -> BonusCategory:
    """The category of the best five of these six cards."""
    if len(cards) != 6 or len(set(cards)) != 6:
        raise ValueError(f"the bonus is read from six different cards, not {show(cards)!r}")
    ranks = [card.rank for card in cards]
    suits = [card.suit for card in cards]
    *_, second, most = sorted(map(ranks.count, set(ranks)))
    suit = max(suits, key=suits.count)
    flush = {card.rank for card in cards if card.suit is suit} if suits.count(suit) >= 5 else set[Rank]()
    if flush >= _ROYAL:
        return BonusCategory.ROYAL_FLUSH
    if _has_straight(flush):
        return BonusCategory.STRAIGHT_FLUSH
    if most == 4:
        return BonusCategory.FOUR_OF_A_KIND
    if most == 3 and second >= 2:  # two trios too: of six cards one is left out
        return BonusCategory.FULL_HOUSE
    if flush:
        return BonusCategory.FLUSH
    if _has_straight(set(ranks)):
        return BonusCategory.STRAIGHT
    return BonusCategory.THREE_OF_A_KIND if most == 3 else BonusCategory.NONE


def best_five(cards: Sequence[Card]) -> tuple[Card, ...]:
    """Those of the six that make the category, highest first: of trio and four only these; none if it pays nothing."""
    category, ranks = bonus(cards), [card.rank for card in cards]
    suits = [card.suit for card in cards]
    by_rank = sorted(cards, key=lambda card: (ranks.count(card.rank), card.rank), reverse=True)
    match category:
        case BonusCategory.NONE:
            return ()
        case BonusCategory.THREE_OF_A_KIND | BonusCategory.FOUR_OF_A_KIND | BonusCategory.FULL_HOUSE:
            many = {BonusCategory.THREE_OF_A_KIND: 3, BonusCategory.FOUR_OF_A_KIND: 4}
            return tuple(by_rank[: many.get(category, 5)])
        case BonusCategory.STRAIGHT:
            return _straight(cards)
        case _:
            suited = [card for card in cards if suits.count(card.suit) >= 5]
            highest = tuple(sorted(suited, key=lambda card: card.rank, reverse=True)[:5])
            return highest if category is BonusCategory.FLUSH else _straight(suited)


def _straight(cards: Sequence[Card]) -> tuple[Card, ...]:
    """The highest one there is, one card a rank."""
    of_rank = {card.rank: card for card in cards}
    low = max(start for start, straight in enumerate(_STRAIGHTS) if straight <= of_rank.keys())
    return tuple(of_rank[rank] for rank in reversed(_ACE_TO_ACE[low : low + 5]))

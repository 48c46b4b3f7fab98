"""Hands in words: what three cards are, why they beat three others, and what the best five of six are made of."""

from collections.abc import Sequence

from domain import wording
from domain.cards import Card
from domain.hands.five_card import BonusCategory, best_five, bonus
from domain.hands.three_card import Category, deciding, rank

_NAMES = {
    Category.TRIO_ACES: "a trio",  # the best one, and no category of its own where hands are compared
    Category.TRIO: "a trio",
    Category.PURE_SEQUENCE: "a pure sequence",
    Category.SEQUENCE: "a sequence",
    Category.COLOR: "a color",
    Category.PAIR: "a pair",
    Category.HIGH_CARD: "high card",
}

_BONUS_NAMES = {
    BonusCategory.ROYAL_FLUSH: "a royal flush",
    BonusCategory.STRAIGHT_FLUSH: "a straight flush",
    BonusCategory.FOUR_OF_A_KIND: "four of a kind",
    BonusCategory.FULL_HOUSE: "a full house",
    BonusCategory.FLUSH: "a flush",
    BonusCategory.STRAIGHT: "a straight",
    BonusCategory.THREE_OF_A_KIND: "three of a kind",
    BonusCategory.NONE: "less than three of a kind",
}


def hand(cards: Sequence[Card]) -> str:
    """The cards and what they are: K♠ K♦ 2♥, a pair of kings with a two."""
    return f"{wording.cards(cards)}, {_said(cards)}"


def _said(cards: Sequence[Card]) -> str:
    category, (first, *rest) = rank(cards).category, deciding(cards)
    match category:
        case Category.TRIO | Category.TRIO_ACES:
            return f"a trio of {wording.ranks(first)}"
        case Category.PAIR:
            return f"a pair of {wording.ranks(first)} with {wording.a_rank(rest[0])}"
        case Category.HIGH_CARD:
            return f"high card {wording.rank(first)} with {wording.listed(map(wording.rank, rest))}"
        case _:
            return f"{_NAMES[category]} of {wording.listed(map(wording.rank, (first, *rest)))}"


def name(category: Category) -> str:
    """A category as one that bets are paid for: three aces are one of their own."""
    return "a trio of aces" if category is Category.TRIO_ACES else _NAMES[category]


def beats(higher: Sequence[Card], lower: Sequence[Card]) -> str:
    """Why one hand beats another, rank after rank up to the one that decides."""
    better, worse = (_NAMES[rank(cards).category] for cards in (higher, lower))
    if better != worse:
        return f"{better} beats {worse}"
    compared: list[str] = []
    for one, other in zip(deciding(higher), deciding(lower), strict=True):
        if one != other:
            compared.append(f"{wording.rank(one)} is above {wording.rank(other)}")
            break
        compared.append(f"{wording.rank(one)} is equal")
    return f"both hold {better}, and {', '.join(compared)}"


def ties(one: Sequence[Card]) -> str:
    """Why another hand of the same worth ties with this one."""
    return f"both hold {_said(one)}, and suits never decide"


def five(cards: Sequence[Card]) -> str:
    """What the best five of six cards are, and which of them make it."""
    category, making = bonus(cards), best_five(cards)
    return _BONUS_NAMES[category] + (f", {wording.cards(making)}" if making else "")


def bonus_name(category: BonusCategory) -> str:
    return _BONUS_NAMES[category]

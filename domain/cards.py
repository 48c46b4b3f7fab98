"""Cards as everybody writes them: "As Kd 2c". Memory, JSON and text share this one form."""

from collections.abc import Iterable
from enum import IntEnum, StrEnum


class Rank(IntEnum):
    """High to low A K Q ... 2 (T10). A game in which the ace is low says so itself (G2)."""

    TWO = 2
    THREE = 3
    FOUR = 4
    FIVE = 5
    SIX = 6
    SEVEN = 7
    EIGHT = 8
    NINE = 9
    TEN = 10
    JACK = 11
    QUEEN = 12
    KING = 13
    ACE = 14


class Suit(StrEnum):
    SPADES = "s"
    HEARTS = "h"
    DIAMONDS = "d"
    CLUBS = "c"


_RANKS = dict(zip("23456789TJQKA", Rank, strict=True))


class Card(StrEnum):
    """One of the 52 cards (T1, T2): its rank in 23456789TJQKA, then its suit in shdc.

    An enum, because then msgspec itself refuses any other text from outside, and a message carries the plain text.
    """

    SA, S2, S3, S4, S5, S6, S7, S8, S9, ST, SJ, SQ, SK = (rank + "s" for rank in "A23456789TJQK")
    HA, H2, H3, H4, H5, H6, H7, H8, H9, HT, HJ, HQ, HK = (rank + "h" for rank in "A23456789TJQK")
    DA, D2, D3, D4, D5, D6, D7, D8, D9, DT, DJ, DQ, DK = (rank + "d" for rank in "A23456789TJQK")
    CA, C2, C3, C4, C5, C6, C7, C8, C9, CT, CJ, CQ, CK = (rank + "c" for rank in "A23456789TJQK")

    rank: Rank
    suit: Suit

    def __init__(self, text: str) -> None:
        self.rank = _RANKS[text[0]]
        self.suit = Suit(text[1])


DECK = tuple(Card)
"""The deck before any shuffle, in an order that never changes: spades, hearts, diamonds, clubs, each A 2 3 ... Q K."""

_TEXTS = frozenset(card.value for card in DECK)


def parse(text: str) -> tuple[Card, ...]:
    """The cards of "As Kd 2c", in that order; a ValueError names the first word that is no card."""
    words = text.split()
    for word in words:
        if word not in _TEXTS:
            raise ValueError(
                f"{word!r} is not a card: write a rank of 23456789TJQKA and a suit of shdc, as in As Td 2c"
            )
    return tuple(Card(word) for word in words)


def show(cards: Iterable[Card]) -> str:
    return " ".join(cards)

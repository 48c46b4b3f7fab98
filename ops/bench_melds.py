"""CPU of Gin Rummy's solver: the least deadwood of a hand, and the best answer to a knock, on hands that never change.

Half of the hands are dealt from the whole deck, half from six ranks of it, where melds are many and share cards.
"""

import random
import time
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import median
from typing import TypeVarTuple

from msgspec import Struct

from domain.cards import DECK, Card
from domain.games import gin_rummy

Q = TypeVarTuple("Q")
Hand = tuple[Card, ...]
HANDS, KNOCKS = 1_000, 200
PASSES = 5
SIX_RANKS = 6
KNOCK_LIMIT = 10


class Measured(Struct, frozen=True):
    """Microseconds of CPU a hand, of the least deadwood beside merely adding its cards up; and those of a lay-off."""

    adding_up_us: float
    deadwood_us: float
    layoff_us: float


def measured() -> Measured:
    hands = [hand for pair in islice(_deals(), HANDS // 2) for hand in pair]
    knocks = list(islice(_knocks(), KNOCKS))
    costs = [
        (
            _us(_added_up, [(hand,) for hand in hands]),
            _us(gin_rummy.melds.deadwood, [(hand,) for hand in hands]),
            _us(gin_rummy.melds.best_answer, knocks),
        )
        for _ in range(PASSES)
    ]
    return Measured(*(round(median(each), 2) for each in zip(*costs, strict=True)))


def _us(work: Callable[[*Q], object], questions: list[tuple[*Q]]) -> float:
    begun = time.process_time()
    for question in questions:
        work(*question)
    return (time.process_time() - begun) * 1_000_000 / len(questions)


def _added_up(hand: Hand) -> int:
    return sum(map(gin_rummy.melds.points, hand))


def _deals() -> Iterator[tuple[Hand, Hand]]:
    """Two hands of ten, from the whole deck and from six ranks of it in turn."""
    chance = random.Random(20_261_129)  # noqa: S311 - the same hands each time, on every machine
    while True:
        lowest = chance.randrange(13 - SIX_RANKS + 1)
        few = [card for place, card in enumerate(DECK) if lowest <= place % 13 < lowest + SIX_RANKS]
        for deck in (DECK, few):
            cards = chance.sample(deck, 20)
            yield tuple(cards[:10]), tuple(cards[10:])


def _knocks() -> Iterator[tuple[gin_rummy.melds.Melds, Hand]]:
    """The melds of a hand with which one may knock and lay-offs are open, and the opponent's hand."""
    for knocker, opponent in _deals():
        declared = gin_rummy.melds.best(knocker)
        if 0 < declared.points <= KNOCK_LIMIT:
            yield declared.melds, opponent

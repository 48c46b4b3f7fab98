"""Gin Rummy worked out the long way, to hold the solver against: every subset, every way, one card at a time.

Cards are judged by their text alone; nothing here is shared with the solver, nor is any of its ideas.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from domain.cards import Card

LOW_TO_HIGH = "A23456789TJQK"
DECK_ORDER = [rank + suit for suit in "shdc" for rank in LOW_TO_HIGH]

Meld = frozenset[Card]
Layout = frozenset[Meld]


def value(cards: Sequence[Card] | Meld) -> int:
    return sum(min(LOW_TO_HIGH.index(card[0]) + 1, 10) for card in cards)


def meld(cards: Sequence[Card] | Meld) -> bool:
    ranks = "".join(sorted((card[0] for card in cards), key=LOW_TO_HIGH.index))
    suits = {card[1] for card in cards}
    if len(ranks) < 3:
        return False
    of_a_kind = len(set(ranks)) == 1 and len(suits) == len(ranks)
    return of_a_kind or (len(suits) == 1 and ranks in LOW_TO_HIGH)


def layouts(hand: Sequence[Card]) -> Iterator[Layout]:
    """Every way to lay out none, some or all of the hand in melds that share no card."""
    subsets = (subset for size in range(3, len(hand) + 1) for subset in combinations(hand, size))
    melds = [frozenset(subset) for subset in subsets if meld(subset)]

    def further(chosen: Layout, open_melds: list[Meld]) -> Iterator[Layout]:
        yield chosen
        for place, each in enumerate(open_melds):
            yield from further(chosen | {each}, [other for other in open_melds[place + 1 :] if not other & each])

    return further(frozenset(), melds)


def unmatched(hand: Sequence[Card], layout: Layout) -> int:
    return value(frozenset(hand).difference(*layout))


def least_layouts(hand: Sequence[Card]) -> tuple[int, set[Layout]]:
    every = {layout: unmatched(hand, layout) for layout in layouts(hand)}
    least = min(every.values())
    return least, {layout for layout, points in every.items() if points == least}


def least(hand: Sequence[Card]) -> int:
    return least_layouts(hand)[0]


def least_answer(knocker_melds: Sequence[Sequence[Card]], hand: Sequence[Card]) -> tuple[int, int]:
    """The least the opponent can be left with, and the fewest cards to lay off for it: every card that fits is tried on
    every meld, again and again, and each time what is left of the hand is laid out in every way."""
    fewest: dict[Meld, int] = {}
    waiting = [(tuple(map(frozenset, knocker_melds)), frozenset(hand))]
    seen = set(waiting)
    while waiting:
        table, held = waiting.pop()
        fewest[held] = len(hand) - len(held)
        for card in held:
            for place, lying in enumerate(table):
                if meld(lying | {card}):
                    after = (*table[:place], lying | {card}, *table[place + 1 :])
                    if (after, held - {card}) not in seen:
                        seen.add((after, held - {card}))
                        waiting.append((after, held - {card}))
    return min((least(sorted(held)), laid) for held, laid in fewest.items())

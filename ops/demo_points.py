"""All that a client needs to count a finished hand of Gin Rummy anew: melds, unmatched cards, and what they score.

Written from the rules (G2-G4, G18-G26), with nothing of the house's code. A hand is a spread, as the service tells it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

RANKS = "A23456789TJQK"
HAND, GIN, UNDERCUT = 10, 25, 10

Spread = Mapping[str, Any]


def height(card: str) -> int:
    """King high, ace low."""
    return RANKS.index(card[0]) + 1


def points(cards: Sequence[str]) -> int:
    return sum(min(height(card), 10) for card in cards)


def is_meld(cards: Sequence[str]) -> bool:
    heights = sorted(map(height, cards))
    suits = {card[1] for card in cards}
    of_a_rank = len(set(heights)) == 1 and len(suits) == len(cards)
    in_a_row = len(suits) == 1 and heights == list(range(heights[0], heights[0] + len(cards)))
    return len(cards) >= 3 and (of_a_rank or in_a_row)


def cards_of(spread: Spread) -> list[str]:
    laid = [each["card"] for each in spread.get("laid", ())]
    return [*(card for meld in spread["melds"] for card in meld), *laid, *spread["deadwood"]]


def laid_out(knocker: Spread, opponent: Spread) -> bool:
    """Ten cards each; melds that are melds, the knocker's also with what was laid off on them, which on gin is nothing;
    and unmatched cards that count what was told."""
    laid = opponent.get("laid", ())
    longer = [
        [*meld, *(each["card"] for each in laid if each["meld"] == index)]
        for index, meld in enumerate(knocker["melds"])
    ]
    both = [*cards_of(knocker), *cards_of(opponent)]
    return (
        len(set(both)) == len(both) == 2 * HAND
        and all(each["meld"] < len(longer) for each in laid)
        and all(map(is_meld, (*knocker["melds"], *longer, *opponent["melds"])))
        and all(points(each["deadwood"]) == each["points"] for each in (knocker, opponent))
        and not (laid and not knocker["deadwood"])
    )


def score(knocker: Spread, opponent: Spread) -> tuple[str, str, int]:
    """How the hand ended, who has won it, and the points."""
    more = points(opponent["deadwood"]) - points(knocker["deadwood"])
    if not knocker["deadwood"]:
        return "gin", knocker["player"], GIN + more
    if more > 0:
        return "knock", knocker["player"], more
    return "undercut", opponent["player"], UNDERCUT - more


def order(draws: Sequence[Mapping[str, Any]]) -> list[str]:
    """Players by the cards they drew, the highest first: box, captain, and who sits out. Equal ones drew again."""
    drawn: dict[str, list[int]] = {}
    for each in (each for draw in draws for each in draw["cards"]):
        drawn.setdefault(each["player"], []).append(height(each["card"]))
    return sorted(drawn, key=lambda player: drawn[player], reverse=True)

"""All 407,170,400 deals of 20-20, ranked by our own code and counted: exact odds, not a simulation.

Run as a program (PYTHONPATH=.) it prints domain/games/teen_patti_2020/joint.py.
"""

import json
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from domain.cards import DECK, Card
from domain.games.teen_patti_2020 import joint as table
from domain.hands import five_card, three_card
from domain.hands.five_card import BonusCategory
from domain.hands.three_card import Category

Sets = npt.NDArray[np.int64]
"""Sets of cards, one number each: bit i is DECK[i], so that every suit has 13 bits."""

Cell = tuple[str, Category, Category, BonusCategory]

DEALS = 22_100 * 18_424
WINNERS = ("player_a", "player_b", "tie")
CATEGORIES = tuple(Category)
BONUSES = tuple(BonusCategory)
SHAPE = (len(WINNERS), len(CATEGORIES), len(CATEGORIES), len(BONUSES))


def as_set(cards: tuple[Card, ...]) -> int:
    return sum(1 << DECK.index(card) for card in cards)


def as_cards(number: int) -> tuple[Card, ...]:
    cards = list[Card]()
    while number:
        lowest = number & -number
        cards.append(DECK[lowest.bit_length() - 1])
        number ^= lowest
    return tuple(cards)


def with_suits_sorted(sets: Sets) -> Sets:
    """Suits never decide (T11), so sets that differ only in the names of their suits are one case."""
    suits = [sets >> 13 * suit & 0x1FFF for suit in range(4)]
    for one, other in ((0, 1), (2, 3), (0, 2), (1, 3), (1, 2)):  # a sorting network: six times as quick as np.sort
        suits[one], suits[other] = np.minimum(suits[one], suits[other]), np.maximum(suits[one], suits[other])
    return suits[0] | suits[1] << 13 | suits[2] << 26 | suits[3] << 39


@cache
def cases(size: int) -> tuple[Sets, Sets]:
    """Every set of `size` cards up to the names of suits, and how many real sets each stands for."""
    if size == 0:
        return np.zeros(1, np.int64), np.ones(1, np.int64)
    smaller, counts = cases(size - 1)
    card = np.int64(1) << np.arange(52, dtype=np.int64)
    smaller, card, counts = (grid.ravel() for grid in np.broadcast_arrays(smaller[:, None], card, counts[:, None]))
    new = smaller & card == 0
    keys, which = np.unique(with_suits_sorted((smaller | card)[new]), return_inverse=True)
    reached = np.zeros(len(keys), np.int64)
    np.add.at(reached, which, counts[new])
    return keys, reached // size  # a set is reached once from each of its `size` cards


@cache
def bonuses() -> npt.NDArray[np.uint8]:
    """Our bonus category of each case of six cards, as its place in BONUSES."""
    sets, _ = cases(6)
    return np.array([BONUSES.index(five_card.bonus(as_cards(number))) for number in sets.tolist()], np.uint8)


@cache
def joint() -> dict[Cell, int]:
    """How many deals end in each combination of winner, category of A, category of B and bonus."""
    hands = list(combinations(DECK, 3))
    sets = np.array([as_set(hand) for hand in hands])
    ranks = [three_card.rank(hand) for hand in hands]
    strengths = np.array([rank.strength for rank in ranks])
    categories = np.array([CATEGORIES.index(rank.category) for rank in ranks])
    six_cards, _ = cases(6)
    total = np.zeros(SHAPE, np.int64).ravel()
    for a, count in zip(*(each.tolist() for each in cases(3)), strict=True):
        rank = three_card.rank(as_cards(a))
        dealt = sets & a == 0
        b = strengths[dealt]
        winner = np.where(rank.strength > b, 0, np.where(rank.strength < b, 1, 2))
        bonus = bonuses()[np.searchsorted(six_cards, with_suits_sorted(sets[dealt] | a))]
        cell = np.ravel_multi_index((winner, CATEGORIES.index(rank.category), categories[dealt], bonus), SHAPE)
        total += count * np.bincount(cell, minlength=total.size)
    return {
        (WINNERS[w], CATEGORIES[a], CATEGORIES[b], BONUSES[bonus]): count
        for (w, a, b, bonus), count in np.ndenumerate(total.reshape(SHAPE))
        if count
    }


def rows(counts: dict[Cell, int]) -> str:
    return "\n".join(f"{w:9}{a:14}{b:14}{bonus:16}{count:>9}" for (w, a, b, bonus), count in counts.items())


MODULE = '''"""Every deal of 20-20 counted once: how often each winner, category of A and of B, and bonus come together.

From these 181 counts follow the exact return, hit rate and variance of every bet, alone or with others.
Made by tests/domain/test_exact_2020.py, which proves it: not to be edited.
"""

from msgspec import Struct

from domain.hands.five_card import BonusCategory
from domain.hands.three_card import Category


class Deals(Struct, frozen=True):
    """So many of the 407,170,400 ordered deals end like this. `winner` is player_a, player_b or tie (D1)."""

    winner: str
    a: Category
    b: Category
    bonus: BonusCategory
    count: int


def _read(line: str) -> Deals:
    winner, a, b, bonus, count = line.split()
    return Deals(winner, Category(a), Category(b), BonusCategory(bonus), int(count))


_COUNTED = """
{rows}
"""

JOINT = tuple(_read(line) for line in _COUNTED.strip().splitlines())
'''


VECTORS = json.loads((Path(__file__).parents[1] / "data" / "teen_patti_2020_exact.json").read_text())
PUBLISHED: Counter[Cell] = Counter(
    {
        ({"A": WINNERS[0], "B": WINNERS[1], "tie": WINNERS[2]}[row["result"]], row["a"], row["b"], row["bonus"]): row[
            "count"
        ]
        for row in VECTORS["rows"]
    }
)


def counted_by(what: int) -> Counter[str]:
    """How many deals have each value of one column: 0 the winner, 1 A's category, 2 B's, 3 the bonus."""
    total: Counter[str] = Counter()
    for cell, count in joint().items():
        total[cell[what]] += count
    return total


@pytest.mark.slow
def test_every_deal_is_counted_and_all_181_joint_counts_are_the_published_ones_to_the_last_unit() -> None:
    assert sum(joint().values()) == VECTORS["meta"]["total"] == DEALS
    assert len(joint()) == 181
    assert joint() == PUBLISHED


@pytest.mark.slow
def test_the_table_of_the_game_is_what_this_enumeration_gives() -> None:
    assert {(row.winner, row.a, row.b, row.bonus): row.count for row in table.JOINT} == joint()
    assert Path(table.__file__).read_text() == MODULE.format(rows=rows(joint()))


@pytest.mark.slow
def test_the_winner_and_the_ties_come_out_as_published() -> None:
    assert counted_by(0) == {"player_a": 203_359_936, "player_b": 203_359_936, "tie": 450_528}
    ties: Counter[str] = Counter()
    for (winner, a, b, _), count in joint().items():
        if winner == "tie":
            assert a == b, "equal hands are of one category (D1)"
            ties[a] += count
    assert ties == {"high_card": 417_576, "pair": 11_232, "color": 3_288, "sequence": 18_288, "pure_sequence": 144}


@pytest.mark.slow
def test_two_equal_pairs_are_always_four_of_a_kind_in_the_bonus() -> None:
    bonuses_then = {cell[3] for cell in joint() if cell[:3] == ("tie", Category.PAIR, Category.PAIR)}
    assert bonuses_then == {BonusCategory.FOUR_OF_A_KIND}


@pytest.mark.slow
def test_all_six_card_sets_fall_into_the_known_numbers_of_each_bonus_category() -> None:
    sets, counts = cases(6)
    assert (len(sets), counts.sum()) == (962_988, 20_358_520)
    assert dict(zip(BONUSES, np.bincount(bonuses(), weights=counts), strict=True)) == {
        "royal_flush": 188,
        "straight_flush": 1_656,
        "four_of_a_kind": 14_664,
        "full_house": 165_984,
        "flush": 205_792,
        "straight": 361_620,
        "three_of_a_kind": 732_160,
        "none": 18_876_456,
    }


@pytest.mark.slow
@pytest.mark.parametrize(("bet", "column", "high_to_low"), [("pair+", 1, CATEGORIES), ("6card", 3, BONUSES)])
def test_the_side_bets_win_as_often_as_published(bet: str, column: int, high_to_low: tuple[str, ...]) -> None:
    published = next(row for row in VECTORS["bets"] if row["bet"] == bet)
    scale = DEALS // published["total"]
    assert [counted_by(column)[name] for name in high_to_low] == [count * scale for count, _ in published["outcomes"]]


if __name__ == "__main__":
    print(MODULE.format(rows=rows(joint())), end="")

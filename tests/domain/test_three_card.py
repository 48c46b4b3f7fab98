"""The ranking of three cards (T10-T17): every hand there is, the published pairs, and the seed's odd cases."""

import json
from collections import Counter
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.cards import DECK, Card, Suit, parse
from domain.hands.three_card import Category, rank

CASES = json.loads((Path(__file__).parents[1] / "data" / "three_card_pairs.json").read_text())["cases"]
EVERY_HAND = {hand: rank(hand) for hand in combinations(DECK, 3)}
three_cards = st.lists(st.sampled_from(DECK), min_size=3, max_size=3, unique=True)


def cards_of(words: list[str]) -> tuple[Card, ...]:
    return tuple(Card(word[0] + word[1].lower()) for word in words)


def winner(a: str, b: str) -> str:
    one, other = rank(parse(a)), rank(parse(b))
    return "A" if one > other else "B" if other > one else "tie"


def judged(case: dict[str, Any]) -> dict[str, Any]:
    a, b = rank(cards_of(case["a"])), rank(cards_of(case["b"]))
    return {
        "category_a": a.category,
        "category_b": b.category,
        "class_a": 742 - a.strength,
        "class_b": 742 - b.strength,
        "winner": "A" if a > b else "B" if b > a else "tie",
    }


def test_the_1000_published_pairs_are_judged_as_published() -> None:
    assert len(CASES) == 1000
    assert [case["id"] for case in CASES if case != case | judged(case)] == []


def test_the_22100_hands_fall_into_the_known_numbers_of_each_category() -> None:
    assert Counter(hand.category for hand in EVERY_HAND.values()) == {
        "trio_aces": 4,
        "trio": 48,
        "pure_sequence": 48,
        "sequence": 720,
        "color": 1_096,
        "pair": 3_744,
        "high_card": 16_440,
    }


def test_there_are_741_ranks_and_how_many_lie_in_each_category() -> None:
    ranks = set(EVERY_HAND.values())
    assert {hand.strength for hand in ranks} == set(range(1, 742))
    assert Counter(hand.category for hand in ranks) == {
        "trio_aces": 1,
        "trio": 12,
        "pure_sequence": 12,
        "sequence": 12,
        "color": 274,
        "pair": 156,
        "high_card": 274,
    }


def test_a_category_beats_every_hand_of_the_ones_below_it_t14() -> None:
    from_the_best = sorted(set(EVERY_HAND.values()), reverse=True)
    assert list(dict.fromkeys(hand.category for hand in from_the_best)) == list(Category)


def test_sequences_rank_akq_then_a23_then_kqj_down_to_432_t15() -> None:
    order = ["AKQ", "A23", "KQJ", "QJT", "JT9", "T98", "987", "876", "765", "654", "543", "432"]
    for suits, category in (("sss", Category.PURE_SEQUENCE), ("shd", Category.SEQUENCE)):
        hands = [rank(parse(" ".join(map("".join, zip(ranks, suits, strict=True))))) for ranks in order]
        assert hands == sorted(hands, reverse=True)
        assert {hand.category for hand in hands} == {category}
        assert len(set(hands)) == 12


@pytest.mark.parametrize(
    ("a", "b", "wins"),
    [
        ("Kh 9h 4h", "Ks 9d 4c", "A"),  # S20.4: the same ranks, but a colour
        ("Ks 9d 4c", "Kh 9c 4s", "tie"),  # S20.5
        ("As 2h 3d", "Ks Qh Jd", "A"),  # S20.6
        ("As 2s 3s", "Ah Kh Qh", "B"),  # S20.7
        ("Ks Ah 2d", "Ac Qd Js", "A"),  # S20.8: K-A-2 is a high card
        ("As Ah Ad", "Ac Kc Qc", "A"),  # S20.9
        ("7s 7h 2d", "8s 8h 3d", "B"),  # S20.10
        ("Ks Kh Qd", "Kd Kc 9s", "A"),  # T13: the third card decides
        ("2s 2h Ad", "3s 3h 4d", "B"),  # T17: the pair comes before the third card
        ("Ks Kh Kd", "Qs Qh Qd", "A"),  # T12
        ("Qs Js Ts", "Th 9h 8h", "A"),  # T12
        ("4h 3h 2h", "As Kh Qd", "A"),  # T14: the least pure sequence above the best sequence
        ("Ah Kh Jh", "As Ad 2c", "A"),  # T14: colour above pair
        ("As Kh Jd", "2s 2h 3d", "B"),  # T14: pair above high card
        ("Ah 9h 2h", "Ad 8d 7d", "A"),  # T16: colours by highest, then second, then third
    ],
)
def test_the_cases_the_seed_leaves_to_think_about(a: str, b: str, wins: str) -> None:
    assert winner(a, b) == wins


def test_k_a_2_is_nothing_however_it_is_suited() -> None:
    assert rank(parse("Ks Ah 2d")).category is Category.HIGH_CARD
    assert rank(parse("Ks As 2s")).category is Category.COLOR


@given(three_cards, st.permutations(tuple(Suit)))
def test_neither_the_order_of_the_cards_nor_the_names_of_the_suits_matter(
    hand: list[Card], renamed: list[Suit]
) -> None:
    names = dict(zip(Suit, renamed, strict=True))
    other = [Card(card[0] + names[card.suit]) for card in hand]
    assert {rank(cards) for cards in permutations(other)} == {rank(hand)}


@pytest.mark.parametrize("text", ["", "As", "As Kd", "As Kd 2c 3c", "As As Kd"])
def test_anything_but_three_different_cards_is_no_hand(text: str) -> None:
    with pytest.raises(ValueError, match="three different cards"):
        rank(parse(text))

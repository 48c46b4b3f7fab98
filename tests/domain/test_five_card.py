"""The 6 Card Bonus (T18, T24): the published deals, the seed's odd cases, and a second way to find the best five."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.cards import DECK, Card, Suit, parse
from domain.hands.five_card import BonusCategory, bonus

CASES = json.loads((Path(__file__).parents[1] / "data" / "six_card_bonus.json").read_text())["cases"]

six_cards = st.lists(st.sampled_from(DECK), min_size=6, max_size=6, unique=True)
six_close_cards = st.lists(st.sampled_from(parse("As Ks Qs Js Ts 9s Ah Kh Qh Ad Kd 2s 3s 4s 5s 2h 3h")), min_size=6,
                           max_size=6, unique=True)  # fmt: skip


def category_of_five(cards: tuple[Card, ...]) -> BonusCategory:
    """What five cards are, said in another way than the code does: by patterns of their sorted ranks."""
    ranks = "".join(sorted((card[0] for card in cards), key="23456789TJQKA".index))
    one_suit = len({card[1] for card in cards}) == 1
    straight = ranks in "23456789TJQKA" or ranks == "2345A"
    counts = sorted(ranks.count(each) for each in ranks)
    if one_suit and straight:
        return BonusCategory.ROYAL_FLUSH if ranks == "TJQKA" else BonusCategory.STRAIGHT_FLUSH
    if one_suit:
        return BonusCategory.FLUSH
    if straight:
        return BonusCategory.STRAIGHT
    return {
        (1, 4, 4, 4, 4): BonusCategory.FOUR_OF_A_KIND,
        (2, 2, 3, 3, 3): BonusCategory.FULL_HOUSE,
        (1, 1, 3, 3, 3): BonusCategory.THREE_OF_A_KIND,
    }.get(tuple(counts), BonusCategory.NONE)


def dealt(case: dict[str, Any]) -> list[Card]:
    return [Card(word[0] + word[1].lower()) for word in case["player_a"] + case["player_b"]]


def test_the_1000_published_deals_pay_as_published() -> None:
    assert len(CASES) == 1000
    assert [case["id"] for case in CASES if bonus(dealt(case)) != case["category"]] == []


@given(six_cards | six_close_cards)
def test_it_is_the_best_of_the_six_ways_to_leave_one_card_out(cards: list[Card]) -> None:
    best = min((category_of_five(five) for five in combinations(cards, 5)), key=list(BonusCategory).index)
    assert bonus(cards) == best


@given(six_cards | six_close_cards, st.data())
def test_neither_the_order_of_the_cards_nor_the_names_of_the_suits_matter(
    cards: list[Card], data: st.DataObject
) -> None:
    names = dict(zip(Suit, data.draw(st.permutations(tuple(Suit))), strict=True))
    other = [Card(card[0] + names[card.suit]) for card in data.draw(st.permutations(cards))]
    assert bonus(other) == bonus(cards)


@pytest.mark.parametrize(
    ("cards", "category"),
    [
        ("As Ah Ad Ac Kc Qc", "four_of_a_kind"),  # S20.9
        ("Ks Kh Kd Qs Qh Qd", "full_house"),  # S20.11: two trios are not three of a kind
        ("Ks Kh Kd Qs Qh 2d", "full_house"),
        ("As 2h 3d 4c 5s Kd", "straight"),  # S20.12, D3: the wheel
        ("As 2s 3s 4s 5s Kd", "straight_flush"),  # D3
        ("Qs Kh Ad 2c 3s 7d", "none"),  # S20.13: no way round the ace
        ("As Ks Qs Js Ts 9s", "royal_flush"),  # S20.14
        ("Ks Kh 7s Kd Kc 7h", "four_of_a_kind"),  # S20.15
        ("As Ks 9s 7s 4s 2s", "flush"),  # S20.16: six of one suit
        ("Ks Qs Js Ts 9s Ad", "straight_flush"),  # the ace of another suit makes no royal
        ("As Kh Qs Js Ts 9s", "flush"),  # a straight and a flush, but not of the same five
        ("As Ks Qs Js 9s Th", "flush"),
        ("7s 7h 7d 2c 9s Kd", "three_of_a_kind"),
        ("7s 7h 2d 2c 9s 9d", "none"),  # three pairs pay nothing
    ],
)
def test_the_cases_the_seed_leaves_to_think_about(cards: str, category: str) -> None:
    assert bonus(parse(cards)) == category


@pytest.mark.parametrize("text", ["", "As Ks Qs Js Ts", "As Ks Qs Js Ts 9s 8s", "As As Ks Qs Js Ts"])
def test_anything_but_six_different_cards_is_no_deal(text: str) -> None:
    with pytest.raises(ValueError, match="six different cards"):
        bonus(parse(text))

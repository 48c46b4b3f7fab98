"""Cards: one form in memory, JSON and text, and nothing else gets in."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.cards import DECK, Card, Rank, Suit, parse, show

hands = st.lists(st.sampled_from(DECK))


def test_the_deck_has_52_cards_by_suit_and_from_the_ace_up_for_ever() -> None:
    assert show(DECK) == (
        "As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks Ah 2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh "
        "Ad 2d 3d 4d 5d 6d 7d 8d 9d Td Jd Qd Kd Ac 2c 3c 4c 5c 6c 7c 8c 9c Tc Jc Qc Kc"
    )
    assert {(card.rank, card.suit) for card in DECK} == {(rank, suit) for rank in Rank for suit in Suit}


def test_a_card_knows_its_rank_and_suit() -> None:
    ten, ace = parse("Td Ac")
    assert (ten.rank, ten.suit) == (Rank.TEN, Suit.DIAMONDS)
    assert (ace.rank, ace.suit) == (Rank.ACE, Suit.CLUBS)
    assert [rank.name for rank in sorted(Rank, reverse=True)][:5] == ["ACE", "KING", "QUEEN", "JACK", "TEN"]


@given(hands)
def test_what_is_shown_reads_back(cards: list[Card]) -> None:
    assert parse(show(cards)) == tuple(cards)
    assert msgspec.json.decode(msgspec.json.encode(cards), type=list[Card]) == cards


def test_json_carries_the_plain_text() -> None:
    assert msgspec.json.encode({"cards": parse("As Td")}) == b'{"cards":["As","Td"]}'
    assert f"{parse('As')[0]}" == "As"


@pytest.mark.parametrize("text", ["AS", "as", "1s", "10s", "A", "s", "", "Ass", "sA", "A♠", "Ax", " As"])
def test_any_other_text_is_no_card(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode(text), type=Card)


def test_parse_names_the_word_that_is_no_card() -> None:
    with pytest.raises(ValueError, match="'Kx' is not a card"):
        parse("As Kx 2c")


def test_no_text_is_no_cards() -> None:
    assert parse(" ") == ()
    assert show(()) == ""

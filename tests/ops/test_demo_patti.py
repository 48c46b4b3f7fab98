"""What the demo proves of a hand of 3 Patti, against a service that lies."""

from typing import Any

import msgspec
import pytest

from domain import fairness
from domain.fairness import ClientSeed
from ops import demo_opening, demo_proof
from ops.client import OpenedDeck
from tests.ops.test_demo import Checked

SEED = bytes(range(32))
GIVEN = ClientSeed("ann", "ann-was-here")
DECK = fairness.shuffle(SEED, operator="demo", table="t", round="t.1", client_seeds=[GIVEN])
OPENINGS: list[dict[str, Any]] = [msgspec.to_builtins(fairness.opening(DECK, place)) for place in range(52)]
PLACES = {"ann": [0, 3, 6], "bo": [1, 4, 7], "cy": [2, 5, 8]}
HANDS = {player: tuple(DECK.cards[place] for place in places) for player, places in PLACES.items()}


# --- The verifier: no code of the house ---------------------------------------------------------------------------


def test_every_card_of_an_honest_deck_proves_itself() -> None:
    assert all(demo_opening.proves(DECK.root, opening) for opening in OPENINGS)


@pytest.mark.parametrize("place", [0, 1, 7, 31, 47, 48, 50, 51])
def test_a_forged_opening_is_found(place: int) -> None:
    true, next_card = OPENINGS[place], OPENINGS[(place + 1) % 52]
    other_salt = next_card["salt"]
    turned = [*true["path"]]
    turned[0] = bytes(byte ^ 1 for byte in bytes.fromhex(turned[0])).hex()
    forged = [
        {"card": next_card["card"]},
        {"index": next_card["index"]},
        {"index": place + 52},
        {"index": -1},
        {"salt": other_salt},
        {"path": turned},
        {"path": true["path"][1:]},
        {"path": true["path"][:-1]},
        {"path": [*true["path"], true["path"][-1]]},
        {"path": []},
    ]
    for lie in forged:
        assert not demo_opening.proves(DECK.root, true | lie), lie
    assert not demo_opening.proves("00" * 32, true)


# --- The show -----------------------------------------------------------------------------------------------------


def opened() -> dict[str, Any]:
    dealt = [
        {"seat": seat, "player": player, "cards": places} for seat, (player, places) in enumerate(PLACES.items(), 1)
    ]
    seeds = [{"player": GIVEN.player, "seed": GIVEN.seed}]
    return {"round": "t.1", "root": DECK.root, "client_seeds": seeds, "dealt": dealt}


def shown(asker: int = 1) -> dict[str, Any]:
    """The show of ann and bo, on seats 1 and 2."""
    hands = [
        {"seat": seat, "player": player, "cards": [*HANDS[player]], "openings": [OPENINGS[at] for at in PLACES[player]]}
        for seat, player in ((1, "ann"), (2, "bo"))
    ]
    return {"asker": asker, "hands": hands}


def of_show(told: dict[str, Any]) -> list[bool]:
    checked = Checked()
    demo_proof.check_show(opened(), told, DECK.root, checked)
    assert len(checked) == 2
    return list(checked.values())


def test_an_honest_show_proves_itself() -> None:
    assert of_show(shown()) == [True, True]


def test_a_card_that_is_not_that_of_its_opening_is_found() -> None:
    told = shown()
    told["hands"][0]["cards"][1] = DECK.cards[30]
    assert of_show(told) == [False, True]


def test_a_true_card_of_the_deck_that_was_dealt_to_nobody_here_is_found() -> None:
    told = shown()
    told["hands"][0]["cards"][1], told["hands"][0]["openings"][1] = DECK.cards[30], OPENINGS[30]
    assert of_show(told) == [True, False]


# --- The winner ---------------------------------------------------------------------------------------------------


def of_winner(told: dict[str, Any], **won: int) -> list[bool]:
    """A pot of 500 with a rake of 10."""
    seats = {"ann": 1, "bo": 2, "cy": 3}
    paid = {"ann": 250, "bo": 250, "cy": 0}
    results = [
        {"seat": seats[name], "player": name, "paid": paid[name], "won": won.get(name, 0)}
        for name in ("ann", "bo", "cy")
    ]
    checked = Checked()
    demo_proof.check_winner(told, {"pot": 500, "rake": 10, "results": results}, checked)
    return list(checked.values())


def test_the_better_hand_must_have_all_of_the_pot_but_the_rake() -> None:
    told = shown()
    better, worse = sorted(("ann", "bo"), key=lambda name: -demo_proof.strength(HANDS[name]))
    assert of_winner(told, **{better: 490}) == [True, True]
    for lie in ({worse: 490}, {better: 500}, {better: 245, worse: 245}, {"cy": 490}):
        assert of_winner(told, **lie) == [False, True]


def test_of_equal_hands_the_one_that_asked_must_lose() -> None:
    told = shown(asker=1)
    told["hands"][0]["cards"], told["hands"][1]["cards"] = ["2h", "5s", "9d"], ["2s", "5h", "9c"]
    assert of_winner(told, bo=490) == [True, True]
    assert of_winner(told, ann=490) == [False, True]


# --- The deck, opened for the auditor -----------------------------------------------------------------------------


def of_deck(**lies: Any) -> list[bool]:
    given = [{"player": GIVEN.player, "seed": GIVEN.seed}]
    deck = OpenedDeck("t.1", SEED.hex(), True, DECK.root, given, list(DECK.cards))
    checked = Checked()
    published, hands = lies.pop("published", fairness.seed_hash(SEED)), lies.pop("hands", HANDS)
    demo_proof.check_deck("demo", opened(), msgspec.structs.replace(deck, **lies), published, hands, checked)
    assert len(checked) == 3
    return list(checked.values())


def test_an_honest_deck_is_what_was_published_and_what_players_saw() -> None:
    assert of_deck() == [True, True, True]


def test_a_deck_that_is_not_what_was_published_or_seen_is_found() -> None:
    assert of_deck(seed=bytes(32).hex()) == [False, False, False]
    assert of_deck(published="00" * 32) == [False, True, True]
    assert of_deck(cards=[*reversed(DECK.cards)]) == [True, False, True]
    assert of_deck(hands=HANDS | {"cy": HANDS["bo"]}) == [True, True, False]

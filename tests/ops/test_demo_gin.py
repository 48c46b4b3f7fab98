"""What the demo proves of a match of Gin Rummy, against a service that lies."""

import copy
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from domain.cards import DECK, Card
from domain.game import Role, Viewer
from domain.games.gin_rummy import commands, events, melds
from domain.games.gin_rummy.rules import Config, LayOffBy
from domain.games.gin_rummy.state import LayingOff
from ops import demo_points, demo_proof
from ops.client import OpenedDeck
from ops.demo_guests import Follower, Sight
from tests.domain.gin_table import GAME, Table, sensible
from tests.ops.test_demo import Checked

NOBODY = Viewer("", Role.PLAYER)
Told = list[dict[str, Any]]


def played(seed: int, *, knocks_at: int = 10, **config: Any) -> Table:
    """One hand to its knock; whoever lays off himself does it at best."""
    table = Table(Config("INR", entry=1_000, target=1, **config), f"demo {seed}").seated()
    while not any(isinstance(event, events.RoundScored) for event in table.events):
        player = getattr(table.state, "player", None)
        if player is None:
            table.clock()
        elif isinstance(table.state, LayingOff):
            table.does(player, commands.LayDown())
        else:
            table.does(player, sensible(table.view(player), table.cards(player), knocks_at=knocks_at))
    return table


def of_last_hand(table: Table) -> Told:
    """As everybody was told it."""
    told = [as_told(GAME.public(event, NOBODY)) for event in table.events]
    begun = max(at for at, event in enumerate(told) if event["type"].endswith(".RoundOpened"))
    return told[begun:]


def as_told(event: object) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(event))


def the(told: Told, name: str) -> dict[str, Any]:
    return next(event for event in told if event["type"].endswith(f".{name}"))


HAND = of_last_hand(played(1, layoff=LayOffBy.DECLARED))
ROOT = the(HAND, "RoundOpened")["root"]


# --- Points, by no code of the house --------------------------------------------------------------------------------


@pytest.mark.parametrize(("knocks_at", "ends"), [(0, {"gin"}), (40, {"knock", "undercut"})])
def test_hands_score_by_the_demo_s_own_count_what_the_house_says(knocks_at: int, ends: set[str]) -> None:
    hands = (of_last_hand(played(seed, knocks_at=knocks_at, knock_limit=98)) for seed in range(20))
    seen = set[str]()
    for scored in (the(told, "RoundScored") for told in hands):
        knocker, opponent = scored["knocker"], scored["opponent"]
        assert demo_points.laid_out(knocker, opponent)
        assert demo_points.score(knocker, opponent) == (scored["why"], scored["winner"], scored["points"])
        seen.add(scored["why"])
    assert seen >= ends


def test_of_equal_hands_the_one_that_did_not_knock_has_won() -> None:
    knocker, opponent = ({"player": player, "melds": [], "deadwood": ["5h"]} for player in ("ann", "bo"))
    assert demo_points.score(knocker, opponent) == ("undercut", "bo", 10)


def test_a_meld_is_what_the_house_calls_one() -> None:
    chance = random.Random(1)
    near = [card for card in DECK if card.rank in (5, 6, 7, 8)]
    for _ in range(2_000):
        cards = chance.sample(near, chance.choice([2, 3, 3, 4]))
        assert demo_points.is_meld(cards) == melds.is_meld(cards), cards
    for cards in ("As 2s 3s", "Qs Ks As", "Ks As 2s", "Js Qs Ks"):
        hand = [Card(each) for each in cards.split()]
        assert demo_points.is_meld(hand) == melds.is_meld(hand), cards


def test_equal_cards_drawn_for_the_roles_are_ordered_by_what_is_drawn_next() -> None:
    def draw(**cards: str) -> dict[str, Any]:
        return {"cards": [{"player": player, "card": card} for player, card in cards.items()]}

    assert demo_points.order([draw(ann="Ah", bo="Kd", cy="2s")]) == ["bo", "cy", "ann"]
    assert demo_points.order([draw(ann="7h", bo="7d", cy="Qs"), draw(ann="3h", bo="9h")]) == ["cy", "bo", "ann"]


# --- The hand -------------------------------------------------------------------------------------------------------


def of_hand(change: Callable[[Told], object] = lambda _: None, root: str = ROOT) -> list[bool]:
    told = copy.deepcopy(HAND)
    change(told)
    checked = Checked()
    demo_proof.check_laid_out(told, root, checked)
    assert len(checked) == 3
    return list(checked.values())


def test_an_honest_hand_proves_itself() -> None:
    assert of_hand() == [True, True, True]


def test_another_root_is_found() -> None:
    assert of_hand(root="00" * 32) == [False, True, True]


def test_a_card_that_is_not_that_of_its_opening_is_found() -> None:
    def lie(told: Told) -> None:
        hand, proofs = the(told, "RoundScored")["opponent"], the(told, "RoundSettled")["openings"]
        unseen = next(card for card in DECK if all(proof["card"] != card for proof in proofs))
        cards = hand["deadwood"] or hand["melds"][0]
        cards[0] = unseen

    assert of_hand(lie) == [True, True, False]


def test_an_opening_of_another_card_is_found() -> None:
    def lie(told: Told) -> None:
        proofs = the(told, "RoundSettled")["openings"]
        proofs[0]["card"], proofs[1]["card"] = proofs[1]["card"], proofs[0]["card"]

    assert not of_hand(lie)[0]


def test_a_card_drawn_from_the_middle_of_the_stock_is_found() -> None:
    def lie(told: Told) -> None:
        drawn = next(event for event in told if event.get("source") == "stock")
        drawn["place"] = 51

    assert of_hand(lie)[1:] == [False, False]


# --- The points -----------------------------------------------------------------------------------------------------


def of_points(**lies: Any) -> list[bool]:
    scored, settled = copy.deepcopy(the(HAND, "RoundScored")), copy.deepcopy(the(HAND, "RoundSettled"))
    if "unmatched" in lies:
        scored["knocker"]["points"] = lies.pop("unmatched")
    if "total" in lies:
        winner = next(each for each in settled["results"] if each.get("points"))
        winner["total"] += lies.pop("total")
    checked = Checked()
    demo_proof.check_points({**scored, **lies}, settled, checked)
    assert len(checked) == 3
    return list(checked.values())


def test_points_that_are_not_what_the_hands_score_are_found() -> None:
    scored = the(HAND, "RoundScored")
    assert of_points() == [True, True, True]
    assert of_points(unmatched=99) == [False, True, True]
    assert of_points(points=scored["points"] + 1) == [True, False, True]
    assert of_points(why="stock") == [True, False, True]
    assert of_points(total=1) == [True, True, False]


# --- Roles and deck, opened for the auditor ---------------------------------------------------------------------------


def of_roles(swapped: bool) -> list[bool]:
    table = Table(entropy="roles").seated()
    told = [as_told(event) for event in table.events]
    begun, opened = the(told, "MatchOpened"), the(told, "RoundOpened")
    cards = begun["draws"][0]["cards"]
    if swapped:
        cards[0]["card"], cards[1]["card"] = cards[1]["card"], cards[0]["card"]
    on = table.state.round
    deck = OpenedDeck(on.id, table.memory.open(on.id, on.seed).hex(), True)
    checked = Checked()
    demo_proof.check_roles(on.operator, begun, opened, deck, checked)
    return list(checked.values())


def test_cards_drawn_for_the_roles_must_be_those_of_the_seed() -> None:
    assert of_roles(swapped=False) == [True]
    assert of_roles(swapped=True) == [False]


# --- What a live stream showed ----------------------------------------------------------------------------------------


def test_a_card_that_is_seen_before_its_time_is_found() -> None:
    follower = Follower()
    for position, view in ((3, b'{"draws":["2s"]}'), (5, b'{"cards":["Kd"]}'), (9, b'{"top":"Ah"}')):
        follower.sights.append(Sight(position, msgspec.Raw(view)))
    assert follower.early({"Kd": 5, "Ah": 9, "2s": 4}, since=4) == set()
    assert follower.early({"Kd": 6, "Ah": 9, "2s": 4}, since=4) == {"Kd"}
    assert follower.early({"Kd": 6, "2s": 4}, since=0) == {"Kd", "2s"}

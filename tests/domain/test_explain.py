"""Rounds explained in words: what they say, that every sum in them is right, and that what is wrong is contradicted."""

import random
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from domain import fairness, wording
from domain.cards import DECK, Rank, parse
from domain.game import PaidOut, Resulted, Role, Unexplained, Viewer
from domain.games import GAMES
from domain.games.gin_rummy.events import MatchSettled
from domain.games.teen_patti_2020 import events as of_2020
from domain.games.teen_patti_2020.pays import Result, Spot, returns, showdown
from domain.games.teen_patti_2020.rules import SLOTS, Config
from domain.hands import wording as hands
from domain.hands.five_card import BonusCategory, best_five, bonus
from domain.hands.three_card import rank
from domain.money import Bet, Payout, Wager
from tests.domain import gin_table, patti_table
from tests.domain.test_gin_rummy_ends import drawn_hand, patched
from tests.domain.told_rounds import Told, cards_in, every_written_round, last_number, rounds, sums, written

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(autouse=True)
def _decks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same deck is shuffled for every look: here it is kept, as a process that deals keeps it."""
    monkeypatch.setattr(fairness, "shuffle", lru_cache(maxsize=64)(fairness.shuffle))


# --- What is said -----------------------------------------------------------------------------------------------------

TEXTS = re.findall(r"# (\S+) (\S+)\n(.+?)\n(?=\n#|\Z)", (DATA / "explained.txt").read_text(), re.DOTALL)
"""A written round, one of its rounds, and all that is said of it."""


@pytest.mark.parametrize(("name", "round_id", "text"), TEXTS, ids=[f"{name} {each}" for name, each, _ in TEXTS])
def test_a_round_is_told_in_these_words(name: str, round_id: str, text: str) -> None:
    assert written(name)[round_id].text().splitlines() == text.splitlines()


def test_these_words_are_of_every_game_and_of_many_ends() -> None:
    assert {name.partition("/")[0] for name, *_ in TEXTS} == set(GAMES)
    assert len(TEXTS) == 16


def test_a_hand_that_ends_in_the_first_circuit_pays_no_rake_and_says_so() -> None:
    table = patti_table.Table(replace(patti_table.SMALL, rake_bps=500)).seated(500, 500, 500)
    while (seat := getattr(table.state, "seat", None)) is not None:
        table.does(table.state.round.at(seat).player, patti_table.commands.Fold())
    [told] = rounds(patti_table.GAME, table.memory.log).values()
    assert "No rake is taken from a hand that ends in the first circuit." in told.round()


def test_a_prize_that_two_share_is_told_to_the_odd_unit() -> None:
    """A hundred hands are over, and two have as much."""
    config = replace(gin_table.SMALL, rake_bps=150)
    table = patched(gin_table.Table(config).seated("cid", "ann", "bob"), hands=99, totals=[30, 20, 30])
    match = table.state.table.match
    drawn_hand(table)
    [told, *_] = rounds(gin_table.GAME, table.memory.log).values()
    story = [replace(event, match=match) if hasattr(event, "upcard") else event for event in told.story]
    told = Told(told.game, story, told.payouts)
    assert "cid and bob won the match, with the highest total after 100 hands (D14)." in told.round()
    whole, share = "3,000 - 45 = 2,955", "1,477 each, and 1 odd, one each in the order of the seats"
    assert told.paid() == [
        f"cid's entry of 1,000: cid won one of 2 shares of the prize less the rake, {whole}: {share}; "
        "returned: 1,478 (14.78 INR).",
        "ann's entry of 1,000: ann did not win the match; returned: 0 (0.00 INR).",
        f"bob's entry of 1,000: bob won one of 2 shares of the prize less the rake, {whole}: {share}; "
        "returned: 1,477 (14.77 INR).",
    ]


def test_a_match_that_ends_between_hands_is_explained_from_its_last_hand_on() -> None:
    table = gin_table.Table(replace(gin_table.SMALL, players=2)).seated()
    table.plays_hand()
    table.does("ann", gin_table.commands.LeaveTable())
    story = table.events
    paid = [each for each in gin_table.GAME.chips(story[-1]) if isinstance(each, PaidOut)]
    told = Told(gin_table.GAME, story, [(each.player, each.payout) for each in paid])
    assert "bob won the match, being the only one left (D14)." in told.round()
    assert [last_number(sentence) for sentence in told.paid()] == [0, 2_000]
    ended = told.story[next(at for at, event in enumerate(story) if isinstance(event, MatchSettled)) :]
    with pytest.raises(Unexplained, match="none of these events"):
        gin_table.GAME.explains_payout(ended, "bob", told.payouts[1][1])


def test_a_currency_without_decimals_has_none() -> None:
    assert wording.money(1_234_567, "INR") == "1,234,567 (12,345.67 INR)"
    assert wording.money(1_234_567, "VND") == "1,234,567 (1,234,567 VND)"
    assert wording.money(5, "BHD") == "5 (0.005 BHD)"


# --- Whatever may come ------------------------------------------------------------------------------------------------


def dealt_2020(chance: random.Random) -> Told:
    """Any six cards, and a bet on every spot."""
    cards = tuple(chance.sample(DECK, 6))
    if chance.random() < 0.5:  # many of a rank or suit
        suit = chance.choice("sh")
        cards = tuple(chance.sample([card for card in DECK if card.suit == suit or card.rank > Rank.JACK], 6))
    config = Config(chance.choice(["INR", "JPY", "KWD"]))
    story = [of_2020.RoundOpened("t.1", 1, 1, config, None, None, (), 0, (), 0)]
    story += [of_2020.CardDealt("t.1", slot, card, None, 0) for slot, card in zip(SLOTS, cards, strict=True)]
    story += [of_2020.RoundResulted("t.1", shown := showdown(cards), 0)]
    bet = Bet("b", "t.1", tuple(Wager(spot, 20 * chance.randint(1, 10**9)) for spot in Spot))
    paid = returns(Resulted("t.1", Result(shown, config.pay_table)), (bet,))
    return Told(GAMES["teen_patti_2020"], story, [("ann", payout) for payout in paid])


@lru_cache(maxsize=1)
def _some_rounds() -> list[Told]:
    chance = random.Random(5)
    told = [dealt_2020(chance) for _ in range(400)]
    for seed in range(8):
        patti = patti_table.story(5_000 + seed, 250, lambda *_: None)
        told += rounds(patti_table.GAME, patti.memory.log).values()
        gin = gin_table.story(5_000 + seed, 250, lambda *_: None)
        told += rounds(gin_table.GAME, gin.memory.log).values()
    return told


def some_rounds() -> Iterator[Told]:
    yield from _some_rounds()
    yield from every_written_round()


def test_every_payout_of_every_round_is_explained_to_the_unit() -> None:
    explained = dict.fromkeys(GAMES, 0)
    for told in some_rounds():
        for (_, payout), sentence in zip(told.payouts, told.paid(), strict=True):
            assert last_number(sentence) == payout.returned
            explained[told.game.name] += 1
        wrong = [each for each, right in sums(told.text()) if not right]
        assert not wrong
    assert all(count > 50 for count in explained.values()), explained


def test_no_card_is_named_that_everybody_could_not_read_in_the_events() -> None:
    nobody, named = Viewer("", Role.PLAYER), set[str]()
    for told in some_rounds():
        public = msgspec.json.encode([told.game.public(event, nobody) for event in told.story]).decode()
        named |= (cards := cards_in(told.text()))
        assert all(f'"{card}"' in public for card in cards)
    assert len(named) == 52


def test_a_changed_payout_is_contradicted() -> None:
    for told in some_rounds():
        for player, payout in told.payouts:
            for changed in _changed_payouts(payout):
                if changed == replace(payout, staked=changed.staked) and payout.odds == "lost" and in_wallets(told):
                    continue  # what a lost stake was stands in the bettor's wallet
                with pytest.raises(Unexplained, match=r"told is|no spot"):
                    told.game.explains_payout(told.story, player, changed)


def in_wallets(told: Told) -> bool:
    return told.game.name == "teen_patti_2020"


def _changed_payouts(payout: Payout) -> tuple[Payout, ...]:
    return (
        replace(payout, returned=payout.returned + 1),
        replace(payout, returned=payout.returned - 1),
        replace(payout, odds="lost" if payout.odds != "lost" else "won"),
        replace(payout, spot="elsewhere"),
        replace(payout, staked=payout.staked + 20),
    )


def test_the_payout_of_somebody_else_is_contradicted() -> None:
    for told in some_rounds():
        if told.payouts and not in_wallets(told):
            with pytest.raises(Unexplained, match="nobody"):
                told.game.explains_payout(told.story, "nobody", told.payouts[0][1])


SHOWN = showdown(parse("Jd 6h 4c 7h Ah 3h"))
GIN, MATCH = "gin_rummy/gin t.1", "gin_rummy/match t.4"
FORGED = [
    ("teen_patti_2020/round t.1", "RoundResulted", {"showdown": SHOWN}, "the result that was recorded is another one"),
    ("three_patti/hand t.1", "RoundSettled", {"pot": 524}, "the pot is 525"),
    ("three_patti/hand t.1", "RoundSettled", {"rake": 1}, "the rake 0"),
    ("three_patti/hand t.1", "RoundSettled", {"why": "folds"}, r"\(show\); told is .* \(folds\)"),
    ("three_patti/hand t.1", "RoundSettled", {"results.1.won": 524}, "got 524"),
    ("three_patti/hand t.1", "RoundSettled", {"dealer.player": "bob"}, "by the rules dee deals next"),
    ("three_patti/hand t.1", "HandsShown", {"hands.0.category": "trio"}, "a color of ace, ten and two; told is trio"),
    ("three_patti/hand t.1", "HandsShown", {"hands.0.cards": ["Ac", "Ac", "Tc"]}, "not three different cards"),
    ("three_patti/equal_hands t.1", "HandsShown", {"asker": 2}, "ann put in 20 and got 50"),
    ("three_patti/full_pot t.1", "HandsShown", {"hands": []}, "not those of the players still in the hand"),
    (GIN, "RoundScored", {"points": 37}, "gin and 36 points for ann; told is gin and 37"),
    (GIN, "RoundScored", {"winner": "cid"}, "36 points for ann; told is gin and 36 for cid"),
    (GIN, "RoundScored", {"opponent.points": 12}, "4 \\+ 3 \\+ 4 = 11 make 11 in a hand of 10; told is 12"),
    (GIN, "RoundScored", {"opponent.deadwood": ["4s", "7c"]}, "in a hand of 10"),
    (
        GIN,
        "RoundScored",
        {"opponent.melds.1": ["2h", "3h", "4s", "5h"], "opponent.deadwood": ["4h", "3c", "4c"]},
        "not laid out by the rules",
    ),
    (GIN, "Knocked", {"spread.melds": []}, "not the one that was laid down at the knock"),
    (GIN, "RoundSettled", {"winner": "bob"}, "by gin for ann; told is gin for bob"),
    (GIN, "RoundSettled", {"results.0.total": 37}, "the totals are ann 0 \\+ 36 = 36"),
    (GIN, "RoundOpened", {"limit": 11}, "the knock limit is 10"),
    ("gin_rummy/drawn t.1", "RoundSettled", {"why": "pile"}, "ended by stock for None; told is pile"),
    (MATCH, "MatchSettled", {"rake": 74}, "rake 75.*told is.*rake 74"),
    (MATCH, "MatchSettled", {"results.0.won": 2_926}, "ann 2,925 for 1,000.*told is.*ann 2,926"),
    (MATCH, "MatchSettled", {"type": "gin_rummy.MatchRefunded", "reason": "so"}, "ann won the match; told is that it"),
    ("gin_rummy/pause t.3", "MatchRefunded", {"results.0.won": 999}, "ann 1,000 for 1,000.*told is.*ann 999"),
]
"""A round, an event of it, what is changed in it, and what is then said."""


@pytest.mark.parametrize(
    ("name", "event", "change", "said"), FORGED, ids=[f"{name} {event} {[*each]}" for name, event, each, _ in FORGED]
)
def test_a_result_that_does_not_follow_is_contradicted(
    name: str, event: str, change: dict[str, Any], said: str
) -> None:
    file, round_id = name.split()
    told = written(file)[round_id]
    forged = [_with(each, change, told) if type(each).__name__ == event else each for each in told.story]
    assert forged != told.story
    with pytest.raises(Unexplained, match=said):
        told.game.explains_round(forged)


def _with(event: Any, change: dict[str, Any], told: Told) -> Any:
    """The event with other values, by their paths in its stored form."""
    stored = msgspec.to_builtins(event)
    for path, value in change.items():
        *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        holder = stored
        for step in way:
            holder[step] = [*holder[step]] if isinstance(holder[step], tuple) else holder[step]
            holder = holder[step]
        holder[last] = value
    return msgspec.convert(stored, told.game.events)


def test_events_that_open_no_round_explain_nothing() -> None:
    for game in GAMES.values():
        with pytest.raises(Unexplained, match="none of these events"):
            game.explains_round(())


def test_whatever_is_missing_or_changed_is_contradicted_and_nothing_else_goes_wrong() -> None:
    """Events left out, twice, out of order, or with a number or a word of another one."""
    chance, contradicted = random.Random(7), 0
    for told in some_rounds():
        for _ in range(6):
            forged = _forged(told, chance)
            try:
                told.game.explains_round(forged)
                for player, payout in told.payouts:
                    told.game.explains_payout(forged, player, payout)
            except Unexplained:
                contradicted += 1
    assert contradicted > 1_000


def _forged(told: Told, chance: random.Random) -> list[Any]:
    story = list(told.story)
    at, other = chance.randrange(len(story)), chance.randrange(len(story))
    match chance.randrange(4):
        case 0:
            del story[at]
        case 1:
            story.insert(other, story[at])
        case 2:
            story[at], story[other] = story[other], story[at]
        case _:
            story[at] = _changed(story[at], told, chance)
    return story


def _changed(event: Any, told: Told, chance: random.Random) -> Any:
    """One value of the event is another one of its kind."""
    stored = msgspec.to_builtins(event)
    places = list(_places(stored))
    if not places:
        return event
    holder, key = chance.choice(places)
    kin = [h[k] for h, k in _places([*map(msgspec.to_builtins, told.story)]) if type(h[k]) is type(holder[key])]
    holder[key] = holder[key] + 1 if isinstance(holder[key], int) and chance.random() < 0.5 else chance.choice(kin)
    try:
        return msgspec.convert(stored, told.game.events)
    except msgspec.ValidationError:
        return event


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every plain value in it, as what holds it and where."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(each, dict | list):
            yield from _places(each)
        elif key != "type":
            yield value, key


# --- Hands in words ---------------------------------------------------------------------------------------------------


def test_the_reason_why_a_hand_beats_another_is_one() -> None:
    """Of every two neighbours of the 741 ranks, and of many others."""
    chance = random.Random(3)
    of_rank = {rank(cards).strength: cards for cards in (chance.sample(DECK, 3) for _ in range(60_000))}
    assert len(of_rank) > 600
    ladder = [of_rank[strength] for strength in sorted(of_rank)]
    others = (sorted(chance.sample(ladder, 2), key=rank) for _ in range(2_000))
    for lower, higher in [*pairwise(ladder), *others]:
        why = hands.beats(higher, lower)
        if " beats " in why:
            assert rank(higher).category != rank(lower).category
        else:
            above, below = why.rpartition(", ")[2].removeprefix("and ").removeprefix("both hold ").split(" is above ")
            assert Rank[above.split()[-1].upper()] > Rank[below.upper()], why


def test_the_best_five_are_what_they_are_called() -> None:
    chance, found = random.Random(4), set[BonusCategory]()
    suited = [card for card in DECK if card.suit in "sh"]
    for _ in range(20_000):
        cards = tuple(chance.sample(chance.choice([DECK, suited, suited[8:18]]), 6))
        category, making = bonus(cards), best_five(cards)
        found.add(category)
        assert set(making) <= set(cards)
        ranks = [card.rank for card in making]
        match category:
            case BonusCategory.NONE:
                assert making == ()
            case BonusCategory.THREE_OF_A_KIND | BonusCategory.FOUR_OF_A_KIND:
                assert (len(set(ranks)), len(ranks)) == (1, 3 if "three" in category else 4)
            case BonusCategory.FULL_HOUSE:
                assert sorted(map(ranks.count, ranks)) == [2, 2, 3, 3, 3]
            case _:
                one_suit, in_a_row = len({card.suit for card in making}) == 1, _in_a_row(ranks)
                assert len(making) == 5
                assert one_suit == (category is not BonusCategory.STRAIGHT)
                assert in_a_row == (category is not BonusCategory.FLUSH)
                assert (category is BonusCategory.ROYAL_FLUSH) == (one_suit and in_a_row and ranks[-1] == Rank.TEN)
    assert len(found) >= 6


def _in_a_row(ranks: list[Rank]) -> bool:
    return [high - low for high, low in pairwise(ranks)] == [1] * 4 or ranks == [5, 4, 3, 2, 14]

"""The bots of Gin Rummy play whole matches at a table in memory, by nothing but what they see."""

import random
from collections import Counter
from functools import cache

import msgspec
import pytest

from domain.cards import Card
from domain.games import gin_rummy
from domain.games.gin_rummy import commands, events
from domain.games.gin_rummy.rules import Config, LayOffBy
from ops import bots_gin, demo_house
from ops.bots_gin import TEMPERS, at_the_table, wanted
from ops.bots_table import Move
from ops.client_gin import Allowed, Knockable, Roles, Seat, View
from tests.domain.gin_table import Table, whose_turn

CONFIG = msgspec.convert(demo_house.TABLES["gin_rummy"]["gin-1"], Config)
MATCHES = 3


def seen(table: Table, player: str) -> View:
    """What the API would send."""
    return msgspec.json.decode(msgspec.json.encode(table.view(player)), type=View)


def does(table: Table, player: str, move: Move) -> None:
    """Raises Rejected if the table refuses it."""
    table.does(player, msgspec.convert({"type": move.command, **move.fields}, commands.Player))


def evening(seed: int, config: Config) -> Table:
    """The bots at the table of `croupier up`, who sit down again after each match."""
    chance = random.Random(seed)
    table = Table(config, f"evening {seed}", tuple(TEMPERS))
    while sum(isinstance(event, events.MatchSettled) for event in table.events) < MATCHES:
        player = whose_turn(table.state)
        if player is None:
            for name in chance.sample(list(TEMPERS), len(TEMPERS)):
                if move := at_the_table(seen(table, name), chance.random()):
                    does(table, name, move)
            table.clock()
            continue
        adviser = table.state.round.roles.sitting_out
        for name in (player, adviser):
            if move := wanted(TEMPERS[name], seen(table, name), chance.random()):
                does(table, name, move)
    return table


@cache
def told() -> list[object]:
    """Every move in these evenings was allowed, or they would have ended there."""
    declared = msgspec.structs.replace(CONFIG, layoff=LayOffBy.DECLARED)
    return [event for seed, config in enumerate((CONFIG, declared)) for event in evening(seed, config).events]


def test_matches_end_by_points_and_their_hands_in_knocks_undercuts_and_gin() -> None:
    ends = Counter(str(event.why) for event in told() if isinstance(event, events.RoundSettled))
    assert min(ends["knock"], ends["undercut"], ends["gin"]) >= 1
    assert ends["knock"] > ends["stock"] + ends["pile"]
    won = [event.why for event in told() if isinstance(event, events.MatchSettled)]
    assert won == ["target"] * 2 * MATCHES


def test_the_platform_never_has_to_play_for_a_bot() -> None:
    assert not [event for event in told() if isinstance(event, events.TurnMissed | events.Forfeited)]


def test_cards_are_drawn_from_both_piles_and_captains_are_advised_now_and_then() -> None:
    sources = Counter(str(event.source) for event in told() if isinstance(event, events.CardDrawn))
    assert sources["stock"] > sources["pile"] >= 10
    kinds = Counter(type(event).__name__ for event in told())
    assert kinds["AdviceAsked"] >= kinds["AdviceGiven"] >= 1


# --- One move -----------------------------------------------------------------------------------------------------

RUN, SET = ("4h", "5h", "6h"), ("9s", "9h", "9d")


def on_turn(*cards: str, top: str = "2c", **allowed: Allowed) -> View:
    roles = Roles("box", "me", "out")
    seats = (Seat("me", "playing", cards=cards), Seat("box", "playing"), Seat("out", "sitting_out"))
    return View("drawing", seats, roles, "t.1", top, 20, "me", allowed=tuple(allowed.values()))


def drawing(top: str, *sources: str) -> View:
    return on_turn(*RUN, "9s", "9h", "Kd", "Qc", "7c", "3d", "As", top=top, may=Allowed("Draw", sources=sources))


@pytest.mark.parametrize("temper", TEMPERS.values())
def test_a_card_that_makes_a_meld_is_taken_from_the_pile_and_no_other(temper: bots_gin.Temper) -> None:
    for meld in ("9c", "7h", "3h"):
        assert temper(drawing(meld, "stock", "pile"), 0.5) == Move("Draw", source="pile")
    for other in ("Ah", "Kc"):
        assert temper(drawing(other, "stock", "pile"), 0.5) == Move("Draw", source="stock")


def test_an_upcard_that_makes_no_meld_is_declined() -> None:
    def chosen(top: str) -> Move:
        return TEMPERS["bot-mira"](drawing(top, "pile"), 0.5)

    assert (chosen("2c"), chosen("9d")) == (Move("Decline"), Move("Draw", source="pile"))


def discarding(*knocks: Knockable, taken: str = "") -> View:
    hand = (*RUN, *SET, "Kd", "Kc", "Qc", "8c", "As")
    may = Allowed("Discard", cards=tuple(card for card in hand if card != taken))
    return on_turn(*hand, may=may, knock=Allowed("Knock", knocks=knocks)) if knocks else on_turn(*hand, may=may)


def test_the_dearest_unmatched_card_goes_but_never_the_one_just_taken() -> None:
    assert TEMPERS["bot-mira"](discarding(), 0.5) == Move("Discard", card="Kd")
    assert TEMPERS["bot-mira"](discarding(taken="Kd"), 0.5) == Move("Discard", card="Kc")


def test_whoever_is_patient_keeps_what_may_become_a_meld() -> None:
    assert TEMPERS["bot-nils"](discarding(), 0.5) == Move("Discard", card="8c")
    assert TEMPERS["bot-nils"](discarding(taken="8c"), 0.5) == Move("Discard", card="As")


def test_tempers_differ_in_when_they_knock() -> None:
    dear, cheap, gin = Knockable("Kd", 9), Knockable("Kd", 3), Knockable("Qc", 0)

    def knock(name: str, *knocks: Knockable) -> bool:
        return TEMPERS[name](discarding(*knocks), 0.5).command == "Knock"

    assert [knock("bot-mira", each) for each in (dear, cheap, gin)] == [True, True, True]
    assert [knock("bot-nils", each) for each in (dear, cheap, gin)] == [False, True, True]
    assert [knock("bot-omar", each) for each in (dear, cheap, gin)] == [False, False, True]
    assert TEMPERS["bot-omar"](discarding(dear, gin), 0.5).card == "Qc", "the best of all knocks"


def test_nobody_waits_for_gin_until_the_stock_is_gone() -> None:
    late = msgspec.structs.replace(discarding(Knockable("Kd", 9)), stock=5)
    assert all(temper(late, 0.5) == Move("Knock", card="Kd") for temper in TEMPERS.values())


def test_nobody_acts_out_of_turn_and_a_hand_is_laid_down_at_best() -> None:
    idle = on_turn(may=Allowed("LeaveTable"))
    assert all(wanted(temper, idle, 0.0) is None for temper in TEMPERS.values())
    laying = on_turn(*RUN, may=Allowed("LayDown"), lay=Allowed("LayOff"))
    assert all(wanted(temper, laying, 0.5) == Move("LayDown") for temper in TEMPERS.values())


def test_advice_is_given_once_and_is_about_the_captain_s_cards() -> None:
    asked = msgspec.structs.replace(drawing("9c"), allowed=(Allowed("SendAdvice"),))
    assert wanted(TEMPERS["bot-mira"], asked, 0.5) == Move("SendAdvice", text="I would take the 9c")
    answered = msgspec.structs.replace(asked, advice=("I would take the 9c",))
    assert wanted(TEMPERS["bot-mira"], answered, 0.5) is None
    drawn = msgspec.structs.replace(discarding(), phase="discarding")
    assert bots_gin.advice(drawn) == "I would discard the Kd"


def test_a_seat_is_taken_with_the_entry_but_not_at_once() -> None:
    between = View("between", allowed=(Allowed("SitDown", amount=5_000),))
    assert at_the_table(between, 0.1) == Move("SitDown", amount=5_000)
    assert at_the_table(between, 0.7) is None
    assert at_the_table(View("closed"), 0.0) is None


def test_a_king_beside_an_ace_is_lonely() -> None:
    hand = tuple(map(Card, (*RUN, *SET, "Ks", "Jd", "2c", "5s", "As")))
    assert gin_rummy.melds.best(hand).points == 28
    assert bots_gin.lonely(hand, Allowed("Discard", cards=hand)) == Move("Discard", card="Ks")


# --- What is told -------------------------------------------------------------------------------------------------


def line(event: dict[str, object]) -> str:
    return " ".join((bots_gin.told(event) or "").split())


def test_a_hand_and_a_match_are_told_with_points_and_without_cards() -> None:
    results = [
        {"player": "ann", "paid": 0, "won": 0, "points": 12, "total": 47, "cards": ["Ah", "As"]},
        {"player": "bo", "paid": 0, "won": 0, "cards": ["Kd"]},
        {"player": "cy", "paid": 0, "won": 0, "total": 30},
    ]
    hand = {"type": "gin_rummy.RoundSettled", "round": "t.7", "why": "knock", "results": results}
    played = "t.7 ann and bo played, ended by knock ann scored 12; totals ann 47, bo 0, cy 30"
    assert line(hand) == played
    drawn = [{**each, "points": 0, "cards": []} for each in results]
    assert "ended by stock nobody scored" in line({**hand, "why": "stock", "results": drawn})
    paid = [{"player": "ann", "won": 14_625, "total": 101}, {"player": "bo", "won": 0}]
    match = {"type": "gin_rummy.MatchSettled", "match": "t.m2", "why": "target", "results": paid}
    assert line(match) == "t.m2 match over, by target: ann won 146.25; totals ann 101, bo 0"
    assert bots_gin.told({"type": "gin_rummy.Discarded", "card": "Kd"}) is None

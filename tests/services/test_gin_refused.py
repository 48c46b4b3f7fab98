"""Gin Rummy over real HTTP: what is refused, and that nothing then changes but the record of it."""

import asyncio

import pytest

from domain.cards import Card
from domain.game import Role
from tests.services.conftest import assert_problem
from tests.services.gin_http import ENTRY, GinTable, fitting, melds_of, no_meld, told
from tests.services.seats_http import CASH, balance, unchanged


@pytest.fixture
def casino(house_of_module):
    return house_of_module


@pytest.fixture(scope="module")
async def waiting(house_of_module):
    """A table where whoever is on turn never does what is allowed."""
    gin = await GinTable(house_of_module, "waiting").open("a", "b", "c")
    captain, *_ = await gin.dealt()
    await gin.takes(captain)
    return gin


async def test_whoever_is_not_in_the_hand_or_not_on_turn_is_refused_and_nothing_changes(casino):
    gin = await GinTable(casino, "turns").open("a", "b", "c")
    await gin.arrive("outside")
    assert_problem(await gin.send("a", "Draw", source="stock"), 409, "NoRoundOn")
    captain, box, out = await gin.dealt()
    before = await unchanged(casino)
    mine, his = (await gin.hand(captain))[0], (await gin.hand(box))[0]
    acts = (
        ("Decline", {}),
        ("Draw", {"source": "stock"}),
        ("Draw", {"source": "pile"}),
        ("Discard", {"card": mine}),
        ("Knock", {"card": mine}),
        ("LayOff", {"card": mine, "meld": 0}),
        ("LayDown", {}),
    )
    for kind, fields in acts:
        assert_problem(await gin.send(out, kind, **fields), 409, "NotInHand")
        assert_problem(await gin.send("outside", kind, **fields), 409, "NotSeated")
        lays = kind.startswith("Lay")
        assert_problem(await gin.send(box, kind, **fields), 409, "NoLayOffAwaited" if lays else "NotYourTurn")
    assert_problem(await gin.send(captain, "Draw", source="stock"), 409, "ChooseFirst")
    assert_problem(await gin.send(captain, "Discard", card=mine), 409, "DrawFirst")
    assert_problem(await gin.send(captain, "Knock", card=mine), 409, "DrawFirst")
    assert_problem(await gin.send(captain, "Knock", card=his), 409, "DrawFirst")
    assert_problem(await gin.send(captain, "LayOff", card=mine, meld=0), 409, "NoLayOffAwaited")
    assert_problem(await gin.send(captain, "Decline", round="turns.9"), 409, "AnotherRound")
    assert_problem(await gin.send(captain, "Decline", **{"as": gin.full(box)}), 400, "UnknownField")
    assert_problem(await gin.send(captain, "SitDown", amount=ENTRY), 409, "AlreadySeated")
    assert_problem(await gin.send(captain, "SendAdvice", text="x"), 409, "NotTheAdviser")
    assert_problem(await gin.send(box, "AskAdvice"), 409, "NotTheCaptain")
    assert_problem(await gin.send(captain, "GiveClientSeed", seed="mine"), 409, "NoSeedPublished")
    assert_problem(await gin.send(captain, "Deal"), 400, "UnknownCommand")
    assert_problem(await gin.send(captain, "CancelMatch", reason="mine"), 403, "WrongRole")
    assert await unchanged(casino) == before


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        ("Discard", {"card": "1s"}, "InvalidValue"),
        ("Discard", {"card": "as"}, "InvalidValue"),
        ("Discard", {"card": "A♠"}, "InvalidValue"),
        ("Discard", {"card": ""}, "InvalidValue"),
        ("Discard", {"card": 5}, "WrongType"),
        ("Discard", {"card": None}, "WrongType"),
        ("Discard", {"card": ["As"]}, "WrongType"),
        ("Discard", {}, "MissingField"),
        ("Discard", {"place": 3}, "UnknownField"),
        ("Draw", {"source": "deck"}, "InvalidValue"),
        ("Draw", {}, "MissingField"),
        ("Knock", {"card": "As", "melds": [["As", "2s"]]}, "InvalidValue"),
        ("Knock", {"card": "As", "melds": [["As", "2s", "3s"]] * 4}, "InvalidValue"),
        ("Knock", {"card": "As", "melds": "As2s3s"}, "WrongType"),
        ("Knock", {"card": "As", "melds": [["As", "2s", "3x"]]}, "InvalidValue"),
        ("LayOff", {"card": "As", "meld": 3}, "InvalidValue"),
        ("LayOff", {"card": "As", "meld": -1}, "InvalidValue"),
        ("LayOff", {"card": "As", "meld": 0.0}, "WrongType"),
        ("LayOff", {"card": "As"}, "MissingField"),
        ("LayDown", {"melds": [[]]}, "InvalidValue"),
    ],
)
async def test_a_message_that_is_none_is_refused_at_the_door(casino, waiting, kind, fields, code):
    before, position = await unchanged(casino), await casino.position()
    assert_problem(await waiting.send(await waiting.turn(), kind, **fields), 400, code)
    assert (await unchanged(casino), await casino.position()) == (before, position)


async def test_a_card_not_held_one_just_taken_and_a_second_draw_are_refused_and_nothing_changes(casino):
    gin = await GinTable(casino, "cards").open("a", "b", "c")
    captain, box, _ = await gin.dealt()
    taken = await gin.takes(captain)
    his = (await gin.hand(box))[0]
    before = await unchanged(casino)
    for source in ("stock", "pile"):
        assert_problem(await gin.send(captain, "Draw", source=source), 409, "AlreadyDrawn")
    assert_problem(await gin.send(captain, "Decline"), 409, "NothingOffered")
    for kind in ("Discard", "Knock"):
        assert_problem(await gin.send(captain, kind, card=taken), 409, "JustTaken")
        assert_problem(await gin.send(captain, kind, card=his), 409, "NotHeld")
    assert await unchanged(casino) == before
    [mine, *_] = set(await gin.hand(captain)) - {taken}
    await gin.does(captain, "Discard", card=mine)
    assert_problem(await gin.send(captain, "Discard", card=mine), 409, "NotYourTurn")
    assert_problem(await gin.send(box, "Discard", card=his), 409, "DrawFirst")
    await gin.does(box, "Draw", source="pile")
    assert_problem(await gin.send(box, "Discard", card=mine), 409, "JustTaken")


async def test_when_both_have_declined_the_captain_draws_from_the_stock_and_may_discard_that_card_at_once(casino):
    gin = await GinTable(casino, "stock").open("a", "b", "c")
    captain, box, _ = await gin.dealt()
    await gin.both_decline(captain, box)
    before = await unchanged(casino)
    assert_problem(await gin.send(captain, "Draw", source="pile"), 409, "StockOnly")
    assert_problem(await gin.send(captain, "Decline"), 409, "NothingOffered")
    assert_problem(await gin.send(box, "Draw", source="stock"), 409, "NotYourTurn")
    assert await unchanged(casino) == before
    assert (await gin.allowed(captain))["Draw"]["sources"] == ["stock"]
    held = set(await gin.hand(captain))
    await gin.does(captain, "Draw", source="stock")
    [drawn] = set(await gin.hand(captain)) - held
    await gin.does(captain, "Discard", card=drawn)
    assert (await gin.view())["top"] == drawn


async def test_a_knock_over_the_limit_is_refused_and_nothing_changes(casino):
    gin = await GinTable(casino, "limit").open("a", "b", "c", knock_limit=0)
    captain, *_ = await gin.dealt()
    taken = await gin.takes(captain)
    [mine, *_] = set(await gin.hand(captain)) - {taken}
    before = await unchanged(casino)
    refused = await gin.send(captain, "Knock", card=mine)
    assert_problem(refused, 422, "OverKnockLimit")
    assert refused.json()["facts"]["limit"] == 0
    assert_problem(await gin.send(captain, "Knock", card=mine, melds=[]), 422, "OverKnockLimit")
    assert await unchanged(casino) == before
    assert "Knock" not in await gin.allowed(captain)


async def test_melds_that_overlap_or_are_none_are_refused_and_nothing_changes(casino):
    gin = await GinTable(casino, "melds").open("a", "b", "c")
    captain, box, _ = await gin.dealt_so(lambda mine, _: bool(melds_of(mine)))
    meld = melds_of(await gin.hand(captain))[0]
    taken = await gin.takes(captain)
    card = next(each for each in await gin.hand(captain) if each not in (*meld, taken))
    rest = [each for each in await gin.hand(captain) if each != card]
    his = (await gin.hand(box))[:3]
    before = await unchanged(casino)
    for melds, status, code in (
        ([no_meld(rest)], 422, "FalseMelds"),
        ([meld, meld], 422, "FalseMelds"),
        ([meld, no_meld(rest)], 422, "FalseMelds"),
        ([(meld[0],) * 3], 422, "FalseMelds"),
        ([his], 409, "NotHeld"),
        ([(*meld[:2], card)], 409, "NotHeld"),
    ):
        assert_problem(await gin.send(captain, "Knock", card=card, melds=melds), status, code)
    assert await unchanged(casino) == before
    knocked = told(await gin.does(captain, "Knock", card=card, melds=[meld]), "Knocked")
    assert knocked["declared"]


async def test_a_lay_off_that_does_not_fit_is_refused_and_nothing_changes(casino):
    gin = await GinTable(casino, "layoff").open("a", "b", "c", layoff="declared")
    captain, box, out = await gin.dealt_to_lay_off()
    on = [tuple(map(Card, meld)) for meld in (await gin.view())["knocker"]["melds"]]
    his = await gin.hand(box)
    fits = fitting(on, his)
    wrong = next((card, index) for card in his for index in range(len(on)) if (card, index) not in fits)
    before = await unchanged(casino)
    assert_problem(await gin.send(box, "LayOff", card=wrong[0], meld=wrong[1]), 409, "DoesNotFit")
    if len(on) < 3:
        assert_problem(await gin.send(box, "LayOff", card=fits[0][0], meld=len(on)), 409, "DoesNotFit")
    assert_problem(await gin.send(box, "LayOff", card=on[0][0], meld=0), 409, "NotHeld")
    assert_problem(await gin.send(box, "LayDown", melds=[no_meld(his)]), 422, "FalseMelds")
    assert_problem(await gin.send(box, "LayDown", melds=[on[0]]), 409, "NotHeld")
    for kind, fields in (("Draw", {"source": "stock"}), ("Discard", {"card": his[0]}), ("Knock", {"card": his[0]})):
        assert_problem(await gin.send(box, kind, **fields), 409, "LayOffIsAwaited")
    assert_problem(await gin.send(captain, "LayOff", card=fits[0][0], meld=0), 409, "LayOffIsAwaited")
    assert_problem(await gin.send(captain, "LayDown"), 409, "LayOffIsAwaited")
    assert_problem(await gin.send(out, "LayDown"), 409, "NotInHand")
    assert_problem(await gin.send(out, "SendAdvice", text="x"), 409, "AdviceIsOver")
    assert await unchanged(casino) == before
    card, meld = fits[0]
    answers = [await gin.send(box, "LayOff", "lay-once", card=card, meld=meld) for _ in range(2)]
    assert [each.headers.get("idempotent-replayed") for each in answers] == [None, "true"]
    assert_problem(await gin.send(box, "LayOff", card=card, meld=meld), 409, "NotHeld")
    await gin.does(box, "LayDown")
    assert (await gin.send(box, "LayDown")).status_code == 409


async def test_what_was_done_once_is_not_done_twice(casino):
    """With one key it is the same answer; with two, or at the same time, one of them counts."""
    gin = await GinTable(casino, "twice").open("a", "b", "c")
    captain, box, _ = await gin.dealt()
    await gin.both_decline(captain, box)
    first, again = [await gin.send(captain, "Draw", "draw-1", source="stock") for _ in range(2)]
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["position"] == first.json()["position"]
    assert_problem(await gin.send(captain, "Draw", "draw-2", source="stock"), 409, "AlreadyDrawn")
    assert_problem(await gin.send(captain, "Draw", "draw-1", source="pile"), 422, "KeyReused")
    hand = await gin.hand(captain)
    asked = [gin.send(captain, "Discard", f"discard-{at % 2}", card=hand[at % 2]) for at in range(6)]
    answers = await asyncio.gather(*asked)
    done = {answer.json()["position"] for answer in answers if answer.status_code == 200}
    assert len(done) == 1
    assert {answer.json()["code"] for answer in answers if answer.status_code != 200} == {"NotYourTurn"}
    assert len(await gin.hand(captain)) == 10


async def test_a_match_that_staff_cancels_is_paid_back_whole_and_only_while_one_is_on(casino):
    gin = await GinTable(casino, "void").open("a", "b", "c")
    cancel, path, sue = (
        {"type": "CancelMatch", "reason": "the lights went out"},
        "/v1/tables/void/commands",
        Role.SUPERVISOR,
    )
    assert_problem(await casino.send(path, cancel, casino.bearer(sue)), 409, "NoMatchOn")
    await gin.played()
    await gin.dealt()
    assert_problem(await casino.send(path, cancel, casino.bearer(sue)), 409, "SecondPersonNeeded")
    await casino.done(path, {"type": "Pause", "reason": "a fire"}, await casino.colleague())
    refunded = told(await casino.done(path, cancel, casino.bearer(sue), "cancel-1"), "MatchRefunded")
    assert {each["player"]: each["won"] for each in refunded["results"]} == dict.fromkeys(map(gin.full, "abc"), ENTRY)
    assert (await casino.send(path, cancel, casino.bearer(sue), "cancel-1")).headers["idempotent-replayed"] == "true"
    assert_problem(await casino.send(path, cancel, casino.bearer(sue), "cancel-2"), 409, "NoMatchOn")
    assert {await balance(casino, gin.full(player)) for player in "abc"} == {CASH}
    assert_problem(await gin.send("a", "Draw", source="stock"), 409, "NoRoundOn")

"""Gin Rummy over real HTTP: a match from the entry to the prize, what each pair of eyes may see, what is refused."""

import asyncio
import json

import pytest

from domain import fairness
from domain.cards import Card
from domain.fairness import Opening
from domain.game import Role
from tests.services.conftest import assert_problem
from tests.services.gin_http import (
    ENTRY,
    PRIZE,
    RAKE,
    GinTable,
    cards_in,
    fitting,
    melds_of,
    no_meld,
    told,
)
from tests.services.seats_http import CASH


@pytest.fixture
def casino(house_of_module):
    return house_of_module


async def balance(casino, player: str) -> int:
    await casino.project()
    return (await casino.get(f"/v1/players/{player}/balance"))["balance"]


async def unchanged(casino) -> list[object]:
    """Every stream but the records of refusals."""
    query = "select stream, version, state from streams where stream not like 'refused:%' order by 1"
    return await casino.services.pool.fetch(query)


async def position_of(casino, table: str, kind: str) -> int:
    """Of the newest event of this kind."""
    query = "select max(position) from events where stream = $1 and type = $2"
    return await casino.services.pool.fetchval(query, f"table:{table}", f"gin_rummy.{kind}")


# --- A match ------------------------------------------------------------------------------------------------------


async def test_a_match_from_the_entry_to_the_prize(casino):
    """Three entries, hands with their points and proofs, one prize: and all of it is read again from the records."""
    gin = await GinTable(casino, "whole").open("a", "b", "c")
    assert await balance(casino, "whole-a") == CASH - ENTRY
    totals = dict.fromkeys(("whole-a", "whole-b", "whole-c"), 0)
    hands, over = 0, False
    while not over:
        await gin.dealt()
        root = (await gin.view())["root"]
        answer = await gin.played()
        hands += 1
        settled, scored = told(answer, "RoundSettled"), told(answer, "RoundScored")
        totals[scored["winner"]] += scored["points"]
        assert {each["player"]: each.get("total", 0) for each in settled["results"]} == totals
        proved = [
            Opening(each["index"], Card(each["card"]), each["salt"], tuple(each["path"]))
            for each in settled["openings"]
        ]
        assert all(fairness.verify_opening(root, each) for each in proved)
        assert cards_in([scored["knocker"], scored["opponent"]]) <= {each.card for each in proved}
        over = max(totals.values()) >= 40
    prize = told(answer, "MatchSettled")
    winner = max(totals, key=lambda player: totals[player])
    assert (prize["match"], prize["why"], prize["prize"], prize["rake"]) == ("whole.m1", "target", PRIZE, RAKE)
    assert {each["player"]: each["won"] for each in prize["results"]} == {
        player: PRIZE - RAKE if player == winner else 0 for player in totals
    }
    for player in totals:
        assert await balance(casino, player) == CASH - ENTRY + (PRIZE - RAKE if player == winner else 0)
    assert "seats" not in await gin.view()
    await records_of_it(casino, gin, winner, hands)


async def records_of_it(casino, gin: GinTable, winner: str, hands: int) -> None:
    await casino.project()
    match = await casino.get("/v1/rounds/whole.m1")
    assert (match["round"]["staked"], match["round"]["returned"]) == (PRIZE, PRIZE - RAKE)
    assert {each["player"]: each["staked"] for each in match["bettors"]} == dict.fromkeys(map(gin.full, "abc"), ENTRY)
    own = await casino.get("/v1/rounds/whole.m1", gin.tokens["a"])
    assert [each["player"] for each in own["bettors"]] == ["whole-a"]
    page = (await casino.get("/v1/rounds", table="whole"))["rounds"]
    assert [each["round"] for each in page] == [*(f"whole.{number}" for number in range(hands, 0, -1)), "whole.m1"]
    assert {each["result"]["match"] for each in page} == {"whole.m1"}
    token = gin.tokens[gin.short(winner)]
    [history] = (await casino.get(f"/v1/players/{winner}/bets", token))["rounds"]
    assert (history["round"], history["staked"], history["returned"]) == ("whole.m1", ENTRY, PRIZE - RAKE)
    moved = (await casino.get(f"/v1/players/{winner}/statement", token))["movements"]
    assert [(each["kind"], each["amount"]) for each in moved[:2]] == [("cash_out", PRIZE - RAKE), ("buy_in", -ENTRY)]
    for number in range(1, hands + 1):
        for bearer in (token, casino.bearer(Role.AUDITOR)):
            replay = await casino.get(f"/v1/rounds/whole.{number}/replay", bearer)
            assert all(each["holds"] for each in (*replay["proofs"], *replay["fairness"]["checks"]))
            assert replay["ended"]


async def test_a_match_is_not_replayed_at_once_and_that_is_said(casino):
    gin = await GinTable(casino, "again").open("a", "b", "c")
    await gin.played()
    await casino.project()
    said = await casino.ask("GET", "/v1/rounds/again.m1/replay")
    assert_problem(said, 422, "ReplayItsRounds")
    assert said.json()["facts"] == {"match": "again.m1", "table": "again"}
    assert "/v1/rounds?table=again" in said.json()["detail"]
    assert_problem(await casino.ask("GET", "/v1/rounds/again.m2/replay"), 404, "NotFound")
    assert_problem(await casino.ask("GET", "/v1/rounds/again.m2"), 404, "NotFound")
    for name in ("again.m", "again.m0", "again.x1", "again.mm1"):
        assert_problem(await casino.ask("GET", f"/v1/rounds/{name}"), 400, "BadId")
    other = casino.bearer(Role.OPERATOR, "other")
    assert_problem(await casino.ask("GET", "/v1/rounds/again.m1", other), 404, "NotFound")
    assert_problem(await casino.ask("GET", "/v1/rounds/again.m1/replay", other), 404, "NotFound")


async def test_whoever_comes_again_to_a_live_match_goes_on_without_gap_and_without_repeat(casino):
    """The match's opening is recorded before that of its first hand: a stream may have ended between them."""
    gin = await GinTable(casino, "live").open("a", "b", "c")
    start = await casino.position()
    await gin.played()
    await gin.dealt()
    query = "select count(*) from events where stream = 'table:live' and position > $1"
    count = await casino.services.pool.fetchval(query, start)
    for player in "ab":
        whole = await casino.watch("live", gin.tokens[player], count, start)
        kinds = [name.partition(".")[2] for _, name, _ in whole]
        assert {"MatchOpened", "RoundOpened", "RoundSettled"} <= set(kinds)
        begins = kinds.index("MatchOpened")
        for index in {begins, begins + 1, begins + 3, kinds.index("RoundSettled"), count - 2}:
            rest = whole[index + 1 :]
            assert await casino.watch("live", gin.tokens[player], len(rest), whole[index][0]) == rest


# --- Entering and leaving -----------------------------------------------------------------------------------------


async def test_a_seat_and_its_entry_come_together_or_not_at_all_and_once(casino):
    gin = await GinTable(casino, "entry").open()
    await gin.arrive("poor", ENTRY - 1)
    await gin.arrive("rich")
    before = await unchanged(casino)
    assert_problem(await gin.send("poor", "SitDown", amount=ENTRY), 422, "InsufficientFunds")
    for amount in (ENTRY - 1, ENTRY + 1, 1):
        assert_problem(await gin.send("rich", "SitDown", amount=amount), 422, "NotTheEntry")
    for amount, code in ((0, "InvalidValue"), (-1, "InvalidValue"), ("5000", "WrongType"), (5e3, "WrongType")):
        assert_problem(await gin.send("rich", "SitDown", amount=amount), 400, code)
    assert_problem(await gin.send("rich", "LeaveTable"), 409, "NotSeated")
    assert await unchanged(casino) == before
    answers = [await gin.send("rich", "SitDown", "sit-once", amount=ENTRY) for _ in range(3)]
    assert [each.headers.get("idempotent-replayed") for each in answers] == [None, "true", "true"]
    assert_problem(await gin.send("rich", "SitDown", "sit-twice", amount=ENTRY), 409, "AlreadySeated")
    assert await balance(casino, "entry-rich") == CASH - ENTRY
    left = [await gin.send("rich", "LeaveTable", "leave-once") for _ in range(2)]
    assert [each.status_code for each in left] == [200, 200]
    assert_problem(await gin.send("rich", "LeaveTable", "leave-twice"), 409, "NotSeated")
    assert (await balance(casino, "entry-rich"), await balance(casino, "entry-poor")) == (CASH, ENTRY - 1)


async def test_seats_are_given_once_whoever_asks_at_the_same_time(casino):
    gin = await GinTable(casino, "race").open()
    names = [f"r{number}" for number in range(8)]
    for name in names:
        await gin.arrive(name)
    answers = await asyncio.gather(*(gin.send(name, "SitDown", amount=ENTRY) for name in names for _ in range(2)))
    refused = {answer.json()["code"] for answer in answers if answer.status_code != 200}
    assert ([answer.status_code for answer in answers].count(200), refused) == (3, {"AlreadySeated", "TableIsFull"})
    seats = (await gin.view())["seats"]
    assert len({seat["player"] for seat in seats}) == 3
    cash = [await balance(casino, gin.full(name)) for name in names]
    assert sorted(cash) == [CASH - ENTRY] * 3 + [CASH] * 5
    leaving = await asyncio.gather(*(gin.send(name, "LeaveTable") for name in names for _ in range(3)))
    assert [answer.status_code for answer in leaving].count(200) == 3
    assert {await balance(casino, gin.full(name)) for name in names} == {CASH}


async def test_the_last_seat_is_either_taken_or_not_when_another_leaves_at_the_same_time(casino):
    """Whatever the order: as many entries lie at the table as players sit there."""
    gin = await GinTable(casino, "last").open("a", "b")
    for name in "cd":
        await gin.arrive(name)
    asked = [gin.send(name, "SitDown", amount=ENTRY) for name in "cd"] + [gin.send("a", "LeaveTable")]
    taken = [answer.status_code for answer in await asyncio.gather(*asked)]
    seats = (await gin.view())["seats"]
    assert len(seats) == 2 + taken[:2].count(200) - taken[2:].count(200) <= 3
    assert sum([await balance(casino, gin.full(name)) for name in "abcd"]) == 4 * CASH - len(seats) * ENTRY


async def test_leaving_in_mid_match_forfeits_and_takes_no_part_any_more(casino):
    gin = await GinTable(casino, "leave").open("a", "b", "c")
    captain, box, out = await gin.dealt()
    assert (await gin.allowed(captain))["LeaveTable"]["forfeits"]
    await gin.does(out, "LeaveTable", key="leave-1")
    before = await unchanged(casino)
    assert (await gin.send(out, "LeaveTable", "leave-1")).headers["idempotent-replayed"] == "true"
    assert_problem(await gin.send(out, "LeaveTable"), 409, "AlreadyForfeited")
    assert_problem(await gin.send(out, "SendAdvice", text="hold on"), 409, "AlreadyForfeited")
    assert_problem(await gin.send(out, "SitDown", amount=ENTRY), 409, "AlreadySeated")
    assert_problem(await gin.send(captain, "AskAdvice"), 409, "NobodyAdvises")
    await gin.arrive("late")
    before = await unchanged(casino)
    assert_problem(await gin.send("late", "SitDown", amount=ENTRY), 409, "MatchIsOn")
    assert await unchanged(casino) == before
    assert await balance(casino, gin.full(out)) == CASH - ENTRY
    settled = told(await gin.does(box, "LeaveTable"), "MatchSettled")
    assert (settled["why"], {each["player"]: each["won"] for each in settled["results"]}[gin.full(captain)]) == (
        "forfeits",
        PRIZE - RAKE,
    )
    assert await balance(casino, gin.full(captain)) == CASH - ENTRY + PRIZE - RAKE


# --- Who sees what ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("adviser_sees", "before", "after"), [("on_ask", 0, 1), ("always", 1, 1), ("never", 0, 0)])
async def test_each_sees_his_own_hand_and_the_adviser_the_captains_as_the_table_has_it(
    casino, adviser_sees, before, after
):
    gin = await GinTable(casino, f"eyes-{adviser_sees}").open("a", "b", "c", adviser_sees=adviser_sees)
    await gin.arrive("onlooker", 0)
    captain, box, out = await gin.dealt()

    async def who_sees() -> dict[str, set[str]]:
        return {viewer: set(await gin.seen(viewer)) for viewer in (captain, box, out, "onlooker", "")}

    as_ever = {captain: {captain}, box: {box}, "onlooker": set[str](), "": set[str]()}
    assert await who_sees() == as_ever | {out: {captain} if before else set()}
    if adviser_sees != "always":
        asked = await gin.does(captain, "AskAdvice")
        assert not cards_in([each["event"] for each in asked["events"]])
        assert_problem(await gin.send(captain, "AskAdvice"), 409, "AlreadyAsked")
    assert await who_sees() == as_ever | {out: {captain} if after else set()}
    if after:
        assert await gin.seen(out) == await gin.seen(captain)
    assert len(await gin.hand(captain)) == len(await gin.hand(box)) == 10
    top = (await gin.view())["top"]
    for role in (Role.SUPERVISOR, Role.OPERATOR, Role.AUDITOR, Role.STUDIO):
        assert cards_in(await casino.get(f"/v1/tables/{gin.name}", casino.bearer(role))) == {top}
    await gin.both_decline(captain, box)
    drawn = await gin.does(captain, "Draw", source="stock")
    assert not cards_in([each["event"] for each in drawn["events"]]), "who drew it alone may know the card"
    assert len(await gin.hand(captain)) == 11
    assert await gin.hand(captain) == (await gin.seen(out)).get(captain, await gin.hand(captain))


async def test_advice_is_read_by_captain_and_adviser_alone_and_opened_for_an_auditor_when_the_hand_is_over(casino):
    gin = await GinTable(casino, "advice").open("a", "b", "c")
    await gin.arrive("onlooker", 0)
    captain, box, out = await gin.dealt()
    word = "a-hare-runs-in-the-rye"
    assert_problem(await gin.send(out, "SendAdvice", text=word), 409, "NotAsked")
    await gin.does(captain, "AskAdvice")
    answer = await gin.does(out, "SendAdvice", text=word, key="advice-1")
    assert word not in json.dumps(answer["events"])
    assert (await gin.view(captain))["advice"] == (await gin.view(out))["advice"] == [word]
    for viewer in (box, "onlooker", ""):
        assert word not in json.dumps(await gin.view(viewer))
    for player, code in ((captain, "NotTheAdviser"), (box, "NotTheAdviser"), ("onlooker", "NotSeated")):
        assert_problem(await gin.send(player, "SendAdvice", text="x"), 409, code)
    for text, code in (
        ("", "InvalidValue"),
        ("two\nlines", "InvalidValue"),
        ("x" * 201, "InvalidValue"),
        (5, "WrongType"),
    ):
        assert_problem(await gin.send(out, "SendAdvice", text=text), 400, code)
    for number in range(2, 11):
        await gin.does(out, "SendAdvice", text=f"piece {number}")
    assert_problem(await gin.send(out, "SendAdvice", text="one more"), 409, "EnoughAdvice")
    kept = "select string_agg(data::text, '') || (select string_agg(body, '') from commands) from events"
    assert word not in await casino.services.pool.fetchval(kept)
    auditor, position = casino.bearer(Role.AUDITOR), answer["position"]
    opening = {"position": position, "why": "a dispute"}
    assert_problem(await casino.send("/v1/openings", opening, auditor), 409, "RoundIsOn")
    replayed = await casino.get("/v1/rounds/advice.1/replay", auditor)
    assert word not in json.dumps(replayed)
    await gin.takes(captain)
    await gin.knocks(captain)
    assert (await casino.done("/v1/openings", opening, auditor))["opened"] == {"type": "text", "text": word}
    assert_problem(await casino.send("/v1/openings", opening, casino.bearer(Role.OPERATOR)), 403, "Forbidden")


async def test_while_the_other_lays_off_the_knocker_sees_what_is_laid_and_no_more(casino):
    gin = await GinTable(casino, "laying").open("a", "b", "c", layoff="declared")
    captain, box, out = await gin.dealt_to_lay_off()
    hand, lays = await gin.hand(box), (await gin.allowed(box))["LayOff"]["lays"]
    first = lays[0]
    for viewer in (captain, out, ""):
        assert box not in await gin.seen(viewer)
    assert (await gin.seen(""))[captain], "the knocker's hand lies on the table"
    await gin.does(box, "LayOff", card=first["card"], meld=first["meld"])
    for viewer in (captain, out, ""):
        assert (await gin.seen(viewer))[box] == (Card(first["card"]),)
    assert set(await gin.hand(box)) == set(hand)
    scored = told(await gin.does(box, "LayDown"), "RoundScored")
    assert cards_in(scored["opponent"]) == set(map(str, hand))


# --- What is refused ----------------------------------------------------------------------------------------------


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
async def test_a_message_that_is_none_is_refused_at_the_door(casino, kind, fields, code):
    gin = DOOR.get(id(casino))
    if gin is None:
        gin = DOOR[id(casino)] = await GinTable(casino, "door").open("a", "b", "c")
        captain, *_ = await gin.dealt()
        await gin.takes(captain)
    before, position = await unchanged(casino), await casino.position()
    assert_problem(await gin.send(await gin.turn(), kind, **fields), 400, code)
    assert (await unchanged(casino), await casino.position()) == (before, position)


DOOR: dict[int, GinTable] = {}


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
    refunded = told(await casino.done(path, cancel, casino.bearer(sue), "cancel-1"), "MatchRefunded")
    assert {each["player"]: each["won"] for each in refunded["results"]} == dict.fromkeys(map(gin.full, "abc"), ENTRY)
    assert (await casino.send(path, cancel, casino.bearer(sue), "cancel-1")).headers["idempotent-replayed"] == "true"
    assert_problem(await casino.send(path, cancel, casino.bearer(sue), "cancel-2"), 409, "NoMatchOn")
    assert {await balance(casino, gin.full(player)) for player in "abc"} == {CASH}
    assert_problem(await gin.send("a", "Draw", source="stock"), 409, "NoRoundOn")


# --- What is sealed -----------------------------------------------------------------------------------------------


async def test_what_a_player_sends_is_kept_sealed_and_an_auditor_opens_a_refusal(casino):
    gin = await GinTable(casino, "sealed").open("a", "b", "c")
    captain, box, _ = await gin.dealt()
    await gin.takes(captain)
    his = (await gin.hand(box))[0]
    await gin.send(captain, "Discard", "sealed-discard", card=his)
    body = await casino.services.pool.fetchval("select body from commands where key = 'sealed-discard'")
    assert body.startswith("sealed:gin_rummy/k1:")
    query = "select position, data::text from events where type = 'refused.CommandRefused' and actor = $1"
    [(position, data)] = await casino.services.pool.fetch(query, gin.full(captain))
    assert not cards_in(json.loads(data))
    auditor, opening = casino.bearer(Role.AUDITOR), {"position": position, "why": "a dispute"}
    assert_problem(await casino.send("/v1/openings", opening, auditor), 409, "RoundIsOn")
    await gin.knocks(captain)
    opened = await casino.done("/v1/openings", opening, auditor)
    assert json.loads(opened["opened"]["text"]) == {"type": "Discard", "card": his}


async def test_an_auditor_opens_a_whole_deck_once_its_hand_is_over_though_the_match_goes_on(casino):
    gin = await GinTable(casino, "deck").open("a", "b", "c", target=1_000)
    captain, box, _ = await gin.dealt()
    position, root = await position_of(casino, "deck", "RoundOpened"), (await gin.view())["root"]
    auditor, opening = casino.bearer(Role.AUDITOR), {"position": position, "why": "dispute 12"}
    assert_problem(await casino.send("/v1/openings", opening, auditor), 409, "RoundIsOn")
    await gin.both_decline(captain, box)
    hands = {gin.full(player): set(map(str, await gin.hand(player))) for player in (captain, box)}
    await gin.staff("CancelRound", reason="so that no hand is shown")
    await gin.dealt()
    opened = (await casino.done("/v1/openings", opening, auditor))["opened"]
    assert (opened["fits"], opened["root"], len(set(opened["cards"]))) == (True, root, 52)
    assert {player: set(cards) for player, cards in opened["hands"].items()} == hands
    next_one = {"position": await position_of(casino, "deck", "RoundOpened"), "why": "dispute 12"}
    assert_problem(await casino.send("/v1/openings", next_one, auditor), 409, "RoundIsOn")
    begun = {"position": await position_of(casino, "deck", "MatchOpened"), "why": "dispute 12"}
    assert_problem(await casino.send("/v1/openings", begun, auditor), 422, "NothingSealed")


async def test_a_seed_that_no_hand_used_is_opened_for_the_auditor_alone(casino):
    gin = await GinTable(casino, "unused").open()
    await casino.done("/v1/tables/unused/commands", {"type": "CloseTable"})
    await casino.tick("unused")
    opening = {"position": await position_of(casino, "unused", "SeedDropped"), "why": "checking"}
    assert_problem(await casino.send("/v1/openings", opening, await gin.arrive("a")), 403, "Forbidden")
    opened = (await casino.done("/v1/openings", opening, casino.bearer(Role.AUDITOR)))["opened"]
    data = await casino.services.pool.fetchval("select data from events where position = $1", opening["position"])
    assert opened["fits"]
    assert fairness.verify_seed(bytes.fromhex(opened["seed"]), json.loads(data)["seed"]["hash"])

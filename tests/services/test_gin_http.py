"""Gin Rummy over real HTTP: a match from the entry to the prize; entering and leaving; and the records of it."""

import asyncio

import pytest

from domain import fairness
from domain.cards import Card
from domain.fairness import Opening
from domain.game import Role
from tests.services.conftest import assert_problem
from tests.services.gin_http import ENTRY, PRIZE, RAKE, GinTable, cards_in, told
from tests.services.seats_http import CASH, balance, unchanged


@pytest.fixture
def casino(house_of_module):
    return house_of_module


# --- A match --------------------------------------------------------------------------------------------------------


async def test_a_match_from_the_entry_to_the_prize(casino):
    """Three entries, hands with their points and proofs, one prize: and all of it is read again from the records."""
    gin = await GinTable(casino, "whole").open("a", "b", "c", target=40)
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


async def test_a_match_is_replayed_as_well_as_its_hands(casino):
    """And to each as he saw it: no card of the hand that is on, but his own."""
    gin = await GinTable(casino, "again").open("a", "b", "c")
    await gin.played()
    await gin.dealt()
    await gin.does("a", "LeaveTable")
    for bearer in (gin.tokens["b"], casino.bearer(Role.AUDITOR)):
        replay = await casino.get("/v1/rounds/again.m1/replay", bearer)
        assert all(each["holds"] for each in (*replay["proofs"], *replay["fairness"]["checks"]))
        assert (replay["round"], replay["table"], replay["ended"]) == ("again.m1", "again", False)
        assert (replay["totals"]["staked"], replay["totals"]["open"]) == (PRIZE, 3)
        kinds = [step["type"].partition(".")[2] for step in replay["steps"]]
        assert kinds[:2] == ["MatchOpened", "RoundSettled"]
        assert kinds[-1] == "Forfeited"
        one = await casino.get("/v1/rounds/again.m1/replay", bearer, step=2)
        assert one["steps"] == replay["steps"][1:2]
    seen = {step["number"]: step["view"]["seats"] for step in replay["steps"] if step["view"]}
    assert not any(seat.get("cards") for seat in seen[len(kinds)])
    assert_problem(await casino.ask("GET", "/v1/rounds/again.m1/replay?step=99"), 404, "NotFound")
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


# --- Entering and leaving -------------------------------------------------------------------------------------------


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

"""Gin Rummy over real HTTP: what each pair of eyes may see, and what is sealed until an auditor opens it."""

import json

import pytest

from domain import fairness
from domain.cards import Card
from domain.game import Role
from tests.services.conftest import assert_problem
from tests.services.gin_http import GinTable, cards_in, position_of, told


@pytest.fixture
def casino(house_of_module):
    return house_of_module


# --- Who sees what --------------------------------------------------------------------------------------------------


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


# --- What is sealed -------------------------------------------------------------------------------------------------


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
    await gin.void("CancelRound", reason="so that no hand is shown")
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

"""3 Patti over real HTTP: a hand from the buy-in to the cash-out, what each pair of eyes may see, what is refused."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from domain import fairness
from domain.cards import Card
from domain.fairness import Opening
from domain.game import Role
from services import wiring
from services.api.app import create_app
from tests.services.conftest import Casino, assert_problem, serving
from tests.services.patti_http import BUY_IN, PattiTable
from tests.services.seats_http import CASH


@pytest.fixture
def casino(house_of_module):
    return house_of_module


@pytest.fixture(scope="module")
async def waiting(house_of_module):
    """A table where whoever acts first never does what is allowed."""
    return await PattiTable(house_of_module, "waiting").open("a", "b", "c")


async def test_a_hand_from_the_buy_in_to_the_cash_out(casino):
    """Blind and seen bets, a show, and exactly the chips that were brought leave the table or are rake."""
    patti = await PattiTable(casino, "whole").open("a", "b", "c")
    root = (await patti.view())["root"]
    await patti.circuit()
    first = await patti.turn()
    mine = await patti.does(first, "SeeCards")
    assert len((await patti.seat(first, first))["cards"]) == 3
    assert "cards" in str(mine["view"])
    others = [each for each in "abc" if each != first]
    for other in others:
        assert "cards" not in (await patti.seat(first, other))
    await patti.does(first, "Fold")
    second = await patti.turn()
    shown = await patti.does(second, "Show")
    [hands] = [each["event"] for each in shown["events"] if each["event"]["type"] == "three_patti.HandsShown"]
    for hand in hands["hands"]:
        openings = [
            Opening(each["index"], Card(each["card"]), each["salt"], tuple(each["path"])) for each in hand["openings"]
        ]
        assert [each.card for each in openings] == hand["cards"]
        assert all(fairness.verify_opening(root, each) for each in openings)
    [settled] = [each["event"] for each in shown["events"] if each["event"]["type"] == "three_patti.RoundSettled"]
    assert sum(each["won"] for each in settled["results"]) + settled["rake"] == settled["pot"]
    cash = 0
    for player in "abc":
        answer = await patti.does(player, "LeaveTable")
        cash += answer["balance"]["cash"]
    assert cash == 3 * CASH - settled["rake"]
    assert "seats" not in await patti.view()


async def test_a_seat_and_its_buy_in_come_together_or_not_at_all(casino):
    patti = await PattiTable(casino, "buyin").open()
    await patti.arrive("poor", 500)
    refused = await patti.send("poor", "SitDown", amount=1_000)
    assert_problem(refused, 422, "InsufficientFunds")
    assert "seats" not in await patti.view()
    await casino.project()
    balance = await casino.get("/v1/players/buyin-poor/balance")
    assert balance["balance"] == 500
    await patti.arrive("rich")
    key = "sit-once"
    answers = [await patti.send("rich", "SitDown", key, amount=BUY_IN) for _ in range(3)]
    assert [each.headers.get("idempotent-replayed") for each in answers] == [None, "true", "true"]
    assert (await patti.seat("rich"))["stack"] == BUY_IN
    await casino.project()
    assert (await casino.get("/v1/players/buyin-rich/balance"))["balance"] == CASH - BUY_IN


async def test_a_blind_player_sees_no_card_until_it_is_asked_for_not_even_the_own(casino):
    patti = await PattiTable(casino, "blind").open("a", "b", "c")
    for player in "abc":
        view = await patti.view(player)
        assert all("cards" not in seat for seat in view["seats"]), view
    await patti.does("b", "SeeCards")
    for player in "abc":
        view = await patti.view(player)
        shown = {seat["player"] for seat in view["seats"] if "cards" in seat}
        assert shown == ({"blind-b"} if player == "b" else set())
    assert all("cards" not in seat for seat in (await patti.view())["seats"])


async def test_a_sideshow_shows_two_hands_to_two_players_and_to_nobody_else(casino):
    patti = await PattiTable(casino, "side").open("a", "b", "c", "d")
    for player in "abcd":
        await patti.does(player, "SeeCards")
    await patti.circuit()
    asker = await patti.turn()
    asked = await patti.does(asker, "SideShow")
    target = await patti.turn()
    assert all(seat["player"] == patti.full(asker) for seat in asked["view"]["seats"] if "cards" in seat)
    answered = await patti.does(target, "AnswerSideShow", accept=True)
    pair = {patti.full(asker), patti.full(target)}
    for player in "abcd":
        seats = {seat["player"] for seat in (await patti.view(player))["seats"] if "cards" in seat}
        assert seats == (pair if player in (asker, target) else {patti.full(player)})
    cards = {card for seat in answered["view"]["seats"] if seat["player"] in pair for card in seat["cards"]}
    assert len(cards) == 6
    assert not any(f'"{card}"' in json.dumps(answered["events"]) for card in cards)


# --- What is refused ----------------------------------------------------------------------------------------------


async def test_whoever_is_not_on_turn_or_not_in_the_hand_is_refused_and_nothing_changes(casino):
    patti = await PattiTable(casino, "bad").open("a", "b", "c")
    await patti.arrive("outside")
    on, *others = await order(patti)
    before = await tables(casino)
    assert_problem(await patti.send(others[0], "Bet", amount=100), 409, "NotYourTurn")
    assert_problem(await patti.send("outside", "Bet", amount=100), 409, "NotSeated")
    assert_problem(await patti.send("outside", "SeeCards"), 409, "NotSeated")
    assert_problem(await patti.send(on, "Bet", amount=100, seat=2), 400, "UnknownField")
    assert_problem(await patti.send(on, "Bet", amount=100, **{"as": "bad-b"}), 400, "UnknownField")
    assert_problem(await patti.send(on, "Bet", amount=100, round="bad.9"), 409, "AnotherRound")
    assert_problem(await patti.send(on, "Show"), 409, "ShowNeedsTwo")
    assert_problem(await patti.send(on, "ShortShow"), 409, "ShowNeedsTwo")
    assert_problem(await patti.send(on, "SideShow"), 409, "SeeFirst")
    assert_problem(await patti.send(on, "AnswerSideShow", accept=True), 409, "NoAnswerAwaited")
    assert_problem(await patti.send(on, "SitDown", amount=BUY_IN), 409, "AlreadySeated")
    assert_problem(await patti.send(on, "TopUp", amount=100), 409, "HandIsOn")
    assert_problem(await patti.send(on, "Deal"), 400, "UnknownCommand")
    assert_problem(await patti.send(on, "CancelRound", reason="mine"), 403, "WrongRole")
    assert await tables(casino) == before


@pytest.mark.parametrize(
    ("amount", "status", "code"),
    [
        (90, 422, "BelowMinimum"),
        (105, 422, "OffChipUnit"),
        (210, 422, "AboveMaximum"),
        (0, 400, "InvalidValue"),
        (-100, 400, "InvalidValue"),
        (2**53, 400, "InvalidValue"),
        (10**30, 400, "InvalidValue"),
        ("100", 400, "WrongType"),
        (100.0, 400, "WrongType"),
        (True, 400, "WrongType"),
        (None, 400, "WrongType"),
    ],
)
async def test_an_amount_that_is_no_bet_is_refused_and_nothing_changes(casino, waiting, amount, status, code):
    before = await tables(casino)
    answer = await waiting.send(await waiting.turn(), "Bet", amount=amount)
    assert_problem(answer, status, code)
    assert await tables(casino) == before


async def test_what_was_done_once_is_not_done_twice(casino):
    patti = await PattiTable(casino, "twice").open("a", "b", "c", "d")
    on = await patti.turn()
    first = await patti.send(on, "Bet", "bet-1", amount=100)
    again = await patti.send(on, "Bet", "bet-1", amount=100)
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["position"] == first.json()["position"]
    assert_problem(await patti.send(on, "Bet", "bet-2", amount=100), 409, "NotYourTurn")
    assert_problem(await patti.send(on, "Bet", "bet-1", amount=110), 422, "KeyReused")
    await patti.does(on, "SeeCards")
    assert_problem(await patti.send(on, "SeeCards"), 409, "AlreadySeen")
    folding = await patti.turn()
    await patti.does(folding, "Fold")
    for kind, fields in (("Bet", {"amount": 100}), ("Fold", {}), ("SeeCards", {}), ("Show", {})):
        assert_problem(await patti.send(folding, kind, **fields), 409, "AlreadyFolded")
    await patti.does(folding, "LeaveTable")
    assert_problem(await patti.send(folding, "LeaveTable"), 409, "AlreadyLeaving")
    assert_problem(await patti.send(folding, "SitDown", amount=BUY_IN), 409, "AlreadySeated")


async def test_a_sideshow_is_asked_only_of_one_who_has_seen_and_answered_once(casino):
    patti = await PattiTable(casino, "answers").open("a", "b", "c")
    on = await patti.turn()
    await patti.does(on, "SeeCards")
    assert_problem(await patti.send(on, "SideShow"), 409, "FirstCircuit")
    await patti.circuit()
    assert_problem(await patti.send(on, "SideShow"), 409, "TargetIsBlind")
    await patti.circuit()
    others = [each for each in "abc" if each != on]
    for other in others:
        await patti.does(other, "SeeCards")
    await patti.does(on, "SideShow")
    target = await patti.turn()
    [third] = [each for each in others if each != target]
    assert_problem(await patti.send(third, "AnswerSideShow", accept=True), 409, "AnswerIsAwaited")
    assert_problem(await patti.send(on, "Bet", amount=100), 409, "AnswerIsAwaited")
    await patti.does(target, "AnswerSideShow", accept=False)
    assert_problem(await patti.send(target, "AnswerSideShow", accept=True), 409, "NoAnswerAwaited")


async def test_a_buy_in_outside_the_range_is_refused(casino):
    patti = await PattiTable(casino, "range").open()
    await patti.arrive("a", 100_000)
    before = await tables(casino)
    for amount, code in ((990, "BuyInOutOfRange"), (20_010, "BuyInOutOfRange"), (1_005, "OffChipUnit")):
        assert_problem(await patti.send("a", "SitDown", amount=amount), 422, code)
    assert_problem(await patti.send("a", "SitDown", amount=BUY_IN, seat=5), 422, "NoSuchSeat")
    assert_problem(await patti.send("a", "SitDown", amount=BUY_IN, seat=7), 400, "InvalidValue")
    assert await tables(casino) == before


async def order(patti: PattiTable) -> list[str]:
    on = await patti.turn()
    return [on, *(each for each in patti.tokens if each not in (on, "outside"))]


async def tables(casino) -> list[object]:
    """Every stream but the records of refusals."""
    query = "select stream, version, state from streams where stream not like 'refused:%' order by 1"
    return await casino.services.pool.fetch(query)


async def test_seats_are_given_once_whoever_asks_at_the_same_time(casino):
    patti = await PattiTable(casino, "race").open()
    names = [f"r{number}" for number in range(8)]
    for name in names:
        await patti.arrive(name)
    asked = [patti.send(name, "SitDown", amount=BUY_IN) for name in names for _ in range(2)]
    answers = await asyncio.gather(*asked)
    assert [answer.status_code for answer in answers].count(200) == 4
    seats = (await patti.view())["seats"]
    assert len({seat["seat"] for seat in seats}) == len({seat["player"] for seat in seats}) == 4
    await casino.project()
    cash = [(await casino.get(f"/v1/players/{patti.full(name)}/balance"))["balance"] for name in names]
    assert sorted(cash) == [CASH - BUY_IN] * 4 + [CASH] * 4
    leaving = await asyncio.gather(*(patti.send(name, "LeaveTable") for name in names for _ in range(3)))
    assert [answer.status_code for answer in leaving].count(200) == 4
    await casino.project()
    assert {(await casino.get(f"/v1/players/{patti.full(name)}/balance"))["balance"] for name in names} == {CASH}


async def test_one_who_is_blocked_at_the_table_is_dealt_no_more_hands_and_leaves_with_the_chips(casino):
    patti = await PattiTable(casino, "blocked").open("a", "b", "c", "d")
    await casino.done("/v1/players/blocked-a/block", {"reason": "asked for it"})
    await patti.circuit()
    for _ in range(3):
        await patti.does(await patti.turn(), "Fold")
    await patti.dealt()
    assert {seat["player"]: seat["status"] for seat in (await patti.view())["seats"]}["blocked-a"] == "out"
    stack = (await patti.seat("a"))["stack"]
    left = await patti.does("a", "LeaveTable")
    assert left["balance"]["cash"] == CASH - BUY_IN + stack
    assert_problem(await patti.send("a", "SitDown", amount=stack), 409, "PlayerBlocked")


# --- What is sealed -----------------------------------------------------------------------------------------------


async def test_what_a_player_sends_is_kept_sealed_and_an_auditor_opens_a_refusal(casino):
    patti = await PattiTable(casino, "sealed").open("a", "b", "c")
    on = await patti.turn()
    await patti.send(on, "Bet", "sealed-bet", amount=100)
    await patti.send(on, "Bet", "sealed-twice", amount=140)
    query = "select body from commands where key = any($1::text[])"
    bodies = [row[0] for row in await casino.services.pool.fetch(query, ["sealed-bet", "sealed-twice"])]
    assert len(bodies) == 2
    assert all(body.startswith("sealed:three_patti/k1:") for body in bodies)
    query = "select position, data::text from events where type = 'refused.CommandRefused' and actor = $1"
    [(position, data)] = await casino.services.pool.fetch(query, patti.full(on))
    assert "140" not in data
    auditor = casino.bearer(Role.AUDITOR)
    opening = {"position": position, "why": "a dispute"}
    assert_problem(await casino.send("/v1/openings", opening, auditor), 409, "RoundIsOn")
    await patti.does(await patti.turn(), "Fold")
    await patti.does(await patti.turn(), "Fold")
    opened = await casino.done("/v1/openings", opening, auditor)
    assert json.loads(opened["opened"]["text"]) == {"type": "Bet", "amount": 140}


async def test_an_auditor_opens_a_whole_deck_once_its_hand_is_over_and_that_is_on_record(casino):
    patti = await PattiTable(casino, "deck").open("a", "b", "c")
    query = "select position, data::text from events where type = 'three_patti.RoundOpened' and stream = 'table:deck'"
    [(position, data)] = await casino.services.pool.fetch(query)
    auditor, opening = casino.bearer(Role.AUDITOR), {"position": position, "why": "dispute 12"}
    assert_problem(await casino.send("/v1/openings", opening, auditor), 409, "RoundIsOn")
    await patti.does("a", "SeeCards")
    cards = (await patti.seat("a", "a"))["cards"]
    await patti.does(await patti.turn(), "Fold")
    await patti.does(await patti.turn(), "Fold")
    for role in (Role.OPERATOR, Role.SUPERVISOR, Role.STUDIO):
        assert_problem(await casino.send("/v1/openings", opening, casino.bearer(role)), 403, "Forbidden")
    assert_problem(await casino.send("/v1/openings", opening, patti.tokens["a"]), 403, "Forbidden")
    answers = [await casino.send("/v1/openings", opening, auditor, "opening-1") for _ in range(2)]
    first, again = (answer.json() for answer in answers)
    assert first == again
    opened = first["opened"]
    assert opened["fits"]
    assert opened["root"] == json.loads(data)["root"]
    assert opened["hands"]["deck-a"] == cards
    assert len(set(opened["cards"])) == 52
    assert set(opened["hands"]) == {"deck-a", "deck-b", "deck-c"}
    query = "select stream, actor, data::text from events where type = 'audit.SealOpened' and position = $1"
    [(stream, actor, record)] = await casino.services.pool.fetch(query, first["position"])
    assert stream == f"audit:{actor}"
    said = {"position": position, "stream": "table:deck", "round": "deck.1", "why": "dispute 12"}
    assert json.loads(record) == {"type": "audit.SealOpened"} | said
    await casino.project()
    [told, *_] = (await casino.get("/v1/audit", auditor, subject=stream))["entries"]
    assert (told["entry"]["action"], told["told"]["why"]) == ("audit.SealOpened", "dispute 12")
    [*_, found] = (await casino.get("/v1/significant", auditor, kind="seal_opened"))["found"]
    assert (found["round"], found["reason"]) == ("deck.1", "dispute 12")


async def test_a_seed_that_was_not_used_is_opened_for_the_auditor_alone(casino):
    await PattiTable(casino, "unused").open()
    await casino.done("/v1/tables/unused/commands", {"type": "CloseTable"})
    await casino.tick("unused")
    query = "select position, data::text from events where type = 'three_patti.SeedDropped' and stream = 'table:unused'"
    [(position, data)] = await casino.services.pool.fetch(query)
    opened = await casino.done("/v1/openings", {"position": position, "why": "checking"}, casino.bearer(Role.AUDITOR))
    seed = bytes.fromhex(opened["opened"]["seed"])
    assert fairness.verify_seed(seed, json.loads(data)["seed"]["hash"])
    assert opened["opened"]["fits"]
    assert seed.hex() not in data


async def test_what_is_not_sealed_is_not_opened(casino):
    await PattiTable(casino, "open").open()
    auditor = casino.bearer(Role.AUDITOR)
    position = await casino.position()
    assert_problem(await casino.send("/v1/openings", {"position": position, "why": "x"}, auditor), 422, "NothingSealed")
    assert_problem(await casino.send("/v1/openings", {"position": 10**9, "why": "x"}, auditor), 404, "NotFound")
    for why in ("", "turned \u202eround", "two\nlines"):
        assert_problem(await casino.send("/v1/openings", {"position": 1, "why": why}, auditor), 400, "InvalidValue")
    assert_problem(await casino.send("/v1/openings", {"position": 1}, auditor), 400, "MissingField")
    assert await casino.position() == position


async def test_a_process_without_the_games_key_says_so_and_takes_nothing_in(casino, tmp_path):
    patti = await PattiTable(casino, "keyless").open("a", "b", "c")
    on, before = await patti.turn(), await tables(casino)
    settings = replace(casino.services.settings, vault_keys={})
    async with wiring.opened(settings, "api") as services, serving(create_app(services), tmp_path) as (http, app):
        keyless = Casino(casino.settings, services, http, casino.worker, app)
        bet = {"type": "Bet", "amount": 100}
        refused = await keyless.send("/v1/tables/keyless/commands", bet, patti.tokens[on], "one-bet")
        assert_problem(refused, 503, "NoVaultKey")
        assert refused.json()["retryable"]
        assert (await keyless.get("/v1/tables/keyless", patti.tokens[on]))["view"] == await patti.view(on)
    assert await tables(casino) == before
    taken = await patti.send(on, "Bet", "one-bet", amount=100)
    assert (taken.status_code, "idempotent-replayed" in taken.headers) == (200, False)

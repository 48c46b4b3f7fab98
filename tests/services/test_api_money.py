"""The way of money over HTTP: an operator's cash in, bets of players, and what each may see of it."""

import asyncio

import pytest

from domain.game import Role


@pytest.fixture
def casino(house_of_module):
    return house_of_module


async def test_a_bet_goes_through_http_and_is_answered_with_event_view_and_balance(casino):
    ann = await casino.player("ann", 10_000)
    round_id = await casino.table("a1")
    answer = await casino.bet(ann, round_id, "bet-1", player_a=500, tie=100)
    assert answer.status_code == 200
    told = answer.json()
    assert told["position"] == await casino.position()
    assert told["events"][0]["event"]["type"] == "wallet.BetStaked"
    assert told["events"][0]["event"]["bet"]["id"] == "bet-1"
    assert told["view"]["phase"] == "betting"
    assert told["view"]["bets"][0]["wagers"] == [{"spot": "player_a", "amount": 500}, {"spot": "tie", "amount": 100}]
    assert (told["balance"]["cash"], told["balance"]["open_stakes"], told["balance"]["exponent"]) == (9_400, 600, 2)


async def test_the_same_key_fifty_times_in_parallel_makes_one_bet(casino):
    bob = await casino.player("bob", 10_000)
    round_id = await casino.table("a2")
    before = await casino.position()
    answers = await asyncio.gather(*(casino.bet(bob, round_id, "again", player_a=700) for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert len({(a.json()["position"], str(a.json()["events"]), a.json()["balance"]["cash"]) for a in answers}) == 1
    assert await casino.position() == before + 1


async def test_two_bets_of_80_on_a_balance_of_100_are_one_bet_and_one_refusal(casino):
    cat = await casino.player("cat", 10_000)
    round_id = await casino.table("a3")
    answers = await asyncio.gather(*(casino.bet(cat, round_id, player_a=8_000) for _ in range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 422]
    refused = next(answer for answer in answers if answer.is_error).json()
    assert refused["code"] == "InsufficientFunds"
    assert refused["facts"] == {"balance": 2_000, "needed": 8_000}
    assert (await casino.get("/v1/players/cat"))["balance"] == 2_000


async def test_a_refusal_is_the_same_again_even_when_it_could_be_accepted_by_now(casino):
    dan = await casino.player("dan", 100)
    round_id = await casino.table("a4")
    first = await casino.bet(dan, round_id, "k", player_a=500)
    await casino.done("/v1/players/dan/deposits", {"amount": 5_000, "currency": "EUR"})
    again = await casino.bet(dan, round_id, "k", player_a=500)
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"


async def test_a_key_used_for_another_request_is_refused_and_does_nothing(casino):
    eve = await casino.player("eve", 10_000)
    round_id = await casino.table("a5")
    await casino.bet(eve, round_id, "k", player_a=500)
    before = await casino.position()
    other_body = await casino.bet(eve, round_id, "k", player_a=600)
    assert (other_body.status_code, other_body.json()["code"]) == (422, "KeyReused")
    await casino.done("/v1/players/eve/deposits", {"amount": 1, "currency": "EUR"}, key="route")
    other_route = await casino.send("/v1/players/eve/withdrawals", {"amount": 1, "currency": "EUR"}, key="route")
    assert (other_route.status_code, other_route.json()["code"]) == (422, "KeyReused")
    assert await casino.position() == before + 1


async def test_keys_of_two_callers_are_two_keys(casino):
    fay, gus = await casino.player("fay"), await casino.player("gus")
    round_id = await casino.table("a6")
    for token in (fay, gus):
        assert "idempotent-replayed" not in (await casino.bet(token, round_id, "same", player_b=300)).headers


async def test_cash_goes_in_and_out_and_a_correction_says_why(casino):
    await casino.player("hal", 1_000)
    taken = await casino.done("/v1/players/hal/withdrawals", {"amount": 400, "currency": "EUR", "reference": "w-1"})
    assert taken["balance"]["cash"] == 600
    body = {"amount": -100, "currency": "EUR", "code": "payment_error", "reason": "paid twice by mistake"}
    corrected = await casino.by_two("/v1/players/hal/adjustments", body)
    assert corrected["proposal"]["asked"]["reason"] == "paid twice by mistake"
    assert (await casino.get("/v1/players/hal"))["balance"] == 500
    await casino.project()
    page = await casino.get("/v1/players/hal/statement")
    assert [(move["kind"], move["amount"], move["after"]) for move in page["movements"]] == [
        ("adjustment", -100, 500),
        ("withdrawal", -400, 600),
        ("deposit", 1_000, 1_000),
    ]


async def test_a_blocked_player_places_no_bet_but_takes_the_money_out(casino):
    ida = await casino.player("ida", 1_000)
    round_id = await casino.table("a7")
    await casino.done("/v1/players/ida/block", {"reason": "asked for it"})
    refused = await casino.bet(ida, round_id, player_a=100)
    assert (refused.status_code, refused.json()["code"]) == (409, "PlayerBlocked")
    await casino.done("/v1/players/ida/withdrawals", {"amount": 900, "currency": "EUR"})
    await casino.done("/v1/players/ida/unblock", {})
    assert (await casino.bet(ida, round_id, player_a=100)).status_code == 200


async def test_a_bet_is_cancelled_until_betting_closes(casino):
    jim = await casino.player("jim", 1_000)
    round_id = await casino.table("a8")
    await casino.bet(jim, round_id, "mistake", player_a=300)
    answer = await casino.done("/v1/tables/a8/commands", {"type": "CancelBet", "bet": "mistake"}, jim)
    assert (answer["balance"]["cash"], answer["view"].get("bets", [])) == (1_000, [])


async def test_a_round_is_played_settled_shown_and_replayed(casino):
    kim, leo = await casino.player("kim", 10_000), await casino.player("leo", 10_000)
    round_id = await casino.table("a9", betting_seconds=1)
    for token in (kim, leo):
        await casino.bet(token, round_id, player_a=1_000, tie=100)
    await asyncio.sleep(1)
    await casino.until("a9", "between")
    await casino.project()
    position = await casino.position()
    result = await casino.get(f"/v1/rounds/{round_id}", after=position)
    assert (result["round"]["status"], result["round"]["bettors"], result["round"]["staked"]) == ("settled", 2, 2_200)
    assert [bettor["player"] for bettor in result["bettors"]] == ["kim", "leo"]
    own = await casino.get(f"/v1/rounds/{round_id}", kim)
    assert [bettor["player"] for bettor in own["bettors"]] == ["kim"]
    assert len(own["bettors"][0]["wagers"]) == 2
    assert [row["round"] for row in (await casino.get("/v1/rounds", table="a9"))["rounds"]] == [round_id]
    history = await casino.get("/v1/players/kim/bets", kim)
    assert history["rounds"] == own["bettors"]
    balance = await casino.get("/v1/players/kim/balance", kim, after=position)
    assert balance["balance"] == 8_900 + own["bettors"][0]["returned"]
    replayed = await casino.get(f"/v1/rounds/{round_id}/replay", casino.bearer(Role.AUDITOR))
    assert all(proof["holds"] for proof in replayed["proofs"])
    assert all(check["holds"] for check in replayed["fairness"]["checks"])
    step = await casino.get(f"/v1/rounds/{round_id}/replay", kim, step=2)
    assert [each["number"] for each in step["steps"]] == [2]
    streams = {each["stream"] for each in (await casino.get(f"/v1/rounds/{round_id}/replay", kim))["steps"]}
    assert streams == {"table:a9", "wallet:kim"}


async def test_what_became_of_a_wager_is_told_apart_from_its_odds(casino):
    """Also of those that are lost or open; where a spot pays by the hand, only what was won has odds."""
    sid = await casino.player("sid", 10_000)
    round_id = await casino.table("a10", betting_seconds=1)
    stakes = {"player_a": 100, "player_b": 100, "tie": 100, "pair_plus_a": 100}
    assert (await casino.bet(sid, round_id, "all", **stakes)).status_code == 200
    await casino.bet(sid, round_id, "mistake", tie=200)
    await casino.done("/v1/tables/a10/commands", {"type": "CancelBet", "bet": "mistake"}, sid)

    async def told() -> dict[tuple[str, str], tuple[str, str | None]]:
        [own] = (await casino.get("/v1/players/sid/bets", sid, after=await casino.position()))["rounds"]
        return {(each["bet"], each["spot"]): (each["outcome"], each["odds"]) for each in own["wagers"]}

    await casino.project()
    offered = {"player_a": "0.95:1", "player_b": "0.95:1", "tie": "50:1", "pair_plus_a": None}
    taken_back = {("mistake", "tie"): ("cancelled", "50:1")}
    assert await told() == {("all", spot): ("open", odds) for spot, odds in offered.items()} | taken_back
    await asyncio.sleep(1)
    await casino.until("a10", "between")
    await casino.project()
    ended = await told()
    winner = (await casino.get(f"/v1/rounds/{round_id}", sid))["round"]["result"]["showdown"]["winner"]
    for spot in ("player_a", "player_b", "tie"):
        lost = "push" if winner == "tie" else "lost"
        assert ended["all", spot] == ("won" if spot == winner else lost, offered[spot])
    outcome, odds = ended["all", "pair_plus_a"]
    assert (outcome, odds is None) in {("won", False), ("lost", True)}
    assert ended["mistake", "tie"] == ("cancelled", "50:1")


async def test_a_read_with_after_waits_for_the_readers_own_write(casino):
    await casino.player("moe", 0)
    deposited = await casino.done("/v1/players/moe/deposits", {"amount": 70, "currency": "EUR"})
    waiting = asyncio.create_task(casino.get("/v1/players/moe/balance", after=deposited["position"]))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    await casino.project()
    assert (await waiting)["balance"] == 70


async def test_a_read_that_waits_in_vain_says_so_and_may_be_repeated(casino, monkeypatch):
    monkeypatch.setattr("services.api.parts.WAIT_S", 0.1)
    await casino.player("ned", 10)
    answer = await casino.ask("GET", "/v1/players/ned/balance", params={"after": 10**9})
    assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (503, "Behind", True)

"""Many at once, over HTTP, through two API processes: money conserved to the unit, every bet before the close or
refused, every stake ended once."""

import asyncio
import random
from collections.abc import AsyncGenerator

import pytest

from ops.fault_ground import Ground, standing
from ops.fault_house import House, open_house
from ops.fault_load import Load
from tests.services.ground import http

__all__ = ["http"]


@pytest.fixture(scope="module")
async def ground(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Ground]:
    """None of those that reach Postgres through a proxy, which would slow them down under load."""
    async with standing(tmp_path_factory.mktemp("ground"), "api-1", "api-3", "worker-2") as ground:
        yield ground


@pytest.fixture
async def house(ground, http, request) -> House:
    return await open_house(ground, f"house-{abs(hash(request.node.name)) % 10**9}", http)


async def test_the_same_key_fifty_times_at_once_through_two_processes_acts_once(house):
    await house.open_players(1, cash=1_000)
    told = await asyncio.gather(*(house.deposit("p0000", 7, "same") for _ in range(50)))
    assert [each.repeated for each in told].count(False) == 1
    assert len({(each.became, each.position, each.at) for each in told}) == 1
    round_id = await house.open_table(betting_seconds=60)
    told = await asyncio.gather(*(house.bet("p0000", round_id, {"tie": 100}, "bet") for _ in range(50)))
    assert [each.repeated for each in told].count(False) == 1
    assert len({(each.became, each.position, each.at) for each in told}) == 1
    assert await house.count("wallet.BetStaked") == 1
    await house.end()


async def test_the_same_refusal_fifty_times_at_once_is_one_refusal(house):
    await house.open_players(1, cash=100)
    await house.open_table(betting_seconds=60)
    round_id = await house.round_on()
    told = await asyncio.gather(*(house.bet("p0000", round_id, {"tie": 200}, "bet") for _ in range(50)))
    assert {each.code for each in told} == {"InsufficientFunds"}
    assert [each.repeated for each in told].count(False) == 1
    assert await house.count("refused.CommandRefused") == 1
    await house.end()


async def test_two_bets_of_80_on_a_balance_of_100_are_one_bet(house):
    await house.open_players(40, cash=100)
    round_id = await house.open_table(betting_seconds=60, step=20, spot_min=20)
    two = [asyncio.gather(*(house.bet(name, round_id, {"player_a": 80}) for _ in range(2))) for name in house.players]
    for told in await asyncio.gather(*two):
        assert sorted(each.code or each.became for each in told) == ["InsufficientFunds", "accepted"]
    await house.end()


@pytest.mark.slow
async def test_a_close_that_races_with_1000_bets_has_each_before_it_or_refused(house):
    await house.open_players(200)
    await house.open_table(betting_seconds=3)
    round_id = await house.round_on()
    dice = random.Random(7)
    closes_at = (await house.state()).due

    async def bets(player: str) -> list[tuple[int, str]]:
        """Five, one after the other, some of them surely late."""
        told = []
        for _ in range(5):
            await asyncio.sleep(dice.random() * 1.2)
            told.append(await house.bet(player, round_id, {dice.choice(("player_a", "player_b", "tie")): 100}))
        return [(each.at, each.code) for each in told]

    told = [each for of_player in await asyncio.gather(*map(bets, house.players)) for each in of_player]
    assert len(told) == 1_000
    codes = {code for _, code in told}
    late = {"BettingIsClosed", "NoRoundOn", "AnotherRound"}  # while dealing, after it, and in the round that follows
    assert codes <= {""} | late
    assert "" in codes, "all came after the close"
    assert codes & late, "all came before the close"
    assert all(at < closes_at for at, code in told if not code)
    await house.end()


async def test_cancels_that_race_with_close_and_settlement_give_each_stake_back_once(house):
    """Each bet is taken back, or settled: never both, never neither."""
    await house.open_players(120)
    round_id = await house.open_table(betting_seconds=10)  # all bets are in by then, however slow the machine
    dice, closes_at = random.Random(3), (await house.state()).due / 1e6
    keys = {name: house.key() for name in house.players}
    bets = await asyncio.gather(*(house.bet(name, round_id, {"player_a": 100}, key) for name, key in keys.items()))
    placed = [name for name, bet in zip(keys, bets, strict=True) if bet.accepted]

    early = set(placed[::6])  # surely before the close, however slow the machine

    async def cancel(name: str) -> bool:
        if name not in early:
            await asyncio.sleep(max(0, closes_at - await house.clock() - 1.2) + dice.random() * 1.6)
        told = await house.cancel_bet(name, keys[name])
        assert told.accepted or told.code in ("BettingIsClosed", "NoRoundOn", "BetNotOpen"), told
        return told.accepted and told.position is not None

    cancelled = (await asyncio.gather(*map(cancel, placed))).count(True)
    assert 0 < cancelled < len(placed), "all came on one side of the close"
    await house.end()
    assert await house.count("wallet.BetCancelled") == cancelled
    assert await house.count("wallet.BetsSettled") == len(placed) - cancelled


async def test_a_bet_and_its_cancel_sent_together_leave_no_stake_or_one(house):
    """Whichever comes first: a cancel that outruns its bet fences it."""
    await house.open_players(60)
    round_id = await house.open_table(betting_seconds=60)

    async def both(name: str) -> tuple[str, str]:
        key = house.key()
        bet, cancel = await asyncio.gather(house.bet(name, round_id, {"tie": 100}, key), house.cancel_bet(name, key))
        return bet.code or bet.became, cancel.code or cancel.became

    told = set(await asyncio.gather(*map(both, house.players)))
    assert told <= {("accepted", "accepted"), ("Fenced", "accepted")}
    assert await house.count("wallet.BetStaked") == await house.count("wallet.BetCancelled")
    await house.end()


async def test_a_block_that_races_with_bets_stops_them_at_one_position(house):
    await house.open_players(20)
    round_id = await house.open_table(betting_seconds=60)

    async def bets(player: str) -> None:
        told = await asyncio.gather(
            *(house.bet(player, round_id, {"player_b": 100}) for _ in range(4)),
            house.block(player),
            *(house.bet(player, round_id, {"player_b": 100}) for _ in range(4)),
        )
        blocked = told.pop(4)
        assert {each.code for each in told} <= {"", "PlayerBlocked"}
        assert all(each.position < blocked.position for each in told if each.accepted)
        assert (await house.bet(player, round_id, {"tie": 100})).code == "PlayerBlocked"

    await asyncio.gather(*map(bets, house.players))
    await house.void("stakes of the blocked go back too")
    await house.seen("teen_patti_2020.RoundRefunded")
    await house.end()


async def test_two_workers_at_once_settle_a_round_once(ground, house):
    await house.open_players(300)
    round_id = await house.open_table(betting_seconds=3)
    await house.bets(round_id, {"player_a": 100, "tie": 100}, house.players)
    await ground.start("worker-3")
    try:
        await house.seen("teen_patti_2020.RoundSettled")
        assert await house.count("wallet.BetsSettled") == 300
        await house.end()
    finally:
        await ground.end("worker-3")


async def test_five_settlements_of_one_round_at_once_pay_every_bettor_once(ground, house):
    from services.settlement import settle_round

    await house.open_players(150)
    round_id = await house.open_table(betting_seconds=2)
    await house.bets(round_id, {"player_a": 100}, house.players)
    ground.freeze("worker-2")
    try:
        while type(await house.state()).__name__ == "Betting":
            await house.tick()
            await asyncio.sleep(0.05)
        services = ground.services
        work = (settle_round(services.executor, services.pool, house.operator, round_id) for _ in range(5))
        await asyncio.gather(*work)
    finally:
        ground.thaw("worker-2")
    assert await house.count("wallet.BetsSettled") == 150
    assert await house.count("teen_patti_2020.RoundSettled") == 1
    await house.end()


@pytest.mark.slow
async def test_many_players_doing_everything_at_once_conserve_every_unit(house):
    await house.open_players(60)
    await house.open_table()
    for _ in range(10):  # on a slow machine no round may have ended after the first
        await Load(house, 60).run(5)
        if await house.count("teen_patti_2020.RoundSettled"):
            break
    assert await house.count("teen_patti_2020.RoundSettled") > 0
    await house.end()
    assert house.retries == 0, "nothing was wrong, and yet somebody had to ask again"

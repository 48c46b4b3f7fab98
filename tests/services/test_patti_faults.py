"""3 Patti while its processes are killed and its deadlines pass: chips are neither lost nor made, nobody acts twice,
every table goes on."""

import asyncio
import random
from contextlib import suppress

import pytest

from domain.decider import TABLE, WALLET
from domain.game import Role
from domain.games import GAMES
from infra import codec, eventlog
from ops import faults
from ops.fault_ground import until
from ops.fault_house import House, open_house
from tests.services.ground import ground, http
from tests.services.patti_players import CASH, Company, gathered

__all__ = ["ground", "http"]

GAME = GAMES["three_patti"]
HANDS = 15


@pytest.mark.slow
async def test_players_and_processes_that_are_killed_lose_and_double_nothing(ground, http):
    house = await open_house(ground, "killed-hands", http)
    companies = [await gathered(house, number) for number in range(3)]
    killing = asyncio.create_task(kill_now_and_then(house))
    try:
        async with asyncio.timeout(90):
            await asyncio.gather(*(each.play(HANDS) for each in companies))
    finally:
        killing.cancel()
        with suppress(asyncio.CancelledError):
            await killing
        await ground.mend()
    for each in companies:
        await closed(house, each)
    await house.caught_up()
    assert await chips(house) == len(house.players) * CASH
    for each in companies:
        assert await cash(house, each) + await raked(house, each) == 6 * CASH
    query = """
    select actor, command from events where operator = $1 and command is not null and type like 'three_patti.%'
    group by actor, command having count(distinct at) > 1
    """
    assert await ground.fetch(query, house.operator) == []


async def kill_now_and_then(house: House) -> None:
    dice = random.Random(1)
    while True:
        for name in faults.PROCESSES:
            await asyncio.sleep(0.6 + dice.random())
            house.ground.kill(name)
            await house.ground.start(name)


async def closed(house: House, company: Company) -> None:
    """Every stack goes back to its player."""
    path = f"tables/{company.table}/commands"
    told = await house.staff(Role.SUPERVISOR, path, "CancelRound", {"type": "CancelRound", "reason": "the end"})
    assert told.accepted or told.code == "NoRoundOn", told
    told = await house.staff(Role.OPERATOR, path, "CloseTable", {"type": "CloseTable"})
    assert told.accepted, told

    async def over() -> bool:
        return type(await state(house, company)).__name__ == "Closed"

    await until(over, 20, f"{company.table} is closed")
    assert GAME.holdings(await state(house, company)) == 0


async def state(house: House, company: Company):
    [row] = await house.ground.fetch(eventlog.SQL["stream"], house.operator, TABLE + company.table)
    return codec.decode_state(row["decider"], row["state"])


async def chips(house: House) -> int:
    """All the money there is: in wallets, and what the tables raked."""
    query = "select sum(balance)::bigint from streams where operator = $1 and stream like 'wallet:%'"
    [(cash,)] = await house.ground.fetch(query, house.operator)
    query = "select coalesce(sum((data->>'rake')::bigint), 0) from events where operator = $1 and type = $2"
    [(rake,)] = await house.ground.fetch(query, house.operator, "three_patti.RoundSettled")
    return cash + int(rake)


async def cash(house: House, company: Company) -> int:
    names = [WALLET + eyes.viewer.actor for eyes in (*company.players, company.watchers[0])]
    query = "select sum(balance)::bigint from streams where operator = $1 and stream = any($2::text[])"
    [(cash,)] = await house.ground.fetch(query, house.operator, names)
    return cash


async def raked(house: House, company: Company) -> int:
    query = """
    select coalesce(sum((data->>'rake')::bigint), 0)::bigint from events
    where operator = $1 and stream = $2 and type = 'three_patti.RoundSettled'
    """
    [(rake,)] = await house.ground.fetch(query, house.operator, TABLE + company.table)
    return rake


@pytest.mark.slow
async def test_a_hand_that_nobody_plays_is_ended_by_the_clock_and_downtime_is_nobodys_fault(ground, http):
    """Both workers are away while the first turn runs out: its player has the time once more; then turns end by folds,
    each marked as the platform's act."""
    house = await open_house(ground, "sleepers", http)
    company = await gathered(house, 0, turn_seconds=5, time_bank_seconds=0)
    for eyes in company.players[:3]:
        sat = await eyes.send(f"tables/{company.table}/commands", {"type": "SitDown", "amount": 1_000})
        assert sat.is_success, sat.text
    await house.seen("three_patti.RoundOpened")
    workers = [name for name in faults.PROCESSES if name.startswith("worker")]
    for name in workers:
        ground.kill(name)
    await asyncio.sleep(5 + 5.5)
    await ground.start(*workers)
    await house.seen("three_patti.DeadlineExtended", seconds=10)
    assert await house.count("three_patti.Folded") == 0
    await house.seen("three_patti.RoundSettled", seconds=25)
    rows = [row for row in await house.rows() if row["stream"] == f"{TABLE}{company.table}"]
    begun = next(at for at, row in enumerate(rows) if row["type"].endswith(".RoundOpened"))
    hand = [(row["type"].partition(".")[2], row["actor"], row["role"]) for row in rows[begun + 1 :]][:4]
    platform = ("platform", "clock")
    assert hand == [
        ("DeadlineExtended", *platform), ("Folded", *platform), ("Folded", *platform), ("RoundSettled", *platform),
    ]  # fmt: skip
    folds = [row["data"] for row in rows if row["type"].endswith(".Folded")]
    assert all('"why":"timed_out"' in data for data in folds)
    assert await chips(house) + GAME.holdings(await state(house, company)) == len(house.players) * CASH

"""3 Patti and Gin Rummy while their processes are killed and their deadlines pass: money is neither lost nor made,
nobody acts twice, every table goes on."""

import asyncio
import random
from contextlib import suppress

import pytest

from domain.game import Role
from domain.games import GAMES
from domain.names import TABLE, WALLET
from infra import codec, eventlog
from ops import faults
from ops.fault_ground import until
from ops.fault_house import House, open_house
from services.reconcile import reconcile
from tests.services.gin_ways import GIN
from tests.services.ground import ground, http
from tests.services.patti_ways import PATTI
from tests.services.table_players import CASH, Company, Eyes, gathered

__all__ = ["ground", "http"]

TABLES = [(PATTI, 8), (PATTI, 8), (GIN, 2)]
"""And how many hands each."""


@pytest.mark.slow
async def test_players_and_processes_that_are_killed_lose_and_double_nothing(ground, http):
    house = await open_house(ground, "killed-hands", http)
    companies = [await gathered(house, ways, at) for at, (ways, _) in enumerate(TABLES)]
    killing = asyncio.create_task(kill_now_and_then(house))
    try:
        async with asyncio.timeout(300):
            await asyncio.gather(*(each.play(hands) for each, (_, hands) in zip(companies, TABLES, strict=True)))
    finally:
        killing.cancel()
        with suppress(asyncio.CancelledError):
            await killing
        await ground.mend()
    for each in companies:
        await closed(house, each)
        assert await cash(house, each) + await raked(house, each) == (each.ways.players + 1) * CASH
    await house.caught_up()
    query = """
    select actor, command from events where operator = $1 and command is not null and stream like 'table:%'
    group by actor, command having count(distinct at) > 1
    """
    assert await ground.fetch(query, house.operator) == []
    done = await reconcile(ground.services.pool, house.operator, lambda _: None)
    assert not done.differences, done.differences


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
    told = await house.staff(Role.OPERATOR, path, "CloseTable", {"type": "CloseTable"})  # so that nothing follows
    assert told.accepted, told
    told = await house.void("the end", company.ways.void, company.table)
    assert told.accepted or told.code in ("NoRoundOn", "NoMatchOn", "TableNotOpen"), told

    async def over() -> bool:
        return type(await state(house, company)).__name__ == "Closed"

    await until(over, 20, f"{company.table} is closed")
    assert await held(house, company) == 0


async def state(house: House, company: Company):
    [row] = await house.ground.fetch(eventlog.SQL["stream"], house.operator, TABLE + company.table)
    return codec.decode_state(row["decider"], row["state"])


async def held(house: House, company: Company) -> int:
    return GAMES[company.ways.game].holdings(await state(house, company))


async def cash(house: House, company: Company) -> int:
    names = [WALLET + eyes.viewer.actor for eyes in (*company.players, company.watchers[0])]
    query = "select sum(balance)::bigint from streams where operator = $1 and stream = any($2::text[])"
    [(cash,)] = await house.ground.fetch(query, house.operator, names)
    return cash


async def raked(house: House, company: Company) -> int:
    query = """
    select coalesce(sum((data->>'rake')::bigint), 0)::bigint from events
    where operator = $1 and stream = $2 and type in ('three_patti.RoundSettled', 'gin_rummy.MatchSettled')
    """
    [(rake,)] = await house.ground.fetch(query, house.operator, TABLE + company.table)
    return rake


@pytest.mark.slow
async def test_a_hand_that_nobody_plays_is_ended_by_the_clock_and_downtime_is_nobodys_fault(ground, http):
    """Both workers are away while the first turn runs out: its player has the time once more; then turns end by folds,
    each marked as the platform's act."""
    house = await open_house(ground, "sleepers", http)
    company = await gathered(house, PATTI, 0, turn_seconds=5, time_bank_seconds=0)
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
    assert await cash(house, company) + await held(house, company) == len(house.players) * CASH


@pytest.mark.slow
@pytest.mark.parametrize("witness", ["redis", "the-api-itself"])
async def test_a_hand_that_was_shown_in_a_lost_tail_is_cancelled_and_nobody_plays_on_before(ground, http, witness):
    """Postgres is set back into the hand, no worker is there to notice, and players know how it ends."""
    house = await open_house(ground, f"set-back-by-{witness}", http)
    company = await gathered(house, PATTI, 0, turn_seconds=60)
    path = f"tables/{company.table}/commands"
    for eyes in company.players[:3]:
        assert (await eyes.send(path, {"type": "SitDown", "amount": 1_000})).is_success
    await house.seen("three_patti.RoundOpened")
    await house.caught_up()
    earlier = ground.copy_of("postgres")
    await ground.mend()
    for kind in ("Fold", "Show"):
        assert (await (await on_turn(company)).send(path, {"type": kind})).is_success
    await house.caught_up()
    ground.kill("worker-1")
    urls = ground.urls
    if witness == "redis":
        for name in ("api-1", "api-2"):
            ground.kill(name)
    ground.restore("postgres", earlier)
    if witness == "redis":
        await ground.start("api-1", "api-2")
    else:
        await ground.empty_redis()
        urls = urls[:1]  # the one that took what was lost
    kept = len(await house.rows())
    bearers, on = house.bearers(), (await on_turn(company)).viewer.actor
    for url in urls:
        headers = {"authorization": f"Bearer {bearers[on]}", "idempotency-key": "knowing"}
        answer = await http.post(f"{url}/v1/{path}", json={"type": "Fold"}, headers=headers)
        assert (answer.status_code, answer.json()["outcome"]) == (503, "not_applied"), answer.text
    await ground.mend()
    await house.seen("three_patti.RoundRefunded", seconds=30)
    types = [row["type"].partition(".") for row in (await house.rows())[kept:]]
    after = [name for kind, _, name in types if kind == "three_patti"]  # a worker's self-check may come first
    assert after[:3] == ["LogResumed", "RoundCancelled", "RoundRefunded"]
    await house.seen("three_patti.RoundOpened", 2)
    assert (await (await on_turn(company)).send(path, {"type": "Bet", "amount": 100})).is_success


async def on_turn(company: Company) -> Eyes:
    view = (await company.players[0].read(f"tables/{company.table}")).json()["view"]
    [name] = [seat["player"] for seat in view["seats"] if seat["seat"] == view["turn"]]
    return next(eyes for eyes in company.players if eyes.viewer.actor == name)

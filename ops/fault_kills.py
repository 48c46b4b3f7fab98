"""Scenarios of sudden death: kill -9 of API, worker, Redis and Postgres, in load and in the middle of settling."""

import asyncio
from collections.abc import Callable

from ops.fault_house import House
from ops.fault_load import under_load
from ops.fault_proxy import Message, Trap

BETTORS = 1_000
SECONDS = 3.0


async def api_killed(house: House) -> None:
    """kill -9 of an API process, twice, while players bet through it and another."""
    await house.open_table()

    async def fault() -> None:
        for _ in range(2):
            house.ground.kill("api-1")
            await asyncio.sleep(0.3)
            await house.ground.start("api-1")

    await under_load(house, SECONDS, fault)
    await house.end()


async def worker_killed(house: House) -> None:
    """kill -9 of the worker (relay, projections, timers, settlement), twice, while players bet."""
    await house.open_table()

    async def fault() -> None:
        for _ in range(2):
            house.ground.kill("worker-1")
            await asyncio.sleep(0.2)
            await house.ground.start("worker-1")
            await asyncio.sleep(0.8)

    await under_load(house, SECONDS, fault)
    await house.end()


async def redis_lost(house: House) -> None:
    """Redis killed and back, flushed, and back without its data, while players bet."""
    await house.open_table()
    ground = house.ground

    async def fault() -> None:
        ground.lose_redis()
        await asyncio.sleep(0.5)
        ground.start_redis()
        await asyncio.sleep(0.5)
        await ground.empty_redis()
        await asyncio.sleep(0.5)
        ground.lose_redis(with_its_data=True)
        ground.start_redis()

    await under_load(house, SECONDS, fault)
    await house.end()


async def postgres_killed(house: House) -> None:
    """kill -9 of Postgres, twice, while players bet."""
    await house.open_table()

    async def fault() -> None:
        for _ in range(2):
            house.ground.lose_postgres()
            await asyncio.sleep(0.3)
            house.ground.start_postgres()
            await asyncio.sleep(0.7)

    await under_load(house, SECONDS, fault)
    await house.end()


async def killed_in_settling(house: House) -> None:
    """The worker, then Postgres, then Redis die in the middle of settling 1,000 bettors: each is paid once."""
    await house.open_players(BETTORS)
    round_id = await house.open_table(betting_seconds=3)
    for number, victim in enumerate((_worker, _postgres, _redis), 1):
        await house.bets(round_id, {"player_a": 100, "tie": 200}, house.players)
        await _dies_in_the_middle(house, "wallet.BetsSettled", victim)
        await house.seen("teen_patti_2020.RoundSettled", number)
        if number < 3:
            round_id = await house.round_on()
    await house.end()


async def killed_in_cancelling(house: House) -> None:
    """The worker, then Postgres, then Redis die in the middle of refunding 1,000 bettors: each is refunded once."""
    await house.open_players(BETTORS)
    round_id = await house.open_table(betting_seconds=60)
    for number, victim in enumerate((_worker, _postgres, _redis), 1):
        await house.bets(round_id, {"player_b": 100}, house.players)
        dying = asyncio.create_task(_dies_in_the_middle(house, "wallet.Refunded", victim))
        await house.void("a fault")
        await dying
        await house.seen("teen_patti_2020.RoundRefunded", number)
        round_id = await house.round_on()
    await house.end()


Victim = tuple[Callable[[House], None], Callable[[House], None]]
"""How it dies, and how what is left is brought back."""

_worker: Victim = (lambda house: house.ground.kill("worker-1"), lambda house: None)
_postgres: Victim = (lambda house: house.ground.lose_postgres(), lambda house: house.ground.start_postgres())
_redis: Victim = (lambda house: house.ground.lose_redis(), lambda house: house.ground.start_redis())


async def _dies_in_the_middle(house: House, type_name: str, victim: Victim) -> None:
    """At the worker's fifth batch of such events."""
    before = await house.count(type_name)
    kill, revive = victim

    def settles(message: Message) -> bool:
        return message.kind == "B" and type_name.encode() in message.body

    trap = house.ground.proxy.trap = Trap(settles, lambda: kill(house), nth=5)
    async with asyncio.timeout(60):
        await trap.sprung.wait()
    trap.release()
    revive(house)
    done = await house.count(type_name) - before
    assert 0 < done < BETTORS, f"{done} of {BETTORS} were done: not in the middle"
    await house.ground.mend()

"""Scenarios of sudden death: kill -9 of API, worker, Redis and Postgres, in load and in the middle of settling."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import Struct

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
    """The worker, then the API process that takes a withdrawal, then Postgres die in the middle of settling 1,000
    bettors; then Redis dies, is flushed, and comes back empty: each is paid once."""
    await house.open_players(BETTORS)
    round_id = await house.open_table(betting_seconds=3)
    for number, victims in enumerate(((_worker,), (_postgres,), _REDIS), 1):
        await house.bets(round_id, {"player_a": 100, "tie": 200}, house.players)
        await _die_in_the_middle(house, "wallet.BetsSettled", *victims)
        if number == 1:
            await _api_dies(house, "wallet.Withdrawn", house.withdraw(house.players[0], 100))
        await house.ground.mend()
        await house.seen("teen_patti_2020.RoundSettled", number)
        if number < 3:
            round_id = await house.round_on()
    await house.end()


async def killed_in_cancelling(house: House) -> None:
    """The API process that cancels a round, then the worker, then Postgres die in the middle of refunding 1,000
    bettors; then Redis dies, is flushed, and comes back empty: each is refunded once."""
    await house.open_players(BETTORS)
    round_id = await house.open_table(betting_seconds=60)
    for number, victims in enumerate(((_worker,), (_postgres,), _REDIS), 1):
        await house.bets(round_id, {"player_b": 100}, house.players)
        dying = asyncio.create_task(_die_in_the_middle(house, "wallet.Refunded", *victims))
        voiding = house.void("a fault")
        await (_api_dies(house, "teen_patti_2020.RoundCancelled", voiding) if number == 1 else voiding)
        await dying
        await house.ground.mend()
        await house.seen("teen_patti_2020.RoundRefunded", number)
        round_id = await house.round_on()
    await house.end()


class Victim(Struct, frozen=True):
    """How it dies, and how it is brought back unless `mend` does it."""

    kill: Callable[[House], None]
    revive: Callable[[House], Awaitable[None]]


async def _later(_: House) -> None:
    pass


async def _start_postgres(house: House) -> None:
    house.ground.start_postgres()


async def _start_redis(house: House) -> None:
    house.ground.start_redis()


_worker = Victim(lambda house: house.ground.kill("worker-1"), _later)
_postgres = Victim(lambda house: house.ground.lose_postgres(), _start_postgres)
_REDIS = (
    Victim(lambda house: house.ground.lose_redis(), _start_redis),
    Victim(lambda house: None, lambda house: house.ground.empty_redis()),
    Victim(lambda house: house.ground.lose_redis(with_its_data=True), _start_redis),
)


async def _die_in_the_middle(house: House, type_name: str, *victims: Victim) -> None:
    """Each at the worker's fourth batch of such events after the one before it."""
    before = await house.count(type_name)
    for victim in victims:
        trap = house.ground.proxies["worker-1"].trap = _at_append(type_name, partial(victim.kill, house), nth=4)
        async with asyncio.timeout(60):
            await trap.sprung.wait()
        await victim.revive(house)
        trap.release()
    done = await house.count(type_name) - before
    assert 0 < done < BETTORS, f"{done} of {BETTORS} were done: not in the middle"


async def _api_dies(house: House, type_name: str, asking: Awaitable[object]) -> None:
    """While it appends such an event, for somebody who is told at last what became of it."""
    ground = house.ground
    trap = ground.proxies["api-2"].trap = _at_append(type_name, lambda: ground.kill("api-2"))
    house.through = ground.url("api-2")
    await asking
    assert trap.sprung.is_set(), "api-2 was not in the middle of it"
    trap.release()


def _at_append(type_name: str, spring: Callable[[], None], nth: int = 1) -> Trap:
    def appends(message: Message) -> bool:
        return message.kind == "B" and type_name.encode() in message.body

    return Trap(appends, spring, nth)

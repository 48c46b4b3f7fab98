"""Scenarios of frozen processes (SIGSTOP): one that writes the log, after every message it sends; a whole worker."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from domain.game import Role
from domain.names import WALLET
from domain.wallet import commands as wallet
from infra import fanout
from ops.data_folder import HOUSE
from ops.fault_ground import until
from ops.fault_house import CURRENCY, House, open_house
from ops.fault_load import under_load
from ops.fault_proxy import Message, Proxy, Trap
from services.projections import PROJECTIONS
from services.projector import Projector
from services.relay import Relay

THROUGH_S = 10
"""Within this time another process must get through, whatever state the frozen one left the log in."""

AT_ONCE_S = 1.5

KEYS = ("one", "two", "three")
FREE = 6
"""Bind, execute and sync, to load and to append."""
_MESSAGES_MAX = 40


class Victim:
    """An executor process of its own, with a proxy between it and Postgres; it deposits in its own house."""

    def __init__(self, house: House, proxy: Proxy) -> None:
        self.house = house
        self.proxy = proxy
        self.player = house.players[0]
        self._process: asyncio.subprocess.Process

    async def start(self, how: str) -> None:
        """`how`: "locked" as one that races with others, or "free" as one that needs no lock."""
        words = [sys.executable, "-m", "ops.fault_victim", self.proxy.dsn, self.house.operator, self.player, how]
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, cwd=HOUSE)
        await self.deposit(["warm"])

    async def deposit(self, keys: Sequence[str]) -> None:
        """All of these in one batch; what became of them is learned, or this never returns."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for key in keys:
            self.house.model.send("victim", key, "Deposit", {"amount": 10})
        self._process.stdin.write(f"{' '.join(keys)}\n".encode())
        for _ in keys:
            key, position, _again = (await self._process.stdout.readline()).split()
            self.house.model.learn("victim", key.decode(), "accepted", int(position))

    def freeze(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    async def end(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


async def holder_frozen(house: House) -> None:
    """SIGSTOP of a process that writes the log, after its first message to Postgres, its second, ... its last; once as
    one that holds the lock, once as one that needs none."""
    messages = await _messages_of_a_batch(house)
    house.ground.say(f"a batch is {messages} messages under the lock, {FREE} without; one process is frozen after each")
    locked = [_frozen_after(house, number, "locked") for number in range(1, messages + 1)]
    free = [_frozen_after(house, number, "free") for number in range(1, FREE + 1)]
    waits = await asyncio.gather(*locked, *free)
    house.ground.say("another process waited " + ", ".join(f"{wait:.1f}" for wait in waits) + " s")
    *short, _within_its_append = sorted(waits[messages:])  # which is cut in two here, and holds the lock till its sync
    assert max(short) < AT_ONCE_S, "a process that takes no lock holds up nobody"
    await house.judge()


async def _messages_of_a_batch(house: House) -> int:
    proxy = await _proxy(house, "victim-0")
    await house.open_players(1)
    victim = Victim(house, proxy)
    await victim.start("locked")
    await victim.deposit(KEYS)
    await victim.end()
    await proxy.close()
    assert FREE < proxy.longest <= _MESSAGES_MAX
    return proxy.longest


async def _frozen_after(first: House, number: int, how: str) -> float:
    """A house of its own for each, so that all can freeze at once. Returns how long the other process waited."""
    name = f"{how}-{number}"
    house = await open_house(first.ground, f"{first.operator}-{name}", first.http)
    await house.open_players(2)
    proxy = await _proxy(house, name)
    victim = Victim(house, proxy)
    await victim.start(how)
    trap = proxy.trap = _trap(victim, number, how)
    depositing = asyncio.create_task(victim.deposit(KEYS))
    try:
        async with asyncio.timeout(10):
            await trap.sprung.wait()
        await asyncio.sleep(0.2)  # Postgres has done what it was told
        rival = (house.players[1], WALLET + house.players[1], Role.OPERATOR, wallet.Deposit(100, CURRENCY))
        clock = asyncio.get_running_loop()
        begun = clock.time()
        async with asyncio.timeout(THROUGH_S):
            await house.submit_all([rival])
        waited = clock.time() - begun
        trap.release()
        victim.thaw()
        async with asyncio.timeout(20):
            await depositing
        await house.judge()
        return waited
    finally:
        depositing.cancel()
        await victim.end()
        await proxy.close()


def _trap(victim: Victim, number: int, how: str) -> Trap:
    """Messages of a transaction are numbered from its begin; without one, they are counted from here on."""
    free = how == "free"

    def matches(message: Message) -> bool:
        return message.application == "croupier executor" and message.number == (0 if free else number)

    return Trap(matches, victim.freeze, nth=number if free else 1)


async def _proxy(house: House, name: str) -> Proxy:
    return await house.ground.another_proxy(name)


async def worker_frozen(house: House) -> None:
    """SIGSTOP of the worker for longer than its leases, while another stands by; then both go on."""
    await house.open_table()
    ground = house.ground
    await ground.start("worker-2")

    async def fault() -> None:
        ground.freeze("worker-1")
        rounds = await house.count("teen_patti_2020.RoundOpened")
        await house.seen("teen_patti_2020.RoundOpened", rounds + 2)
        await until(lambda: _relayed(house), 10, "the other worker relays")
        ground.thaw("worker-1")

    try:
        await under_load(house, 12, fault, players=8)
        await house.end()
    finally:
        ground.thaw("worker-1")
        await ground.end("worker-2")


async def redis_frozen(house: House) -> None:
    """SIGSTOP of Redis while players bet: rounds and projections go on meanwhile, from the log alone."""
    await house.open_table()
    redis = house.ground.servers.private_redis.pids[0]

    async def fault() -> None:
        os.kill(redis, signal.SIGSTOP)
        try:
            rounds = await house.count("teen_patti_2020.RoundSettled")
            await house.seen("teen_patti_2020.RoundSettled", rounds + 2)
            await until(lambda: _projected(house), 12, "the projections go on without Redis")
        finally:
            os.kill(redis, signal.SIGCONT)

    await under_load(house, 8, fault, players=8)
    await house.end()


async def _projected(house: House) -> bool:
    tip = await house.tip()
    [(slowest,)] = await house.ground.fetch(
        "select min(position) from checkpoints where operator = $1 and live", house.operator
    )
    return slowest >= tip.position - 20


async def _relayed(house: House) -> bool:
    """Is Redis as far as the log was a moment ago?"""
    tip = await house.tip()
    stream = fanout.key(house.operator, tip.epoch)
    return await fanout.last_position(house.ground.services.redis, stream) >= tip.position - 20


async def doubled(house: House) -> None:
    """Two more relays and two more sets of projectors, without any lease, beside the worker's own."""
    await house.open_table()
    services, over = house.ground.services, asyncio.Event()

    async def relay() -> None:
        another = Relay(services.pool, services.redis, house.operator)
        while not over.is_set():
            await another.once()
            await asyncio.sleep(0.002)

    async def project() -> None:
        another = Projector(services.pool, services.redis, house.operator, PROJECTIONS)
        while not over.is_set():
            await another.once()
            await asyncio.sleep(0.002)

    async def fault() -> None:
        async with asyncio.TaskGroup() as group:
            for work in (relay, relay, project, project):
                group.create_task(work())
            await asyncio.sleep(3)
            over.set()

    await under_load(house, 5, fault)
    await house.end()

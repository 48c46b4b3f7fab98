"""What becomes of the log after its events are written, on the log that the bench has just made: relay, projections,
replay, and the memory of a worker that reads all of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from statistics import median

import asyncpg

from infra import postgres
from ops import bench_cpu as cpu
from ops.bench_house import OPERATOR, House
from services import checkpoints
from services.fold import Fold
from services.projections import PROJECTIONS, Projection
from services.projector import Projector
from services.relay import Relay

SLICE = 10_000
"""Events; the median rate of such slices is told, so that a hiccup of the machine does not count."""

READ_SECONDS = 8
WORKER_SECONDS = 30


async def relay_rate(house: House) -> float:
    """Events a second from Postgres into an empty Redis stream."""
    await house.services.redis.flushall()  # pyright: ignore[reportUnknownMemberType]
    relay = Relay(house.services.pool, house.services.redis, OPERATOR)
    return await _rate(relay.once)


async def projection_rate(house: House, projection: Projection) -> float:
    """Events a second from Redis into one projection's rows, from the log's beginning."""
    services = house.services
    end = await house.position()
    projector = Projector(services.pool, services.redis, OPERATOR, (projection,))
    at = (await checkpoints.live(services.pool, OPERATOR, projection.name)).position

    async def once() -> int:
        nonlocal at
        applied = await projector.once() if at < end else 0
        at += applied
        return applied

    return await _rate(once)


async def replay_rate(house: House) -> float:
    """Events a second read from the log, decoded and folded."""
    pages = Fold().pages(house.services.pool, OPERATOR)

    async def once() -> int:
        return await anext(pages, 0)

    return await _rate(once)


async def _rate(once: Callable[[], Awaitable[int]]) -> float:
    """The median rate of slices of the work, done to its end if time allows."""
    rates: list[float] = []
    done, begun = 0, time.perf_counter()
    until = begun + READ_SECONDS
    while (moved := await once()) and time.perf_counter() < until:
        done += moved
        if done >= SLICE:
            rates.append(done / (time.perf_counter() - begun))
            done, begun = 0, time.perf_counter()
    if not rates:
        rates.append(done / (time.perf_counter() - begun))
    return median(rates)


async def worker_mb(house: House) -> float:
    """The most memory that a worker takes which relays and projects the whole log from its beginning."""
    names = [projection.name for projection in PROJECTIONS]
    async with postgres.connected(house.servers.postgres, name="bench") as owner:
        await owner.execute("truncate checkpoints, balances, statement, rounds, bettors, audit")
        await house.services.redis.flushall()  # pyright: ignore[reportUnknownMemberType]
        end = await house.position()
        house.start("worker", ["-m", "ops", "worker"])
        until = time.monotonic() + WORKER_SECONDS
        while time.monotonic() < until and await _slowest(owner, len(names)) < end:  # noqa: ASYNC110 - in the database
            await asyncio.sleep(0.2)
    peak = cpu.peak_mb(house.pid("worker"))
    house.end("worker")
    return peak


async def _slowest(connection: "asyncpg.Connection[asyncpg.Record]", projections: int) -> int:
    """How far the slowest projection has come; 0 while some have not begun."""
    row = await connection.fetchrow("select count(*), min(position) from checkpoints where operator = $1", OPERATOR)
    assert row is not None
    return row[1] if row[0] == projections else 0

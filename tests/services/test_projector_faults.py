"""The projector while things break: servers away, processes killed or frozen, streams lost; nothing lost or doubled."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from infra import fanout, postgres
from services import checkpoints
from services.projector import Projectors
from services.relay import Relays
from tests.services.town import OPERATOR, Town, town, until


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        await made.player("ann")
        yield made


@pytest.fixture
async def running() -> AsyncGenerator[Callable[[Any], None]]:
    tasks: list[asyncio.Task[None]] = []
    yield lambda part: tasks.append(asyncio.create_task(part.run()))
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_without_redis_the_log_itself_is_read(acme):
    await acme.grow(700)
    projector = acme.projector()
    while await projector.once():
        pass
    assert await acme.up_to_date()
    await acme.all_there_once()


async def test_a_redis_that_is_down_stops_nothing(acme):
    await acme.grow(10)
    acme.redis = fanout.connect("redis://127.0.0.1:1")
    await acme.project()
    assert await acme.up_to_date()


async def test_two_projecting_processes_killed_now_and_then_count_nothing_twice(acme):
    """S20.22: whatever was settled before the crash is credited exactly once."""
    code = (
        "import asyncio, sys; from infra import fanout, postgres; from services.projector import Projector\n"
        "async def main():\n"
        "    pool = await postgres.pool(sys.argv[1], name='projector')\n"
        "    projector = Projector(pool, fanout.connect(sys.argv[2]), 'acme')\n"
        "    while True: await projector.once(100)\n"
        "asyncio.run(main())"
    )

    async def start() -> asyncio.subprocess.Process:
        environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
        arguments = [sys.executable, "-c", code, acme.dsn, acme.redis_url]
        return await asyncio.create_subprocess_exec(*arguments, env=environment)

    processes = [await start(), await start()]
    try:
        for each in (0, 1, 0):
            await acme.grow(1_000)
            await acme.relay()
            processes[each].kill()
            await processes[each].wait()
            processes[each] = await start()
        await until(acme.up_to_date, 30)
    finally:
        for process in processes:
            process.kill()
            await process.wait()
    await acme.all_there_once()


async def test_when_the_relay_is_gone_projections_go_on_from_the_log(acme, running):
    running(Projectors(acme.pool, acme.redis))
    await until(acme.up_to_date)
    await acme.grow(50)
    await until(acme.up_to_date, 3)
    await acme.all_there_once()


async def test_flushall_under_load_loses_and_doubles_nothing(acme, running):
    relays = Relays(acme.pool, acme.redis)
    acme.executor.wake = relays.wake
    running(relays)
    running(Projectors(acme.pool, acme.redis))
    running(Projectors(acme.pool, acme.redis))
    for _ in range(5):
        await acme.grow(300)
        await acme.redis.flushall()
    await until(acme.up_to_date)
    await acme.all_there_once()


async def test_a_projector_frozen_in_its_transaction_loses_its_hold(acme):
    await acme.grow(10)
    checkpoint, tip = await checkpoints.live(acme.pool, OPERATOR, "balances"), await acme.tip()
    frozen = await postgres.connect(acme.dsn, name="frozen")
    try:
        await frozen.execute("begin")
        key = (OPERATOR, "balances", checkpoint.generation)
        moved = (checkpoint.position, tip.position, tip.hash, checkpoint.hash)
        assert await frozen.fetchrow(checkpoints.SQL["advance"], *key, *moved)
        async with asyncio.timeout(8):
            await acme.project()
    finally:
        frozen.terminate()
    await acme.all_there_once()


async def test_a_database_that_ends_every_session_now_and_then_loses_and_doubles_nothing(acme, database, running):
    running(Relays(acme.pool, acme.redis))
    running(Projectors(acme.pool, acme.redis))
    async with postgres.connected(database, name="rude") as rude:
        for _ in range(6):
            await acme.grow(200)
            await rude.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and application_name = 'croupier test'"
            )
            await asyncio.sleep(0.1)
    await until(acme.up_to_date)
    await acme.all_there_once()

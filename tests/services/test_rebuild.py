"""Rebuild on real servers: beside the old rows, under load, cut off in the middle, and always equal to a fresh fold."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from click.testing import CliRunner

from ops.rebuild import command
from services import checkpoints, rebuild
from services.projections import PROJECTIONS, balances, statement
from services.projections.balances import BALANCES
from services.projections.statement import STATEMENT
from services.projector import Projectors
from services.reconcile import reconcile
from services.relay import Relays
from tests.services.town import OPERATOR, Town, town

TABLES = {
    "balances": ("balances",),
    "statement": ("statement",),
    "rounds": ("rounds", "bettors"),
    "audit": ("audit",),
}


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        await made.player("ann", 10_000)
        yield made


async def rows(acme: Town, name: str) -> list[dict[str, Any]]:
    """All rows that readers of the projection are shown, whatever their generation."""
    at = await checkpoints.live(acme.pool, OPERATOR, name)
    found: list[dict[str, Any]] = []
    for table in TABLES[name]:
        query = f"select * from {table} t where generation = $1 order by t::text"
        found += [dict(row) | {"generation": 0} for row in await acme.pool.fetch(query, at.generation)]
    return found


async def generations(acme: Town, name: str) -> set[int]:
    found: set[int] = set()
    for table in (*TABLES[name], "checkpoints"):
        where = f" where projection = '{name}'" if table == "checkpoints" else ""
        found |= {row[0] for row in await acme.pool.fetch(f"select distinct generation from {table}{where}")}
    return found


async def agrees(acme: Town) -> None:
    said: list[str] = []
    await reconcile(acme.pool, OPERATOR, said.append)
    assert said == []


@pytest.mark.parametrize("projection", PROJECTIONS, ids=lambda each: each.name)
async def test_what_is_rebuilt_is_the_same_and_nothing_of_the_old_is_left(acme, projection):
    await acme.open_table()
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, player_a=1_000, tie=100)
    await acme.finish_round(round_id, ["ann"])
    await acme.project()
    before = await rows(acme, projection.name)
    assert before
    assert await rebuild.rebuild(acme.pool, OPERATOR, projection) == (await acme.tip()).position
    assert await rows(acme, projection.name) == before
    assert await generations(acme, projection.name) == {2}
    await acme.deposit("ann")
    await acme.project()
    await rebuild.rebuild(acme.pool, OPERATOR, projection)
    assert await generations(acme, projection.name) == {1}
    await agrees(acme)


async def test_a_rebuild_puts_right_what_was_spoilt(acme):
    await acme.project()
    await acme.pool.execute("update balances set balance = 1")
    await acme.pool.execute("delete from statement")
    await rebuild.rebuild(acme.pool, OPERATOR, BALANCES)
    await rebuild.rebuild(acme.pool, OPERATOR, STATEMENT)
    found = await balances.one(acme.pool, OPERATOR, "ann")
    assert found is not None
    assert found.balance == 10_000
    await agrees(acme)


@pytest.mark.slow
async def test_under_load_readers_never_miss_a_row_and_the_end_is_a_fresh_fold(acme):
    await acme.grow(3_000)
    await acme.project()
    relays = Relays(acme.pool, acme.redis)
    acme.executor.wake = relays.wake
    tasks = [asyncio.create_task(part.run()) for part in (relays, Projectors(acme.pool, acme.redis))]
    seen: list[int] = []

    async def read() -> None:
        while True:
            found = await balances.one(acme.pool, OPERATOR, "ann")
            page = await statement.page(acme.pool, OPERATOR, "ann", limit=1)
            assert found is not None
            assert page
            seen.append(found.balance)
            await asyncio.sleep(0.005)

    reader, load = asyncio.create_task(read()), asyncio.create_task(acme.grow(3_000))
    try:
        for projection in PROJECTIONS:
            await rebuild.rebuild(acme.pool, OPERATOR, projection)
        await load
        assert not reader.done()
        for projection in PROJECTIONS:
            await checkpoints.wait_for(acme.pool, OPERATOR, projection.name, (await acme.tip()).position, 10)
    finally:
        for task in (reader, load, *tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    assert len(seen) > 10
    assert seen == sorted(seen)  # deposits only: a balance that went back would be a half-made generation
    await agrees(acme)


@pytest.mark.slow
async def test_killed_in_the_middle_the_old_rows_stay_and_the_next_one_succeeds(acme):
    await acme.grow(6_000)
    await acme.project()
    before = await rows(acme, "statement")
    code = (
        "import asyncio, sys, os, signal; from infra import postgres; from services.rebuild import rebuild\n"
        "from services.projections.statement import STATEMENT\n"
        "def progress(done, of):\n"
        "    if done: os.kill(os.getpid(), signal.SIGKILL)\n"
        "async def main():\n"
        "    await rebuild(await postgres.pool(sys.argv[1], name='rebuild'), 'acme', STATEMENT, progress)\n"
        "asyncio.run(main())"
    )
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, acme.dsn, env=environment)
    assert await process.wait() == -9
    with pytest.raises(rebuild.RebuildRuns):  # as long as its lease has not run out
        await rebuild.rebuild(acme.pool, OPERATOR, STATEMENT)
    assert await generations(acme, "statement") == {1, 2}
    assert await rows(acme, "statement") == before
    await agrees(acme)
    await acme.pool.execute("update leases set until = clock_timestamp()")
    await rebuild.rebuild(acme.pool, OPERATOR, STATEMENT)
    assert await generations(acme, "statement") == {2}
    assert await rows(acme, "statement") == before


async def test_a_projection_that_stands_still_is_overtaken_by_its_rebuild(acme):
    await acme.project()
    await acme.grow(20)
    await acme.pool.execute("update checkpoints set problem = 'position 3: it was so' where projection = 'balances'")
    await rebuild.rebuild(acme.pool, OPERATOR, BALANCES)
    at = await checkpoints.live(acme.pool, OPERATOR, "balances")
    assert at.problem is None
    await acme.project()
    await agrees(acme)


async def test_a_projector_that_remembers_the_old_generation_reads_again(acme):
    projector = acme.projector(BALANCES)
    await projector.once()
    await rebuild.rebuild(acme.pool, OPERATOR, BALANCES)
    await acme.grow(5)
    await projector.once()
    await projector.once()
    found = await balances.one(acme.pool, OPERATOR, "ann")
    assert found is not None
    assert found.balance == 10_500


async def test_the_verb_rebuilds_every_operators(acme):
    await acme.project()
    environment = {"CROUPIER_POSTGRES": acme.dsn, "CROUPIER_REDIS": acme.redis_url, "CROUPIER_SECRET": "A" * 44}

    async def run(*arguments: str) -> Any:
        return await to_thread.run_sync(lambda: CliRunner().invoke(command, arguments, env=environment))

    done = await run("statement")
    assert done.exit_code == 0, done.output
    assert "acme: statement made anew up to position 3" in done.output
    assert (await run("nonsense")).exit_code == 2
    strange = await run("statement", "--operator", "stranger")
    assert strange.exit_code == 1
    assert "no operator 'stranger'" in strange.output

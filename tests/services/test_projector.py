"""The projector on real servers: every event takes effect once, from Redis or from the log, however many project."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from domain.game import Role
from domain.wallet import commands
from infra import eventlog, fanout, metrics, postgres
from infra.eventlog import EventRow, LogTorn
from services import checkpoints
from services.checkpoints import Checkpoint, wait_for
from services.projections import Place, Projection, balances, statement
from services.projections.balances import BALANCES
from services.projections.statement import STATEMENT
from services.projector import Projectors
from services.relay import Relays
from tests.services.town import OPERATOR, Town, town


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        await made.player("ann")
        yield made


@pytest.fixture
async def running(acme: Town) -> AsyncGenerator[Callable[[Any], None]]:
    tasks: list[asyncio.Task[None]] = []
    yield lambda part: tasks.append(asyncio.create_task(part.run()))
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def at(acme: Town, name: str = "balances") -> Checkpoint:
    return await checkpoints.live(acme.pool, OPERATOR, name)


def from_log(operator: str = OPERATOR) -> float:
    return metrics.projection_from_log.labels(operator)._value.get()


async def test_a_batch_moves_rows_and_checkpoint_together(acme):
    await acme.grow(700)
    await acme.relay()
    before, projector = from_log(), acme.projector()
    assert await projector.once() == fanout.BATCH
    assert (await at(acme)).position == fanout.BATCH
    assert await projector.once() == (await acme.tip()).position - fanout.BATCH
    assert await projector.once() == 0
    assert (await at(acme)).hash == (await acme.tip()).hash
    assert from_log() == before
    await acme.all_there_once()


async def test_the_next_batch_is_read_while_the_first_one_is_applied(acme):
    await acme.grow(700)
    await acme.relay()
    before, projector = from_log(), acme.projector()
    assert await projector.once() == fanout.BATCH
    await acme.redis.flushall()
    assert await projector.once() == (await acme.tip()).position - fanout.BATCH
    assert from_log() == before
    await acme.all_there_once()


async def test_after_an_outage_what_was_read_ahead_is_forgotten(acme):
    await acme.grow(700)
    await acme.relay()
    before, projector = from_log(), acme.projector()
    await projector.once()
    projector.forget()
    await acme.redis.flushall()
    await projector.once()
    assert from_log() > before
    await acme.all_there_once()


async def test_a_hole_that_trimming_made_is_read_from_the_log(acme):
    await acme.grow(300)
    await acme.relay()
    await acme.redis.xtrim(await acme.stream_key(), minid="250-0", approximate=False)
    before = from_log()
    await acme.project()
    await acme.all_there_once()
    assert from_log() > before


async def test_a_hole_in_the_middle_of_the_stream_is_read_from_the_log(acme):
    await acme.grow(100)
    await acme.relay()
    await acme.redis.xdel(await acme.stream_key(), "50-0")
    await acme.project()
    await acme.all_there_once()


async def test_an_entry_that_was_altered_is_not_believed(acme):
    await acme.grow(5)
    await acme.relay()
    key = await acme.stream_key()
    entries = await fanout.read(acme.redis, key, 0)
    await acme.redis.delete(key)
    data = entries[-1].data.replace('"amount":100', '"amount":900')
    assert data != entries[-1].data
    entries[-1] = replace(entries[-1], data=data)
    await fanout.Writer(acme.redis).append(key, 0, [encoded(entry) for entry in entries])
    await acme.project()
    await acme.all_there_once()
    assert {each.amount for each in await statement.page(acme.pool, OPERATOR, "ann", limit=5)} == {100}


def encoded(entry: fanout.Entry) -> bytes:
    return fanout.encode([getattr(entry, name) for name in EventRow.__struct_fields__], entry.before)


async def test_a_stream_of_another_history_is_not_believed(acme):
    await acme.grow(20)
    await acme.project()
    entry = await forged(acme, position=(await acme.tip()).position + 1)
    await acme.redis.xadd(await acme.stream_key(), {"e": entry}, id=f"{(await acme.tip()).position + 1}-0")
    projector = acme.projector()
    assert await projector.once() == 0
    await acme.grow(3)
    await acme.project()
    await acme.all_there_once()


async def forged(acme: Town, position: int) -> bytes:
    [row] = await eventlog.after(acme.pool, OPERATOR, position - 2, 1)
    values = [getattr(row, name) for name in EventRow.__struct_fields__]
    values[0] = position
    return fanout.encode(values, row.hash)


async def test_two_projectors_in_one_process_count_nothing_twice(acme):
    await acme.grow(2_500)
    await acme.relay()
    one, two = acme.projector(), acme.projector()

    async def project(projector: Any) -> None:
        while not await acme.up_to_date():
            await projector.once()

    await asyncio.gather(project(one), project(two))
    await acme.all_there_once()


async def test_a_checkpoint_that_moved_away_is_read_again(acme):
    await acme.grow(10)
    late = acme.projector(BALANCES)
    assert await late.once() > 0
    await acme.grow(10)
    await acme.projector(BALANCES).once()
    assert await late.once() == 0  # it was overtaken: nothing took effect, and it reads where things stand
    await acme.grow(10)
    assert await late.once() == 10
    await acme.projector(STATEMENT).once()
    await acme.all_there_once()


async def refuse_blocks(_connection: Any, _place: Place, rows: Sequence[EventRow]) -> None:
    for row in rows:
        if row.type == "wallet.Blocked":
            raise ValueError("what is that?")


POISONED = Projection("poisoned", refuse_blocks, ())


async def test_a_projection_stops_at_the_event_that_it_fails_on_and_says_so(acme):
    await acme.grow(150)
    await block(acme)
    poison = (await acme.tip()).position
    await acme.grow(150)
    await acme.relay()
    projector = acme.projector(BALANCES, POISONED, STATEMENT)
    while await projector.once():
        pass
    stopped = await at(acme, "poisoned")
    assert stopped.position == poison - 1
    assert stopped.problem == f"position {poison} (wallet.Blocked): ValueError: what is that?"
    assert metrics.projection_stopped.labels(OPERATOR, "poisoned")._value.get() == 1
    assert (await at(acme)).position == (await acme.tip()).position  # the others went on
    await acme.all_there_once()


async def test_a_stopped_projection_goes_on_once_it_can(acme, monkeypatch):
    monkeypatch.setattr("services.projector._RETRY_STOPPED_SECONDS", 0.05)
    await block(acme)
    projector = acme.projector(POISONED)
    await projector.once()
    assert (await at(acme, "poisoned")).problem

    async def accept(_connection: Any, _place: Place, _rows: Sequence[EventRow]) -> None:
        return None

    await asyncio.sleep(0.06)
    mended = acme.projector(Projection("poisoned", accept, ()))
    await mended.once()
    mended_at = await at(acme, "poisoned")
    assert mended_at.problem is None
    assert mended_at.position == (await acme.tip()).position


async def block(acme: Town) -> None:
    await acme.send("ops", Role.OPERATOR, "wallet:ann", commands.Block("asked"))


async def test_a_row_that_the_database_refuses_stops_only_its_projection(acme):
    await acme.grow(3)
    await acme.projector(STATEMENT).once()
    last = (await acme.tip()).position
    await acme.pool.execute(
        "insert into statement select operator, generation, $1, player, kind, round, amount, before, after, reference,"
        " at from statement limit 1",
        last + 2,
    )
    await acme.grow(5)
    projector = acme.projector(BALANCES, STATEMENT)
    while await projector.once():
        pass
    assert (await at(acme, "statement")).position == last + 1
    assert "UniqueViolation" in ((await at(acme, "statement")).problem or "")
    assert (await at(acme)).position == last + 5


async def test_a_log_that_does_not_go_on_from_the_checkpoint_is_not_applied(acme, database):
    await acme.grow(5)
    await acme.project()
    await acme.grow(5)
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("alter table events disable trigger all")
        await owner.execute(
            "update events set data = replace(data::text, '100', '900')::json where position = $1",
            (await acme.tip()).position,
        )
    with pytest.raises(LogTorn):
        await acme.projector().once()
    assert (await at(acme)).position == (await acme.tip()).position - 5


async def test_a_reader_waits_for_its_own_write(acme, running):
    running(Relays(acme.pool, acme.redis))
    running(Projectors(acme.pool, acme.redis))
    for _ in range(5):
        await acme.deposit("ann")
        tip = (await acme.tip()).position
        assert await wait_for(acme.pool, OPERATOR, "balances", tip, 5)
        shown = await balances.one(acme.pool, OPERATOR, "ann")
        assert shown is not None
        assert shown.position >= tip


async def test_a_wait_for_what_does_not_come_ends_in_time(acme):
    await acme.project()
    clock = asyncio.get_running_loop()
    begun = clock.time()
    assert not await wait_for(acme.pool, OPERATOR, "balances", (await acme.tip()).position + 1, 0.1)
    assert 0.1 <= clock.time() - begun < 0.6
    assert await wait_for(acme.pool, OPERATOR, "balances", (await acme.tip()).position, 0)
    assert not await wait_for(acme.pool, OPERATOR, "no such projection", 0, 0)


async def test_projections_cost_no_wait_for_the_disk_and_the_log_still_does(acme):
    """A projection's commit that is lost is only applied again; the log's own commits stay durable."""
    seen: list[str] = []

    async def look(connection: Any, _place: Place, _rows: Sequence[EventRow]) -> None:
        seen.append(await connection.fetchval("show synchronous_commit"))

    await acme.projector(Projection("look", look, ())).once()
    assert seen == ["off"]
    assert await acme.pool.fetchval("show synchronous_commit") == "on"


async def test_a_new_projection_begins_at_the_beginning(acme):
    await acme.grow(600)
    await acme.projector(BALANCES).once()
    seen: list[int] = []

    async def remember(_connection: Any, _place: Place, rows: Sequence[EventRow]) -> None:
        seen.extend(row.position for row in rows)

    projector = acme.projector(BALANCES, Projection("later", remember, ()))
    while await projector.once():
        pass
    assert seen == list(range(1, (await acme.tip()).position + 1))


async def test_a_projection_far_behind_does_not_hold_up_the_others(acme):
    await acme.grow(2_200)
    await acme.relay()
    await acme.project()
    await acme.pool.execute(
        "update checkpoints set position = 0, hash = $1 where projection = 'balances'", eventlog.genesis(OPERATOR, 1)
    )
    await acme.pool.execute("delete from balances")
    await acme.grow(10)
    await acme.relay()
    projector, tip = acme.projector(), (await acme.tip()).position
    await projector.once()
    assert (await at(acme, "statement")).position == tip
    assert (await at(acme)).position == fanout.BATCH
    while await projector.once():
        pass
    await acme.all_there_once()


async def test_what_no_relay_wrote_is_not_read(acme):
    await acme.grow(20)
    key = await acme.stream_key()
    await acme.redis.xadd(key, {"x": "y"}, id="1-0")
    await acme.redis.xadd(key, {"e": "y"}, id="2-0")
    await acme.project()
    await acme.all_there_once()
    await acme.relay()
    await acme.grow(3)
    await acme.relay()
    assert (await acme.streamed())[-1] == (await acme.tip()).position

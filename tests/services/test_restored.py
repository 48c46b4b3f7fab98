"""A log that was restored to an earlier state, beside what others saw of the lost tail: nothing of it is believed, and
nothing that players may know is dealt again.

The restored database is a real one: a copy made while the round was on, before the original was played to its end.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg
import msgspec
import pytest

from infra import eventlog, fanout
from services import epochs, timers
from services.api.feed import Hub
from services.checkpoints import live
from services.relay import LogRestored, Relay
from services.timers import Timers
from tests.services.town import OPERATOR, Town, town

NOWHERE = "unix:///nonexistent/redis.sock"


@pytest.fixture
async def restored(servers, database, redis_url) -> AsyncGenerator[Town]:
    """A town whose log is set back into the first round. Redis, and `seen`, have that round to its end."""
    copy = database.partition("?")[0].rpartition("/")[2] + "_copy"
    async with town(database, redis_url) as lively:
        await lively.player("ann")
        await lively.open_table(betting_seconds=2)
        await lively.bet("ann", await lively.round_is_on(), player_a=100)
        await lively.relay()
        await lively.project()
    async with administrator(servers) as connection:
        await connection.execute(f"create database {copy} template {database.partition('?')[0].rpartition('/')[2]}")
    async with town(database, redis_url) as lively:
        lively.keys = 100  # no key is used twice
        await lively.tick(lambda state: type(state).__name__ == "Settling")
        await lively.finish_round("t.1", ["ann"])
        await lively.deposit("ann")
        await lively.relay()
        await lively.project()
        seen = await lively.tip()
    async with town(database.replace(copy.removesuffix("_copy"), copy), redis_url) as set_back:
        set_back.keys, set_back.seen = 200, seen
        assert (await set_back.tip()).position < seen.position
        yield set_back
    async with administrator(servers) as connection:
        await connection.execute(f"drop database {copy} with (force)")


@asynccontextmanager
async def administrator(servers: Any) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(servers.postgres)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def at_work(work: Awaitable[None]) -> AsyncGenerator[None]:
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def told(acme: Town, type_name: str, seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while type_name not in await kinds(acme):  # noqa: ASYNC110 - it changes in the database
            await asyncio.sleep(0.02)


async def kinds(acme: Town) -> list[str]:
    return [row.type for row in await eventlog.after(acme.pool, OPERATOR, 0)]


async def test_timers_ask_redis_before_they_deal_a_round_that_players_may_have_seen(restored):
    """No relay runs here that could have noticed first."""
    async with at_work(Timers(restored.executor, restored.pool, restored.redis).run()):
        await told(restored, "teen_patti_2020.RoundRefunded")
    seen = await kinds(restored)
    assert "teen_patti_2020.CardDealt" not in seen[: seen.index("house.LogResumed")]
    assert seen.count("house.LogResumed") == 1
    assert (await restored.tip()).epoch == 2


async def test_timers_wait_for_a_redis_that_may_know_but_not_for_ever(restored, monkeypatch):
    monkeypatch.setattr(timers, "REDIS_PATIENCE_S", 2)
    away = fanout.connect(NOWHERE)
    before = await kinds(restored)
    async with at_work(Timers(restored.executor, restored.pool, away).run()):
        await asyncio.sleep(1)
        assert await kinds(restored) == before
        await told(restored, "teen_patti_2020.CardDealt")
    await away.aclose()


async def test_timers_that_saw_the_lost_tail_need_no_redis_to_know(restored):
    clock = Timers(restored.executor, restored.pool)
    clock._seen[OPERATOR] = restored.seen
    async with at_work(clock.run()):
        await told(restored, "teen_patti_2020.RoundRefunded")
    assert "teen_patti_2020.CardDealt" not in await kinds(restored)


async def test_timers_that_run_while_the_log_is_set_back_unnoticed_see_it_by_the_tip(restored, monkeypatch):
    """Not one query failed: the database was back within two looks."""
    clock = Timers(restored.executor, restored.pool)
    clock._checked.add(OPERATOR)
    clock._seen[OPERATOR] = restored.seen
    await clock.look()
    assert "house.LogResumed" in await kinds(restored)


async def test_a_stream_of_a_later_epoch_tells_of_a_log_set_back_to_before_it(restored):
    old = fanout.key(OPERATOR, 1)
    await restored.redis.rename(old, fanout.key(OPERATOR, 2))
    with pytest.raises(LogRestored, match="epoch 2"):
        await Relay(restored.pool, restored.redis, OPERATOR).look()


async def test_all_who_notice_begin_one_epoch_together(restored):
    async def notice() -> None:
        await epochs.renew(restored.executor, restored.pool, OPERATOR, "Redis was ahead", epoch=1)

    await asyncio.gather(*(notice() for _ in range(8)))
    assert (await restored.tip()).epoch == 2
    assert (await kinds(restored)).count("house.LogResumed") == 1


async def test_an_epoch_begun_by_a_process_that_died_is_finished_by_the_next_before_it_deals(restored):
    await epochs.begin(restored.pool, OPERATOR, (await restored.tip()).system, 1)
    async with at_work(Timers(restored.executor, restored.pool).run()):
        await told(restored, "teen_patti_2020.RoundRefunded")
    assert "teen_patti_2020.CardDealt" not in await kinds(restored)


async def test_a_projection_takes_nothing_from_redis_that_the_log_has_lost(restored):
    """The lost tail fits the checkpoint, link by link."""
    await restored.project()
    tip = await restored.tip()
    assert (await live(restored.pool, OPERATOR, "balances")).position == tip.position
    projector = restored.projector()
    await projector.once()
    await restored.deposit("ann")
    async with asyncio.timeout(10):
        while (await live(restored.pool, OPERATOR, "balances")).position <= tip.position:
            await projector.once(10)
    assert (await live(restored.pool, OPERATOR, "balances")).hash == (await restored.tip()).hash


async def test_a_forged_entry_that_links_as_it_should_is_not_believed(restored):
    await restored.redis.flushall()
    tip = await restored.tip()
    [real] = await eventlog.after(restored.pool, OPERATOR, tip.position - 1)
    forged = msgspec.structs.replace(real, position=tip.position + 1, version=real.version + 1)
    forged = msgspec.structs.replace(forged, hash=eventlog.link(tip.hash, forged))
    entry = fanout.encode(msgspec.structs.astuple(forged), tip.hash)
    await restored.redis.xadd(await restored.stream_key(), {"e": entry}, id=f"{forged.position}-0")
    await restored.project()
    assert (await live(restored.pool, OPERATOR, "statement")).position == tip.position


async def test_who_follows_a_table_is_shown_nothing_that_the_log_has_lost(restored):
    hub = Hub(restored.pool, restored.redis)
    async with hub.follow(OPERATOR, ["table:t", "wallet:ann"]) as follower:
        assert await follower.next(0.5) is None
        await restored.deposit("ann")
        row = await follower.next(5)
        assert row is not None
        assert (row.type, row.hash) == ("wallet.Deposited", (await restored.tip()).hash)
    hub.close()

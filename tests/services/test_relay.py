"""The relay on real servers: whatever crashes, doubles or is lost, the stream holds the log, in order and once."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from infra import eventlog, fanout, postgres
from infra.eventlog import LogTorn
from services import relay as relays
from services.lanes import Lease, each_operator
from services.relay import LogRestored, Relay, Relays
from tests.services.town import OPERATOR, Town, town, until


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        await made.player("ann")
        yield made


async def dense(acme: Town) -> bool:
    """Does the stream hold the whole log?"""
    return await acme.streamed() == list(range(1, (await acme.tip()).position + 1))


async def drained(relay: Relay) -> int:
    total = 0
    while moved := await relay.once():
        total += moved
    return total


@pytest.fixture
async def running(acme: Town) -> AsyncGenerator[Callable[[], Relays]]:
    """Starts relays that run until the test ends."""
    tasks: list[asyncio.Task[None]] = []

    def start() -> Relays:
        made = Relays(acme.pool, acme.redis)
        tasks.append(asyncio.create_task(made.run()))
        return made

    yield start
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_the_stream_holds_every_event_of_the_log_with_its_links(acme):
    await acme.grow(1_200)
    relay = Relay(acme.pool, acme.redis, OPERATOR)
    assert await relay.once() == fanout.BATCH
    await drained(relay)
    assert await dense(acme)
    before = eventlog.genesis(OPERATOR, 1)
    for entry in await fanout.read(acme.redis, await acme.stream_key(), 0, count=5_000):
        assert entry.before == before
        assert eventlog.link(before, entry) == entry.hash
        before = entry.hash
    assert before == (await acme.tip()).hash


async def test_a_new_relay_goes_on_where_the_stream_ends(acme):
    await acme.relay()
    await acme.grow(7)
    assert await Relay(acme.pool, acme.redis, OPERATOR).once() == 7
    assert await dense(acme)


async def test_two_relays_at_once_double_nothing(acme):
    await acme.grow(3_000)
    one, two = Relay(acme.pool, acme.redis, OPERATOR), Relay(acme.pool, acme.redis, OPERATOR)

    async def copy(relay: Relay) -> int:
        total = 0
        while not await dense(acme):
            total += await relay.once()
        return total

    copied = await asyncio.gather(copy(one), copy(two))
    assert await dense(acme)
    assert sum(copied) == (await acme.tip()).position


async def test_a_relay_that_finds_the_stream_beyond_the_tip_it_has_just_read_is_merely_late(acme, monkeypatch):
    before = await acme.tip()
    await acme.grow(5)
    await acme.relay()

    async def a_moment_ago(*_: object) -> eventlog.Tip:
        return before

    late = Relay(acme.pool, acme.redis, OPERATOR)
    with monkeypatch.context() as moment:
        moment.setattr(eventlog, "tip", a_moment_ago)
        assert await late.once() == 0
    await acme.grow(5)
    assert await late.once() == 5
    assert await dense(acme)


async def test_a_relay_killed_again_and_again_leaves_no_gap_and_no_double(acme):
    await acme.grow(4_000)
    code = (
        "import asyncio, sys; from infra import fanout, postgres; from services.relay import Relay\n"
        "async def main():\n"
        "    relay = Relay(await postgres.pool(sys.argv[1], name='relay'), fanout.connect(sys.argv[2]), 'acme')\n"
        "    while True: await relay.once()\n"
        "asyncio.run(main())"
    )
    for _ in range(4):
        before = len(await acme.streamed())
        arguments = [sys.executable, "-c", code, acme.dsn, acme.redis_url]
        process = await asyncio.create_subprocess_exec(*arguments, env=os.environ | {"PYTHONPATH": str(Path.cwd())})

        async def moved(before: int = before) -> bool:
            return len(await acme.streamed()) > before or await dense(acme)

        await until(moved, 20)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        streamed = await acme.streamed()
        assert streamed == list(range(1, len(streamed) + 1))
    await acme.relay()
    assert await dense(acme)


async def test_after_flushall_the_stream_begins_again_after_the_slowest_projection(acme):
    await acme.grow(50)
    relay = await acme.relay()
    await acme.project()
    projected = (await acme.tip()).position
    await acme.grow(20)
    await acme.redis.flushall()
    await drained(relay)
    await drained(relay)
    assert await acme.streamed() == list(range(projected + 1, projected + 21))


async def test_a_relay_that_lost_its_stream_between_two_batches_looks_again(acme):
    relay = await acme.relay()
    await acme.grow(5)
    await acme.redis.flushall()
    assert await relay.once() == 0
    assert await relay.once() > 0
    assert await dense(acme)


async def test_an_empty_stream_begins_at_most_the_cap_back(acme):
    await acme.grow(100)
    tip = (await acme.tip()).position
    relay = Relay(acme.pool, acme.redis, OPERATOR, cap=30)
    await drained(relay)
    assert await acme.streamed() == list(range(tip - 29, tip + 1))


async def test_what_every_projection_has_read_is_let_go(acme, monkeypatch):
    monkeypatch.setattr(relays, "MARGIN", 10)
    await acme.grow(900)
    relay = await acme.relay()
    await relay.trim()
    assert (await acme.streamed())[0] == 1
    await acme.project()
    await relay.trim()
    streamed, tip = await acme.streamed(), (await acme.tip()).position
    assert tip - 120 < streamed[0] <= tip - 9
    assert streamed[-1] == tip


async def test_the_cap_holds_though_a_projection_stands_still(acme):
    await acme.grow(900)
    relay = Relay(acme.pool, acme.redis, OPERATOR, cap=200)
    await acme.project()
    await acme.pool.execute("update checkpoints set position = 1 where projection = 'audit'")
    await drained(relay)
    await acme.grow(300)
    await drained(relay)
    await relay.trim()
    assert 200 <= len(await acme.streamed()) < 320


async def test_a_gap_in_the_log_stops_the_relay(acme, database):
    await acme.relay()
    await acme.grow(10)
    tip = (await acme.tip()).position
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("alter table events disable trigger all")
        await owner.execute("delete from events where position = $1", tip - 5)
    relay = Relay(acme.pool, acme.redis, OPERATOR)
    with pytest.raises(LogTorn, match=str(tip - 5)):
        await drained(relay)
    assert (await acme.streamed())[-1] == tip - 10


async def restored(acme: Town, database: str, back: int) -> None:
    """Bring the log back to how it was some events ago, as a restored backup would."""
    tip = await acme.tip()
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("alter table events disable trigger all")
        await owner.execute("delete from events where position > $1", tip.position - back)
        await owner.execute(
            "update logs set position = $1, hash = (select hash from events where position = $1)", tip.position - back
        )
        await owner.execute(
            "update streams s set version = e.version from (select stream, max(version) as version from events"
            " group by stream) e where e.stream = s.stream"
        )


@pytest.mark.parametrize("fresh", [True, False], ids=["a new relay", "the same relay"])
async def test_a_redis_ahead_of_the_log_means_that_the_log_was_restored(acme, database, fresh):
    relay = await acme.relay()
    await acme.grow(10)
    await drained(relay)
    await restored(acme, database, 5)
    with pytest.raises(LogRestored):
        await (Relay(acme.pool, acme.redis, OPERATOR) if fresh else relay).once()


@pytest.mark.parametrize("fresh", [True, False], ids=["a new relay", "the same relay"])
async def test_a_restored_log_that_has_grown_past_redis_is_known_by_its_hash(acme, database, fresh):
    relay = await acme.relay()
    await acme.grow(10)
    await drained(relay)
    await restored(acme, database, 5)
    await acme.grow(30)
    with pytest.raises(LogRestored):
        await (Relay(acme.pool, acme.redis, OPERATOR) if fresh else relay).once()


async def test_a_new_epoch_has_a_stream_of_its_own_and_the_old_one_expires(acme):
    relay = await acme.relay()
    old = await acme.stream_key()
    await acme.pool.execute("update logs set epoch = 2")
    await acme.grow(3)
    await drained(relay)
    assert await acme.stream_key() != old
    assert await dense(acme)
    assert await acme.redis.ttl(old) > 0


async def test_a_woken_relay_copies_at_once(acme, running):
    made = running()
    await until(lambda: dense(acme))
    await asyncio.sleep(3)  # long enough that it polls at its slowest
    acme.executor.wake = made.wake
    await acme.deposit("ann")
    clock = asyncio.get_running_loop()
    begun = clock.time()
    await until(lambda: dense(acme))
    assert clock.time() - begun < 0.15


async def test_without_a_wake_the_log_is_polled(acme, running):
    running()
    await acme.grow(100)
    await until(lambda: dense(acme))


async def test_one_relay_works_and_the_other_takes_over_when_it_is_gone(acme, running, monkeypatch):
    holder = Lease(acme.pool, OPERATOR, "relay")
    assert await holder.held()
    running()
    await asyncio.sleep(0.5)
    assert await acme.streamed() == []
    await acme.pool.execute("update leases set until = clock_timestamp() + interval '0.3 second'")
    await until(lambda: dense(acme))
    assert not await Lease(acme.pool, OPERATOR, "relay").held()


async def test_a_lease_is_free_again_as_soon_as_its_work_ends(acme):
    first, second = Lease(acme.pool, OPERATOR, "work"), Lease(acme.pool, OPERATOR, "work")
    assert await first.held()
    assert not await second.held()
    await first.end()
    assert await second.held()


async def test_work_in_which_a_cancellation_is_lost_is_ended_nevertheless(acme):
    """As redis-py may lose one, before Python 3.12, where it meets the end of a write."""
    begun = asyncio.Event()

    async def serve(_operator: str) -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    lanes = asyncio.create_task(each_operator(acme.pool, serve))
    await begun.wait()
    lanes.cancel()
    await asyncio.wait([lanes], timeout=10)
    assert lanes.done()


async def test_while_redis_is_away_nothing_is_lost(acme, running):
    running()
    await until(lambda: dense(acme))
    await acme.redis.config_set("maxmemory", "1")
    await acme.redis.config_set("maxmemory-policy", "noeviction")
    try:
        await acme.grow(50)
        await asyncio.sleep(0.3)
        assert not await dense(acme)
    finally:
        await acme.redis.config_set("maxmemory", "0")
    await until(lambda: dense(acme))


async def test_a_restored_log_is_reported_and_the_relay_goes_on_in_its_new_epoch(acme, database):
    await acme.relay()
    await acme.grow(10)
    await acme.relay()
    await restored(acme, database, 5)
    told: list[str] = []

    async def renew(operator: str, epoch: int) -> None:
        assert epoch == 1
        told.append(operator)
        await acme.pool.execute("update logs set epoch = epoch + 1")

    task = asyncio.create_task(Relays(acme.pool, acme.redis, restored=renew).run())
    try:
        await until(lambda: dense(acme))
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert told == [OPERATOR]
    assert (await acme.tip()).epoch == 2


async def test_an_operator_who_comes_later_is_relayed_too(acme, running):
    running()
    genesis = eventlog.genesis("late", 1)
    await acme.pool.execute("insert into logs values ('late', 1, 0, $1, clock_timestamp(), 'x')", genesis)
    from domain import house
    from domain.decider import Submission
    from domain.game import Role

    await acme.executor.submit(Submission("late", "ops", Role.OPERATOR, "house", house.OpenOperator("Late")))

    async def there() -> bool:
        return await fanout.last_position(acme.redis, fanout.key("late", 1)) == 1

    await until(there)

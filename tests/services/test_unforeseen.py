"""What runs for ever in API and worker goes on after a bug that nobody foresaw, and raises an alarm."""

import asyncio
import time
from contextlib import asynccontextmanager, suppress

import pytest
import redis.asyncio
from structlog.testing import capture_logs

from infra import eventlog, tasks
from services import lanes
from services.api.feed import Hub
from services.lanes import each_operator
from services.timers import FAILURES_MAX, Timers
from services.watch import Watch
from tests.services.acme import dsn, executor, pool

__all__ = ["dsn", "executor", "pool"]


class Bug:
    """Stands before a function, and fails in its place the first time."""

    def __init__(self, then):
        self.then = then
        self.has_struck = False

    def __call__(self, *given, **named):
        if not self.has_struck:
            self.has_struck = True
            raise RuntimeError("nobody foresaw this")
        return self.then(*given, **named)


@asynccontextmanager
async def going_on(work):
    """The loop runs inside; some call in it has to strike a bug and raise an alarm."""
    with capture_logs() as said:
        task = asyncio.create_task(work)
        yield
        assert not task.done()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert [line for line in said if line.get("alarm")]


async def until(holds):
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come so far")


async def test_the_watch_tells_on_and_forgets_nothing(executor, pool, monkeypatch):
    monkeypatch.setattr(executor, "submit", bug := Bug(executor.submit))
    watch = Watch(executor)
    watch.turned_away("acme", "before")
    async with going_on(watch.run()):
        watch.took("acme", "k1")
        await until(lambda: bug.has_struck)
        watch.took("acme", "k2")
        await until(lambda: not watch._seen)
    told = [row.event for row in await eventlog.after(pool, "acme", 1)]
    assert [each.key for each in told[:2]] == ["k1", "k2"]
    assert told[2].named == ("before",)


async def test_the_timers_look_on(executor, pool, monkeypatch):
    timers = Timers(executor, pool)
    monkeypatch.setattr(timers, "look", bug := Bug(timers.look))
    async with going_on(timers.run()):
        await until(lambda: bug.has_struck and timers._seen)


async def test_a_table_that_cannot_even_be_put_to_rest_is_left_alone_for_a_while(executor, pool, monkeypatch):
    timers = Timers(executor, pool)
    monkeypatch.setattr(executor, "submit", Bug(executor.submit))
    timers._failures["acme", "table:t"] = FAILURES_MAX - 1
    begun = time.monotonic()
    with capture_logs() as said:
        await timers._serve("acme", "table:t", "teen_patti_2020", "no state at all")
    assert time.monotonic() - begun > 1
    assert said[-1]["event"].startswith("a table cannot be put to rest")


async def test_the_search_for_operators_goes_on(executor, pool, monkeypatch):
    served = []

    async def serve(operator):
        served.append(operator)

    monkeypatch.setattr(eventlog, "operators", Bug(eventlog.operators))
    async with going_on(each_operator(pool, serve)):
        await until(lambda: served)
    assert set(served) == {"acme"}


async def test_a_database_that_is_away_is_told_of_once_not_each_second(pool, monkeypatch):
    asked = []

    async def away(_):
        asked.append(1)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(eventlog, "operators", away)
    monkeypatch.setattr(lanes, "_DISCOVER_SECONDS", 0.01)
    with capture_logs() as said:
        task = asyncio.create_task(each_operator(pool, lambda _: asyncio.sleep(0)))
        await until(lambda: len(asked) > 3)
        await tasks.end([task])
    assert [line["event"] for line in said] == ["cannot ask for operators"]


async def test_a_lane_begins_again(executor, pool):
    served = []

    async def serve(operator):
        served.append(operator)

    async with going_on(each_operator(pool, Bug(serve))):
        await until(lambda: served)


async def test_who_follows_a_table_hears_that_the_reading_failed_and_may_come_again(
    executor, pool, redis_url, monkeypatch
):
    async with redis.asyncio.Redis.from_url(redis_url) as streams:
        hub = Hub(pool, streams)
        monkeypatch.setattr(eventlog, "tip", Bug(eventlog.tip))
        with capture_logs() as said, pytest.raises(RuntimeError):
            async with asyncio.timeout(5), hub.follow("acme", ["house"]):
                raise AssertionError("it cannot have begun")
        assert [line for line in said if line.get("alarm")]
        async with asyncio.timeout(5), hub.follow("acme", ["house"]):
            assert hub.followers == 1


async def test_who_comes_while_the_process_ends_is_not_left_waiting(executor, pool, redis_url):
    async with redis.asyncio.Redis.from_url(redis_url) as streams:
        hub = Hub(pool, streams)

        async def follow():
            async with hub.follow("acme", ["house"]):
                raise AssertionError("it cannot have begun")

        following = asyncio.create_task(follow())
        await asyncio.sleep(0)
        hub.close()
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(following, 5)

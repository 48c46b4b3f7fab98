"""The fan-out stream on a real Redis: entries in order, once, whoever writes and whatever Redis loses."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from infra import eventlog, fanout, postgres
from infra.eventlog import EventRow

KEY = fanout.key("acme", 1)


@pytest.fixture
async def redis(redis_url: str) -> AsyncGenerator[fanout.Redis]:
    client = fanout.connect(redis_url)
    yield client
    await client.aclose()


@pytest.fixture
def writer(redis: fanout.Redis) -> fanout.Writer:
    return fanout.Writer(redis)


def entries(first: int, last: int) -> list[bytes]:
    return [fanout.encode(_record(position), b"before") for position in range(first, last + 1)]


def _record(position: int) -> tuple[object, ...]:
    return (position, "wallet:ann", 2, "wallet.Blocked", 1, None, "key-1", "ops", "operator", 17, '{"a":1}', b"hash")


async def positions(redis: fanout.Redis) -> list[int]:
    return [entry.position for entry in await fanout.read(redis, KEY, 0, count=10_000)]


async def test_an_entry_carries_all_of_the_event_and_both_hashes(redis, writer):
    await writer.append(KEY, 0, entries(1, 1))
    [entry] = await fanout.read(redis, KEY, 0)
    assert entry == fanout.Entry(*_record(1), b"before")
    assert isinstance(entry, EventRow)
    assert [name for name in entry.__struct_fields__ if name != "before"] == list(EventRow.__struct_fields__)


async def test_the_log_reads_its_columns_in_the_order_of_an_entry(database):
    async with postgres.connected(database, name="test") as connection:
        statement = await connection.prepare(eventlog.SQL["events_after"])
        assert [column.name for column in statement.get_attributes()] == list(EventRow.__struct_fields__)


async def test_an_append_follows_the_last_entry(redis, writer):
    assert await writer.append(KEY, 0, entries(1, 3))
    assert await writer.append(KEY, 3, entries(4, 5))
    assert await positions(redis) == [1, 2, 3, 4, 5]


async def test_an_append_that_comes_again_adds_nothing(redis, writer):
    await writer.append(KEY, 0, entries(1, 3))
    assert not await writer.append(KEY, 0, entries(1, 3))
    assert not await writer.append(KEY, 2, entries(3, 6))
    assert await positions(redis) == [1, 2, 3]


async def test_an_append_that_would_leave_a_hole_adds_nothing(redis, writer):
    await writer.append(KEY, 0, entries(1, 3))
    assert not await writer.append(KEY, 7, entries(8, 9))
    assert await positions(redis) == [1, 2, 3]


async def test_only_a_writer_that_knows_it_begins_a_lost_stream_in_the_middle(redis, writer):
    await writer.append(KEY, 0, entries(1, 3))
    await redis.flushdb()
    assert not await writer.append(KEY, 3, entries(4, 5))
    assert await positions(redis) == []
    assert await writer.append(KEY, 3, entries(4, 5), begin=True)
    assert not await writer.append(KEY, 1, entries(2, 3), begin=True)
    assert await positions(redis) == [4, 5]


async def test_two_writers_at_once_neither_double_nor_reorder(redis, writer):
    async def write(own: fanout.Writer) -> None:
        at = 0
        while at < 600:
            await own.append(KEY, at, entries(at + 1, min(600, at + 7)))
            at = await fanout.last_position(redis, KEY)

    await asyncio.gather(write(writer), write(fanout.Writer(redis)))
    assert await positions(redis) == list(range(1, 601))


async def test_the_last_position_is_known_although_its_entry_was_trimmed(redis, writer):
    assert await fanout.last_position(redis, KEY) == 0
    await writer.append(KEY, 0, entries(1, 3))
    await redis.xtrim(KEY, minid="4-0", approximate=False)
    assert await fanout.last_entry(redis, KEY) is None
    assert await fanout.last_position(redis, KEY) == 3
    assert await writer.append(KEY, 3, entries(4, 4))


async def test_a_reader_behind_a_trimmed_stream_is_given_what_is_left(redis, writer):
    await writer.append(KEY, 0, entries(1, 900))
    await fanout.trim(redis, KEY, 801)
    found = await positions(redis)
    assert found[0] > 1
    assert found[0] <= 801
    assert found[-1] == 900


async def test_a_blocked_reader_wakes_when_an_entry_comes(redis, writer):
    waiting = asyncio.create_task(fanout.read(redis, KEY, 0, block_ms=4_000))
    await asyncio.sleep(0.05)
    await writer.append(KEY, 0, entries(1, 1))
    async with asyncio.timeout(1):
        assert [entry.position for entry in await waiting] == [1]


async def test_the_script_survives_a_redis_that_forgot_it(redis, writer):
    await writer.append(KEY, 0, entries(1, 1))
    await redis.script_flush()
    assert await writer.append(KEY, 1, entries(2, 2))


async def test_a_stream_of_an_epoch_that_is_over_goes_away(redis, writer):
    await writer.append(KEY, 0, entries(1, 1))
    await fanout.retire(redis, "acme", 1, seconds=100)
    assert 0 < await redis.ttl(KEY) <= 100

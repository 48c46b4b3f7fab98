"""The worker's heartbeat: a file whose age tells that relay, projections and timers go round, each of them."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec import structs

from services import heartbeat, lanes
from services.heartbeat import Heartbeat
from services.projector import Projector
from services.relay import Relay
from services.timers import Timers
from services.worker import work
from tests.services.conftest import NO_REDIS

LATE_S = 0.6


@pytest.fixture
async def working(casino, tmp_path, monkeypatch):
    """A worker whose heartbeat is quick; its file."""
    monkeypatch.setattr(heartbeat, "TOUCH_EVERY_S", 0.05)
    monkeypatch.setattr(heartbeat, "LATE_S", LATE_S)
    monkeypatch.setattr(lanes, "_DISCOVER_SECONDS", 0.1)  # else no turn of theirs is in time
    file, stop = tmp_path / "heartbeat", asyncio.Event()
    file.touch()
    worker = asyncio.create_task(work(casino.services.settings, stop, file))
    yield file
    stop.set()
    await asyncio.wait_for(worker, 10)


async def touched_within(seconds: float, file: Path) -> bool:
    before = touched(file)
    await asyncio.sleep(seconds)
    return touched(file) != before


def touched(file: Path) -> int:
    return file.stat().st_mtime_ns


@pytest.mark.parametrize(("part", "step"), [(Relay, "once"), (Projector, "once"), (Timers, "look")])
async def test_it_stops_with_any_one_of_the_parts_and_goes_on_with_it(working: Path, monkeypatch, part, step):
    usual: Callable[..., Awaitable[int]] = getattr(part, step)
    standing, goes_on = asyncio.Event(), asyncio.Event()

    async def stand_still(*arguments: object) -> int:
        standing.set()
        await goes_on.wait()
        return await usual(*arguments)

    assert await touched_within(1, working)
    monkeypatch.setattr(part, step, stand_still)
    await standing.wait()
    await asyncio.sleep(2 * LATE_S)
    assert not await touched_within(0.5, working)
    goes_on.set()
    assert await touched_within(1, working)


def test_a_part_that_never_began_stands_still(monkeypatch) -> None:
    heart = Heartbeat(("relay", "timers"))
    assert heart.still() == []
    monkeypatch.setattr(heartbeat, "LATE_S", 0)
    assert heart.still() == ["relay", "timers"]


async def test_servers_that_are_away_are_waited_for_and_no_reason_to_end_a_worker(casino, tmp_path, monkeypatch):
    monkeypatch.setattr(heartbeat, "TOUCH_EVERY_S", 0.05)
    monkeypatch.setattr(heartbeat, "LATE_S", 1.5)
    away = structs.replace(casino.services.settings, postgres="postgresql://u@127.0.0.1:1/x", redis=NO_REDIS)
    file, stop = tmp_path / "heartbeat", asyncio.Event()
    worker = asyncio.create_task(work(away, stop, file))
    await asyncio.sleep(2.5)
    assert await touched_within(0.5, file)
    stop.set()
    await asyncio.wait_for(worker, 10)

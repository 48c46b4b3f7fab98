"""Tasks are ended, however they take it."""

import asyncio

from infra import tasks


async def test_a_task_that_loses_a_cancellation_is_cancelled_again(monkeypatch):
    monkeypatch.setattr(tasks, "AGAIN_S", 0.01)
    lost = []

    async def deaf():
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                lost.append(1)
                if len(lost) > 2:
                    raise

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await tasks.end([task])
    assert (task.cancelled(), len(lost)) == (True, 3)


async def test_how_a_task_ended_is_nobodys_business_any_more():
    async def fails():
        raise ValueError

    async def fine():
        return 1

    ended = [asyncio.create_task(each()) for each in (fails, fine)]
    await asyncio.sleep(0)
    await tasks.end([])
    await tasks.end(ended)
    assert all(task.done() for task in ended)

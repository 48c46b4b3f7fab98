"""How tasks of asyncio are ended."""

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_S = 1.0


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel them, and wait until they have ended, however each did.

    Until Python 3.12 a cancellation that meets the end of an `asyncio.wait_for` is lost, and redis-py and asyncpg wait
    so: whoever goes on is cancelled again.
    """
    going_on = set(tasks)
    while going_on:
        for task in going_on:
            task.cancel()
        ended, going_on = await asyncio.wait(going_on, timeout=AGAIN_S)
        for task in ended:
            _ = task.cancelled() or task.exception()  # looked at, or asyncio complains that nobody did

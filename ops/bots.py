"""The life in `croupier up`: at each game's tables players of several tempers, and a studio where one is needed.

Run as `python -m ops.bots URL KEYS_FOLDER`. They are ordinary callers of the API. House bots give no client seeds:
those are for players who do not trust the house.
"""

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path

import httpx

from domain.game import Role
from ops import bots_2020, bots_gin, bots_patti, demo_house
from ops.bots_house import for_ever
from ops.client import Client

LIFE = {"teen_patti_2020": bots_2020.live, "three_patti": bots_patti.live, "gin_rummy": bots_gin.live}


async def live(url: str, keys: demo_house.Keys) -> None:
    limits = httpx.Limits(max_connections=50)
    http = httpx.AsyncClient(timeout=30, trust_env=False, limits=limits)
    async with Client(url, keys[Role.OPERATOR], http) as operator, asyncio.TaskGroup() as group:
        callers = {role: operator.acting_as(key) for role, key in keys.items()}
        for game, tables in demo_house.TABLES.items():
            group.create_task(for_ever(lambda game=game, tables=tables: LIFE[game](callers, tables)))


async def _until_told(url: str, keys: demo_house.Keys) -> None:
    task = asyncio.create_task(live(url, keys))
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


if __name__ == "__main__":
    asyncio.run(_until_told(sys.argv[1], demo_house.kept(Path(sys.argv[2]))))

"""One task for each operator's log, and the lease by which one process at a time does its work.

A lease only saves double work: what is done under it is exact, however many do it.
"""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import structlog
from redis.exceptions import RedisError

from infra import eventlog, tasks
from infra.postgres import Pool
from infra.sql import queries

SQL = queries("relay")
LEASE_SECONDS = 5
_RENEW_SECONDS = 1.5
_DISCOVER_SECONDS = 1.0
OUTAGE = (
    RedisError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.QueryCanceledError,
    asyncpg.TooManyConnectionsError,
    asyncpg.DeadlockDetectedError,
    OSError,
    TimeoutError,
)
"""A server that is away for a moment: wait, and try again."""

log: Any = structlog.get_logger()


class Lease:
    """The right to do a work for an operator, for the next seconds by the database's clock."""

    def __init__(self, pool: Pool, operator: str, work: str) -> None:
        self._pool = pool
        self._key = (operator, work, f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}")
        self._renew_at = 0.0

    async def held(self) -> bool:
        """Is it ours? Renews it in good time."""
        now = time.monotonic()
        if now >= self._renew_at:
            taken = await self._pool.fetchval(SQL["take_lease"], *self._key, LEASE_SECONDS)
            if taken is None:
                return False
            self._renew_at = now + _RENEW_SECONDS
        return True

    async def end(self) -> None:
        if self._renew_at:
            self._renew_at = 0.0
            await self._pool.execute(SQL["end_lease"], *self._key)


async def each_operator(
    pool: Pool, serve: Callable[[str], Awaitable[None]], beat: Callable[[], None] = lambda: None
) -> None:
    """Run `serve` for every operator there is, and for those that come, until cancelled."""
    lanes: dict[str, asyncio.Task[None]] = {}
    said = ""
    try:
        while True:
            beat()
            try:
                names, said = await eventlog.operators(pool), ""
            except OUTAGE as problem:
                said = tell_once(said, "cannot ask for operators", problem)
                names = []
            except Exception:
                log.exception("cannot ask for operators; it is tried again", alarm=True)
                names = []
            for name in names:
                if name not in lanes or lanes[name].done():
                    lanes[name] = asyncio.create_task(_guarded(serve, name), name=f"lane of {name}")
            await asyncio.sleep(_DISCOVER_SECONDS)
    finally:
        await tasks.end(lanes.values())


def tell_once(said: str, what: str, problem: Exception) -> str:
    """A line for each kind of trouble until it is over, not one a second. Returns what to give the next time."""
    now = f"{type(problem).__name__}: {problem}"
    if now != said:
        log.warning(what, problem=now)
    return now


async def _guarded(serve: Callable[[str], Awaitable[None]], operator: str) -> None:
    try:
        await serve(operator)
    except Exception:
        log.exception("a lane ended by a bug; it starts again", operator=operator, alarm=True)


class Backoff:
    """Growing pauses while something is wrong, with one log line for each kind of trouble until it is over."""

    def __init__(self, work: str, operator: str, *, longest: float = 5.0) -> None:
        self._log = log.bind(work=work, operator=operator)
        self._longest = longest
        self._pause = 0.0
        self._said = ""

    async def after(self, problem: Exception) -> None:
        said = f"{type(problem).__name__}: {problem}"
        if said != self._said:
            self._log.warning("interrupted, trying on", problem=said)
            self._said = said
        self._pause = min(self._longest, max(0.05, self._pause * 2))
        await asyncio.sleep(self._pause)

    def over(self) -> None:
        if self._said:
            self._log.info("going on")
        self._pause, self._said = 0.0, ""

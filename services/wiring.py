"""The composition root: what a process is made of, made once and passed on. No other module makes a connection."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import redis.asyncio
from msgspec import Struct

from infra import postgres
from infra.settings import Settings
from infra.vault import Vault
from services.executor import Executor


class Services(Struct, frozen=True):
    """What every role needs. `redis` may be down: it is a fast path, never the truth."""

    settings: Settings
    pool: postgres.Pool
    redis: redis.asyncio.Redis
    vault: Vault
    executor: Executor


@asynccontextmanager
async def opened(
    settings: Settings, role: str, wake: Callable[[str], None] = lambda operator: None
) -> AsyncIterator[Services]:
    """The services of one process, closed again in order. `wake` hears of every append (the relay's doorbell)."""
    vault = Vault(settings.vault_keys)
    pool = await postgres.pool(settings.postgres, name=role)
    client = redis.asyncio.Redis.from_url(settings.redis, socket_timeout=5, protocol=2)
    executor = Executor(settings.postgres, vault, wake)
    try:
        yield Services(settings, pool, client, vault, executor)
    finally:
        await executor.close()
        await client.aclose()
        await pool.close()

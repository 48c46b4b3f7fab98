"""The composition root: what a process is made of, made once and passed on. No other module makes a connection."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct

from infra import fanout, postgres
from infra.settings import Settings
from infra.vault import Vault
from services.executor import Executor


class Services(Struct, frozen=True):
    """What every role needs. `redis` may be down: it is a fast path, never the truth."""

    settings: Settings
    pool: postgres.Pool
    redis: fanout.Redis
    vault: Vault
    executor: Executor


@asynccontextmanager
async def opened(settings: Settings, role: str) -> AsyncGenerator[Services]:
    """The services of one process, closed again in order.

    An API process deals nothing, and is given no vault key even where its environment has them (DESIGN 7).
    """
    vault = Vault({} if role == "api" else settings.vault_keys)
    pool = await postgres.pool(settings.postgres, name=role)
    client = fanout.connect(settings.redis)
    executor = Executor(settings.postgres, vault)
    try:
        yield Services(settings, pool, client, vault, executor)
    finally:
        await executor.close()
        await client.aclose()
        await pool.close()

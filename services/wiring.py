"""The composition root: what a process is made of, made once and passed on. No other module makes a connection."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import structlog
from msgspec import Struct
from msgspec.structs import replace

from domain.games import GAMES
from infra import eventlog, fanout, postgres
from infra.settings import Settings
from infra.vault import Vault, game_of
from services import epochs
from services.executor import Executor

HIDING = frozenset(game.name for game in GAMES.values() if game.hidden_cards)
API = "api"
_LOOK_AGAIN_S = 1.0

log: Any = structlog.get_logger()


class Services(Struct, frozen=True):
    """What every role needs. `redis` may be down: it is a fast path, never the truth."""

    settings: Settings
    pool: postgres.Pool
    redis: fanout.Redis
    vault: Vault
    executor: Executor


@asynccontextmanager
async def opened(settings: Settings, role: str) -> AsyncGenerator[Services]:
    """The services of one process, closed again in order. What its role may not hold is dropped, if it is there."""
    if role == API:
        mine = {name: key for name, key in settings.vault_keys.items() if held_by_api(name)}
        settings = replace(settings, vault_keys=mine, log_keys={})
    vault = Vault(settings.vault_keys)
    pool = await postgres.pool(settings.postgres, name=role)
    client = fanout.connect(settings.redis)
    if role == API and (missing := missing_keys(settings)):
        log.warning("tables of these games cannot be served here: no vault key of theirs", games=missing, alarm=True)
    is_known = partial(epochs.is_known, pool, client) if role == API else None  # a worker resumes the log itself
    executor = Executor(settings.postgres, vault, is_known)
    try:
        yield Services(settings, pool, client, vault, executor)
    finally:
        await executor.close()
        await client.aclose()
        await pool.close()


def held_by_api(vault_key: str) -> bool:
    """An API process holds the vault keys of games in which players show and see cards by their own commands (DESIGN
    7): it can open no deck of a game that the worker alone deals. It holds no key that signs logs."""
    return game_of(vault_key) in HIDING


async def warn_of_too_many_rights(pool: postgres.Pool) -> None:
    """Whoever gets hold of the service's login shall not be able to change the log (DESIGN 3), and nothing else would
    tell that it is the owner's. Ends as soon as the database has answered."""
    may: bool | None = None
    while may is None:
        with suppress(*eventlog.DATABASE_ERRORS):
            may = await postgres.may_change_the_log(pool)
        if may is None:
            await asyncio.sleep(_LOOK_AGAIN_S)
    if may:
        log.warning(
            "this login may change the log; give one in the service's role", wanted=postgres.SERVICE_ROLE, alarm=True
        )


def missing_keys(settings: Settings) -> list[str]:
    """Games with hidden cards of which no vault key is given: nobody can play or see them here."""
    return sorted(HIDING - set(map(game_of, settings.vault_keys)))

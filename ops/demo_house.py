"""The demo operator: its keys, and the tables of `croupier up`. All of it can be set up again and again.

The log holds keys as digests only. The demo's own are also kept in files that only their owner can read (0600), so
that bots and README's commands work after a restart; a real operator's keys are shown once and kept nowhere.
"""

import asyncio
import os
from pathlib import Path

from domain import house
from domain.decider import Submission
from domain.game import Role
from domain.names import HOUSE
from infra.settings import Settings
from ops.client import Client, Problem
from services import operators, wiring
from services.api.auth import new_key
from services.settlement import PLATFORM

OPERATOR = "demo"
STAFF = (Role.OPERATOR, Role.STUDIO, Role.SUPERVISOR, Role.AUDITOR)
TABLES: dict[str, dict[str, dict[str, str | int]]] = {
    "teen_patti_2020": {
        "rng-1": {"currency": "INR", "kind": "rng", "betting_seconds": 12, "pause_seconds": 4},
        "live-1": {"currency": "INR", "kind": "live", "betting_seconds": 15, "pause_seconds": 5},
    },
    "three_patti": {
        "patti-1": {
            "currency": "INR",
            "boot": 1_000,
            "max_stake": 16_000,
            "pot_limit": 250_000,
            "buy_in_min": 100_000,
            "rake_bps": 250,
        },
    },
    "gin_rummy": {"gin-1": {"currency": "INR", "entry": 5_000, "rake_bps": 250}},
}
"""Of each game, by their names."""
_KEY_SEEN_S = 3
"""A process looks at an operator's keys once a second: so long may a fresh one be unknown."""

Keys = dict[Role, str]


async def furnished(settings: Settings, url: str, folder: Path) -> tuple[Keys, list[Role]]:
    """The demo operator's keys, and which of them are new. `folder` keeps them, each in a file of its own."""
    keys = kept(folder)
    fresh: list[Role] = []
    async with Client(url, keys.get(Role.OPERATOR, "none")) as client:
        valid = await _valid(client)
        if valid is None:
            keys = {Role.OPERATOR: await first_key(settings, OPERATOR, "Demo Casino")}
            fresh.append(Role.OPERATOR)
            valid = {_id_of(keys[Role.OPERATOR])}
        operator = client.acting_as(keys[Role.OPERATOR])
        await seen(operator)
        for role in STAFF:
            if role not in keys or _id_of(keys[role]) not in valid:
                keys[role] = (await operator.mint_key(role, "demo")).token or ""
                fresh.append(role)
        for role in fresh:
            _write(folder / role, keys[role])
        for game, tables in TABLES.items():
            for table, config in tables.items():
                await opened(operator, table, game, config)
    return keys, fresh


def kept(folder: Path) -> Keys:
    return {role: (folder / role).read_text().strip() for role in STAFF if (folder / role).exists()}


async def first_key(settings: Settings, operator: str, name: str) -> str:
    """Open the operator's log if need be and mint a key of the role operator: with it the rest goes over HTTP."""
    async with wiring.opened(settings, "up") as services:
        await operators.open_operator(services.executor, services.pool, operator, name)
        key = new_key(operator)
        minted = house.MintKey(key.id, Role.OPERATOR, key.digest, "demo")
        await services.executor.submit(Submission(operator, PLATFORM, Role.OPERATOR, HOUSE, minted))
    return key.token


async def opened(operator: Client, table: str, game: str, config: dict[str, str | int]) -> None:
    """Open a table; one that is there already stays as it is."""
    try:
        await operator.open_table(table, game, config)
    except Problem as problem:
        if problem.code != "TableExists":
            raise


async def seen(client: Client) -> None:
    """Wait until the service knows a key that was just minted."""
    for _ in range(_KEY_SEEN_S * 10):
        if await _valid(client) is not None:
            return
        await asyncio.sleep(0.1)
    raise Problem(401, "Unauthorized", "the new key is not taken", {})


async def _valid(operator: Client) -> set[str] | None:
    """The ids of keys that are not revoked; None if the caller's own is not taken."""
    try:
        return {key.id for key in await operator.keys() if not key.revoked}
    except Problem as problem:
        if problem.status != 401:
            raise
        return None


def _id_of(token: str) -> str:
    return token.partition(".")[2].partition("_")[0]


def _write(file: Path, token: str) -> None:
    file.parent.mkdir(mode=0o700, exist_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        stream.write(token + "\n")

"""Connections to Postgres, and its migrations: plain SQL files, forward only, each applied once and never changed.

Moments travel as whole microseconds UTC (domain.game.Micros), never as floats or local times.
"""

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from infra.sql import HERE

SERVICE_ROLE = "croupier_service"
LOGIN = "croupier"
OLDEST = 15
_Y2K = 946_684_800_000_000
_MIGRATING = 0x0C0001
_MIGRATIONS = f"""
    create table if not exists migrations (name text primary key, digest text not null);
    grant select on migrations to {SERVICE_ROLE}
"""

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"


async def prepare_types(connection: Connection) -> None:
    """Make timestamptz travel as Micros, both ways."""
    await connection.set_type_codec(
        "timestamptz",
        schema="pg_catalog",
        encoder=lambda micros: (micros - _Y2K,),
        decoder=lambda pair: pair[0] + _Y2K,
        format="tuple",
    )


async def connect(dsn: str, *, name: str, cached: int = 100, **settings: str) -> Connection:
    """One connection of its own. `cached=0` keeps asyncpg from forgetting prepared statements after some minutes."""
    connection = await asyncpg.connect(
        dsn,
        server_settings={"application_name": f"croupier {name}", **settings},
        max_cached_statement_lifetime=300 if cached else 0,
    )
    await prepare_types(connection)
    return connection


async def _keep(_: object) -> None:
    """Nothing here sets anything in a session, so a connection goes back as it is, without a round trip."""


async def pool(dsn: str, *, name: str, size: int = 8) -> Pool:
    """Connections for reading. A read that takes over 30 s is ended: an old snapshot slows every flush of the log."""
    made = await asyncpg.create_pool(
        dsn,
        min_size=0,
        max_size=size,
        init=prepare_types,
        reset=_keep,
        server_settings={"application_name": f"croupier {name}", "statement_timeout": "30s"},
    )
    assert made is not None
    return made


@asynccontextmanager
async def connected(dsn: str, *, name: str) -> AsyncGenerator[Connection]:
    connection = await connect(dsn, name=name)
    try:
        yield connection
    finally:
        await connection.close()


async def migrate(dsn: str) -> list[str]:
    """Bring the schema up to date as its owner; returns the names of what was applied now. Where nothing is new, any
    login will do.

    Safe to run from several processes at once; each file is a transaction, so that none keeps its locks through the
    next. Raises RuntimeError when a file that was applied has been changed, or the database is not one that we know, or
    lacks what only an administrator can make.
    """
    async with connected(dsn, name="migrate") as connection:
        await _check(connection)
        await connection.execute("select pg_advisory_lock($1)", _MIGRATING)  # until this connection ends
        applied = await _applied(connection)
        texts = {path.name: path.read_text() for path in sorted((HERE / "schema").glob("*.sql"))}
        digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
        for name, digest in digests.items():
            if applied.get(name, digest) != digest:
                raise RuntimeError(f"{name} was applied and then changed; write a new migration instead")
        fresh = [name for name in texts if name not in applied]
        if fresh:
            await _check_service_role(connection)
        for name in fresh:
            async with connection.transaction():
                await connection.execute(texts[name])
                await connection.execute(_MIGRATIONS)
                await connection.execute("insert into migrations values ($1, $2)", name, digests[name])
        return fresh


async def _applied(connection: Connection) -> dict[str, str]:
    """Digests by name."""
    if await connection.fetchval("select to_regclass('migrations')") is None:
        return {}
    return {row["name"]: row["digest"] for row in await connection.fetch("select name, digest from migrations")}


async def _check_service_role(connection: Connection) -> None:
    """A role is the server's, not the database's, so its owner may not be allowed to make one."""
    here = "select exists (select from pg_roles where rolname = $1)"
    may = "select rolsuper or rolcreaterole from pg_roles where rolname = current_user"
    if not await connection.fetchval(here, SERVICE_ROLE) and not await connection.fetchval(may):
        raise RuntimeError(
            f"there is no role {SERVICE_ROLE}, and this login may not create one; let an administrator run, once:\n"
            f"  create role {SERVICE_ROLE} nologin;\n"
            f"  create role {LOGIN} login password '...' in role {SERVICE_ROLE};\n"
            "then migrate again. The second one is the login of API and worker."
        )


async def may_change_the_log(pool: Pool) -> bool | None:
    """May this login do more to events than read and append? None: there is no log yet."""
    return await pool.fetchval("select has_table_privilege(to_regclass('events'), 'update, delete, truncate')")


async def _check(connection: Connection) -> None:
    """The log is hashed as UTF-8, and its queries are tried on these versions. A newer one may do."""
    encoding = await connection.fetchval("show server_encoding")
    if encoding != "UTF8":
        raise RuntimeError(
            f"the database's encoding is {encoding}: make one with `create database ... encoding 'UTF8'`"
        )
    if connection.get_server_version().major < OLDEST:
        told = await connection.fetchval("show server_version")
        raise RuntimeError(f"this is Postgres {told}: version {OLDEST} or newer is needed")


async def make_service_login(dsn: str) -> str:
    """On a private server without passwords: a login with the service's rights only. Returns its DSN."""
    async with connected(dsn, name="migrate") as connection:
        if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", LOGIN):
            await connection.execute(f"create role {LOGIN} login in role {SERVICE_ROLE}")
    return as_login(dsn, LOGIN)


def as_login(dsn: str, login: str) -> str:
    """The same server and database for another login (no password: private servers trust their socket)."""
    parts = urlsplit(dsn)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{login}@{host}"))

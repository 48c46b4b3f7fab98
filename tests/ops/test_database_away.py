"""Verbs that meet a database they cannot use: one line that says what to do, and no traceback."""

import asyncio
import base64
import os
import subprocess
import sys

import asyncpg
import pytest

from infra import postgres
from tests.conftest import TestServers

SECRET = base64.b64encode(bytes(32)).decode()


def croupier(dsn: str, *words: str) -> subprocess.CompletedProcess[str]:
    given = {"CROUPIER_POSTGRES": dsn, "CROUPIER_REDIS": "redis://127.0.0.1:1", "CROUPIER_SECRET": SECRET}
    given["CROUPIER_VAULT_KEYS"] = f"k1:{SECRET}"
    command = [sys.executable, "-m", "ops", *words]
    return subprocess.run(command, check=False, env=os.environ | given, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("dsn", ["postgresql://u@127.0.0.1:1/x", "postgresql://u@/x?host=/nowhere/at/all"])
@pytest.mark.parametrize(
    "verb", ["migrate", "reconcile", "replay t.1", "rebuild balances", "restore", "table list acme"]
)
def test_a_verb_whose_database_is_away_says_so_and_what_to_do(verb: str, dsn: str):
    done = croupier(dsn, *verb.split())
    assert done.returncode == 1
    assert "the database cannot be used" in done.stderr
    assert "CROUPIER_POSTGRES" in done.stderr
    assert "Traceback" not in done.stderr


async def test_a_database_of_another_encoding_is_refused_before_anything_is_written(servers: TestServers):
    dsn = servers.postgres.partition("?")
    of_latin = f"{dsn[0].rpartition('/')[0]}/in_latin{dsn[1]}{dsn[2]}"
    administrator = await asyncpg.connect(servers.postgres)
    make = "create database in_latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0"
    await administrator.execute(make)
    try:
        with pytest.raises(RuntimeError, match="LATIN1"):
            await postgres.migrate(of_latin)
        done = await asyncio.to_thread(croupier, of_latin, "migrate")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "encoding 'UTF8'" in done.stderr
        async with postgres.connected(of_latin, name="test") as connection:
            assert await connection.fetchval("select count(*) from pg_tables where schemaname = 'public'") == 0
    finally:
        await administrator.execute("drop database in_latin with (force)")
        await administrator.close()


async def test_a_postgres_that_is_too_old_is_refused(servers: TestServers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(postgres, "OLDEST", 99)
    with pytest.raises(RuntimeError, match="99 or newer"):
        await postgres.migrate(servers.postgres)

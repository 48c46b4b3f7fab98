"""On which servers the tests run: what is forced is used or fails, and a given server loses nothing of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import redis

HOUSE = Path(__file__).parents[2]
SUITE = """
import os, asyncpg, redis.asyncio

async def test_both_answer_and_are_empty(database, redis_url):
    connection = await asyncpg.connect(database)
    assert await connection.fetchval("select 1") == 1
    await connection.close()
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        assert await client.dbsize() == 0
        await client.set("a", "b")

def test_what_a_test_runs_inherits_no_setting():
    assert not [name for name in os.environ if name.startswith("CROUPIER_")]
"""


def run_suite(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(HOUSE / "tests" / "conftest.py", folder)
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "pytest.toml").write_text('[pytest]\nanyio_mode = "auto"\n')
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("CROUPIER_", "PYTEST_", "DOCKER_"))
    }
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--tb=short", *options, str(folder)],
        cwd=folder,
        env=inherited | {"PYTHONPATH": str(HOUSE)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_with_nothing_given_and_no_engine_they_are_private(tmp_path: Path) -> None:
    told = run_suite(tmp_path, DOCKER_HOST="unix:///nonexistent")
    assert "servers: private" in told.stdout
    assert told.returncode == 0, told.stdout


def test_containers_without_an_engine_fail_and_are_not_skipped(tmp_path: Path) -> None:
    told = run_suite(tmp_path, CROUPIER_TEST_SERVERS="containers", DOCKER_HOST="unix:///nonexistent")
    assert "servers: containers" in told.stdout
    assert told.returncode == 1
    assert "1 error" in told.stdout
    assert "skipped" not in told.stdout


def test_an_unknown_choice_is_refused(tmp_path: Path) -> None:
    told = run_suite(tmp_path, CROUPIER_TEST_SERVERS="mocks")
    assert told.returncode == 4
    assert "give one of dsn, containers, private" in told.stderr


def test_given_servers_without_their_addresses_are_refused(tmp_path: Path) -> None:
    told = run_suite(tmp_path, CROUPIER_TEST_SERVERS="dsn", CROUPIER_POSTGRES="postgresql://db/x")
    assert told.returncode == 4
    assert "set CROUPIER_POSTGRES and CROUPIER_REDIS" in told.stderr


@pytest.fixture
def given(servers: tuple[str, str]) -> dict[str, str]:
    postgres, streams = servers
    return {"CROUPIER_POSTGRES": postgres, "CROUPIER_REDIS": f"{streams}?db=9"}


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "by workers"])
def test_given_servers_are_used_and_left_as_they_were(
    tmp_path: Path, given: dict[str, str], options: tuple[str, ...]
) -> None:
    told = run_suite(tmp_path, *options, **given)
    assert "servers: dsn" in told.stdout
    assert told.returncode == 0, told.stdout
    with redis.Redis.from_url(given["CROUPIER_REDIS"]) as client:
        assert client.dbsize() == 0


def test_a_given_redis_that_holds_something_is_not_flushed(tmp_path: Path, given: dict[str, str]) -> None:
    with redis.Redis.from_url(given["CROUPIER_REDIS"]) as client:
        client.set("precious", "1")
        told = run_suite(tmp_path, **given)
        assert told.returncode == 1
        assert "holds keys, and the tests would flush them" in told.stdout
        assert client.getdel("precious") == b"1"

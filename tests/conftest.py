"""Real servers for the tests, chosen once a session; the header says which.

CROUPIER_TEST_SERVERS=dsn|containers|private forces the choice. Without it: CROUPIER_POSTGRES and CROUPIER_REDIS where
both are set, else a container engine that answers, else private servers from the wheels.
Under xdist each worker has its own containers or private servers; on given ones its own databases and Redis number.
Nothing that a test runs inherits a setting: it would play into what was given, which is for the fixtures alone.
"""

import contextlib
import gc
import importlib.util
import itertools
import os
import secrets
import warnings
from collections.abc import AsyncGenerator, Iterator
from typing import NamedTuple

import asyncpg
import hypothesis
import pytest
import redis.asyncio
import structlog

hypothesis.settings.register_profile("croupier", deadline=None, max_examples=60)
hypothesis.settings.load_profile("croupier")

CHOICES = ("dsn", "containers", "private")
GIVEN = ("CROUPIER_POSTGRES", "CROUPIER_REDIS")
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_numbers = itertools.count(1)


class TestServers(NamedTuple):
    __test__ = False
    postgres: str
    redis: str


def choose() -> str:
    forced = os.environ.get("CROUPIER_TEST_SERVERS")
    if forced and forced not in CHOICES:
        raise pytest.UsageError(f"CROUPIER_TEST_SERVERS={forced}: give one of {', '.join(CHOICES)}")
    given = all(os.environ.get(name) for name in GIVEN)
    if forced == "dsn" and not given:
        raise pytest.UsageError("CROUPIER_TEST_SERVERS=dsn: set CROUPIER_POSTGRES and CROUPIER_REDIS too")
    if forced:
        return forced
    if given:
        return "dsn"
    return "containers" if engine_answers() else "private"


def engine_answers() -> bool:
    try:
        import docker

        docker.from_env(timeout=1).ping()
    except Exception:  # noqa: BLE001 - whatever it is, there is no engine to use
        return False
    finally:
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()  # what a failed probe leaves behind has been seen to fall into pytest's own imports
    return True


def pytest_configure(config: pytest.Config) -> None:
    # The usual pretty traceback takes seconds, in which everything stands still: Postgres ends the writer's session.
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain])
    told = getattr(config, "workerinput", {})
    config.stash[_CHOICE] = told.get("servers") or choose()
    config.stash[_GIVEN] = told.get("given") or [os.environ.get(name, "") for name in GIVEN]
    for name in [name for name in os.environ if name.startswith("CROUPIER_")]:
        del os.environ[name]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    node.workerinput |= {"servers": node.config.stash[_CHOICE], "given": node.config.stash[_GIVEN]}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several share the work, files with slow tests come first: none is begun when the others are done."""
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)


def pytest_report_header(config: pytest.Config) -> str:
    return f"servers: {config.stash[_CHOICE]}"


_CHOICE = pytest.StashKey[str]()
_GIVEN = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServers]:
    choice = request.config.stash[_CHOICE]
    if choice == "dsn":
        yield TestServers(*request.config.stash[_GIVEN])
    elif choice == "containers":
        from testcontainers.community.postgres import PostgresContainer
        from testcontainers.community.redis import RedisContainer

        with PostgresContainer("postgres:18", driver=None) as postgres, RedisContainer("redis:8") as streams:
            url = f"redis://{streams.get_container_host_ip()}:{streams.get_exposed_port(6379)}"
            yield TestServers(postgres.get_connection_url(), url)
    else:
        from infra import embedded

        with embedded.start(tmp_path_factory.mktemp("servers"), durable=False) as private:
            yield TestServers(private.postgres, private.redis)


@pytest.fixture(scope="session")
async def template(servers: TestServers) -> AsyncGenerator[str]:
    """The name of a database in which the migrations ran, once a session; every other one is a copy."""
    name = f"croupier_test_{secrets.token_hex(4)}"
    async with _administrator(servers) as connection:
        await connection.execute(f"create database {name}")
    if importlib.util.find_spec("infra.postgres"):
        import infra.postgres

        await infra.postgres.migrate(_dsn(servers, name))
    yield name
    async with _administrator(servers) as connection:
        await connection.execute(f"drop database {name} with (force)")


@pytest.fixture
async def database(servers: TestServers, template: str) -> AsyncGenerator[str]:
    """The DSN of a database of this test alone."""
    async with _copy(servers, template) as dsn:
        yield dsn


@pytest.fixture(scope="module")
async def module_database(servers: TestServers, template: str) -> AsyncGenerator[str]:
    """The DSN of a database that the tests of one module share."""
    async with _copy(servers, template) as dsn:
        yield dsn


@pytest.fixture(scope="session")
async def _redis_number(servers: TestServers, request: pytest.FixtureRequest) -> str:
    """One numbered database of Redis: ours alone, or on a given server one a worker, which must be empty."""
    if request.config.stash[_CHOICE] != "dsn":
        return servers.redis
    address, _, number = servers.redis.partition("?db=")
    url = f"{address}?db={int(number or 0) + _worker}"
    async with redis.asyncio.Redis.from_url(url) as client:
        if await client.dbsize():
            pytest.fail(f"{url} holds keys, and the tests would flush them")
    return url


@pytest.fixture
async def redis_url(_redis_number: str) -> AsyncGenerator[str]:
    """The URL of an empty Redis."""
    async with redis.asyncio.Redis.from_url(_redis_number) as client:
        await client.flushdb()
        yield _redis_number
        await client.flushdb()


@contextlib.asynccontextmanager
async def _copy(servers: TestServers, template: str) -> AsyncGenerator[str]:
    name = f"{template}_{next(_numbers)}"
    async with _administrator(servers) as connection:
        await connection.execute(f"create database {name} template {template}")
        yield _dsn(servers, name)
        await connection.execute(f"drop database {name} with (force)")


@contextlib.asynccontextmanager
async def _administrator(servers: TestServers) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(servers.postgres)
    try:
        yield connection
    finally:
        await connection.close()


def _dsn(servers: TestServers, database: str) -> str:
    server, _, options = servers.postgres.partition("?")
    return server.rsplit("/", 1)[0] + f"/{database}" + (f"?{options}" if options else "")

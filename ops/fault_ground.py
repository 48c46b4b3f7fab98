"""Where faults are made: private servers, API and worker processes, and the power to kill, freeze and restore them."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from infra import embedded, eventlog, postgres
from infra.embedded import Servers
from infra.settings import Settings
from ops import data_folder
from ops.fault_proxy import Proxy
from ops.stack import Child, free_port
from services.wiring import Services, opened

LOCALHOST = "127.0.0.1"
READY_SECONDS = 30
PROXIED = ("worker-1", "api-2")
"""These reach Postgres through a proxy each, so that they can be hit in the middle of whatever they do."""

_VERBS = {"api": ["-m", "ops", "api"], "worker": ["-m", "ops", "worker"]}


class Ground:
    """One machine, as it were. Processes are named `api-1`, `worker-2`."""

    def __init__(self, data: Path, servers: Servers, environment: dict[str, str], sockets: Path) -> None:
        self.data = data
        self._sockets = sockets
        self.servers = servers
        self.services: Services
        self.proxies: dict[str, Proxy] = {}
        self.say: Callable[[str], None] = lambda line: None
        """Hears what a scenario has to tell."""
        self._environment = environment
        self._children: dict[str, Child] = {}
        self._ports: dict[str, int] = {}

    @property
    def urls(self) -> list[str]:
        return [self.url(name) for name in self._ports]

    def url(self, name: str) -> str:
        return f"http://{LOCALHOST}:{self._ports[name]}"

    def pid(self, name: str) -> int:
        return self._children[name].pid

    async def start(self, *names: str) -> None:
        """Processes from their beginning, or again after they were killed; ready when this returns."""
        for name in names:
            self._start(name)
        for name in names:
            if name in self._ports:
                await self.answering(name)

    def _start(self, name: str) -> None:
        verb = name.partition("-")[0]
        if name not in self._children:
            environment = dict(self._environment)
            if name in self.proxies:
                environment["CROUPIER_POSTGRES"] = self.proxies[name].dsn
            if verb == "api":
                self._ports[name] = free_port(LOCALHOST)
                environment["CROUPIER_PORT"] = str(self._ports[name])
                environment |= data_folder.keys_for_api(environment)
            self._children[name] = Child(name, _VERBS[verb], environment, self.data / f"{name}.log")
        self._children[name].start()

    async def answering(self, name: str) -> None:
        url = f"{self.url(name)}/health/ready"

        async def ready() -> bool:
            with contextlib.suppress(httpx.HTTPError):
                return (await client.get(url)).status_code == 200
            return False

        async with httpx.AsyncClient(trust_env=False, timeout=2) as client:
            await until(ready, READY_SECONDS, f"{name} is ready")

    def kill(self, name: str) -> None:
        self._children[name].kill()

    def freeze(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGCONT)

    async def end(self, name: str) -> None:
        """An orderly end, for good."""
        child = self._children.pop(name)
        self._ports.pop(name, None)
        child.ask_to_end()
        await asyncio.to_thread(child.end, 5)

    async def end_processes(self) -> None:
        """All of them down; `mend` brings them back."""
        for child in self._children.values():
            child.ask_to_end()
        for child in self._children.values():
            await asyncio.to_thread(child.end, 5)

    async def run(self, *verb: str) -> None:
        """A verb of croupier, as somebody would type it here."""
        words = [sys.executable, "-m", "ops", *verb]
        with (self.data / f"{verb[0]}.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *words, cwd=data_folder.HOUSE, env=self._environment, stdout=log, stderr=log
            )
        assert await process.wait() == 0, f"croupier {' '.join(verb)} failed; see {verb[0]}.log"

    async def mend(self) -> None:
        """All that should run, runs."""
        await self.mend_servers()
        await self.start(*(name for name, child in self._children.items() if not child.alive))
        for name in self._ports:
            await self.answering(name)

    async def mend_servers(self) -> None:
        for server in (self.servers.private_postgres, self.servers.private_redis):
            if not server.alive:
                server.start()

    def kill_all(self) -> None:
        for child in self._children.values():
            child.kill()

    async def another_proxy(self, name: str) -> Proxy:
        """One that only its owner uses, and closes."""
        return await Proxy(self._environment["CROUPIER_POSTGRES"], self._sockets / name).start()

    async def fetch(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        """Read Postgres, however often it goes away meanwhile."""
        while True:
            try:
                return await self.services.pool.fetch(query, *arguments)
            except eventlog.DATABASE_ERRORS:
                assert self.servers.private_postgres.alive, "somebody must start Postgres first"
                await asyncio.sleep(0.05)

    # --- Servers ---

    def lose_postgres(self) -> None:
        self.servers.private_postgres.kill()

    def lose_redis(self, *, with_its_data: bool = False) -> None:
        self.servers.private_redis.kill()
        if with_its_data:
            shutil.rmtree(self.servers.private_redis.folder)

    async def empty_redis(self) -> None:
        flushed: Awaitable[bool] = self.services.redis.flushall()  # pyright: ignore[reportUnknownMemberType]
        await flushed

    def start_postgres(self) -> None:
        self.servers.private_postgres.start()

    def start_redis(self) -> None:
        self.servers.private_redis.start()

    def copy_of(self, server: str) -> Path:
        """A cold copy of a server's data folder; the server is down meanwhile."""
        live = self._server(server)
        live.stop(10)
        copy = self.data / f"{server}.copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(live.folder, copy, symlinks=True)
        live.start()
        return copy

    def restore(self, server: str, copy: Path, *, start: bool = True) -> None:
        """As if all since the copy had never been: the server's data is replaced by it."""
        live = self._server(server)
        live.kill()
        shutil.rmtree(live.folder)
        shutil.copytree(copy, live.folder, symlinks=True)
        if start:
            live.start()

    def _server(self, name: str) -> embedded.PrivatePostgres | embedded.PrivateRedis:
        return self.servers.private_postgres if name == "postgres" else self.servers.private_redis


@contextlib.asynccontextmanager
async def standing(data: Path, *processes: str, log_level: str = "info") -> AsyncGenerator[Ground]:
    """Servers, schema, proxies and processes on `data`, whatever the environment says, and nothing left running."""
    secrets = data_folder.secrets_in(data)
    with embedded.start(data, durable=False) as servers:
        await postgres.migrate(servers.postgres)
        environment = {
            **data_folder.without_settings(),
            **secrets.environment,
            "CROUPIER_POSTGRES": await postgres.make_service_login(servers.postgres),
            "CROUPIER_REDIS": servers.redis,
            "CROUPIER_HOST": LOCALHOST,
            "CROUPIER_LOG_FORMAT": "json",
            "CROUPIER_LOG_LEVEL": log_level,
            "PYTHONPATH": str(data_folder.HOUSE),
            "PYTHONSAFEPATH": "1",
        }
        with tempfile.TemporaryDirectory(prefix="croupier-") as sockets:  # short, as a socket's path must be
            ground = Ground(data, servers, environment, Path(sockets))
            ground.proxies = {name: await ground.another_proxy(name) for name in PROXIED}
            async with opened(Settings.from_environment(environment), "faults") as services:
                ground.services = services
                try:
                    await ground.start(*processes)
                    yield ground
                finally:
                    ground.kill_all()
                    for proxy in ground.proxies.values():
                        await proxy.close()


async def until(
    holds: Callable[[], Awaitable[bool]],
    seconds: float,
    what: str,
    pause: float = 0.05,
) -> float:
    """Wait for it; returns how long it took. Raises AssertionError when it does not come."""
    clock = asyncio.get_running_loop()
    begun = clock.time()
    while not await holds():
        waited = clock.time() - begun
        assert waited < seconds, f"not within {seconds} s: {what}"
        await asyncio.sleep(pause)
    return clock.time() - begun

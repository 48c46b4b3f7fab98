"""All of Croupier on this machine, as `up`, `demo`, `bench` and the tests need it: servers, schema and processes.

Servers given by CROUPIER_POSTGRES and CROUPIER_REDIS are used, unless all is to be private; only what is not given is
started. Everything started here ends with this process, however it ends, and is started again when it dies. Begin it
from the main thread.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import unquote

import asyncpg
import httpx

from infra import fanout, postgres
from infra.embedded import EmbeddedError, PrivatePostgres, PrivateRedis, child, folders
from infra.settings import Settings
from ops import data_folder
from ops.data_folder import HOUSE

READY_SECONDS = 60
STOP_SECONDS = 2.5
"""For our own processes to end by themselves; with both servers after them, all is over within five seconds."""
CALM_SECONDS = 60
"""A process that has run this long is forgiven its earlier deaths."""
BACKOFF_MAX = 30.0

_told_to_end, _at_step = threading.Event(), threading.Event()
T = TypeVar("T")
_REMEDY = "CROUPIER_POSTGRES_OWNER, or CROUPIER_POSTGRES, must be a login that may change the schema"

Say = Callable[[str], None]


class Child:
    """One process of ours."""

    def __init__(self, name: str, arguments: list[str], environment: dict[str, str], log: Path | None) -> None:
        self.name = name
        self.log = log
        self._arguments = arguments
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._deaths = 0
        self._again_at: float | None = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """SIGKILL reaches it when this process dies: it is built to be killed, and must not linger."""
        wrapped = [sys.executable, "-I", "-S", child.__file__, str(os.getpid()), str(int(signal.SIGKILL)), "0"]
        with contextlib.ExitStack() as stack:
            out = stack.enter_context(self.log.open("ab")).fileno() if self.log else None
            self._process = subprocess.Popen(
                [*wrapped, sys.executable, *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=HOUSE,
                env=self._environment,
                start_new_session=True,  # Ctrl-C on the terminal is for us; we end the children in order
            )
        self._started, self._again_at = time.monotonic(), None

    def revive(self, say: Say) -> None:
        """Start it again if it has died: at once the first time, later and later if it keeps dying."""
        if self._process is None or self.alive:
            return
        now = time.monotonic()
        if self._again_at is None:
            self._deaths = 1 if now - self._started > CALM_SECONDS else self._deaths + 1
            wait = min(BACKOFF_MAX, 2.0 ** (self._deaths - 1) - 1)
            self._again_at = now + wait
            where = f"; see {self.log}" if self.log else ""
            say(f"{self.name} ended ({_how(self._process.returncode)}), starting it again in {wait:.0f} s{where}")
        if now >= self._again_at:
            self.start()

    def ask_to_end(self) -> None:
        if self.alive and self._process:
            self._process.terminate()

    def end(self, seconds: float) -> None:
        """Whatever has not ended by itself in time is killed."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _how(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


class Stack:
    """Servers, schema, API and worker on one data folder."""

    def __init__(
        self,
        data: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        durable: bool = True,
        given: Mapping[str, str] = os.environ,
    ) -> None:
        """`given` is the environment with the settings that count here: `without_settings` for none."""
        self.data = data.resolve()
        self.host = host
        self.port = port or free_port(host)
        self.children: dict[str, Child] = {}
        self.postgres = ""
        self.redis = ""
        self._durable = durable
        self._given = given
        self._lock: int | None = None
        self._private: list[PrivatePostgres | PrivateRedis] = []
        self._environment: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def settings(self) -> Settings:
        """As the worker has them: with the vault's keys."""
        return Settings.from_environment(self._environment)

    def start(self, say: Say = lambda line: None) -> Self:
        """All up and answering, or nothing left behind. Raises EmbeddedError with what to do."""
        self._check_port()
        try:
            self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = folders.claim(self.data, "croupier")
        except OSError as fault:
            raise EmbeddedError(
                f"{self.data} cannot be written to ({fault.strerror}); choose another folder"
            ) from fault
        try:
            secrets = data_folder.secrets_in(self.data, self._given)
            self._start_servers(say)
            service = step(self._migrated(say))
            step(self._look_for_redis(say))
            variables = {
                **secrets.environment,
                "CROUPIER_POSTGRES": service,
                "CROUPIER_REDIS": self.redis,
                "CROUPIER_HOST": self.host,
                "CROUPIER_PORT": str(self.port),
            }
            data_folder.write_environment(self.data, variables)
            self._environment = {**self._given, **variables, "PYTHONPATH": str(HOUSE), "PYTHONSAFEPATH": "1"}
            self._environment.pop("CROUPIER_POSTGRES_OWNER", None)
            self.settings  # noqa: B018 - told here, with all that is wrong, and not by the processes one by one
            self.add("worker", ["-m", "ops", "worker"])
            self.add("api", ["-m", "ops", "api"], more=data_folder.keys_for_api(variables))
            self._await_api(say)
        except BaseException:
            self.stop()
            raise
        return self

    def add(
        self,
        name: str,
        arguments: list[str],
        *,
        log: bool = True,
        without: Iterable[str] = (),
        more: dict[str, str] | None = None,
    ) -> Child:
        """Start one more process, with the environment but for what it must not know."""
        environment = {name: text for name, text in self._environment.items() if name not in set(without)}
        file = self.data / f"{name}.log" if log else None
        if file and file.exists():
            file.rename(file.with_suffix(".log.1"))  # the run before this one; older ones go
        added = self.children[name] = Child(name, arguments, environment | (more or {}), file)
        added.start()
        return added

    def revive(self, say: Say) -> None:
        """Start again whatever has died."""
        for server in self._private:
            if not server.alive:
                say(f"{server.name} ended, starting it again; see {server.log}")
                server.start()
        for each in self.children.values():
            each.revive(say)

    def stop(self) -> None:
        """In order, and within five seconds: our processes, then the servers they use."""
        deadline = time.monotonic() + STOP_SECONDS
        for each in self.children.values():
            each.ask_to_end()
        for each in self.children.values():
            each.end(deadline - time.monotonic())
        for server in reversed(self._private):
            server.stop(timeout=1)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _check_port(self) -> None:
        try:
            check_port(self.host, self.port)
        except EmbeddedError:
            if self.data.is_dir():
                os.close(folders.claim(self.data, "croupier"))  # where the one before us still runs, that is the news
            raise

    def _server_given(self, variable: str) -> str:
        """A server that the environment names, unless it is our own: the shell may have read data/env."""
        url = self._given.get(variable, "")
        return "" if str(folders.socket_folder(self.data)) in unquote(url) else url

    def _start_servers(self, say: Say) -> None:
        self.postgres, self.redis = self._server_given("CROUPIER_POSTGRES"), self._server_given("CROUPIER_REDIS")
        if not self.postgres:
            first = "" if (self.data / "postgres").exists() else ", for the first time: a few seconds"
            say(f"starting a private Postgres in {self.data / 'postgres'}{first}")
            server = PrivatePostgres(self.data, durable=self._durable)
            self._private.append(server)
            self.postgres = server.start().dsn
        if not self.redis:
            say(f"starting a private Valkey in {self.data / 'redis'}")
            streams = PrivateRedis(self.data, durable=self._durable)
            self._private.append(streams)
            self.redis = streams.start().url

    async def _migrated(self, say: Say) -> str:
        """The schema brought up to date; returns the DSN that our processes are to use."""
        given = self._server_given("CROUPIER_POSTGRES")
        owner = self._given.get("CROUPIER_POSTGRES_OWNER") if given else None
        try:
            for name in await postgres.migrate(owner or self.postgres):
                say(f"applied migration {name}")
            return given or await postgres.make_service_login(self.postgres)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, RuntimeError) as fault:
            raise EmbeddedError(f"the database cannot be brought up to date: {fault}; {_REMEDY}") from fault

    async def _look_for_redis(self, say: Say) -> None:
        """All goes on without it, so that nobody might notice a wrong address."""
        streams = fanout.connect(self.redis)
        try:
            await streams.ping()  # pyright: ignore[reportUnknownMemberType, reportGeneralTypeIssues]
        except fanout.SILENT_ERRORS as fault:
            say(f"CROUPIER_REDIS does not answer: {fault or type(fault).__name__}; without it all goes on, more slowly")
        finally:
            await streams.aclose()

    def _await_api(self, say: Say) -> None:
        begun = told = time.monotonic()
        while not self.ready():
            time.sleep(0.05)
            now = time.monotonic()
            for each in self.children.values():
                if not each.alive:
                    raise EmbeddedError(f"{each.name} did not start; {each.log} ends:\n{_tail(each.log)}")
            if now - begun > READY_SECONDS:
                raise EmbeddedError(f"the API is not ready after {READY_SECONDS} s; see {self.data / 'api.log'}")
            if now - told > 5:
                told = now
                say("waiting for the API ...")

    def ready(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/health/ready", timeout=2, trust_env=False).status_code == 200
        return False


def end_by_signals() -> None:
    """A process told to end, or whose terminal is gone, ends as by Ctrl-C: in order. Of Ctrl-C itself asyncio would
    make a cancel, which is lost where the task comes to its end in that very moment; and a script that begins us with
    `&` has it ignored, though it is the way to end us that we tell."""

    def interrupt(*_: object) -> None:
        waits = _at_step.is_set() and not _told_to_end.is_set()
        _told_to_end.set()
        if not waits:
            raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # it is under nohup
        signal.signal(signal.SIGHUP, interrupt)


def step(work: Coroutine[Any, Any, T]) -> T:
    """Run a step of the start to its end, and then heed a Ctrl-C that came meanwhile: raised in the midst of a loop's
    own work it is lost, or leaves a connection that never closes. A second one is raised at once."""
    _at_step.set()
    try:
        return asyncio.run(work)
    finally:
        _at_step.clear()
        heed()


def heed() -> None:
    """Raises KeyboardInterrupt if we were told to end."""
    if _told_to_end.is_set():
        raise KeyboardInterrupt


def free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def check_port(host: str, port: int) -> None:
    """Better said now than after the servers are up."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as fault:
            raise EmbeddedError(
                f"port {port} of {host} cannot be had ({fault.strerror}); choose another (0: any free one)"
            ) from None


def _tail(file: Path | None) -> str:
    return "\n".join(file.read_text(errors="replace").splitlines()[-12:]) if file else ""

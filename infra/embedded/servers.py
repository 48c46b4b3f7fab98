"""The life of a private server: lock, start, readiness, clean stop, kill."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import quote

import msgspec

from infra.embedded import folders, processes, programs
from infra.embedded.errors import EmbeddedError

_START_SECONDS = 120  # recovery after a crash reads up to max_wal_size again
_POSTGRES_OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
}
_REDIS_OPTIONS = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "appendonly": "yes",
    "save": "",
    "loglevel": "warning",
    "set-proc-title": "no",
}


class PrivateServer(ABC):
    """The life of one server process on `data/<name>`, from lock to signal."""

    name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]

    def __init__(self, data: Path, *, durable: bool = True) -> None:
        self.data = data.resolve()  # as the kernel names the working directory of a process
        self.folder = self.data / self.name
        self.durable = durable
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def _prepare(self) -> list[str]:
        """Make ready what the server needs on disk and return its command line."""

    @abstractmethod
    def _ready(self, pid: int) -> bool:
        """Whether the server, process `pid`, answers."""

    def _identity(self) -> processes.Identity:
        return processes.OURSELVES

    @property
    def log(self) -> Path:
        return self.data / f"{self.name}.log"

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pids(self) -> list[int]:
        """The server and the processes it has forked, the server first."""
        first = self._process.pid if self._process else 0
        return sorted(processes.at_work_in(self.folder), key=lambda pid: (pid != first, pid))

    def start(self) -> Self:
        if self.alive:
            raise EmbeddedError(f"the private {self.name} of {self.data} runs already")
        self.data.mkdir(parents=True, exist_ok=True)
        if self._lock is None:
            self._lock = folders.claim(self.data, self.name)
        try:
            self._end_leftovers()
            command = self._prepare()
            with self.log.open("ab") as log:
                fd, identity = log.fileno(), self._identity()
                self._process = processes.spawn(command, self.folder, fd, self.stop_signal, identity)
            self._await_ready(self._process)
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self, timeout: float = 30) -> None:
        """A clean stop; a server that has not obeyed in time is killed, and recovers at the next start."""
        if self._process is not None:
            self._process.send_signal(self.stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)
        self.kill()

    def kill(self) -> None:
        """As if the machine had lost this server: SIGKILL to it and to all that it forked."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            processes.end(self.folder, signal.SIGKILL)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _make_socket_folder(self) -> Path:
        """Both servers have their sockets in it, so it may belong to the user that Postgres is run as."""
        return folders.make_socket_folder(self.data, os.getuid(), processes.postgres_identity().uid)

    def _end_leftovers(self) -> None:
        """We hold the folder's lock, so a server still at work in it has lost the process that started it."""
        if not processes.end(self.folder, self.stop_signal) and not processes.end(self.folder, signal.SIGKILL):
            pids = ", ".join(map(str, self.pids))
            raise EmbeddedError(f"processes {pids} still use {self.folder} and cannot be ended")

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._ready(process.pid):
            if process.poll() is not None:
                raise EmbeddedError(f"the private {self.name} did not start; {self.log} ends:\n{_tail(self.log)}")
            if time.monotonic() > deadline:
                raise EmbeddedError(f"the private {self.name} is not ready after {_START_SECONDS} s; see {self.log}")
            time.sleep(0.01)


class PrivatePostgres(PrivateServer):
    name = "postgres"
    stop_signal = signal.SIGINT  # "fast": SIGTERM would wait for every client to leave

    def _identity(self) -> processes.Identity:
        return processes.postgres_identity()

    @property
    def dsn(self) -> str:
        """The superuser over the socket: only this system user gets through the socket's folder."""
        return f"postgresql://postgres@/croupier?host={quote(str(folders.socket_folder(self.data)))}"

    def _prepare(self) -> list[str]:
        bin_folder = programs.postgres_programs(self.folder)
        if not (self.folder / "PG_VERSION").exists():
            self._create(bin_folder)
        # After a crash the number in it may be anyone's by now, and Postgres would refuse to start.
        (self.folder / "postmaster.pid").unlink(missing_ok=True)
        sockets = self._make_socket_folder()
        if user := self._identity().user:
            for folder in (self.folder, sockets):
                processes.hand_over(folder, user, bin_folder / "postgres")
        options = _POSTGRES_OPTIONS | {"unix_socket_directories": str(sockets)}
        if not self.durable:
            options |= {"fsync": "off", "full_page_writes": "off"}
        return [str(bin_folder / "postgres"), "-D", str(self.folder), *_flags("-c", options)]

    def _create(self, bin_folder: Path) -> None:
        """In a folder beside, renamed when whole: a process killed in the middle leaves no half cluster."""
        fresh = self.data / "postgres.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        if user := self._identity().user:
            processes.hand_over(fresh, user, bin_folder / "postgres")
        initdb = [str(bin_folder / "initdb"), "-D", str(fresh), "-U", "postgres", "--auth=trust", "--no-instructions"]
        initdb += ["--encoding=UTF8", "--locale=C", *([] if self.durable else ["--no-sync"])]
        single = [str(bin_folder / "postgres"), "--single", "-D", str(fresh), "postgres"]
        with self.log.open("ab") as log:
            for command, words in ((initdb, b""), (single, b"create database croupier\n")):
                fd, identity = log.fileno(), self._identity()
                process = processes.spawn(command, fresh, fd, signal.SIGKILL, identity, stdin=subprocess.PIPE)
                process.communicate(words)
                if process.returncode:
                    raise EmbeddedError(f"{command[0]} failed; {self.log} ends:\n{_tail(self.log)}")
        fresh.rename(self.folder)

    def _ready(self, pid: int) -> bool:
        try:
            lines = (self.folder / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"


class PrivateRedis(PrivateServer):
    name = "redis"
    stop_signal = signal.SIGTERM

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._socket))}"

    @property
    def _socket(self) -> Path:
        return folders.socket_folder(self.data) / "redis.sock"

    def _prepare(self) -> list[str]:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._make_socket_folder()
        self._socket.unlink(missing_ok=True)  # one left behind would look ready before the server is
        options = _REDIS_OPTIONS | {"dir": str(self.folder), "unixsocket": str(self._socket)}
        options["appendfsync"] = "everysec" if self.durable else "no"
        return [
            str(programs.redis_program()),
            *(word for name, value in options.items() for word in (f"--{name}", value)),
        ]

    def _ready(self, pid: int) -> bool:
        with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
            client.settimeout(1)
            client.connect(str(self._socket))
            client.sendall(b"PING\r\n")
            return client.recv(64).startswith(b"+PONG")  # while it loads its file it says -LOADING
        return False


class Servers(msgspec.Struct, frozen=True):
    """Both private servers, running."""

    private_postgres: PrivatePostgres
    private_redis: PrivateRedis

    @property
    def postgres(self) -> str:
        return self.private_postgres.dsn

    @property
    def redis(self) -> str:
        return self.private_redis.url

    def stop(self) -> None:
        self.private_redis.stop()
        self.private_postgres.stop()

    def kill(self) -> None:
        self.private_redis.kill()
        self.private_postgres.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(data: Path, *, durable: bool = True) -> Servers:
    """Start both on `data`; from the main thread also so that they end with this process, however it ends."""
    servers = Servers(PrivatePostgres(data, durable=durable), PrivateRedis(data, durable=durable))
    servers.private_postgres.start()
    try:
        servers.private_redis.start()
    except BaseException:
        servers.private_postgres.stop()
        raise
    return servers


def _flags(flag: str, options: dict[str, str]) -> Iterator[str]:
    for name, value in options.items():
        yield from (flag, f"{name}={value}")


def _tail(file: Path) -> str:
    return "\n".join(file.read_text(errors="replace").splitlines()[-12:])

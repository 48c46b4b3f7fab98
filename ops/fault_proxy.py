"""Between a process of ours and Postgres: counts what the process sends, and springs a trap after any one message.

So a process can be frozen or killed at exactly the point wanted, in the middle of whatever it was doing.
"""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

from msgspec import Struct

from infra import tasks

SOCKET = ".s.PGSQL.5432"
_STARTUP = (196608, 196610)


class Message(Struct, frozen=True):
    """One message of a client: who sends it, its type as in Postgres' protocol, what is in it.

    `number` counts the messages of a transaction from its `begin`, which is 1; outside one it is 0.
    """

    application: str
    kind: str
    body: bytes
    number: int


class Trap:
    """Springs once, right after the `nth` message that matches has gone on to Postgres (or just before it does).

    Nothing more of that connection gets through until `release`.
    """

    def __init__(self, matches: Callable[[Message], bool], spring: Callable[[], None], nth: int = 1) -> None:
        self.matches = matches
        self.spring = spring
        self.left = nth
        self.sprung = asyncio.Event()
        self.released = asyncio.Event()

    def release(self) -> None:
        self.released.set()


class Proxy:
    """A unix socket that leads to Postgres' own."""

    def __init__(self, dsn: str, folder: Path) -> None:
        parts = urlsplit(dsn)
        [socket_folder] = parse_qs(parts.query)["host"]
        self._target = str(Path(socket_folder) / SOCKET)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._socket = folder / SOCKET
        self.dsn = urlunsplit(parts._replace(query=f"host={quote(str(folder))}"))
        self.trap: Trap | None = None
        self.longest = 0
        """The most messages that any transaction had so far, from begin to commit."""
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> "Proxy":
        self._socket.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._accept, self._socket)
        return self

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        await tasks.end(self._connections)

    def _accept(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._connect(client, to_client))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _connect(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._serve(client, to_client)
        finally:
            to_client.close()

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_unix_connection(self._target)  # where Postgres is away, so is this
        answers = asyncio.create_task(_copy(server, to_client))
        try:
            await self._forward(client, to_server)
        finally:
            answers.cancel()
            to_server.close()

    async def _forward(self, client: asyncio.StreamReader, to_server: asyncio.StreamWriter) -> None:
        application, number = "", 0
        while True:
            kind = (await client.readexactly(1)).decode("latin-1") if application else ""
            size = await client.readexactly(4)
            body = await client.readexactly(int.from_bytes(size, "big") - 4)
            if not kind and int.from_bytes(body[:4], "big") in _STARTUP:
                application = _application(body)
            number = 1 if _begins(kind, body) else number + 1 if number else 0
            to_server.write(kind.encode("latin-1") + size + body)
            await to_server.drain()
            trap = self.trap
            if trap and not trap.sprung.is_set() and trap.matches(Message(application, kind, body, number)):
                trap.left -= 1
                if not trap.left:
                    trap.spring()
                    trap.sprung.set()
                    await trap.released.wait()
            if kind == "Q" and body.startswith((b"commit", b"rollback")):
                self.longest, number = max(self.longest, number), 0


def _application(startup: bytes) -> str:
    words = startup[4:].decode().split("\0")
    return dict(zip(words[::2], words[1::2], strict=False)).get("application_name", "?")


def _begins(kind: str, body: bytes) -> bool:
    return kind == "Q" and body.startswith(b"begin")


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()

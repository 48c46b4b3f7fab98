"""One connection, as uvicorn serves it, with bounds that uvicorn leaves to a proxy in front: how long the head of a
request may be, and how long a request may take to come. Anybody can open a connection, before any key is looked at."""

import asyncio
from typing import cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_MAX = 16 * 1024
"""Request line and headers, but for what has come in one piece with their beginning."""
REQUEST_S = 10.0
"""How long a request may take to come, head and body; also how long a new connection may be silent."""

_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class _Joined(asyncio.Transport):
    """Sends the head of an answer together with the beginning of its body: one system call and one packet, not two.

    uvicorn writes them one after the other and uvloop sends each at once; joined, an answer costs 10 us of CPU less.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._held = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._held:
            self._transport.writelines((self._held, data))
            self._held = b""
        else:
            self._held = bytes(data)
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        """What nothing followed in this turn of the loop: the head of a stream whose first event is yet to come."""
        if self._held:
            self._transport.write(self._held)
            self._held = b""

    def close(self) -> None:
        self._send()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()


class Wire(HttpToolsProtocol):
    """A look every REQUEST_S costs nothing a request; so a slow one is cut off after one to two times that."""

    _begun = 0
    """Requests that have begun to come."""
    _is_in_head = False
    _is_whole = False
    """The last request that began to come is here."""
    _head = 0
    _seen = 0
    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self.transport = _Joined(self.transport, self.loop)
        self._watch = self.loop.call_later(REQUEST_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        begun = self._begun if self._is_in_head else -1
        super().data_received(data)
        if begun == self._begun and self._is_in_head:
            self._head += len(data)
            if self._head > HEAD_MAX and not self.transport.is_closing():
                self.transport.write(_TOO_LONG)
                self.transport.close()

    def on_message_begin(self) -> None:
        self._begun += 1
        self._head, self._is_in_head, self._is_whole = 0, True, False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_whole = True
        super().on_message_complete()

    def _look(self) -> None:
        if not self._is_whole and self._begun == self._seen:
            self.transport.close()
            return
        self._seen = self._begun
        self._watch = self.loop.call_later(REQUEST_S, self._look)

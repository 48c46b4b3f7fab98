"""A connection that is of no use is ended before any key is looked at: an endless head, a request that never comes."""

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from services.api import wire
from tests.services.conftest import _no_signals

ASKED = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with how long the body was; at /slow only after a while."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    if scope["path"] == "/slow":
        await asyncio.sleep(1)
    told = b"%d" % len(body)
    headers = [(b"content-length", b"%d" % len(told))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": told})


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[str]:
    monkeypatch.setattr(wire, "REQUEST_S", 0.3)
    socket = str(tmp_path / "wire.sock")
    config = uvicorn.Config(echo, uds=socket, http=wire.Wire, ws="none", log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    server.capture_signals = _no_signals  # type: ignore[method-assign]
    task = asyncio.create_task(server.serve())
    for _ in range(1_000):
        if server.started:
            break
        await asyncio.sleep(0.01)
    yield socket
    server.should_exit = True
    await task


async def said(place: str, *pieces: bytes, every: float = 0.0) -> tuple[bytes, float]:
    """All that comes back until the other side ends it, and after how many seconds that was."""
    reader, writer = await asyncio.open_unix_connection(place)
    begun = time.monotonic()

    async def write() -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(every)

    writing = asyncio.create_task(write())
    try:
        async with asyncio.timeout(5):
            answer = await reader.read()
    except ConnectionError:
        answer = b""
    took = time.monotonic() - begun
    writing.cancel()
    await asyncio.wait([writing])
    writer.close()
    return answer, took


@pytest.mark.parametrize("begin", [b"GET /", b"GET / HTTP/1.1\r\nx: ", b"GET / HTTP/1.1\r\n"])
async def test_a_head_without_end_is_refused(place, begin):
    piece = b"a: b\r\n" * 1_500 if begin.endswith(b"1.1\r\n") else b"a" * 9_000
    answer, _ = await said(place, begin, piece, piece, every=0.05)
    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_head_of_usual_length_in_many_pieces_is_served(place):
    pieces = [LAST[:-2], *[b"x-%d: %b\r\n" % (n, b"a" * 500) for n in range(20)], b"\r\n"]
    answer, _ = await said(place, *pieces, every=0.005)
    assert answer.startswith(b"HTTP/1.1 200 ")


async def test_requests_that_come_all_at_once_are_no_long_head(place):
    many = ASKED * 1_999 + LAST
    answer, _ = await said(place, many[:40_010], many[40_010:])
    assert answer.count(b"HTTP/1.1 200 ") == 2_000


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (b"GET / HTTP/1.1\r\n", *[b"x: y\r\n"] * 50),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5000\r\n\r\n", *[b"a"] * 50),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n", *[b"1\r\na\r\n"] * 50),
        (ASKED, b"GET / HTTP/1.1\r\n", *[b"x: y\r\n"] * 50),
    ],
    ids=["silence", "a head", "a body", "chunks", "a second request"],
)
async def test_a_request_that_takes_too_long_to_come_is_cut_off(place, pieces):
    _, took = await said(place, *pieces, every=0.1)
    assert took < 2


async def test_whoever_is_slow_to_answer_is_not_cut_off(place):
    answer, _ = await said(place, LAST.replace(b"/ ", b"/slow ", 1))
    assert answer.startswith(b"HTTP/1.1 200 ")

"""The load of the bench: bets over HTTP/1.1 from some connections at once, in a process of its own.

It writes requests to sockets itself, since a client library costs more than what it would measure. It reads a `Plan`
from stdin, says when its warm-up is over, then what it measured, each as one line of JSON. Bounded in time.
"""

import asyncio
import sys
import time
from collections import Counter
from typing import cast

import msgspec
import uvloop
from msgspec import Struct

OVERTIME_S = 15


class Plan(Struct, frozen=True):
    host: str
    port: int
    path: str
    body: str
    tokens: list[str]
    """Of the players; they take turns."""
    keys: str
    """What the idempotency keys of this load begin with."""
    connections: int
    warm_up_s: float
    all_first: bool
    """The warm-up lasts until each player has bet once: a token is verified at its first use."""
    seconds: float


class Load(Struct, frozen=True):
    """What was measured between warm-up and end. `refused` counts answers other than 200 by their status line."""

    count: int
    seconds: float
    p50_ms: float
    p99_ms: float
    refused: dict[str, int]


class _Course:
    """What all connections share: whose turn it is, and what was measured."""

    def __init__(self, plan: Plan) -> None:
        self._heads = [self._head(plan, token) for token in plan.tokens]
        self._tail = b"\r\n\r\n" + plan.body.encode()
        self._keys = plan.keys.encode()
        self._sent = 0
        self._players = len(plan.tokens)
        self.measuring = self.over = False
        self.took: list[float] = []
        self.refused = Counter[str]()

    @staticmethod
    def _head(plan: Plan, token: str) -> bytes:
        return (
            f"POST {plan.path} HTTP/1.1\r\nhost: {plan.host}\r\nauthorization: Bearer {token}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(plan.body)}\r\nidempotency-key: "
        ).encode()

    def next_request(self) -> bytes:
        self._sent += 1
        return b"%b%b%d%b" % (self._heads[self._sent % len(self._heads)], self._keys, self._sent, self._tail)

    @property
    def has_seen_all(self) -> bool:
        return self._sent >= self._players

    def answered(self, status: bytes, seconds: float) -> None:
        if status != b"200":
            self.refused[status.decode()] += 1
        elif self.measuring:
            self.took.append(seconds)


class _Connection(asyncio.Protocol):
    """Sends the next bet as soon as the last one is answered."""

    def __init__(self, course: _Course) -> None:
        self._course = course
        self._begun = 0.0
        self._answer = b""
        self._transport: asyncio.Transport | None = None
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own type is no subclass of it
        self._send()

    def _send(self) -> None:
        assert self._transport is not None
        if self._course.over:
            self._transport.close()
            return
        self._begun = time.perf_counter()
        self._transport.write(self._course.next_request())

    def data_received(self, data: bytes) -> None:
        answer = self._answer = self._answer + data if self._answer else data
        head = answer.find(b"\r\n\r\n")
        if head < 0:
            return
        at = answer.lower().index(b"content-length:", 0, head) + 15
        length = int(answer[at : answer.index(b"\r\n", at)])
        if len(answer) < head + 4 + length:
            return
        self._answer = b""
        self._course.answered(answer[9:12], time.perf_counter() - self._begun)
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._course.over:
            self._course.refused["connection lost"] += 1
        self.ended.set_result(None)


async def run(plan: Plan) -> Load:
    course = _Course(plan)
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: _Connection(course), plan.host, plan.port) for _ in range(plan.connections)
    ]
    await asyncio.sleep(plan.warm_up_s)
    until = time.perf_counter() + OVERTIME_S
    while plan.all_first and not course.has_seen_all and time.perf_counter() < until:  # noqa: ASYNC110 - no task tells
        await asyncio.sleep(0.05)
    print('{"warm": true}', flush=True)
    course.measuring, begun = True, time.perf_counter()
    await asyncio.sleep(plan.seconds)
    course.measuring, seconds = False, time.perf_counter() - begun
    took = sorted(course.took) or [0.0]
    load = Load(len(course.took), seconds, _ms(took, 50), _ms(took, 99), dict(course.refused))
    print(msgspec.json.encode(load).decode(), flush=True)
    course.over = True
    await asyncio.wait([connection.ended for _, connection in made], timeout=OVERTIME_S)
    return load


def _ms(took: list[float], percent: int) -> float:
    return round(took[len(took) * percent // 100] * 1_000, 2)


async def _bounded(plan: Plan) -> None:
    async with asyncio.timeout(plan.warm_up_s + plan.seconds + 3 * OVERTIME_S):
        await run(plan)


if __name__ == "__main__":
    uvloop.run(_bounded(msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)))

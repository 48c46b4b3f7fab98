"""A table live, as server-sent events: after each event its viewer's own view, with the event's position as id.

A reader that comes again with Last-Event-ID goes on after it, without a gap and without a repeat: what it missed is
folded from the log. A stream ends by itself after some seconds; the reader simply comes again.
"""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, cast

from litestar import get
from litestar.params import FromPath
from litestar.types import ASGIApp, Receive, Scope, Send
from msgspec.structs import replace

from domain.game import Game, Open, Role, fold
from domain.games import GAMES
from domain.wallet import evolve as wallet_evolve
from domain.wallet.state import Wallet
from infra import codec, tasks
from infra.eventlog import SQL as LOG_SQL
from infra.eventlog import EventRow, row_of
from infra.postgres import Pool
from infra.sql import queries
from services.api import problems
from services.api.auth import Caller, may
from services.api.feed import Follower
from services.api.parts import Asked, Parts
from services.api.problems import Problem
from services.frames import NO_WALLET, Frame, Scene, Sight, encode, table_at

SQL = queries("api")
STREAM_S = 20.0
KEEP_ALIVE_S = 5.0
MISSED_MAX = 500
"""Who has missed more than this is shown the table as it is."""
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class Watch:
    """One viewer at one table: turns events into frames."""

    def __init__(self, pool: Pool, caller: Caller, table: str, game: Game[Any, Any, Any], open_seed: Open) -> None:
        self._pool = pool
        self._operator = caller.operator
        self._game = game
        self._sight = Sight(game, table, caller.viewer, open_seed)
        self._table = self._sight.table
        self._wallet = self._sight.wallet

    @property
    def streams(self) -> list[str]:
        return self._sight.streams

    async def frames(self, follower: Follower, last_id: int | None) -> AsyncGenerator[bytes]:
        """Frames without end; an empty comment where nothing happens for a while. Ends when the follower is let go."""
        scene = await self._now()
        missed = None if last_id is None else await self._missed(scene, last_id)
        if missed is None:
            yield _written("view", self._sight.first(scene))
        else:
            before, rows = missed
            for row in rows:
                before, told = self._sight.after(before, row)
                if told is not None:
                    yield _written(row.type, self._sight.frame(before, row, told))
        while not follower.gone:
            row = await follower.next(KEEP_ALIVE_S)
            if row is None:
                yield b":\n\n"
            elif row.position > scene.position:
                scene, told = self._sight.after(scene, row)
                if told is not None:
                    yield _written(row.type, self._sight.frame(scene, row, told))

    async def _now(self) -> Scene:
        rows = await self._pool.fetch(SQL["scene"], self._operator, self.streams)
        states: dict[str, tuple[int, Any]] = {}
        for row in rows:
            if row["decider"] is not None:
                if row["state_schema"] != codec.STATE_SCHEMA:
                    raise problems.not_now("The table is being brought to another version.")
                states[row["stream"]] = (row["version"], codec.decode_state(row["decider"], row["state"]))
        version, table = states[self._table]
        wallet_version, wallet = states.get(self._wallet or "", (0, None))
        return Scene(rows[0]["position"], table, version, cast("Wallet | None", wallet), wallet_version)

    async def _missed(self, now: Scene, last_id: int) -> tuple[Scene, list[EventRow]] | None:
        """The scene at `last_id` and what came after; None if that is too much, or no position of this log."""
        if last_id > now.position:
            return None
        at_table = await self._since(self._table, now.table_version - MISSED_MAX, last_id, now.position)
        in_wallet: list[EventRow] = []
        if self._wallet and now.wallet:
            in_wallet = await self._since(self._wallet, now.wallet_version - MISSED_MAX, last_id, now.position)
        if max(len(at_table), len(in_wallet)) >= MISSED_MAX:
            return None
        version, wallet_version = now.table_version - len(at_table), now.wallet_version - len(in_wallet)
        before = replace(now, position=last_id, table_version=version, wallet_version=wallet_version)
        if at_table:
            before = replace(before, table=await self._table_at(version))
        if in_wallet:
            before = replace(before, wallet=await self._wallet_at(wallet_version))
        return before, sorted([*at_table, *in_wallet], key=lambda row: row.position)

    async def _since(self, stream: str, version: int, position: int, until: int) -> list[EventRow]:
        """What comes after `until`, the scene's own position, the follower is given anyhow: it would be told twice."""
        rows = await self._pool.fetch(SQL["since"], *self._of(stream), version, position)
        return [row for each in rows if (row := row_of(each)).position <= until]

    async def _table_at(self, version: int) -> Any:
        return await table_at(self._pool, self._operator, self._game, self._table, version)

    async def _wallet_at(self, version: int) -> Wallet:
        """As far as the bets go that can be open: older ones than these are settled long since."""
        assert self._wallet is not None
        begin, version = max(1, version - MISSED_MAX), max(1, version)  # the first event opens it
        rows = await self._pool.fetch(LOG_SQL["events_of_stream"], *self._of(self._wallet), begin, version - begin)
        return cast("Wallet", fold(wallet_evolve.evolve, NO_WALLET, (row_of(row).event for row in rows)))

    def _of(self, stream: str) -> tuple[str, str]:
        return self._operator, stream


def _written(name: str, frame: Frame) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (frame.position, name.encode(), encode(frame))


class LiveTable:
    """The answer itself: frames until the time is over, the viewer leaves or does not keep up."""

    def __init__(self, parts: Parts, watch: Watch, operator: str, last_id: int | None) -> None:
        self._parts = parts
        self._watch = watch
        self._operator = operator
        self._last_id = last_id

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        async with self._parts.hub.follow(self._operator, self._watch.streams) as follower:
            frames = self._watch.frames(follower, self._last_id)
            first = await anext(frames)  # what fails, fails before the answer has begun
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            sending = asyncio.create_task(self._send(first, frames, send))
            leaving = asyncio.create_task(_left(receive))
            seconds = STREAM_S + random.random()  # noqa: S311 - so that not all who came at once come again at once
            await asyncio.wait((sending, leaving), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            await tasks.end((sending, leaving))
            await frames.aclose()
        with suppress(TimeoutError):
            async with asyncio.timeout(1):  # one who reads nothing any more is not waited for
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, first: bytes, frames: AsyncGenerator[bytes], send: Send) -> None:
        await send({"type": "http.response.body", "body": b"retry: 500\n\n" + first, "more_body": True})
        async for frame in frames:
            await send({"type": "http.response.body", "body": frame, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@get("/tables/{table:str}/events", guards=[may(Role.PLAYER, Role.STUDIO, Role.SUPERVISOR, Role.OPERATOR)])
async def watch_table(request: Asked, table: FromPath[str]) -> ASGIApp:
    """Watch a table live. Each event comes with the table as the caller sees it after it; the first, `view`, tells how
    the table stands. A stream ends by itself after some 20 seconds: send Last-Event-ID to go on where you were."""
    caller, parts = request.caller, request.parts
    game = await parts.tables.game_at(caller.operator, table)
    last_id = _last_id(request.headers.get("last-event-id", ""))
    watch = Watch(parts.pool, caller, table, GAMES[game], parts.open_of(caller.operator))
    return LiveTable(parts, watch, caller.operator, last_id)


def _last_id(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 17):
        raise Problem(400, "BadCursor", "Last-Event-ID is not the id of an event that was sent here.")
    return int(text)


HANDLERS = (watch_table,)

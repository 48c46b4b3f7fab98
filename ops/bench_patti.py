"""3 Patti as six bots a table play it over HTTP, at some tables at once, against one API process.

What they do goes by what everybody sees, so that nothing is measured but their acts: no reading, no following. The
bench is the clock: of its two commands a hand only what Postgres did counts, as in the other parts no worker's work.
"""

import asyncio
import time
from statistics import median
from typing import Any

import msgspec

from domain.decider import TABLE
from domain.game import Role, TimeOut, Viewer, no_open
from domain.games import GAMES
from ops import bench_cpu as cpu
from ops.bench_house import CURRENCY, LOCALHOST, House
from ops.bench_report import Patti
from ops.client_patti import GAME as NAME
from ops.client_patti import Answer, Seat, View

GAME = GAMES[NAME]
BOTS = 6
CONFIG = {"currency": CURRENCY, "boot": 100, "pause_seconds": 0, "rake_bps": 250}
BUY_IN = 1_000_000
ANYBODY = Viewer("bench", Role.OPERATOR)

Body = dict[str, Any]


def next_act(view: View, turns: int) -> Body:
    """Of whoever's turn it is: blind or seen in the first circuit, by seat; then looks, asks to compare, and folds
    until two are left, who show. So each kind of act occurs, and all six play for a while."""
    me, active = view.at(view.turn), view.active
    assert me is not None
    if view.sideshow_of is not None:
        return {"type": "AnswerSideShow", "accept": me.seat % 2 == 0}
    least = view.stake if me.status == "blind" else 2 * view.stake
    before = active[active.index(me) - 1]
    if me.status == "blind" and (turns > 0 or me.seat % 2):
        return {"type": "SeeCards"}
    if len(active) == 2:
        may_show = me.status == "blind" or before.status == "seen"
        return {"type": "Show"} if may_show else {"type": "Bet", "amount": least}
    if turns == 1 and before.status == "seen":
        return {"type": "SideShow"}
    return {"type": "Fold"} if turns > 1 else {"type": "Bet", "amount": least}


class Table:
    """A table, its bots, and the one connection over which they act, one after the other."""

    def __init__(self, house: House, name: str, tokens: dict[str, str]) -> None:
        self._house = house
        self._name = name
        self._tokens = tokens
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self.acts = 0
        self.over = False

    async def open(self, port: int) -> None:
        opening = msgspec.convert({"type": "OpenTable", "config": CONFIG}, GAME.commands[Role.OPERATOR])
        await self._house.send(TABLE + self._name, opening, Role.OPERATOR, game=GAME.name)
        self._reader, self._writer = await asyncio.open_connection(LOCALHOST, port)
        for player in self._tokens:
            await self._send(player, {"type": "SitDown", "amount": BUY_IN})

    async def play(self) -> None:
        """Hand after hand, until `over`."""
        try:
            while not self.over:
                view, turns = await self._dealt(), dict[int, int]()
                while view.round and not self.over:
                    view = await self._act(view, turns)
        finally:
            self._writer.close()

    async def _dealt(self) -> View:
        while GAME.round(state := await self._house.state(self._name)) is None:
            await self._house.send(TABLE + self._name, TimeOut(), Role.CLOCK)
        return msgspec.convert(msgspec.to_builtins(GAME.view(state, ANYBODY, (), no_open)), View)

    async def _act(self, view: View, turns: dict[int, int]) -> View:
        me = view.at(view.turn)
        assert isinstance(me, Seat)
        act = next_act(view, turns.get(me.seat, 0))
        if act["type"] in ("Bet", "SideShow"):
            turns[me.seat] = turns.get(me.seat, 0) + 1
        after = await self._send(me.player, act)
        self.acts += 1
        return after

    async def _send(self, player: str, body: Body) -> View:
        """Raises RuntimeError if it is refused."""
        text = msgspec.json.encode(body)
        head = (
            f"POST /v1/tables/{self._name}/commands HTTP/1.1\r\nhost: {LOCALHOST}\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer {self._tokens[player]}\r\ncontent-length: {len(text)}\r\n"
            f"idempotency-key: {self._name}-{time.monotonic_ns()}\r\n\r\n"
        )
        self._writer.write(head.encode() + text)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        at = answer.lower().index(b"content-length:") + 15
        content = await self._reader.readexactly(int(answer[at : answer.index(b"\r\n", at)]))
        if answer[9:12] != b"200":
            raise RuntimeError(f"{player} may not {body} at {self._name}: {content.decode()}")
        view = msgspec.json.decode(content, type=Answer).view
        assert view is not None
        return view


async def measured(house: House, tables: int, repetitions: int, seconds: float) -> Patti:
    await house.start_again("api")
    made = [Table(house, f"patti-{number}", _tokens(house, number)) for number in range(tables)]
    await asyncio.gather(*(table.open(house.port("api")) for table in made))
    playing = [asyncio.create_task(table.play()) for table in made]
    rates: list[float] = []
    costs: list[float] = []
    try:
        await _playing(playing, seconds)
        for _ in range(repetitions):
            used, acts, begun = _used(house), sum(table.acts for table in made), time.perf_counter()
            await _playing(playing, seconds)
            acts = sum(table.acts for table in made) - acts
            rates.append(acts / (time.perf_counter() - begun))
            costs.append((_used(house) - used) / acts)
    finally:
        for table in made:
            table.over = True
        await asyncio.gather(*playing, return_exceptions=True)
        house.end("api")
    return Patti(tables, round(median(rates), 2), round(median(costs), 2))


async def _playing(tasks: list[asyncio.Task[None]], seconds: float) -> None:
    """They do not end by themselves: one that has ended has failed, and says why."""
    ended, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in ended:
        task.result()


def _used(house: House) -> int:
    return cpu.own_us(house.pid("api")) + house.postgres_us


def _tokens(house: House, number: int) -> dict[str, str]:
    first = number * BOTS
    return dict(zip(house.players[first : first + BOTS], house.tokens[first : first + BOTS], strict=True))

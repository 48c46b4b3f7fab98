"""A game as bots play it over HTTP, at some tables at once, against one API process: 3 Patti, Gin Rummy.

What they do goes by what the last answer showed, so that nothing is measured but their acts: no reading, no following.
The bench is the clock: of its two commands a hand only what Postgres did counts, as elsewhere no work of a worker.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from domain.game import Role, TimeOut, Viewer, no_open
from domain.games import GAMES
from domain.names import TABLE
from ops import bench_cpu as cpu
from ops import client_gin, client_patti
from ops.bench_house import CURRENCY, LOCALHOST, House
from ops.bench_report import Played
from ops.client import AnswerOf

ANYBODY = Viewer("bench", Role.OPERATOR)

Body = dict[str, Any]
Done = Counter[tuple[str, str]]
"""How often each player has done what in the hand that is on."""


class Seen(Protocol):
    """Any game's view of its table."""

    @property
    def round(self) -> str | None: ...

    @property
    def seats(self) -> tuple[Any, ...]: ...


V = TypeVar("V", bound=Seen)


class Plan(Struct, Generic[V], frozen=True):
    """A game, its tables, and how its bots play."""

    game: str
    label: str
    bots: int
    config: Body
    sits_down: Body
    view: type[V]
    answer: type[AnswerOf[V]]
    next_act: Callable[[V, Done], tuple[str, Body]]
    """Who does what now, by the view in the last answer: to the player who acted, or to nobody as a hand begins."""


# --- 3 Patti --------------------------------------------------------------------------------------------------------


def next_of_patti(view: client_patti.View, done: Done) -> tuple[str, Body]:
    me = view.at(view.turn)
    assert me is not None
    return me.player, _patti_act(view, me, done[me.player, "Bet"] + done[me.player, "SideShow"])


def _patti_act(view: client_patti.View, me: client_patti.Seat, turns: int) -> Body:
    """Blind or seen in the first circuit, by seat; then looks, asks to compare, and folds until two are left, who
    show. So each kind of act occurs, and all six play for a while."""
    active = view.active
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


PATTI = Plan(
    game=client_patti.GAME,
    label="patti",
    bots=6,
    config={"currency": CURRENCY, "boot": 100, "pause_seconds": 0, "rake_bps": 250},
    sits_down={"type": "SitDown", "amount": 1_000_000},
    view=client_patti.View,
    answer=client_patti.Answer,
    next_act=next_of_patti,
)

# --- Gin Rummy ------------------------------------------------------------------------------------------------------


def next_of_gin(view: client_gin.View, _done: Done) -> tuple[str, Body]:
    """Nobody takes from the discard pile. Keeps pairs and neighbours, and knocks as soon as it may be: with no more
    thought than that, or the bench would measure itself."""
    assert view.turn is not None
    if view.phase == "choice":
        return view.turn, {"type": "Decline"}
    if view.phase == "drawing":
        return view.turn, {"type": "Draw", "source": "stock"}
    if may_knock := view.may("Knock"):
        best = min(may_knock.knocks, key=lambda each: each.deadwood)
        return view.turn, {"type": "Knock", "card": best.card}
    may_discard = view.may("Discard")
    assert may_discard is not None
    return view.turn, {"type": "Discard", "card": max(may_discard.cards, key=lambda card: _dear(card, may_discard))}


_HEIGHTS = "A23456789TJQK"


def _dear(card: str, hand: client_gin.Allowed) -> tuple[int, int]:
    """The fewer others of its rank or near it in its suit the dearer it is to keep; then the higher."""
    height = _HEIGHTS.index(card[0])
    near = _HEIGHTS[max(0, height - 2) : height + 3]
    beside = sum(each[0] == card[0] or (each[1] == card[1] and each[0] in near) for each in hand.cards)
    return -beside, height


GIN = Plan(
    game=client_gin.GAME,
    label="gin",
    bots=3,
    config={"currency": CURRENCY, "entry": 1_000, "pause_seconds": 0, "rake_bps": 250},
    sits_down={"type": "SitDown", "amount": 1_000},
    view=client_gin.View,
    answer=client_gin.Answer,
    next_act=next_of_gin,
)

# --- Measuring ------------------------------------------------------------------------------------------------------


class Table(Generic[V]):
    """A table, its bots, and the one connection over which they act, one after the other."""

    def __init__(self, plan: Plan[V], house: House, number: int) -> None:
        first = number * plan.bots
        of_bots = slice(first, first + plan.bots)
        self._plan = plan
        self._house = house
        self._name = f"{plan.label}-{number}"
        self._tokens = dict(zip(house.players[of_bots], house.tokens[of_bots], strict=True))
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self.acts = 0
        self.over = False

    async def open(self, port: int) -> None:
        game = GAMES[self._plan.game]
        opening = msgspec.convert({"type": "OpenTable", "config": self._plan.config}, game.commands[Role.OPERATOR])
        await self._house.send(TABLE + self._name, opening, Role.OPERATOR, game=game.name)
        self._reader, self._writer = await asyncio.open_connection(LOCALHOST, port)
        await self._sit_down()

    async def play(self) -> None:
        """Hand after hand, until `over`."""
        try:
            while not self.over:
                view, done = await self._dealt(), Done()
                while view.round and not self.over:
                    view = await self._act(view, done)
                if not view.seats:
                    await self._sit_down()
        finally:
            self._writer.close()

    async def _sit_down(self) -> None:
        for player in self._tokens:
            await self._send(player, self._plan.sits_down)

    async def _dealt(self) -> V:
        game = GAMES[self._plan.game]
        while game.round(state := await self._house.state(self._name)) is None:
            await self._house.send(TABLE + self._name, TimeOut(), Role.CLOCK)
        return msgspec.convert(msgspec.to_builtins(game.view(state, ANYBODY, (), no_open)), self._plan.view)

    async def _act(self, view: V, done: Done) -> V:
        player, act = self._plan.next_act(view, done)
        done[player, act["type"]] += 1
        after = await self._send(player, act)
        self.acts += 1
        return after

    async def _send(self, player: str, body: Body) -> V:
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
        view = msgspec.json.decode(content, type=self._plan.answer).view
        assert view is not None
        return view


async def measured(plan: Plan[V], house: House, tables: int, repetitions: int, seconds: float) -> Played:
    await house.start_again("api")
    made = [Table(plan, house, number) for number in range(tables)]
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
    return Played(tables, round(median(rates), 2), round(median(costs), 2))


async def _playing(tasks: list[asyncio.Task[None]], seconds: float) -> None:
    """They do not end by themselves: one that has ended has failed, and says why."""
    ended, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in ended:
        task.result()


def _used(house: House) -> int:
    return cpu.own_us(house.pid("api")) + house.postgres_us

"""What bots share that sit at tables, whatever they play there: acting on their turn, minding their seats.

What a bot wants is told by pure functions of what it sees, the view with what is `allowed`, and of a number of luck
from 0 up to 1.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from ops.bots_house import Bot, Pace, chance, for_ever
from ops.client import AnswerOf, Client, Problem

COMMANDS_A_SECOND = 3
THINKS_S = (0.3, 1.2)
SEATS_LOOK_S = 1.5
"""How often one of the bots asks itself whether to sit down, to leave, to bring more chips."""


class Move(Struct, frozen=True, omit_defaults=True):
    """What a bot wants to do: a command, with those of its fields that it needs."""

    command: str
    amount: int | None = None
    accept: bool | None = None
    source: str | None = None
    card: str | None = None
    text: str | None = None

    @property
    def fields(self) -> dict[str, int | bool | str]:
        told = {name: getattr(self, name) for name in self.__struct_fields__[1:]}
        return {name: value for name, value in told.items() if value is not None}


class Seen(Protocol):
    """Any game's view of its table."""

    @property
    def round(self) -> str | None: ...


V = TypeVar("V", bound=Seen)


class Page(Protocol[V]):
    """A game's page of the client, as client_patti."""

    def seen(self, client: Client, table: str, /) -> Awaitable[V]: ...

    def send(self, client: Client, table: str, kind: str, /, **fields: Any) -> Awaitable[AnswerOf[V]]: ...


Wants = Callable[[V, float], Move | None]


class Player(Bot, Generic[V]):
    """`in_hand` is what it does in the hand that is on, `at_table` what it does about its seat; none: nothing now."""

    def __init__(
        self, name: str, operator: Client, pace: Pace, page: Page[V], in_hand: Wants[V], at_table: Wants[V]
    ) -> None:
        super().__init__(name, operator)
        self._pace = pace
        self._page = page
        self._in_hand = in_hand
        self._at_table = at_table
        self._acts = False

    async def act(self, table: str) -> None:
        """Look, think, and do what it wants, until it is another one's turn."""
        if self._acts:
            return
        self._acts = True
        try:
            view = await self._look(table)
            while move := self._in_hand(view, chance.random()):
                await asyncio.sleep(chance.uniform(*THINKS_S))
                view = await self._do(table, move, round=view.round)
        finally:
            self._acts = False

    async def mind_the_seat(self, table: str) -> None:
        move = self._at_table(await self._look(table), chance.random())
        if move is None:
            return
        try:
            await self._do(table, move)
        except Problem as problem:
            if problem.code == "InsufficientFunds":
                await self.bring_money()

    async def _look(self, table: str) -> V:
        return await self.ask(lambda client: self._page.seen(client, table))

    async def _do(self, table: str, move: Move, **fields: Any) -> V:
        await self._pace.turn()
        told: dict[str, Any] = {**move.fields, **fields}
        answer = await self.ask(lambda client: self._page.send(client, table, move.command, **told))
        assert answer.view is not None
        return answer.view


Players = Mapping[str, Player[V]]


async def live(
    players: Players[V], tables: Mapping[str, Any], play: Callable[[str], Coroutine[Any, Any, None]]
) -> None:
    """At each of these tables they mind their seats, and play."""
    for player in players.values():
        await player.arrive()
    async with asyncio.TaskGroup() as group:
        for table in tables:
            group.create_task(for_ever(lambda table=table: play(table)))
            group.create_task(for_ever(lambda table=table: _mind_the_seats(table, players)))


async def _mind_the_seats(table: str, players: Players[V]) -> None:
    while True:
        await players[chance.choice(list(players))].mind_the_seat(table)
        await asyncio.sleep(SEATS_LOOK_S)

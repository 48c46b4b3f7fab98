"""What the API documents of a table of Gin Rummy, and a seat at one: used by the demo, the bots and the bench.

As on the page client, nothing here knows the code behind the API: what a player may do stands in `View.allowed`.
"""

from collections.abc import AsyncGenerator
from typing import Any

from msgspec import Struct

from ops.client import AnswerOf, Client, FrameOf, TableOf

GAME = "gin_rummy"


class Knockable(Struct, frozen=True):
    """A discard with which one may knock, and the points that are then unmatched."""

    card: str
    deadwood: int


class Allowed(Struct, frozen=True):
    """A command that is open to the viewer now: with which amount, from where, with which cards."""

    command: str
    amount: int | None = None
    sources: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    knocks: tuple[Knockable, ...] = ()


class Seat(Struct, frozen=True):
    """`status` is waiting, playing, sitting_out, away or forfeited."""

    player: str
    status: str
    total: int = 0
    cards: tuple[str, ...] = ()


class Roles(Struct, frozen=True):
    box: str
    captain: str
    sitting_out: str | None = None


class View(Struct, frozen=True):
    """A table as its viewer sees it: cards as far as he may know them, and what he may do now."""

    phase: str
    seats: tuple[Seat, ...] = ()
    roles: Roles | None = None
    round: str | None = None
    top: str | None = None
    stock: int = 0
    turn: str | None = None
    advice: tuple[str, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    next_seed_hash: str | None = None

    def of(self, player: str | None) -> Seat | None:
        return next((each for each in self.seats if each.player == player), None)

    def cards(self, player: str | None) -> tuple[str, ...]:
        """Of this player's hand, as far as the viewer may know them."""
        seat = self.of(player)
        return seat.cards if seat else ()

    def may(self, command: str) -> Allowed | None:
        """How the viewer may do this now; none if not."""
        return next((each for each in self.allowed if each.command == command), None)


class Answer(AnswerOf[View]):
    pass


class Frame(FrameOf[View]):
    pass


class Table(TableOf[View]):
    pass


async def send(client: Client, table: str, kind: str, key: str = "", **fields: Any) -> Answer:
    return await client.answered(Answer, f"/v1/tables/{table}/commands", {"type": kind, **fields}, key)


async def seen(client: Client, table: str) -> View:
    return (await client.get(f"/v1/tables/{table}", Table)).view


def watch(client: Client, table: str) -> AsyncGenerator[Frame]:
    return client.frames(Frame, table)

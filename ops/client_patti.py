"""What the API documents of a table of 3 Patti, and a seat at one: used by the demo, the bots and the bench.

As on the page client, nothing here knows the code behind the API: what a player may do stands in `View.allowed`.
"""

from collections.abc import AsyncGenerator
from typing import Any

from msgspec import Struct

from ops.client import AnswerOf, Client, FrameOf, TableOf

GAME = "three_patti"


class Allowed(Struct, frozen=True):
    """A command that is open to the viewer now. An amount may be min, min + step, ... max."""

    command: str
    min: int | None = None
    max: int | None = None
    step: int | None = None
    pays: int | None = None
    target: int | None = None
    seats: tuple[int, ...] = ()
    since: int | None = None


class Seat(Struct, frozen=True):
    """`status` is blind, seen or folded of who is in the hand; else waiting or out."""

    seat: int
    player: str
    stack: int
    status: str
    paid: int = 0
    cards: tuple[str, ...] = ()
    leaving: bool = False


class View(Struct, frozen=True):
    """A table as its viewer sees it: cards as far as he may know them, and what he may do now."""

    phase: str
    seats: tuple[Seat, ...] = ()
    round: str | None = None
    dealer: int | None = None
    pot: int = 0
    stake: int = 0
    turn: int | None = None
    sideshow_of: int | None = None
    you: int | None = None
    allowed: tuple[Allowed, ...] = ()
    seed_hash: str | None = None
    root: str | None = None
    next_round: str | None = None
    next_seed_hash: str | None = None
    draining: bool = False

    def at(self, seat: int | None) -> Seat | None:
        return next((each for each in self.seats if each.seat == seat), None)

    @property
    def me(self) -> Seat | None:
        return self.at(self.you)

    def of(self, player: str) -> Seat | None:
        return next((each for each in self.seats if each.player == player), None)

    @property
    def active(self) -> tuple[Seat, ...]:
        """Who is in the hand still."""
        return tuple(each for each in self.seats if each.status in ("blind", "seen"))

    def may(self, command: str) -> Allowed | None:
        """How the viewer may do this now; none if not."""
        return next((each for each in self.allowed if each.command == command and each.since is None), None)


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

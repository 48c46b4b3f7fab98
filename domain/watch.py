"""The streams `watch:doors` and `watch:books`: what an operator must be able to see afterwards of who came in, who was
turned away, and whether the books agreed.
"""

from collections.abc import Iterator, Mapping
from typing import assert_never

from msgspec import Struct

from domain.game import SECOND, Context, Decision, Micros
from domain.house import KEYS_MAX

DOORS, BOOKS = "watch:doors", "watch:books"

DAY: Micros = 24 * 3_600 * SECOND
"""Of a key that is used day after day, the first use of each day (UTC) is recorded."""

NAMED_MAX = 10
"""So many keys that were turned away are named; how often anybody was is told besides."""


class Came(Struct, frozen=True, tag=True):
    """What a process saw at its door: keys that were taken, and, since a moment, bearers that were not. `named` are the
    ids of keys that these said they were: anybody may say so."""

    keys: tuple[str, ...] = ()
    turned_away: int = 0
    named: tuple[str, ...] = ()
    since: Micros = 0


class Differ(Struct, frozen=True, tag=True):
    """Reconciling up to a position found that not all that is made from the log is what the log says."""

    position: int
    differences: int


Command = Came | Differ


class KeyUsed(Struct, frozen=True, tag="watch.KeyUsed"):
    """For the first time on this day, counted from 1970 (UTC)."""

    key: str
    day: int


class TurnedAway(Struct, frozen=True, tag="watch.TurnedAway"):
    """So often in this time a bearer that named this operator was no key of its, or one that is revoked."""

    count: int
    named: tuple[str, ...]
    since: Micros


class BooksDiffered(Struct, frozen=True, tag="watch.BooksDiffered"):
    position: int
    differences: int


Event = KeyUsed | TurnedAway | BooksDiffered


class Watched(Struct, frozen=True, tag="Watched"):
    """On which day, counted from 1970, each key was used last."""

    used: Mapping[str, int] = {}


INITIAL = Watched()


def decide(watched: Watched, command: Command, context: Context) -> Decision:
    match command:
        case Came():
            return Decision(tuple(_came(watched, command, context.now // DAY)))
        case Differ():
            return Decision((BooksDiffered(command.position, command.differences),))
        case never:
            assert_never(never)


def _came(watched: Watched, command: Came, today: int) -> Iterator[Event]:
    for key in command.keys:
        if watched.used.get(key, -1) < today:
            yield KeyUsed(key, today)
    if command.turned_away:
        yield TurnedAway(command.turned_away, command.named[:NAMED_MAX], command.since)


def evolve(watched: Watched, event: Event) -> Watched:
    if not isinstance(event, KeyUsed):
        return watched
    others = [(key, day) for key, day in watched.used.items() if key != event.key]
    return Watched(dict([*others, (event.key, event.day)][-KEYS_MAX:]))

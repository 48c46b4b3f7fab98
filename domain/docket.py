"""The stream `docket:<player>`: a player's disputes that are open. So there are never more at once than can be heard,
and never two about the same thing.
"""

from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from domain.errors import Rejected

OPEN_MAX = 20


class Rule(StrEnum):
    TooManyDisputes = "TooManyDisputes"
    DisputeIsOpen = "DisputeIsOpen"


class Enter(Struct, frozen=True, tag=True):
    dispute: str
    round: str
    bet: str


class Strike(Struct, frozen=True, tag=True):
    """It was decided or withdrawn."""

    dispute: str


Command = Enter | Strike


class Entered(Struct, frozen=True, tag="docket.Entered"):
    dispute: str
    round: str
    bet: str


class Struck(Struct, frozen=True, tag="docket.Struck"):
    dispute: str


Event = Entered | Struck


class Docket(Struct, frozen=True, tag="Docket"):
    open: tuple[Entered, ...] = ()


INITIAL = Docket()


def decide(docket: Docket, command: Command) -> tuple[Event, ...]:
    match command:
        case Enter():
            same = next((each for each in docket.open if (each.round, each.bet) == (command.round, command.bet)), None)
            if same is not None:
                raise Rejected(Rule.DisputeIsOpen, dispute=same.dispute)
            if len(docket.open) >= OPEN_MAX:
                raise Rejected(Rule.TooManyDisputes, limit=OPEN_MAX)
            return (Entered(command.dispute, command.round, command.bet),)
        case Strike():
            return (Struck(command.dispute),)
        case never:
            assert_never(never)


def evolve(docket: Docket, event: Event) -> Docket:
    match event:
        case Entered():
            return Docket((*docket.open, event))
        case Struck():
            return Docket(tuple(each for each in docket.open if each.dispute != event.dispute))
        case never:
            assert_never(never)

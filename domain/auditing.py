"""The stream `audit:<auditor>`: what an auditor opened of what is sealed: who, what, why. It names no card and has no
state: the events are the record.
"""

from msgspec import Struct


class OpenSeal(Struct, frozen=True, tag=True):
    """Open what is sealed in the event at a position, whose stream and round are these."""

    position: int
    stream: str
    round: str | None
    why: str


class SealOpened(Struct, frozen=True, tag="audit.SealOpened"):
    """Recorded before anything is shown."""

    position: int
    stream: str
    round: str | None
    why: str


class Openings(Struct, frozen=True, tag="Openings"):
    """Nothing to remember."""


INITIAL = Openings()


def decide(command: OpenSeal) -> SealOpened:
    """Whatever the auditor asks is recorded: whether it may be opened yet is asked before."""
    return SealOpened(command.position, command.stream, command.round, command.why)

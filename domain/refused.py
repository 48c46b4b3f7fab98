"""The stream `refused:<player>`: money commands that a rule refused, kept for disputes. It has no state."""

from msgspec import Struct

from domain.errors import Fact
from domain.game import Micros


class CommandRefused(Struct, frozen=True, tag="refused.CommandRefused"):
    """What was asked (the command as sent), of which stream, and the rule and facts of the refusal.

    `received` is when it came, by the clock of the process that took it in; it was decided at the event's own `at`.
    """

    stream: str
    asked: str
    rule: str
    facts: dict[str, Fact]
    received: Micros


class Refusals(Struct, frozen=True, tag="Refusals"):
    """Nothing to remember: the events are the record."""


INITIAL = Refusals()

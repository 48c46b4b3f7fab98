"""What a report is: a question, a header that says what was asked and of what, and a body that follows from the log."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Protocol

from msgspec import Struct

from domain.game import Micros
from domain.money import Amount
from infra.eventlog import EventRow

SOFTWARE = "croupier 0.1.0"
NO_ACTIVITY = "No activity"

Cell = int | str | None
"""Amounts are whole minor units; moments are microseconds since 1970 UTC."""


class BadQuestion(Exception):
    """It cannot be answered as it was asked. `code` is stable, the text says what to do."""

    def __init__(self, code: str, detail: str, **facts: int | str) -> None:
        super().__init__(detail)
        self.code = code
        self.facts = facts


class Question(Struct, frozen=True):
    """`position`: of the log, to which it is read; none: where it stands now. `first` and `last` are gaming days, both
    included. `threshold` is of large wins, in minor units."""

    name: str
    position: int | None = None
    first: date | None = None
    last: date | None = None
    threshold: Amount | None = None


class Period(Struct, frozen=True):
    """Gaming days, both included; null: from the first event on, or up to the position."""

    first: date | None
    last: date | None
    time_zone: str
    day_begins: str


class Header(Struct, frozen=True, kw_only=True):
    """`position` is how far the log was read, `hash` the chain's link there (hex), `as_of` the moment of that event.
    `edition` is raised with any change of what the report counts. `body_sha256` is over the body exactly as it stands.
    Under the same software the same question of the same position differs in `generated_at` alone."""

    operator: str
    operator_name: str
    report: str
    title: str
    edition: int
    period: Period | None
    filters: dict[str, Cell]
    position: int
    hash: str
    as_of: Micros
    generated_at: Micros
    software: str
    totals: tuple[dict[str, Cell], ...]
    rows: int
    activity: str
    """Empty, or "No activity"."""
    body_sha256: str


class Body(Struct, frozen=True):
    """A row has a value for each of the columns, in their order."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, Cell], ...]


class Report(Struct, frozen=True):
    header: Header
    body: Body


class Read(Struct, frozen=True):
    """An event as it is counted: on which gaming day, whether that is within the period, and, of a wallet or of what
    a player disputes, its currency where the report asks for it."""

    row: EventRow
    day: date
    within: bool
    currency: str


class Fold(Protocol):
    """What a report gathers. `take` is given every event up to the position, in order."""

    def take(self, read: Read) -> None: ...

    def rows(self) -> Sequence[Struct]: ...

    def __len__(self) -> int: ...


class Kind(Struct, frozen=True):
    """A report that can be asked for. `fold` is given the threshold, which is 0 where there is none."""

    name: str
    title: str
    words: str
    row: type[Struct]
    fold: Callable[[Amount], Fold]
    sums: tuple[str, ...]
    """The columns that are added up, by currency."""
    has_period: bool = True
    threshold: Amount | None = None
    """If nothing else is asked for. None: it takes no threshold."""
    asks_currency: bool = False
    edition: int = 1


def percent(part: int, whole: int) -> str:
    """To six decimals, half to even, by whole numbers alone; what it is of stands beside it."""
    scaled, rest = divmod(part * 10**8, whole)
    scaled += rest * 2 > whole or (rest * 2 == whole and scaled % 2)
    units, decimals = divmod(scaled, 10**6)
    return f"{units}.{decimals:06}"

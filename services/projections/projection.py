"""What a projection is: a value with a name and the effect that a batch of events has on its rows."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from infra.eventlog import EventRow
from infra.postgres import Connection


class Place(Struct, frozen=True):
    """Whose rows, and which generation of them. `kept` is what `apply` gave back for the batch before, if nothing has
    come between."""

    operator: str
    generation: int
    kept: Any = None


class Projection(Struct, frozen=True):
    """`apply` runs inside the transaction that moves the checkpoint, and may give back what it will want to know again;
    `clear` are queries that each delete some rows of a generation (operator, generation, limit)."""

    name: str
    apply: Callable[[Connection, Place, Sequence[EventRow]], Awaitable[Any]]
    clear: tuple[str, ...]

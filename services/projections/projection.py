"""What a projection is: a value with a name and the effect that a batch of events has on its rows."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from infra.eventlog import EventRow
from infra.postgres import Connection


class Place(Struct, frozen=True):
    """Whose rows, and which generation of them."""

    operator: str
    generation: int


class Projection(Struct, frozen=True):
    """`apply` runs inside the transaction that moves the checkpoint; `clear` are queries that each delete some rows of
    a generation (operator, generation, limit)."""

    name: str
    apply: Callable[[Connection, Place, Sequence[EventRow]], Awaitable[None]]
    clear: tuple[str, ...]

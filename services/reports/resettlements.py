"""`resettlements`: rounds and matches that were settled once more: by whom and why, and what it came to."""

from msgspec import Struct
from msgspec.structs import replace

from domain import resettlements
from domain.game import Micros
from domain.money import Amount
from domain.names import table_of
from services.reports.play import Tables
from services.reports.report import Kind, Read


class ResettledRound(Struct, frozen=True):
    """`number` is the round's own count. `basis` is `void` or `corrected`. What the `players` gained in sum is
    `gained`, less than nothing for a loss; what of the losses their cash did not cover is `owed`. `completed_at` is
    null as long as not all were settled with by the report's position."""

    position: int
    at: Micros
    gaming_day: str
    round: str
    number: int
    game: str
    table: str
    currency: str
    basis: str
    reason: str
    incident: str
    proposed_by: str
    approved_by: str
    completed_at: Micros | None
    players: int
    gained: Amount
    owed: Amount


class _Fold:
    def __init__(self, _threshold: Amount) -> None:
        self._tables = Tables()
        self._found: dict[tuple[str, int], ResettledRound] = {}

    def take(self, read: Read) -> None:
        row = read.row
        if row.type not in _OF_THEM:
            self._tables.take(row)
            return
        event = row.event
        match event:
            case resettlements.Opened() if read.within:
                self._found[event.round, event.number] = self._opened(read, event)
            case resettlements.Completed() if found := self._found.get((event.round, event.number)):
                done = (event.players, event.gained, event.owed)
                after = replace(found, completed_at=row.at, players=done[0], gained=done[1], owed=done[2])
                self._found[event.round, event.number] = after
            case _:
                pass

    def _opened(self, read: Read, event: resettlements.Opened) -> ResettledRound:
        at, row = self._tables.of_round(event.round), read.row
        when = (row.position, row.at, read.day.isoformat(), event.round, event.number)
        where = (at.game, table_of(event.round), at.currency)
        basis = "void" if isinstance(event.basis, resettlements.Void) else "corrected"
        why = (basis, event.reason, event.incident, event.proposed_by, row.actor)
        return ResettledRound(*when, *where, *why, None, 0, 0, 0)

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> list[ResettledRound]:
        return list(self._found.values())


_OF_THEM = {"resettlement.Opened", "resettlement.Completed"}

RESETTLEMENTS = Kind(
    name="resettlements",
    title="Resettlements",
    words="Rounds and matches that were settled once more: when, by whom, why, and what players gained or owe by it.",
    row=ResettledRound,
    fold=_Fold,
    sums=("players", "gained", "owed"),
)

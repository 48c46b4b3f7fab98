"""`disputes`: what players disputed, whether it was decided in time, and what was given."""

from msgspec import Struct
from msgspec.structs import replace

from domain.disputes import (
    DisputeDecided,
    DisputeOpened,
    DisputeOverdue,
    DisputeWithdrawn,
    EvidenceAsked,
    EvidenceAttached,
    Ruling,
)
from domain.game import Micros
from domain.money import Amount
from domain.names import DISPUTE
from services.reports.report import Kind, Read


class Disputed(Struct, frozen=True):
    """Of each dispute that was opened on that day how it stands at the report's position. `overdue`, `decided`,
    `upheld` and `withdrawn` are 1 or 0, to be added up; `amount` is what was given. `due` is the last
    one set. `days` is how long it took, whole days of 24 hours, those included in which evidence was awaited."""

    position: int
    at: Micros
    gaming_day: str
    dispute: str
    player: str
    round: str
    bet: str
    currency: str
    opened_by: str
    role: str
    due: Micros
    evidence: int
    opened: int
    overdue: int
    withdrawn: int
    decided: int
    upheld: int
    code: str
    amount: Amount
    proposed_by: str
    approved_by: str
    ended_at: Micros | None
    days: int | None


_DAY: Micros = 24 * 3_600 * 1_000_000


class _Fold:
    def __init__(self, _threshold: Amount) -> None:
        self._found: dict[str, Disputed] = {}

    def take(self, read: Read) -> None:
        row = read.row
        if not row.stream.startswith(DISPUTE):
            return
        name, event = row.stream.removeprefix(DISPUTE), row.event
        if isinstance(event, DisputeOpened):
            if read.within:
                self._found[name] = self._opened(read, name, event)
        elif name in self._found:
            self._found[name] = self._after(self._found[name], event, row.at)

    def _opened(self, read: Read, name: str, event: DisputeOpened) -> Disputed:
        when = (read.row.position, read.row.at, read.day.isoformat())
        whose = (name, event.player, event.round, event.bet, read.currency, event.by, event.role)
        return Disputed(*when, *whose, event.due, 0, 1, 0, 0, 0, 0, "", 0, "", "", None, None)

    def _after(self, found: Disputed, event: object, at: Micros) -> Disputed:
        match event:
            case EvidenceAttached():
                return replace(found, evidence=found.evidence + 1, due=event.due)
            case EvidenceAsked():
                return replace(found, due=event.due)
            case DisputeOverdue():
                return replace(found, overdue=1)
            case DisputeWithdrawn():
                return replace(_ended(found, at), withdrawn=1)
            case DisputeDecided():
                return replace(
                    _ended(found, at),
                    decided=1,
                    upheld=int(event.ruling is Ruling.UPHELD),
                    code=event.code.value,
                    amount=event.amount,
                    proposed_by=event.proposed_by,
                    approved_by=event.approved_by,
                )
            case _:
                raise AssertionError(event)

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> list[Disputed]:
        return list(self._found.values())


def _ended(found: Disputed, at: Micros) -> Disputed:
    return replace(found, ended_at=at, days=(at - found.at) // _DAY)


DISPUTES = Kind(
    name="disputes",
    title="Disputes",
    words="What players disputed: when, about what, whether it was decided in time and how, and what was given.",
    row=Disputed,
    fold=_Fold,
    sums=("opened", "overdue", "withdrawn", "decided", "upheld", "amount"),
    asks_currency=True,
)

"""`incidents`: what went wrong at tables, who reported it, and what was done about it by whom."""

from msgspec import Struct
from msgspec.structs import replace

from domain import incidents
from domain.game import Micros
from domain.money import Amount
from domain.names import INCIDENT
from services.reports.report import Kind, Read


class IncidentRow(Struct, frozen=True):
    """`incident` is its id, `role` that of who reported it. What was done is told up to the report's position: empty,
    it was open there. Where it took two, `resolved_by` proposed it and `approved_by` is the second; else who resolved
    it is another person than who reported it wherever a round was voided. `noted` counts what was added."""

    position: int
    at: Micros
    gaming_day: str
    incident: str
    table: str
    round: str
    kind: str
    words: str
    video: str
    reported_by: str
    role: str
    noted: int
    resolution: str
    resolved_at: Micros | None
    resolved_by: str
    approved_by: str
    resolved_words: str


class _Fold:
    def __init__(self, _threshold: Amount) -> None:
        self._found: dict[str, IncidentRow] = {}

    def take(self, read: Read) -> None:
        row = read.row
        if not row.stream.startswith(INCIDENT):
            return
        event, known = row.event, self._found.get(row.stream)
        match event:
            case incidents.Reported():
                if read.within:
                    self._found[row.stream] = _reported(read, event)
            case incidents.Noted() if known:
                self._found[row.stream] = replace(known, noted=known.noted + 1)
            case incidents.Resolved() if known:
                self._found[row.stream] = replace(
                    known,
                    resolution=event.resolution.value,
                    resolved_at=row.at,
                    resolved_by=event.by,
                    approved_by=row.actor if event.proposal else "",
                    resolved_words=event.words,
                )
            case _:
                pass

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> list[IncidentRow]:
        return list(self._found.values())


def _reported(read: Read, event: incidents.Reported) -> IncidentRow:
    row = read.row
    when = (row.position, row.at, read.day.isoformat(), row.stream.removeprefix(INCIDENT))
    what = (event.table, event.round or "", event.kind.value, event.words, event.video)
    return IncidentRow(*when, *what, row.actor, row.role, 0, "", None, "", "", "")


INCIDENTS = Kind(
    name="incidents",
    title="Incidents",
    words="What went wrong at tables: when, where, what it was, who reported it, and what was done about it by whom.",
    row=IncidentRow,
    fold=_Fold,
    sums=(),
)

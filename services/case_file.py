"""A case file: a dispute in one file, with all that proves what was said and done in it.

It is written as services/one_line.py tells. The round's own dossier stands in it as it is written by itself, so whoever
takes it out has a file that both verifiers of dossiers take. `note` is the signed checkpoint of a tree that has every
event of `events` as a leaf; the dossier has its own, of an earlier tree of the same log.
"""

from typing import Literal

from msgspec import Raw, Struct

from infra.eventlog import EventRow
from services.dossier import SIZE_MAX, Proved, Sent
from services.one_line import OneLine

CaseForm = Literal["operator", "player"]
"""What either may know: the player's has no proposals, and the player's form of the dossier."""


class CaseFile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`events` are in order, each whole: those of the dispute up to the moment at which the file was made; in an
    operator's form the proposals to decide it; the correction of the player's cash that it ended with; and, of a bet
    that was refused outside of the round, the record of it. `commands` are the player's in the round, as the dossier
    has them, the one that is disputed, and of those of the dispute when they came and were decided. `replay` leads to
    the round where the operator's API answers."""

    operator: str
    dispute: str
    form: CaseForm
    player: str
    round: str
    bet: str
    note: str
    events: tuple[Proved, ...]
    commands: tuple[Sent, ...]
    replay: str
    dossier: Raw

    @property
    def rows(self) -> list[EventRow]:
        return [each.entry.row(each.position) for each in self.events if each.entry]


_KIND = OneLine("case", 1, SIZE_MAX, CaseFile)
FORMAT, write, read = _KIND.format, _KIND.write, _KIND.read

"""`voided-rounds`: rounds and matches that were cancelled, by whom and why, and what went back to players."""

from msgspec import Struct
from msgspec.structs import replace

from domain.game import Micros
from domain.money import Amount
from domain.names import table_of
from services.reports.play import Play
from services.reports.report import Kind, Read


class VoidedRound(Struct, frozen=True):
    """`round` may be a match. `refunded` is what went back to how many `players` up to the report's position, and
    `refunded_at` when that was done; none: not all of it yet. `by` is who cancelled it, `platform` the clock.
    `paused_by` is who paused it before, where it took two persons. `incident` is of what kind what happened was, where
    that was reported before."""

    position: int
    at: Micros
    gaming_day: str
    round: str
    game: str
    table: str
    currency: str
    reason: str
    incident: str
    paused_by: str
    by: str
    role: str
    players: int
    refunded: Amount
    refunded_at: Micros | None


class _Fold:
    def __init__(self, _threshold: Amount) -> None:
        self._play = Play()
        self._found: dict[str, VoidedRound] = {}
        self._reported: dict[str | None, str] = {}
        """By round: the kind of the last incident."""

    def take(self, read: Read) -> None:
        row, name = read.row, read.row.type.partition(".")[2]
        ended = [each for each in self._play.take(row) if each.void]
        if row.type == "incident.Reported":
            self._reported[row.round] = row.event.kind.value
        if read.within and name in ("RoundCancelled", "MatchRefunded"):
            about = row.event.match if name == "MatchRefunded" else row.event.round
            self._found[about] = self._void(read, about, row.event.reason)
        for round_id in {each.round for each in ended} & self._found.keys():
            voided, amounts = self._found[round_id], [each.staked for each in ended if each.round == round_id]
            players = len({each.player for each in ended if each.round == round_id})
            refunded = voided.refunded + sum(amounts)
            self._found[round_id] = replace(voided, players=voided.players + players, refunded=refunded)
        done = row.event.round if name == "RoundRefunded" else None
        if done in self._found:
            self._found[done] = replace(self._found[done], refunded_at=row.at)

    def _void(self, read: Read, about: str, reason: str) -> VoidedRound:
        row, at = read.row, self._play.tables.of_round(about)
        refunded_at = row.at if row.type.endswith(".MatchRefunded") else None
        where, first = (about, at.game, table_of(about), at.currency), row.event.paused_by or ""
        kind = self._reported.get(row.round, "") if row.round else ""
        return VoidedRound(
            row.position, row.at, read.day.isoformat(), *where, reason, kind, first, row.actor, row.role, 0, 0,
            refunded_at,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> list[VoidedRound]:
        return list(self._found.values())


VOIDED = Kind(
    name="voided-rounds",
    title="Voided and cancelled rounds",
    words="Rounds and matches that were cancelled: when, by whom, why, and what was refunded.",
    row=VoidedRound,
    fold=_Fold,
    sums=("players", "refunded"),
)

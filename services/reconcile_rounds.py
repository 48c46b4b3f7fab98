"""Reconcile, round by round: the rows of rounds and of their bettors against a fresh fold of each round's events; and
those of matches, as the log is walked, for what tells of a match lies in several rounds, or between two.
"""

from collections.abc import Sequence
from typing import Any

from domain.money import Amount
from infra import eventlog
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.sql import queries
from services.checkpoints import Checkpoint
from services.projections import rounds
from services.projections.rounds import Bettor, Book, Round
from services.reconcile_streams import Finder, unknown

SQL = queries("reconcile")
PAGE = eventlog.PAGE


class Matches:
    """The matches that are on where the walk through the log has come to: at most one at a table."""

    def __init__(self, pool: Pool, operator: str, at: Checkpoint, findings: Finder) -> None:
        self._pool = pool
        self._operator = operator
        self._at = at
        self._findings = findings
        self._on: dict[str, _Folding] = {}
        self._opened: dict[str, EventRow] = {}

    async def take(self, rows: Sequence[EventRow]) -> None:
        """Fold on, and compare whatever is over."""
        telling = [(row, match) for row in rows if (match := rounds.match_of(row)) is not None]
        new = list({match for _, match in telling} - self._on.keys())
        if not telling:
            return
        stored, bettors = await _stored(self._pool, self._operator, self._at.generation, new)
        for row, match in telling:
            if match not in self._on:
                self._on[match] = _Folding(match, stored.get(match), bettors.get(match, []), self._at)
                self._opened[match] = row
            paid_in = self._on[match].staked
            self._on[match].take(row)
            if rounds.ends(row):
                self._findings.same(f"paid into {match}, as its end tells", paid_in, self._on[match].staked)
                del self._opened[match]
                self._on.pop(match).compare(self._findings)

    async def finish(self) -> None:
        """Those that are still on, with what has come to them since the walk began."""
        for match, folding in self._on.items():
            opened = self._opened[match]
            async for row in eventlog.of_stream(self._pool, self._operator, opened.stream, opened.version):
                if not folding.behind:
                    break
                if rounds.match_of(row) == match and row.position > folding.position:
                    folding.take(row)
            folding.compare(self._findings)


async def compare(pool: Pool, operator: str, at: Checkpoint, findings: Finder) -> None:
    """Fold every round, and compare each row at the position that it names as its last."""
    folding: _Folding | None = None
    place: tuple[str, int] = ("", 0)
    while records := await pool.fetch(SQL["events_by_round"], operator, *place, PAGE):
        page = [eventlog.row_of(record) for record in records]
        place = (page[-1].round or "", page[-1].position)
        rows = [row for row in page if rounds.told_of(row) is not None]
        new = list({row.round or "" for row in rows} - ({folding.round} if folding else set()))
        stored, bettors = await _stored(pool, operator, at.generation, new)
        for row in rows:
            if folding is None or folding.round != row.round:
                await _finish(pool, operator, folding, findings)
                round_id = row.round or ""
                folding = _Folding(round_id, stored.get(round_id), bettors.get(round_id, []), at)
            folding.take(row)
    await _finish(pool, operator, folding, findings)
    key = (operator, at.generation)
    await unknown(pool, SQL["rounds_without_events"], key, "rounds has {}, which is not in the log", findings)


async def _stored(
    pool: Pool, operator: str, generation: int, names: Sequence[str]
) -> tuple[dict[str, Round], dict[str, list[Bettor]]]:
    found = await pool.fetch(rounds.SQL["load"], operator, generation, names)
    bettors: dict[str, list[Bettor]] = {}
    for record in await pool.fetch(SQL["bettors"], operator, generation, names):
        bettors.setdefault(record["round"], []).append(rounds.bettor_of(record))
    return {record["round"]: rounds.round_of(record) for record in found}, bettors


async def _finish(pool: Pool, operator: str, folding: "_Folding | None", findings: Finder) -> None:
    if folding is None:
        return
    while folding.behind:
        records = await pool.fetch(eventlog.SQL["events_of_round"], operator, folding.round, folding.position, PAGE)
        if not records:
            break
        for record in records:
            folding.take(eventlog.row_of(record))
    folding.compare(findings)


class _Folding:
    """One round on its way, and what its rows were at the positions at which they are to be compared."""

    def __init__(self, round_id: str, stored: Round | None, bettors: Sequence[Bettor], at: Checkpoint) -> None:
        self.round = round_id
        self.position = 0
        self._book = Book()
        self._at = at
        self._found: dict[str, Round | Bettor] = {each.player: each for each in bettors}
        if stored is not None:
            self._found[""] = stored
        self._until = max((each.last for each in self._found.values()), default=0)
        self._then: dict[str, Round | Bettor] = {}
        """Rows of the fold as they were at the position that the found row names. The round's own is under ''."""
        self._due: dict[str, int] = {}
        """The last position, up to the checkpoint, that each row must have taken in."""

    @property
    def behind(self) -> bool:
        return self.position < self._until

    @property
    def staked(self) -> Amount:
        folded = self._book.rounds.get(self.round)
        return folded.staked if folded else 0

    def take(self, row: EventRow) -> None:
        changed = self._book.take(row)
        self.position = row.position
        now: dict[str, Round | Bettor | None] = {"": self._book.rounds.get(self.round)}
        now |= {player: self._book.bettors.get((self.round, player)) for player in changed}
        for name, folded in now.items():
            if folded is None or folded.last != row.position:
                continue
            found = self._found.get(name)
            if found is not None and found.last == row.position:
                self._then[name] = folded
            if row.position <= self._at.position:
                self._due[name] = row.position

    def compare(self, findings: Any) -> None:
        findings.compared["rounds"] += 1
        findings.compared["bettors"] += len(self._found.keys() - {""})
        for name in sorted(self._found.keys() | self._due.keys()):
            what = f"bettor {name} of round {self.round}" if name else f"round {self.round}"
            found, due = self._found.get(name), self._due.get(name, 0)
            if found is None:
                findings.differs(f"{what} is missing")
            elif found.last < due:
                findings.differs(f"{what} stands at {found.last}, not yet at the event at {due}")
            elif name not in self._then:
                findings.differs(f"{what} stands at {found.last}, which changed nothing of it")
            else:
                findings.same(what, self._then[name], found)

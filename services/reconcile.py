"""Reconcile: folds the log again and compares it with everything that was made from it; says each thing that differs.

Live traffic goes on meanwhile: every row is compared at the version or position it names itself, and a projection at
its own checkpoint. Memory is bounded by a page, by the tables, and by the bettors of one round.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from domain.game import Brought
from domain.games import GAMES
from domain.names import TABLE, WALLET
from domain.wallet.views import Account, postings
from infra import eventlog
from infra.eventlog import EventRow, LogTorn, Tip
from infra.postgres import Pool
from infra.sql import queries
from services import checkpoints, reconcile_rounds, reconcile_streams
from services.checkpoints import Checkpoint
from services.projections import PROJECTIONS, audit, resettled, statement

SQL = queries("reconcile")
_KEPT_WITH = {"resettled": "rounds"}
"""Rows that are kept under another projection's checkpoint."""


class Reconciled(Struct, frozen=True):
    """What was compared, by kind, and how many things differ."""

    operator: str
    position: int
    differences: int
    compared: dict[str, int]
    seconds: float


class Findings:
    """Says each difference as it is found, and counts what was compared."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.differences = 0
        self.compared = Counter[str]()

    def differs(self, what: str) -> None:
        self.differences += 1
        self._say(what)

    def same(self, what: str, expected: object, found: object) -> None:
        if expected != found:
            self.differs(f"{what}: the log says {expected}, found {found}")


async def reconcile(pool: Pool, operator: str, say: Callable[[str], None]) -> Reconciled:
    """Compare one operator's log with all that is folded from it. `say` hears each difference as one line."""
    begun = time.monotonic()
    findings = Findings(say)
    tip = await eventlog.tip(pool, operator)
    if tip is None:
        findings.differs(f"there is no log of {operator}")
        return Reconciled(operator, 0, findings.differences, {}, 0)
    at = {each.name: await checkpoints.live(pool, operator, each.name) for each in PROJECTIONS}
    for name, checkpoint in at.items():
        if checkpoint.problem:
            findings.differs(f"projection {name} stands still at {checkpoint.position}: {checkpoint.problem}")
        if checkpoint.position > tip.position:
            findings.differs(f"projection {name} is at {checkpoint.position}, the log ends at {tip.position}")
    await _LogPass(pool, operator, tip, at, findings).walk()
    await reconcile_streams.compare(pool, operator, at["balances"], findings)
    await reconcile_rounds.compare(pool, operator, at["rounds"], findings)
    for name in ("statement", "audit", "resettled"):
        beyond = await pool.fetchrow(SQL["beyond"], operator, _KEPT_WITH.get(name, name))
        if beyond is not None and beyond[name]:
            findings.differs(f"{name} holds rows beyond its checkpoint")
    for name, checkpoint in at.items():
        if (await checkpoints.live(pool, operator, name)).generation != checkpoint.generation:
            findings.differs(f"{name} was rebuilt meanwhile, so it was not compared: reconcile once more")
    seconds = time.monotonic() - begun
    return Reconciled(operator, tip.position, findings.differences, dict(findings.compared), seconds)


class _LogPass:
    """The log by position: the chain, the double entry, and the projections that have a row for an event."""

    def __init__(self, pool: Pool, operator: str, tip: Tip, at: dict[str, Checkpoint], findings: Findings) -> None:
        self._pool = pool
        self._operator = operator
        self._tip = tip
        self._at = at
        self._findings = findings
        self._hash = eventlog.genesis(operator, 1)
        self._tables: dict[str, tuple[str, Any]] = {}
        self._bought_in = defaultdict[str, int](int)
        self._raked = defaultdict[str, int](int)
        self._matches = reconcile_rounds.Matches(pool, operator, at["rounds"], findings)
        self._on_the_way: dict[tuple[str, str], int] = {}
        """What each player's wallet gave to a table and the table has not told of yet."""

    async def walk(self) -> None:
        position = 0
        self._checkpoints(position, self._hash)
        while position < self._tip.position:
            try:
                page = min(eventlog.PAGE, self._tip.position - position)
                rows = await eventlog.after(self._pool, self._operator, position, page)
            except LogTorn as torn:
                self._findings.differs(str(torn))
                return
            if not rows:
                self._findings.differs(f"the head says {self._tip.position}, the events end at {position}")
                return
            for row in rows:
                self._event(row)
            await self._rows("statement", rows, statement.SQL["between"], _movements)
            await self._rows("audit", rows, audit.SQL["between"], _entries)
            await self._rows("resettled", rows, resettled.SQL["between"], _resettled, _resettled_row)
            await self._matches.take(rows)
            position = rows[-1].position
        self._findings.same("hash at the log's head", self._hash.hex(), self._tip.hash.hex())
        self._holdings()
        await self._matches.finish()

    def _event(self, row: EventRow) -> None:
        if eventlog.link(self._hash, row) != row.hash:
            self._findings.differs(f"event {row.position} does not fit the chain")
        self._hash = row.hash
        self._checkpoints(row.position, row.hash)
        self._findings.compared["events"] += 1
        if row.type.startswith("wallet."):
            entries = postings(row.event)
            self._findings.same(f"sum of the postings of event {row.position}", 0, sum(gain for _, gain in entries))
            for account, gain in entries:
                if account is Account.TABLES:
                    self._bought_in[TABLE + row.event.table] += gain
                    self._carried(row.stream.removeprefix(WALLET), TABLE + row.event.table, gain)
        elif row.stream.startswith(TABLE):
            self._table(row)

    def _checkpoints(self, position: int, hash_: bytes) -> None:
        for name, checkpoint in self._at.items():
            if checkpoint.position == position:
                self._findings.compared["checkpoints"] += 1
                self._findings.same(f"hash at the checkpoint of {name}", hash_.hex(), checkpoint.hash.hex())

    def _table(self, row: EventRow) -> None:
        name, state = self._tables.get(row.stream) or (row.type.partition(".")[0], None)
        game = GAMES[name]
        before = game.initial if state is None else state
        after = game.evolve(before, row.event)
        self._tables[row.stream] = (name, after)
        expected = game.holdings(before) - game.rake(row.event)
        for each in game.chips(row.event):
            if isinstance(each, Brought):
                expected += each.amount
                self._carried(each.player, row.stream, -each.amount)
        self._raked[row.stream] += game.rake(row.event)
        self._findings.same(f"money held at {row.stream} after event {row.position}", expected, game.holdings(after))

    def _carried(self, player: str, stream: str, amount: int) -> None:
        """A wallet and a table tell of the same buy-in in one command, so little is ever on the way."""
        if left := self._on_the_way.pop((player, stream), 0) + amount:
            self._on_the_way[player, stream] = left

    def _holdings(self) -> None:
        """What players brought to a table is there, or went back, or is the house's."""
        for stream, (name, state) in self._tables.items():
            expected = self._bought_in[stream] - self._raked[stream]
            self._findings.same(f"money held at {stream}", expected, GAMES[name].holdings(state))
        for (player, stream), amount in self._on_the_way.items():
            self._findings.differs(f"{player}'s wallet and {stream} differ by {amount} in what was brought there")

    async def _rows(
        self,
        name: str,
        rows: Sequence[EventRow],
        query: str,
        made: Callable[[Sequence[EventRow]], Iterable[Any]],
        read: Callable[[Any], tuple[Any, ...]] = tuple,
    ) -> None:
        """The rows that a projection keyed by position has for these events, as far as it has come."""
        at = self._at[_KEPT_WITH.get(name, name)]
        first, last = rows[0].position - 1, min(rows[-1].position, at.position)
        if last <= first:
            return
        expected = {each[0]: each for each in made([row for row in rows if row.position <= last])}
        records = await self._pool.fetch(query, self._operator, at.generation, first, last)
        found = {record[0]: read(record) for record in records}
        self._findings.compared[name] += len(expected)
        if found == expected:
            return
        for position in sorted(expected.keys() | found.keys()):
            self._findings.same(f"{name} at {position}", expected.get(position), found.get(position))


def _movements(rows: Sequence[EventRow]) -> Iterable[tuple[Any, ...]]:
    return (_columns(each) for each in statement.movements(rows))


def _entries(rows: Sequence[EventRow]) -> Iterable[tuple[Any, ...]]:
    return (_columns(audit.entry(row)) for row in rows)


def _resettled(rows: Sequence[EventRow]) -> Iterable[tuple[Any, ...]]:
    return (_columns(each) for each in resettled.of_rows(rows))


def _resettled_row(record: Any) -> tuple[Any, ...]:
    return _columns(resettled.row_of(record))


def _columns(row: Struct) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in row.__struct_fields__)

"""Reconcile, stream by stream: what the executor keeps of each stream, and what is projected of each wallet."""

from collections.abc import Sequence
from typing import Any, Protocol

from domain.money import Amount
from domain.names import WALLET
from domain.streams import KINDS
from domain.wallet.state import Wallet
from domain.wallet.views import Account, postings
from infra import codec, eventlog
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.sql import queries
from services.checkpoints import Checkpoint
from services.projections.balances import Balance

SQL = queries("reconcile")
PAGE = eventlog.PAGE


class Finder(Protocol):
    compared: Any

    def differs(self, what: str) -> None: ...
    def same(self, what: str, expected: object, found: object) -> None: ...


async def compare(pool: Pool, operator: str, balances: Checkpoint, findings: Finder) -> None:
    """Fold every stream, and compare at the version or position that each stored row names."""
    stored: dict[str, Any] = {}
    projected: dict[str, Balance] = {}
    folding: _Folding | None = None
    at: tuple[str, int] = ("", 0)
    while records := await pool.fetch(SQL["events_by_stream"], operator, *at, PAGE):
        rows = [eventlog.row_of(record) for record in records]
        at = (rows[-1].stream, rows[-1].version)
        names = list({row.stream for row in rows} - stored.keys())
        stored.update({row["stream"]: row for row in await pool.fetch(SQL["streams"], operator, names)})
        projected |= await _projected(pool, operator, balances.generation, names)
        for row in rows:
            if folding is None or folding.stream != row.stream:
                await _finish(pool, operator, folding, findings)
                folding = _Folding(row, stored.get(row.stream), projected.get(row.stream), balances)
            folding.take(row, findings)
        stored = {name: row for name, row in stored.items() if name == at[0]}
        projected = {name: row for name, row in projected.items() if name == at[0]}
    await _finish(pool, operator, folding, findings)
    await unknown(pool, SQL["streams_without_events"], (operator,), "stream {} has a state and no events", findings)
    key = (operator, balances.generation)
    await unknown(pool, SQL["balances_without_wallet"], key, "balances has {}, who has no wallet", findings)


async def _projected(pool: Pool, operator: str, generation: int, names: Sequence[str]) -> dict[str, Balance]:
    players = [name.removeprefix(WALLET) for name in names if name.startswith(WALLET)]
    found = await pool.fetch(SQL["balances"], operator, generation, players) if players else []
    return {WALLET + record["player"]: Balance(*record) for record in found}


async def _finish(pool: Pool, operator: str, folding: "_Folding | None", findings: Finder) -> None:
    """Fold on to where the stored rows are, for they were read after the events; then compare."""
    if folding is None:
        return
    if folding.behind:
        async for row in eventlog.of_stream(pool, operator, folding.stream, folding.version):
            folding.take(row, findings)
            if not folding.behind:
                break
    folding.compare(findings)


class _Folding:
    """One stream on its way, and what it was at the version and the position at which it is to be compared."""

    def __init__(self, first: EventRow, stored: Any, projected: Balance | None, checkpoint: Checkpoint) -> None:
        self.stream = first.stream
        self.version = 0
        self._decider = stored["decider"] if stored else first.type.partition(".")[0]
        self._evolve = codec.evolve(self._decider)
        self._state = codec.initial(self._decider)
        self._stored = stored
        self._projected = projected
        self._checkpoint = checkpoint
        self._position = 0
        self._due_position = 0
        self._held: dict[Account, Amount] = dict.fromkeys((Account.CASH, Account.OPEN_STAKES, Account.OWED), 0)
        self._at_stored: tuple[int, int, Any] | None = None
        self._at_projected: Any = None

    @property
    def behind(self) -> bool:
        stored = self._stored is not None and self.version < self._stored["version"]
        return stored or (self._projected is not None and self._position < self._projected.position)

    def take(self, row: EventRow, findings: Finder) -> None:
        self.version += 1
        if row.version != self.version:
            findings.differs(f"{self.stream} has version {row.version} after {self.version - 1}")
            self.version = row.version
        event = row.event
        self._state = self._evolve(self._state, event)
        self._position = row.position
        if row.type.startswith("wallet."):
            self._post(row, event, findings)
        if self._stored is not None and row.version == self._stored["version"]:
            self._at_stored = (row.version, row.position, self._state)
        if self._projected is not None and row.position == self._projected.position:
            self._at_projected = self._state
        if row.position <= self._checkpoint.position:
            self._due_position = row.position

    def _post(self, row: EventRow, event: Any, findings: Finder) -> None:
        """The double entry gives the same balance, open stakes and debt as the wallet's own fold."""
        for account, gain in postings(event):
            if account in self._held:
                self._held[account] += gain
        wallet = self._state
        found = {Account.CASH: wallet.cash, Account.OPEN_STAKES: wallet.open_stakes, Account.OWED: -wallet.owed}
        if found != self._held:
            what = f"cash, open stakes and debt of {self.stream} at {row.position}, by double entry"
            findings.same(what, _told(self._held), _told(found))
            self._held = found

    def compare(self, findings: Finder) -> None:
        findings.compared["streams"] += 1
        if self._stored is None:
            findings.differs(f"{self.stream} has {self.version} events and no state")
        elif self._at_stored is None:
            findings.differs(f"{self.stream} is stored at version {self._stored['version']}, its events end before")
        else:
            self._compare_stored(self._stored, *self._at_stored, findings)
        if self.stream.startswith(WALLET):
            self._compare_projected(findings)

    def _compare_stored(self, stored: Any, version: int, position: int, state: Any, findings: Finder) -> None:
        where = f"of {self.stream} at version {version}"
        findings.same(f"position {where}", position, stored["position"])
        findings.same(f"balance {where}", state.cash if isinstance(state, Wallet) else 0, stored["balance"])
        findings.same(f"due time {where}", KINDS[self._decider].deadline(state), stored["due"])
        if stored["state_schema"] == codec.STATE_SCHEMA:  # an older shape is folded anew when it is next needed
            findings.same(f"state {where}", codec.encode(state), stored["state"])

    def _compare_projected(self, findings: Finder) -> None:
        found, player = self._projected, self.stream.removeprefix(WALLET)
        if found is None:
            if self._due_position:
                findings.differs(f"balances lacks {player}")
            return
        findings.compared["balances"] += 1
        if found.position < self._due_position:
            findings.differs(f"balances has {player} at {found.position}, not yet the event at {self._due_position}")
        wallet = self._at_projected
        if not isinstance(wallet, Wallet):
            findings.differs(f"balances has {player} at {found.position}, which is no event of theirs")
            return
        money = (wallet.cash, wallet.open_stakes, wallet.blocked, wallet.owed)
        expected = Balance(player, wallet.currency, *money, found.position)
        findings.same(f"balances of {player}", expected, found)


def _told(held: dict[Account, Amount]) -> str:
    return ", ".join(f"{account} {amount}" for account, amount in held.items())


async def unknown(pool: Pool, query: str, key: tuple[Any, ...], what: str, findings: Finder) -> None:
    """Rows that nothing in the log accounts for, paged by name."""
    name = ""
    while records := await pool.fetch(query, *key, name, PAGE):
        for record in records:
            if not record[1]:
                findings.differs(what.format(record[0]))
        name = records[-1][0]

"""What each player has now: balance, open stakes, what is owed, and whether new stakes are refused."""

from collections.abc import Sequence

from msgspec import Struct

from domain.money import Amount
from domain.names import WALLET
from domain.wallet import events
from infra import columns
from infra.eventlog import EventRow
from infra.postgres import Connection, Pool
from infra.sql import queries
from services.projections.projection import Place, Projection

SQL = queries("balances")


class Balance(Struct, frozen=True):
    player: str
    currency: str
    balance: Amount
    open_stakes: Amount
    blocked: bool
    owed: Amount
    """What the player owes the house."""
    position: int
    """Of the last event that changed it."""


class _Change:
    """What a batch does to one wallet; None where it changes nothing."""

    __slots__ = ("balance", "blocked", "currency", "owed", "position", "staked")

    def __init__(self) -> None:
        self.currency: str | None = None
        self.balance: Amount | None = None
        self.staked: Amount = 0
        self.blocked: str | None = None
        self.owed: Amount | None = None
        self.position = 0

    def take(self, event: events.Event) -> None:
        match event:
            case events.BetStaked(amount=amount):
                self.staked += amount
            case events.BetCancelled(amount=amount) | events.Refunded(amount=amount):
                self.staked -= amount
            case events.BetsSettled(staked=staked):
                self.staked -= staked
            case events.Opened(currency=currency):
                self.currency, self.balance = currency, 0
                return
            case events.Blocked() | events.Unblocked():
                self.blocked = "true" if isinstance(event, events.Blocked) else "false"
                return
            case events.WrittenOff(owed=owed):
                self.owed = owed
                return
            case events.Resettled(owed=owed) | events.OwedTaken(owed=owed):
                self.owed = owed
            case _:
                pass
        self.balance = event.after


async def apply(connection: Connection, place: Place, rows: Sequence[EventRow]) -> None:
    changes: dict[str, _Change] = {}
    for row in rows:
        if row.type.startswith("wallet."):
            change = changes.setdefault(row.stream, _Change())
            change.take(row.event)
            change.position = row.position
    if changes:
        each = list(changes.values())
        await connection.execute(
            SQL["apply"],
            place.operator,
            place.generation,
            columns.texts([stream.removeprefix(WALLET) for stream in changes]),
            columns.nullable([change.currency for change in each]),
            columns.numbers([change.balance for change in each]),
            columns.numbers([change.staked for change in each]),
            columns.nullable([change.blocked for change in each]),
            columns.numbers([change.owed for change in each]),
            columns.numbers([change.position for change in each]),
        )


async def one(pool: Pool, operator: str, player: str) -> Balance | None:
    record = await pool.fetchrow(SQL["one"], operator, player)
    return Balance(*record) if record else None


async def page(pool: Pool, operator: str, *, after: str = "", limit: int = 100) -> list[Balance]:
    """Players by name, after one."""
    return [Balance(*record) for record in await pool.fetch(SQL["page"], operator, after, limit)]


BALANCES = Projection("balances", apply, (SQL["clear"],))

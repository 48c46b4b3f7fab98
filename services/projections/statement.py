"""Every movement of every player's money, with the balance before and after it."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from domain.game import Micros
from domain.money import Amount
from domain.names import WALLET
from domain.wallet import events
from infra import columns
from infra.eventlog import EventRow
from infra.postgres import Connection, Pool
from infra.sql import queries
from services.projections.projection import Place, Projection

SQL = queries("statement")
LAST = 2**63 - 1


class Kind(StrEnum):
    DEPOSIT = "deposit"
    WITHDRAWAL = "withdrawal"
    ADJUSTMENT = "adjustment"
    BET = "bet"
    BET_CANCELLED = "bet_cancelled"
    SETTLEMENT = "settlement"
    REFUND = "refund"
    BUY_IN = "buy_in"
    CASH_OUT = "cash_out"
    RESETTLEMENT = "resettlement"
    OWED_TAKEN = "owed_taken"


class Movement(Struct, frozen=True):
    """`amount` is what the balance gained, so `before + amount == after`. A lost round shows as a settlement of 0.

    `reference` is the operator's own for deposits and withdrawals, the reason of an adjustment or refund, the id of a
    bet, the table of a buy-in or cash-out, the number of a resettlement.
    """

    position: int
    player: str
    kind: Kind
    round: str | None
    amount: Amount
    before: Amount
    after: Amount
    reference: str
    at: Micros


def movement(row: EventRow) -> Movement | None:
    """The movement that an event of a wallet is; None if no money moved."""
    told = _told(row.event)
    if told is None:
        return None
    kind, reference = told
    event = row.event
    player = row.stream.removeprefix(WALLET)
    gained = event.after - event.before
    return Movement(row.position, player, kind, row.round, gained, event.before, event.after, reference, row.at)


def _told(event: events.Event) -> tuple[Kind, str] | None:
    match event:
        case events.BetStaked(bet=bet):
            return Kind.BET, bet.id
        case events.BetsSettled():
            return Kind.SETTLEMENT, ""
        case events.BetCancelled(bet=bet):
            return Kind.BET_CANCELLED, bet
        case events.Refunded(reason=reason):
            return Kind.REFUND, reason
        case events.Deposited(reference=reference):
            return Kind.DEPOSIT, reference
        case events.Withdrawn(reference=reference):
            return Kind.WITHDRAWAL, reference
        case events.Adjusted(reason=reason):
            return Kind.ADJUSTMENT, reason
        case events.BoughtIn(table=table) | events.CashedOut(table=table):
            return (Kind.BUY_IN if isinstance(event, events.BoughtIn) else Kind.CASH_OUT), table
        case events.Resettled(number=number):
            return Kind.RESETTLEMENT, str(number)
        case events.OwedTaken():
            return Kind.OWED_TAKEN, ""
        case events.Opened() | events.Blocked() | events.Unblocked() | events.WrittenOff():
            return None


def movements(rows: Sequence[EventRow]) -> list[Movement]:
    found = (movement(row) for row in rows if row.type.startswith("wallet."))
    return [each for each in found if each is not None]


async def apply(connection: Connection, place: Place, rows: Sequence[EventRow]) -> None:
    if moved := movements(rows):
        await connection.execute(
            SQL["apply"],
            place.operator,
            place.generation,
            columns.numbers([each.position for each in moved]),
            columns.texts([each.player for each in moved]),
            columns.texts([each.kind for each in moved]),
            columns.nullable([each.round for each in moved]),
            columns.numbers([each.amount for each in moved]),
            columns.numbers([each.before for each in moved]),
            columns.numbers([each.after for each in moved]),
            columns.texts([each.reference for each in moved]),
            columns.numbers([each.at for each in moved]),
        )


async def page(
    pool: Pool, operator: str, player: str, *, before: int | None = None, after: int | None = None, limit: int = 100
) -> list[Movement]:
    """A player's movements: the newest first, before a position; or with `after`, the oldest first from there."""
    if after is not None:
        return [_movement(*record) for record in await pool.fetch(SQL["oldest"], operator, player, after, limit)]
    records = await pool.fetch(SQL["newest"], operator, player, LAST if before is None else before, limit)
    return [_movement(*record) for record in records]


def _movement(position: int, player: str, kind: str, *rest: object) -> Movement:
    return Movement(position, player, Kind(kind), *rest)  # pyright: ignore[reportArgumentType]


STATEMENT = Projection("statement", apply, (SQL["clear"],))

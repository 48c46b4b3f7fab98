"""The wallet to its readers: the operator and player, and the books (double entry, derived)."""

from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from domain.money import Amount, Bet
from domain.wallet import events
from domain.wallet.state import Wallet


class WalletView(Struct, frozen=True):
    player: str
    currency: str
    balance: Amount
    open_stakes: Amount
    bets: tuple[Bet, ...]
    blocked: bool
    owed: Amount
    """What the player owes the house: taken from whatever comes."""


def view(player: str, wallet: Wallet) -> WalletView:
    return WalletView(
        player, wallet.currency, wallet.cash, wallet.open_stakes, wallet.bets, wallet.blocked, wallet.owed
    )


class Account(StrEnum):
    """Where money can be. Every event moves it between these, and the sum of what it moves is zero.

    `owed` is less than nothing: what players owe the house, which has it among its own as money that is still to come.
    """

    CASH = "cash"
    OPEN_STAKES = "open_stakes"
    TABLES = "tables"
    HOUSE = "house"
    RAKE = "rake"
    CLEARING = "clearing"
    OWED = "owed"


Posting = tuple[Account, Amount]


def postings(event: events.Event) -> tuple[Posting, ...]:
    """The double entry of an event: accounts and what each gains; the gains sum to zero."""
    match event:
        case events.Deposited(amount=amount):
            return (Account.CASH, amount), (Account.CLEARING, -amount)
        case events.Withdrawn(amount=amount):
            return (Account.CASH, -amount), (Account.CLEARING, amount)
        case events.Adjusted(amount=amount):
            return (Account.CASH, amount), (Account.HOUSE, -amount)
        case events.BetStaked(amount=amount):
            return (Account.CASH, -amount), (Account.OPEN_STAKES, amount)
        case events.BetCancelled(amount=amount) | events.Refunded(amount=amount):
            return (Account.CASH, amount), (Account.OPEN_STAKES, -amount)
        case events.BetsSettled(staked=staked, returned=returned):
            return (Account.OPEN_STAKES, -staked), (Account.CASH, returned), (Account.HOUSE, staked - returned)
        case events.BoughtIn(amount=amount):
            return (Account.CASH, -amount), (Account.TABLES, amount)
        case events.CashedOut(amount=amount):
            return (Account.CASH, amount), (Account.TABLES, -amount)
        case events.Resettled() | events.OwedTaken() | events.WrittenOff():
            return _of_debt(event)
        case events.Opened() | events.Blocked() | events.Unblocked():
            return ()
        case never:
            assert_never(never)


def _of_debt(event: events.Resettled | events.OwedTaken | events.WrittenOff) -> tuple[Posting, ...]:
    match event:
        case events.Resettled(gain=gain, before=before, after=after):
            moved = after - before
            return (Account.CASH, moved), (Account.OWED, gain - moved), (Account.HOUSE, -gain)
        case events.OwedTaken(amount=amount):
            return (Account.CASH, -amount), (Account.OWED, amount)
        case events.WrittenOff(amount=amount):
            return (Account.OWED, amount), (Account.HOUSE, -amount)
        case never:
            assert_never(never)


def round_of(event: events.Event) -> str | None:
    """The round whose money it is, if it is a round's."""
    bet = getattr(event, "bet", None)
    return getattr(event, "round", None) or getattr(bet, "round", None)

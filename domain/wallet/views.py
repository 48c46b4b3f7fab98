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


def view(player: str, wallet: Wallet) -> WalletView:
    return WalletView(player, wallet.currency, wallet.cash, wallet.open_stakes, wallet.bets, wallet.blocked)


class Account(StrEnum):
    """Where money can be. Every event moves it between these, and the sum of what it moves is zero."""

    CASH = "cash"
    OPEN_STAKES = "open_stakes"
    TABLES = "tables"
    HOUSE = "house"
    RAKE = "rake"
    CLEARING = "clearing"


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
        case events.Opened() | events.Blocked() | events.Unblocked():
            return ()
        case never:
            assert_never(never)


def round_of(event: events.Event) -> str | None:
    """The round whose money it is, if it is a round's."""
    bet = getattr(event, "bet", None)
    return getattr(event, "round", None) or getattr(bet, "round", None)

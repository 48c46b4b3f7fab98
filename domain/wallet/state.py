"""What a wallet is now."""

from msgspec import Struct

from domain.money import Amount, Bet


class Absent(Struct, frozen=True, tag="Absent"):
    """Not opened yet."""


class Wallet(Struct, frozen=True, tag="Wallet"):
    currency: str
    cash: Amount = 0
    bets: tuple[Bet, ...] = ()
    """Open bets, oldest first; a bet leaves when it is settled, refunded or cancelled."""
    open_stakes: Amount = 0
    """The sum of the open bets, kept so that the books can be checked at every command."""
    blocked: bool = False
    owed: Amount = 0
    """What the player owes the house, because a resettled round took more than the cash: taken from whatever comes, so
    that there is no cash while anything is owed."""

    def open_in(self, round_id: str) -> tuple[Bet, ...]:
        return tuple(bet for bet in self.bets if bet.round == round_id)


State = Absent | Wallet

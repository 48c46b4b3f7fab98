"""Money: whole minor units, exact odds, and the transfers by which a game asks for a wallet to change.

No float comes near money, and nothing is ever rounded: a stake that an odds would pay with a fraction is refused.
"""

from collections.abc import Iterable
from math import lcm

from msgspec import Struct

Amount = int
"""Minor units of the wallet's currency (cents of EUR, paise of INR, whole dong of VND)."""

AMOUNT_MAX = 2**53 - 1
"""The largest amount any message may carry: the largest whole number every JSON reader keeps exact."""

EXPONENTS = {
    "AED": 2, "ARS": 2, "AUD": 2, "BDT": 2, "BHD": 3, "BRL": 2, "CAD": 2, "CHF": 2, "CLP": 0, "CNY": 2, "COP": 2,
    "CZK": 2, "DKK": 2, "EGP": 2, "EUR": 2, "GBP": 2, "HKD": 2, "HUF": 2, "IDR": 2, "ILS": 2, "INR": 2, "ISK": 0,
    "JOD": 3, "JPY": 0, "KRW": 0, "KWD": 3, "LKR": 2, "MAD": 2, "MXN": 2, "MYR": 2, "NGN": 2, "NOK": 2, "NPR": 2,
    "NZD": 2, "OMR": 3, "PEN": 2, "PHP": 2, "PKR": 2, "PLN": 2, "RON": 2, "RSD": 2, "SAR": 2, "SEK": 2, "SGD": 2,
    "THB": 2, "TND": 3, "TRY": 2, "TWD": 2, "UAH": 2, "USD": 2, "UYU": 2, "VND": 0, "ZAR": 2,
}  # fmt: skip
"""ISO 4217: how many digits of a currency stand behind the point."""


class Odds(Struct, frozen=True, forbid_unknown_fields=True):
    """What a winning stake earns: `numerator` for every `denominator` staked, as in 19:20 (written 0.95:1)."""

    numerator: int
    denominator: int = 1

    def winnings(self, stake: Amount) -> Amount:
        """What `stake` wins; exact, since a table cannot be opened with a step that would leave a fraction (D4)."""
        won, fraction = divmod(stake * self.numerator, self.denominator)
        if fraction:
            raise ValueError(f"{stake} at {self} is not a whole number")
        return won

    def __str__(self) -> str:
        if self.denominator == 1:
            return f"{self.numerator}:1"
        hundredths, fraction = divmod(self.numerator * 100, self.denominator)
        if fraction:
            return f"{self.numerator}:{self.denominator}"
        return f"{hundredths // 100}.{hundredths % 100:02}:1"


def whole_step(odds: Iterable[Odds]) -> Amount:
    """The least stake step at which every one of `odds` pays a whole number (20 for 0.95:1)."""
    return lcm(*(o.denominator for o in odds))


class Wager(Struct, frozen=True):
    """One stake on one spot of a game."""

    spot: str
    amount: Amount


class Bet(Struct, frozen=True):
    """Wagers placed by one command, open until the round is settled, refunded or the bet cancelled.

    `id` is the idempotency key of the command that placed it: the name by which `CancelBet` knows it.
    """

    id: str
    round: str
    wagers: tuple[Wager, ...]

    @property
    def amount(self) -> Amount:
        return sum(wager.amount for wager in self.wagers)


class Payout(Struct, frozen=True):
    """How one wager ended. `odds` is "0.95:1", "push" (stake returned) or "lost"; `returned` includes the stake.

    Where players hold chips at the table, a round is one wager a player, and `odds` is "won", "lost" or "refunded".
    """

    bet: str
    spot: str
    staked: Amount
    odds: str
    returned: Amount


class Stake(Struct, frozen=True, tag=True):
    """Cash becomes an open bet."""

    player: str
    currency: str
    bet: Bet


class Unstake(Struct, frozen=True, tag=True):
    """An open bet becomes cash again, because its player cancelled it."""

    player: str
    round: str
    bet: str


class Settle(Struct, frozen=True, tag=True):
    """All open bets of one player in a round end, each wager with its payout."""

    player: str
    round: str
    payouts: tuple[Payout, ...]


class Refund(Struct, frozen=True, tag=True):
    """All open bets of one player in a round become cash again, because the round was cancelled (T28)."""

    player: str
    round: str
    reason: str


class BuyIn(Struct, frozen=True, tag=True):
    """Cash goes to the table, where the game's state holds it."""

    player: str
    currency: str
    table: str
    amount: Amount


class CashOut(Struct, frozen=True, tag=True):
    """What the table's state held for a player becomes cash."""

    player: str
    table: str
    amount: Amount


Transfer = Stake | Unstake | Settle | Refund | BuyIn | CashOut
"""What a game may ask of a wallet. The executor turns each into a wallet event, or refuses the whole command."""

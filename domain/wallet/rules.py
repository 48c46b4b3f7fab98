"""Names and bounds of the wallet's rules; each is told in rules.md."""

from enum import StrEnum

OPEN_WAGERS_MAX = 256


class Rule(StrEnum):
    UnknownPlayer = "UnknownPlayer"
    PlayerExists = "PlayerExists"
    WrongCurrency = "WrongCurrency"
    InsufficientFunds = "InsufficientFunds"
    PlayerBlocked = "PlayerBlocked"
    BalanceTooLarge = "BalanceTooLarge"
    TooManyOpenBets = "TooManyOpenBets"
    MoreThanOwed = "MoreThanOwed"

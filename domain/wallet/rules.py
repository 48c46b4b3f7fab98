"""Names and bounds of the wallet's rules, each told in rules.md, and the reasons for which a balance is corrected."""

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


class AdjustmentCode(StrEnum):
    """Why a balance is corrected, for reports; the words beside it say more."""

    SETTLEMENT_ERROR = "settlement_error"
    """A round or bet was settled wrongly."""
    PAYMENT_ERROR = "payment_error"
    """A deposit or withdrawal was keyed in wrongly, or twice."""
    SYSTEM_FAULT = "system_fault"
    """The platform, a studio or the network failed."""
    DISPUTE_UPHELD = "dispute_upheld"
    """A player's dispute was decided for the player."""
    GOODWILL = "goodwill"
    """Given without any claim to it."""
    FRAUD = "fraud"
    """Won or obtained by deceit: collusion, stolen means of payment, a manipulated game."""
    REGULATOR = "regulator"
    """Ordered by a court or an authority."""
    OTHER = "other"

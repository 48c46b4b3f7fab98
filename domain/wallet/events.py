"""What happened to a player's money. These are storage formats: they must decode for ever (tests/golden)."""

from msgspec import Struct

from domain.money import Amount, Bet, Payout
from domain.wallet.rules import AdjustmentCode


class Opened(Struct, frozen=True, tag="wallet.Opened"):
    currency: str


class Deposited(Struct, frozen=True, tag="wallet.Deposited"):
    amount: Amount
    reference: str
    before: Amount
    after: Amount


class Withdrawn(Struct, frozen=True, tag="wallet.Withdrawn"):
    amount: Amount
    reference: str
    before: Amount
    after: Amount


class Adjusted(Struct, frozen=True, omit_defaults=True, tag="wallet.Adjusted"):
    """`proposed_by` wanted it by that proposal, and whoever approved it is the event's actor. One person could, before
    it took two: then there is no proposal, nor a code."""

    amount: Amount
    reason: str
    before: Amount
    after: Amount
    code: AdjustmentCode | None = None
    proposed_by: str = ""
    proposal: str = ""


class BetStaked(Struct, frozen=True, tag="wallet.BetStaked"):
    bet: Bet
    amount: Amount
    before: Amount
    after: Amount


class BetCancelled(Struct, frozen=True, tag="wallet.BetCancelled"):
    bet: str
    round: str
    amount: Amount
    before: Amount
    after: Amount


class BetsSettled(Struct, frozen=True, tag="wallet.BetsSettled"):
    """All of the player's open bets of a round, each wager with its odds and what it returned."""

    round: str
    staked: Amount
    returned: Amount
    payouts: tuple[Payout, ...]
    before: Amount
    after: Amount


class Refunded(Struct, frozen=True, tag="wallet.Refunded"):
    round: str
    amount: Amount
    reason: str
    before: Amount
    after: Amount


class BoughtIn(Struct, frozen=True, tag="wallet.BoughtIn"):
    table: str
    amount: Amount
    before: Amount
    after: Amount


class CashedOut(Struct, frozen=True, tag="wallet.CashedOut"):
    table: str
    amount: Amount
    before: Amount
    after: Amount


class Blocked(Struct, frozen=True, tag="wallet.Blocked"):
    reason: str


class Unblocked(Struct, frozen=True, tag="wallet.Unblocked"):
    reason: str


class Resettled(Struct, frozen=True, tag="wallet.Resettled"):
    """A settled round was settled otherwise, for the `number`th time: what each wager had returned and what it returns
    now, and the `gain` (less than nothing for a loss). What of a loss the cash did not cover is owed; `owed` is all
    that the player owes after it."""

    round: str
    number: int
    was: tuple[Payout, ...]
    payouts: tuple[Payout, ...]
    gain: Amount
    owed: Amount
    before: Amount
    after: Amount


class OwedTaken(Struct, frozen=True, tag="wallet.OwedTaken"):
    """Of cash that just came, the house took what it was owed. `owed` is what is left of that."""

    amount: Amount
    owed: Amount
    before: Amount
    after: Amount


class WrittenOff(Struct, frozen=True, tag="wallet.WrittenOff"):
    """The house gave up what it was owed: `proposed_by` wanted it by that proposal, the event's actor approved it."""

    amount: Amount
    owed: Amount
    reason: str
    proposed_by: str
    proposal: str


Event = (
    Opened
    | Deposited
    | Withdrawn
    | Adjusted
    | BetStaked
    | BetCancelled
    | BetsSettled
    | Refunded
    | BoughtIn
    | CashedOut
    | Blocked
    | Unblocked
    | Resettled
    | OwedTaken
    | WrittenOff
)

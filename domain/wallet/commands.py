"""What an operator may ask of a wallet. What games ask of it are the transfers of `domain.money`."""

from typing import Annotated

from msgspec import Meta, Struct

from domain.money import AMOUNT_MAX, Amount, Payout, Transfer
from domain.texts import Text, Words
from domain.wallet.rules import AdjustmentCode

Money = Annotated[int, Meta(ge=1, le=AMOUNT_MAX, description="Whole minor units, at least 1.")]
Signed = Annotated[int, Meta(ge=-AMOUNT_MAX, le=AMOUNT_MAX, description="Whole minor units, up or down.")]
Code = Annotated[str, Meta(pattern=r"^[A-Z]{3}(?![\s\S])", description="ISO 4217 code of the currency.")]


class OpenWallet(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    currency: Code


class Deposit(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The operator moves cash of the player into Croupier."""

    amount: Money
    currency: Code
    reference: Text = ""


class Withdraw(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The operator takes cash of the player out of Croupier."""

    amount: Money
    currency: Code
    reference: Text = ""


class Adjust(Struct, frozen=True, tag=True):
    """A correction with a reason, against the house; never an edit of what was. Two persons want it: it comes from a
    proposal that a second one approved (see `domain.proposals`)."""

    amount: Amount
    currency: str
    code: AdjustmentCode
    reason: str
    proposed_by: str
    proposal: str


class Block(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """No new stakes; money that is the player's still flows."""

    reason: Words = ""


class Unblock(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    reason: Words = ""


class Compensate(Struct, frozen=True, tag=True):
    """A settled round is settled otherwise: every wager of this player in it, as it was paid (`was`) and as it is to be
    paid (`payouts`). Total like a settlement: what the player loses by it and the cash does not cover is owed."""

    round: str
    number: int
    was: tuple[Payout, ...]
    payouts: tuple[Payout, ...]


class WriteOff(Struct, frozen=True, tag=True):
    """The house gives up what the player owes it, or a part of it. Two persons want it: see `domain.proposals`."""

    amount: Amount
    currency: str
    reason: str
    proposed_by: str
    proposal: str


Command = OpenWallet | Deposit | Withdraw | Block | Unblock | Adjust | Compensate | WriteOff
Asked = Command | Transfer

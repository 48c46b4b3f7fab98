"""The stream `proposal:<id>`: what takes two persons, the one who wants it and another one who approves.

Approving carries it out in the same breath, or is refused and changes nothing. What cannot be done now cannot be
proposed either. Who a person is we know by the actor that a key speaks for.
"""

from enum import StrEnum
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from domain import disputes, resettlements
from domain.errors import Rejected
from domain.game import SECOND, Ask, Context, Decision, Micros, TimeOut
from domain.incidents import Resolution, ResolveByProposal
from domain.names import DISPUTE, INCIDENT, PROPOSAL, RESETTLEMENT, WALLET
from domain.resettlements import Basis, Corrected
from domain.texts import Words
from domain.wallet import commands as wallet
from domain.wallet.commands import Adjust, Code, Money, Signed
from domain.wallet.rules import AdjustmentCode

OPEN_FOR: Micros = 7 * 24 * 3_600 * SECOND
"""Then a proposal expires: what was right to do a week ago may be wrong now."""


class Rule(StrEnum):
    UnknownProposal = "UnknownProposal"
    ProposalClosed = "ProposalClosed"
    SecondPersonNeeded = "SecondPersonNeeded"
    NotYourProposal = "NotYourProposal"


# --- What can be proposed -----------------------------------------------------------------------------------------
# It is stored in the event, so its words are plain: the routes see to it that they are words.


class AdjustBalance(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Correct a player's cash, up or down, against the house."""

    player: str
    amount: Signed
    currency: Code
    code: AdjustmentCode
    reason: str


class Resettle(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Settle a settled round, or match, once more. `incident` is what it is about, if that is on record."""

    round: str
    basis: Basis
    reason: str
    incident: str = ""


class WriteOff(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Give up what a player owes, or a part of it."""

    player: str
    amount: Money
    currency: Code
    reason: str


class DecideDispute(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Decide a dispute; if upheld with an amount, that is given to the player. `evidence` is how many pieces of it the
    ruling rests on: if more come before it is approved, it has to be proposed anew."""

    dispute: str
    player: str
    round: str
    ruling: disputes.Ruling
    code: disputes.RulingCode
    reason: str
    evidence: int
    amount: disputes.Award = 0
    currency: str = ""


Asked = AdjustBalance | Resettle | WriteOff | DecideDispute
"""What is asked for; each says why (`reason`), and may say in which `round`."""


def asks(proposal: str, by: str, asked: Asked) -> tuple[Ask, ...]:
    """What carrying it out asks of other streams."""
    match asked:
        case AdjustBalance():
            adjust = Adjust(asked.amount, asked.currency, asked.code, asked.reason, by, proposal)
            return (Ask(WALLET + asked.player, adjust),)
        case Resettle():
            resettle = resettlements.Resettle(asked.basis, asked.incident, asked.reason, by, proposal)
            return (Ask(RESETTLEMENT + asked.round, resettle), *_resolved(proposal, by, asked))
        case WriteOff():
            write_off = wallet.WriteOff(asked.amount, asked.currency, asked.reason, by, proposal)
            return (Ask(WALLET + asked.player, write_off),)
        case DecideDispute():
            ruled = disputes.RuleDispute(
                asked.ruling, asked.code, asked.reason, asked.amount, asked.currency, asked.evidence, by, proposal
            )
            return (Ask(DISPUTE + asked.dispute, ruled),)
        case never:
            assert_never(never)


def _resolved(proposal: str, by: str, asked: Resettle) -> tuple[Ask, ...]:
    """The incident that it is about is resolved by it."""
    if not asked.incident:
        return ()
    resolution = Resolution.CORRECT if isinstance(asked.basis, Corrected) else Resolution.VOID
    resolve = ResolveByProposal(resolution, asked.round, asked.reason, by, proposal)
    return (Ask(INCIDENT + asked.incident, resolve),)


# --- Commands -----------------------------------------------------------------------------------------------------


class Propose(Struct, frozen=True, tag=True):
    asked: Asked


class Approve(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Have it carried out, now."""


class Decline(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    reason: Words


class WithdrawProposal(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Whoever proposed it does not want it any more."""


Command = Propose | Approve | Decline | WithdrawProposal | TimeOut


# --- Events -------------------------------------------------------------------------------------------------------


class Proposed(Struct, frozen=True, tag="proposal.Proposed"):
    """`due` is when it expires."""

    asked: Asked
    by: str
    due: Micros


class Approved(Struct, frozen=True, tag="proposal.Approved"):
    """What was asked for was done by the very command that gave this event: its events follow."""

    by: str


class Declined(Struct, frozen=True, tag="proposal.Declined"):
    by: str
    reason: str


class Withdrawn(Struct, frozen=True, tag="proposal.Withdrawn"):
    pass


class Expired(Struct, frozen=True, tag="proposal.Expired"):
    """Nobody decided it in time."""


Event = Proposed | Approved | Declined | Withdrawn | Expired


# --- State --------------------------------------------------------------------------------------------------------


class Stage(StrEnum):
    OPEN = "open"
    APPROVED = "approved"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


class Absent(Struct, frozen=True, tag="Absent"):
    """Not made yet."""


class Proposal(Struct, frozen=True, tag="Proposal"):
    """`by` made it; `decided_by` approved or declined it, and `reason` is why it was declined."""

    asked: Asked
    by: str
    due: Micros
    stage: Stage = Stage.OPEN
    decided_by: str = ""
    reason: str = ""


State = Absent | Proposal
INITIAL: State = Absent()


def decide(state: State, command: Command, context: Context) -> Decision:
    if isinstance(command, Propose):
        return _propose(state, command.asked, context)
    if isinstance(state, Absent):
        raise Rejected(Rule.UnknownProposal)
    if isinstance(command, TimeOut):
        passed = state.stage is Stage.OPEN and context.now >= state.due
        return Decision((Expired(),) if passed else ())
    if state.stage is not Stage.OPEN:
        raise Rejected(Rule.ProposalClosed, stage=state.stage)
    if context.now >= state.due:
        raise Rejected(Rule.ProposalClosed, stage=Stage.EXPIRED)
    match command:
        case Approve():
            _check_second(state, context)
            return Decision((Approved(context.actor),), asks=asks(_id(context), state.by, state.asked))
        case Decline():
            _check_second(state, context)
            return Decision((Declined(context.actor, command.reason),))
        case WithdrawProposal():
            if context.actor != state.by:
                raise Rejected(Rule.NotYourProposal)
            return Decision((Withdrawn(),))
        case never:
            assert_never(never)


def _propose(state: State, asked: Asked, context: Context) -> Decision:
    """It is tried at once: what a rule refuses today is refused to whoever asks, not to whoever approves."""
    if isinstance(state, Proposal):
        return Decision()
    proposed = Proposed(asked, context.actor, context.now + OPEN_FOR)
    return Decision((proposed,), tries=asks(_id(context), context.actor, asked))


def _check_second(proposal: Proposal, context: Context) -> None:
    if context.actor == proposal.by:
        raise Rejected(Rule.SecondPersonNeeded)


def _id(context: Context) -> str:
    return context.stream.removeprefix(PROPOSAL)


def evolve(state: State, event: Event) -> State:
    if isinstance(event, Proposed):
        return Proposal(event.asked, event.by, event.due)
    assert isinstance(state, Proposal), "a proposal's first event is Proposed"
    match event:
        case Approved():
            return replace(state, stage=Stage.APPROVED, decided_by=event.by)
        case Declined():
            return replace(state, stage=Stage.DECLINED, decided_by=event.by, reason=event.reason)
        case Withdrawn():
            return replace(state, stage=Stage.WITHDRAWN)
        case Expired():
            return replace(state, stage=Stage.EXPIRED)
        case never:
            assert_never(never)


def deadline(state: State) -> Micros | None:
    return state.due if isinstance(state, Proposal) and state.stage is Stage.OPEN else None


def round_of(state: State) -> str | None:
    """The round that it is about, if it is about one."""
    return getattr(state.asked, "round", None) if isinstance(state, Proposal) else None

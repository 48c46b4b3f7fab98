"""The stream `dispute:<id>`: what a player disputes of a round or of one bet in it: opened, evidence attached, decided
by two persons within a time that is set when it is opened.

The clock stands while evidence is awaited that the player was asked for, and it can be asked for a few times only: so
no dispute is put off for ever. A ruling comes by a proposal (`domain.proposals`) and says what evidence it rests on.
"""

from enum import StrEnum
from typing import Annotated, assert_never

from msgspec import Meta, Struct
from msgspec.structs import replace

from domain import docket
from domain.errors import Rejected
from domain.game import NEVER, SECOND, Ask, Context, Decision, Micros, Role, TimeOut
from domain.money import AMOUNT_MAX, Amount
from domain.names import DISPUTE, DOCKET, WALLET
from domain.texts import Lines, Text
from domain.wallet.commands import Adjust
from domain.wallet.rules import AdjustmentCode

DAY: Micros = 24 * 3_600 * SECOND
EVIDENCE_FOR: Micros = 7 * DAY
"""So long a player has for evidence that was asked for; then the clock runs again."""

ASKS_MAX = 3
OF_A_ROUND_MAX = 3
"""Disputes that a player opens about one round or bets in it, whatever became of them: so none is opened and withdrawn
for ever. The operator can open more for the player."""
EVIDENCE_MAX = 50
"""Pieces of either side, the player's and the staff's: so none takes the other's room."""

Digest = Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?(?![\s\S])", description="SHA-256 in hex, or empty.")]
Award = Annotated[int, Meta(ge=0, le=AMOUNT_MAX, description="Whole minor units; 0: none.")]


class Rule(StrEnum):
    UnknownDispute = "UnknownDispute"
    DisputeClosed = "DisputeClosed"
    TooMuchEvidence = "TooMuchEvidence"
    EvidenceAwaited = "EvidenceAwaited"
    AskedTooOften = "AskedTooOften"
    EvidenceCameSince = "EvidenceCameSince"
    RulingContradictsItself = "RulingContradictsItself"
    OpenedByThePlayer = "OpenedByThePlayer"
    DisputedTooOften = "DisputedTooOften"


class Ruling(StrEnum):
    REJECTED = "rejected"
    UPHELD = "upheld"


class RulingCode(StrEnum):
    """Why, for reports; the words beside it say more. Some go with one ruling alone."""

    BY_THE_RULES = "by_the_rules"
    """Played and settled as the rules say."""
    TOO_LATE = "too_late"
    """The bet or the complaint came too late."""
    NOTHING_ON_RECORD = "nothing_on_record"
    """Nothing of the kind was received."""
    EVIDENCE_LACKING = "evidence_lacking"
    """What was asked for did not come, or shows nothing."""
    ABUSE = "abuse"
    SETTLEMENT_ERROR = "settlement_error"
    """Settled otherwise than the rules say."""
    DEALING_ERROR = "dealing_error"
    """Cards were dealt, shown or scanned wrongly."""
    SYSTEM_FAULT = "system_fault"
    """The platform, a studio, the stream or the network failed."""
    MISLEADING = "misleading"
    """Rules, odds or the display could be understood as the player did."""
    GOODWILL = "goodwill"
    """Given without any claim to it."""
    OTHER = "other"


ONLY_WITH: dict[RulingCode, Ruling] = {
    RulingCode.BY_THE_RULES: Ruling.REJECTED,
    RulingCode.TOO_LATE: Ruling.REJECTED,
    RulingCode.NOTHING_ON_RECORD: Ruling.REJECTED,
    RulingCode.EVIDENCE_LACKING: Ruling.REJECTED,
    RulingCode.ABUSE: Ruling.REJECTED,
    RulingCode.SETTLEMENT_ERROR: Ruling.UPHELD,
    RulingCode.DEALING_ERROR: Ruling.UPHELD,
    RulingCode.SYSTEM_FAULT: Ruling.UPHELD,
    RulingCode.MISLEADING: Ruling.UPHELD,
    RulingCode.GOODWILL: Ruling.UPHELD,
}


# --- Commands -----------------------------------------------------------------------------------------------------


class OpenDispute(Struct, frozen=True, tag=True):
    """`bet` is the key of the player's command that it is about, "" if the whole round. `within`: how long a ruling may
    take. `before`: how many the player had opened about the round. All that is seen before: round and bet do not go
    away, and of many that come at once the docket lets only so many in."""

    player: str
    round: str
    bet: str
    words: Lines
    within: Micros
    before: int = 0


class AttachEvidence(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """What there is to say, and of a document kept elsewhere where it is and its SHA-256."""

    words: Lines
    reference: Text = ""
    sha256: Digest = ""


class AskEvidence(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Ask the player for something; the clock stands until it comes, a week at most."""

    words: Lines


class WithdrawDispute(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Whoever opened it does not want it any more."""


class RuleDispute(Struct, frozen=True, tag=True):
    """What `by` proposed and the sender approved. `evidence` is how many pieces of it there were."""

    ruling: Ruling
    code: RulingCode
    reason: Lines
    amount: Award
    currency: str
    evidence: int
    by: str
    proposal: str


Command = OpenDispute | AttachEvidence | AskEvidence | WithdrawDispute | RuleDispute | TimeOut


# --- Events -------------------------------------------------------------------------------------------------------


class DisputeOpened(Struct, frozen=True, tag="dispute.Opened"):
    """`due` is when it shall be decided."""

    player: str
    round: str
    bet: str
    words: str
    by: str
    role: Role
    due: Micros


class EvidenceAttached(Struct, frozen=True, tag="dispute.EvidenceAttached"):
    """`due` is sooner than before if the clock stood for it."""

    by: str
    role: Role
    words: str
    reference: str
    sha256: str
    due: Micros


class EvidenceAsked(Struct, frozen=True, tag="dispute.EvidenceAsked"):
    """The clock stands: until evidence comes, or until `until`; `due` is of the latter."""

    by: str
    words: str
    until: Micros
    due: Micros


class DisputeOverdue(Struct, frozen=True, tag="dispute.Overdue"):
    """It was not decided by then. Told once."""

    due: Micros


class DisputeDecided(Struct, frozen=True, tag="dispute.Decided"):
    """`approved_by`, another person than `proposed_by`, approved it. An `amount` is given in the same breath."""

    ruling: Ruling
    code: RulingCode
    reason: str
    amount: Amount
    currency: str
    proposed_by: str
    approved_by: str
    proposal: str


class DisputeWithdrawn(Struct, frozen=True, tag="dispute.Withdrawn"):
    by: str


Event = DisputeOpened | EvidenceAttached | EvidenceAsked | DisputeOverdue | DisputeDecided | DisputeWithdrawn


# --- State --------------------------------------------------------------------------------------------------------


class DisputeStage(StrEnum):
    OPEN = "open"
    REJECTED = "rejected"
    UPHELD = "upheld"
    WITHDRAWN = "withdrawn"


class Absent(Struct, frozen=True, tag="Absent"):
    """Not opened yet."""


class Dispute(Struct, frozen=True, tag="Dispute"):
    """What was said stands in the events. `until` is when evidence that was asked for is awaited no longer."""

    player: str
    round: str
    bet: str
    by: str
    role: Role
    due: Micros
    until: Micros | None = None
    evidence: int = 0
    from_player: int = 0
    asks: int = 0
    overdue: bool = False
    stage: DisputeStage = DisputeStage.OPEN
    decided: DisputeDecided | None = None

    def awaits(self, now: Micros) -> bool:
        return self.until is not None and now < self.until


State = Absent | Dispute
INITIAL: State = Absent()


def decide(state: State, command: Command, context: Context) -> Decision:
    """Whatever happens after it was due comes after `Overdue`, whether or not the clock has come."""
    if isinstance(command, OpenDispute):
        return _open(state, command, context)
    if isinstance(state, Absent) or (context.role is Role.PLAYER and context.actor != state.player):
        raise Rejected(Rule.UnknownDispute)
    if isinstance(command, TimeOut):
        return Decision(_late(state, context.now))
    if state.stage is not DisputeStage.OPEN:
        raise Rejected(Rule.DisputeClosed, stage=state.stage)
    decision = _of_open(state, command, context)
    return replace(decision, events=(*_late(state, context.now), *decision.events))


def _of_open(dispute: Dispute, command: Command, context: Context) -> Decision:
    match command:
        case AttachEvidence():
            return Decision((_attached(dispute, command, context),))
        case AskEvidence():
            return Decision((_asked(dispute, command, context),))
        case WithdrawDispute():
            if dispute.role is Role.PLAYER and context.role is not Role.PLAYER:
                raise Rejected(Rule.OpenedByThePlayer)
            return Decision((DisputeWithdrawn(context.actor),), asks=(_struck(dispute, context),))
        case RuleDispute():
            return _ruled(dispute, command, context)
        case OpenDispute() | TimeOut():
            raise AssertionError(command)
        case never:
            assert_never(never)


def _open(state: State, asked: OpenDispute, context: Context) -> Decision:
    if isinstance(state, Dispute):
        return Decision()
    if asked.before >= OF_A_ROUND_MAX and context.role is Role.PLAYER:
        raise Rejected(Rule.DisputedTooOften, round=asked.round, limit=OF_A_ROUND_MAX)
    due = context.now + asked.within
    opened = DisputeOpened(asked.player, asked.round, asked.bet, asked.words, context.actor, context.role, due)
    entry = docket.Enter(_id(context), asked.round, asked.bet)
    return Decision((opened,), asks=(Ask(DOCKET + asked.player, entry),))


def _attached(dispute: Dispute, evidence: AttachEvidence, context: Context) -> EvidenceAttached:
    from_player = dispute.from_player
    if (from_player if context.role is Role.PLAYER else dispute.evidence - from_player) >= EVIDENCE_MAX:
        raise Rejected(Rule.TooMuchEvidence, limit=EVIDENCE_MAX)
    due = dispute.due
    if _ends_waiting(context.role) and dispute.until is not None and dispute.awaits(context.now):
        due -= dispute.until - context.now
    return EvidenceAttached(
        context.actor, context.role, evidence.words, evidence.reference, evidence.sha256, due
    )  # fmt: skip


def _ends_waiting(role: Role) -> bool:
    """The player was asked; the operator is who hears from players by other ways."""
    return role in (Role.PLAYER, Role.OPERATOR)


def _asked(dispute: Dispute, asked: AskEvidence, context: Context) -> EvidenceAsked:
    if dispute.awaits(context.now):
        raise Rejected(Rule.EvidenceAwaited)
    if dispute.asks >= ASKS_MAX:
        raise Rejected(Rule.AskedTooOften, limit=ASKS_MAX)
    until = context.now + EVIDENCE_FOR
    left = dispute.due - context.now
    return EvidenceAsked(context.actor, asked.words, until, until + left if left > 0 else dispute.due)


def _ruled(dispute: Dispute, ruled: RuleDispute, context: Context) -> Decision:
    goes_with = ONLY_WITH.get(ruled.code, ruled.ruling)
    if goes_with is not ruled.ruling or (ruled.amount and ruled.ruling is Ruling.REJECTED):
        raise Rejected(Rule.RulingContradictsItself, ruling=ruled.ruling, code=ruled.code, amount=ruled.amount)
    if ruled.evidence != dispute.evidence:
        raise Rejected(Rule.EvidenceCameSince, seen=ruled.evidence, there=dispute.evidence)
    money = (ruled.amount, ruled.currency if ruled.amount else "")
    decided = DisputeDecided(ruled.ruling, ruled.code, ruled.reason, *money, ruled.by, context.actor, ruled.proposal)
    adjust = Adjust(*money, AdjustmentCode.DISPUTE_UPHELD, reason_of(_id(context)), ruled.by, ruled.proposal)
    paid = (Ask(WALLET + dispute.player, adjust),) if ruled.amount else ()
    return Decision((decided,), asks=(*paid, _struck(dispute, context)))


def reason_of(dispute: str) -> str:
    """What the wallet is told of why."""
    return f"dispute {dispute}"


def _struck(dispute: Dispute, context: Context) -> Ask:
    return Ask(DOCKET + dispute.player, docket.Strike(_id(context)))


def _late(dispute: Dispute, now: Micros) -> tuple[Event, ...]:
    due = deadline(dispute)
    return () if due is None or now < due else (DisputeOverdue(due),)


def _id(context: Context) -> str:
    return context.stream.removeprefix(DISPUTE)


def evolve(state: State, event: Event) -> State:
    if isinstance(event, DisputeOpened):
        return Dispute(event.player, event.round, event.bet, event.by, event.role, event.due)
    assert isinstance(state, Dispute), "a dispute's first event is Opened"
    match event:
        case EvidenceAttached():
            until = None if _ends_waiting(event.role) else state.until
            from_player = state.from_player + (event.role is Role.PLAYER)
            return replace(state, evidence=state.evidence + 1, from_player=from_player, due=event.due, until=until)
        case EvidenceAsked():
            return replace(state, asks=state.asks + 1, due=event.due, until=event.until)
        case DisputeOverdue():
            return replace(state, overdue=True)
        case DisputeDecided():
            return replace(state, stage=DisputeStage(event.ruling), decided=event, until=None)
        case DisputeWithdrawn():
            return replace(state, stage=DisputeStage.WITHDRAWN, until=None)
        case never:
            assert_never(never)


def deadline(state: State) -> Micros | None:
    """When it becomes overdue; that happens once."""
    if isinstance(state, Absent) or state.stage is not DisputeStage.OPEN:
        return None
    return NEVER if state.overdue else state.due


def round_of(state: State) -> str | None:
    return state.round if isinstance(state, Dispute) else None

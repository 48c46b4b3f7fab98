"""What a case file proves of its dispute, once its events are seen to be in the log: that nothing of it is missing,
that each event follows from those before it, that two persons decided, and that what they gave was given.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from domain import disputes, proposals
from domain.disputes import (
    AskEvidence,
    AttachEvidence,
    Dispute,
    DisputeDecided,
    DisputeOpened,
    DisputeOverdue,
    DisputeStage,
    DisputeWithdrawn,
    EvidenceAsked,
    EvidenceAttached,
    OpenDispute,
    RuleDispute,
    WithdrawDispute,
)
from domain.errors import Rejected
from domain.game import Context, Micros, Role, TimeOut
from domain.names import DISPUTE, DOCKET, PROPOSAL, REFUSED, TABLE, WALLET, table_of
from domain.proposals import DecideDispute, Proposal, Stage
from domain.refused import CommandRefused
from domain.wallet.events import Adjusted
from infra.eventlog import EventRow
from services.case_file import CaseFile
from services.dossier import Dossier, Sent
from services.verify_round import Check

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EVENTS_MAX = 100
"""Of one command: none about a dispute gives nearly as many."""


def checked_case(case: CaseFile, dossier: Dossier) -> Iterator[Check]:
    yield from _of_round(case, dossier)
    hearing = _Hearing(case, dossier)
    yield from hearing.nothing_missing()
    yield from hearing.decided_again()
    yield from hearing.ended()
    yield from hearing.commands()


def _of_round(case: CaseFile, dossier: Dossier) -> Iterator[Check]:
    told = (case.operator, case.round, case.form, case.player if case.form == "player" else "")
    its = (dossier.operator, dossier.round, dossier.form, dossier.viewer)
    yield _holds(f"the dossier is that of the round {case.round}, in the same form", told == its)
    yield _holds("its link leads to the round", case.replay == f"/v1/rounds/{case.round}/replay")


class _Hearing:
    """Through the dispute, check after check."""

    def __init__(self, case: CaseFile, dossier: Dossier) -> None:
        self.case = case
        self.dossier = dossier
        self.rows = case.rows
        self.said = [row for row in self.rows if row.stream == DISPUTE + case.dispute]
        self.names = {(row.actor, row.command) for row in self.said}
        self.places = {each.position for each in case.events}
        self.state: disputes.State = disputes.INITIAL

    def nothing_missing(self) -> Iterator[Check]:
        strange = [row.position for row in self.rows if not self._belongs(row)]
        yield Check("every event is of the dispute", f"position {strange[0]} is not" if strange else "")
        if hidden := len(self.case.events) - len(self.rows):
            what = f"of {hidden} of its places the leaf alone is told: what was proposed is staff's to see"
            yield Check(what, _unless(self.case.form == "player"), told=self.case.form == "player")
        dense = [row.version for row in self.said] == list(range(1, len(self.said) + 1))
        yield _holds(f"of the dispute's {len(self.said)} events up to here none is missing", dense and bool(self.said))
        opened = self.said[0].event
        told = (self.case.player, self.case.round, self.case.bet)
        same = isinstance(opened, DisputeOpened) and (opened.player, opened.round, opened.bet) == told
        yield _holds("it was opened about this player, round and bet", same)
        yield from self._bet_there()

    def _belongs(self, row: EventRow) -> bool:
        kind, _, who = row.stream.partition(":")
        match kind + ":":
            case str(prefix) if prefix == DISPUTE:
                return who == self.case.dispute
            case str(prefix) if prefix == PROPOSAL:
                return self.case.form == "operator" and row.round == self.case.round
            case str(prefix) if prefix == WALLET:
                return who == self.case.player and (row.actor, row.command) in self.names
            case str(prefix) if prefix == DOCKET:
                return who == self.case.player and row.event.dispute == self.case.dispute
            case str(prefix) if prefix == REFUSED:
                about = isinstance(row.event, CommandRefused) and row.event.stream == TABLE + table_of(self.case.round)
                return who == self.case.player and about and row.command == self.case.bet
            case _:
                return False

    def _bet_there(self) -> Iterator[Check]:
        if self.case.bet:
            name = (self.case.player, self.case.bet)
            there = any((row.actor, row.command) == name for row in (*self.rows, *self.dossier.seen))
            yield _holds(f"what {self.case.player} sent as {self.case.bet} is there, with what came of it", there)

    # --- Each event follows -----------------------------------------------------------------------------------------

    def decided_again(self) -> Iterator[Check]:
        for row in self.said:
            wrong = self._wrong(row)
            if wrong:
                yield Check("decided again, each of its events follows from those before it", wrong)
                return
            yield Check(_told(row), told=True)
            self.state = disputes.evolve(self.state, row.event)
        yield Check(f"decided again, each of its {len(self.said)} events follows from those before it")

    def _wrong(self, row: EventRow) -> str:
        context = Context(
            operator=self.case.operator, table="", now=row.at, actor=row.actor, role=Role(row.role), stream=row.stream
        )
        try:
            events = disputes.decide(self.state, self._command(row), context).events
        except Rejected as rejected:
            return f"at position {row.position} the rule {rejected.rule} says no"
        return "" if events == (row.event,) else f"at position {row.position} now: {events}"[:300]

    def _command(self, row: EventRow) -> disputes.Command:
        event: disputes.Event = row.event
        match event:
            case DisputeOpened():
                return OpenDispute(event.player, event.round, event.bet, event.words, event.due - row.at)
            case EvidenceAttached():
                return AttachEvidence(event.words, event.reference, event.sha256)
            case EvidenceAsked():
                return AskEvidence(event.words)
            case DisputeOverdue():
                return TimeOut()
            case DisputeWithdrawn():
                return WithdrawDispute()
            case DisputeDecided():
                seen = self.state.evidence if isinstance(self.state, Dispute) else 0
                money = (event.amount, event.currency)
                return RuleDispute(
                    event.ruling, event.code, event.reason, *money, seen, event.proposed_by, event.proposal
                )  # fmt: skip

    # --- Its end ----------------------------------------------------------------------------------------------------

    def ended(self) -> Iterator[Check]:
        paid = [row for row in self.rows if isinstance(row.event, Adjusted)]
        decided = next((row for row in self.said if isinstance(row.event, DisputeDecided)), None)
        if decided is None:
            stage = self.state.stage if isinstance(self.state, Dispute) else DisputeStage.OPEN
            yield Check(f"it was not decided up to here: it is {stage}", _unless(not paid))
        else:
            ruling: DisputeDecided = decided.event
            two = ruling.proposed_by != ruling.approved_by == decided.actor
            yield _holds(f"two persons decided it: {ruling.proposed_by} and {ruling.approved_by}", two)
            given = f"what was given is in the player's wallet: {ruling.amount} {ruling.currency}"
            what = given if ruling.amount else "nothing was given, as it says"
            gave = [(ruling.amount, ruling.proposal, ruling.proposed_by)] if ruling.amount else []
            yield _holds(what, gave == [(row.event.amount, row.event.proposal, row.event.proposed_by) for row in paid])
            follows = all(row.position == decided.position + 1 and row.actor == decided.actor for row in paid)
            if ruling.amount:
                yield _holds("it came there in the same breath", follows)
        if self.case.form == "operator":
            yield from self._proposals(decided)

    def _proposals(self, decided: EventRow | None) -> Iterator[Check]:
        found = dict[str, proposals.State]()
        for row in self.rows:
            if row.stream.startswith(PROPOSAL):
                found[row.stream] = proposals.evolve(found.get(row.stream, proposals.INITIAL), row.event)
        about = [each for each in found.values() if isinstance(each, Proposal) and self._is_about(each.asked)]
        what = "1 ruling was proposed, about" if len(found) == 1 else f"{len(found)} rulings were proposed, each about"
        yield _holds(f"{what} this dispute", len(about) == len(found))
        approved = {
            name: each for name, each in found.items() if isinstance(each, Proposal) and each.stage is Stage.APPROVED
        }
        ruling: DisputeDecided | None = decided.event if decided else None
        if ruling is None:
            yield _holds("none of them was approved", not approved)
            return
        its_own = approved.get(PROPOSAL + ruling.proposal)
        same = len(approved) == 1 and its_own is not None and _is_carried_out(its_own, ruling)
        yield _holds("the one that was approved is the ruling, word for word", same)

    def _is_about(self, asked: Any) -> bool:
        told = (self.case.dispute, self.case.player, self.case.round)
        return isinstance(asked, DecideDispute) and (asked.dispute, asked.player, asked.round) == told

    # --- What was sent ----------------------------------------------------------------------------------------------

    def commands(self) -> Iterator[Check]:
        sent = self.case.commands
        of_round = [each for each in self.dossier.commands if each.actor == self.case.player]
        own = [each for each in sent if each not in of_round]
        asked = {(row.actor, row.command) for row in self.rows if row.command is not None}
        told = [(each.actor, each.key) for each in own]
        whole = len(sent) == len(own) + len(of_round) and len(told) == len(asked) and set(told) == asked
        order = [(each.first, each.actor, each.key) for each in sent]
        yield _holds(f"of {len(sent)} commands it is told when they came, each once", whole and order == sorted(order))
        wrong = next((f"{each.key} of {each.actor}" for each in own if not self._gave(each)), None)
        yield Check("the log has what came of each, and when", f"{wrong} is told otherwise" if wrong else "")

    def _gave(self, sent: Sent) -> bool:
        rows = [row for row in self.rows if (row.actor, row.command) == (sent.actor, sent.key)]
        refused = [row.event for row in rows if isinstance(row.event, CommandRefused)]
        if [(each.rule, each.received) for each in refused] != (
            [(sent.refused, sent.received)] if sent.refused else []
        ):
            return False
        if sent.last - sent.first > _EVENTS_MAX or any(row.at != sent.decided for row in rows):
            return False
        told, its_own = {row.position for row in rows}, set(range(sent.first, sent.last + 1))
        return told == its_own if self.case.form == "operator" else told <= its_own <= self.places


def _is_carried_out(proposal: Proposal, ruling: DisputeDecided) -> bool:
    asked = proposal.asked
    if not isinstance(asked, DecideDispute):
        return False
    currency = asked.currency if asked.amount else ""
    told = (asked.ruling, asked.code, asked.reason, asked.amount, currency, proposal.by, proposal.decided_by)
    return told == (
        ruling.ruling, ruling.code, ruling.reason, ruling.amount, ruling.currency, ruling.proposed_by,
        ruling.approved_by,
    )  # fmt: skip


def _told(row: EventRow) -> str:
    event: disputes.Event = row.event
    match event:
        case DisputeOpened():
            what = f"opened about {event.bet or 'the round'}, due {_moment(event.due)}: {_line(event.words)}"
        case EvidenceAttached():
            kept = (
                f" ({' '.join(filter(None, (event.reference, event.sha256)))})"
                if event.reference or event.sha256
                else ""
            )
            what = f"evidence{kept}: {_line(event.words)}"
        case EvidenceAsked():
            what = f"asked the player, up to {_moment(event.until)}: {_line(event.words)}"
        case DisputeOverdue():
            what = f"overdue since {_moment(event.due)}"
        case DisputeWithdrawn():
            what = "withdrawn"
        case DisputeDecided():
            what = f"{event.ruling}, {event.code}: {_line(event.reason)}"
    return f"{_moment(row.at)} {row.actor} ({row.role}): {what}"


def _moment(at: Micros) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=at)).isoformat(sep=" ", timespec="seconds")
    except OverflowError:
        return str(at)


def _line(words: str) -> str:
    return " / ".join(words.splitlines())


def _holds(what: str, holds: bool) -> Check:
    return Check(what, _unless(holds))


def _unless(holds: bool) -> str:
    return "" if holds else "it is not so"

"""What takes two persons: one proposes, another one approves, and it happens in that breath, once, or not at all."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import proposals
from domain.decider import Submission
from domain.game import Role, TimeOut
from domain.names import PROPOSAL, WALLET, id_of
from domain.proposals import (
    OPEN_FOR,
    AdjustBalance,
    Approve,
    Decline,
    Propose,
    Proposed,
    Stage,
    WithdrawProposal,
)
from domain.wallet import commands as wallet
from domain.wallet.events import Adjusted
from domain.wallet.rules import AdjustmentCode
from infra import codec
from services.batch import Accepted, Entry, Refused
from tests.domain.pocket_house import OPERATOR, PocketHouse

TWICE = AdjustBalance("ann", -300, "EUR", AdjustmentCode.PAYMENT_ERROR, "keyed in twice")


class Cage:
    """A house with two players of 1,000 and staff whose names say who they are."""

    def __init__(self) -> None:
        self.house = PocketHouse()
        self.asked_so_far = 0
        for player in ("ann", "bob"):
            self.send("ops", WALLET + player, wallet.OpenWallet("EUR"))
            self.send("ops", WALLET + player, wallet.Deposit(1_000, "EUR"))

    def entry(self, actor: str, stream: str, command: Any, key: str = "") -> Entry:
        self.asked_so_far += 1
        role = Role.CLOCK if actor == "platform" else Role.OPERATOR
        key = "" if role is Role.CLOCK else key or f"k{self.asked_so_far}"
        text = msgspec.json.encode(command).decode()
        return Entry(Submission(OPERATOR, actor, role, stream, command, key, text=text), (stream + text).encode(), 0)

    def send(self, actor: str, stream: str, command: Any, key: str = "") -> Any:
        [answer] = self.house.send([self.entry(actor, stream, command, key)])
        return answer

    def propose(self, actor: str, asked: AdjustBalance, key: str = "p") -> Any:
        return self.send(actor, PROPOSAL + id_of(actor, key), Propose(asked), key)

    def of(self, actor: str, key: str = "p") -> Any:
        return self.house.state(PROPOSAL + id_of(actor, key))

    def cash(self, player: str) -> int:
        return self.house.state(WALLET + player).cash


@pytest.fixture
def cage() -> Cage:
    return Cage()


THIS = PROPOSAL + id_of("ops", "p")


def test_what_one_proposes_another_one_approves_and_both_are_named(cage: Cage):
    proposed = cage.propose("ops", TWICE)
    due = cage.house.now + OPEN_FOR
    assert [each.event for each in proposed.events] == [Proposed(TWICE, "ops", due)]
    assert (cage.cash("ann"), codec.evolve("proposal"), cage.of("ops").stage) == (1_000, proposals.evolve, Stage.OPEN)
    approved = cage.send("sue", THIS, Approve())
    told = [(row.stream, row.type, row.actor) for row in cage.house.rows[-2:]]
    assert told == [(THIS, "proposal.Approved", "sue"), ("wallet:ann", "wallet.Adjusted", "sue")]
    code = AdjustmentCode.PAYMENT_ERROR
    adjusted = Adjusted(-300, "keyed in twice", 1_000, 700, code, "ops", id_of("ops", "p"))
    assert [each.event for each in approved.events] == [proposals.Approved("sue"), adjusted]
    assert (cage.of("ops").stage, cage.of("ops").decided_by) == (Stage.APPROVED, "sue")


@pytest.mark.parametrize("alone", [Approve(), Decline("no")])
def test_nobody_decides_what_he_proposed_and_the_attempt_is_on_record(cage: Cage, alone: Any):
    cage.propose("ops", TWICE)
    assert cage.send("ops", THIS, alone) == Refused("SecondPersonNeeded", {})
    assert (cage.house.rows[-1].stream, cage.house.rows[-1].event.rule) == ("refused:ops", "SecondPersonNeeded")
    assert (cage.cash("ann"), cage.of("ops").stage) == (1_000, Stage.OPEN)


def test_only_whoever_proposed_withdraws(cage: Cage):
    cage.propose("ops", TWICE)
    assert cage.send("sue", THIS, WithdrawProposal()).rule == "NotYourProposal"
    assert isinstance(cage.send("ops", THIS, WithdrawProposal()), Accepted)
    assert cage.send("sue", THIS, Approve()) == Refused("ProposalClosed", {"stage": "withdrawn"})


def test_what_was_decided_is_not_decided_again(cage: Cage):
    cage.propose("ops", TWICE)
    assert isinstance(cage.send("sue", THIS, Decline("it was real")), Accepted)
    assert (cage.of("ops").decided_by, cage.of("ops").reason) == ("sue", "it was real")
    for who, command in (("sue", Approve()), ("sid", Approve()), ("ops", WithdrawProposal())):
        assert cage.send(who, THIS, command) == Refused("ProposalClosed", {"stage": "declined"})
    assert cage.cash("ann") == 1_000
    assert cage.send("sue", "proposal:0123456789abcdef", Approve()).rule == "UnknownProposal"


def test_a_proposal_expires_after_a_week_and_not_before(cage: Cage):
    cage.propose("ops", TWICE)
    due = cage.of("ops").due
    assert proposals.deadline(cage.of("ops")) == due
    cage.house.now = due - 1
    assert cage.send("platform", THIS, TimeOut()).events == ()
    cage.house.now = due
    assert cage.send("sue", THIS, Approve()) == Refused("ProposalClosed", {"stage": "expired"})
    assert [each.event for each in cage.send("platform", THIS, TimeOut()).events] == [proposals.Expired()]
    assert cage.send("platform", THIS, TimeOut()).events == ()
    assert (cage.of("ops").stage, proposals.deadline(cage.of("ops"))) == (Stage.EXPIRED, None)


def test_what_cannot_be_done_cannot_be_proposed_and_the_player_s_record_has_it(cage: Cage):
    beyond = msgspec.structs.replace(TWICE, amount=-1_001)
    assert cage.propose("ops", beyond) == Refused("InsufficientFunds", {"balance": 1_000, "needed": 1_001})
    assert cage.house.rows[-1].stream == "refused:ann"
    assert cage.of("ops") is None
    assert cage.propose("ops", msgspec.structs.replace(TWICE, player="eve"), "q").rule == "UnknownPlayer"
    assert cage.house.rows[-1].stream == "refused:ann"


def test_an_approval_that_the_wallet_refuses_changes_nothing_and_may_come_again(cage: Cage):
    cage.propose("ops", TWICE)
    cage.send("ops", WALLET + "ann", wallet.Withdraw(800, "EUR"))
    assert cage.send("sue", THIS, Approve()).rule == "InsufficientFunds"
    assert (cage.of("ops").stage, cage.cash("ann")) == (Stage.OPEN, 200)
    cage.send("ops", WALLET + "ann", wallet.Deposit(100, "EUR"))
    assert isinstance(cage.send("sue", THIS, Approve()), Accepted)
    assert cage.cash("ann") == 0


def test_two_who_approve_in_one_batch_correct_once(cage: Cage):
    cage.propose("ops", TWICE)
    both = cage.house.send([cage.entry("sue", THIS, Approve()), cage.entry("sid", THIS, Approve())])
    assert [type(answer) for answer in both] == [Accepted, Refused]
    assert cage.cash("ann") == 700


STEPS = st.tuples(
    st.sampled_from(["propose", "approve", "decline", "withdraw", "time out", "again", "deposit", "withdrawal"]),
    st.sampled_from(["ops", "sue", "sid"]),
    st.sampled_from(["ops", "sue", "sid"]),
    st.integers(-900, 900),
)


@given(st.lists(STEPS, max_size=30))
def test_in_any_order_and_however_often_each_is_carried_out_at_most_once_by_another_person(steps: list[Any]):
    cage, sent = Cage(), list[Entry]()
    for kind, who, whose, amount in steps:
        stream = PROPOSAL + id_of(whose, "p")
        command = {
            "approve": Approve(),
            "decline": Decline("no"),
            "withdraw": WithdrawProposal(),
            "time out": TimeOut(),
            "deposit": wallet.Deposit(abs(amount) + 1, "EUR"),
            "withdrawal": wallet.Withdraw(abs(amount) + 1, "EUR"),
        }.get(kind)
        if kind == "propose":
            asked = msgspec.structs.replace(TWICE, amount=amount, player="ann" if amount % 2 else "bob")
            entry = cage.entry(who, PROPOSAL + id_of(who, "p"), Propose(asked), "p")
        elif kind == "again":
            entry = sent[amount % len(sent)] if sent else None
        elif kind == "time out":
            cage.house.now += OPEN_FOR // 3
            entry = cage.entry("platform", stream, TimeOut())
        else:
            entry = cage.entry(who, WALLET + "ann" if kind.startswith(("dep", "withdrawa")) else stream, command)
        if entry is not None:
            sent.append(entry)
            cage.house.send([entry])
    rows = cage.house.rows
    approved = {row.stream: row.actor for row in rows if row.type == "proposal.Approved"}
    adjusted = [(row.event, row.actor) for row in rows if row.type == "wallet.Adjusted"]
    assert len(approved) == sum(row.type == "proposal.Approved" for row in rows)
    for event, actor in adjusted:
        proposal = cage.house.state(PROPOSAL + event.proposal)
        assert approved.pop(PROPOSAL + event.proposal) == actor != event.proposed_by == proposal.by
        assert event.amount == proposal.asked.amount
    assert all(cage.house.state(stream).asked.amount == 0 for stream in approved)
    moved = {"wallet.Deposited": 1, "wallet.Withdrawn": -1, "wallet.Adjusted": 1}
    assert sum(moved.get(row.type, 0) * getattr(row.event, "amount", 0) for row in rows) == (
        cage.cash("ann") + cage.cash("bob")
    )

"""A dispute from its opening to its ruling: whose it is, its clock, and the two persons and the money of the end."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain import disputes, docket
from domain.decider import Submission
from domain.disputes import (
    ASKS_MAX,
    DAY,
    EVIDENCE_FOR,
    EVIDENCE_MAX,
    OF_A_ROUND_MAX,
    ONLY_WITH,
    AskEvidence,
    AttachEvidence,
    DisputeDecided,
    DisputeOverdue,
    DisputeStage,
    OpenDispute,
    Ruling,
    RulingCode,
    WithdrawDispute,
)
from domain.game import NEVER, Role, TimeOut
from domain.names import DISPUTE, DOCKET, PROPOSAL, WALLET, id_of
from domain.proposals import Approve, DecideDispute, Propose, Stage
from domain.texts import Lines
from domain.wallet import commands as wallet
from domain.wallet.events import Adjusted
from domain.wallet.rules import AdjustmentCode
from services.batch import Accepted, Entry, Refused
from tests.domain.pocket_house import OPERATOR, PocketHouse

SLA = 3 * DAY
STORY = "My bet on A showed on the screen.\nIt was not paid."
ROLES = {"ann": Role.PLAYER, "bob": Role.PLAYER, "ops": Role.OPERATOR, "platform": Role.CLOCK}
"""Everybody else is a supervisor."""


class Desk:
    """A house with two players of 1,000 and staff whose names say who they are."""

    def __init__(self) -> None:
        self.house = PocketHouse()
        self.sent = 0
        for player in ("ann", "bob"):
            self.send("ops", WALLET + player, wallet.OpenWallet("EUR"))
            self.send("ops", WALLET + player, wallet.Deposit(1_000, "EUR"))

    def entry(self, actor: str, stream: str, command: Any, key: str = "") -> Entry:
        self.sent += 1
        role = ROLES.get(actor, Role.SUPERVISOR)
        key = "" if role is Role.CLOCK else key or f"k{self.sent}"
        text = msgspec.json.encode(command).decode()
        return Entry(Submission(OPERATOR, actor, role, stream, command, key, text=text), (stream + text).encode(), 0)

    def send(self, actor: str, stream: str, command: Any, key: str = "") -> Any:
        [answer] = self.house.send([self.entry(actor, stream, command, key)])
        return answer

    def open(self, by: str = "ann", key: str = "d", *, player: str = "ann", bet: str = "bet-1") -> str:
        stream = DISPUTE + id_of(by, key)
        answer = self.send(by, stream, OpenDispute(player, "t.1", bet, STORY, SLA), key)
        assert isinstance(answer, Accepted), answer
        return stream

    def events(self, actor: str, stream: str, command: Any) -> list[Any]:
        answer = self.send(actor, stream, command)
        assert isinstance(answer, Accepted), answer
        return [each.event for each in answer.events]

    def propose(self, stream: str, by: str = "sue", **changed: Any) -> Any:
        asked = replace(UPHELD, dispute=stream.removeprefix(DISPUTE), **changed)
        return self.send(by, PROPOSAL + id_of(by, f"p{self.sent + 1}"), Propose(asked), f"p{self.sent + 1}")

    def cash(self, player: str = "ann") -> int:
        return self.house.state(WALLET + player).cash

    def pass_by(self, micros: int) -> None:
        self.house.now += micros


UPHELD = DecideDispute(
    "", "ann", "t.1", Ruling.UPHELD, RulingCode.SETTLEMENT_ERROR, "It should have been paid.", 0, 195, "EUR"
)


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- Opening ------------------------------------------------------------------------------------------------------


def test_a_player_opens_one_and_it_is_due_when_it_was_promised(desk: Desk):
    stream = desk.open()
    due = desk.house.now + SLA
    [opened, entered] = desk.house.rows[-2:]
    assert opened.event == disputes.DisputeOpened("ann", "t.1", "bet-1", STORY, "ann", Role.PLAYER, due)
    assert (opened.round, entered.stream, entered.round) == ("t.1", "docket:ann", None)
    assert disputes.deadline(desk.house.state(stream)) == due


def test_the_same_thing_is_disputed_once_at_a_time_and_again_when_that_is_over(desk: Desk):
    first = desk.open()
    again = OpenDispute("ann", "t.1", "bet-1", "and again", SLA)
    refused = desk.send("ops", DISPUTE + id_of("ops", "e"), again, "e")
    assert refused == Refused("DisputeIsOpen", {"dispute": first.removeprefix(DISPUTE)})
    assert (desk.house.rows[-1].stream, desk.house.rows[-1].event.rule) == ("refused:ann", "DisputeIsOpen")
    desk.open(key="whole", bet="")
    desk.events("ann", first, WithdrawDispute())
    desk.open(key="f")


def test_a_round_is_disputed_three_times_by_its_player_and_more_often_by_the_operator_alone(desk: Desk):
    fourth = OpenDispute("ann", "t.1", "", STORY, SLA, before=OF_A_ROUND_MAX)
    refused = desk.send("ann", DISPUTE + id_of("ann", "g"), fourth, "g")
    assert refused == Refused("DisputedTooOften", {"round": "t.1", "limit": 3})
    third = replace(fourth, before=OF_A_ROUND_MAX - 1)
    assert isinstance(desk.send("ann", DISPUTE + id_of("ann", "h"), third, "h"), Accepted)
    by_phone = replace(fourth, bet="bet-1")
    assert isinstance(desk.send("ops", DISPUTE + id_of("ops", "i"), by_phone, "i"), Accepted)


def test_a_player_has_so_many_open_at_once_and_no_more(desk: Desk):
    streams = [desk.open(key=f"d{number}", bet=f"bet-{number}") for number in range(docket.OPEN_MAX)]
    more = OpenDispute("ann", "t.1", "one-more", STORY, SLA)
    assert desk.send("ann", DISPUTE + id_of("ann", "m"), more, "m") == Refused("TooManyDisputes", {"limit": 20})
    desk.open("bob", player="bob")
    desk.events("ann", streams[7], WithdrawDispute())
    desk.open(key="m2", bet="one-more")
    assert len(desk.house.state(DOCKET + "ann").open) == docket.OPEN_MAX


@pytest.mark.parametrize(
    "told", ["", " \n ", "a\tb", "a\r\nb", "a\x00b", "\u202eevil", "x" * 2_001, "a\u2028b", "\x9b1m"]
)
def test_words_are_plain_text_of_some_lines(told: str):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(told, Lines)
    assert msgspec.convert(STORY, Lines) == STORY
    assert msgspec.convert("मेरी शर्त\nनहीं चुकाई", Lines)


# --- Whose it is --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [AttachEvidence("me too"), WithdrawDispute()])
def test_another_player_s_dispute_is_not_there(desk: Desk, command: Any):
    stream = desk.open()
    assert desk.send("bob", stream, command) == Refused("UnknownDispute", {})
    assert desk.send("bob", DISPUTE + "0123456789abcdef", command) == Refused("UnknownDispute", {})


def test_what_a_player_opened_the_operator_cannot_make_go_away(desk: Desk):
    stream = desk.open()
    assert desk.send("ops", stream, WithdrawDispute()).rule == "OpenedByThePlayer"
    assert desk.events("ann", stream, WithdrawDispute()) == [
        disputes.DisputeWithdrawn("ann"),
        docket.Struck(id_of("ann", "d")),
    ]
    for_ann = desk.open("ops")
    assert desk.events("ops", for_ann, WithdrawDispute())[0] == disputes.DisputeWithdrawn("ops")
    assert desk.send("ann", for_ann, AttachEvidence("late")) == Refused("DisputeClosed", {"stage": "withdrawn"})


# --- Its clock ----------------------------------------------------------------------------------------------------


def test_it_is_overdue_once_by_the_clock_and_can_still_be_decided(desk: Desk):
    stream = desk.open()
    due = desk.house.state(stream).due
    desk.house.now = due - 1
    assert desk.events("platform", stream, TimeOut()) == []
    desk.house.now = due
    assert desk.events("platform", stream, TimeOut()) == [DisputeOverdue(due)]
    assert desk.events("platform", stream, TimeOut()) == []
    assert disputes.deadline(desk.house.state(stream)) == NEVER
    assert isinstance(desk.propose(stream), Accepted)


def test_whatever_comes_late_finds_it_overdue_though_the_clock_did_not_come(desk: Desk):
    stream = desk.open()
    due = desk.house.state(stream).due
    desk.pass_by(SLA + 1)
    [overdue, attached] = desk.events("ann", stream, AttachEvidence("hello?"))
    assert (overdue, attached.due) == (DisputeOverdue(due), due)


def test_the_clock_stands_while_evidence_is_awaited_and_goes_on_when_it_comes(desk: Desk):
    stream = desk.open()
    desk.pass_by(DAY)
    [asked] = desk.events("sue", stream, AskEvidence("A picture of the screen, please."))
    assert (asked.until, asked.due) == (desk.house.now + EVIDENCE_FOR, desk.house.now + EVIDENCE_FOR + 2 * DAY)
    desk.pass_by(4 * DAY)
    assert desk.events("platform", stream, TimeOut()) == []
    [by_staff] = desk.events("sue", stream, AttachEvidence("what the studio filmed", "cam-4/77", 64 * "a"))
    assert by_staff.due == asked.due, "the house's own evidence is not what was awaited"
    [attached] = desk.events("ann", stream, AttachEvidence("the picture", "mail 12", 64 * "b"))
    assert attached.due == desk.house.now + 2 * DAY
    [more] = desk.events("ann", stream, AttachEvidence("and another one"))
    assert more.due == attached.due, "only once"


def test_the_clock_goes_on_by_itself_when_nothing_comes(desk: Desk):
    stream = desk.open()
    [asked] = desk.events("sue", stream, AskEvidence("A picture, please."))
    desk.pass_by(EVIDENCE_FOR + DAY)
    [attached] = desk.events("ann", stream, AttachEvidence("sorry, late"))
    assert attached.due == asked.due == desk.house.now + SLA - DAY
    desk.pass_by(SLA - DAY)
    assert desk.events("platform", stream, TimeOut()) == [DisputeOverdue(asked.due)]


def test_evidence_is_asked_for_one_thing_at_a_time_and_a_few_times_only(desk: Desk):
    stream = desk.open()
    for _ in range(ASKS_MAX):
        desk.events("sue", stream, AskEvidence("more"))
        assert desk.send("sid", stream, AskEvidence("and more")) == Refused("EvidenceAwaited", {})
        desk.events("ops", stream, AttachEvidence("ann wrote to us"))
    assert desk.send("sue", stream, AskEvidence("more")) == Refused("AskedTooOften", {"limit": ASKS_MAX})
    assert (desk.house.rows[-1].stream, desk.house.rows[-1].event.rule) == ("refused:sue", "AskedTooOften")


def test_asking_late_moves_nothing(desk: Desk):
    stream = desk.open()
    due = desk.house.state(stream).due
    desk.pass_by(SLA + DAY)
    [overdue, asked] = desk.events("sue", stream, AskEvidence("A picture, please."))
    assert (overdue, asked.due) == (DisputeOverdue(due), due)


def test_evidence_is_bounded(desk: Desk):
    stream = desk.open()
    for _ in range(EVIDENCE_MAX):
        desk.events("ann", stream, AttachEvidence("more"))
    assert desk.send("ann", stream, AttachEvidence("more")) == Refused("TooMuchEvidence", {"limit": EVIDENCE_MAX})
    for _ in range(EVIDENCE_MAX):
        desk.events("sue", stream, AttachEvidence("what the studio filmed"))
    assert desk.send("ops", stream, AttachEvidence("more")) == Refused("TooMuchEvidence", {"limit": EVIDENCE_MAX})


# --- Its end ------------------------------------------------------------------------------------------------------


def test_it_is_upheld_by_two_persons_and_paid_in_that_very_breath(desk: Desk):
    stream = desk.open()
    [proposed] = desk.propose(stream).events
    assert (proposed.stream.startswith(PROPOSAL), desk.house.rows[-1].round, desk.cash()) == (True, "t.1", 1_000)
    assert desk.send("sue", proposed.stream, Approve()).rule == "SecondPersonNeeded"
    desk.events("sid", proposed.stream, Approve())
    told = [(row.type, row.actor, row.round) for row in desk.house.rows[-4:]]
    assert told == [
        ("proposal.Approved", "sid", "t.1"),
        ("dispute.Decided", "sid", "t.1"),
        ("wallet.Adjusted", "sid", None),
        ("docket.Struck", "sid", None),
    ]
    name, proposal = stream.removeprefix(DISPUTE), proposed.stream.removeprefix(PROPOSAL)
    code = RulingCode.SETTLEMENT_ERROR
    assert [row.event for row in desk.house.rows[-3:-1]] == [
        DisputeDecided(Ruling.UPHELD, code, "It should have been paid.", 195, "EUR", "sue", "sid", proposal),
        Adjusted(195, f"dispute {name}", 1_000, 1_195, AdjustmentCode.DISPUTE_UPHELD, "sue", proposal),
    ]
    assert (desk.house.state(stream).stage, desk.house.state(DOCKET + "ann").open) == (DisputeStage.UPHELD, ())


def test_it_is_rejected_without_any_money(desk: Desk):
    stream = desk.open()
    rejected = {"ruling": Ruling.REJECTED, "code": RulingCode.BY_THE_RULES, "amount": 0, "currency": ""}
    [proposed] = desk.propose(stream, **rejected).events
    assert [type(each) for each in desk.events("sid", proposed.stream, Approve())][1:] == [
        DisputeDecided,
        docket.Struck,
    ]
    assert (desk.cash(), desk.house.state(stream).stage) == (1_000, DisputeStage.REJECTED)
    assert desk.propose(stream).rule == "DisputeClosed"
    assert desk.events("platform", stream, TimeOut()) == []


@pytest.mark.parametrize(
    "ruling",
    [
        {"ruling": Ruling.REJECTED, "code": RulingCode.BY_THE_RULES},
        {"ruling": Ruling.REJECTED},
        {"code": RulingCode.ABUSE, "amount": 0},
    ],
)
def test_a_ruling_does_not_contradict_itself(desk: Desk, ruling: Any):
    assert desk.propose(desk.open(), **ruling).rule == "RulingContradictsItself"


def test_every_code_goes_with_a_ruling_and_each_ruling_has_codes():
    assert set(RulingCode) - set(ONLY_WITH) == {RulingCode.OTHER}
    assert set(ONLY_WITH.values()) == set(Ruling)


def test_what_comes_after_a_ruling_was_proposed_has_to_be_looked_at_first(desk: Desk):
    stream = desk.open()
    [proposed] = desk.propose(stream).events
    desk.events("ann", stream, AttachEvidence("look at this"))
    assert desk.send("sid", proposed.stream, Approve()) == Refused("EvidenceCameSince", {"seen": 0, "there": 1})
    assert desk.house.state(proposed.stream).stage is Stage.OPEN
    assert desk.propose(stream).rule == "EvidenceCameSince"
    [anew] = desk.propose(stream, evidence=1).events
    desk.events("sid", anew.stream, Approve())
    assert desk.send("sid", proposed.stream, Approve()).rule == "DisputeClosed"
    assert desk.cash() == 1_195


def test_what_the_wallet_refuses_decides_nothing(desk: Desk):
    assert desk.propose(desk.open(), currency="USD").rule == "WrongCurrency"
    assert desk.propose(desk.open(key="e", bet=""), amount=2**53 - 1).rule == "BalanceTooLarge"
    assert len(desk.house.state(DOCKET + "ann").open) == 2


# --- In any order -------------------------------------------------------------------------------------------------

ACTS = ("open", "attach", "ask", "withdraw", "propose", "approve", "tick", "again")
STEPS = st.tuples(st.sampled_from(ACTS), st.sampled_from(["ann", "bob", "ops", "sue", "sid"]), st.integers(0, 400))


@given(st.lists(STEPS, max_size=40))
def test_in_any_order_and_however_often_each_ends_once_and_pays_once(steps: list[Any]):
    desk, sent = Desk(), list[Entry]()
    for act, who, number in steps:
        desk.pass_by(number * DAY // 100)
        entry = _entry(desk, sent, act, who, number)
        if entry is not None:
            sent.append(entry)
            desk.house.send([entry])
    rows = desk.house.rows
    ends = [row.stream for row in rows if row.type in ("dispute.Decided", "dispute.Withdrawn")]
    assert len(ends) == len(set(ends))
    late = [row.stream for row in rows if row.type == "dispute.Overdue"]
    assert len(late) == len(set(late))
    decided = [row.event for row in rows if row.type == "dispute.Decided"]
    assert all(each.proposed_by != each.approved_by for each in decided)
    paid = [row.event for row in rows if row.type == "wallet.Adjusted"]
    assert [(each.amount, each.proposal) for each in paid] == [
        (each.amount, each.proposal) for each in decided if each.amount
    ]
    assert desk.cash("ann") + desk.cash("bob") == 2_000 + sum(each.amount for each in paid)
    for player in ("ann", "bob"):
        still = {
            row.stream.removeprefix(DISPUTE) for row in rows if row.type == "dispute.Opened" and row.stream not in ends
        }
        of_player = {name for name in still if desk.house.state(DISPUTE + name).player == player}
        found = desk.house.state(DOCKET + player)
        assert {each.dispute for each in found.open if found} == of_player if found else not of_player


def _entry(desk: Desk, sent: list[Entry], act: str, who: str, number: int) -> Entry | None:
    streams = [row.stream for row in desk.house.rows if row.type == "dispute.Opened"]
    stream = streams[number % len(streams)] if streams else DISPUTE + "none"
    evidence = getattr(desk.house.state(stream), "evidence", 0)
    proposals = [row.stream for row in desk.house.rows if row.type == "proposal.Proposed"]
    match act:
        case "open":
            player = who if who in ("ann", "bob") else "ann"
            asked = OpenDispute(player, "t.1", f"bet-{number % 3}", STORY, SLA)
            return desk.entry(who, DISPUTE + id_of(who, f"o{number}"), asked, f"o{number}")
        case "attach":
            return desk.entry(who, stream, AttachEvidence("see"))
        case "ask":
            return desk.entry(who, stream, AskEvidence("show"))
        case "withdraw":
            return desk.entry(who, stream, WithdrawDispute())
        case "propose":
            asked = replace(UPHELD, dispute=stream.removeprefix(DISPUTE), amount=number % 4 * 50, evidence=evidence)
            return desk.entry(who, PROPOSAL + id_of(who, f"p{number}"), Propose(asked), f"p{number}")
        case "approve":
            return desk.entry(who, proposals[number % len(proposals)], Approve()) if proposals else None
        case "tick":
            return desk.entry("platform", stream, TimeOut()) if streams else None
        case _:
            return sent[number % len(sent)] if sent else None

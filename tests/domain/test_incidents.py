"""Incidents: what the rules allow of each kind, as a table; who may resolve what; and what the table does then."""

from typing import Any

import msgspec
import pytest

from domain import incidents
from domain.cards import parse
from domain.decider import SettleBettor, Submission
from domain.game import SECOND, ConcludeRound, Role, Stage, Standing
from domain.games import GAMES
from domain.incidents import (
    AddNote,
    Incident,
    IncidentKind,
    IncidentPhase,
    ReportIncident,
    Resolution,
    ResolveByProposal,
    ResolveIncident,
)
from domain.names import INCIDENT, PROPOSAL, RESETTLEMENT, TABLE, WALLET
from domain.proposals import Approve, Propose, Resettle
from domain.resettlements import Basis, Corrected, Void
from domain.wallet import commands as wallet
from services.batch import Accepted, Entry, Refused
from tests.domain.pit import Pit
from tests.domain.pocket_house import OPERATOR

ALLOWED = """
                betting        playing               over
misdeal         void           rescan void           void stands
exposed_card    void           resume void           void stands
wrong_card      void           rescan void           correct void stands
duplicate_card  resume void    resume rescan void    void stands
missing_card    resume void    resume rescan void    correct void stands
dropped_card    resume void    resume rescan void    correct void stands
deck_count      void           void                  void stands
stream_lost     resume void    resume void           stands
late_bet        resume void    resume void           stands
wrong_result    resume void    resume rescan void    correct void stands
system_fault    resume void    resume rescan void    correct void stands
other           resume void    resume rescan void    correct void stands
"""
"""Besides, whatever it was: unfounded; and where a round that is on may be voided, so may the match that it is of."""
BANKED = GAMES["teen_patti_2020"]

COLUMNS = {IncidentPhase.BETTING: (16, 31), IncidentPhase.PLAYING: (31, 53), IncidentPhase.OVER: (53, None)}
ON_TABLE = {"VOID": "RoundCancelled", "RESUME": "RoundResumed", "UNFOUNDED": "RoundResumed", "RESCAN": "RescanOrdered"}


def allowed() -> dict[tuple[IncidentKind, IncidentPhase], set[str]]:
    return {
        (IncidentKind(row.split()[0]), phase): set(row[slice(*at)].split()) | {"unfounded"}
        for row in ALLOWED.strip("\n").splitlines()[1:]
        for phase, at in COLUMNS.items()
    }


def names(answer: Any) -> list[str]:
    return [type(each.event).__name__ for each in answer.events]


# --- What is allowed ----------------------------------------------------------------------------------------------


def test_the_rules_allow_what_this_table_says_and_nothing_else() -> None:
    told = allowed()
    assert {kind for kind, _ in told} == set(IncidentKind)
    for (kind, phase), named in told.items():
        assert set(incidents.allowed(kind, phase, BANKED)) == named, (kind, phase)
        match = {"void_match"} if "void" in named and phase is not IncidentPhase.OVER else set()
        assert set(incidents.allowed(kind, phase, GAMES["gin_rummy"])) == (named | match) - {"rescan", "correct"}, (
            kind,
            phase,
        )


@pytest.mark.parametrize("kind", IncidentKind)
def test_without_a_round_nothing_is_voided_and_while_money_is_on_its_way_nothing_is_changed(kind: IncidentKind) -> None:
    assert set(incidents.allowed(kind, IncidentPhase.IDLE, BANKED)) == {"resume", "unfounded"}
    for phase in (IncidentPhase.FINAL, IncidentPhase.PAST):
        assert set(incidents.allowed(kind, phase, BANKED)) == {"stands", "unfounded"}


def test_of_a_hand_of_a_match_that_is_over_nothing_is_put_right_but_of_the_match() -> None:
    later = Standing("t.3", Stage.PLAYING, paused=False)
    phases = [
        incidents.phase_of(Incident("t", about, IncidentKind.SYSTEM_FAULT, "x", "", "sue"), GAMES[game], later)
        for game, about in (("gin_rummy", "t.2"), ("gin_rummy", "t.m1"), ("three_patti", "t.2"))
    ]
    assert phases == [IncidentPhase.HAND_OVER, IncidentPhase.OVER, IncidentPhase.OVER]
    of_hand = incidents.allowed(IncidentKind.SYSTEM_FAULT, IncidentPhase.HAND_OVER, GAMES["gin_rummy"])
    assert set(of_hand) == {"stands", "unfounded"}


@pytest.mark.parametrize("phase", COLUMNS)
def test_what_the_table_allows_is_done_and_what_it_does_not_changes_nothing(phase: IncidentPhase) -> None:
    for kind in IncidentKind:
        for resolution in Resolution:
            pit = Pit().to(phase)
            pit.report(kind=kind, **({"round": "t.1"} if phase == "over" else {}))
            before = dict(pit.house.streams)
            answer = pit.resolve("sue", resolution)
            if resolution not in allowed()[kind, phase]:
                assert answer.rule == "ResolutionNotAllowed", (kind, resolution)
                assert answer.facts["allowed"] == tuple(incidents.allowed(kind, phase, BANKED))
            elif phase == "over" and resolution in ("void", "correct"):
                assert answer.rule == "ProposalNeeded"
            else:
                done = [] if phase == "over" else [ON_TABLE[resolution.name]]
                assert names(answer) == ["Resolved", *done], (kind, resolution)
                continue
            changed = {name for name, stream in pit.house.streams.items() if stream != before.get(name)}
            assert changed == {"refused:sue"}  # what one person tried is on record


# --- Reporting ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reporter", "phase"), [("dan", "playing"), ("sue", "betting"), ("ops", "idle")])
def test_a_report_about_what_is_on_pauses_the_table_in_the_same_breath(reporter: str, phase: str) -> None:
    pit = Pit().to(phase)
    answer = pit.report(reporter, "stream_lost", video="cam-2 08:14")
    assert names(answer) == ["Reported", "RoundPaused"]
    assert (pit.paused, pit.stage) == (True, phase)
    assert pit.table.reason == "stream lost (incident i)"  # to everybody; what is written of it is for staff
    told = pit.incident
    assert (told.table, told.round, told.by) == ("t", None if phase == "idle" else "t.1", reporter)
    assert {row.round for row in pit.house.rows[-2:]} == {told.round}
    assert {(row.actor, row.command) for row in pit.house.rows[-2:]} == {(reporter, f"k{pit.sent}")}


def test_a_table_that_is_paused_already_stays_as_it_is() -> None:
    pit = Pit().to("playing")
    pit.does("sue", "Pause", reason="a word")
    assert names(pit.report()) == ["Reported"]
    assert pit.table.reason == "a word"


@pytest.mark.parametrize("phase", ["final", "over"])
def test_a_result_stands_while_it_is_looked_into(phase: str) -> None:
    pit = Pit().to(phase)
    assert names(pit.report(round="t.1")) == ["Reported"]
    assert not pit.paused


def test_a_report_about_a_round_that_is_over_does_not_hold_up_the_next_one() -> None:
    pit = Pit().to("over")
    pit.tick()
    assert (pit.stage, names(pit.report(round="t.1"))) == ("betting", ["Reported"])
    assert not pit.paused


def test_a_round_is_of_the_table_that_is_named_and_the_table_is_there() -> None:
    pit = Pit().to("playing")
    assert pit.report(round="u.1") == Refused("AnotherTable", {"table": "u"})
    assert pit.report(table="u").rule == "UnknownTable"
    assert pit.resolve("sue", "void").rule == "UnknownIncident"


def test_a_closed_table_can_be_written_of() -> None:
    pit = Pit().to("over")
    pit.does("sue", "DrainTable")
    pit.tick()
    assert names(pit.report(kind="deck_count")) == ["Reported"]
    assert pit.resolve("sue", "resume").facts["phase"] == "past"
    assert names(pit.resolve("sue", "stands")) == ["Resolved"]


def test_notes_are_added_also_later_and_not_without_end() -> None:
    pit = Pit().to("playing")
    pit.report()
    pit.resolve("sue", "rescan")
    for number in range(incidents.NOTES_MAX):
        assert names(pit.send("dan", INCIDENT + "i", AddNote(f"look {number}"))) == ["Noted"]
    assert pit.send("dan", INCIDENT + "i", AddNote("one more")).rule == "TooManyNotes"


# --- Resolving ----------------------------------------------------------------------------------------------------


def test_nobody_voids_what_he_reported_himself() -> None:
    pit = Pit().to("playing")
    pit.report("sue", "deck_count")
    assert pit.resolve("sue", "void") == Refused("SecondPersonNeeded", {})
    assert (pit.house.rows[-1].stream, pit.paused, pit.cash) == ("refused:sue", True, 500)
    assert names(pit.resolve("sid", "void")) == ["Resolved", "RoundCancelled"]
    pit.send("platform", WALLET + "ann", SettleBettor("t.1"))
    assert (pit.cash, pit.incident.resolution, pit.incident.resolved_by) == (1_000, "void", "sid")


def test_a_round_is_scanned_again_from_the_first_card() -> None:
    pit = Pit().to("playing")
    pit.report()
    assert names(pit.resolve("sue", "rescan")) == ["Resolved", "RescanOrdered"]
    assert (pit.table.cards, pit.table.round.rescanned) == ((), "wrong card (incident i)")
    pit.scan("As 3h Ad 7c Ac 9d")
    assert names(pit.does("dan", "ConfirmResult", round="t.1", winner="player_a")) == ["RoundResulted"]


def test_a_table_that_deals_by_itself_has_nothing_to_scan_and_the_incident_stays_open() -> None:
    pit = Pit("rng").to("betting")
    pit.house.now += 16 * SECOND
    pit.report(kind="system_fault")
    assert pit.resolve("sue", "rescan").rule == "ResolutionNotAllowed"
    assert pit.incident.resolution is None
    assert names(pit.resolve("sue", "void")) == ["Resolved", "RoundCancelled"]


def test_what_somebody_resumed_by_hand_is_only_written_down() -> None:
    pit = Pit().to("playing")
    pit.report(kind="stream_lost")
    pit.does("sue", "Resume")
    assert names(pit.resolve("sue", "resume")) == ["Resolved"]


def test_what_was_resolved_is_not_resolved_again() -> None:
    pit = Pit().to("playing")
    pit.report(kind="stream_lost")
    pit.resolve("sue", "resume")
    for resolution in ("void", "unfounded"):
        assert pit.resolve("sid", resolution) == Refused("IncidentResolved", {"resolution": "resume"})


def test_once_the_clock_has_cancelled_the_round_nothing_is_left_but_to_say_so() -> None:
    pit = Pit().to("playing")
    pit.report(kind="system_fault")
    pit.tick()
    assert pit.stage == "final"
    assert pit.resolve("sue", "void").facts["phase"] == "final"
    assert names(pit.resolve("sue", "stands")) == ["Resolved"]


def test_a_round_that_is_over_is_corrected_by_two_persons_only() -> None:
    pit = Pit().to("over")
    pit.report(round="t.1")
    for resolution in ("correct", "void"):
        assert pit.resolve("sue", resolution) == Refused("ProposalNeeded", {"round": "t.1"})
    by_two = ResolveByProposal(Resolution.VOID, "t.1", "as we agreed", "sue", "0123456789abcdef")
    assert names(pit.send("sid", INCIDENT + "i", by_two)) == ["Resolved"]
    assert (pit.incident.resolved_by, pit.incident.proposal) == ("sue", "0123456789abcdef")


def test_a_proposal_about_another_round_resolves_nothing() -> None:
    pit = Pit().to("over")
    pit.report(round="t.1", kind="late_bet")
    other = ResolveByProposal(Resolution.VOID, "t.2", "so", "sue", "0123456789abcdef")
    assert pit.send("sid", INCIDENT + "i", other).rule == "IncidentOfAnotherRound"
    same = msgspec.structs.replace(other, round="t.1")
    assert pit.send("sid", INCIDENT + "i", same).rule == "ResolutionNotAllowed"  # a late bet voids no round


# --- Rounds that are over ------------------------------------------------------------------------------------------


def propose(pit: Pit, basis: Basis, round_id: str = "t.1", incident: str = "i") -> Any:
    asked = Resettle(round_id, basis, "by the video", incident)
    return pit.send("ops", PROPOSAL + f"p{pit.sent}", Propose(asked))


def approve(pit: Pit, who: str = "sue") -> Any:
    last = next(row.stream for row in reversed(pit.house.rows) if row.type == "proposal.Proposed")
    return pit.send(who, last, Approve())


@pytest.mark.parametrize("basis", [Corrected(parse("As 2h Ad 2c Kc 9d")), Void()])
def test_what_two_persons_want_resettles_the_round_and_resolves_the_incident_in_one_breath(basis: Basis) -> None:
    pit = Pit().to("over")
    pit.report(round="t.1")
    assert names(propose(pit, basis)) == ["Proposed"]
    assert (pit.incident.resolution, approve(pit, "ops").rule) == (None, "SecondPersonNeeded")
    assert names(approve(pit)) == ["Approved", "Opened", "Resolved"]
    told = pit.incident
    assert told.resolution == ("correct" if isinstance(basis, Corrected) else "void")
    assert (told.resolved_by, pit.house.state(RESETTLEMENT + "t.1").basis) == ("ops", basis)
    assert propose(pit, Void()).rule == "ResettlementIsOn"


@pytest.mark.parametrize(
    ("kind", "about", "round_id", "rule"),
    [
        ("late_bet", "i", "t.1", "ResolutionNotAllowed"),  # one bet voids no round for all
        ("wrong_card", "j", "t.1", "UnknownIncident"),
        ("wrong_card", "i", "t.2", "RoundNotSettled"),
    ],
)
def test_what_the_incident_does_not_allow_cannot_even_be_proposed(
    kind: str, about: str, round_id: str, rule: str
) -> None:
    pit = Pit().to("over")
    pit.report(kind=kind, round="t.1")
    assert propose(pit, Void(), round_id, about).rule == rule
    assert not any(row.stream.startswith((PROPOSAL, RESETTLEMENT)) for row in pit.house.rows)


def test_an_incident_that_was_resolved_meanwhile_is_not_resolved_again_by_the_approval() -> None:
    pit = Pit().to("over")
    pit.report(round="t.1")
    propose(pit, Void())
    pit.resolve("sid", "stands")
    assert approve(pit).rule == "IncidentResolved"
    assert pit.house.state(RESETTLEMENT + "t.1") is None


def test_a_round_that_was_voided_while_it_was_on_needs_no_second_voiding() -> None:
    pit = Pit().to("playing")
    pit.report(kind="deck_count")
    pit.resolve("sue", "void")
    pit.send("platform", WALLET + "ann", SettleBettor("t.1"))
    pit.send("platform", TABLE + "t", ConcludeRound("t.1"))
    pit.send("dan", INCIDENT + "j", ReportIncident("t", IncidentKind.MISDEAL, "besides", "t.1"))
    assert propose(pit, Void(), incident="j").rule == "RoundNotSettled"
    assert names(pit.send("sue", INCIDENT + "j", ResolveIncident(Resolution.STANDS, "void already"))) == ["Resolved"]


# --- Where players hold chips --------------------------------------------------------------------------------------


def seated(pit: Pit, table: str, amount: int) -> None:
    for player in ("bea", "cid", "dee"):
        pit.send("ops", WALLET + player, wallet.OpenWallet("EUR"))
        pit.send("ops", WALLET + player, wallet.Deposit(10_000_000, "EUR"))
        game = GAMES[pit.house.streams[TABLE + table].decider]
        asked = msgspec.convert({"type": "SitDown", "amount": amount}, game.commands[Role.PLAYER])
        submission = Submission(OPERATOR, player, Role.PLAYER, TABLE + table, asked, f"sit-{player}", text="{}")
        [answer] = pit.house.send([Entry(submission, b"", 0)])
        assert isinstance(answer, Accepted), answer
    for _ in range(8):
        if GAMES[pit.house.streams[TABLE + table].decider].round(pit.house.state(TABLE + table)):
            return
        pit.tick(table)
    raise AssertionError("no hand was dealt")


def test_where_players_hold_chips_the_hand_is_voided() -> None:
    pit = Pit()
    pit.open("p", "three_patti", currency="EUR")
    seated(pit, "p", 2_000_000)
    assert names(pit.report("sue", "exposed_card", table="p")) == ["Reported", "RoundPaused"]
    assert pit.resolve("sid", "void_match").rule == "ResolutionNotAllowed"  # a game without matches
    assert names(pit.resolve("sid", "void"))[:2] == ["Resolved", "RoundCancelled"]


@pytest.mark.parametrize(("resolution", "ended"), [("void", "RoundCancelled"), ("void_match", "MatchRefunded")])
def test_of_a_match_a_hand_is_voided_or_all_of_it(resolution: str, ended: str) -> None:
    pit = Pit()
    pit.open("g", "gin_rummy", currency="EUR", players=3)
    seated(pit, "g", 10_000)
    assert names(pit.report("sue", "misdeal", table="g")) == ["Reported", "RoundPaused"]
    answer = pit.resolve("sid", resolution)
    assert ended in names(answer)
    paid_back = sum(pit.house.state(WALLET + player).cash == 10_000_000 for player in ("bea", "cid", "dee"))
    assert paid_back == (3 if resolution == "void_match" else 0)

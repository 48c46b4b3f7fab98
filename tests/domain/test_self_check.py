"""What is recorded of the program's checks of itself, and what it is held against."""

import pytest

from domain import house, selfcheck
from domain.errors import Rejected
from domain.game import SECOND
from domain.selfcheck import AcceptManifest, CheckSelf, Found, ManifestAccepted, ManifestRecorded, Scope, SelfChecked

GOOD, BAD = "a" * 64, "b" * 64
NOON = 1_800_000_000 * SECOND
MINUTE = 60 * SECOND


class Told:
    """A house and what became of the commands it was sent."""

    def __init__(self) -> None:
        self.state = house.INITIAL
        self.now = NOON

    def sent(self, command: house.Command) -> list[house.Event]:
        events = house.decide(self.state, command, self.now)
        for event in events:
            self.state = house.evolve(self.state, event)
        return list(events)

    def found(self, digest: str, *, expected: str = "", asked: bool = False, **parts: str) -> list[house.Event]:
        return self.sent(CheckSelf((Found(Scope.CODE, digest, parts, expected, tuple(parts)),), asked))


def test_what_is_found_first_is_recorded_with_its_manifest_and_expected_from_then_on():
    told = Told()
    assert told.found(GOOD, file="f") == [
        ManifestRecorded(Scope.CODE, GOOD, {"file": "f"}),
        ManifestAccepted(Scope.CODE, "", GOOD, "the first that was found"),
        SelfChecked(Scope.CODE, GOOD, GOOD, 1, ("file",), NOON),
    ]
    [_, bad] = told.found(BAD)
    assert (bad.expected, bad.found, bad.holds) == (GOOD, BAD, False)


def test_workers_that_start_together_record_one_check_and_the_next_hour_has_its_own():
    told = Told()
    told.found(GOOD)
    told.now += 59 * MINUTE
    assert told.found(GOOD) == []
    told.now += MINUTE
    assert [type(event) for event in told.found(GOOD)] == [SelfChecked]


def test_two_that_find_different_things_in_turn_do_not_flood_the_log_either():
    told = Told()
    events = [event for _ in range(20) for digest in (GOOD, BAD) for event in told.found(digest)]
    assert [event.found for event in events if isinstance(event, SelfChecked)] == [GOOD, BAD]


def test_a_check_that_somebody_asked_for_is_always_recorded():
    told = Told()
    told.found(GOOD)
    assert [type(event) for event in told.found(GOOD, asked=True)] == [SelfChecked]


def test_what_was_found_can_be_accepted_and_what_never_was_cannot():
    told = Told()
    told.found(GOOD)
    told.found(BAD)
    with pytest.raises(Rejected) as refused:
        told.sent(AcceptManifest(Scope.CODE, "c" * 64, "why not"))
    assert refused.value.rule == selfcheck.Rule.NeverFound
    with pytest.raises(Rejected):
        told.sent(AcceptManifest(Scope.API, BAD, "of another scope"))
    accepted = told.sent(AcceptManifest(Scope.CODE, BAD, "release 2"))
    assert accepted == [ManifestAccepted(Scope.CODE, GOOD, BAD, "release 2")]
    assert told.sent(AcceptManifest(Scope.CODE, BAD, "again")) == []
    [now] = told.found(BAD)  # within the hour, but held against something else
    assert now.holds


def test_what_a_release_says_outdoes_what_was_accepted():
    told = Told()
    told.found(GOOD)
    [_, check] = told.found(BAD, expected="c" * 64)
    assert (check.expected, check.holds) == ("c" * 64, False)
    [accepted, check] = told.found(BAD, expected=BAD)
    assert accepted == ManifestAccepted(Scope.CODE, GOOD, BAD, "CROUPIER_EXPECTED_DIGEST")
    assert check.holds


def test_names_and_memory_are_bounded():
    told = Told()
    [*_, check] = told.found(GOOD, **{f"file{number}": "x" for number in range(100)})
    assert (check.differ, len(check.differing)) == (100, selfcheck.DIFFERING_MAX)
    for number in range(100):
        told.found(f"{number:064}")
    assert len(told.state.checks.found) == selfcheck.FOUND_MAX


def test_a_house_that_was_never_checked_reads_as_it_did_before_there_were_checks():
    from infra import codec

    assert codec.encode(house.House("Lotus")) == '{"type":"House","name":"Lotus","keys":[],"epoch":1}'

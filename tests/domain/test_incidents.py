"""Incidents: what the rules allow of each kind, as a table; who may resolve what; and what the game's table is told."""

import pytest

from domain import incidents
from domain.incidents import IncidentKind, IncidentPhase

ALLOWED = """
                betting                        playing                                     over
misdeal         void                           rescan void                                 void stands
exposed_card    void                           resume void                                 void stands
wrong_card      void                           rescan void                                 correct void stands
duplicate_card  resume void                    resume rescan void                          void stands
missing_card    resume void                    resume rescan void                          correct void stands
dropped_card    resume void                    resume rescan void                          correct void stands
deck_count      void                           void                                        void stands
stream_lost     resume void                    resume void                                 stands
late_bet        resume void                    resume void                                 stands
wrong_result    resume void                    resume rescan void                          correct void stands
system_fault    resume void                    resume rescan void                          correct void stands
other           resume void                    resume rescan void                          correct void stands
"""
"""Besides, whatever it was: unfounded; and where `void` is allowed while the round is on, `void_match`."""

COLUMNS = {IncidentPhase.BETTING: (16, 47), IncidentPhase.PLAYING: (47, 91), IncidentPhase.OVER: (91, 200)}
ROUND = "t.7"


def table() -> dict[tuple[IncidentKind, IncidentPhase], set[str]]:
    rows = ALLOWED.strip("\n").splitlines()[1:]
    return {
        (IncidentKind(row.split()[0]), phase): set(row[slice(*at)].split())
        for row in rows
        for phase, at in COLUMNS.items()
    }


def test_the_rules_allow_what_this_table_says_and_nothing_else() -> None:
    told = table()
    assert {kind for kind, _ in told} == set(IncidentKind)
    for (kind, phase), named in told.items():
        more = {"unfounded"} | ({"void_match"} if phase is not IncidentPhase.OVER else set())
        assert set(incidents.allowed(kind, phase)) == named | more, (kind, phase)


@pytest.mark.parametrize("kind", IncidentKind)
def test_without_a_round_nothing_is_voided(kind: IncidentKind) -> None:
    assert set(incidents.allowed(kind, IncidentPhase.IDLE)) == {"resume", "unfounded"}
    for phase in (IncidentPhase.FINAL, IncidentPhase.PAST):
        assert set(incidents.allowed(kind, phase)) == {"stands", "unfounded"}

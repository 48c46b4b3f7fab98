"""Whoever sends what a field cannot be is told what it can be."""

from typing import Any, Literal

import msgspec
import pytest

from domain.games.gin_rummy import commands as gin_rummy
from domain.incidents import IncidentKind, ReportIncident
from domain.proposals import Stage
from services.api import wanted
from services.api.bodies import decode
from services.api.disputes import NewRuling
from services.api.problems import Problem
from services.api.resettlements import NewResettlement

CASES: list[tuple[type, dict[str, Any], str, str]] = [
    (ReportIncident, {"table": "t", "kind": "fire", "words": "x"}, "kind", "It is one of misdeal, exposed_card,"),
    (ReportIncident, {"table": "t", "kind": "misdeal", "words": "a\nb"}, "words", "one line, not blank"),
    (ReportIncident, {"table": "t", "kind": "misdeal", "words": "x", "round": "7"}, "round", "`table-1.42`"),
    (ReportIncident, {"table": "t 1", "kind": "misdeal", "words": "x"}, "table", "1 to 64 of A-Z a-z 0-9 _ and -."),
    (NewResettlement, {"basis": {"type": "Wrong"}, "reason": "x"}, "basis.type", "It is one of Void, Corrected."),
    (NewResettlement, {"basis": {}, "reason": "x"}, "basis.type", "It is one of Void, Corrected."),
    (
        NewResettlement,
        {"basis": {"type": "Corrected", "cards": ["1x"]}, "reason": "x"},
        "basis.cards[0]",
        " As, 2s, 3s",
    ),
    (NewRuling, {"ruling": "upheld", "reason": "x", "evidence": 0}, "code", "It is one of by_the_rules, too_late,"),
]


@pytest.mark.parametrize(("shape", "body", "field", "told"), CASES)
def test_the_answer_says_which_field_and_what_it_may_be(shape: type, body: object, field: str, told: str) -> None:
    with pytest.raises(Problem) as raised:
        decode(msgspec.json.Decoder(shape), msgspec.json.encode(body))
    answer = raised.value.body
    assert answer.facts == {"field": field}
    assert told in answer.detail
    assert "regex" not in answer.detail


def test_a_place_that_is_not_there_has_no_choices() -> None:
    for place in ("", "nothing", "kind.deeper", "table[0]", "words"):
        assert wanted.choices(ReportIncident, place) == []


def test_a_value_that_several_commands_may_have_is_told_once() -> None:
    told = wanted.choices(gin_rummy.Draw | gin_rummy.Discard | gin_rummy.Knock, "card")
    assert (len(told), len(set(told))) == (52, 52)


def test_a_parameter_names_its_values() -> None:
    assert wanted.members(IncidentKind) == list(IncidentKind)
    assert wanted.members(Stage | None) == list(Stage)
    assert wanted.members(Literal["json", "csv"]) == ["json", "csv"]
    assert wanted.members(int | None) == []

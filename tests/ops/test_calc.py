"""`croupier calc` rules as the published files do, and says which line it could not read."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ops.calc import command

DATA = Path(__file__).parents[1] / "data"
THREE_CARD = {"a": ["As", "2h", "3d"], "b": ["Ks", "Qh", "Jd"]}

VERBS = {
    "three-card": ("three_card_pairs.json", ("winner", "category_a", "category_b", "class_a", "class_b")),
    "six-card": ("six_card_bonus.json", ("category",)),
    "teen-patti-20-20": ("teen_patti_2020_rounds.json", ("winner", "category_a", "category_b", "bonus", "returned")),
    "three-patti-bets": ("three_patti_betting.json", ("first_to_act", "pot_after_boot", "events", "end")),
}


def calc(verb: str, *lines: str) -> Result:
    return CliRunner().invoke(command, [verb], input="".join(line + "\n" for line in lines))


def answers(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("verb", VERBS)
def test_every_published_case_is_ruled_as_published(verb: str) -> None:
    file, normative = VERBS[verb]
    cases = json.loads((DATA / file).read_text())["cases"]
    assert len(cases) > 100
    assert answers(calc(verb, *map(json.dumps, cases))) == [{name: case[name] for name in normative} for case in cases]


def test_a_file_can_be_named_instead_of_stdin(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(json.dumps(THREE_CARD))
    assert answers(CliRunner().invoke(command, ["three-card", str(file)]))[0]["winner"] == "A"


def test_cards_may_be_written_either_way_and_blank_lines_are_passed_over() -> None:
    shouted = {hand: [card.upper() for card in cards] for hand, cards in THREE_CARD.items()}
    one, other = answers(calc("three-card", json.dumps(THREE_CARD), "", json.dumps(shouted)))
    assert one == other


def hand_with(events: str, players: int = 3, dealer: int = 2) -> str:
    return f'{{"players": {players}, "boot": 15, "dealer": {dealer}, "events": [{events}]}}'


def round_with(stakes: str) -> str:
    return '{"player_a": ["As","2h","3d"], "player_b": ["Ks","Qh","Jd"], "stakes": ' + stakes + "}"


@pytest.mark.parametrize(
    ("verb", "line", "said"),
    [
        ("three-card", "not json", "malformed"),
        ("three-card", '{"a": ["As","2h","3d"]}', "`b`"),
        ("three-card", '{"a": "As 2h 3d", "b": []}', "$.a"),
        ("three-card", '{"a": ["As","2h","3x"], "b": ["Ks","Qh","Jd"]}', "'3x'"),
        ("three-card", '{"a": ["As","2h",""], "b": ["Ks","Qh","Jd"]}', "''"),
        ("three-card", '{"a": ["As","2h"], "b": ["Ks","Qh","Jd"]}', "length 3"),
        ("three-card", '{"a": ["As","2h","As"], "b": ["Ks","Qh","Jd"]}', "three different cards"),
        ("three-card", '{"a": ["As","2h","3d"], "b": ["As","Qh","Jd"]}', "As cannot be in both hands"),
        ("six-card", '{"player_a": ["As","2h","3d"], "player_b": ["As","Qh","Jd"]}', "six different cards"),
        ("teen-patti-20-20", '{"player_a": ["As","2h","3d"], "player_b": ["Ks","Qh","Jd"]}', "`stakes`"),
        ("teen-patti-20-20", round_with('{"player_c": 100}'), "'player_c'"),
        ("teen-patti-20-20", round_with('{"tie": 0}'), ">= 1"),
        ("teen-patti-20-20", round_with('{"tie": 1.5}'), "`int`"),
        ("teen-patti-20-20", round_with('{"player_a": 30}'), "not a whole number"),
        ("three-patti-bets", hand_with("", players=2), ">= 3"),
        ("three-patti-bets", hand_with("", dealer=3), "the dealer is a seat from 0 to 2"),
        ("three-patti-bets", hand_with('{"seat": 0, "do": "raise"}'), "'raise'"),
        ("three-patti-bets", hand_with('{"seat": 0, "do": "bet", "amount": 14}'), "BelowMinimum"),
        ("three-patti-bets", hand_with('{"seat": 0, "do": "bet"}'), "amount"),
        ("three-patti-bets", hand_with('{"seat": 1, "do": "fold"}'), "NotYourTurn"),
        ("three-patti-bets", hand_with(",".join(f'{{"seat": {at}, "do": "fold"}}' for at in (0, 1, 2))), "over"),
    ],
)
def test_a_line_that_cannot_be_ruled_is_named_and_ends_the_command_with_1(verb: str, line: str, said: str) -> None:
    every = {"player_a": ["7s", "7h", "2d"], "player_b": ["8s", "8h", "3d"], "stakes": {}}
    good = json.dumps(THREE_CARD | every | json.loads(hand_with("")))
    result = calc(verb, good, line, good)
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 1, "what came before is answered, what comes after is not"
    assert result.stderr.startswith("Error: line 2: ")
    assert said in result.stderr

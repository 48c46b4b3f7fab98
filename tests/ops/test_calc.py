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
    "gin-deadwood": ("gin_deadwood.json", ("deadwood", "optimal_partitions")),
    "gin-discard": (
        "gin_discard.json",
        (
            "best_deadwood", "best_discards", "deadwood_after", "knockable_discards", "gin_discards",
            "best_deadwood_not_discarding_taken", "best_discards_not_taken",
        ),
    ),
    "gin-knock": (
        "gin_layoff.json",
        (
            "knocker_deadwood", "opponent_deadwood_no_layoff", "opponent_deadwood",
            "result", "winner", "points", "points_gin20",
        ),
    ),
}  # fmt: skip


KNOCK = {
    "knocker_melds": [["5s", "6s", "7s"], ["Jd", "Js", "Jc"]],
    "knocker_hand": ["5s", "6s", "7s", "Jd", "Js", "Jc", "2h", "2d", "3c", "3d"],
    "opponent_hand": ["8s", "9s", "9h", "9d", "Th", "Jh", "Kh", "Kd", "Ah", "As"],
}
ELEVEN = ["3s", "5s", "6s", "3h", "4h", "5h", "6h", "2d", "4c", "5c", "6c"]


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


def test_cards_of_gin_are_answered_as_they_were_written_in_the_order_of_the_deck() -> None:
    [low] = answers(calc("gin-discard", gin_hand(" ".join(reversed(ELEVEN)))))
    assert list(low["deadwood_after"]) == ELEVEN
    assert low["best_discards"] == low["best_discards_not_taken"] == low["knockable_discards"] == ["6s"]
    capital = [card.upper() for card in ELEVEN]
    [high] = answers(calc("gin-discard", gin_hand(" ".join(capital), taken_from_discard_pile="6s")))
    assert list(high["deadwood_after"].items()) == [
        (card.upper(), left) for card, left in low["deadwood_after"].items()
    ]
    assert (high["best_discards"], high["best_deadwood"]) == (["6S"], 10)
    assert "6S" not in high["best_discards_not_taken"]
    assert high["best_deadwood_not_discarding_taken"] > 10


def test_a_knock_is_scored_by_the_difference_or_undercut_also_at_equality() -> None:
    """G22, G23; open-spiel 2.0.2 gives nobody anything at equality."""
    knocks = answers(
        calc(
            "gin-knock",
            knock_with(),  # 8s and 9s are laid off, 9h Th Jh kept
            knock_with(opponent_hand=["8s", "9s", "Ts", "Kh", "Kd", "Ks", "Ah", "As", "Ad", "Tc"]),
            knock_with(opponent_hand=["8s", "9s", "Ts", "Kh", "Kd", "Ks", "Ah", "As", "Ad", "Ac"]),
        )
    )
    told = ("opponent_deadwood_no_layoff", "opponent_deadwood", "result", "winner", "points")
    assert [tuple(each[name] for name in told) for each in knocks] == [
        (48, 31, "knock", "knocker", 21),
        (10, 10, "undercut", "opponent", 10),
        (0, 0, "undercut", "opponent", 20),
    ]


def hand_with(events: str, players: int = 3, dealer: int = 2) -> str:
    return f'{{"players": {players}, "boot": 15, "dealer": {dealer}, "events": [{events}]}}'


def gin_hand(cards: str, **more: Any) -> str:
    return json.dumps({"hand": cards.split(), **more})


def knock_with(**more: Any) -> str:
    return json.dumps(KNOCK | more)


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
        ("gin-deadwood", "{}", "`hand`"),
        ("gin-deadwood", gin_hand("As 2s 3s"), "length >= 10"),
        ("gin-deadwood", gin_hand("As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js"), "length <= 10"),
        ("gin-deadwood", gin_hand("As 2s 3s 4s 5s 6s 7s 8s 9s 1s"), "'1s'"),
        ("gin-deadwood", gin_hand("As 2s 3s 4s 5s 6s 7s 8s 9s AS"), "10 different cards"),
        ("gin-deadwood", '{"hand": "As 2s"}', "$.hand"),
        ("gin-discard", gin_hand("As 2s 3s 4s 5s 6s 7s 8s 9s Ts"), "length >= 11"),
        ("gin-discard", gin_hand(" ".join(ELEVEN), taken_from_discard_pile="Ks"), "Ks, taken from the discard pile"),
        ("gin-discard", gin_hand(" ".join(ELEVEN), taken_from_discard_pile=""), "''"),
        ("gin-knock", json.dumps({**KNOCK, "opponent_hand": KNOCK["knocker_hand"]}), "cannot be in both hands"),
        ("gin-knock", knock_with(opponent_hand=["As"]), "length >= 10"),
        ("gin-knock", knock_with(knocker_melds=[["5s", "6s"]]), "5s 6s: no set"),
        ("gin-knock", knock_with(knocker_melds=[["8s", "9s", "Ts"]]), "8s 9s Ts: not in the hand"),
        ("gin-knock", knock_with(knocker_melds=[["5s", "6s", "7s"], ["7s", "6s", "5s"]]), "a card has one place"),
        ("gin-knock", knock_with(knocker_melds=[["5s", "6s", "7s"]]), "with 10 points or fewer, not with 40"),
        ("gin-knock", knock_with(knocker_melds=[[]]), "no set"),
        ("gin-knock", '{"knocker_melds": []}', "`knocker_hand`"),
        ("three-patti-bets", hand_with(",".join(f'{{"seat": {at}, "do": "fold"}}' for at in (0, 1, 2))), "over"),
    ],
)
def test_a_line_that_cannot_be_ruled_is_named_and_ends_the_command_with_1(verb: str, line: str, said: str) -> None:
    every = {"player_a": ["7s", "7h", "2d"], "player_b": ["8s", "8h", "3d"], "stakes": {}}
    hand = {"hand": ELEVEN if verb == "gin-discard" else ELEVEN[1:]}
    good = json.dumps(THREE_CARD | every | hand | KNOCK | json.loads(hand_with("")))
    result = calc(verb, good, line, good)
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 1, "what came before is answered, what comes after is not"
    assert result.stderr.startswith("Error: line 2: ")
    assert said in result.stderr

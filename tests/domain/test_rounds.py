"""Every written round, played again, tells what it told."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from domain.games import GAMES
from services.written_rounds import played

ROUNDS = Path(__file__).parents[1] / "rounds"


@pytest.mark.parametrize("file", sorted(ROUNDS.rglob("*.round")), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_written_round_played_again_tells_the_same(file: Path) -> None:
    text = file.read_text()
    assert played(text).splitlines() == text.splitlines(), "./croupier rounds shows the difference"


@pytest.mark.parametrize("game", GAMES)
def test_every_refusal_in_a_written_round_is_a_rule_of_the_game_the_wallet_or_the_house(game: str) -> None:
    pages = (
        f"domain.games.{game}.rules",
        "domain.wallet.rules",
        "domain.decider",
        "domain.incidents",
        "services.written_rounds",
    )
    known = {rule.name for page in pages for rule in import_module(page).Rule}
    text = "\n".join(file.read_text() for file in (ROUNDS / game).glob("*.round"))
    assert set(re.findall(r"^ +! (\w+)", text, re.MULTILINE)) <= known


def test_seeds_come_from_the_first_line_so_another_story_has_other_cards() -> None:
    text = "# a\ngame teen_patti_2020 at t\n0:00 operator OpenTable config=(currency=INR when_empty=deal)\n0:30 clock\n"
    assert played(text) == played(text)
    assert re.findall(r"card=\S+", played(text)) != re.findall(r"card=\S+", played(text.replace("# a", "# b")))


def test_what_a_line_gave_is_written_anew_and_what_it_says_is_kept() -> None:
    text = "# a remark\n\ngame teen_patti_2020 at t\n0:00 operator OpenTable config=(currency=XXX)\n        -> a lie\n"
    assert played(text) == (
        "# a remark\n\ngame teen_patti_2020 at t\n"
        "0:00    operator    OpenTable config=(currency=XXX)\n"
        "        ! UnknownCurrency currency=XXX\n"
    )

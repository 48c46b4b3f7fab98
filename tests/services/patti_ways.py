"""How 3 Patti is played at random."""

import random
from typing import Any

from domain.games.three_patti.rules import See, ShowPaidBy, SideShowWhen
from tests.services.table_players import Ways


def _config(chance: random.Random) -> dict[str, Any]:
    return {
        "currency": "EUR",
        "boot": 100,
        "chip": 10,
        "seats": 5,
        "buy_in_min": 1_000,
        "buy_in_max": 4_000,
        "max_stake": 800,
        "pot_limit": chance.choice([0, 3_000, 8_000]),
        "max_blind_turns": chance.choice([0, 2]),
        "show_paid_by": chance.choice(list(ShowPaidBy)).value,
        "sideshow_when": chance.choice(list(SideShowWhen)).value,
        "see": chance.choice(list(See)).value,
        "pause_seconds": 0,
        "rake_bps": 250,
        "rake_cap": 500,
    }


def _command(entry: dict[str, Any], _view: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    body: dict[str, Any] = {"type": entry["command"]}
    if "min" in entry:
        steps = (entry["max"] - entry["min"]) // entry["step"]
        body["amount"] = entry["min"] + entry["step"] * chance.choice([0, 0, chance.randint(0, steps)])
    if entry["command"] == "AnswerSideShow":
        body["accept"] = chance.random() < 0.7
    if entry["command"] == "GiveClientSeed":
        body["seed"] = "lucky"
    return body


LIKED = {
    "Bet": 8, "SeeCards": 6, "Show": 4, "SideShow": 15, "AnswerSideShow": 10, "ShortShow": 8, "Fold": 2, "SitDown": 8,
    "SitIn": 8, "TopUp": 1, "GiveClientSeed": 1, "SitOut": 0.2, "LeaveTable": 0.3,
}  # fmt: skip
MUST = frozenset(("Bet", "SeeCards", "Fold", "Show", "SideShow", "AnswerSideShow", "SitDown", "NotYourTurn"))
WRONG = ("Show", "SideShow", "SeeCards", "Fold", "ShortShow")
PATTI = Ways("three_patti", 5, _config, LIKED, _command, WRONG, MUST, "CancelRound")

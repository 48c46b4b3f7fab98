"""How Gin Rummy is played at random, but for what is needed to come to a knock."""

import random
from typing import Any

from domain.cards import DECK, Card
from domain.games.gin_rummy import melds
from domain.games.gin_rummy.rules import AdviserSees, LayOffBy, Oklahoma
from tests.services.table_players import Ways

WORD = "i-would-rather-"
"""How every advice begins: nobody but its two readers is told it."""


def _config(chance: random.Random) -> dict[str, Any]:
    return {
        "currency": "EUR",
        "entry": 1_000,
        "players": 3,
        "target": chance.choice([1, 40]),
        "layoff": chance.choice(list(LayOffBy)).value,
        "adviser_sees": chance.choice(list(AdviserSees)).value,
        "oklahoma": chance.choice(list(Oklahoma)).value,
        "pause_seconds": 0,
        "rake_bps": 250,
    }


def _hand(view: dict[str, Any]) -> tuple[Card, ...]:
    """Of whoever's turn it is, in that player's own view."""
    [mine] = [seat for seat in view["seats"] if seat["player"] == view["turn"]]
    return tuple(Card(card) for card in mine["cards"])


def _command(entry: dict[str, Any], view: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    body: dict[str, Any] = {"type": entry["command"]}
    match entry["command"]:
        case "SitDown":
            body["amount"] = entry["amount"]
        case "Draw":
            body["source"] = chance.choice(entry["sources"])
        case "Discard":
            barred = [card for card in _hand(view) if card.value not in entry["cards"]]
            best = melds.best_discards(_hand(view), barred[0] if barred else None)[0].value
            body["card"] = chance.choice([best, best, best, chance.choice(entry["cards"])])
        case "Knock":
            body["card"] = chance.choice(entry["knocks"])["card"]
        case "LayOff":
            body |= chance.choice(entry["lays"])
        case "SendAdvice":
            body["text"] = f"{WORD}{chance.choice(DECK).value}-{chance.randrange(10**9)}"
        case "GiveClientSeed":
            body["seed"] = "lucky"
        case _:
            pass
    return body


LIKED = {
    "Decline": 5, "Draw": 20, "Discard": 20, "Knock": 30, "LayOff": 10, "LayDown": 10, "SitDown": 30, "AskAdvice": 4,
    "SendAdvice": 6, "GiveClientSeed": 2, "LeaveTable": 0.1,
}  # fmt: skip
MUST = frozenset(("Decline", "Draw", "Discard", "Knock", "SendAdvice"))
GIN = Ways("gin_rummy", 3, _config, LIKED, _command, ("Decline", "LayDown", "AskAdvice"), MUST, "CancelMatch")

"""The floor that a bet is held against: one bare Litestar handler with a like body and a like answer, and no more."""

from typing import Any

from litestar import Litestar, post
from msgspec import Struct


class Wager(Struct):
    spot: str
    amount: int


class Bet(Struct):
    type: str
    round: str
    wagers: list[Wager]


class Answer(Struct):
    position: int
    at: int
    events: list[Any]
    view: dict[str, Any]
    balance: dict[str, Any]


@post("/v1/tables/bench/commands", status_code=200)
async def place(data: Bet) -> Answer:
    bet = {"id": "a-key-of-some-length", "round": data.round, "wagers": data.wagers}
    event = {"type": "wallet.BetStaked", "bet": bet, "amount": 100, "before": 1_000_000_000, "after": 999_999_900}
    view = {
        "phase": "betting",
        "round": data.round,
        "closes_at": 1_767_225_600_000_000,
        "bets": [bet],
        "seed_hash": "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8",
        "root": "9b74c9897bac770ffc029102a200c5de8b3ac0c2dd1c5f6bdf7e0d3d4c6b8a91",
    }
    balance = {
        "player": "p00001",
        "currency": "EUR",
        "exponent": 2,
        "cash": 999_999_900,
        "open_stakes": 100,
        "blocked": False,
    }
    return Answer(123_456, 1_767_225_590_000_000, [{"position": 123_456, "event": event}], view, balance)


app = Litestar([place], openapi_config=None, logging_config=None)

"""Answers told as they would be, for the OpenAPI document: values made up field by field would not add up to a round.

One round has bets of wallets (Teen Patti 20-20), one chips at a table (3 Patti), and ann played in both. The third
is the only hand of a match (Gin Rummy), which has the money.
"""

from typing import Any

import msgspec

from domain import disputes
from domain.cards import parse
from domain.game import Role
from domain.games import teen_patti_2020
from services.api.bets import Bettor, WagerOutcome, WagerResult
from services.api.disputes import DisputeAnswer, DisputePage
from services.api.players import HistoryPage, StatementPage
from services.api.rounds import RoundPage, RoundResult
from services.disputes import DisputeCase, DisputeEvent, DisputeView
from services.projections.rounds import Round
from services.projections.statement import Kind, Movement

_AT = 1_767_225_600_000_000
_SECOND = 1_000_000
_END = _AT + 20 * _SECOND
_LATER = _AT + 90 * _SECOND

_SHOWDOWN = {"showdown": teen_patti_2020.showdown(parse("Kd Ah Kc 9c 4s 3d"))}
_SHOW: dict[str, Any] = {
    "why": "show",
    "pot": 1_700,
    "rake": 85,
    "results": [
        {"seat": 1, "player": "ann", "paid": 700, "won": 1_615, "cards": ["Qd", "8d", "8s"]},
        {"seat": 2, "player": "bob", "paid": 700, "won": 0, "cards": ["Ac", "Td", "5h"]},
        {"seat": 4, "player": "cid", "paid": 300, "won": 0},
    ],
    "dealer": {"seat": 1, "player": "ann"},
}
_SCORED: dict[str, Any] = {
    "match": "table-3.m2",
    "why": "gin",
    "winner": "dee",
    "results": [
        {
            "player": "dee", "paid": 0, "won": 0, "points": 113, "total": 113,
            "cards": ["As", "2s", "3s", "7h", "7d", "7c", "Tc", "Jc", "Qc", "Kc"],
        },
        {
            "player": "eli", "paid": 0, "won": 0,
            "cards": ["5d", "9s", "Th", "Td", "Js", "Jh", "Qd", "Qs", "Kh", "4c"],
        },
    ],
    "roles": {"box": "dee", "captain": "eli"},
}  # fmt: skip
_WON: dict[str, Any] = {
    "match": "table-3.m2",
    "why": "target",
    "prize": 10_000,
    "rake": 500,
    "results": [
        {"player": "dee", "paid": 5_000, "won": 9_500, "total": 113},
        {"player": "eli", "paid": 5_000, "won": 0},
    ],
}


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _hand(player: str, seat: int, paid: int, won: int) -> Bettor:
    ended = WagerOutcome.WON if won else WagerOutcome.LOST
    wager = WagerResult("table-2.7", f"seat {seat}", paid, ended, None, won)
    return Bettor("table-2.7", player, "settled", paid, won, (wager,), _LATER, _LATER + 60 * _SECOND, 1_088, 1_099)


_BETS = Round(
    "table-1.42", "table-1", "teen_patti_2020", 42, "settled", _AT, _AT + 15 * _SECOND, _END, 1, 600, 975,
    _raw(_SHOWDOWN), 1_041, 1_052,
)  # fmt: skip
_CHIPS = Round(
    "table-2.7", "table-2", "three_patti", 7, "settled", _LATER, None, _LATER + 60 * _SECOND, 3, 1_700, 1_615,
    _raw(_SHOW), 1_088, 1_099,
)  # fmt: skip
_GIN = Round(
    "table-3.9", "table-3", "gin_rummy", 9, "settled", _LATER, None, _LATER + 70 * _SECOND, 0, 0, 0, _raw(_SCORED),
    1_090, 1_101,
)  # fmt: skip
_MATCH = Round(
    "table-3.m2", "table-3", "gin_rummy", 2, "settled", _LATER, None, _LATER + 70 * _SECOND, 2, 10_000, 9_500,
    _raw(_WON), 1_089, 1_102,
)  # fmt: skip
_ANNS_BETS = Bettor(
    "table-1.42", "ann", "settled", 600, 975,
    (
        WagerResult("bet-0001", "player_a", 500, WagerOutcome.WON, "0.95:1", 975),
        WagerResult("bet-0001", "tie", 100, WagerOutcome.LOST, "50:1", 0),
    ),
    _AT + 5 * _SECOND, _END, 1_042, 1_051,
)  # fmt: skip
_HANDS = (_hand("ann", 1, 700, 1_615), _hand("bob", 2, 700, 0), _hand("cid", 4, 300, 0))
_MOVED = (
    Movement(1_104, "ann", Kind.CASH_OUT, None, 5_915, 5_375, 11_290, "table-2", _LATER + 80 * _SECOND),
    Movement(1_060, "ann", Kind.BUY_IN, None, -5_000, 10_375, 5_375, "table-2", _END + 30 * _SECOND),
    Movement(1_051, "ann", Kind.SETTLEMENT, "table-1.42", 975, 9_400, 10_375, "", _END),
    Movement(1_042, "ann", Kind.BET, "table-1.42", -600, 10_000, 9_400, "bet-0001", _AT + 5 * _SECOND),
)

_HEARD = _AT + disputes.DAY
_DUE = _AT + 3 * disputes.DAY
_RULING = disputes.DisputeDecided(
    disputes.Ruling.UPHELD, disputes.RulingCode.SETTLEMENT_ERROR, "The tie was paid at the wrong odds.", 500, "INR",
    "7f3a90c1d2e4", "b81d02c9aa10", "4be0a2c17f93d658",
)  # fmt: skip
_SAID = (
    DisputeEvent(1_110, _AT, "ann", Role.PLAYER, disputes.DisputeOpened(
        "ann", "table-1.42", "bet-0001", "My bet on the tie was paid too little.", "ann", Role.PLAYER, _DUE)),
    DisputeEvent(1_140, _HEARD, "ann", Role.PLAYER, disputes.EvidenceAttached(
        "ann", Role.PLAYER, "The picture of my screen.", "mail 12", 64 * "0", _DUE)),
    DisputeEvent(1_207, _HEARD + _SECOND, "b81d02c9aa10", Role.OPERATOR, _RULING),
)  # fmt: skip
_DISPUTE = DisputeView(
    "9f2c4b7a1d0e3586", disputes.DisputeStage.UPHELD, "ann", "table-1.42", "bet-0001", "ann", _DUE, None, False, 1,
    _RULING, 1_207,
)  # fmt: skip
_OPEN = DisputeView(
    "9f2c4b7a1d0e3586", disputes.DisputeStage.OPEN, "ann", "table-1.42", "bet-0001", "ann", _DUE, None, False, 0,
    None, 1_110,
)  # fmt: skip

SAMPLES: dict[Any, Any] = {
    RoundPage: RoundPage((_GIN, _MATCH, _CHIPS, _BETS), None),
    RoundResult: RoundResult(_CHIPS, _HANDS, None),
    HistoryPage: HistoryPage((_HANDS[0], _ANNS_BETS), None),
    StatementPage: StatementPage(_MOVED, None),
    DisputePage: DisputePage((_DISPUTE,), None),
    DisputeCase: DisputeCase(_DISPUTE, _SAID, "/v1/rounds/table-1.42/replay", "/v1/rounds/table-1.42/dossier"),
    DisputeAnswer: DisputeAnswer(1_111, _AT, _OPEN),
}


def sample_of(kind: Any) -> Any:
    """The answer of this type as it reads in JSON; None if it has no story to tell."""
    return msgspec.json.decode(msgspec.json.encode(SAMPLES[kind])) if kind in SAMPLES else None

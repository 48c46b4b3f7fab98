"""The auditor of the fault scenarios finds what it is there to find: each kind of damage, done to a sound log."""

import hashlib
import json
import struct
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from domain.decider import SettleBettor, Submission
from domain.game import ConcludeRound, Role, TimeOut
from domain.games import GAMES
from domain.names import TABLE, WALLET
from domain.wallet import commands as wallet
from ops.fault_model import Audit, Model, _field, due, strength
from services.batch import Entry
from tests.domain.pocket_house import OPERATOR, PocketHouse

GAME = GAMES["teen_patti_2020"]
QUICK = {"currency": "EUR", "betting_seconds": 10, "card_interval_ms": 0, "pause_seconds": 0}

Rows = list[dict[str, Any]]


def told(house: PocketHouse, model: Model, actor: str, role: Role, stream: str, command: Any, key: str = "") -> None:
    game = GAME.name if type(command).__name__ == "OpenTable" else ""
    [answer] = house.send([Entry(Submission(OPERATOR, actor, role, stream, command, key, game), b"", 0)])
    if key:
        model.send(actor, key, type(command).__name__, msgspec.structs.asdict(command))
        became = "accepted" if hasattr(answer, "last") else "refused"
        model.learn(actor, key, became, getattr(answer, "last", None), getattr(answer, "rule", ""))


def story() -> tuple[Model, Rows]:
    """Two players bet on a round that is settled, one takes a bet back, one asks for too much; and a second round."""
    house, model = PocketHouse(), Model(OPERATOR)

    def ask(actor: str, role: Role, stream: str, fields: dict[str, Any], key: str = "") -> None:
        told(house, model, actor, role, stream, msgspec.convert(fields, GAME.commands[role]), key)

    def clock(stream: str, command: Any) -> None:
        told(house, model, "platform", Role.CLOCK, stream, command)

    for name in ("ann", "bob"):
        told(house, model, "ops", Role.OPERATOR, WALLET + name, wallet.OpenWallet("EUR"), f"open-{name}")
        told(house, model, "ops", Role.OPERATOR, WALLET + name, wallet.Deposit(1_000, "EUR"), f"fund-{name}")
    ask("ops", Role.OPERATOR, TABLE + "t", {"type": "OpenTable", "config": QUICK}, "table")
    clock(TABLE + "t", TimeOut())
    clock(TABLE + "t", TimeOut())
    for name, spot in (("ann", "player_a"), ("bob", "player_b"), ("bob", "tie")):
        placed = {"type": "PlaceBet", "round": "t.1", "wagers": [{"spot": spot, "amount": 300}]}
        ask(name, Role.PLAYER, TABLE + "t", placed, f"bet-{spot}")
    too_much = {"type": "PlaceBet", "round": "t.1", "wagers": [{"spot": "tie", "amount": 900}]}
    ask("ann", Role.PLAYER, TABLE + "t", too_much, "too-much")
    ask("bob", Role.PLAYER, TABLE + "t", {"type": "CancelBet", "bet": "bet-tie"}, "back")
    house.now = GAME.deadline(house.state(TABLE + "t"))
    clock(TABLE + "t", TimeOut())
    for name in ("ann", "bob"):
        clock(WALLET + name, SettleBettor("t.1"))
    clock(TABLE + "t", ConcludeRound("t.1"))
    clock(TABLE + "t", TimeOut())
    names = ("stream", "version", "type", "schema", "round", "command", "actor", "role", "at", "data", "hash")
    return model, [{"position": row.position, **{name: getattr(row, name) for name in names}} for row in house.rows]


def chained(rows: Rows) -> Rows:
    """Positions, versions and hashes made anew: a damage that a chain alone would not show."""
    versions: dict[str, int] = {}
    before = hashlib.sha256(_field("croupier-log-1") + _field(OPERATOR) + (1).to_bytes(8, "big")).digest()
    for position, row in enumerate(rows, 1):
        versions[row["stream"]] = versions.get(row["stream"], 0) + 1
        row |= {"position": position, "version": versions[row["stream"]]}
        numbers = struct.pack(">qqqq", position, row["version"], row["schema"], row["at"])
        words = ("stream", "type", "round", "command", "actor", "role", "data")
        before = hashlib.sha256(b"\x01" + before + numbers + b"".join(_field(row[word]) for word in words)).digest()
        row["hash"] = before
    return rows


def change(rows: Rows, type_name: str, **fields: Any) -> None:
    row = next(row for row in rows if row["type"].endswith(type_name))
    row["data"] = json.dumps(json.loads(row["data"]) | fields)


def at(rows: Rows, type_name: str) -> int:
    return next(index for index, row in enumerate(rows) if row["type"].endswith(type_name))


def test_a_sound_log_is_found_sound() -> None:
    model, rows = story()
    assert Audit(model, chained(rows)).run() == []
    assert {"wallet.BetsSettled", "wallet.BetCancelled", "refused.CommandRefused"} <= {row["type"] for row in rows}


def twice(rows: Rows, type_name: str) -> None:
    rows.insert(at(rows, type_name) + 1, dict(rows[at(rows, type_name)]))


def late_bet(rows: Rows) -> None:
    rows.insert(at(rows, "BettingClosed"), rows.pop(at(rows, "BetStaked")))
    rows[at(rows, "BettingClosed") - 1]["at"] += 60_000_000


def reused_seed(rows: Rows) -> None:
    opened = [json.loads(row["data"]) for row in rows if row["type"].endswith("RoundOpened")]
    last = max(index for index, row in enumerate(rows) if row["type"].endswith("RoundOpened"))
    rows[last]["data"] = json.dumps(opened[1] | {"seed": opened[0]["seed"]})


DAMAGE: dict[str, tuple[Callable[[Rows], None], str]] = {
    "a deposit is lost": (lambda rows: rows.pop(at(rows, "Deposited")), "nothing of it"),
    "a deposit is doubled": (lambda rows: twice(rows, "Deposited"), "events of"),
    "a settlement is doubled": (lambda rows: twice(rows, "BetsSettled"), "without an open bet"),
    "a settlement is lost": (lambda rows: rows.pop(at(rows, "BetsSettled")), "open stake at its end"),
    "a unit too much is paid": (lambda rows: change(rows, "BetsSettled", after=10_000), "what goes back"),
    "a bet is lost": (lambda rows: rows.pop(at(rows, "BetStaked")), "nothing of it"),
    "a bet comes after the close": (late_bet, "after the close"),
    "a refused bet acts all the same": (
        lambda rows: rows[at(rows, "BetStaked")].update(command="too-much"),
        "which InsufficientFunds refused",
    ),
    "a cancelled bet stays": (lambda rows: rows.pop(at(rows, "BetCancelled")), "nothing of it"),
    "nobody sent it": (lambda rows: rows[at(rows, "Deposited")].update(command="x"), "nobody sent it"),
    "the books of a round are wrong": (lambda rows: change(rows, "RoundSettled", returned=1), "returned of t.1"),
    "a deck is dealt twice": (reused_seed, "uses of the seed"),
    "a round is opened twice": (lambda rows: twice(rows, "RoundOpened"), "rounds t.1 before"),
    "a card is dealt twice": (lambda rows: twice(rows, "CardDealt"), "twice"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_each_damage_is_found(what: str) -> None:
    model, rows = story()
    damage, said = DAMAGE[what]
    damage(rows)
    faults = Audit(model, chained(rows)).run()
    assert any(said in fault for fault in faults), faults


def test_a_gap_a_changed_word_and_a_version_too_many_are_found() -> None:
    for column, value in (("position", 99), ("version", 99), ("data", "{}"), ("actor", "eve"), ("at", 7)):
        model, rows = story()
        chained(rows)[-1][column] = value
        assert Audit(model, rows).run()


def test_a_command_of_which_nobody_knows_what_became_is_a_fault() -> None:
    model, rows = story()
    model.send("ann", "lost", "PlaceBet", {})
    assert any("lost" in fault for fault in Audit(model, chained(rows)).run())


def test_its_own_ranking_agrees_with_the_published_pairs(request: pytest.FixtureRequest) -> None:
    pairs = json.loads((request.config.rootpath / "tests" / "data" / "three_card_pairs.json").read_text())["cases"]
    assert len(pairs) >= 1_000
    for pair in pairs:
        a, b = strength(pair["a"]), strength(pair["b"])
        assert ("A" if a > b else "B" if b > a else "tie") == pair["winner"], pair


def test_what_is_due_is_exact() -> None:
    assert [due("player_a", 100, winner) for winner in ("player_a", "tie", "player_b")] == [195, 100, 0]
    assert [due("tie", 100, winner) for winner in ("player_a", "tie", "player_b")] == [0, 5_100, 0]

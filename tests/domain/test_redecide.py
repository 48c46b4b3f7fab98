"""Commands decided again: a round that was altered in any place does not come to what is stored; and what would have
been under another pay table is told to the unit."""

import random
from functools import partial

import msgspec
import pytest
from msgspec.structs import replace

from domain.game import Role, Sealed
from domain.wallet.commands import Deposit, OpenWallet
from infra.eventlog import EventRow
from services.redecide import Redecided, redecide
from services.resettled_again import is_play
from tests.domain.decided_again import check_decided_again
from tests.domain.pocket_house import OPERATOR
from tests.domain.test_decider_properties import Telling, _name, story


@pytest.fixture(scope="module", params=[1, 11, 13, 19, 23])
def told(request: pytest.FixtureRequest) -> Telling:
    telling = Telling()
    for clock, commands in story(random.Random(request.param)):
        telling.turn(clock, commands)
    return telling


def again(told: Telling, rows: list[EventRow], **more: object) -> Redecided:
    sent = {_name(entry): entry.submission.text for entry, _ in told.sent}
    opened = partial(told.house.vault.open, OPERATOR)
    return redecide(OPERATOR, rows[0].round or "", rows, sent, opened, **more)  # type: ignore[arg-type]


def rounds(told: Telling) -> list[list[EventRow]]:
    names = dict.fromkeys(row.round for row in told.house.rows if row.round and not row.round.endswith(".77"))
    found = [[row for row in told.house.rows if row.round == name] for name in names]
    return [rows for rows in found if any(row.type == "wallet.BetsSettled" for row in rows)]


def numbers(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Where in a JSON value there is a number."""
    if isinstance(value, dict):
        return [found for name, each in value.items() for found in numbers(each, (*path, name))]
    if isinstance(value, list):
        return [found for at, each in enumerate(value) for found in numbers(each, (*path, at))]
    return [path] if isinstance(value, int) and not isinstance(value, bool) else []


def test_a_number_altered_anywhere_is_found(told: Telling) -> None:
    dice, tried = random.Random(1), 0
    assert rounds(told)
    for rows in rounds(told):
        assert again(told, rows).differences == ()
        for at in range(1, len(rows)):
            data = msgspec.json.decode(rows[at].data)
            for path in dice.sample(places := numbers(data), min(3, len(places))):
                *way, last = path
                altered = msgspec.json.decode(rows[at].data)
                inner = altered
                for step in way:
                    inner = inner[step]
                inner[last] += 1
                changed = replace(rows[at], data=msgspec.json.encode(altered).decode())
                assert again(told, [*rows[:at], changed, *rows[at + 1 :]]).differences, (rows[at].data, path)
                tried += 1
    assert tried > 8


def test_an_event_taken_out_or_told_twice_is_found(told: Telling) -> None:
    for rows in rounds(told):
        last = {"" if is_play(row) else row.stream: row for row in rows}
        """Nothing follows from the last event of the round or of an incident: that it is there, versions say."""
        for at in range(1, len(rows)):
            if rows[at] not in last.values():
                assert again(told, [*rows[:at], *rows[at + 1 :]]).differences, rows[at].type
            assert again(told, [*rows[: at + 1], *rows[at:]]).differences, rows[at].type


def test_under_another_pay_table_the_difference_is_told_to_the_unit(told: Telling) -> None:
    odds = {
        "pay_table": {"player_a": {"numerator": 2, "denominator": 1}, "player_b": {"numerator": 2, "denominator": 1}}
    }
    gained = expected = 0
    for rows in rounds(told):
        gained += sum(each.gained for each in again(told, rows, changes=odds).differences)
        for row in rows:
            for payout in msgspec.json.decode(row.data).get("payouts", ()):
                if payout["spot"] in ("player_a", "player_b") and payout["odds"] == "0.95:1":
                    expected += payout["staked"] * 3 - payout["returned"]
    assert gained == expected > 0


def test_impossible_changes_are_refused(told: Telling) -> None:
    with pytest.raises(msgspec.ValidationError):
        again(told, rounds(told)[0], changes={"pay_tabel": {}})


def test_a_round_without_its_opening_is_none(told: Telling) -> None:
    with pytest.raises(ValueError, match="have no opening"):
        again(told, rounds(told)[0][1:])


def test_what_is_sealed_is_left_aside_and_a_fault_of_ours_is_not(told: Telling) -> None:
    """A vault that stays closed raises LookupError itself; a KeyError is a bug, and must not pass for one."""
    sent = {_name(entry): entry.submission.text for entry, _ in told.sent}

    def closed(_round: str, _sealed: Sealed) -> bytes:
        raise LookupError

    def broken(_round: str, _sealed: Sealed) -> bytes:
        raise KeyError

    for rows in (each for each in rounds(told) if (each[0].round or "").startswith("rng")):
        left = redecide(OPERATOR, rows[0].round or "", rows, sent, closed)
        assert (left.left > 0, left.differences) == (True, ())
        assert "KeyError" in redecide(OPERATOR, rows[0].round or "", rows, sent, broken).differences[0].decided


def test_a_bet_that_is_taken_back_twice_is_refused_again_by_that_rule() -> None:
    """Whether there was such a bet in another round, the round's events do not tell; so either may have been."""
    telling = Telling()
    for command in (OpenWallet("EUR"), Deposit(10_000, "EUR")):
        telling.tell([telling.entry("wallet:ann", "ops", Role.OPERATOR, command)])
    for _ in range(2):
        telling.turn("due rng", [("TimeOut", "rng", 0)])
    telling.turn("a second", [("PlaceBet", "rng", "ann", [("tie", 100)], number) for number in (1, 2)])
    for _ in range(2):
        telling.turn("a second", [("CancelBet", "rng", "ann", 2)])
        telling.turn("a second", [("CancelBet", "rng", "ann", 52)])
    assert {row.event.rule for row in telling.house.rows if row.stream == "refused:ann"} == {"BetNotOpen"}
    while not any(row.type == "wallet.BetsSettled" for row in telling.house.rows):
        telling.turn("due rng", [("TimeOut", "rng", 0), ("Settle", "rng", "ann"), ("Conclude", "rng", 0)])
    assert check_decided_again(telling.house, {_name(entry): entry.submission.text for entry, _ in telling.sent}) > 5


def test_a_bet_in_a_currency_that_the_table_does_not_take_is_refused_again_by_that_rule() -> None:
    """The round's events do not tell in which currency a wallet is that never bet; the refusal does."""
    telling = Telling()
    for command in (OpenWallet("INR"), Deposit(10_000, "INR")):
        telling.tell([telling.entry("wallet:ina", "ops", Role.OPERATOR, command)])
    for _ in range(2):
        telling.turn("due rng", [("TimeOut", "rng", 0)])
    telling.turn("a second", [("PlaceBet", "rng", "ann", [("tie", 100)], 1)])
    telling.turn("a second", [("PlaceBet", "rng", "ina", [("tie", 100)], 2)])
    assert [row.event.rule for row in telling.house.rows if row.stream == "refused:ina"] == ["WrongCurrency"]
    while not any(row.type == "wallet.BetsSettled" for row in telling.house.rows):
        telling.turn("due rng", [("TimeOut", "rng", 0), ("Settle", "rng", "ann"), ("Conclude", "rng", 0)])
    assert check_decided_again(telling.house, {_name(entry): entry.submission.text for entry, _ in telling.sent}) > 5

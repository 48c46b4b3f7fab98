"""What earlier programs stored and sent, held against this one: a rule or a view that changes without a new number is
seen here, before any log of an operator's is decided again by it.

Red? If you meant to change what a game decides, raise its RULES_VERSION, keep the old function for rounds that were
opened under the old number, and store the new rounds: `python -m tests.stored`. If you meant to change what a viewer is
sent, raise its VIEW_NUMBER and do the same. The stored files themselves never change.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from domain.games import GAMES
from infra import codec
from infra.eventlog import EventRow
from services.redecide import redecide
from services.written_rounds import OPERATOR
from tests import stored
from tests.stored import Round

FILES = sorted(stored.STORED.glob("*.rules-*.jsonl.gz"))


def rules_number(game: str) -> int:
    """Which rounds are opened under today."""
    files = sorted((stored.HERE / "rounds" / game).glob("*.round"))
    return max(told.rules for file in files for told in stored.written(file))


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.name.removesuffix(".jsonl.gz"))
def rounds(request: pytest.FixtureRequest) -> list[Round]:
    return stored.read(request.param)


def test_every_rules_number_of_every_game_has_its_stored_rounds() -> None:
    expected = {stored.of_rules(name, number) for name in GAMES for number in range(1, rules_number(name) + 1)}
    assert set(FILES) == expected


def test_what_was_decided_is_decided_again_by_the_rules_of_its_day(rounds: list[Round]) -> None:
    commands = 0
    for told in rounds:
        again = redecide(OPERATOR, told.round, told.rows, told.commands, told.open)
        assert again.differences == (), f"{told.story} {told.round}"
        commands += again.commands - again.left
    assert commands > 100


def test_what_was_stored_is_written_as_it_is_read(rounds: list[Round]) -> None:
    for row in (row for told in rounds for row in told.rows):
        if codec.schema_of(row.type) == row.schema:
            assert codec.encode(row.event) == row.data


def test_a_rule_that_came_to_another_number_would_be_seen(rounds: list[Round]) -> None:
    seen = 0
    for told in rounds:
        changed = ((at, data) for at, row in enumerate(told.rows[1:], 1) if (data := one_more(row)) is not None)
        for at, data in islice(changed, 2):
            rows = (*told.rows[:at], msgspec.structs.replace(told.rows[at], data=data), *told.rows[at + 1 :])
            assert redecide(OPERATOR, told.round, rows, told.commands, told.open).differences, (told.round, data)
            seen += 1
    assert seen > 10


GIVEN = (".RoundOpened", ".LogResumed", ".CommandRefused")
"""Not decided again: what a round begins with, what the clock was told, what is held against decisions by its rule."""


def one_more(row: EventRow) -> str | None:
    """An event with its first number one higher, if it has any."""
    told = msgspec.json.decode(row.data)
    name = next((name for name, value in told.items() if type(value) is int), None)
    if name is None or row.type.endswith(GIVEN):
        return None
    return msgspec.json.encode({**told, name: told[name] + 1}).decode()


# --- Views --------------------------------------------------------------------------------------------------------


def sent(name: str) -> Iterator[tuple[Path, list[Round]]]:
    for number in range(1, rules_number(name) + 1):
        rounds = stored.read(stored.of_rules(name, number))
        yield stored.of_views(name, GAMES[name].view_number, number), rounds


@pytest.mark.parametrize("game", GAMES)
def test_what_was_sent_under_this_view_number_is_sent_again_byte_for_byte(game: str) -> None:
    for file, rounds in sent(game):
        assert file.exists(), "a new view number: store what it sends with `python -m tests.stored`"
        before = msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, str]])
        now = stored.digests(rounds)
        changed = [
            f"{told} to {viewer}"
            for told, viewers in before.items()
            for viewer, digest in viewers.items()
            if now[told][viewer] != digest
        ]
        assert not changed, "other bytes under the same view number"
        assert now == before

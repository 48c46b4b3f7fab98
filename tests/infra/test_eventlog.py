"""The chain's canonical form, written down once more: what was hashed years ago must hash the same for ever."""

import hashlib

from infra import eventlog
from infra.eventlog import EventRow

BEFORE = bytes(range(32))
ROW = EventRow(
    position=7,
    stream="wallet:ann",
    version=2,
    type="wallet.Deposited",
    schema=1,
    round=None,
    command="key-1",
    actor="käthe",
    role="operator",
    at=1_767_225_600_000_001,
    data='{"type":"wallet.Deposited","amount":5,"reference":"€"}',
    hash=b"",
)


def told(text: str | None) -> bytes:
    if text is None:
        return b"\0"
    return b"\1" + len(text.encode("utf-8")).to_bytes(4, "big") + text.encode("utf-8")


def number(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def test_an_event_is_hashed_field_by_field_in_the_order_of_the_form():
    numbers = number(7) + number(2) + number(1) + number(1_767_225_600_000_001)
    texts = [ROW.stream, ROW.type, ROW.round, ROW.command, ROW.actor, ROW.role, ROW.data]
    form = b"\1" + BEFORE + numbers + b"".join(told(text) for text in texts)
    assert eventlog.link(BEFORE, ROW) == hashlib.sha256(form).digest()


def test_the_hashes_of_one_event_and_of_a_beginning_never_change():
    assert eventlog.link(BEFORE, ROW).hex() == "6cda4fba8d4262e0f0f633d059bad872fc14e737358f0c8cb85a8457027433f8"
    assert eventlog.genesis("acme", 1).hex() == "14c347e58b4a2d620e549fac22da89bb17511e0bb7336fcdb4d336173589161e"


def test_null_and_empty_differ():
    empty = EventRow(7, "s", 2, "t", 1, "", "", "a", "r", 1, "{}", b"")
    null = EventRow(7, "s", 2, "t", 1, None, "", "a", "r", 1, "{}", b"")
    assert eventlog.link(BEFORE, empty) != eventlog.link(BEFORE, null)

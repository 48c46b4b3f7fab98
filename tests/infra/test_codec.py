"""How stored events come back when their shape has changed since, and what is not guessed at."""

import pytest

from domain.wallet.events import Deposited
from infra import codec

NOW = '{"type":"wallet.Deposited","amount":5,"reference":"r","before":0,"after":5}'
FIRST = '{"type":"wallet.Deposited","paid":5}'


@pytest.fixture
def deposits_changed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """At first a deposit was `paid`, then `amount` without a reference."""
    monkeypatch.setitem(codec.SCHEMAS, "wallet.Deposited", 3)
    lifted_once = codec.UPCASTERS, ("wallet.Deposited", 1), lambda old: {"type": old["type"], "amount": old["paid"]}
    lifted_again = (
        codec.UPCASTERS,
        ("wallet.Deposited", 2),
        lambda old: {**old, "reference": "", "before": 0, "after": 5},
    )
    monkeypatch.setitem(*lifted_once)
    monkeypatch.setitem(*lifted_again)


@pytest.mark.usefixtures("deposits_changed_twice")
def test_an_event_of_an_older_shape_is_lifted_step_by_step_to_the_one_of_now():
    assert codec.decode_event("wallet.Deposited", 1, FIRST) == Deposited(5, "", 0, 5)
    assert codec.decode_event("wallet.Deposited", 3, NOW) == Deposited(5, "r", 0, 5)
    assert codec.schema_of("wallet.Deposited") == 3
    assert codec.schema_of("wallet.Withdrawn") == 1


def test_an_event_of_a_newer_program_is_not_guessed_at():
    """Its fields may mean something else by now, though they still fit."""
    with pytest.raises(codec.NewerEvent, match=r"wallet\.Deposited.*2"):
        codec.decode_event("wallet.Deposited", 2, NOW)

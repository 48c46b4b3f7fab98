"""An operator's API keys: rotated for ever, and bounded at any time."""

import pytest

from domain import house
from domain.errors import Rejected
from domain.game import Role


def after(state: house.House, command: house.Command) -> house.House:
    for event in house.decide(state, command):
        state = house.evolve(state, event)
    return state


def minted(name: str) -> house.MintKey:
    return house.MintKey(name, Role.OPERATOR, "digest")


def test_keys_are_rotated_for_ever_in_a_state_that_stays_small(monkeypatch):
    monkeypatch.setattr(house, "KEYS_MAX", 5)
    state = after(house.INITIAL, minted("k0"))
    for turn in range(1, 20):
        state = after(state, minted(f"k{turn}"))
        state = after(state, house.RevokeKey(f"k{turn - 1}"))
    assert [key.id for key in state.keys if not key.revoked] == ["k19"]
    assert [key.id for key in state.keys] == ["k15", "k16", "k17", "k18", "k19"]


def test_no_key_that_still_opens_is_forgotten_and_there_are_not_too_many(monkeypatch):
    monkeypatch.setattr(house, "KEYS_MAX", 3)
    state = house.INITIAL
    for name in ("a", "b", "c"):
        state = after(state, minted(name))
    with pytest.raises(Rejected) as refused:
        house.decide(state, minted("d"))
    assert refused.value.rule == house.Rule.TooManyKeys
    state = after(after(state, house.RevokeKey("b")), minted("d"))
    assert [key.id for key in state.keys] == ["a", "c", "d"]

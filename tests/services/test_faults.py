"""Real faults: processes and servers killed, frozen and set back in the middle of load (the scenarios of `croupier
faults`), each held against an independent model, a fresh fold, the chain, and Redis."""

import asyncio

import pytest

from ops import faults
from ops.fault_house import House, open_house
from tests.services.ground import ground, http

__all__ = ["ground", "http"]

ONLY_BY_THE_VERB = {"restored-beside-newer-redis", "restored-beside-late-redis", "restored-by-hand"}
"""What they add to the others is shown in test_restored.py, in less time."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in faults.SCENARIOS if name not in ONLY_BY_THE_VERB])
async def test_nothing_is_lost_or_doubled(ground, http, name):
    house = await open_house(ground, name, http)
    try:
        async with asyncio.timeout(240):
            await faults.SCENARIOS[name](house)
    finally:
        await ground.mend()


async def test_a_scenario_that_does_not_hold_is_told_and_the_verb_fails(ground, http, monkeypatch):
    async def lies(house: House) -> None:
        """A client that claims what it was never told."""
        await house.open_players(1)
        house.model.send("ann", "key", "Deposit", {"amount": 5})
        house.model.learn("ann", "key", "accepted", 4)
        await house.judge()

    monkeypatch.setitem(faults.SCENARIOS, "lies", lies)
    house = await open_house(ground, "lies", http)
    assert not await faults._holds(ground, "lies", house)

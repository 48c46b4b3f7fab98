"""A state of an older shape is folded anew from the events, by `croupier migrate` or when it is met."""

import pytest

from domain.game import Role
from domain.wallet import commands as wallet
from infra import codec, eventlog
from services.batch import Accepted
from services.executor import NewerSchema
from services.refold import refold
from tests.services.test_round_life import House, clock, house

__all__ = ["clock", "house"]

NEXT = codec.STATE_SCHEMA + 1


async def _states(house: House) -> dict[str, tuple[int, object]]:
    rows = await house.pool.fetch(eventlog.SQL["streams_like"], "acme", "", "\x7f", 100)
    return {row["stream"]: (row["state_schema"], codec.decode_state(row["decider"], row["state"])) for row in rows}


async def test_migrate_folds_every_older_state_and_changes_none_of_them(house, clock, monkeypatch):
    await house.player("ann", 1_000)
    await house.open_table(betting_seconds=60)
    await house.bet("ann", await house.round_is_on(), player_a=300)
    await clock()
    before = await _states(house)
    monkeypatch.setattr(codec, "STATE_SCHEMA", NEXT)
    said: list[str] = []
    assert await refold(house.pool, said.append) == len(before)
    assert said
    after = await _states(house)
    assert {name: state for name, (_, state) in after.items()} == {name: state for name, (_, state) in before.items()}
    assert {schema for schema, _ in after.values()} == {NEXT}
    assert await refold(house.pool, said.append) == 0


async def test_the_executor_folds_what_it_meets_before_migrate_does(house, clock, monkeypatch):
    await house.player("ann", 1_000)
    await house.open_table(betting_seconds=60)
    round_id = await house.round_is_on()
    await clock()
    monkeypatch.setattr(codec, "STATE_SCHEMA", NEXT)
    assert isinstance(await house.bet("ann", round_id, player_a=300), Accepted)
    assert await house.cash("ann") == 700
    assert (await _states(house))["wallet:ann"][0] == NEXT


async def test_a_process_that_meets_a_newer_state_writes_nothing(house, monkeypatch):
    await house.player("ann", 1_000)
    await house.executor.close()
    house.executor._lanes.clear()  # as of a process that has kept nothing since others have written
    monkeypatch.setattr(codec, "STATE_SCHEMA", 0)
    tip = await eventlog.tip(house.pool, "acme")
    with pytest.raises(NewerSchema):
        await house.send("ops", Role.OPERATOR, "wallet:ann", wallet.Deposit(1, "EUR"))
    assert house.executor.newer_schema
    assert await eventlog.tip(house.pool, "acme") == tip

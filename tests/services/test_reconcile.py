"""Reconcile on real servers: it finds each planted difference, and nothing where there is none, also under load."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest
from anyio import to_thread
from click.testing import CliRunner
from msgspec.structs import replace

from infra import eventlog, postgres
from ops.reconcile import command
from services import reconcile_rounds, reconcile_streams
from services.projector import Projectors
from services.reconcile import Reconciled, reconcile
from services.relay import Relays
from tests.services.town import OPERATOR, Town, town


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        for name in ("ann", "bob"):
            await made.player(name, 10_000)
        yield made


@pytest.fixture
async def played(acme: Town) -> Town:
    await play(acme)
    return acme


async def play(acme: Town) -> None:
    """A round with a bet taken back, one refused, and two settled."""
    await acme.open_table()
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, key="one", player_a=1_000, player_b=1_000)
    await acme.bet("ann", round_id, key="two", tie=500)
    await acme.cancel_bet("ann", "two")
    await acme.bet("bob", round_id, six_card_bonus=300)
    await acme.bet("bob", round_id, tie=1_000_000)
    await acme.finish_round(round_id, ["ann", "bob"])
    await acme.project()


async def reconciled(acme: Town) -> tuple[Reconciled, list[str]]:
    said: list[str] = []
    done = await reconcile(acme.pool, OPERATOR, said.append)
    assert done.differences == len(said)
    return done, said


async def tamper(database: str, statement: str) -> None:
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("alter table events disable trigger all")
        assert (await owner.execute(statement)).rpartition(" ")[2] != "0", "nothing was changed"


async def test_where_nothing_differs_nothing_is_said(played):
    done, said = await reconciled(played)
    assert said == []
    tip = (await played.tip()).position
    assert done.position == tip
    assert done.compared == {
        "events": tip,
        "checkpoints": 4,
        "statement": 8,
        "audit": tip,
        "resettled": 0,
        "streams": 5,
        "balances": 2,
        "rounds": 1,
        "bettors": 2,
    }


PLANTED = {
    "a balance of a stream": (
        "update streams set balance = balance + 1 where stream = 'wallet:ann'",
        "balance of wallet:ann at version",
    ),
    "a state": (
        "update streams set state = replace(state::text, 'EUR', 'USD')::json where stream = 'wallet:ann'",
        "state of wallet:ann at version",
    ),
    "a version that is ahead": (
        "update streams set version = version + 1 where stream = 'wallet:ann'",
        "wallet:ann is stored at version",
    ),
    "a deadline": ("update streams set due = null where stream = 'table:t'", "due time of table:t"),
    "a state that is gone": ("delete from streams where stream = 'wallet:bob'", "wallet:bob has 4 events and no state"),
    "a state from nowhere": (
        "insert into streams select operator, 'wallet:eve', decider, version, position, state, state_schema, balance"
        " from streams where stream = 'wallet:bob'",
        "stream wallet:eve has a state and no events",
    ),
    "data of an event": (
        "update events set data = replace(data::text, '10000', '10001')::json where position = 3",
        "event 3 does not fit the chain",
    ),
    "an actor": ("update events set actor = 'eve' where position = 3", "event 3 does not fit the chain"),
    "a time": (
        "update events set at = at + interval '1 microsecond' where position = 3",
        "event 3 does not fit the chain",
    ),
    "an event that is gone": ("delete from events where position = 3", "position 3 is missing from the log"),
    "the last event that is gone": (
        "delete from events where position = (select max(position) from events)",
        "the events end at",
    ),
    "the head of the log": ("update logs set hash = sha256('x')", "hash at the log's head"),
    "a checkpoint's hash": (
        "update checkpoints set hash = sha256('x') where projection = 'audit'",
        "hash at the checkpoint of audit",
    ),
    "a checkpoint beyond the log": (
        "update checkpoints set position = 1000 where projection = 'audit'",
        "projection audit is at 1000",
    ),
    "a projection that stands still": (
        "update checkpoints set problem = 'so it is' where projection = 'audit'",
        "projection audit stands still",
    ),
    "a projected balance": ("update balances set balance = 7 where player = 'ann'", "balances of ann"),
    "projected stakes": ("update balances set open_stakes = 7 where player = 'ann'", "balances of ann"),
    "a projected block": ("update balances set blocked = true where player = 'ann'", "balances of ann"),
    "a balance that lags its checkpoint": (
        "update balances set position = 3, balance = 10000 where player = 'ann'",
        "balances has ann at 3, not yet the event at",
    ),
    "a balance that is gone": ("delete from balances where player = 'ann'", "balances lacks ann"),
    "a balance of nobody": (
        "insert into balances select operator, generation, 'eve', currency, balance, open_stakes, blocked, position"
        " from balances where player = 'ann'",
        "balances has eve, who has no wallet",
    ),
    "a movement": ("update statement set amount = 7 where position = 3", "statement at 3"),
    "a movement that is gone": ("delete from statement where position = 3", "statement at 3"),
    "a movement from nowhere": (
        "insert into statement select operator, generation, 1, player, kind, round, amount, before, after, reference,"
        " at from statement where position = 3",
        "statement at 1",
    ),
    "a movement beyond the checkpoint": (
        "insert into statement select operator, generation, 999, player, kind, round, amount, before, after, reference,"
        " at from statement where position = 3",
        "statement holds rows beyond its checkpoint",
    ),
    "who did it": ("update audit set actor = 'eve' where position = 3", "audit at 3"),
    "an entry that is gone": ("delete from audit where position = 3", "audit at 3"),
    "a round's sum": ("update rounds set staked = staked + 1", "round t.1"),
    "a round's result": ("update rounds set result = '{}'", "round t.1"),
    "a round that is gone": ("delete from rounds", "round t.1 is missing"),
    "a round from nowhere": (
        "insert into rounds select operator, generation, 't.9', \"table\", game, 9, status, opened_at, closed_at,"
        " ended_at, bettors, staked, returned, result, first, last from rounds",
        "rounds has t.9, which is not in the log",
    ),
    "a wager": (
        "update bettors set wagers = replace(wagers::text, '1000', '1001')::json where player = 'ann'",
        "bettor ann of round t.1",
    ),
    "a return": ("update bettors set returned = returned + 1 where player = 'bob'", "bettor bob of round t.1"),
    "a bettor that is gone": ("delete from bettors where player = 'bob'", "bettor bob of round t.1 is missing"),
    "a bettor from nowhere": (
        "insert into bettors select operator, generation, round, 'eve', status, staked, returned, wagers, placed_at,"
        " ended_at, first, last from bettors where player = 'bob'",
        "bettor eve of round t.1",
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
async def test_a_planted_difference_is_found(module_played, module_database, planted):
    """Each is planted in the same small casino, found, and taken back."""
    statement, said_so = PLANTED[planted]
    await snapshot(module_database)
    try:
        await tamper(module_database, statement)
        _, said = await reconciled(module_played)
        assert any(said_so in line for line in said), said
    finally:
        await bring_back(module_database)


TABLES = ("logs", "events", "streams", "checkpoints", "balances", "statement", "rounds", "bettors", "audit")


async def snapshot(database: str) -> None:
    async with postgres.connected(database, name="tamper") as owner:
        for table in TABLES:
            await owner.execute(f"create table before_{table} as select * from {table}")


async def bring_back(database: str) -> None:
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("alter table events disable trigger all")
        for table in TABLES:
            await owner.execute(f"delete from {table}")
            await owner.execute(f"insert into {table} select * from before_{table}")
            await owner.execute(f"drop table before_{table}")


@pytest.fixture(scope="module")
async def module_played(module_database: str, module_redis: str) -> AsyncGenerator[Town]:
    async with town(module_database, module_redis) as made:
        for name in ("ann", "bob"):
            await made.player(name, 10_000)
        await play(made)
        _, said = await reconciled(made)
        assert said == []
        yield made


@pytest.fixture(scope="module")
def module_redis(servers: Any) -> str:
    return servers.redis


async def test_money_that_was_made_is_found_though_chain_and_states_were_forged_too(played, database):
    """A forger who rewrites an event and its chain still meets the double entry."""
    rows = await eventlog.after(played.pool, OPERATOR, 0)
    before = eventlog.genesis(OPERATOR, 1)
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("alter table events disable trigger all")
        for row in rows:
            forged = replace(row, data=row.data.replace('"amount":10000,', '"amount":10001,'))
            before = eventlog.link(before, forged)
            await owner.execute(
                "update events set data = $2::json, hash = $3 where position = $1", row.position, forged.data, before
            )
        await owner.execute("update logs set hash = $1", before)
    _, said = await reconciled(played)
    assert any("by double entry" in line for line in said), said


async def test_a_projection_is_compared_at_its_own_checkpoint(played):
    await played.deposit("ann")
    await played.deposit("bob")
    _, said = await reconciled(played)
    assert said == []


async def test_under_load_nothing_false_is_said(acme):
    relays = Relays(acme.pool, acme.redis)
    acme.executor.wake = relays.wake
    tasks = [asyncio.create_task(part.run()) for part in (relays, Projectors(acme.pool, acme.redis))]
    await acme.open_table(betting_seconds=60)
    round_id = await acme.round_is_on()
    for name in ("cat", "dan"):
        await acme.player(name)

    async def load() -> None:
        number = 0
        while True:
            number += 1
            await acme.player(f"p{number}", 1_000)
            await asyncio.gather(*(acme.bet(name, round_id, key=f"b{number}", tie=100) for name in ("cat", "dan")))
            await asyncio.gather(*(acme.cancel_bet(name, f"b{number}") for name in ("cat", "dan")))

    loading = asyncio.create_task(load())
    try:
        positions: list[int] = []
        for _ in range(8):
            done, said = await reconciled(acme)
            assert said == []
            positions.append(done.position)
        assert positions == sorted(set(positions))
        assert not loading.done()
    finally:
        for task in (loading, *tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_logs_longer_than_a_page_are_compared_across_its_edges(played, database, monkeypatch):
    for module in (reconcile_streams, reconcile_rounds):
        monkeypatch.setattr(module, "PAGE", 2)
    monkeypatch.setattr("infra.eventlog.PAGE", 2)
    done, said = await reconciled(played)
    assert said == []
    assert (done.compared["streams"], done.compared["rounds"], done.compared["bettors"]) == (5, 1, 2)
    await tamper(database, "update bettors set returned = returned + 1 where player = 'bob'")
    await tamper(database, "update streams set balance = balance + 1 where stream = 'wallet:ann'")
    _, said = await reconciled(played)
    assert len(said) == 2


async def test_the_verb_prints_what_differs_and_exits_with_1(played, database):
    environment = {"CROUPIER_POSTGRES": played.dsn, "CROUPIER_REDIS": played.redis_url, "CROUPIER_SECRET": "A" * 44}

    async def run(*arguments: str) -> Any:
        return await to_thread.run_sync(lambda: CliRunner().invoke(command, arguments, env=environment))

    done = await run()
    assert done.exit_code == 0, done.output
    assert "acme: " in done.output
    assert "all agree, up to position" in done.output
    await tamper(database, "update balances set balance = 7 where player = 'ann'")
    done = await run("--operator", OPERATOR)
    assert done.exit_code == 1
    assert done.output.startswith("balances of ann: the log says")
    assert "1 DIFFER" in done.output
    assert (await run("--operator", "stranger")).exit_code == 1

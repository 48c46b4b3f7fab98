"""A batch takes no lock where nobody races for it; whatever comes between, nothing is lost or doubled."""

import asyncio

import pytest

from domain.wallet import commands
from infra import eventlog, postgres
from infra.vault import Vault
from services import writer as writer_module
from services.batch import Accepted, Refused
from services.executor import Executor
from services.writer import Writer
from tests.services.acme import asked, balance, dsn, executor, funded, pool, reconciled

__all__ = ["dsn", "executor", "pool"]


@pytest.fixture
def locks(monkeypatch):
    """One entry for each time that the lock of a log was taken."""
    taken = []
    begin = Writer._begin

    async def begun(self, operator):
        taken.append(operator)
        await begin(self, operator)

    monkeypatch.setattr(Writer, "_begin", begun)
    return taken


@pytest.fixture
def meanwhile(monkeypatch):
    """What is put here happens once, between the load and the append of a batch."""
    todo = []
    append = Writer._append

    async def appended(self, batch, until):
        if todo:
            await todo.pop()()
        return await append(self, batch, until)

    monkeypatch.setattr(Writer, "_append", appended)
    return todo


async def alone(executor):
    await funded(executor, "ann", 100)
    await executor.submit(asked("ann", commands.Deposit(1, "EUR")))


async def test_no_lock_is_taken_where_nobody_is_in_the_way(executor, dsn, locks):
    await alone(executor)
    other = Executor(dsn, Vault({}))
    for number in range(5):
        for each in (executor, other):
            answer = await each.submit(asked("ann", commands.Deposit(1, "EUR"), f"k{number}{each is other}"), b"f")
            assert isinstance(answer, Accepted)
    assert locks == []
    await other.close()


async def test_whoever_lost_a_race_takes_the_lock_until_nobody_comes_between_its_batches(
    executor, dsn, locks, meanwhile
):
    await alone(executor)
    other = Executor(dsn, Vault({}))
    deposit = asked("ann", commands.Deposit(1, "EUR"))
    meanwhile.append(lambda: other.submit(deposit))
    expected = [1, 1, 1, 1, 1, 0, 0]  # lost; somebody came between; nobody did, three times; so it is free again
    for number, times in enumerate(expected):
        locks.clear()
        if number == 1:
            await other.submit(deposit)
            locks.clear()
        await executor.submit(deposit)
        assert len(locks) == times, number
    await other.close()


async def test_what_another_process_did_between_load_and_append_is_decided_with(executor, dsn, pool, locks, meanwhile):
    await alone(executor)
    other = Executor(dsn, Vault({}))

    async def take_nearly_all():
        await other.submit(asked("ann", commands.Withdraw(100, "EUR")))
        locks.clear()

    meanwhile.append(take_nearly_all)
    answer = await executor.submit(asked("ann", commands.Withdraw(50, "EUR")))
    assert answer == Refused("InsufficientFunds", {"balance": 1, "needed": 50})
    assert locks == ["acme"]
    assert await balance(pool, "ann") == 1
    await reconciled(pool)
    await other.close()


async def test_the_same_key_sent_to_two_processes_at_once_acts_once(executor, dsn, pool, meanwhile):
    await alone(executor)
    other = Executor(dsn, Vault({}))
    deposit = asked("ann", commands.Deposit(7, "EUR"), "same")

    async def sent_to_the_other():
        assert not (await other.submit(deposit, b"f")).repeated

    meanwhile.append(sent_to_the_other)
    assert (await executor.submit(deposit, b"f")).repeated
    assert await balance(pool, "ann") == 108
    await other.close()


async def test_a_refusal_that_left_no_event_is_found_as_well(executor, dsn, pool, meanwhile):
    """It moves no position: only the time of the log, and the key."""
    await alone(executor)
    other = Executor(dsn, Vault({}))
    unknown = asked("stranger", commands.Deposit(7, "EUR"), "same")

    async def sent_to_the_other():
        before = await eventlog.tip(pool, "acme")
        assert await other.submit(unknown, b"f") == Refused("UnknownPlayer", {})
        assert (await eventlog.tip(pool, "acme")).position == before.position

    meanwhile.append(sent_to_the_other)
    assert await executor.submit(unknown, b"f") == Refused("UnknownPlayer", {}, repeated=True)
    await other.close()


async def test_a_batch_whose_time_has_passed_is_decided_again(executor, pool, locks, meanwhile, monkeypatch):
    """As when the process was frozen between its two messages."""
    await alone(executor)
    monkeypatch.setattr(writer_module, "LATE_US", 50_000)
    locks.clear()

    async def frozen():
        await asyncio.sleep(0.1)

    meanwhile.append(frozen)
    before = await pool.fetchval("select clock_timestamp()")
    answer = await executor.submit(asked("ann", commands.Deposit(1, "EUR")))
    assert answer.at > before + 100_000
    assert locks == ["acme"]


async def test_a_log_taken_back_to_an_earlier_state_in_between_is_noticed(executor, database, locks, meanwhile):
    """The same position, and another epoch: as after a restore that a worker has seen."""
    await alone(executor)
    locks.clear()

    async def renewed():
        async with postgres.connected(database, name="owner") as owner:
            await owner.execute("update logs set epoch = epoch + 1")

    meanwhile.append(renewed)
    assert isinstance(await executor.submit(asked("ann", commands.Deposit(1, "EUR"))), Accepted)
    assert locks == ["acme"]


async def test_what_is_sent_again_and_what_cannot_be_decided_goes_under_the_lock_and_comes_out_right(
    executor, pool, locks
):
    await alone(executor)
    deposit = asked("ann", commands.Deposit(7, "EUR"), "k")
    first = await executor.submit(deposit, b"f")
    locks.clear()
    again = await executor.submit(deposit, b"f")
    assert (again.repeated, again.events) == (True, first.events)
    with pytest.raises(Exception, match="cannot be written"):
        await executor.submit(asked("ann", commands.Deposit(1, "EUR", "half a character: \ud800"), "bad"))
    assert await balance(pool, "ann") == 108
    assert len(locks) >= 1


async def test_what_had_to_be_folded_anew_is_of_another_moment_so_that_only_the_lock_or_an_append_proves_it(
    executor, database, locks
):
    await alone(executor)
    deposit = asked("ann", commands.Deposit(7, "EUR"), "k")
    first = await executor.submit(deposit, b"f")
    executor._lanes["acme"]._writer._kept.clear()
    async with postgres.connected(database, name="owner") as owner:
        await owner.execute("update streams set state_schema = state_schema - 1")
    locks.clear()
    again = await executor.submit(deposit, b"f")
    assert (again.repeated, again.states) == (True, first.states)
    assert locks == ["acme"]
    locks.clear()
    executor._lanes["acme"]._writer._kept.clear()
    assert isinstance(await executor.submit(asked("ann", commands.Deposit(1, "EUR"))), Accepted)
    assert locks == []


async def test_those_who_come_while_the_loop_turns_come_along(executor, pool):
    await alone(executor)

    async def turns_later(turns):
        for _ in range(turns):
            await asyncio.sleep(0)
        return await executor.submit(asked("ann", commands.Deposit(1, "EUR")))

    answers = await asyncio.gather(*(turns_later(turns) for turns in (0, 2, 4, 6)))
    assert len({answer.at for answer in answers}) == 1

"""The executor on a real Postgres: keys, refusals, order, atomicity, sick processes."""

import asyncio

import asyncpg
import pytest

from domain import house
from domain.decider import Fence, Submission
from domain.game import Role
from domain.names import HOUSE
from domain.wallet import commands
from infra import eventlog, postgres
from infra.vault import Vault
from services import executor as executor_module
from services import writer as writer_module
from services.batch import Accepted, KeyReused, Refused, Unwritable
from services.executor import Busy, Executor, InDoubt, Unavailable, UnknownOperator
from services.operators import open_operator
from services.writer import Writer
from tests.services.acme import asked, balance, dsn, executor, funded, pool, reconciled

__all__ = ["dsn", "executor", "pool"]


async def test_an_accepted_command_is_in_the_log_with_dense_positions_and_a_chain_that_verifies(executor, pool):
    await funded(executor, "ann")
    answer = await executor.submit(asked("ann", commands.Withdraw(400, "EUR", "w1"), "k1"), b"f")
    assert isinstance(answer, Accepted)
    assert (answer.first, answer.last) == (4, 4)
    rows = await eventlog.after(pool, "acme", 0)
    assert [row.type for row in rows] == [
        "house.OperatorOpened",
        "wallet.Opened",
        "wallet.Deposited",
        "wallet.Withdrawn",
    ]
    assert [row.position for row in rows] == [1, 2, 3, 4]
    assert await reconciled(pool) == 4
    assert await balance(pool, "ann") == 600


async def test_the_same_key_fifty_times_at_once_acts_once(executor, pool):
    """S20.3: as a bet sent twice does; the first answer is repeated."""
    await funded(executor, "ann")
    deposit = asked("ann", commands.Deposit(7, "EUR"), "same")
    answers = await asyncio.gather(*(executor.submit(deposit, b"print") for _ in range(50)))
    assert [answer.repeated for answer in answers].count(False) == 1
    assert {(answer.first, answer.events) for answer in answers} == {(answers[0].first, answers[0].events)}
    assert await balance(pool, "ann") == 1_007
    again = await executor.submit(deposit, b"print")
    assert again.repeated
    assert (again.first, again.events) == (answers[0].first, answers[0].events)


async def test_a_key_with_another_body_is_no_command(executor, pool):
    await funded(executor, "ann")
    await executor.submit(asked("ann", commands.Deposit(7, "EUR"), "k"), b"one")
    assert await executor.submit(asked("ann", commands.Deposit(8, "EUR"), "k"), b"two") == KeyReused()
    assert await balance(pool, "ann") == 1_007


async def test_a_refusal_is_remembered_even_when_it_could_be_accepted_later(executor, pool):
    await funded(executor, "ann", 10)
    withdraw = asked("ann", commands.Withdraw(100, "EUR"), "k", text='{"amount":100}')
    first = await executor.submit(withdraw, b"f")
    assert first == Refused("InsufficientFunds", {"balance": 10, "needed": 100})
    await executor.submit(asked("ann", commands.Deposit(1_000, "EUR")))
    again = await executor.submit(withdraw, b"f")
    assert again == Refused("InsufficientFunds", {"balance": 10, "needed": 100}, repeated=True)


async def test_a_refusal_twice_in_one_batch_stays_a_refusal(executor, pool):
    await funded(executor, "ann", 10)
    withdraw = asked("ann", commands.Withdraw(100, "EUR"), "k")
    first, _, again = await asyncio.gather(
        executor.submit(withdraw, b"f"),
        executor.submit(asked("ann", commands.Deposit(1_000, "EUR"))),
        executor.submit(withdraw, b"f"),
    )
    assert isinstance(first, Refused)
    assert isinstance(again, Refused)
    assert again.repeated
    assert await balance(pool, "ann") == 1_010


async def test_a_refused_money_command_is_on_record_and_a_strangers_is_not(executor, pool):
    await funded(executor, "ann", 10)
    await executor.submit(asked("ann", commands.Withdraw(100, "EUR"), "k", text="as it was sent"), b"f")
    await executor.submit(asked("nobody", commands.Withdraw(100, "EUR"), "k2"), b"f")
    rows = [row for row in await eventlog.after(pool, "acme", 0) if row.type == "refused.CommandRefused"]
    assert [(row.stream, row.event.asked, row.event.rule) for row in rows] == [
        ("refused:ann", "as it was sent", "InsufficientFunds")
    ]


async def test_two_withdrawals_of_80_from_100_leave_20(executor, pool):
    await funded(executor, "ann", 100)
    answers = await asyncio.gather(
        *(executor.submit(asked("ann", commands.Withdraw(80, "EUR"), f"w{n}"), b"f") for n in range(2))
    )
    assert sorted(type(answer).__name__ for answer in answers) == ["Accepted", "Refused"]
    assert await balance(pool, "ann") == 20


async def test_a_fenced_key_never_acts(executor, pool):
    await funded(executor, "ann")
    fence = Submission("acme", "ops", Role.OPERATOR, "wallet:ann", Fence("late"))
    assert (await executor.submit(fence)).fenced
    assert (await executor.submit(fence)).fenced
    late = await executor.submit(asked("ann", commands.Deposit(5, "EUR"), "late"), b"f")
    assert late == Refused("Fenced", {})
    again = await executor.submit(asked("ann", commands.Deposit(5, "EUR"), "late"), b"f")
    assert again == Refused("Fenced", {}, repeated=True)
    assert await balance(pool, "ann") == 1_000
    record = [row.event.rule for row in await eventlog.after(pool, "acme", 0) if row.stream == "refused:ann"]
    assert record == ["Fenced"]


async def test_what_was_decided_cannot_be_fenced(executor):
    await funded(executor, "ann")
    await executor.submit(asked("ann", commands.Deposit(5, "EUR"), "k"), b"f")
    answer = await executor.submit(Submission("acme", "ops", Role.OPERATOR, "wallet:ann", Fence("k")))
    assert answer == Refused("AlreadyDecided", {"key": "k"})


async def test_a_failing_decision_touches_only_its_own_command(executor, pool):
    await funded(executor, "ann")
    results = await asyncio.gather(
        executor.submit(asked("ann", commands.Deposit(1, "EUR"))),
        executor.submit(asked("ann", object())),
        executor.submit(asked("ann", commands.Deposit(2, "EUR"))),
        return_exceptions=True,
    )
    assert isinstance(results[1], Exception)
    assert await balance(pool, "ann") == 1_003


async def test_a_row_that_the_database_cannot_take_is_split_from_its_batch(executor, pool):
    await funded(executor, "ann")
    bad = asked("ann", commands.Deposit(1, "EUR"), "bad", text="a NUL \x00 is no text")
    good = [asked("ann", commands.Deposit(1, "EUR"), f"good{n}") for n in range(20)]
    results = await asyncio.gather(
        *(executor.submit(each, b"f") for each in (*good[:10], bad, *good[10:])), return_exceptions=True
    )
    assert [type(result) for result in results if isinstance(result, Exception)] == [Unwritable]
    assert await balance(pool, "ann") == 1_020
    await reconciled(pool)


async def test_two_processes_write_one_log_without_a_gap(dsn, executor, pool):
    other = Executor(dsn, Vault({}))
    await funded(executor, "ann")
    await asyncio.gather(
        *(each.submit(asked("ann", commands.Deposit(1, "EUR"))) for each in (executor, other) for _ in range(300))
    )
    await other.close()
    assert await balance(pool, "ann") == 1_600
    assert await reconciled(pool) == 603


async def test_an_unknown_operator_and_a_full_queue_are_told(executor, monkeypatch):
    with pytest.raises(UnknownOperator):
        await executor.submit(Submission("nobody", "ops", Role.OPERATOR, HOUSE, house.OpenOperator("x")))
    monkeypatch.setattr(executor_module, "QUEUE_MAX", 3)
    calls = [executor.submit(asked("ann", commands.OpenWallet("EUR"))) for _ in range(8)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert any(isinstance(result, Busy) for result in results)


async def test_a_cut_connection_is_opened_again_and_nothing_is_lost_or_doubled(executor, pool, database):
    await funded(executor, "ann")

    async def cut() -> None:
        async with postgres.connected(database, name="cutter") as connection:
            for _ in range(20):
                await connection.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
                    "croupier executor",
                )
                await asyncio.sleep(0.01)

    async def insist(n: int) -> None:
        while True:
            try:
                await executor.submit(asked("ann", commands.Deposit(1, "EUR"), f"k{n}"), b"f")
            except executor_module.Unavailable:
                continue
            return

    await asyncio.gather(cut(), *(insist(n) for n in range(500)))
    assert await balance(pool, "ann") == 1_500
    await reconciled(pool)


async def test_a_session_that_holds_the_log_too_long_is_ended(executor, pool, dsn, monkeypatch):
    await funded(executor, "ann")
    frozen = await asyncpg.connect(dsn)
    await frozen.execute("begin")
    await frozen.execute("select from logs where operator = 'acme' for update")
    answer = await executor.submit(asked("ann", commands.Deposit(1, "EUR")))
    assert isinstance(answer, Accepted)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await frozen.execute("select 1")
    frozen.terminate()


async def test_those_who_wait_for_a_frozen_session_end_it_and_not_each_other(executor, pool, dsn, monkeypatch):
    await funded(executor, "ann")
    monkeypatch.setattr(writer_module, "LOCK_TIMEOUT_MS", 1_500)
    monkeypatch.setattr(writer_module, "IDLE_TIMEOUT_MS", 1_000)
    waiting = [Executor(dsn, Vault({})) for _ in range(4)]

    async def deposit(each: Executor) -> object:
        answer = await each.submit(asked("ann", commands.Deposit(1, "EUR")))
        assert isinstance(answer, Accepted)
        return each._lanes["acme"]._writer

    sessions = [await deposit(each) for each in waiting]
    frozen = await asyncpg.connect(dsn)
    await frozen.execute("begin; select from logs where operator = 'acme' for update")
    assert await asyncio.gather(*map(deposit, waiting)) == sessions
    assert await balance(pool, "ann") == 1_008
    frozen.terminate()
    for each in waiting:
        await each.close()


async def test_a_log_held_by_somebody_who_may_not_be_ended_is_unavailable_and_then_goes_on(
    dsn, pool, executor, database, monkeypatch
):
    await funded(executor, "ann")
    monkeypatch.setattr(executor_module, "LOCK_TIMEOUT_MS", 300)
    other = Executor(dsn, Vault({}))
    deposit = asked("ann", commands.Deposit(1, "EUR"), "k")
    async with postgres.connected(database, name="owner") as owner:
        async with owner.transaction():
            await owner.execute("select from logs where operator = 'acme' for update")
            with pytest.raises(executor_module.Unavailable):
                await other.submit(deposit, b"f")
        assert isinstance(await other.submit(deposit, b"f"), Accepted)
    await other.close()
    assert await balance(pool, "ann") == 1_001


async def test_a_commit_that_may_have_landed_is_never_told_as_anything_but_unknown(executor, pool, monkeypatch):
    """The connection is lost at the commit, and then the database has no room for another."""
    await funded(executor, "ann")
    write, attempts = writer_module.Writer.write, []

    async def landed_and_lost(session: object, *arguments: object) -> object:
        attempts.append(await write(session, *arguments))
        raise ConnectionResetError

    async def full(*_: object) -> object:
        raise asyncpg.TooManyConnectionsError("sorry, too many clients already")

    deposit = asked("ann", commands.Deposit(1, "EUR"), "k")
    with monkeypatch.context() as broken:
        broken.setattr(writer_module.Writer, "write", landed_and_lost)
        broken.setattr(writer_module.Writer, "open", full)
        await executor._lanes["acme"]._writer.close()
        executor._lanes["acme"]._writer = None
        with pytest.raises(executor_module.Unavailable):
            await executor.submit(deposit, b"f")
    with monkeypatch.context() as broken:
        broken.setattr(writer_module.Writer, "write", landed_and_lost)
        with pytest.raises(executor_module.Unavailable):
            await executor.submit(deposit, b"f")
    assert len(attempts) == 2
    again = await executor.submit(deposit, b"f")
    assert again.repeated
    assert await balance(pool, "ann") == 1_001


async def test_the_service_may_not_change_the_log(pool, executor):
    for statement in ("update events set data = '{}'", "delete from events", "truncate events"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await pool.execute(statement)


async def test_even_the_owner_may_not_change_the_log(database, executor):
    async with postgres.connected(database, name="owner") as owner:
        for statement in ("update events set data = '{}'", "delete from events", "truncate events"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="immutable"):
                await owner.execute(statement)


async def test_a_key_of_staff_is_minted_and_revoked_in_the_house_stream(executor, pool):
    def at_house(command: house.Command) -> Submission:
        return Submission("acme", "ops", Role.OPERATOR, HOUSE, command)

    await executor.submit(at_house(house.MintKey("k1", Role.STUDIO, "00" * 32)))
    await executor.submit(at_house(house.RevokeKey("k1")))
    assert await executor.submit(at_house(house.RevokeKey("k2"))) == Refused("UnknownKey", {"key": "k2"})


@pytest.mark.parametrize(("lost", "told"), [("load", InDoubt), ("append", Unavailable)])
async def test_what_may_have_landed_is_not_told_as_not_done_though_the_log_is_in_doubt_by_then(
    executor, dsn, pool, monkeypatch, lost, told
):
    sound = [True]

    async def is_known(operator, tip):
        return sound[0]

    fetch = Writer._fetch

    async def fetched(self, name, *arguments):
        rows = await fetch(self, name, *arguments)
        if name == lost and sound.pop():
            sound.append(False)
            self.connection.terminate()
            raise ConnectionError
        return rows

    monkeypatch.setattr(Writer, "_fetch", fetched)
    process = Executor(dsn, Vault({}), is_known)
    with pytest.raises(told):
        await process.submit(Submission("acme", "ann", Role.PLAYER, "table:nowhere", object(), "k"), b"f")
    landed = await pool.fetchrow(eventlog.SQL["command"], "acme", "ann", "k")
    assert (landed is not None) == (lost == "append")
    await process.close()


async def test_a_command_that_found_its_operator_opened_just_then_is_answered(dsn, pool, monkeypatch):
    """The lane was given up for the one before it, which found none."""
    monkeypatch.setattr(executor_module, "BATCH_MAX", 1)
    one, other, take = Executor(dsn, Vault({})), Executor(dsn, Vault({})), Writer._take
    taken = []

    async def opened_between(self, *arguments):
        taken.append(self)
        if len(taken) == 2:
            await open_operator(other, pool, "acme", "Acme Casino")
        return await take(self, *arguments)

    monkeypatch.setattr(Writer, "_take", opened_between)
    asks = (one.submit(asked("ann", commands.OpenWallet("EUR"))) for _ in range(2))
    first, second = await asyncio.gather(*asks, return_exceptions=True)
    assert isinstance(first, UnknownOperator)
    assert isinstance(second, Accepted)
    for each in (one, other):
        await each.close()

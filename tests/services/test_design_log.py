"""What the design says of the log and its writer, sentence by sentence, where no other page has a test of it."""

import asyncio
from collections import Counter

import asyncpg
import pytest

from domain.wallet import commands
from infra import eventlog, postgres
from infra.vault import Vault
from services.batch import Accepted, Entry, Refused
from services.executor import BATCH_MAX, PATIENCE_S, Executor
from services.operators import open_operator
from services.writer import IDLE_TIMEOUT_MS, LOCK_TIMEOUT_MS, Writer
from tests.services.acme import asked, balance, dsn, executor, funded, pool, reconciled

__all__ = ["dsn", "executor", "pool"]


async def test_a_flush_takes_all_that_wait_but_no_more_than_the_knee(executor, pool):
    await funded(executor, "ann")
    waiting = 2 * BATCH_MAX + 44
    await asyncio.gather(*(executor.submit(asked("ann", commands.Deposit(1, "EUR"))) for _ in range(waiting)))
    rows = await eventlog.after(pool, "acme", 3)
    assert sorted(Counter(row.at for row in rows).values()) == [44, BATCH_MAX, BATCH_MAX]


async def test_an_event_that_cannot_be_written_touches_only_its_own_command(executor, pool):
    """Its position, its link and what became of its stream are taken back with it."""
    await funded(executor, "ann")
    bad = asked("ann", commands.Deposit(500, "EUR", "half a character: \ud800"))
    good = [asked("ann", commands.Deposit(1, "EUR")) for _ in range(20)]
    results = await asyncio.gather(
        *(executor.submit(each) for each in (*good[:10], bad, *good[10:])), return_exceptions=True
    )
    assert [index for index, result in enumerate(results) if isinstance(result, Exception)] == [10]
    assert await balance(pool, "ann") == 1_020
    assert await reconciled(pool) == 23


async def test_the_record_of_a_refusal_says_when_it_was_asked_and_when_it_was_decided(executor, pool, database):
    await funded(executor, "ann", 10)
    executor._lanes["acme"]._writer.races = 1  # so it asks for the lock before it decides
    async with postgres.connected(database, name="holder") as holder:
        transaction = holder.transaction()
        await transaction.start()
        await holder.execute("select from logs where operator = 'acme' for update")
        waiting = asyncio.create_task(executor.submit(asked("ann", commands.Withdraw(100, "EUR"), "k"), b"f"))
        await asyncio.sleep(0.3)
        await transaction.rollback()
    assert isinstance(await waiting, Refused)
    record = (await eventlog.after(pool, "acme", 3))[0]
    assert record.type == "refused.CommandRefused"
    assert 250_000 < record.at - record.event.received < 10_000_000
    told = await pool.fetchrow(eventlog.SQL["command"], "acme", "ops", "k")
    assert (told["received"], told["decided"]) == (record.event.received, record.at)


async def test_the_time_of_the_log_never_goes_back(executor, pool, database):
    """Not even when the clock of the database does, as after a move to another machine."""
    await funded(executor, "ann")
    async with postgres.connected(database, name="owner") as owner:
        await owner.execute("update logs set at = at + interval '1 hour'")
    before = await eventlog.tip(pool, "acme")
    answer = await executor.submit(asked("ann", commands.Deposit(1, "EUR")))
    assert isinstance(answer, Accepted)
    assert answer.at == before.at
    assert (await eventlog.after(pool, "acme", 3))[0].at == before.at


def test_each_wait_ends_before_the_one_that_waits_for_it():
    assert IDLE_TIMEOUT_MS < LOCK_TIMEOUT_MS < PATIENCE_S * 1_000


async def test_a_writer_has_its_timeouts_and_every_statement_before_its_first_transaction(dsn, pool, executor):
    session = await Writer.open(dsn)
    settings = ("idle_in_transaction_session_timeout", "lock_timeout")
    assert [await session.connection.fetchval(f"show {name}") for name in settings] == ["2s", "5s"]
    prepared = "select count(*) from pg_prepared_statements where not statement like '%pg_prepared_statements%'"
    before = await session.connection.fetchval(prepared)
    deposit = Entry(asked("ann", commands.OpenWallet("EUR"), "k"), b"f", 0)
    await session.write("acme", Vault({}), [deposit])
    assert await session.connection.fetchval(prepared) == before
    await session.close()


async def test_the_cost_of_a_command_does_not_grow_with_the_log_though_it_began_on_an_empty_database(dsn, pool):
    """The trap: statements planned while the tables were empty went on to scan all that an operator has."""
    executor = Executor(dsn, Vault({}))
    assert await open_operator(executor, pool, "acme", "Acme Casino")
    sent = 600
    for player in ("ann", "bob", "cid"):
        await funded(executor, player)
    for n in range(sent // 3):  # one after the other: each is a flush of its own
        for player in ("ann", "bob", "cid"):
            await executor.submit(asked(player, commands.Deposit(1, "EUR"), f"{player}-{n}"), b"f")
    await executor.close()  # a session tells its statistics when it ends
    read = """
        select sum(pg_stat_get_tuples_returned(c.oid) + coalesce(i.read, 0)) from pg_class c
        left join (select indrelid, sum(pg_stat_get_tuples_returned(indexrelid)) as read from pg_index group by 1) i
            on i.indrelid = c.oid
        where c.relname in ('commands', 'streams', 'events')
    """
    for _ in range(100):
        rows_read = await pool.fetchval(read)
        if rows_read >= sent:
            break
        await asyncio.sleep(0.05)
    assert sent <= rows_read < 20 * sent


async def test_the_service_may_do_what_its_work_needs_and_no_more(pool, executor):
    may = """
        select table_name, string_agg(privilege_type, ' ' order by privilege_type)
        from information_schema.role_table_grants where grantee = 'croupier_service' group by table_name
    """
    granted = dict(await pool.fetch(may))
    assert granted.pop("migrations") == "SELECT"
    assert granted.pop("events") == granted.pop("commands") == "INSERT SELECT"
    assert granted.pop("logs") == granted.pop("streams") == "INSERT SELECT UPDATE"
    assert granted.pop("notes") == granted.pop("note_keys") == "INSERT SELECT"
    assert granted.pop("trees") == granted.pop("tiles") == "INSERT SELECT UPDATE"
    assert set(granted.values()) == {"DELETE INSERT SELECT UPDATE"}, "what is folded for reading can be thrown away"
    for statement in ("alter table events disable trigger all", "drop table events", "create table mine ()"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await pool.execute(statement)


async def test_no_answer_under_a_key_is_ever_changed(pool, executor):
    await funded(executor, "ann")
    await executor.submit(asked("ann", commands.Deposit(1, "EUR"), "k"), b"f")
    for statement in ("update commands set outcome = '{}'", "delete from commands"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await pool.execute(statement)


async def test_no_balance_below_zero_can_be_stored(executor, database):
    """A bug of ours would have to get past the database too."""
    await funded(executor, "ann")
    async with postgres.connected(database, name="owner") as owner:
        with pytest.raises(asyncpg.CheckViolationError):
            await owner.execute("update streams set balance = -1 where stream = 'wallet:ann'")


async def test_a_log_begins_at_the_hash_of_its_operator_and_epoch(executor, pool):
    first = (await eventlog.after(pool, "acme", 0, 1))[0]
    assert eventlog.link(eventlog.genesis("acme", 1), first) == first.hash
    assert len({eventlog.genesis(*of) for of in (("acme", 1), ("acme", 2), ("acm", 2), ("other", 1))}) == 4

"""Streams that a writer keeps between batches: never what somebody else has changed since, and never too many."""

import random

import msgspec
import pytest

from domain.decider import Stream
from domain.money import Bet
from domain.wallet import commands
from domain.wallet.state import Wallet
from infra import postgres
from infra.vault import Vault
from services import writer as writer_module
from services.batch import Accepted, Refused
from services.executor import Executor
from services.kept import BETS_MAX, Kept
from tests.services.acme import asked, balance, dsn, executor, funded, pool, reconciled

__all__ = ["dsn", "executor", "pool"]

BETS = tuple(Bet(f"b{number}", "t.1", ()) for number in range(BETS_MAX + 1))


@pytest.fixture
def loaded(monkeypatch):
    """The names of the streams that were read from the database, batch by batch."""
    names = []
    rows = writer_module.Writer._rows

    async def read(self, operator, streams, keys, kept=()):
        names.append(set(streams))
        return await rows(self, operator, streams, keys, kept)

    monkeypatch.setattr(writer_module.Writer, "_rows", read)
    return names


async def test_a_wallet_that_nobody_else_has_changed_is_read_once(executor, loaded):
    await funded(executor, "ann")
    loaded.clear()
    for number in range(3):
        await executor.submit(asked("ann", commands.Deposit(1, "EUR"), f"k{number}"))
    assert loaded == [set(), set(), set()]


async def test_what_another_process_did_is_seen_at_once(executor, dsn, loaded, pool):
    await funded(executor, "ann", 1_000)
    await executor.submit(asked("ann", commands.Deposit(1, "EUR")))
    other = Executor(dsn, Vault({}))
    await other.submit(asked("ann", commands.Withdraw(1_000, "EUR")))
    loaded.clear()
    assert await executor.submit(asked("ann", commands.Withdraw(2, "EUR"))) == Refused(
        "InsufficientFunds", {"balance": 1, "needed": 2}
    )
    assert loaded == [set(), {"refused:ann"}], "what changed comes with the first query"
    await other.close()


async def test_what_another_process_left_alone_is_kept(executor, dsn, loaded, pool):
    await funded(executor, "ann")
    await funded(executor, "bob")
    other = Executor(dsn, Vault({}))
    await other.submit(asked("ann", commands.Deposit(1, "EUR")))
    kept = executor._lanes["acme"]._writer._kept
    await executor.submit(asked("bob", commands.Deposit(1, "EUR")))
    assert set(kept.among(["wallet:ann", "wallet:bob"])) == {"wallet:bob"}
    loaded.clear()
    await executor.submit(asked("ann", commands.Deposit(1, "EUR")))
    assert loaded == [{"wallet:ann"}]
    assert await balance(pool, "ann") == 1_002
    await other.close()


async def test_two_processes_in_turn_never_read_twice_for_one_batch(executor, dsn, loaded):
    await funded(executor, "ann")
    other = Executor(dsn, Vault({}))
    for number in range(4):
        if number == 2:
            loaded.clear()
        for each in (executor, other):
            await each.submit(asked("ann", commands.Deposit(1, "EUR")))
    assert loaded == [set()] * 4
    await other.close()


@pytest.mark.parametrize("how", ["too much was written", "the log does not go on from there"])
async def test_where_it_is_not_known_what_changed_nothing_is_kept(executor, dsn, pool, loaded, monkeypatch, how):
    await funded(executor, "ann", 100)
    other = Executor(dsn, Vault({}))
    for _ in range(3):
        await other.submit(asked("ann", commands.Withdraw(10, "EUR")))
    await other.submit(asked("bob", commands.OpenWallet("EUR")))
    if how == "too much was written":
        monkeypatch.setattr(writer_module, "SINCE_MAX", 3)
    else:
        writer = executor._lanes["acme"]._writer
        writer.seen = msgspec.structs.replace(writer.seen, hash=bytes(32))
    loaded.clear()
    assert await executor.submit(asked("ann", commands.Withdraw(71, "EUR"))) == Refused(
        "InsufficientFunds", {"balance": 70, "needed": 71}
    )
    assert await balance(pool, "ann") == 70
    await other.close()


async def test_a_repetition_shows_its_streams_even_where_all_was_forgotten_only_now(executor, dsn, loaded, monkeypatch):
    """Nobody asks for them while it is decided: they are no part of it, only of its answer."""
    await funded(executor, "ann", 100)
    deposit = asked("ann", commands.Deposit(7, "EUR"), "k")
    first = await executor.submit(deposit, b"f")
    other = Executor(dsn, Vault({}))
    monkeypatch.setattr(writer_module, "SINCE_MAX", 3)
    await funded(other, "bob")
    await funded(other, "cat")
    loaded.clear()
    again = await executor.submit(deposit, b"f")
    assert again == msgspec.structs.replace(first, repeated=True)
    assert loaded[:2] == [set(), {"wallet:ann"}]
    await other.close()


@pytest.mark.parametrize("others", [3, 4, 5, 6])
async def test_what_changed_is_known_up_to_the_last_event_that_is_read_and_right_beyond(
    executor, dsn, loaded, monkeypatch, others
):
    """Five are read, the one that was seen last among them; if that many come, there may be more."""
    for player in ("ann", "bob"):
        await funded(executor, player, 100)
    other = Executor(dsn, Vault({}))
    monkeypatch.setattr(writer_module, "SINCE_MAX", 5)
    for _ in range(others):
        await other.submit(asked("ann", commands.Withdraw(10, "EUR")))
    loaded.clear()
    assert isinstance(await executor.submit(asked("bob", commands.Withdraw(100, "EUR"))), Accepted)
    assert loaded == ([set()] if others < 4 else [set(), {"wallet:bob"}])
    left = 100 - 10 * others
    answer = await executor.submit(asked("ann", commands.Withdraw(101, "EUR")))
    assert answer == Refused("InsufficientFunds", {"balance": left, "needed": 101})
    await other.close()


@pytest.mark.parametrize("seed", range(3))
async def test_processes_that_write_as_it_happens_agree_with_plain_numbers(executor, dsn, pool, seed):
    chance, others = random.Random(seed), [Executor(dsn, Vault({})) for _ in range(2)]
    cash = dict.fromkeys(("ann", "bob"), 100)
    for player in cash:
        await funded(executor, player, 100)
    for _ in range(60):
        player, amount, by = chance.choice(list(cash)), chance.randrange(1, 120), chance.choice([executor, *others])
        for _ in range(chance.choice([1, 1, 3])):
            takes = chance.random() < 0.6
            command = (commands.Withdraw if takes else commands.Deposit)(amount, "EUR")
            answer = await by.submit(asked(player, command))
            assert isinstance(answer, Refused if takes and amount > cash[player] else Accepted)
            if isinstance(answer, Accepted):
                cash[player] += -amount if takes else amount
    assert {player: await balance(pool, player) for player in cash} == cash
    await reconciled(pool)
    for each in others:
        await each.close()


async def test_of_a_batch_that_was_rolled_back_nothing_is_kept(executor, database, pool):
    await funded(executor, "ann", 100)
    await executor.submit(asked("ann", commands.Deposit(1, "EUR")))
    async with postgres.connected(database, name="owner") as owner:
        await owner.execute("alter table events add constraint small check (length(data::text) < 150)")
        with pytest.raises(Exception, match="cannot be written"):
            await executor.submit(asked("ann", commands.Deposit(50, "EUR", "x" * 150)))
        await owner.execute("alter table events drop constraint small")
    await executor.submit(asked("ann", commands.Deposit(2, "EUR")))
    assert await balance(pool, "ann") == 103
    await reconciled(pool)


def test_there_is_a_bound_and_those_used_last_stay():
    kept = Kept(lambda: 2)
    for name in ("a", "b", "a", "c"):
        kept.keep({name: Stream("wallet", 1, Wallet("EUR"))})
    assert set(kept.among("abc")) == {"a", "c"}


def test_a_wallet_with_many_bets_is_not_kept_and_neither_is_what_it_was_before():
    kept = Kept(lambda: 9)
    kept.keep({"a": Stream("wallet", 1, Wallet("EUR"))})
    kept.keep({"a": Stream("wallet", 2, Wallet("EUR", bets=BETS))})
    assert kept.among("a") == {}

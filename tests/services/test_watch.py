"""Who came to the door and who was turned away is on record, once and in few events, and so is a book that differed."""

import asyncio
from contextlib import suppress

import pytest

from domain.decider import Submission
from domain.game import Role
from domain.names import HOUSE
from infra import eventlog, postgres
from infra.settings import Settings
from ops.reconcile import _agrees
from services.api.auth import new_key
from services.watch import Watch
from tests.services.acme import asked, dsn, executor, funded, pool

__all__ = ["dsn", "executor", "pool"]

from domain import house
from domain.wallet import commands


async def watched(casino, after=0):
    """Events of the watch, as (type, what it says), that came after a position."""
    await casino.app.watch.tell()
    rows = await eventlog.after(casino.services.pool, "lotus", after)
    return [row.event for row in rows if row.type.startswith("watch.")]


async def tip(casino):
    return (await eventlog.tip(casino.services.pool, "lotus")).position


async def minted(casino):
    key = new_key("lotus")
    mint = house.MintKey(key.id, Role.SUPERVISOR, key.digest)
    await casino.worker.submit(Submission("lotus", "platform", Role.OPERATOR, HOUSE, mint))
    return key


async def comes(casino, bearer, times=1):
    for _ in range(times):
        await casino.http.get("/v1/tables", headers={"authorization": f"Bearer {bearer}"})


async def test_a_key_is_seen_to_be_used_once_a_day(casino):
    await watched(casino)
    since, key = await tip(casino), await minted(casino)
    await comes(casino, key.token, 5)
    [used] = await watched(casino, since)
    assert (used.key, used.day > 20_000) == (key.id, True)
    casino.app.state.parts.gate._known.clear()  # as in another process
    await comes(casino, key.token)
    assert await watched(casino, since) == [used]


async def test_those_who_are_turned_away_are_counted_in_one_event(casino):
    await watched(casino)
    since, key = await tip(casino), await minted(casino)
    token, _ = casino.app.state.parts.gate.mint(_Minter(key.id), "ann", 60)
    await casino.worker.submit(Submission("lotus", "platform", Role.OPERATOR, HOUSE, house.RevokeKey(key.id)))
    await asyncio.sleep(1.1)
    await comes(casino, key.token, 2)
    await comes(casino, token)
    await comes(casino, f"ck_lotus.{key.id}_wrong", 3)
    await comes(casino, "ck_lotus.<script>_x")
    await comes(casino, "ck_nobody.here_x", 4)
    await comes(casino, "hello", 4)
    [away] = await watched(casino, since)
    assert (away.count, set(away.named)) == (7, {key.id, ""})
    assert await eventlog.tip(casino.services.pool, "nobody") is None


class _Minter:
    def __init__(self, key):
        self.operator, self.actor, self.key = "lotus", key, key


async def test_who_knocks_with_many_names_is_told_with_ten(casino):
    await watched(casino)
    since = await tip(casino)
    await asyncio.gather(*(comes(casino, f"ck_lotus.name{number}_x") for number in range(30)))
    [away] = await watched(casino, since)
    assert (away.count, len(away.named)) == (30, 10)


async def test_what_cannot_be_told_is_told_later(casino, monkeypatch):
    await watched(casino)
    since, watch = await tip(casino), casino.app.watch
    watch.turned_away("lotus", "one")
    with monkeypatch.context() as patched:
        patched.setattr(watch._executor, "submit", _away)
        await watch.tell()
    watch.turned_away("lotus", "two")
    [away] = await watched(casino, since)
    assert (away.count, away.named) == (2, ("one", "two"))


async def _away(*_):
    raise ConnectionError


async def test_a_first_use_is_told_at_once_and_the_rest_when_the_process_ends(executor, pool):
    watch = Watch(executor)
    running = asyncio.create_task(watch.run())
    watch.took("acme", "k1")
    for _ in range(200):
        if (await eventlog.tip(pool, "acme")).position == 2:
            break
        await asyncio.sleep(0.02)
    watch.turned_away("acme", "k2")
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert [row.type for row in await eventlog.after(pool, "acme", 1)] == ["watch.KeyUsed", "watch.TurnedAway"]


async def test_books_that_differ_are_on_record(executor, pool, dsn, database, redis_url, capsys):
    await funded(executor, "ann")
    settings = Settings(postgres=dsn, redis=redis_url, secret=bytes(32), vault_keys={})
    async with postgres.connected(database, name="owner") as owner:
        await owner.execute("update streams set balance = 7 where stream = 'wallet:ann'")
    assert not await _agrees(settings, "acme")
    [row] = [row for row in await eventlog.after(pool, "acme", 0) if row.type == "watch.BooksDiffered"]
    assert (row.stream, row.actor, row.event.position) == ("watch:books", "shell", 3)
    assert row.event.differences > 0
    await executor.submit(asked("ann", commands.Deposit(1, "EUR")))


@pytest.mark.parametrize("kind", ["key_used", "turned_away"])
async def test_they_are_significant(casino, kind):
    casino.app.watch.took("lotus", "k-significant")
    casino.app.watch.turned_away("lotus", "k-significant")
    await casino.app.watch.tell()
    answer = await casino.http.get(
        f"/v1/significant?kind={kind}", headers={"authorization": f"Bearer {casino.bearer(Role.AUDITOR)}"}
    )
    assert answer.json()["found"][-1]["kind"] == kind

"""A resettlement of some hundred bettors on real servers: run by the timers, killed in the middle, beside traffic of
the same players, and twice at once; nothing is lost or doubled, and what was paid out is owed."""

import asyncio
import os
import random
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from domain.cards import parse
from domain.game import Role
from domain.names import PROPOSAL, id_of
from domain.proposals import Approve, Propose, Resettle
from domain.resettlements import Corrected, Void
from domain.wallet import commands as wallet
from infra import codec, eventlog
from services import resettling
from services.batch import Accepted
from services.reconcile import reconcile
from services.resettling import resettle_round
from services.settlement import settle_round
from services.timers import Timers
from tests.services.town import OPERATOR, QUICK, Town, town, until

BETTORS = 240
ROUND = "t.1"
BETS = "select stream, count(*) from events where round = $1 and type = 'wallet.BetStaked' group by 1"
SLOTS = ("A1", "B1", "A2", "B2", "A3", "B3")
TRUE = Corrected(parse("As 2c Ad 3c 9h 4c"))
"""The scanner read the last one as the eight of diamonds: Player A had a pair of aces, but Player B wins."""


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    """A live round with many bettors is settled. Each had 1,000 and bet 200 on Player A: 1,190 now; and some are gone
    with all of it."""
    async with town(database, redis_url) as acme:
        await acme.open_table(kind="live", pause_seconds=1)
        names = [f"p{number:03}" for number in range(BETTORS)]
        await asyncio.gather(*(acme.player(name, 1_000) for name in names))
        round_id = await acme.round_is_on()
        placed = await asyncio.gather(*(acme.bet(name, round_id, player_a=200) for name in names))
        assert all(isinstance(each, Accepted) for each in placed)
        await acme.tick(lambda state: type(state).__name__ == "Dealing")
        for slot, card in zip(SLOTS, ["As", "2c", "Ad", "3c", "9h", "8d"], strict=True):
            await acme.table(Role.STUDIO, {"type": "DealCard", "slot": slot, "card": card})
        await acme.table(Role.STUDIO, {"type": "ConfirmResult", "round": round_id, "winner": "player_a"})
        config = QUICK | {"kind": "live", "pause_seconds": 1, "betting_seconds": 600}
        await acme.table(Role.OPERATOR, {"type": "ConfigureTable", "config": config})
        await settle_round(acme.executor, acme.pool, OPERATOR, round_id)
        for name in names[::4]:
            await acme.send("ops", Role.OPERATOR, f"wallet:{name}", wallet.Withdraw(1_190, "EUR"))
        yield acme


async def agreed(acme: Town, asked: Any) -> None:
    """Proposed by one person, approved by another."""
    stream = PROPOSAL + id_of("ops", f"k{acme.keys + 1}")
    assert isinstance(await acme.send("ops", Role.OPERATOR, stream, Propose(asked)), Accepted)
    assert isinstance(await acme.send("sue", Role.SUPERVISOR, stream, Approve()), Accepted)


async def state(acme: Town) -> Any:
    row = await acme.pool.fetchrow(eventlog.SQL["stream"], OPERATOR, f"resettlement:{ROUND}")
    return codec.decode_state("resettlement", row["state"])


async def is_done(acme: Town) -> bool:
    return (await state(acme)).due is None


async def purses(acme: Town) -> dict[str, tuple[int, int]]:
    rows = await acme.pool.fetch(eventlog.SQL["streams_like"], OPERATOR, "wallet:p", "wallet:q", 1_000)
    found = ((row["stream"], codec.decode_state("wallet", row["state"])) for row in rows)
    return {name.removeprefix("wallet:"): (held.cash, held.owed) for name, held in found}


async def count(acme: Town, kind: str) -> int:
    return await acme.pool.fetchval("select count(*) from events where type = $1", kind)


async def check_books(acme: Town) -> None:
    said: list[str] = []
    await acme.project()
    assert (await reconcile(acme.pool, OPERATOR, said.append)).compared["resettled"] == await count(
        acme, "wallet.Resettled"
    )
    assert said == []


async def test_the_timers_run_it_to_its_end_and_what_is_gone_is_owed(acme: Town) -> None:
    await agreed(acme, Resettle(ROUND, TRUE, "the scanner read 4c as 8d"))
    timers = asyncio.create_task(Timers(acme.executor, acme.pool).run())
    await until(lambda: is_done(acme))
    found = await purses(acme)
    assert set(found.values()) == {(800, 0), (0, 390)}
    assert sum(owed for _, owed in found.values()) == BETTORS // 4 * 390
    [completed] = await acme.pool.fetch("select data::text from events where type = 'resettlement.Completed'")
    told = codec.decode_event("resettlement.Completed", 1, completed["data"])
    assert (told.players, told.gained, told.owed) == (BETTORS, -390 * BETTORS, BETTORS // 4 * 390)
    assert await count(acme, "resettlement.Advanced") == -(-BETTORS // resettling.STEP)
    await agreed(acme, Resettle(ROUND, Void(), "a card lay under the table"))
    await until(lambda: is_done(acme))
    assert set((await purses(acme)).values()) == {(1_000, 0), (0, 190)}
    timers.cancel()
    with suppress(asyncio.CancelledError):
        await timers
    await check_books(acme)


_WORKER = """
import asyncio, os, random, signal, sys
from infra import postgres
from infra.vault import Vault
from services.executor import Executor
from services.resettling import resettle_round
from services import resettling
resettling.STEP = 20

class Mortal(Executor):
    left = int(sys.argv[2])
    async def submit(self, submission, fingerprint=b""):
        if self.left == 0:
            asyncio.get_running_loop().call_later(random.random() / 50, os.kill, os.getpid(), signal.SIGKILL)
        self.left -= 1
        return await super().submit(submission, fingerprint)

async def main():
    pool = await postgres.pool(sys.argv[1], name="worker")
    await resettle_round(Mortal(sys.argv[1], Vault({})), pool, "acme", "t.1")
    await asyncio.sleep(1)

asyncio.run(main())
"""


async def killed(acme: Town, steps: int) -> int | None:
    """A process that resettles until it is killed, about when it submits its last step."""
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _WORKER, acme.dsn, str(steps), env=environment)
    return await process.wait()


@pytest.mark.slow
async def test_killed_in_the_middle_it_goes_on_and_nobody_is_settled_with_twice(acme: Town) -> None:
    """While the same players deposit, withdraw and bet on the next round."""
    on = await acme.round_is_on()
    await agreed(acme, Resettle(ROUND, TRUE, "the scanner read 4c as 8d"))
    dice = random.Random(7)
    moved: dict[str, int] = {}
    over = asyncio.Event()

    async def traffic() -> None:
        while not over.is_set():
            name, amount = f"p{dice.randrange(BETTORS):03}", dice.randint(1, 300)
            kind = dice.choice((wallet.Deposit, wallet.Withdraw, None))
            if kind is None:
                await acme.bet(name, on, tie=100)
                continue
            done = await acme.send("ops", Role.OPERATOR, f"wallet:{name}", kind(amount, "EUR"))
            if isinstance(done, Accepted):
                moved[name] = moved.get(name, 0) + (amount if kind is wallet.Deposit else -amount)

    busy = [asyncio.create_task(traffic()) for _ in range(4)]
    assert [await killed(acme, steps) for steps in (0, 1, 3)] == [-9, -9, -9]
    middle = await state(acme)
    assert 0 < middle.players < BETTORS
    assert middle.due is not None
    await asyncio.gather(*(resettle_round(acme.executor, acme.pool, OPERATOR, ROUND) for _ in range(3)))
    over.set()
    await asyncio.gather(*busy)
    assert await is_done(acme)
    assert await count(acme, "wallet.Resettled") == BETTORS
    found = await purses(acme)
    staked = await acme.pool.fetch(BETS, on)
    bets = {row["stream"].removeprefix("wallet:"): 100 * row["count"] for row in staked}
    for number, (name, (cash, owed)) in enumerate(sorted(found.items())):
        had = 0 if number % 4 == 0 else 1_190
        assert cash - owed == had - 390 + moved.get(name, 0) - bets.get(name, 0), name
        assert cash == 0 or owed == 0
    assert moved
    assert bets
    await check_books(acme)


async def test_tables_do_not_wait_for_whatever_else_is_due(acme: Town) -> None:
    """Hundreds of rounds were voided after a fault, and each resettlement has been due for longer than any table."""
    await acme.pool.execute(
        """insert into streams (operator, stream, decider, version, position, state, state_schema, balance, due)
        select 'acme', 'resettlement:x.' || n, 'resettlement', 1, 1, '{}', 2, 0, now() - interval '1 day'
        from generate_series(1, 300) n"""
    )
    await acme.pool.execute("update streams set due = now() where stream = 'table:t'")
    found = await acme.pool.fetch(eventlog.SQL["due"], OPERATOR, 200)
    assert (found[0]["stream"], len(found)) == ("table:t", 200)

"""Rows of rounds that stay in memory between batches: however the log is cut into batches, whatever fails and whoever
forgets in between, the rows are those that one reading of the log gives."""

import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import Any, cast

import pytest
from msgspec.structs import replace

from infra import eventlog
from infra.eventlog import EventRow
from infra.postgres import Connection
from services import checkpoints
from services.checkpoints import Checkpoint
from services.projections import Place, Projection, round_rows
from services.projections.round_rows import ROUNDS, KeptRounds
from tests.services.patti import Patti
from tests.services.town import OPERATOR, Town, town

ROWS = """
    select to_jsonb(r) - 'generation' as row from rounds r where operator = $1 and generation = $2
    union all select to_jsonb(b) - 'generation' from bettors b where operator = $1 and generation = $2 order by 1
"""


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    """Two rounds of 20-20 with bets taken back, settled and refunded, and hands of 3 Patti that end in several ways."""
    async with town(database, redis_url) as made:
        for name in ("ann", "bob", "cid"):
            await made.player(name, 50_000)
        await made.open_table()
        betting = await made.round_is_on()
        await made.bet("ann", betting, tie=100, player_a=200)
        await made.bet("bob", betting, key="back", tie=300)
        await made.cancel_bet("bob", "back")
        await made.bet("bob", betting, player_b=400)
        patti = await Patti(made.executor, made.pool, OPERATOR).open("ann", "bob", "cid")
        await patti.shown()
        await made.bet("cid", betting, tie=500)
        await made.finish_round(betting, ["ann", "bob", "cid"])
        await patti.folded()
        await patti.cancelled()
        await patti.still_on()
        await made.project()
        yield made


class Spoilt(Exception):
    """A batch that was applied and comes to nothing."""


async def applied(acme: Town, chance: random.Random, *, forgets: float, fails: float) -> list[Any]:
    """The rows of a second generation, made in batches of any size."""
    log = await eventlog.after(acme.pool, OPERATOR, 0)
    at = Checkpoint(2, 0, eventlog.genesis(OPERATOR, 1))
    await acme.pool.execute(checkpoints.SQL["build"], OPERATOR, ROUNDS.name, 2, at.hash)
    while at.position < len(log):
        rows = log[at.position : at.position + chance.choice([1, 2, 5, 20])]
        with suppress(Spoilt):
            at = await once(acme, at, rows, spoilt=chance.random() < fails)
        if chance.random() < forgets:
            at = replace(at, kept=None)
    found = await acme.pool.fetch(ROWS, OPERATOR, 2)
    for clear in ROUNDS.clear:
        await acme.pool.execute(clear, OPERATOR, 2, 1_000)
    await acme.pool.execute(checkpoints.SQL["drop"], OPERATOR, ROUNDS.name, 2)
    return [row["row"] for row in found]


async def once(acme: Town, at: Checkpoint, rows: Sequence[EventRow], *, spoilt: bool) -> Checkpoint:
    async def apply(connection: Connection, place: Place, of_batch: Sequence[EventRow]) -> KeptRounds:
        kept = await round_rows.apply(connection, place, of_batch)
        if spoilt:
            raise Spoilt
        return kept

    async with acme.pool.acquire() as connection:
        projection = Projection(ROUNDS.name, apply, ())
        after = await checkpoints.apply(cast("Connection", connection), OPERATOR, projection, at, rows)
    assert after is not None
    return after


async def test_however_the_log_is_cut_into_batches_the_rows_are_the_same(acme: Town, monkeypatch: Any) -> None:
    live = [row["row"] for row in await acme.pool.fetch(ROWS, OPERATOR, 1)]
    assert len(live) > 15
    for seed, (forgets, fails, bound) in enumerate([(0, 0, 99), (0.2, 0, 99), (0, 0.3, 99), (0.1, 0.2, 99), (0, 0, 2)]):
        monkeypatch.setattr(round_rows, "KEPT_MAX", bound)
        assert await applied(acme, random.Random(seed), forgets=forgets, fails=fails) == live


async def test_of_a_round_that_is_over_nothing_is_kept(acme: Town) -> None:
    log = await eventlog.after(acme.pool, OPERATOR, 0)
    at = Checkpoint(2, 0, eventlog.genesis(OPERATOR, 1))
    await acme.pool.execute(checkpoints.SQL["build"], OPERATOR, ROUNDS.name, 2, at.hash)
    kept: KeptRounds = (await once(acme, at, log, spoilt=False)).kept
    kept.known.take_over(kept.changed)
    book = kept.known.book
    assert {each.status for each in book.rounds.values()} == {"open"}
    assert book.bettors.keys() == {(each, name) for each in book.rounds for name in ("ann", "bob", "cid")}

"""What is told of rounds: rows, replays, and what reconcile finds; and a forger who alters the log."""

from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from domain.game import Role, Viewer
from infra import eventlog, postgres
from services.projections import rounds
from services.reconcile import reconcile
from services.replay import Replay, replay
from tests.services.town import OPERATOR, Town

AUDITOR = Viewer("aud", Role.AUDITOR)


async def round_row(acme: Town, round_id: str) -> rounds.Round:
    await acme.project()
    found = await rounds.one(acme.pool, OPERATOR, round_id)
    assert found is not None
    return found


async def bettors(acme: Town, round_id: str) -> dict[str, rounds.Bettor]:
    await acme.project()
    return {each.player: each for each in await rounds.bettors(acme.pool, OPERATOR, round_id)}


async def events_of(acme: Town, round_id: str) -> list[Any]:
    return [row.event async for row in eventlog.of_round(acme.pool, OPERATOR, round_id)]


async def replayed(acme: Town, round_id: str, viewer: Viewer = AUDITOR, **window: int) -> Replay:
    found = await replay(acme.pool, OPERATOR, round_id, viewer, partial(acme.vault.open, OPERATOR), **window)
    assert found is not None
    return found


async def differences(acme: Town) -> list[str]:
    said: list[str] = []
    await reconcile(acme.pool, OPERATOR, said.append)
    return said


def told(row: rounds.Round) -> Any:
    assert row.result is not None
    return msgspec.json.decode(row.result)


TABLES = ("balances", "statement", "rounds", "bettors", "audit")


async def everything(acme: Town) -> list[str]:
    """All rows, whatever their generation."""
    found: list[str] = []
    for table in TABLES:
        records = await acme.pool.fetch(f"select * from {table} t order by t::text")
        found += sorted(repr(dict(row) | {"generation": 0}) for row in records)
    return found


async def forge(database: str, kind: str, old: str, new: str, *, once: bool = False) -> None:
    """Alter events, and make the chain anew over them: what is left to find the forgery is the money."""
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("alter table events disable trigger all")
        rows = await eventlog.after(owner, OPERATOR, 0)
        before, done = eventlog.genesis(OPERATOR, 1), False
        for row in rows:
            alters = row.type == kind and old in row.data and not (once and done)
            data = row.data.replace(old, new) if alters else row.data
            done = done or alters
            before = eventlog.link(before, replace(row, data=data))
            change = "update events set data = $2::json, hash = $3 where position = $1"
            await owner.execute(change, row.position, data, before)
        assert done, "nothing was altered"
        await owner.execute("update logs set hash = $1", before)

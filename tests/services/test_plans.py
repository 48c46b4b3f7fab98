"""What runs for every command or batch is looked up by index from the first row on, whatever the statistics say.

The trap: a statement prepared while the tables are empty keeps the plan that was good then. One that scanned all that
an operator has and filtered it would go on to do so, more slowly with each command.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from infra import postgres
from infra.eventlog import EventRow
from infra.postgres import Connection
from infra.sql import queries
from services.projections import Place, Projection
from tests.services.town import town

LOOKUPS = [
    # query, table, the columns by which it must be looked up
    ("executor.load", "logs", {"operator"}),
    ("executor.load", "streams", {"operator", "stream"}),
    ("executor.load", "commands", {"operator", "actor", "key"}),
    ("executor.totals", "events", {"operator", "round"}),
    ("eventlog.events_after", "events", {"operator", "position"}),
    ("eventlog.events_between", "events", {"operator", "position"}),
    ("eventlog.events_of_round", "events", {"operator", "round", "position"}),
    ("eventlog.events_of_stream", "events", {"operator", "stream", "version"}),
    ("eventlog.events_of_stream_between", "events", {"operator", "stream", "version"}),
    ("eventlog.published", "events", {"operator", "stream", "version"}),
    ("eventlog.beside_round", "events", {"operator", "position"}),
    ("eventlog.commands_of", "commands", {"operator", "actor", "key"}),
    ("eventlog.bettors_of_round", "events", {"operator", "round", "position"}),
    ("eventlog.stream", "streams", {"operator", "stream"}),
    ("eventlog.command", "commands", {"operator", "actor", "key"}),
    ("eventlog.ended", "events", {"operator", "round"}),
    ("eventlog.ended_match", "events", {"operator", "match"}),
    ("eventlog.due", "streams", {"operator", "due"}),
    ("api.beginnings", "events", {"operator", "round"}),
    ("replay.match_opened", "events", {"operator", "stream"}),
    ("balances.apply", "balances", {"operator", "generation", "player"}),
    ("rounds.load", "rounds", {"operator", "generation", "round"}),
    ("rounds.load_bettors", "bettors", {"operator", "generation", "round", "player"}),
    ("rounds.load_seated", "bettors", {"operator", "generation", "round", "player"}),
    ("projections.advance", "checkpoints", {"operator", "projection", "generation"}),
]


async def test_what_was_asked_in_a_round_is_found_by_its_name_and_then_by_position(module_database: str):
    async with postgres.connected(module_database, name="test") as connection:
        plan = await generic_plan(connection, "audit.page_of_round")
    used = {name: node["Index Cond"] for node in nodes(plan) if (name := node.get("Index Name"))}
    assert set(used) == {"checkpoints_live", "audit_of_round", "events_of_round", "audit_pkey", "events_pkey"}
    for index in ("audit_of_round", "events_of_round"):
        assert {"operator", "round", "position"} <= set(re.findall(r"\b[a-z]+\b", used[index])), used


@pytest.mark.parametrize(
    ("query", "table", "columns"),
    LOOKUPS,
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else value,
)
async def test_it_is_an_index_lookup_on_an_empty_database(module_database: str, query: str, table: str, columns: set):
    async with postgres.connected(module_database, name="test") as connection:
        looks_up(await generic_plan(connection, query), table, columns)


BATCHED = [lookup for lookup in LOOKUPS if lookup[0].startswith(("rounds.", "balances."))]
FEW_ROWS = """
insert into balances select 'acme', 1, 'p' || n, 'EUR', 0, 0, false, n from generate_series(1, 20) n;
insert into rounds select 'acme', 1, 't.' || n, 't', 'g', n, 'open', now(), null, null, 0, 0, 0, null, n, n
from generate_series(1, 20) n;
insert into bettors select 'acme', 1, 't.1', 'p' || n, 'open', 0, 0, '[]', now(), null, n, n
from generate_series(1, 20) n;
analyze balances, rounds, bettors
"""


async def test_a_batch_looks_up_by_index_though_few_rows_were_counted(database: str, redis_url: str):
    plans: list[dict[str, Any]] = []

    async def look(connection: Connection, _place: Place, _rows: Sequence[EventRow]) -> None:
        plans.extend([await generic_plan(connection, query) for query, _, _ in BATCHED])

    async with town(database, redis_url) as acme:
        async with postgres.connected(database, name="test") as owner:
            await owner.execute(FEW_ROWS)
        await acme.projector(Projection("look", look, ())).once()
    assert len(plans) == len(BATCHED)
    for plan, (_, table, columns) in zip(plans, BATCHED, strict=True):
        looks_up(plan, table, columns)


def looks_up(plan: dict[str, Any], table: str, columns: set[str]) -> None:
    scans = [node for node in nodes(plan) if node.get("Relation Name") == table and "Scan" in node["Node Type"]]
    assert scans, plan
    for scan in scans:
        assert scan["Node Type"] in {"Index Scan", "Index Only Scan"}, scan
        assert columns <= set(re.findall(r"\b[a-z]+\b", scan["Index Cond"])), scan


CLEARED = [
    ("balances.clear", "player"),
    ("statement.clear", "position"),
    ("rounds.clear", "round"),
    ("rounds.clear_bettors", "round"),
    ("audit.clear", "position"),
]


@pytest.mark.parametrize(("query", "column"), CLEARED)
async def test_what_is_cleared_is_looked_up_and_not_joined(module_database: str, query: str, column: str):
    """In a join on an empty database's statistics each of 5,000 rows is compared with every other: 17 s, not 0.02."""
    async with postgres.connected(module_database, name="test") as connection:
        plan = await generic_plan(connection, query)
    [scan] = [node for node in plan["Plans"] if node["Parent Relationship"] == "Outer"]
    assert scan["Node Type"] == "Index Scan", plan
    assert {"operator", "generation", column} <= set(re.findall(r"\b[a-z]+\b", scan["Index Cond"])), scan


async def generic_plan(connection: Connection, query: str) -> dict[str, Any]:
    """The plan that a prepared statement keeps, made for no arguments in particular."""
    page, name = query.split(".")
    sql = queries(page)[name]
    arguments = ", ".join(["null"] * max(map(int, re.findall(r"\$(\d+)", sql))))
    asked = f'"{query}"'
    await connection.execute("set plan_cache_mode = force_generic_plan")
    await connection.execute(f"prepare {asked} as {sql}")
    [told] = json.loads(await connection.fetchval(f"explain (format json) execute {asked}({arguments})"))
    return told["Plan"]


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]

"""What runs for every command or batch is looked up by index from the first row on, whatever the statistics say.

The trap: a statement prepared while the tables are empty keeps the plan that was good then. One that scanned all that
an operator has and filtered it would go on to do so, more slowly with each command.
"""

import json
import re
from typing import Any

import pytest

from infra import postgres
from infra.sql import queries

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
    ("eventlog.bettors_of_round", "events", {"operator", "round", "position"}),
    ("eventlog.stream", "streams", {"operator", "stream"}),
    ("eventlog.command", "commands", {"operator", "actor", "key"}),
    ("eventlog.due", "streams", {"operator", "due"}),
    ("balances.apply", "balances", {"operator", "generation", "player"}),
    ("rounds.load", "rounds", {"operator", "generation", "round"}),
    ("rounds.load_bettors", "bettors", {"operator", "generation", "round", "player"}),
    ("rounds.load_seated", "bettors", {"operator", "generation", "round", "player"}),
    ("projections.advance", "checkpoints", {"operator", "projection", "generation"}),
]


@pytest.mark.parametrize(
    ("query", "table", "columns"),
    LOOKUPS,
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else value,
)
async def test_it_is_an_index_lookup_on_an_empty_database(module_database: str, query: str, table: str, columns: set):
    page, name = query.split(".")
    plan = await generic_plan(module_database, queries(page)[name])
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
    page, name = query.split(".")
    plan = await generic_plan(module_database, queries(page)[name])
    [scan] = [node for node in plan["Plans"] if node["Parent Relationship"] == "Outer"]
    assert scan["Node Type"] == "Index Scan", plan
    assert {"operator", "generation", column} <= set(re.findall(r"\b[a-z]+\b", scan["Index Cond"])), scan


async def generic_plan(dsn: str, sql: str) -> dict[str, Any]:
    """The plan that a prepared statement keeps, made for no arguments in particular."""
    arguments = ", ".join(["null"] * max(map(int, re.findall(r"\$(\d+)", sql))))
    async with postgres.connected(dsn, name="test") as connection:
        await connection.execute("set plan_cache_mode = force_generic_plan")
        await connection.execute(f"prepare asked as {sql}")
        [told] = json.loads(await connection.fetchval(f"explain (format json) execute asked({arguments})"))
    return told["Plan"]


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]

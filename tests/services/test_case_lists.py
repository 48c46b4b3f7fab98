"""Lists of disputes, incidents and proposals read what they show, however much was closed before."""

import json
import re
from typing import Any

import pytest

from domain.game import NEVER, Role
from infra import postgres
from infra.postgres import Connection
from infra.sql import HERE, queries
from services.reconcile import reconcile
from tests.services.conftest import Casino
from tests.services.pit_http import INCIDENTS, Pit
from tests.services.test_plans import generic_plan, nodes

MANY = 2_000
KINDS = {
    "dispute": ("dispute.Opened", 0, {"stage": "withdrawn", "overdue": False}, {"stage": "open", "overdue": True}),
    "incident": ("incident.Reported", 10_000, {"resolution": "stands"}, {}),
    "proposal": ("proposal.Proposed", 20_000, {"stage": "expired"}, {"stage": "open"}),
}
"""What opens each, after which position, and the state of a closed and of an open one."""
OPEN = 3
LISTS = [
    # query, arguments by number, how many it shows
    ("disputes.page", {5: 10}, 10),
    ("disputes.page", {4: 900, 5: 10}, 10),
    ("disputes.page", {2: "withdrawn", 5: 10}, 10),
    ("disputes.open", {4: 100}, OPEN),
    ("disputes.of_round", {5: 100, 6: "t.7"}, 1),
    ("incidents.page", {3: 10_900, 4: 10}, 10),
    ("incidents.page", {4: 10}, 10),
    ("incidents.page", {2: False, 4: 10}, 10),
    ("incidents.open", {3: 100}, OPEN),
    ("incidents.of_table", {4: 100, 5: "t.7"}, 1),
    ("proposals.page", {3: 20_900, 4: 10}, 10),
    ("proposals.page", {4: 10}, 10),
    ("proposals.page", {2: "expired", 4: 10}, 10),
    ("proposals.open", {3: 100}, OPEN),
]


@pytest.fixture(scope="module")
async def archive(module_database: str) -> str:
    """Thousands of closed cases, on which the planner has counted nothing yet, and before them a few open ones."""
    async with postgres.connected(module_database, name="owner") as owner:
        for kind, (opened, after, closed, still) in KINDS.items():
            await owner.execute(CASES, kind, opened, json.dumps(closed), json.dumps(still), MANY, OPEN, after)
    return module_database


CASES = """
with many as (
    select n, $1::text || ':' || n as stream, n <= $6::int as is_open from generate_series(1, $5::int) n
), written as (
    insert into events
    select 'acme', n + $7::int, stream, 1, $2::text, 1, null, null, 'a', 'supervisor', now(),
           json_build_object(case $1::text when 'incident' then 'table' else 'round' end, 't.' || n), ''
    from many
)
insert into streams
select 'acme', stream, $1::text, 1, n + $7::int, case when is_open then $4::text else $3::text end::json, 1, 0,
       case when is_open then timestamptz '9999-12-31 00:00:00+00' end
from many
"""


@pytest.mark.parametrize(("query", "given", "shown"), LISTS)
async def test_a_list_reads_what_it_shows(archive: str, query: str, given: dict[int, Any], shown: int):
    page, name = query.split(".")
    sql = queries(page)[name]
    values = ["'acme'"] + ["null"] * (max(map(int, re.findall(r"\$(\d+)", sql))) - 1)
    for number, value in given.items():
        values[number - 1] = f"'{value}'"
    async with postgres.connected(archive, name="test") as connection:
        await connection.execute("set plan_cache_mode = force_generic_plan")
        await connection.execute(f"prepare this as {sql}")
        asked = f"execute this({', '.join(values)})"
        assert len(await connection.fetch(asked)) == shown
        assert await rows_read(connection, asked) <= 3 * shown


async def rows_read(connection: Connection, asked: str) -> int:
    """Of all tables, those that were filtered out with them."""
    [told] = json.loads(await connection.fetchval(f"explain (analyze, format json) {asked}"))
    scans = [node for node in nodes(told["Plan"]) if "Scan" in node["Node Type"] and "Relation Name" in node]
    return sum((scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)) * scan["Actual Loops"] for scan in scans)


@pytest.mark.parametrize("query", sorted({query for query, _, _ in LISTS}))
async def test_it_is_looked_up_on_an_empty_database(database: str, query: str):
    async with postgres.connected(database, name="test") as connection:
        plan = await generic_plan(connection, query)
    scans = [node for node in nodes(plan) if "Relation Name" in node]
    assert {node["Index Name"] for node in scans} <= {"cases_open", "cases_in_order", "cases_about", "streams_pkey"}


async def test_no_index_of_the_streams_names_what_changes_with_each_event(module_database: str):
    """Else Postgres writes each index anew for each bet, and no row stays in its page."""
    async with postgres.connected(module_database, name="test") as connection:
        told = await connection.fetch("select indexdef from pg_indexes where tablename = 'streams'")
    for row in told:
        assert not re.search(r"\b(position|version|state|balance)\b", row["indexdef"]), row["indexdef"]


# --- Over HTTP --------------------------------------------------------------------------------------------------------


async def ids(casino: Casino, path: str, **query: Any) -> list[str]:
    """A list, page by page of one each."""
    found: list[str] = []
    cursor: dict[str, int] = {}
    while True:
        page = await casino.get(path, casino.bearer(Role.SUPERVISOR), limit=1, **query, **cursor)
        found += [each["id"] for each in page[path.rpartition("/")[2]]]
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}


async def test_the_disputes_of_all_players_come_page_by_page(casino: Casino):
    await casino.table("t")
    opened: list[str] = []
    for name in ("ann", "bob", "cid", "dan"):
        token = await casino.player(name)
        done = await casino.done("/v1/disputes", {"round": "t.1", "words": "it was not paid"}, token)
        opened.append(done["dispute"]["id"])
        if name == "bob":
            await casino.done(f"/v1/disputes/{opened[-1]}/evidence", {"words": "look"}, token)
    ann, bob, cid, dan = opened
    await casino.done(f"/v1/disputes/{ann}/evidence", {"words": "late"}, casino.bearer(Role.SUPERVISOR))
    ended = await casino.player("eve")
    [eve] = [(await casino.done("/v1/disputes", {"round": "t.1", "words": "no"}, ended))["dispute"]["id"]]
    await casino.done(f"/v1/disputes/{eve}/withdraw", {}, ended)
    assert await ids(casino, "/v1/disputes") == [eve, ann, dan, cid, bob]
    assert await ids(casino, "/v1/disputes", about="t.1") == [eve, ann, dan, cid, bob]
    assert await ids(casino, "/v1/disputes", stage="open") == [ann, dan, cid, bob]
    assert await ids(casino, "/v1/disputes", stage="open", overdue=False) == [ann, dan, cid, bob]
    assert await ids(casino, "/v1/disputes", stage="open", overdue=True) == []
    assert await ids(casino, "/v1/disputes", stage="withdrawn") == [eve]
    assert await ids(casino, "/v1/disputes", player="bob") == [bob]
    assert await ids(casino, "/v1/disputes", player="bob", about="t.2") == []


async def test_what_was_open_before_is_found_after_the_migration(casino: Casino, database: str):
    pit = await Pit.opened(casino)
    names = [(await pit.report()).rpartition("/")[2] for _ in range(3)]
    await pit.resolve(f"{INCIDENTS}/{names[0]}", "unfounded")
    async with postgres.connected(database, name="owner") as owner:
        await owner.execute("update streams set due = null where decider = 'incident'")
        assert await ids(casino, INCIDENTS, open=True) == []
        update = (HERE / "schema" / "0008_cases.sql").read_text().partition("create index")[0]
        await owner.execute(update)
        due = await owner.fetchval("select max(due) from streams where decider = 'incident'")
    assert due == NEVER
    assert await ids(casino, INCIDENTS, open=True) == [names[2], names[1]]
    assert not (await reconcile(casino.services.pool, "lotus", print)).differences

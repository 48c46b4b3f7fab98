"""The verbs that manage operators, keys, tables and players: what they do, print and refuse."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from domain import incidents, proposals
from domain.decider import Submission
from domain.game import Role
from domain.names import WALLET
from domain.wallet.commands import OpenWallet
from domain.wallet.rules import AdjustmentCode
from infra import eventlog, postgres
from infra.vault import Vault
from ops.__main__ import croupier
from services.batch import Accepted
from services.executor import Executor


class Said(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Awaitable[Said]]


@pytest.fixture
async def run(database: str) -> Run:
    """Runs `croupier ...` on a database of this test alone, as the service's own login."""
    dsn = await postgres.make_service_login(database)
    environment = {
        "CROUPIER_POSTGRES": dsn,
        "CROUPIER_REDIS": "unix:///nowhere/redis.sock",
        "CROUPIER_SECRET": base64.b64encode(bytes(32)).decode(),
    }

    async def run(*arguments: str, **changed: str) -> Said:
        invoke = CliRunner(env=environment | changed).invoke
        result = await asyncio.to_thread(invoke, croupier, list(arguments))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Said(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
async def pool(database: str):
    pool = await postgres.pool(database, name="test")
    yield pool
    await pool.close()


async def test_an_operator_is_added_once_and_gets_its_first_key(run, pool):
    added = await run("operator", "add", "lotus", "--title", "Lotus Casino")
    assert added.code == 0
    assert added.out.startswith("ck_lotus.")
    assert added.out.count("\n") == 1  # the key alone, so that a script can take it
    again = await run("operator", "add", "lotus")
    assert (again.code, "already" in again.err) == (1, True)
    assert "lotus  position 2" in (await run("operator", "list")).out
    stored = await pool.fetchval("select string_agg(data::text, '') from events")
    assert added.out.strip().partition("_")[2].partition("_")[2] not in stored


async def test_keys_are_minted_listed_rotated_and_revoked(run):
    await run("operator", "add", "lotus")
    minted = await run("key", "mint", "lotus", "studio", "--label", "scanner 7")
    key_id = minted.out.partition(".")[2].partition("_")[0]
    assert f"{key_id}  studio      in use   scanner 7" in (await run("key", "list", "lotus")).out
    rotated = await run("key", "rotate", "lotus", key_id)
    fresh = rotated.out.partition(".")[2].partition("_")[0]
    listed = (await run("key", "list", "lotus")).out
    assert f"{key_id}  studio      revoked  scanner 7" in listed
    assert f"{fresh}  studio      in use   scanner 7" in listed
    assert (await run("key", "revoke", "lotus", fresh)).out == f"{fresh} is revoked\n"
    assert (await run("key", "revoke", "lotus", fresh)).out == f"{fresh} was revoked before\n"
    assert (await run("key", "rotate", "lotus", fresh)).code == 1
    unknown = await run("key", "revoke", "lotus", "nothing")
    assert (unknown.code, unknown.err.startswith("Error: lotus has no key 'nothing'")) == (1, True)


async def test_a_table_is_opened_shown_drained_and_closed(run):
    await run("operator", "add", "lotus")
    opened = await run("table", "open", "lotus", "t1", "teen_patti_2020", "--config", '{"currency":"EUR"}')
    assert opened.out == "t1 is open, at position 3\n"
    shown = json.loads((await run("table", "show", "lotus", "t1")).out)
    assert (shown["view"]["phase"], shown["about"]["config"]["currency"]) == ("between", "EUR")
    assert "t1  teen_patti_2020  between  no round on" in (await run("table", "list", "lotus")).out
    assert (await run("table", "drain", "lotus", "t1")).out == "t1 drains\n"
    again = await run("table", "close", "lotus", "t1")
    assert (again.code, "\nError: AlreadyDraining: " in again.err) == (1, True)
    twice = await run("table", "open", "lotus", "t1", "teen_patti_2020", "--config", '{"currency":"EUR"}')
    assert (twice.code, "\nError: TableExists: " in twice.err) == (1, True)
    assert (await run("table", "drain", "lotus", "t2")).code == 1


@pytest.mark.parametrize(
    ("config", "says"),
    [("{", "truncated"), ('{"currency":"EUR","spot_max":1.5}', "spot_max"), ("{}", "currency"), ("@/no/file", "file")],
)
async def test_a_bad_configuration_is_refused_with_its_fault(run, config, says):
    await run("operator", "add", "lotus")
    refused = await run("table", "open", "lotus", "t1", "teen_patti_2020", "--config", config)
    assert refused.code == 2
    assert says in refused.err


async def test_a_configuration_is_read_from_a_file(run, tmp_path):
    await run("operator", "add", "lotus")
    (tmp_path / "table.json").write_text('{"currency":"INR","kind":"live"}')
    opened = await run("table", "open", "lotus", "t1", "teen_patti_2020", "--config", f"@{tmp_path}/table.json")
    assert opened.code == 0


async def test_a_player_is_blocked_shown_and_unblocked(run, database):
    await run("operator", "add", "lotus")
    unknown = await run("player", "block", "lotus", "ann")
    assert (unknown.code, unknown.err.startswith("Error: lotus has no player 'ann'")) == (1, True)
    await _open_player(database, "ann")
    assert (await run("player", "block", "lotus", "ann", "--reason", "asked for it")).out == "ann is blocked\n"
    assert (await run("player", "block", "lotus", "ann")).out == "ann was blocked before\n"
    assert json.loads((await run("player", "show", "lotus", "ann")).out)["blocked"] is True
    assert (await run("player", "unblock", "lotus", "ann")).out == "ann is unblocked\n"


async def test_a_blank_reason_is_none_for_a_verb_either(run):
    for verb in (
        ("player", "block", "lotus", "ann", "--reason", " "),
        ("key", "mint", "lotus", "studio", "--label", "\u200b"),
        ("selfcheck", "--accept", " "),
        ("restore", "--reason", ""),
        ("dossier", "t.1", "--out", "x", "--auditor", "zoe", "--why", "\u00a0"),
        ("replay", "t.1", "--why", " "),
    ):
        told = await run(*verb)
        assert (told.code, "not blank" in told.err) == (2, True), told


async def test_a_file_that_cannot_be_written_is_said_before_anything_is_done(run, tmp_path):
    for verb in (("dossier", "t.1"), ("dispute", "export", "lotus", "d")):
        told = await run(*verb, "--out", str(tmp_path / "none" / "x"))
        assert (told.code, f"there is no folder {tmp_path / 'none'}" in told.err) == (2, True), told


async def test_views_of_a_replay_are_asked_with_its_text(run):
    told = await run("replay", "t.1", "--views")
    assert (told.code, "--views goes with --text" in told.err) == (2, True), told


async def test_proposals_are_listed_and_shown_with_who_wants_what_and_why(run, database):
    await run("operator", "add", "lotus")
    await _open_player(database, "ann")
    assert (await run("proposal", "list", "lotus")).out == ""
    asked = proposals.AdjustBalance("ann", 5, "EUR", AdjustmentCode.GOODWILL, "a long wait")
    await _sent(database, "ops", "proposal:00c0ffee", proposals.Propose(asked))
    listed = await run("proposal", "list", "lotus", "--stage", "open")
    assert listed.out == "00c0ffee  AdjustBalance  ann +5 EUR  by ops  open  because: a long wait\n"
    await _sent(database, "sue", "proposal:00c0ffee", proposals.Approve())
    assert "  approved by sue  " in (await run("proposal", "list", "lotus")).out
    assert json.loads((await run("proposal", "show", "lotus", "00c0ffee")).out)["asked"]["amount"] == 5
    unknown = await run("proposal", "show", "lotus", "0")
    assert (unknown.code, unknown.err.startswith("Error: lotus has no proposal '0'")) == (1, True)


async def test_incidents_are_listed_and_shown_with_what_was_done_about_them(run, database):
    await run("operator", "add", "lotus")
    await run("table", "open", "lotus", "t1", "teen_patti_2020", "--config", '{"currency":"INR","kind":"live"}')
    assert (await run("incident", "list", "lotus")).out == ""
    for nowhere in (("incident", "list", "lotus", "--table", "nope"), ("dispute", "list", "lotus", "--player", "nope")):
        told = await run(*nowhere)
        assert (told.code, told.err.startswith(f"Error: lotus has no {nowhere[3][2:]} 'nope'")) == (1, True), told
    reported = incidents.ReportIncident("t1", incidents.IncidentKind.DECK_COUNT, "51 cards")
    await _sent(database, "dan", "incident:00c0ffee", reported)
    listed = await run("incident", "list", "lotus", "--table", "t1", "--open")
    assert listed.out == "00c0ffee  t1  deck_count  by dan  open  51 cards\n"
    await _sent(
        database, "sue", "incident:00c0ffee", incidents.ResolveIncident(incidents.Resolution.RESUME, "found it")
    )
    assert (await run("incident", "list", "lotus", "--open")).out == ""
    assert "  resume by sue  " in (await run("incident", "list", "lotus", "--resolved")).out
    told = json.loads((await run("incident", "show", "lotus", "00c0ffee")).out)
    assert (told["incident"]["resolution"], len(told["steps"])) == ("resume", 2)
    unknown = await run("incident", "show", "lotus", "0")
    assert (unknown.code, unknown.err.startswith("Error: lotus has no incident '0'")) == (1, True)


async def test_what_is_done_by_a_verb_is_in_the_log_under_the_shells_name(run, pool):
    await run("operator", "add", "lotus")
    assert [row.actor for row in await eventlog.after(pool, "lotus", 1)] == ["shell"]


async def test_an_operator_that_is_not_there_is_told_with_those_that_are(run):
    await run("operator", "add", "lotus")
    said = await run("key", "list", "lotos")
    assert (said.code, "lotus" in said.err) == (1, True)


@pytest.mark.parametrize("name", ["", "a b", "ü", "a/b", "x" * 65, "a;drop table events"])
async def test_odd_names_are_refused_before_anything_happens(run, pool, name):
    assert (await run("operator", "add", name)).code == 2
    assert await eventlog.operators(pool) == []


async def test_without_settings_or_database_a_verb_says_what_is_missing(run):
    missing = await run("key", "list", "lotus", CROUPIER_POSTGRES="")
    assert (missing.code, "CROUPIER_POSTGRES" in missing.err) == (1, True)
    away = await run("key", "list", "lotus", CROUPIER_POSTGRES="postgresql://nobody@127.0.0.1:1/none")
    assert (away.code, away.err.startswith("Error: the database cannot be used")) == (1, True)
    assert "Traceback" not in away.err


async def _open_player(dsn: str, player: str) -> None:
    await _sent(dsn, "ops", WALLET + player, OpenWallet("EUR"))


async def _sent(dsn: str, actor: str, stream: str, command: Any) -> None:
    executor = Executor(dsn, Vault({}))
    assert isinstance(await executor.submit(Submission("lotus", actor, Role.OPERATOR, stream, command)), Accepted)
    await executor.close()

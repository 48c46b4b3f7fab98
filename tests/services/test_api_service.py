"""The service itself: its health, measures, documentation and log, and what it says when something is wrong with it."""

import json
import re
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from domain.decider import Submission
from domain.game import Role
from domain.games import GAMES
from domain.wallet.commands import Deposit
from services import executor as executor_module
from services import make_dossier
from services.api import problems
from services.api.openapi import document, prefix
from services.api.rulebook import codes, meaning
from services.api.tables import NewTable


@pytest.fixture
def casino(house_of_module):
    return house_of_module


@pytest.fixture(scope="module")
def told(house_of_module) -> dict[str, Any]:
    """The OpenAPI document, as it is served."""
    return json.loads(json.dumps(document(house_of_module.app)))


# --- Health and measures ------------------------------------------------------------------------------------------


async def test_a_process_that_can_take_commands_is_ready_even_without_redis(casino):
    live, ready = [await casino.http.get(f"/health/{which}") for which in ("live", "ready")]
    assert (live.status_code, live.json()) == (200, {"status": "live"})
    assert (ready.status_code, ready.json()["status"], ready.json()["database"]) == (200, "ready", "ok")
    assert ready.json()["redis"].startswith("away")


async def test_a_database_of_a_newer_program_makes_the_process_not_ready(casino, module_database):
    owner = await asyncpg.connect(module_database)
    await owner.execute("insert into migrations values ('9999_of_tomorrow.sql', 'x')")
    ready = await casino.http.get("/health/ready")
    await owner.execute("delete from migrations where name like '9999%'")
    assert (ready.status_code, ready.json()["schema"]) == (503, "newer than this program")
    await owner.execute("alter table migrations rename to hidden")
    away = await casino.http.get("/health/ready")
    await owner.execute("alter table hidden rename to migrations")
    await owner.close()
    assert (away.status_code, away.json()["status"]) == (503, "not_ready")


async def test_a_state_of_a_newer_program_is_not_read_and_not_written(casino, module_database):
    await casino.player("ann", 100)
    deposited = Submission("lotus", "ops", Role.OPERATOR, "wallet:ann", Deposit(1, "EUR"))
    await casino.worker.submit(deposited)  # the newer program writes the log too, so nothing that was kept is good
    owner = await asyncpg.connect(module_database)
    await owner.execute("update streams set state_schema = state_schema + 1 where stream = 'wallet:ann'")
    read = await casino.ask("GET", "/v1/players/ann")
    deposit = await casino.send("/v1/players/ann/deposits", {"amount": 1, "currency": "EUR"})
    await owner.execute("update streams set state_schema = state_schema - 1 where stream = 'wallet:ann'")
    assert [(each.status_code, each.json()["retryable"]) for each in (read, deposit)] == [(503, True)] * 2
    assert deposit.json()["outcome"] == "not_applied"
    assert (await casino.http.get("/health/ready")).json()["schema"] == "newer than this program"
    casino.services.executor.newer_schema = False
    await owner.close()


async def test_measures_are_for_those_nearby_and_name_no_player(casino):
    await casino.player("measured-player", 100)
    answer = await casino.http.get("/metrics")
    assert answer.headers["content-type"].count("charset") == 1
    assert answer.status_code == 200
    assert re.search(r'croupier_commands_total\{code="Accepted",type="Deposit"\} [1-9]', answer.text)
    assert "croupier_command_seconds_bucket" in answer.text
    assert re.search(r'croupier_http_requests_total\{.*path="/v1/players/\{player\}/deposits".*\} [1-9]', answer.text)
    assert "measured-player" not in answer.text
    for header in ("x-forwarded-for", "forwarded"):
        assert (await casino.http.get("/metrics", headers={header: "203.0.113.9"})).status_code == 404


# --- Documentation ------------------------------------------------------------------------------------------------


async def test_every_route_of_the_api_is_told(casino, told):
    routes = {
        (route.path_format, method)
        for route in casino.app.routes
        if route.path.startswith(("/v1/", "/health/"))
        for method in route.methods
        if method != "OPTIONS"
    }
    assert routes == {(path, method.upper()) for path, methods in told["paths"].items() for method in methods}
    assert len(routes) > 25


def test_every_operation_has_words_an_example_of_its_answer_and_its_problems(told):
    for path, methods in told["paths"].items():
        for operation in methods.values():
            assert operation["summary"], path
            done = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
            [content] = done["content"].values()
            assert content["example"], path
            assert {"400", "500", "503"} <= set(operation["responses"])


async def test_every_body_has_an_example_that_the_decoder_takes(casino, told):
    bodies = {
        (route.path_format): handler.opt["body"]
        for route in casino.app.routes
        if hasattr(route, "route_handlers")
        for handler in route.route_handlers
        if isinstance(handler.opt.get("body"), type)
    }
    assert NewTable in bodies.values()
    for path, kind in bodies.items():
        [content] = told["paths"][path]["post"]["requestBody"]["content"].values()
        msgspec.json.decode(json.dumps(content["example"]), type=kind)


def test_what_stands_under_a_field_in_the_source_is_told_of_it(told):
    schemas = told["components"]["schemas"]
    assert schemas["GinRummyAllowed"]["properties"]["forfeits"]["description"] == "Leaving would forfeit the match."
    for game in GAMES.values():
        assert schemas[f"{prefix(game)}TableView"]["properties"]["phase"]["description"].startswith("between ")


def test_every_operation_is_tried_out_under_a_key_of_its_own(told):
    keys = [
        each["example"]
        for operations in told["paths"].values()
        for operation in operations.values()
        for each in operation["parameters"]
        if each["name"] == "Idempotency-Key"
    ]
    assert len(set(keys)) == len(keys) > 10


def test_every_command_of_every_game_has_an_example_that_its_role_may_send(told):
    body = told["paths"]["/v1/tables/{table}/commands"]["post"]["requestBody"]["content"]["application/json"]
    expected = 0
    for game in GAMES.values():
        for role, union in game.commands.items():
            for member in union.__args__ if role is not Role.CLOCK else ():
                tag = member.__struct_config__.tag
                example = body["examples"][f"{game.title}, {role}: {tag}"]["value"]
                assert isinstance(msgspec.json.decode(json.dumps(example), type=union), member)
                expected += 1
    assert len(body["examples"]) == expected


def test_every_reference_leads_somewhere_and_names_of_games_are_their_own(told):
    text = json.dumps(told)
    for kind, name in re.findall(r'"#/components/(\w+)/([^"]+)"', text):
        assert name in told["components"][kind]
    schemas = told["components"]["schemas"]
    prefixes = tuple(prefix(game) for game in GAMES.values())
    assert "TeenPatti2020PlaceBet" in schemas
    assert not [name for name in schemas if not name.isalnum() and not name.startswith(prefixes)]
    assert told["openapi"] == "3.1.0"


async def test_the_page_to_try_it_needs_nobody_elses_server(casino):
    page = await casino.http.get("/docs")
    assert page.status_code == 200
    assets = re.findall(r'(?:src|href)=["\']([^"\']+)', page.text)
    assert len(assets) == 4
    for asset in assets:
        found = await casino.http.get(asset)
        assert (asset[0], found.status_code) == ("/", 200)
    shown = json.loads(re.search(r"spec: (\{.*\}),\n", page.text)[1])
    assert shown["openapi"] == "3.0.3"
    assert '{"type": "null"}' not in json.dumps(shown)
    served = (await casino.http.get("/docs/openapi.json")).json()
    assert served["openapi"] == "3.1.0"


def test_every_code_that_the_door_answers_with_is_explained():
    pages = (path.read_text() for path in Path(problems.__file__).parent.glob("*.py"))
    answered = {code for page in pages for code in re.findall(r'Problem\(\s*\d{3}, "([A-Za-z]+)"', page)}
    assert len(answered) > 30
    assert answered <= set(codes())


async def test_every_code_has_a_page_that_says_what_it_means(casino):
    for code in codes():
        page = await casino.http.get(f"/problems/{code}")
        assert page.status_code == 200
        assert len(meaning(code) or page.text) > 20
    assert (await casino.http.get("/problems/Nothing")).status_code == 404
    home = await casino.http.get("/")
    for link in re.findall(r"<a href=([^>]+)>", home.text):
        assert (await casino.http.get(link)).status_code == 200


# --- When something is wrong with it ------------------------------------------------------------------------------


async def test_a_full_queue_says_that_nothing_was_taken_in(casino, monkeypatch):
    await casino.player("bea", 100)
    before = await casino.position()
    monkeypatch.setattr(executor_module, "QUEUE_MAX", 0)
    busy = await casino.send("/v1/players/bea/deposits", {"amount": 1, "currency": "EUR"}, key="busy")
    monkeypatch.undo()
    told = busy.json()
    assert (busy.status_code, told["code"], told["retryable"], told["outcome"]) == (503, "Busy", True, "not_applied")
    assert busy.headers["retry-after"] == "1"
    assert await casino.position() == before
    assert (
        await casino.send("/v1/players/bea/deposits", {"amount": 1, "currency": "EUR"}, key="busy")
    ).status_code == 200


async def test_a_log_that_takes_too_long_leaves_the_outcome_unknown_and_the_key_tells_it(
    casino, monkeypatch, module_database
):
    await casino.player("cid", 100)
    monkeypatch.setattr(executor_module, "PATIENCE_S", 0.2)
    holder = await asyncpg.connect(module_database)
    async with holder.transaction():
        await holder.execute("select from logs where operator = 'lotus' for update")
        late = await casino.send("/v1/players/cid/deposits", {"amount": 7, "currency": "EUR"}, key="late")
    monkeypatch.undo()
    await holder.close()
    told = late.json()
    assert (late.status_code, told["code"], told["outcome"], told["retryable"]) == (503, "Unavailable", "unknown", True)
    assert told["facts"] == {"key": "late"}
    again = await casino.send("/v1/players/cid/deposits", {"amount": 7, "currency": "EUR"}, key="late")
    assert again.json()["balance"]["cash"] == 107
    assert (await casino.get("/v1/commands/late"))["became"] == "accepted"


async def test_what_is_on_record_though_its_answer_is_not_to_be_had_yet_is_told_as_applied(casino, monkeypatch):
    """Nothing is signed here, so no dossier can be made; that an auditor asked for one stands in the log."""
    monkeypatch.setattr(make_dossier, "_SIGNED_WITHIN_S", 0.1)
    round_id = await casino.table("unsigned")
    await casino.void("unsigned", "a test")
    await casino.until("unsigned", "between")
    auditor, before = casino.bearer(Role.AUDITOR), await casino.position()
    for _ in range(2):
        answer = await casino.send(f"/v1/rounds/{round_id}/dossier", {"why": "dispute 12"}, auditor, key="made-2")
        told = answer.json()
        assert answer.status_code == 503
        assert (told["code"], told["outcome"], told["retryable"]) == ("NotSigned", "applied", True)
        assert "is on record" in told["detail"]
        assert await casino.position() == before + 1
    read = await casino.ask("GET", f"/v1/rounds/{round_id}/dossier", auditor)
    assert (read.json()["code"], read.json()["outcome"]) == ("NotSigned", "not_applied")


async def test_a_fault_of_ours_says_so_and_tells_nothing_of_the_inside(casino, monkeypatch):
    ann = await casino.player("dot", 100)
    round_id = await casino.table("s1")

    async def fail(*_: object) -> None:
        raise RuntimeError("the inside: ck_secret")

    monkeypatch.setattr(casino.services.executor, "submit", fail)
    for answer in (
        await casino.bet(ann, round_id, player_a=100),
        await casino.send("/v1/players/dot/deposits", {"amount": 1, "currency": "EUR"}),
    ):
        told = answer.json()
        assert (answer.status_code, told["code"], told["outcome"]) == (500, "InternalError", "unknown")
        assert "inside" not in answer.text


async def test_no_secret_of_a_key_or_token_is_kept_anywhere(casino):
    token = await casino.player("fox", 100)
    secrets = [bearer.partition(".")[2].partition("_")[2] for bearer in casino.bearers.values()]
    tables = await casino.services.pool.fetch(
        "select table_name from information_schema.tables where table_schema = 'public'"
    )
    for (table,) in tables:
        if table != "migrations":
            rows = str(await casino.services.pool.fetch(f'select t::text from "{table}" t'))
            assert not [secret for secret in (*secrets, token) if secret in rows]

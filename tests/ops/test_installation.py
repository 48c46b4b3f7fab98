"""README's real installation, step by step as it stands there, on servers that nobody has prepared."""

import asyncio
import contextlib
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import msgspec
import pytest

from infra import embedded, postgres
from infra.embedded import Servers
from ops.stack import free_port
from tests.ops.up import HOUSE

pytestmark = pytest.mark.slow

SECTION = (HOUSE / "README.md").read_text().partition("\n## A real installation\n")[2].partition("\n## ")[0]
[SQL] = re.findall(r"^```sql\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
OWNER, GROUP, SERVICE, DATABASE = SQL.strip().split(";\n")
LINES = re.findall(r"^\$ (.*)$", SECTION, re.MULTILINE)
STEPS = {words[1]: words for words in (shlex.split(line, comments=True) for line in LINES)}


class Installation:
    """Its servers, and the verbs of the section as they are run there."""

    def __init__(self, servers: Servers, folder: Path) -> None:
        self.servers = servers
        self.folder = folder
        self.port = free_port("127.0.0.1")
        made = subprocess.run([HOUSE / "ops/docker/secrets"], capture_output=True, text=True, check=True).stdout
        self.secrets = dict(line.split("=", 1) for line in made.splitlines())
        self.told: dict[str, str] = {}
        """What each step printed."""

    def dsn(self, login: str, database: str = "croupier") -> str:
        where, _, options = postgres.as_login(self.servers.postgres, login).partition("?")
        return f"{where.rpartition('/')[0]}/{database}?{options}"

    def administrate(self, *statements: str) -> None:
        async def run() -> None:
            administrator = await asyncpg.connect(self.dsn("postgres", "postgres"))
            for statement in statements:
                await administrator.execute(statement)
            await administrator.close()

        asyncio.run(run())

    def environment(self, verb: str) -> dict[str, str]:
        if verb == "migrate":
            return os.environ | {"CROUPIER_POSTGRES_OWNER": self.dsn("croupier_owner")}
        given = {name: self.secrets[name] for name in ("CROUPIER_SECRET", "CROUPIER_VAULT_KEYS", "CROUPIER_LOG_KEYS")}
        if verb == "api":
            given |= {"CROUPIER_VAULT_KEYS": self.secrets["CROUPIER_API_VAULT_KEYS"], "CROUPIER_LOG_KEYS": ""}
        servers = {"CROUPIER_POSTGRES": self.dsn("croupier"), "CROUPIER_REDIS": self.servers.redis}
        return os.environ | given | servers | {"CROUPIER_PORT": str(self.port)}

    def run(self, verb: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            STEPS[verb], cwd=HOUSE, env=self.environment(verb), capture_output=True, text=True, check=False
        )

    @contextlib.contextmanager
    def running(self, verb: str, name: str = "", **changed: str) -> Iterator[Path]:
        """The file has its log lines."""
        log = self.folder / f"{name or verb}.log"
        with log.open("wb") as out:
            environment = self.environment(verb) | changed
            process = subprocess.Popen(STEPS[verb], cwd=HOUSE, env=environment, stdout=out, stderr=out)
        try:
            yield log
        finally:
            process.terminate()
            assert process.wait(10) == 0, log.read_text()

    def ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.told['operator'].strip()}", "idempotency-key": "k"}
        url = f"http://127.0.0.1:{self.port}{path}"
        return httpx.request(method, url, headers=headers, trust_env=False, timeout=10, **request)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("installation")
    with embedded.start(folder, durable=False) as servers:
        made = Installation(servers, folder)
        made.administrate("drop database croupier", OWNER, DATABASE)
        without_role = made.run("migrate")
        assert without_role.returncode == 1
        made.told["migrate without the role"] = without_role.stderr
        made.administrate(GROUP, SERVICE)
        for verb in ("migrate", "operator"):
            done = made.run(verb)
            assert done.returncode == 0, done.stderr
            made.told[verb] = done.stdout
        yield made


def line(log: Path, event: str) -> dict[str, Any]:
    """The log line of such an event, as soon as it is there."""
    deadline = time.monotonic() + 20
    while True:
        lines = [msgspec.json.decode(each) for each in log.read_text().splitlines() if each.startswith("{")]
        if found := [each for each in lines if event in each["event"]]:
            return found[0]
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)


def test_an_owner_who_may_make_no_role_is_told_what_an_administrator_must_run(installation: Installation) -> None:
    told = installation.told["migrate without the role"]
    assert "there is no role croupier_service, and this login may not create one" in told
    for statement in (GROUP, SERVICE):  # the very statements of README
        assert f"  {statement};\n" in told
    assert "Traceback" not in told


def test_the_verb_migrates_a_fresh_database_and_finds_nothing_new_the_next_time(installation: Installation) -> None:
    schema = HOUSE / "infra" / "sql" / "schema"
    applied = [f"applied {path.name}" for path in sorted(schema.glob("*.sql"))]
    assert installation.told["migrate"].splitlines() == applied
    assert installation.run("migrate").stdout == "the schema is up to date\n"


async def test_where_nothing_is_new_the_service_s_login_will_do(installation: Installation) -> None:
    assert await postgres.migrate(installation.dsn("croupier")) == []


def test_api_and_worker_serve_and_say_so_and_the_service_s_login_is_worth_no_word(installation: Installation) -> None:
    with installation.running("worker") as worker, installation.running("api") as api:
        serving = line(api, "serving")
        assert (serving["role"], serving["host"], serving["port"]) == ("api", "127.0.0.1", installation.port)
        assert line(worker, "working")["role"] == "worker"
        body = {"player": "ann", "currency": "INR"}
        assert installation.ask("POST", "/v1/players", json=body).status_code == 201
        deadline = time.monotonic() + 10
        while not (players := installation.ask("GET", "/v1/players").json()["players"]):  # projected by the worker
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert players[0]["player"] == "ann"
        assert "may change the log" not in api.read_text() + worker.read_text()


@pytest.mark.parametrize("verb", ["api", "worker"])
def test_a_login_that_may_change_the_log_is_warned_of(installation: Installation, verb: str) -> None:
    owner = installation.dsn("croupier_owner")
    with installation.running(verb, f"{verb} of the owner", CROUPIER_POSTGRES=owner) as log:
        told = line(log, "may change the log")
        assert (told["level"], told["alarm"]) == ("warning", True)
        assert told["wanted"] == "croupier_service"

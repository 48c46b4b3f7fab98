"""The program checks itself: at a worker's start, on demand, over HTTP and by the verb; what differs is named."""

import asyncio
import base64
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from domain.game import Role
from domain.selfcheck import Scope
from infra import deployed
from infra.settings import Settings, SettingsError
from ops.__main__ import croupier
from services import selfcheck, worker
from services.reconcile import reconcile
from services.selfcheck import SelfChecks
from tests.services.conftest import Casino

HOUSE = Path(__file__).parents[2]
ACCEPT = "/v1/selfcheck/accept"


@pytest.fixture
def altered(monkeypatch: pytest.MonkeyPatch) -> deployed.Manifest:
    """One file is another than before, one was put beside it."""
    code = deployed.code()
    parts = code.parts | {"domain/money.py": "0" * 64, "services/mine.py": "1" * 64}
    other = deployed.Manifest("f" * 64, parts)
    deployed_code = deployed.code
    monkeypatch.setattr(deployed, "code", lambda: other)
    assert deployed_code() == code
    return other


def checks(casino: Casino) -> SelfChecks:
    return SelfChecks(casino.worker, casino.services.pool, casino.services.settings)


def test_ten_lines_of_the_document_make_the_digest_anew():
    page = (HOUSE / "ops/decisions/0020-the-program-checks-itself.md").read_text()
    [lines] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    made = subprocess.run([sys.executable, "-I", "-c", lines], cwd=HOUSE, capture_output=True, text=True, check=True)
    assert made.stdout.strip() == deployed.code().digest


def test_the_digest_depends_on_every_file_by_name_and_content(tmp_path):
    def laid(**files: str) -> str:
        for folder in deployed.FOLDERS:
            (tmp_path / folder).mkdir(exist_ok=True)
        for path in tmp_path.rglob("*.*"):
            path.unlink()
        for name, text in files.items():
            (tmp_path / "domain" / name.replace("_", ".")).write_text(text)
        return deployed.code(tmp_path).digest

    digests = [laid(), laid(a_py="x"), laid(b_py="x"), laid(a_py="y"), laid(a_py="x", b_sql=""), laid(a_py="", b_md="")]
    assert len(set(digests)) == len(digests)
    assert laid(a_py="x", a_pyc="compiled") == laid(a_py="x")


def test_the_settings_digest_holds_no_secret_and_changes_with_what_is_told():
    told = Settings(postgres="postgresql://u:hush@h/d", redis="redis://:hush@h", secret=b"hush" * 8, port=1)
    manifest = deployed.settings(told)
    assert "hush" not in str(manifest.parts)
    assert manifest.parts["port"] == "1"
    assert deployed.settings(replace(told, port=2)).digest != manifest.digest
    assert deployed.settings(replace(told, vault_keys={"k1": bytes(32)})).digest != manifest.digest
    assert deployed.settings(replace(told, expected_digest="0" * 64)) == manifest


def test_a_release_s_digest_is_read_strictly():
    environment = {"CROUPIER_POSTGRES": "postgresql://h/d", "CROUPIER_REDIS": "redis://h"}
    environment["CROUPIER_SECRET"] = base64.b64encode(bytes(32)).decode()
    assert Settings.from_environment(environment | {"CROUPIER_EXPECTED_DIGEST": "ab" * 32}).expected_digest == "ab" * 32
    with pytest.raises(SettingsError, match="selfcheck --digest"):
        Settings.from_environment(environment | {"CROUPIER_EXPECTED_DIGEST": "AB" * 32})


async def test_a_worker_checks_once_an_hour_and_another_sees_what_it_found(casino: Casino):
    made = await checks(casino).once("lotus")
    assert [(each.scope, each.holds) for each in made] == [(Scope.CODE, True), (Scope.WORKER, True)]
    assert await checks(casino).once("lotus") == []
    told = await casino.get("/v1/selfcheck", casino.bearer(Role.AUDITOR))
    assert [each["scope"] for each in told["checks"]] == ["worker_settings", "code"]
    assert {each["actor"] for each in told["checks"]} == {"platform"}
    assert {"scope": "code", "expected": deployed.code().digest} in told["expected"]
    assert (await casino.get("/v1/selfcheck", casino.bearer(Role.AUDITOR, "other")))["checks"] == []
    said: list[str] = []
    assert (await reconcile(casino.services.pool, "lotus", said.append)).differences == 0, said


async def test_a_change_is_a_mismatch_that_names_the_files_until_a_supervisor_accepts_it(
    casino: Casino, request: pytest.FixtureRequest
):
    await checks(casino).once("lotus")
    assert not await selfcheck.is_another_program(casino.services.pool, "lotus")
    changed: deployed.Manifest = request.getfixturevalue("altered")
    [code] = await checks(casino).once("lotus")
    assert (code.scope, code.holds, code.differ) == (Scope.CODE, False, 2)
    assert code.differing == ("domain/money.py", "services/mine.py")
    supervisor = casino.bearer(Role.SUPERVISOR)
    now = await casino.done("/v1/selfcheck", {}, supervisor)
    assert now["holds"] is False
    body = {"scope": "code", "digest": changed.digest, "reason": "release 2"}
    assert (await casino.send(ACCEPT, body, casino.bearer(Role.OPERATOR))).status_code == 403
    assert (await casino.send(ACCEPT, body | {"digest": "9" * 64}, supervisor)).status_code == 404
    assert await selfcheck.is_another_program(casino.services.pool, "lotus")
    accepted = await casino.done(ACCEPT, body, supervisor)
    assert not await selfcheck.is_another_program(casino.services.pool, "lotus")
    assert accepted["expected"] == changed.digest
    assert (await casino.done("/v1/selfcheck", {}, supervisor))["holds"] is True


async def test_a_check_asked_for_is_kept_with_who_asked_and_its_repetition_is_the_same_one(casino: Casino):
    auditor = casino.bearer(Role.AUDITOR)
    first = await casino.done("/v1/selfcheck", {}, auditor, key="mine")
    assert await casino.done("/v1/selfcheck", {}, auditor, key="mine") == first
    second = await casino.done("/v1/selfcheck", {}, auditor)
    assert [each["scope"] for each in second["checks"]] == ["code", "api_settings"]
    kept = (await casino.get("/v1/selfcheck", auditor, limit=3))["checks"]
    assert kept[:2] == second["checks"][::-1]
    assert kept[0]["actor"] not in ("", "platform")
    page = await casino.get("/v1/selfcheck", auditor, cursor=kept[2]["position"])
    assert (page["checks"], page["next"]) == ([first["checks"][0]], None)


async def test_those_who_have_no_business_with_it_are_refused(casino: Casino):
    player = await casino.player("ann")
    for bearer in (player, casino.bearer(Role.STUDIO)):
        assert (await casino.ask("GET", "/v1/selfcheck", bearer)).status_code == 403
        assert (await casino.send("/v1/selfcheck", {}, bearer)).status_code == 403


async def test_a_worker_at_its_start_checks_in_every_log(casino: Casino):
    stop = asyncio.Event()
    working = asyncio.create_task(worker.work(casino.services.settings, stop))
    try:
        async with asyncio.timeout(15):
            for operator in ("lotus", "other"):
                while len(await selfcheck.page(casino.services.pool, operator, None, 10)) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
    finally:
        stop.set()
        await working


async def test_the_verb_checks_names_what_differs_and_accepts(casino: Casino, request: pytest.FixtureRequest):
    settings = casino.services.settings
    environment = {
        "CROUPIER_POSTGRES": settings.postgres,
        "CROUPIER_REDIS": settings.redis,
        "CROUPIER_SECRET": base64.b64encode(settings.secret).decode(),
    }

    async def run(*arguments: str) -> tuple[int, str]:
        invoke = CliRunner(env=environment).invoke
        result = await asyncio.to_thread(invoke, croupier, ["selfcheck", *arguments])
        return result.exit_code, result.output

    assert await run("--digest") == (0, deployed.code().digest + "\n")
    code, said = await run()
    assert (code, said.count("is what is expected")) == (0, 4)
    request.getfixturevalue("altered")
    code, said = await run("--operator", "lotus")
    assert code == 1
    assert "lotus: code: DIFFERS" in said
    assert "    services/mine.py\n" in said
    code, said = await run("--operator", "lotus", "--accept", "release 2")
    assert (code, "lotus: code: accepted: release 2" in said) == (0, True)
    assert (await run("--operator", "lotus"))[0] == 0
    assert (await run("--operator", "nobody"))[0] == 1

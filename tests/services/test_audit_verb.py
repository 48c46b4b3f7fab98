"""`croupier audit` on a real log: what it says, and with which exit code."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from infra import notes, postgres
from ops.__main__ import croupier
from services.notary import Notary
from tests.services.conftest import SECRET, Casino

SEED = bytes(range(32))
Run = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture(scope="module")
async def signed(house_of_module: Casino) -> Casino:
    await house_of_module.player("ann")
    await Notary(house_of_module.services.pool, "lotus", {"k1": SEED}).once()
    return house_of_module


@pytest.fixture
def key(tmp_path: Path) -> str:
    file = tmp_path / "log.pub"
    file.write_text(f"{notes.public_key('croupier/lotus/1', SEED)}\n")
    return str(file)


@pytest.fixture
def run(signed: Casino) -> Run:
    settings = signed.services.settings
    environment = {
        "CROUPIER_POSTGRES": settings.postgres,
        "CROUPIER_REDIS": settings.redis,
        "CROUPIER_SECRET": base64.b64encode(SECRET).decode(),
    }

    async def run(*words: str, **more: str) -> tuple[int, str]:
        invoke = CliRunner(env=environment | more).invoke
        result = await asyncio.to_thread(invoke, croupier, ["audit", *words])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output

    return run


async def test_a_log_that_is_whole(signed: Casino, run: Run, key: str, tmp_path: Path) -> None:
    count = await signed.position()
    assert await run("--operator", "lotus", "--key", key) == (
        0,
        f"lotus: {count} events are the ones that were signed, by 1 note\n",
    )
    own = f"k1:{base64.b64encode(SEED).decode()}"
    assert (await run("--operator", "lotus", CROUPIER_LOG_KEYS=own))[0] == 0
    kept = tmp_path / "kept"
    kept.write_text((await signed.ask("GET", "/v1/log/checkpoint")).text)
    assert (await run("--operator", "lotus", "--key", key, "--checkpoint", str(kept)))[0] == 0


async def test_a_log_that_was_altered(module_database: str, run: Run, key: str) -> None:
    async with postgres.connected(module_database, name="owner") as owner:
        await owner.execute("alter table events disable trigger all")
        at_5 = "where operator = 'lotus' and position = 5"
        actor = await owner.fetchval(f"select actor from events {at_5}")
        await owner.execute(f"update events set actor = 'somebody' {at_5}")
        code, told = await run("--operator", "lotus", "--key", key)
        await owner.execute(f"update events set actor = $1 {at_5}", actor)
    assert code == 1
    assert "lotus: ALTERED: position 5: the event is not the one that was taken into the tree" in told


async def test_what_is_missing_is_said(run: Run, key: str, tmp_path: Path) -> None:
    code, told = await run("--operator", "lotus")
    assert (code, "which key has signed? Give --key FILE" in told) == (1, True)
    code, told = await run("--key", key, "--checkpoint", key)
    assert (code, "say whose with --operator" in told) == (2, True)
    other = tmp_path / "other.pub"
    other.write_text(str(notes.public_key("croupier/lotus/1", bytes(32))))
    code, told = await run("--operator", "lotus", "--key", str(other))
    assert (code, "not signed by the key" in told) == (1, True)
    other.write_text("no key at all\n")
    code, told = await run("--operator", "lotus", "--key", str(other))
    assert (code, "no public key" in told) == (1, True)
    code, told = await run("--operator", "nobody", "--key", key)
    assert (code, "there is no operator 'nobody'" in told) == (1, True)

"""`croupier up` as somebody meets it who has just cloned the house: started, looked at, killed, and started again."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infra.embedded import EmbeddedError
from ops.data_folder import DEFAULT, secrets_in, without_settings
from tests.ops.up import HOUSE, Up

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, and at children that die with their parent"),
]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One for all who only look at it."""
    with Up(tmp_path_factory.mktemp("up") / "my data") as running:
        yield running.ready()


def test_the_first_curl_it_tells_works_as_pasted(up: Up) -> None:
    curl = up.until(r"Try:\n  (curl .*)\n")[1]
    answer = subprocess.run(["bash", "-c", curl], capture_output=True, text=True, check=True).stdout
    assert '"table":"rng-1"' in answer


def test_every_address_it_tells_leads_somewhere(up: Up) -> None:
    addresses = set(re.findall(r"http://[^\s,]+", up.told.partition("Where to look:")[2].partition("Try:")[0]))
    assert len(addresses) == 7
    for address in addresses:
        assert up.get(address.removeprefix(up.url)).status_code == 200, address


def test_its_keys_are_told_once_and_each_is_of_its_role(up: Up) -> None:
    told = dict(re.findall(r"^  (\w+) +(ck_demo\..*)$", up.told, re.MULTILINE))
    assert set(told) == {"operator", "studio", "supervisor", "auditor"}
    roles = {each["id"]: each["role"] for each in up.get("/v1/keys").json()["keys"]}
    for role, key in told.items():
        assert key == up.key(role)
        assert roles[key.removeprefix("ck_demo.").partition("_")[0]] == role


def test_two_tables_of_20_20_and_one_each_of_3_patti_and_gin_rummy_are_open(up: Up) -> None:
    tables = up.get("/v1/tables").json()["tables"]
    assert [(table["table"], table["game"]) for table in tables] == [
        ("gin-1", "gin_rummy"),
        ("live-1", "teen_patti_2020"),
        ("patti-1", "three_patti"),
        ("rng-1", "teen_patti_2020"),
    ]


def test_secrets_and_keys_are_for_their_owner_s_eyes_only(up: Up) -> None:
    files = [up.data / "secrets.json", up.data / "env", *(up.data / "keys").iterdir()]
    assert len(files) == 6
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert up.data.stat().st_mode & 0o777 == 0o700


SECRETS = ("VAULT_KEYS", "LOG_KEYS", "SECRET", "POSTGRES")


def test_the_api_knows_the_vault_keys_of_hidden_cards_only_and_the_bots_no_secret_at_all(up: Up) -> None:
    known = {
        name: Path(f"/proc/{up.pid_of(words)}/environ").read_bytes()
        for name, words in {"api": "ops api", "worker": "ops worker", "bots": "ops.bots"}.items()
    }
    told = {
        name: [each for each in SECRETS if re.search(f"CROUPIER_{each}=[^\\0]".encode(), text)]
        for name, text in known.items()
    }
    assert told == {
        "api": ["VAULT_KEYS", "SECRET", "POSTGRES"],
        "worker": ["VAULT_KEYS", "LOG_KEYS", "SECRET", "POSTGRES"],
        "bots": [],
    }
    keys = {name: vault_keys(text) for name, text in known.items() if name != "bots"}
    assert keys["worker"] == {"k1", "three_patti/k1", "gin_rummy/k1"}
    assert keys["api"] == {"three_patti/k1", "gin_rummy/k1"}


def vault_keys(environment: bytes) -> set[str]:
    """The ids of the vault keys that a process is given."""
    [text] = [each for each in environment.split(b"\0") if each.startswith(b"CROUPIER_VAULT_KEYS=")]
    return {entry.partition(":")[0] for entry in text.decode().partition("=")[2].split(",")}


def test_a_second_one_on_the_same_data_names_the_first(up: Up) -> None:
    pid = (up.data / "croupier.lock").read_text()
    assert f"process {pid} runs its croupier there" in refused("--data", str(up.data))
    assert f"process {pid} runs its croupier there" in refused("--data", str(up.data), "--port", up.url.split(":")[-1])
    assert up.get("/health/ready").status_code == 200


def test_a_taken_port_is_said_before_anything_is_started(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = refused("--data", str(tmp_path / "data"), "--port", str(port))
    assert f"port {port} of 127.0.0.1 cannot be had" in told
    assert not (tmp_path / "data").exists()


def test_what_it_was_given_and_cannot_use_is_said(tmp_path: Path) -> None:
    elsewhere = {"CROUPIER_POSTGRES": "postgresql://nobody@127.0.0.1:1/none", "CROUPIER_REDIS": "redis://127.0.0.1:1"}
    assert "the database cannot be brought up to date" in refused("--data", str(tmp_path), given=elsewhere)
    (tmp_path / "file").touch()
    assert "cannot be written to" in refused("--data", str(tmp_path / "file" / "data"))


def test_bots_play_and_the_studio_deals(up: Up) -> None:
    up.until(r"rng-1\.\d+ .* bettors staked", 120)
    up.until(r"live-1\.\d+ .* bettors staked", 120)
    up.until(r"patti-1\.\d+ .* played, ended by .* won", 120)
    up.until(r"gin-1\.\d+ .* played, ended by .* scored", 120)


@pytest.mark.parametrize(
    ("name", "words"),
    [("api", "ops api"), ("worker", "ops worker"), ("redis", "valkey-server"), ("postgres", "postgres -D")],
)
def test_whatever_dies_is_started_again_and_said(up: Up, name: str, words: str) -> None:
    pid = up.pid_of(words)
    os.kill(pid, signal.SIGKILL)
    up.until(rf"{name} ended")
    deadline = time.monotonic() + 30
    while (now := up.find(words)) in (None, pid) or health(up) != 200:
        assert time.monotonic() < deadline, (now, up.told)
        time.sleep(0.1)


def test_killed_it_leaves_no_process_behind_and_the_next_start_has_everything(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--no-bots") as first:
        first.ready()
        opened = first.post("/v1/players", {"player": "ann", "currency": "INR"})
        paid = first.post("/v1/players/ann/deposits", {"amount": 777, "currency": "INR"})
        assert opened.is_success
        assert paid.is_success
        key = first.key("operator")
        first.end(signal.SIGKILL)
        deadline = time.monotonic() + 5
        while left := first.processes():
            assert time.monotonic() < deadline, left
            time.sleep(0.05)
    read = "set -a; . data/env; env -0 | grep -z ^CROUPIER_"  # the next one is started in a shell that has read these
    told = subprocess.run(["bash", "-c", read], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    given = dict(line.split("=", 1) for line in told.split("\0") if line)
    with Up(tmp_path / "data", "--no-bots", given=given) as again:
        again.ready()
        assert again.get("/v1/players/ann").json()["balance"] == 777
        assert again.key("operator") == key
        assert key not in again.told
        ends_cleanly(again, signal.SIGTERM)


def test_ctrl_c_in_the_middle_of_the_start_leaves_nothing_behind(tmp_path: Path) -> None:
    as_a_script_does = ("bash", "-c", 'trap "" INT; exec "$@"', "script")  # where it begins something with `&`
    with Up(tmp_path / "data", "--no-bots", begun_by=as_a_script_does) as up:
        up.until("applied migration")
        ends_cleanly(up, signal.SIGINT)


def test_a_redis_that_does_not_answer_is_said_and_all_goes_on(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--no-bots", given={"CROUPIER_REDIS": "redis://127.0.0.1:1"}) as up:
        up.ready()
        assert "CROUPIER_REDIS does not answer" in up.told
        assert health(up) == 200


async def test_given_servers_are_used_and_none_is_started(database: str, redis_url: str, tmp_path: Path) -> None:
    given = {"CROUPIER_POSTGRES": database, "CROUPIER_REDIS": redis_url}
    await asyncio.to_thread(runs_on, given, tmp_path / "data")


def test_sealed_decks_are_not_left_without_their_keys(tmp_path: Path) -> None:
    made = secrets_in(tmp_path)
    (tmp_path / "postgres").mkdir()
    assert secrets_in(tmp_path) == made
    (tmp_path / "secrets.json").unlink()
    with pytest.raises(EmbeddedError, match="put it back from a backup"):
        secrets_in(tmp_path)


def test_keys_that_only_the_shell_knows_seal_nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = {f"CROUPIER_{name}": f"real:{name}" for name in ("SECRET", "VAULT_KEYS", "LOG_KEYS")}
    for name, value in real.items():
        monkeypatch.setenv(name, value)
    made = secrets_in(tmp_path).environment
    assert set(made) == set(real)
    assert not set(made.values()) & set(real.values())
    assert secrets_in(tmp_path, real).environment == real
    assert not set(real) & set(without_settings())


def test_its_data_is_beside_the_script_and_git_does_not_see_it() -> None:
    assert DEFAULT == HOUSE / "data"
    assert "/data/" in (HOUSE / ".gitignore").read_text().splitlines()


def runs_on(given: dict[str, str], data: Path) -> None:
    with Up(data, "--no-bots", given=given) as up:
        up.ready()
        assert "private" not in up.told
        assert not (data / "postgres").exists()
        assert health(up) == 200
        ends_cleanly(up, signal.SIGINT)


def ends_cleanly(up: Up, how: signal.Signals) -> None:
    assert up.end(how) < 5
    assert up.process.returncode == 0, up.told
    assert "stopped" in up.told
    assert not up.processes()


def health(up: Up) -> int:
    try:
        return up.get("/health/ready").status_code
    except httpx.HTTPError:
        return 0


def refused(*options: str, given: dict[str, str] | None = None) -> str:
    command = [HOUSE / "croupier", "up", "--port", "0", *options]
    told = subprocess.run(
        command, env=os.environ | (given or {}), capture_output=True, text=True, timeout=60, check=False
    )
    assert told.returncode == 1, told.stdout
    return told.stderr

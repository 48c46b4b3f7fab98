"""The verb `test`: the gate that every change passes, the same here and in CI."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
import msgspec

HOUSE = Path(__file__).resolve().parent.parent
PACKAGES = ("domain", "infra", "services", "ops")
_BIN = Path(sys.executable).parent
_STRICTLY = ("check", "--quiet", "--fail-on", "low", "--skip-suppressed", "--strict-config", "--no-env")
_ALL_TESTS = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
"""Each worker has its own servers; a file's tests share a database. More than there are cores, for tests mostly wait
for clocks and servers; the order is that of tests/conftest.py."""

_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""Wherever else it is unwanted: tests start many processes, and each would compile all of ours again."""
_DOCKER = ("docker-compose.yml", "ops/docker/Dockerfile")


class Step(msgspec.Struct, frozen=True):
    name: str
    command: tuple[str, ...]
    remedy: str
    needs: str = ""  # a file without which there is nothing to check


STEPS = (
    Step("format", ("ruff", "format", "--check", "."), "run `.venv/bin/ruff format .`"),
    Step("lint", ("ruff", "check", "."), "repair what it names; `.venv/bin/ruff check --fix .` does the simple ones"),
    Step("types", ("basedpyright", *PACKAGES), "repair the types it names"),
    Step("imports", ("lint-imports", "--no-logo"), "an arrow of DESIGN 2 is broken: move the code or the import"),
    Step("dockerfile", ("hadolint", _DOCKER[1]), "repair the Dockerfile", needs=_DOCKER[1]),
    Step("compose", ("compose-lint", *_STRICTLY, _DOCKER[0]), "repair docker-compose.yml", needs=_DOCKER[0]),
    Step("pytest", ("pytest",), "run `./croupier test --only pytest -- --last-failed -x` until it is green"),
)


@click.command()
@click.option("--only", type=click.Choice([step.name for step in STEPS]), help="Run this step alone.")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def command(only: str | None, pytest_args: tuple[str, ...]) -> None:
    """Run the whole gate, and stop at the first step that is red.

    What follows `--` goes to pytest: `croupier test --only pytest -- tests/domain -x`.
    """
    begun = time.monotonic()
    chosen = [step for step in STEPS if only in (None, step.name) and (HOUSE / step.needs).exists()]
    for number, step in enumerate(chosen, 1):
        click.secho(f"[{number}/{len(chosen)}] {step.name}", bold=True)
        if not run(step, (pytest_args or _ALL_TESTS) if step.name == "pytest" else ()):
            click.secho(f"red: {step.name}. What to do: {step.remedy}", fg="red", bold=True)
            sys.exit(1)
    names = ", ".join(step.name for step in chosen)
    click.secho(f"green in {time.monotonic() - begun:.0f} s: {names}", fg="green", bold=True)


def run(step: Step, arguments: tuple[str, ...]) -> bool:
    program, *rest = step.command
    begun = time.monotonic()
    sys.stdout.flush()
    found = shutil.which(program, path=str(_BIN)) or program
    environment = os.environ | _BYTECODE | {"PYTHONPATH": str(HOUSE)}
    passed = subprocess.run([found, *rest, *arguments], cwd=HOUSE, env=environment, check=False).returncode == 0
    click.echo(f"      {time.monotonic() - begun:.1f} s")
    return passed

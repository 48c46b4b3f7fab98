"""The front door: `./croupier` makes its own environment, once, and says what it needs; the command is quick."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from ops.__main__ import VERBS, croupier

HOUSE = Path(__file__).parents[2]
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A house of its own with the real front door, no packages to install, and a command that says where it runs."""
    folder = tmp_path / "house"
    (folder / "ops").mkdir(parents=True)
    shutil.copy(HOUSE / "croupier", folder)
    (folder / "requirements.lock").write_text("# nothing\n")
    (folder / "ops" / "__main__.py").write_text("import os, sys\nprint('ran', os.getcwd(), *sys.argv[1:])\n")
    return folder


@pytest.fixture
def path_without_uv(tmp_path: Path) -> Path:
    """A PATH that leads to the usual programs and one Python, and not to uv."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "cksum", "dirname", "flock", "readlink", "sleep"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    base = Path(sys.base_prefix) / "bin" / f"python{PYTHON}"
    (folder / "python3").write_text(f'#!/bin/sh\nexec {base} "$@"\n')
    (folder / "python3").chmod(0o755)
    return folder


def run(door: Path, *words: str, cwd: Path | None = None, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHONPATH")}
    if path:
        environment["PATH"] = str(path)
    command: Sequence[str | Path] = [door, *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_first_start_installs_and_the_second_only_runs(house: Path) -> None:
    first = run(house / "croupier", "up", "--port", "1", cwd=house)
    assert first.stdout == f"ran {house} up --port 1\n"
    assert "installing the packages of requirements.lock" in first.stderr
    second = run(house / "croupier", "up", cwd=house)
    assert (second.stdout, second.stderr) == (f"ran {house} up\n", "")


def test_a_changed_lock_is_installed(house: Path) -> None:
    run(house / "croupier")
    (house / "requirements.lock").write_text("# something else\n")
    assert "installing" in run(house / "croupier").stderr
    assert run(house / "croupier").stderr == ""


def test_an_install_that_failed_is_tried_again(house: Path) -> None:
    lock = house / "requirements.lock"
    lock.write_text("no-hash-here==1\n")
    assert run(house / "croupier").returncode != 0
    assert run(house / "croupier").returncode != 0
    lock.write_text("# nothing\n")
    assert run(house / "croupier").returncode == 0


def test_two_first_starts_at_once_install_once(house: Path) -> None:
    both = [
        subprocess.Popen([house / "croupier"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "12"
    ]
    told = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("installed in" in errors for _, errors in told) == 1


def test_without_uv_pip_installs_and_each_obstacle_is_told_with_its_remedy(house: Path, path_without_uv: Path) -> None:
    python, lock = path_without_uv / "python3", house / "requirements.lock"
    complete = python.read_text()
    python.write_text(complete.replace("exec", 'case "$*" in *ensurepip*) exit 1;; esac\nexec'))
    without_venv = run(house / "croupier", path=path_without_uv)
    assert without_venv.returncode == 1
    assert f"apt install python{PYTHON}-venv\n" in without_venv.stderr

    python.write_text(complete)
    lock.write_text("click==8.2.0\n")
    without_hash = run(house / "croupier", path=path_without_uv)
    assert without_hash.returncode != 0
    assert "Hashes are required" in without_hash.stderr

    lock.write_text("# nothing\n")
    started = run(house / "croupier", path=path_without_uv)
    assert started.stdout.startswith("ran "), started.stderr
    assert (house / ".venv" / "bin" / "pip").exists()
    assert run(house / "croupier", path=path_without_uv).stderr == ""

    in_use = house / ".venv" / "what-a-running-process-has-open"
    in_use.touch()
    lock.write_text("# something else\n")
    assert "installed" in run(house / "croupier", path=path_without_uv).stderr
    assert in_use.exists()


def test_a_machine_without_python_is_told_so(house: Path, path_without_uv: Path) -> None:
    (path_without_uv / "python3").write_text("#!/bin/sh\nexit 1\n")
    started = run(house / "croupier", path=path_without_uv)
    assert started.returncode == 1
    assert "needs Python 3.11 or newer, or uv" in started.stderr


def test_it_works_from_anywhere_and_through_links(house: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "else where"
    (elsewhere / "ops").mkdir(parents=True)
    (elsewhere / "ops" / "__main__.py").write_text("print('the wrong module')\n")
    (elsewhere / "one").symlink_to(house / "croupier")
    (elsewhere / "two").symlink_to("one")
    assert run(elsewhere / "two", cwd=elsewhere).stdout == f"ran {elsewhere}\n"
    assert run("./one", cwd=elsewhere).stdout == f"ran {elsewhere}\n"


def test_help_is_quick_and_lists_the_verbs_that_there_are() -> None:
    run(HOUSE / "croupier", "--help")
    begun = time.monotonic()
    told = run(HOUSE / "croupier", "--help")
    assert time.monotonic() - begun < 1
    assert told.returncode == 0, told.stderr
    listed = {line.split()[0] for line in told.stdout.splitlines() if line.startswith("  ")}
    for verbs in VERBS.values():
        for verb, (module, _) in verbs.items():
            assert (verb in listed) == (HOUSE / "ops" / f"{module}.py").exists(), verb


def test_help_imports_no_verb() -> None:
    program = "import sys; sys.argv[1:] = ['--help']; import ops.__main__ as m; m.croupier(standalone_mode=False)"
    program += "; heavy = {'litestar', 'asyncpg', 'redis', 'ops.check'} & set(sys.modules); assert not heavy, heavy"
    told = subprocess.run([sys.executable, "-c", program], cwd=HOUSE, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr


def test_every_verb_that_there_is_tells_about_itself() -> None:
    for verbs in VERBS.values():
        for verb, (module, _) in verbs.items():
            if (HOUSE / "ops" / f"{module}.py").exists():
                told = CliRunner().invoke(croupier, [verb, "--help"], prog_name="croupier")
                assert told.exit_code == 0, told.output
                assert f"Usage: croupier {verb}" in told.output


def test_an_unknown_verb_is_refused() -> None:
    told = run(HOUSE / "croupier", "gamble")
    assert told.returncode == 2
    assert "No such command 'gamble'" in told.stderr


def test_a_verb_mistyped_is_answered_with_the_likely_one() -> None:
    assert "Did you mean 'reconcile'?" in run(HOUSE / "croupier", "reconsile").stderr


def test_a_verb_without_settings_says_where_those_of_up_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROUPIER_POSTGRES", "")
    told = run(HOUSE / "croupier", "reconcile")
    assert told.returncode == 1
    assert "CROUPIER_POSTGRES is not set" in told.stderr
    assert "(. data/env; ./croupier reconcile)" in told.stderr


def test_a_reader_who_has_read_enough_is_no_error(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text('{"a": ["As","2h","3d"], "b": ["Ks","Qh","Jd"]}\n' * 20_000)
    command = f"'{HOUSE}/croupier' calc three-card {lines} | head -1"
    told = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert told.stdout.startswith('{"winner":"A"')
    assert told.stderr == ""


def test_the_gate_stops_at_the_first_red_step_and_says_what_to_do() -> None:
    told = run(HOUSE / "croupier", "test", "--only", "pytest", "--", "tests/nowhere.py")
    assert told.returncode == 1
    assert "red: pytest. What to do: " in told.stdout

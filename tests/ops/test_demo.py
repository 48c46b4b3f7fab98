"""`croupier demo`: it holds where all is well, and it fails where anything is not."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

import ops.standalone.verify_dossier as standalone
from domain import fairness
from domain.fairness import ClientSeed
from infra import eventlog
from ops import demo, demo_proof
from ops.client import Entry, LogPage, Movement
from tests.ops.up import HOUSE, Up

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc for what is left behind")


REAL = {
    "CROUPIER_POSTGRES": "postgresql://croupier@127.0.0.1:1/real",
    "CROUPIER_POSTGRES_OWNER": "postgresql://owner@127.0.0.1:1/real",
    "CROUPIER_REDIS": "redis://127.0.0.1:1",
    "CROUPIER_SECRET": "of a real installation",
    "CROUPIER_VAULT_KEYS": "k1:of-a-real-installation",
    "CROUPIER_LOG_KEYS": "k1:of-a-real-installation",
    "CROUPIER_TIME_ZONE": "Nowhere/At_All",
}
"""What a shell may know, and a demo must not touch: it fails at the first of these that it takes for its own."""


def run(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [HOUSE / "croupier", "demo", *options]
    return subprocess.run(command, env=os.environ | REAL, capture_output=True, text=True, timeout=180, check=False)


@pytest.mark.slow
def test_whatever_the_shell_knows_every_check_holds_and_a_dossier_of_each_game_is_left(tmp_path: Path) -> None:
    told = run("--out", str(tmp_path / "out"))
    assert told.returncode == 0, told.stdout + told.stderr
    assert "FAILS" not in told.stdout
    held = re.search(r"All (\d+) checks hold", told.stdout)
    assert held
    assert int(held[1]) == told.stdout.count("   holds  ") >= 120
    assert "reconciled up to position" in told.stdout
    files = sorted((tmp_path / "out").glob("*.dossier.json"))
    assert [file.name.partition("-")[2].partition("-")[0] for file in files] == ["gin", "patti", "rng"]
    for file in files:
        for program in ((HOUSE / "croupier", "verify"), (sys.executable, "-I", standalone.__file__)):
            asked = [*program, file, "--key", tmp_path / "out" / "log.pub"]
            done = subprocess.run(asked, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.slow
@linux
def test_against_a_running_service_it_leaves_no_table_open_and_no_key_valid(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--no-bots") as up:
        told = run("--url", up.ready().url, "--key", up.key("operator"))
        assert told.returncode == 0, told.stdout + told.stderr
        tables = [table["table"] for table in up.get("/v1/tables").json()["tables"]]
        phases = {table: up.get(f"/v1/tables/{table}").json()["view"] for table in tables if "demo-" in table}
        assert len(phases) == 4
        assert all(view["phase"] == "closed" or view.get("draining") for view in phases.values())
        keys = up.get("/v1/keys").json()["keys"]
        assert {key["revoked"] for key in keys if key["label"] == "croupier demo"} == {True}


def test_a_service_that_is_not_there_is_said() -> None:
    told = run("--url", "http://127.0.0.1:1", "--key", "ck_demo.x_y")
    assert told.returncode == 1
    assert "could not be played to its end: no service answers at http://127.0.0.1:1" in told.stderr


def test_an_address_needs_a_key() -> None:
    told = CliRunner().invoke(demo.command, ["--url", "http://127.0.0.1:1"], env={"CROUPIER_KEY": ""})
    assert told.exit_code == 2
    assert "--url needs --key" in told.output


def test_one_check_that_fails_makes_the_demo_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_play_in_private", lambda teller, _out: teller.check("two and two are five", False))
    told = CliRunner().invoke(demo.command, [])
    assert told.exit_code == 1
    assert "1 checks FAILED: two and two are five" in told.output


# --- The proofs, against a service that lies ----------------------------------------------------------------------


class Checked(dict[str, bool]):
    def __call__(self, what: str, holds: bool) -> None:
        self[what] = holds


SEED = bytes(range(32))
GIVEN = ClientSeed("ann", "ann-was-here")
DECK = fairness.shuffle(SEED, operator="demo", table="t", round="t.1", client_seeds=[GIVEN])


def round_told() -> list[dict[str, Any]]:
    opened = {"type": "g.RoundOpened", "round": "t.1", "client_seeds": [{"player": "ann", "seed": GIVEN.seed}]}
    cards = [
        {
            "type": "g.CardDealt",
            "card": DECK.cards[place],
            "opening": msgspec.to_builtins(fairness.opening(DECK, place)),
        }
        for place in range(6)
    ]
    return [opened, *cards, {"type": "g.RoundSettled", "seed": SEED.hex()}]


def failures(events: list[dict[str, Any]], root: str = DECK.root) -> int:
    checked = Checked()
    demo_proof.check_cards("demo", events, fairness.seed_hash(SEED), root, checked)
    assert len(checked) == 4
    return sum(not holds for holds in checked.values())


def test_an_honest_round_proves_itself() -> None:
    assert failures(round_told()) == 0


def test_another_seed_than_the_published_one_is_noticed() -> None:
    events = round_told()
    events[-1]["seed"] = bytes(32).hex()
    assert failures(events) == 3  # hash, root and cards; the cards still prove themselves against the root


def test_a_client_seed_left_out_of_the_shuffle_is_noticed() -> None:
    events = round_told()
    events[0]["client_seeds"] = []
    assert failures(events) == 2


def test_a_swapped_card_is_noticed() -> None:
    events = round_told()
    events[2]["card"], events[3]["card"] = events[3]["card"], events[2]["card"]
    assert failures(events) == 2


def test_another_root_than_the_published_one_is_noticed() -> None:
    assert failures(round_told(), root="00" * 32) == 2


def entries() -> list[Entry]:
    """Three events of a log, chained."""
    made, before = list[Entry](), eventlog.genesis("demo", 1)
    for position in (1, 2, 3):
        entry = Entry(position, "wallet:ann", position, "wallet.Opened", 1, None, "k", "a", "operator", 5, "{}", "")
        row = eventlog.EventRow(position, *(getattr(entry, name) for name in Entry.__struct_fields__[1:11]), b"")
        before = eventlog.link(before, row)
        entry.hash = before.hex()
        made.append(entry)
    return made


class Liar:
    """A service that shows these entries as its log."""

    def __init__(self, shown: list[Entry]) -> None:
        self.shown = shown

    async def get(self, _path: str, _kind: type[LogPage], **_: int) -> LogPage:
        return LogPage(self.shown, eventlog.genesis("demo", 1).hex(), None, 3)


def chain(shown: list[Entry]) -> list[bool]:
    checked = Checked()
    asyncio.run(demo_proof.check_log(Liar(shown), 0, checked))
    return list(checked.values())


def test_an_untouched_log_is_dense_and_linked() -> None:
    assert chain(entries()) == [True, True]


def test_an_event_taken_out_of_the_log_is_noticed() -> None:
    assert chain([each for each in entries() if each.position != 2]) == [False, False]


def test_an_event_that_was_changed_is_noticed() -> None:
    shown = entries()
    shown[1].data = '{"amount":1}'
    assert chain(shown) == [True, False]


def test_a_statement_with_a_break_is_noticed() -> None:
    movements = [Movement(3, "bet", "t.1", -30, 100, 70), Movement(1, "deposit", None, 100, 0, 100)]
    for broken in ([movements[0]], [movements[1]], [movements[0], Movement(1, "deposit", None, 90, 0, 100)]):
        checked = Checked()
        demo_proof.check_statement("ann", broken, 70, checked)
        assert not all(checked.values())
    checked = Checked()
    demo_proof.check_statement("ann", movements, 70, checked)
    assert all(checked.values())

"""README's commands, run as they stand there."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ops.up import HOUSE, Up

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc for what is left behind"),
]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", (HOUSE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
LINE = "=" * 20


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What each block printed, all of them run in one shell one after the other, against `croupier up`."""
    with Up(tmp_path_factory.mktemp("readme") / "data", "--no-bots") as up:
        script = f"\necho {LINE}\n".join(["set -eu", *BLOCKS])
        script = script.replace("http://127.0.0.1:8080", up.ready().url).replace("data/", f"{up.data}/")
        ran = subprocess.run(
            ["bash", "-c", script], cwd=HOUSE, capture_output=True, text=True, timeout=120, check=False
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
        yield ran.stdout.split(f"{LINE}\n")[1:]


def answers(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_ann_is_opened_and_has_money(told: list[str]) -> None:
    opened, paid = answers(told[0])
    assert opened["events"]
    assert paid["balance"]["cash"] == 100_000


def test_the_bet_counts_once(told: list[str]) -> None:
    first, again = answers(told[1])
    assert first == again
    assert first["balance"]["cash"] == 94_000


def test_the_live_table_tells_of_the_settlement(told: list[str]) -> None:
    settled = re.search(r"^event: wallet.BetsSettled\ndata: (.*)$", told[2], re.MULTILINE)
    assert settled, told[2]
    assert json.loads(settled[1])["event"]["staked"] == 6_000


def test_everything_is_read_back(told: list[str]) -> None:
    statement, result, replay = answers(told[3])
    assert {movement["kind"] for movement in statement["movements"]} >= {"deposit", "bet"}
    assert [bettor["player"] for bettor in result["bettors"]] == ["ann"]
    assert all(proof["holds"] for proof in replay["proofs"])


def test_the_verbs_on_the_server_say_that_all_agree(told: list[str]) -> None:
    assert "holds  every payout is what the game returns for its bet" in told[4]
    assert "demo: " in told[4]
    assert "all agree" in told[4]


def test_an_incident_pauses_the_table_and_is_resolved(told: list[str]) -> None:
    seen, resolved, read = answers(told[8])
    assert (seen["view"]["phase"], seen["view"]["reason"].startswith("stream lost (incident ")) == ("paused", True)
    assert resolved["incident"]["resolution"] == "resume"
    assert [step["event"]["words"] for step in read["steps"]] == ["camera 2 is dark", "a cable was loose"]


def test_a_correction_takes_two_persons(told: list[str]) -> None:
    proposed, approved = answers(told[7])
    assert (proposed["proposal"]["stage"], approved["proposal"]["stage"]) == ("open", "approved")
    assert approved["proposal"]["decided_by"] != proposed["proposal"]["proposed_by"]


def test_a_dispute_is_heard_decided_by_two_and_proved(told: list[str]) -> None:
    heard, approved, case = answers(told[9])
    assert (heard["dispute"]["evidence"], approved["proposal"]["stage"]) == (1, "approved")
    assert case["dispute"]["stage"] == "rejected"
    assert [each["event"]["type"] for each in case["events"]][-1] == "dispute.Decided"
    assert "dispute.case.json is true: all" in told[9]


def test_the_two_commands_are_verbs() -> None:
    console = re.findall(r"^```console\n(.*?)^```$", (HOUSE / "README.md").read_text(), re.MULTILINE | re.DOTALL)[0]
    verbs = re.findall(r"^\$ \./croupier (\w+)", console, re.MULTILINE)
    assert verbs == ["up", "demo"]
    assert all((Path(HOUSE) / "ops" / f"{verb}.py").exists() for verb in verbs)

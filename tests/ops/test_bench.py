"""The bench runs and tells all that it should. Its numbers here are tiny and measure nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    data = tmp_path_factory.mktemp("bench")
    words = [sys.executable, "-m", "ops", "bench", "--quick", "--json", "--data", str(data)]
    run = subprocess.run(words, cwd=HOUSE, capture_output=True, text=True, check=False, timeout=240)
    assert run.returncode == 0, run.stderr
    assert not list(data.iterdir()), "it left something behind"
    return run.stdout.splitlines()


@pytest.mark.slow
def test_the_last_line_has_every_figure_that_was_promised_and_each_is_positive(told):
    figures = json.loads(told[-1])
    pgbench = figures["bets"].pop("pgbench_cpu_us")
    assert pgbench is None or pgbench > 0
    assert set(figures) == {"bets", "settlement", "relay", "projections", "replay", "memory", "patti", "gin"}
    names = "cpu_us per_s p50_ms p99_ms floor_handler_cpu_us transaction_per_command_cpu_us"
    assert set(figures["bets"]) == set(names.split())
    assert set(figures["settlement"]) == {"cpu_us"}
    played = {"tables", "actions_per_s", "cpu_us"}
    assert set(figures["patti"]) == played
    assert set(figures["memory"]) == {"api_mb", "worker_mb"}
    assert set(figures["gin"]) == played | {"deadwood_us", "layoff_us"}
    rates = {"relay": figures["relay"], "replay": figures["replay"], **figures["projections"]}
    assert set(rates) >= {"relay", "replay", "balances", "statement", "rounds", "audit"}
    assert all(set(rate) == {"events_per_s"} for rate in rates.values())
    parts = (
        figures["bets"],
        figures["settlement"],
        figures["memory"],
        figures["patti"],
        figures["gin"],
        *rates.values(),
    )
    assert all(number > 0 for part in parts for number in part.values())


@pytest.mark.slow
def test_every_goal_is_told_with_what_was_reached_of_it(told):
    goals = [line for line in told if line.endswith((" reached", "NOT REACHED"))]
    assert len(goals) >= 12

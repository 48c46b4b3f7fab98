"""The log of a worker and of a verb, as real processes: one line a command that did something, and no line a bettor."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from domain.decider import Submission
from domain.game import Role, TimeOut
from infra import codec
from services import lines
from services.batch import Accepted, Appended
from tests.services.conftest import Casino

BETTORS = 20
AT_ONCE = {"betting_seconds": 1, "card_interval_ms": 0, "pause_seconds": 2}


def environment(casino: Casino) -> dict[str, str]:
    return os.environ | casino.environment | {"CROUPIER_LOG_FORMAT": "json"}


@asynccontextmanager
async def working(casino: Casino, log: Path) -> AsyncGenerator[None]:
    with log.open("wb") as out:
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ops", "worker", env=environment(casino), stdout=out, stderr=out
        )
    try:
        yield
    finally:
        worker.terminate()
        await worker.wait()


def told(written: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in written.splitlines()]
    assert {tuple(line)[:4] for line in lines} == {("timestamp", "level", "role", "event")}
    return lines


async def phase(casino: Casino, name: str) -> None:
    for _ in range(1_000):
        if (await casino.get("/v1/tables/w"))["view"]["phase"] == name:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(name)


async def test_a_workers_log_has_a_line_for_what_each_clock_did_and_for_each_step_of_a_settlement(casino, tmp_path):
    players = [await casino.player(f"p{number}", 1_000) for number in range(BETTORS)]
    await casino.table("t1", betting_seconds=600)
    async with working(casino, tmp_path / "worker.log"):
        config = {"currency": "EUR"} | AT_ONCE
        await casino.done("/v1/tables", {"table": "w", "game": "teen_patti_2020", "config": config})
        await phase(casino, "betting")
        bets = await asyncio.gather(*(casino.bet(each, "w.1", f"b{each[-9:]}", player_a=100) for each in players))
        assert {answer.status_code for answer in bets} == {200}
        await phase(casino, "between")
    written = (tmp_path / "worker.log").read_text()
    events = (await casino.get("/v1/events", casino.bearer(Role.AUDITOR), limit=1_000))["events"]
    first = {each["type"]: each["position"] for each in reversed(events) if each["stream"] == "table:w"}
    lines = [line for line in told(written) if line.get("operator") == "lotus"]

    until = first["teen_patti_2020.RoundSettled"]
    clocked = [line for line in lines if line.get("stream") == "table:w" and line["position"] <= until]
    assert all(line["caller"] == "clock" and line["actor"] == "platform" and line["ms"] > 0 for line in clocked)
    assert [(line["type"], line["position"]) for line in clocked] == [
        ("TimeOut", first["teen_patti_2020.SeedPublished"]),
        ("TimeOut", first["teen_patti_2020.RoundOpened"]),
        ("TimeOut", first["teen_patti_2020.RoundResulted"]),
        ("ConcludeRound", first["teen_patti_2020.RoundSettled"]),
    ], "and none for a clock that found nothing to do"
    dealt, settled = clocked[-2:]
    assert dealt["gave"]["teen_patti_2020.CardDealt"] == 6
    assert (settled["round"], settled["bettors"], settled["staked"]) == ("w.1", BETTORS, BETTORS * 100)
    [step] = [line for line in lines if line["event"] == "settling"]
    assert (step["round"], step["bettors"], step["returned"]) == ("w.1", BETTORS, settled["returned"])
    assert not [line for line in lines if "t1" in json.dumps(line)], "nothing happened there"
    for hidden in [seed for each in events if (seed := json.loads(each["data"]).get("seed")) and isinstance(seed, str)]:
        assert hidden not in written


async def test_a_verb_tells_its_command_on_stderr_and_its_answer_alone_on_stdout(casino):
    verb = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ops", "key", "mint", "lotus", "studio", "--label", "scanner",
        env=environment(casino), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await verb.communicate()
    token = out.decode().strip()
    assert token.startswith("ck_lotus.")
    [line] = told(next(line for line in err.decode().splitlines() if line.startswith("{")))
    position = await casino.position()
    assert line.items() >= {
        "level": "info", "role": "desk", "event": "command", "operator": "lotus", "actor": "shell",
        "caller": "operator", "stream": "house", "type": "MintKey", "code": "Accepted", "position": position,
    }.items()  # fmt: skip
    assert token.partition(".")[2].partition("_")[2] not in err.decode()


async def test_of_an_event_its_sums_are_told_and_no_list_of_players():
    at = Path(__file__).parents[1] / "golden" / "gin_rummy" / "MatchOpened.json"
    opened = codec.decode_event("gin_rummy.MatchOpened", 1, at.read_text().splitlines()[0])

    class House:
        async def submit(self, submission: Submission) -> Accepted:
            return Accepted(1, 1, (Appended(1, submission.stream, opened),), 1)

    with capture_logs() as said:
        await lines.submit(House(), Submission("lotus", "platform", Role.CLOCK, "table:t", TimeOut()))
    [line] = said
    assert (line["round"], line["gave"]) == ("t.1", {"gin_rummy.MatchOpened": 1})
    assert "players" not in line

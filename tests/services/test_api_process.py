"""`croupier api` as real processes: two at once on one log, their log lines, and their orderly end."""

import asyncio
import base64
import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from tests.services.conftest import SECRET, Casino


class Process:
    """One `croupier api`, listening on a port of its own."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, log: Path) -> None:
        self.process = process
        self.log = log
        self.told = False
        self.http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=15, trust_env=False)

    def tell(self, number: int) -> None:
        self.told = True
        self.process.send_signal(number)

    async def ready(self) -> None:
        for _ in range(300):
            with contextlib.suppress(httpx.TransportError):
                if (await self.http.get("/health/ready")).status_code == 200:
                    return
            await asyncio.sleep(0.05)
        raise AssertionError(self.log.read_text())

    async def end(self) -> tuple[int, float]:
        begun = time.monotonic()
        if self.process.returncode is None and not self.told:
            self.tell(signal.SIGTERM)
        code = await self.process.wait()
        await self.http.aclose()
        return code, time.monotonic() - begun


@contextlib.asynccontextmanager
async def running(casino: Casino, folder: Path, name: str) -> AsyncGenerator[Process]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = casino.services.settings
    environment = os.environ | {
        "CROUPIER_POSTGRES": settings.postgres,
        "CROUPIER_REDIS": settings.redis,
        "CROUPIER_SECRET": base64.b64encode(SECRET).decode(),
        "CROUPIER_PORT": str(port),
        "CROUPIER_LOG_FORMAT": "json",
    }
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ops", "api", env=environment, stdout=out, stderr=out
        )
    made = Process(process, port, log)
    try:
        await made.ready()
        yield made
    finally:
        await made.end()


async def test_two_processes_take_the_same_key_at_once_and_make_one_bet(casino, tmp_path):
    ann = await casino.player("ann", 10_000)
    round_id = await casino.table("t1")
    before = await casino.position()
    body = {"type": "PlaceBet", "round": round_id, "wagers": [{"spot": "player_a", "amount": 700}]}
    headers = {"authorization": f"Bearer {ann}", "idempotency-key": "same"}
    async with running(casino, tmp_path, "one") as one, running(casino, tmp_path, "two") as two:
        each = [one, two] * 25
        answers = await asyncio.gather(
            *(process.http.post("/v1/tables/t1/commands", json=body, headers=headers) for process in each)
        )
    assert {answer.status_code for answer in answers} == {200}
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert {answer.json()["position"] for answer in answers} == {before + 1}
    assert (await casino.get("/v1/players/ann"))["balance"] == 9_300


def secret_of(bearer: str) -> str:
    """Which may hold an underscore itself."""
    return bearer.partition(".")[2].partition("_")[2]


async def test_a_request_is_one_line_of_the_log_with_its_ids_and_without_a_secret(casino, tmp_path):
    ann = await casino.player("ann", 500)
    round_id = await casino.table("t1")
    async with running(casino, tmp_path, "api") as process:
        casino.http = process.http
        placed = await casino.bet(ann, round_id, "logged-bet", player_a=100)
        await casino.bet(ann, round_id, "logged-refusal", player_a=900)
        await casino.bet(ann, round_id, "logged-bet", player_a=100)
        for path in ("/v1/keys", "/v1/tables/t1/commands"):
            await casino.ask("POST", path, "ck_lotus.of_a-forger")
        await casino.get("/v1/players/ann", ann)
        await casino.ask("GET", "/v1/keys", ann)
        await process.http.get("/health/live")
        minted = await casino.done("/v1/keys", {"role": "studio", "label": "scanner"}, key="logged-mint")
        await asyncio.sleep(0.1)
    written = process.log.read_text()
    lines = [json.loads(line) for line in written.splitlines()]
    assert {tuple(line)[:4] for line in lines} == {("timestamp", "level", "role", "event")}
    assert [(line["command"], line["code"]) for line in lines if line["event"] == "command"] == [
        ("logged-bet", "Accepted"),
        ("logged-refusal", "InsufficientFunds"),
        ("logged-bet", "Accepted"),
        ("logged-mint", "Accepted"),
    ]
    requests = {(line["path"], line["code"], line.get("actor")) for line in lines if line["event"] == "request"}
    assert requests == {  # a line of what was read comes after its answer, so others may be quicker
        ("/v1/keys", "Unauthorized", None),
        ("/v1/tables/t1/commands", "Unauthorized", None),
        ("/v1/players/ann", "Read", "ann"),
        ("/v1/keys", "Forbidden", "ann"),
    }
    known = {"role": "api", "level": "info", "operator": "lotus", "actor": "ann", "caller": "player"}
    bet, again = (line for line in lines if line.get("command") == "logged-bet")
    position = placed.json()["position"]
    assert bet.items() >= (known | {"stream": "table:t1", "type": "PlaceBet", "position": position}).items()
    assert bet["ms"] > 0
    assert (bet["round"], "repeated" in bet) == (round_id, False)
    assert (again["position"], again["repeated"]) == (position, True)
    for secret in (ann, casino.bearer(), secret_of(casino.bearer()), minted["token"], "of_a-forger"):
        assert secret not in written


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_told_to_end_it_ends_well_within_three_seconds_even_with_streams_open(casino, tmp_path, number):
    ann = await casino.player("ann", 10_000)
    await casino.table("t1")
    async with running(casino, tmp_path, "api") as process:
        headers = {"authorization": f"Bearer {ann}"}
        async with process.http.stream("GET", "/v1/tables/t1/events", headers=headers) as stream:
            told = stream.aiter_text()
            assert "event: view" in await anext(told)
            process.tell(number)
            begun = time.monotonic()
            async for _ in told:
                pass
            assert time.monotonic() - begun < 2
        code, _ = await process.end()
        assert code == 0
        assert time.monotonic() - begun < 3
    assert "Traceback" not in process.log.read_text()


@pytest.mark.parametrize("listens", ["a port", "a socket"])
async def test_it_says_where_it_serves(casino, tmp_path, listens):
    where = str(tmp_path / "api.sock")
    environment = os.environ | {
        "CROUPIER_POSTGRES": casino.services.settings.postgres,
        "CROUPIER_REDIS": casino.services.settings.redis,
        "CROUPIER_SECRET": base64.b64encode(SECRET).decode(),
        "CROUPIER_PORT": "0",
    }
    words = [sys.executable, "-m", "ops", "api", *(["--socket", where] if listens == "a socket" else [])]
    process = await asyncio.create_subprocess_exec(*words, env=environment, stderr=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(15):
            while (told := json.loads(await process.stderr.readline()))["event"] != "serving":
                pass
        transport = httpx.AsyncHTTPTransport(uds=where if listens == "a socket" else None)
        base_url = f"http://{told.get('host', 'api')}:{told.get('port', 80)}"
        assert told.get("socket") == (where if listens == "a socket" else None)
        async with httpx.AsyncClient(transport=transport, base_url=base_url) as http:
            assert (await http.get("/health/live")).status_code == 200
    finally:
        process.terminate()
        await process.communicate()


async def test_a_port_that_is_taken_is_told_and_not_waited_for(casino, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings = casino.services.settings
        environment = os.environ | {
            "CROUPIER_POSTGRES": settings.postgres,
            "CROUPIER_REDIS": settings.redis,
            "CROUPIER_SECRET": base64.b64encode(SECRET).decode(),
            "CROUPIER_PORT": str(taken.getsockname()[1]),
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ops", "api", env=environment, stderr=asyncio.subprocess.PIPE
        )
        _, told = await asyncio.wait_for(process.communicate(), 15)
    assert process.returncode
    assert b"address already in use" in told
    assert b"Traceback" not in told


async def test_settings_that_are_missing_are_told_all_at_once():
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "ops", "api", stderr=asyncio.subprocess.PIPE)
    _, told = await asyncio.wait_for(process.communicate(), 15)
    assert process.returncode == 1
    for name in ("CROUPIER_POSTGRES", "CROUPIER_REDIS", "CROUPIER_SECRET"):
        assert name.encode() in told

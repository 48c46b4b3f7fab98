"""The casino that the bench measures: private servers with fsync on, an operator, players, tables, and processes.

The bench is its own clock: no worker runs beside, so what is counted is what the commands themselves cost.
"""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec

from domain import house
from domain.decider import Submission
from domain.game import Role, TimeOut
from domain.games import GAMES
from domain.names import HOUSE, TABLE, WALLET
from domain.wallet import commands as wallet
from infra import codec, embedded, eventlog, postgres
from infra.embedded import Servers
from infra.settings import Settings
from ops import bench_cpu as cpu
from ops import data_folder
from ops.bench_load import Load, Plan
from ops.stack import Child, free_port
from services.api.auth import Caller, Gate, new_key
from services.batch import Accepted
from services.operators import open_operator
from services.settlement import PLATFORM, settle_round
from services.wiring import Services, opened

OPERATOR = "bench"
CURRENCY = "EUR"
FUNDS = 1_000_000_000
GAME = GAMES["teen_patti_2020"]
IN_FLIGHT = 256
LOCALHOST = "127.0.0.1"
START_SECONDS = 30
WARM_UP_S = 0.5

_API = ["-m", "ops", "api"]
_SINGLE = ["-m", "ops.bench_single"]
_FLOOR = [
    *("-m", "uvicorn", "ops.bench_floor:app", "--loop", "uvloop", "--http", "httptools"),
    *("--no-access-log", "--no-proxy-headers", "--no-server-header", "--log-level", "critical"),
]
"""Served as the API is."""


class Cost(msgspec.Struct, frozen=True):
    """What a load got done, and the CPU that server and Postgres used for it."""

    load: Load
    server_us: float
    postgres_us: float

    @property
    def cpu_us(self) -> float:
        return self.server_us + self.postgres_us

    def __str__(self) -> str:
        rate = self.load.count / self.load.seconds
        used = f"{self.server_us:.0f} server, {self.postgres_us:.0f} Postgres"
        return f"{rate:,.0f} bets/s, {self.cpu_us:.0f} us of CPU a bet ({used})"


class House:
    def __init__(self, data: Path, servers: Servers, services: Services, environment: dict[str, str]) -> None:
        self.data = data
        self.servers = servers
        self.services = services
        self.players: list[str] = []
        self.tokens: list[str] = []
        self._environment = environment
        self._children: dict[str, Child] = {}
        self._ports: dict[str, int] = {}
        self._loads = 0

    # --- Servers and processes ---

    @property
    def postgres_us(self) -> int:
        return cpu.family_us(self.servers.private_postgres.pids[0])

    @property
    def own_pid(self) -> int:
        """This process, which does what a worker would do."""
        return os.getpid()

    def pid(self, name: str) -> int:
        return self._children[name].pid

    async def start_all(self) -> None:
        """The three servers that are compared; each is idle while another one is measured."""
        self._ports = {name: free_port(LOCALHOST) for name in ("api", "single", "floor")}
        self.start("api", _API)
        self.start("single", _SINGLE)
        self.start("floor", [*_FLOOR, "--port", str(self._ports["floor"])])
        for name in self._ports:
            await self._answering(name)

    async def start_again(self, name: str) -> None:
        """One of them, alone, after all have ended."""
        self.start(name, {"api": _API, "single": _SINGLE}[name])
        await self._answering(name)

    def port(self, name: str) -> int:
        return self._ports[name]

    def start(self, name: str, arguments: list[str]) -> None:
        environment = self._environment | {"CROUPIER_PORT": str(self._ports.get(name, 0))}
        child = self._children[name] = Child(name, arguments, environment, self.data / f"{name}.log")
        child.start()

    async def _answering(self, name: str) -> None:
        until = time.monotonic() + START_SECONDS
        async with httpx.AsyncClient(trust_env=False, timeout=2) as client:
            while time.monotonic() < until and self._children[name].alive:
                with contextlib.suppress(httpx.HTTPError):
                    answer = await client.get(f"http://{LOCALHOST}:{self._ports[name]}/health/ready")
                    if answer.status_code == 200 or name == "floor":
                        return
                await asyncio.sleep(0.05)
        raise RuntimeError(f"{name} does not answer; see {self.data / name}.log")

    def end(self, *names: str) -> None:
        children = [self._children.pop(name) for name in names or tuple(self._children)]
        for child in children:
            child.ask_to_end()
        for child in children:
            child.end(3)

    async def load(
        self, name: str, body: str, *, players: int, connections: int, seconds: float, all_first: bool = False
    ) -> Cost:
        """Bets of some players on one of the servers, and what they cost. Raises RuntimeError if any was refused."""
        self._loads += 1
        path = f"/v1/tables/{OPERATOR}/commands"
        keys = f"load-{self._loads}-"
        port = self._ports[name]
        tokens = self.tokens[:players]
        plan = Plan(LOCALHOST, port, path, body, tokens, keys, connections, WARM_UP_S, all_first, seconds)
        words = [sys.executable, "-m", "ops.bench_load"]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, env=self._environment)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(plan))
        process.stdin.close()
        await process.stdout.readline()
        server, database = cpu.own_us(self.pid(name)), self.postgres_us
        measured = await process.stdout.readline()
        server, database = cpu.own_us(self.pid(name)) - server, self.postgres_us - database
        await process.wait()
        load = msgspec.json.decode(measured, type=Load)
        if load.refused or not load.count:
            raise RuntimeError(f"{name} refused bets: {load.refused}; see {self.data / name}.log")
        return Cost(load, server / load.count, database / load.count)

    # --- The casino ---

    async def open(self, players: int) -> None:
        await open_operator(self.services.executor, self.services.pool, OPERATOR, "Bench")
        key = new_key(OPERATOR)
        await self.send(HOUSE, house.MintKey(key.id, Role.OPERATOR, key.digest, "bench"), Role.OPERATOR)
        caller = Caller(OPERATOR, key.id, Role.OPERATOR)
        gate = Gate(self.services.pool, self.services.settings.secret)
        self.players = [f"p{number:05}" for number in range(players)]
        self.tokens = [gate.mint(caller, player, 3_600)[0] for player in self.players]
        for command in (wallet.OpenWallet(CURRENCY), wallet.Deposit(FUNDS, CURRENCY)):
            await self.send_all([(WALLET + player, command, Role.OPERATOR, "") for player in self.players])

    async def send(self, stream: str, command: Any, role: Role, actor: str = PLATFORM, game: str = "") -> Accepted:
        answer = await self.services.executor.submit(Submission(OPERATOR, actor, role, stream, command, "", game))
        assert isinstance(answer, Accepted), answer
        return answer

    async def send_all(self, commands: Sequence[tuple[str, Any, Role, str]]) -> None:
        waiting = iter(commands)

        async def send_next() -> None:
            for stream, command, role, actor in waiting:
                await self.send(stream, command, role, actor or PLATFORM)

        await asyncio.gather(*(send_next() for _ in range(IN_FLIGHT)))

    async def open_table(self, table: str, betting_seconds: int) -> str:
        config = {"currency": CURRENCY, "betting_seconds": betting_seconds, "pause_seconds": 0, "card_interval_ms": 0}
        opening = msgspec.convert({"type": "OpenTable", "config": config}, GAME.commands[Role.OPERATOR])
        await self.send(TABLE + table, opening, Role.OPERATOR, game=GAME.name)
        return await self.round_opened(table)

    async def round_opened(self, table: str) -> str:
        """Tell the clock until a round is on; its id."""
        while (on := GAME.round(await self.state(table))) is None:
            await self.send(TABLE + table, TimeOut(), Role.CLOCK)
        return on

    async def betting_closed(self, table: str) -> None:
        """Wait for the close, and have the cards dealt."""
        while GAME.result(state := await self.state(table)) is None:
            due = GAME.deadline(state)
            assert due is not None
            await asyncio.sleep(max(0.0, due / 1_000_000 - time.time()) + 0.001)
            await self.send(TABLE + table, TimeOut(), Role.CLOCK)

    async def cancel_round(self, table: str, round_id: str) -> None:
        """Every bet goes back to its player, so that the next round begins with empty wallets."""
        for kind, supervisor in (("Pause", "first"), ("CancelRound", "second")):
            command = msgspec.convert({"type": kind, "reason": "bench"}, GAME.commands[Role.SUPERVISOR])
            await self.send(TABLE + table, command, Role.SUPERVISOR, supervisor)
        await self.settle(round_id)

    async def settle(self, round_id: str) -> None:
        await settle_round(self.services.executor, self.services.pool, OPERATOR, round_id)

    async def state(self, table: str) -> Any:
        row = await self.services.pool.fetchrow(eventlog.SQL["stream"], OPERATOR, TABLE + table)
        assert row is not None
        return codec.decode_state(row["decider"], row["state"])

    async def position(self) -> int:
        tip = await eventlog.tip(self.services.pool, OPERATOR)
        return tip.position if tip else 0


def bet(round_id: str) -> dict[str, Any]:
    return {"type": "PlaceBet", "round": round_id, "wagers": [{"spot": "player_a", "amount": 100}]}


@contextlib.asynccontextmanager
async def standing(data: Path) -> AsyncGenerator[House]:
    """All of it on `data`, and nothing left running."""
    secrets = data_folder.secrets_in(data)
    with embedded.start(data, durable=True) as servers:
        await postgres.migrate(servers.postgres)
        environment = {
            **os.environ,
            **secrets.environment,
            "CROUPIER_POSTGRES": await postgres.make_service_login(servers.postgres),
            "CROUPIER_REDIS": servers.redis,
            "CROUPIER_HOST": LOCALHOST,
            "PYTHONPATH": str(data_folder.HOUSE),
            "PYTHONSAFEPATH": "1",
        }
        async with opened(Settings.from_environment(environment), "bench") as services:
            house = House(data, servers, services, environment)
            try:
                yield house
            finally:
                house.end()

"""A casino over real HTTP: two operators with keys of every role, a clock, and whoever asks."""

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from domain import house
from domain.decider import Submission
from domain.game import Role, TimeOut
from domain.names import HOUSE
from infra import eventlog, postgres
from infra.settings import Settings
from infra.vault import Vault
from services import wiring
from services.api.app import Api, create_app
from services.api.auth import STAFF, new_key
from services.executor import Executor
from services.operators import open_operator
from services.projector import Projector
from services.settlement import PLATFORM, settle_round
from services.wiring import Services

QUICK = {"currency": "EUR", "betting_seconds": 60, "card_interval_ms": 0, "pause_seconds": 0}
SECRET = b"a secret of thirty-two bytes, ok"


class Casino:
    """What the tests hold: the service's parts, an HTTP client, and the bearers of two operators."""

    def __init__(
        self, settings: Settings, services: Services, http: httpx.AsyncClient, worker: Executor, app: Api
    ) -> None:
        self.settings = settings
        """As a worker has them: with every key."""
        self.services = services
        self.http = http
        self.worker = worker
        self.app = app
        self.bearers: dict[tuple[str, Role], str] = {}
        self._colleagues: dict[str, str] = {}

    def bearer(self, role: Role = Role.OPERATOR, operator: str = "lotus") -> str:
        return self.bearers[operator, role]

    @property
    def environment(self) -> dict[str, str]:
        """For verbs."""
        keys = (f"{name}:{base64.b64encode(key).decode()}" for name, key in self.settings.vault_keys.items())
        return {
            "CROUPIER_POSTGRES": self.settings.postgres,
            "CROUPIER_REDIS": self.settings.redis,
            "CROUPIER_SECRET": base64.b64encode(self.settings.secret).decode(),
            "CROUPIER_VAULT_KEYS": ",".join(keys),
        }

    async def operator(self, name: str) -> None:
        await open_operator(self.worker, self.services.pool, name, name.title())
        for role in STAFF:
            key = new_key(name)
            mint = house.MintKey(key.id, role, key.digest)
            await self.worker.submit(Submission(name, PLATFORM, Role.OPERATOR, HOUSE, mint))
            self.bearers[name, role] = key.token

    async def ask(self, method: str, path: str, bearer: str | None = None, **request: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {bearer or self.bearer()}", **request.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **request)

    async def get(self, path: str, bearer: str | None = None, **query: Any) -> Any:
        answer = await self.ask("GET", path, bearer, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def send(self, path: str, body: Any, bearer: str | None = None, key: str = "") -> httpx.Response:
        headers = {"idempotency-key": key or secrets.token_hex(8)}
        return await self.ask("POST", path, bearer, json=body, headers=headers)

    async def done(self, path: str, body: Any, bearer: str | None = None, key: str = "") -> Any:
        answer = await self.send(path, body, bearer, key)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    async def by_two(self, path: str, body: Any, *persons: str) -> Any:
        """What one of the staff proposes and another one approves: first the operator, then the supervisor, unless it
        is said whose bearers; returns the approval's answer."""
        first, second = persons or (self.bearer(Role.OPERATOR), self.bearer(Role.SUPERVISOR))
        proposed = await self.send(path, body, first)
        assert proposed.status_code == 202, proposed.text
        return await self.done(f"/v1/proposals/{proposed.json()['proposal']['id']}/approve", {}, second)

    async def colleague(self, operator: str = "lotus") -> str:
        """The bearer of a second supervisor."""
        if operator not in self._colleagues:
            minted = await self.done("/v1/keys", {"role": "supervisor"}, self.bearer(Role.OPERATOR, operator))
            self._colleagues[operator] = minted["token"]
        return self._colleagues[operator]

    async def void(self, table: str, reason: str, kind: str = "CancelRound") -> Any:
        """It takes two: one supervisor pauses, another one cancels."""
        path = f"/v1/tables/{table}/commands"
        await self.done(path, {"type": "Pause", "reason": reason}, await self.colleague())
        return await self.done(path, {"type": kind, "reason": reason}, self.bearer(Role.SUPERVISOR))

    async def player(self, name: str, cash: int = 10_000, operator: str = "lotus") -> str:
        """A player with some cash; returns the player's token."""
        bearer = self.bearer(Role.OPERATOR, operator)
        await self.done("/v1/players", {"player": name, "currency": "EUR"}, bearer)
        if cash:
            await self.done(f"/v1/players/{name}/deposits", {"amount": cash, "currency": "EUR"}, bearer)
        return (await self.done("/v1/sessions", {"player": name}, bearer))["token"]

    async def table(self, name: str, operator: str = "lotus", **config: Any) -> str:
        """A table with betting open; returns the round's id."""
        body = {"table": name, "game": "teen_patti_2020", "config": QUICK | config}
        await self.done("/v1/tables", body, self.bearer(Role.OPERATOR, operator))
        await self.until(name, "betting", operator)
        return f"{name}.1"

    async def until(self, table: str, phase: str, operator: str = "lotus") -> Any:
        """Let the clock tick until the table is in a phase."""
        for _ in range(600):
            now = await self.get(f"/v1/tables/{table}", self.bearer(Role.OPERATOR, operator))
            if now["view"]["phase"] == phase:
                return now["view"]
            if now["view"]["phase"] in ("settling", "refunding"):
                await settle_round(self.worker, self.services.pool, operator, now["view"]["round"])
            else:
                await self.tick(table, operator)
            await asyncio.sleep(0.01)
        raise AssertionError(f"{table} did not come to {phase}")

    async def tick(self, table: str, operator: str = "lotus") -> None:
        await self.worker.submit(Submission(operator, PLATFORM, Role.CLOCK, f"table:{table}", TimeOut()))

    async def bet(self, token: str, round_id: str, key: str = "", **stakes: int) -> httpx.Response:
        wagers = [{"spot": spot, "amount": amount} for spot, amount in stakes.items()]
        body = {"type": "PlaceBet", "round": round_id, "wagers": wagers}
        return await self.send(f"/v1/tables/{round_id.partition('.')[0]}/commands", body, token, key)

    async def project(self, operator: str = "lotus") -> None:
        """Bring every projection up to date."""
        projector = Projector(self.services.pool, None, operator)
        while await projector.once():
            pass

    async def position(self, operator: str = "lotus") -> int:
        tip = await eventlog.tip(self.services.pool, operator)
        assert tip is not None
        return tip.position

    async def watch(self, table: str, token: str, frames: int, last_id: int | None = None) -> list[Any]:
        """So many frames of a table's live stream: (id, event name, data)."""
        headers = {"authorization": f"Bearer {token}"}
        if last_id is not None:
            headers["last-event-id"] = str(last_id)
        seen: list[Any] = []
        async with (
            asyncio.timeout(10),
            self.http.stream("GET", f"/v1/tables/{table}/events", headers=headers) as stream,
        ):
            assert stream.status_code == 200
            told: dict[str, str] = {}
            async for line in stream.aiter_lines():
                name, _, text = line.partition(": ")
                told[name] = text
                if not line and "data" in told:
                    seen.append((int(told["id"]), told["event"], json.loads(told["data"])))
                    told = {}
                if len(seen) == frames:
                    break
        return seen


@asynccontextmanager
async def opened(database: str, redis: str, folder: Path) -> AsyncGenerator[Casino]:
    dsn = await postgres.make_service_login(database)
    keys = {"k1": bytes(32), "three_patti/k1": bytes(range(32)), "gin_rummy/k1": bytes(range(1, 33))}
    settings = Settings(postgres=dsn, redis=redis, secret=SECRET, vault_keys=keys, log_format="json")
    worker = Executor(dsn, Vault(keys))
    async with wiring.opened(settings, "api") as services, serving(create_app(services), folder) as (http, app):
        casino = Casino(settings, services, http, worker, app)
        for name in ("lotus", "other"):
            await casino.operator(name)
        yield casino
        await worker.close()


@asynccontextmanager
async def serving(app: Api, folder: Path) -> AsyncGenerator[tuple[httpx.AsyncClient, Api]]:
    """The application behind a real uvicorn on a unix socket."""
    socket = str(folder / f"api-{secrets.token_hex(3)}.sock")
    config = uvicorn.Config(app, uds=socket, http="httptools", ws="none", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    server.capture_signals = _no_signals  # type: ignore[method-assign]
    task = asyncio.create_task(server.serve())
    for _ in range(1_000):
        if server.started:
            break
        await asyncio.sleep(0.01)
    transport = httpx.AsyncHTTPTransport(uds=socket, limits=httpx.Limits(max_connections=100))
    async with httpx.AsyncClient(transport=transport, base_url="http://casino", timeout=15) as http:
        yield http, app
    app.end()
    server.should_exit = True
    await task


class _no_signals:  # noqa: N801 - stands in for uvicorn's context manager
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


NO_REDIS = "unix:///nowhere/redis.sock"


@pytest.fixture(scope="module")
async def house_of_module(module_database: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Casino]:
    """One casino for a module's tests, which use names of their own. Its Redis is away: nothing here may need it."""
    async with opened(module_database, NO_REDIS, tmp_path_factory.mktemp("api")) as casino:
        yield casino


@pytest.fixture
async def casino(database: str, redis_url: str, tmp_path: Path) -> AsyncGenerator[Casino]:
    """A casino of this test alone, with Redis."""
    async with opened(database, redis_url, tmp_path) as casino:
        yield casino


# --- What a hostile caller must not change ------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def two_houses(house_of_module: Casino) -> Casino:
    """Two operators, each with a player ann and a table h1 on which betting is open."""
    for operator in ("lotus", "other"):
        token = await house_of_module.player("ann", 10_000, operator)
        house_of_module.bearers[operator, Role.PLAYER] = token
        await house_of_module.player("bob", 10_000, operator)
        await house_of_module.table("h1", operator)
    await house_of_module.player("only-there", 0, "other")
    await house_of_module.table("there", "other")
    return house_of_module


async def state(casino: Casino) -> Any:
    positions = [await casino.position(operator) for operator in ("lotus", "other")]
    return positions, await casino.services.pool.fetch(
        "select operator, stream, balance, state from streams order by 1, 2"
    )


def assert_problem(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    told = answer.json()
    assert (told["code"], told["status"], told["outcome"]) == (code, status, "not_applied"), told
    assert told["type"] == f"/problems/{code}"
    assert told["title"]
    assert len(told["detail"]) > 20
    assert isinstance(told["facts"], dict)
    assert len(answer.content) < 2_000
    for never in ("Traceback", "File ", "site-packages", "asyncpg", "ck_lotus", "select "):
        assert never not in answer.text

"""Is this process alive, may it be sent traffic, and what does it measure: for those who run it, without a key."""

import asyncio
import ipaddress
from collections.abc import Awaitable
from typing import Any, Literal

from litestar import Request, Response, get
from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler
from msgspec import Struct
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from infra import fanout
from infra.eventlog import DATABASE_ERRORS
from infra.sql import HERE, queries
from services import checkpoints
from services.api import metrics as measures
from services.api import problems
from services.api.parts import Asked, Parts

SQL = queries("api")
CHECK_S = 2
MEDIA_TYPE = CONTENT_TYPE_LATEST.removesuffix("; charset=utf-8")
"""Litestar adds the charset to whatever is text."""


class Readiness(Struct, frozen=True):
    """`ready` only while commands can be taken. Redis is a fast path: without it all goes on, more slowly."""

    status: Literal["ready", "not_ready"]
    database: str
    schema: str
    redis: str
    behind: int | None
    """Of all projections the most that one is behind its log, in events."""
    stopped: int
    """Projections that stand still at an event."""
    queued: int
    followers: int


class Live(Struct, frozen=True):
    status: Literal["live"] = "live"


@get("/health/live", include_in_schema=False)
async def live() -> Live:
    """This process answers."""
    return Live()


@get("/health/ready", include_in_schema=False)
async def ready(request: Asked) -> Response[Readiness]:
    """This process can take commands; 503 if not."""
    parts = request.parts
    (database, schema), redis = await asyncio.gather(_database(parts), _redis(parts))
    status: Literal["ready", "not_ready"] = "ready" if database == schema == "ok" else "not_ready"
    executor = parts.services.executor
    behind, stopped = await _lag(parts) if status == "ready" else (None, 0)
    told = Readiness(status, database, schema, redis, behind, stopped, executor.queued, parts.hub.followers)
    return Response(told, status_code=200 if status == "ready" else 503, headers={"cache-control": "no-store"})


async def _database(parts: Parts) -> tuple[str, str]:
    try:
        async with asyncio.timeout(CHECK_S):
            applied = {row["name"] for row in await parts.pool.fetch(SQL["migrations"])}
    except (TimeoutError, *DATABASE_ERRORS) as problem:
        return f"away: {type(problem).__name__}", "unknown"
    ours = {path.name for path in (HERE / "schema").glob("*.sql")}
    if parts.services.executor.newer_schema or applied - ours:
        return "ok", "newer than this program"
    return "ok", "older than this program: run `croupier migrate`" if ours - applied else "ok"


async def _lag(parts: Parts) -> tuple[int | None, int]:
    rows = await parts.pool.fetch(checkpoints.SQL["lag"])
    return max((row["lag"] for row in rows), default=0), sum(row["problem"] is not None for row in rows)


async def _redis(parts: Parts) -> str:
    try:
        async with asyncio.timeout(CHECK_S):
            await _ping(parts.services.redis)
    except fanout.SILENT_ERRORS as problem:
        return f"away: {type(problem).__name__}"
    return "ok"


def _ping(redis: fanout.Redis) -> Awaitable[Any]:
    return redis.ping()  # pyright: ignore[reportUnknownMemberType, reportReturnType]


def near(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """A guard: only the machine itself and its private network, and nothing that came through a proxy."""
    client, headers = connection.client, connection.headers
    forwarded = "x-forwarded-for" in headers or "forwarded" in headers
    if forwarded or (client is not None and not _is_near(client.host)):
        raise problems.not_found("page", "metrics")


def _is_near(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return not host  # a unix socket


@get("/metrics", guards=[near], include_in_schema=False)
async def metrics(request: Request[Any, Any, Any]) -> Response[bytes]:
    """What is measured, for Prometheus; names operators, but no player and no key."""
    parts: Parts = request.app.state.parts
    measures.queued.set(parts.services.executor.queued)
    measures.followers.set(parts.hub.followers)
    return Response(generate_latest(), media_type=MEDIA_TYPE)


HANDLERS = (live, ready, metrics)

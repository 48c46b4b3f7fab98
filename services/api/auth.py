"""Who is calling: API keys, whose digests stand in the operator's `house` stream, and short tokens of players.

A key reads `ck_<operator>.<id>_<secret>`, so that one look-up finds it. What is known of a house is at most a second
old: so soon does a revoked key bite, and with it every player token it minted.
"""

import asyncio
import hashlib
import hmac
import secrets
import time
from typing import Any

import jwt
import msgspec
from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from domain import house
from domain.game import Role, Viewer
from domain.names import HOUSE
from infra import codec, eventlog
from infra.postgres import Pool
from services.api import bodies, problems
from services.watch import Watch

HOUSE_AGE_S = 1.0
NEW_KEY_AGE_S = 0.05
"""A key that is not known may have been minted just now: then the house is looked at again, after so long."""
TOKEN_S_MAX = 3_600
KEY_S = 3_600
"""How long a key that was verified is taken for what it is; then it is looked at, and seen to be used, again."""
KNOWN_MAX = 20_000
BEARER_MAX = 1_024
"""Longer than any of ours: what is remembered of a bearer shall stay small, whoever sends it."""
STAFF = (Role.OPERATOR, Role.STUDIO, Role.SUPERVISOR, Role.AUDITOR)
_AUDIENCE = "croupier-player"


class Caller(msgspec.Struct, frozen=True):
    """Who sends a request. `actor` is the player's id, or whom a key of staff speaks for; `key` is that key's id."""

    operator: str
    actor: str
    role: Role
    key: str = ""

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.actor, self.role)


class NewKey(msgspec.Struct, frozen=True):
    """A key as its owner gets it, once, and as it is stored."""

    id: str
    token: str
    digest: str


def new_key(operator: str) -> NewKey:
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return NewKey(key_id, f"ck_{operator}.{key_id}_{secret}", _digest(secret))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class _Known(msgspec.Struct, frozen=True):
    """A bearer that was verified: it holds until it expires, as long as `key` is not revoked."""

    caller: Caller
    key: str
    expires: float


class _House(msgspec.Struct, frozen=True):
    """The keys of an operator that are not revoked, as of a moment ago; none if there is no such operator."""

    keys: dict[str, house.Key]
    loaded: float


class Gate:
    """Tells who a bearer is, and mints the tokens of players."""

    def __init__(self, pool: Pool, secret: bytes, watch: Watch | None = None) -> None:
        """Without a watch nobody hears who came: for a gate that only mints."""
        self._pool = pool
        self._watch = watch
        self._token_secret = hmac.digest(secret, b"croupier-player-token-1", "sha256")
        self._known: dict[str, _Known] = {}
        self._houses: dict[str, _House] = {}
        self._loading: dict[str, asyncio.Task[_House]] = {}

    def at_once(self, authorization: str) -> Caller | None:
        """The caller, if the bearer is known and its house was looked at just now: the way of nearly every request."""
        known = self._known.get(authorization)
        if known is None or known.expires <= time.time():
            return None
        found = self._houses.get(known.caller.operator)
        if found is None or found.loaded + HOUSE_AGE_S <= time.monotonic() or known.key not in found.keys:
            return None
        return known.caller

    async def caller(self, authorization: str) -> Caller:
        """Raises Problem: 401 for whatever does not prove who calls."""
        at_once = self.at_once(authorization)
        if at_once is not None:
            return at_once
        scheme, _, bearer = authorization.partition(" ")
        if not bearer:
            raise problems.unauthorized("The request carries no key or token.")
        if scheme.lower() != "bearer":
            raise problems.unauthorized("Only bearers are taken.")
        if len(bearer) > BEARER_MAX:
            raise problems.unauthorized("This is longer than any key or token of ours.")
        known = await (self._key(bearer) if bearer.startswith("ck_") else self._token(bearer))
        while len(self._known) >= KNOWN_MAX:
            self._known.pop(next(iter(self._known)))
        self._known[authorization] = known
        return known.caller

    def mint(self, caller: Caller, player: str, seconds: int) -> tuple[str, int]:
        """A token for a player, and when it expires (seconds since 1970)."""
        expires = int(time.time()) + seconds
        claims = {
            "aud": _AUDIENCE,
            "iss": caller.operator,
            "sub": player,
            "key": caller.key or caller.actor,
            "exp": expires,
        }
        return jwt.encode(claims, self._token_secret, algorithm="HS256"), expires

    async def _key(self, bearer: str) -> _Known:
        operator, _, rest = bearer.removeprefix("ck_").partition(".")
        key_id, _, secret = rest.partition("_")
        key = await self._live_key(operator, key_id)
        digest = key.digest if key else _digest("")
        if not hmac.compare_digest(_digest(secret).encode(), digest.encode()) or key is None:
            await self._turned_away(operator, key_id)
            raise problems.unauthorized("This key is unknown or revoked.")
        if self._watch is not None:
            self._watch.took(operator, key.id)
        return _Known(Caller(operator, key.actor, key.role, key.id), key.id, time.time() + KEY_S)

    async def _turned_away(self, operator: str, key_id: str) -> None:
        """Of operators that are there: anybody may name one."""
        if self._watch is not None and (await self._house(operator)).keys:
            self._watch.turned_away(operator, key_id if bodies.is_id(key_id) else "")

    async def is_key(self, operator: str, name: str) -> bool:
        """Is this the id of a key that opens, or of whom one speaks for?"""
        keys = (await self._house(operator)).keys
        return name in keys or any(key.actor == name for key in keys.values())

    async def _live_key(self, operator: str, key_id: str) -> house.Key | None:
        key = (await self._house(operator)).keys.get(key_id)
        if key is None:  # minted in another process, perhaps; many who ask at once still cause one look
            await asyncio.sleep(NEW_KEY_AGE_S)
            key = (await self._house(operator, NEW_KEY_AGE_S)).keys.get(key_id)
        return key

    async def _token(self, bearer: str) -> _Known:
        try:
            claims: dict[str, Any] = jwt.decode(
                bearer,
                self._token_secret,
                algorithms=["HS256"],
                audience=_AUDIENCE,
                options={"require": ["exp", "sub", "iss"]},
            )
        except jwt.ExpiredSignatureError:
            raise problems.unauthorized("This player token has expired; have the operator mint another.") from None
        except (jwt.InvalidTokenError, ValueError):
            raise problems.unauthorized("This is neither a key nor a player token of ours.") from None
        operator, player, key = claims["iss"], claims["sub"], claims.get("key", "")
        if await self._live_key(operator, key) is None:
            await self._turned_away(operator, key)
            raise problems.unauthorized("The key that minted this token is revoked.")
        return _Known(Caller(operator, player, Role.PLAYER), key, float(claims["exp"]))

    async def _house(self, operator: str, age: float = HOUSE_AGE_S) -> _House:
        """The house as of at most `age` seconds ago; many callers at once cause one look."""
        found = self._houses.get(operator)
        if found is not None and found.loaded + age > time.monotonic():
            return found
        task = self._loading.get(operator)
        if task is None:
            task = self._loading[operator] = asyncio.create_task(self._load(operator))
            task.add_done_callback(lambda _: self._loading.pop(operator, None))
        try:
            return await asyncio.shield(task)
        except eventlog.DATABASE_ERRORS:
            raise problems.not_now("The database cannot be asked who you are.") from None

    async def _load(self, operator: str) -> _House:
        begun = time.monotonic()
        known = bodies.is_id(operator)
        row = await self._pool.fetchrow(eventlog.SQL["stream"], operator, HOUSE) if known else None
        keys: tuple[house.Key, ...] = codec.decode_state("house", row["state"]).keys if row else ()
        while len(self._houses) >= KNOWN_MAX:
            self._houses.pop(next(iter(self._houses)))
        found = self._houses[operator] = _House({key.id: key for key in keys if not key.revoked}, begun)
        return found


class Guard:
    """Who calls is known, and has one of the roles. The handler finds who it is as `request.caller`."""

    def __init__(self, roles: tuple[Role, ...]) -> None:
        self.roles = roles

    async def __call__(self, connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        connection.scope["begun"] = time.perf_counter()  # pyright: ignore[reportGeneralTypeIssues] - for the log
        gate: Gate = connection.app.state.parts.gate
        caller = await gate.caller(connection.headers.get("authorization", ""))
        connection.scope["user"] = caller  # also of whoever is turned away: the log names them
        if caller.role not in self.roles:
            which = "one of the roles" if self.roles[1:] else "the role"
            raise problems.forbidden(caller.role, f"it takes {which} {', '.join(self.roles)}")


def may(*roles: Role) -> Guard:
    return Guard(roles)


EVERYONE = may(Role.OPERATOR, Role.STUDIO, Role.SUPERVISOR, Role.AUDITOR, Role.PLAYER)


def check_own(caller: Caller, player: str) -> None:
    """A player sees only what is the player's own."""
    if caller.role is Role.PLAYER and caller.actor != player:
        raise problems.not_found("player", player)

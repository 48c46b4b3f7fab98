"""What the routes of one process share, and the request by which they reach it."""

from functools import partial
from typing import Any

from litestar import Request
from msgspec import Struct

from domain.decider import Stream
from domain.game import Open
from domain.names import TABLE, WALLET
from domain.wallet.state import Wallet
from infra import codec, eventlog
from infra.postgres import Pool
from services import checkpoints
from services.api import problems
from services.api.auth import Caller, Gate
from services.api.bodies import checked_id
from services.api.commands import Door
from services.api.feed import Hub
from services.wiring import Services

TABLES_KNOWN_MAX = 10_000
WAIT_S = 5


class Tables:
    """Which game is played at a table: asked of the log once, since it never changes."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._games: dict[tuple[str, str], str] = {}

    async def game_at(self, operator: str, table: str) -> str:
        game = self._games.get((operator, table))
        if game is None:
            row = await self._pool.fetchrow(eventlog.SQL["stream"], operator, TABLE + checked_id("table", table))
            if row is None:
                raise problems.not_found("table", table)
            if len(self._games) >= TABLES_KNOWN_MAX:
                self._games.clear()
            game = self._games[operator, table] = row["decider"]
        return game


class Parts(Struct, frozen=True):
    services: Services
    gate: Gate
    door: Door
    tables: Tables
    hub: Hub

    @property
    def pool(self) -> Pool:
        return self.services.pool

    def open_of(self, operator: str) -> Open:
        """What opens the operator's sealed seeds, as far as this process may."""
        return partial(self.services.vault.open, operator)

    async def stream(self, operator: str, name: str) -> Stream | None:
        """A stream as folded in the log's own transaction: never behind. None if it is not there."""
        row = await self.pool.fetchrow(eventlog.SQL["stream"], operator, name)
        if row is None:
            return None
        if row["state_schema"] != codec.STATE_SCHEMA:
            raise problems.not_now("The data is being brought to another version.")
        return Stream(row["decider"], row["version"], codec.decode_state(row["decider"], row["state"]))

    async def wallet(self, operator: str, player: str) -> Wallet:
        found = await self.stream(operator, WALLET + checked_id("player", player))
        if found is None:
            raise problems.not_found("player", player)
        return found.state

    async def visible(self, operator: str, projection: str, position: int) -> None:
        """Wait, within bounds, until a projection shows the event at this position."""
        if not position or await checkpoints.wait_for(self.pool, operator, projection, position, 0):
            return
        tip = await eventlog.tip(self.pool, operator)
        if (
            tip is None or position > tip.position
        ):  # to wait for it would be in vain, and each waiter asks again and again
            raise problems.behind(position, 0)
        if not await checkpoints.wait_for(self.pool, operator, projection, position, WAIT_S):
            raise problems.behind(position, WAIT_S)


class Asked(Request[Caller, Any, Any]):
    """A request whose guard has found out who calls (`user`)."""

    @property
    def parts(self) -> Parts:
        return self.app.state.parts

    @property
    def caller(self) -> Caller:
        return self.scope["user"]

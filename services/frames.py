"""What a viewer of a table is told of an event: made here while it is live, and again when the round is replayed.

Under one view number (`Game.view_number`) the same event is the same frame, byte for byte.
"""

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from domain.game import Game, Micros, Open, Role, Viewer, fold
from domain.money import Bet
from domain.names import TABLE, WALLET, table_of
from domain.wallet import evolve as wallet_evolve
from domain.wallet.state import Wallet
from infra import codec, eventlog
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.sql import queries

SQL = queries("frames")
NO_WALLET = Wallet("")
"""Of a wallet a view shows the open bets alone: those of a round fold from here."""


class Frame(Struct, frozen=True):
    """One server-sent event: what happened (none in a first frame), and the table as its viewer sees it after it. Two
    frames of one `view_number` that tell the same are the same bytes."""

    position: int
    at: Micros | None
    event: Any
    view: Any
    view_number: int


class Scene(Struct, frozen=True):
    """A table and, if a player looks on, the player's wallet, as of a position."""

    position: int
    table: Any
    table_version: int
    wallet: Wallet | None
    wallet_version: int


class Sight:
    """One viewer at one table: what this viewer is told, and what it looks like."""

    def __init__(self, game: Game[Any, Any, Any], table: str, viewer: Viewer, open_sealed: Open) -> None:
        self._game = game
        self._name = table
        self._viewer = viewer
        self._open = open_sealed
        self.table = TABLE + table
        self.wallet = WALLET + viewer.actor if viewer.role is Role.PLAYER else None

    @property
    def streams(self) -> list[str]:
        return [self.table, self.wallet] if self.wallet else [self.table]

    def after(self, scene: Scene, row: EventRow) -> tuple[Scene, Any]:
        """The scene after an event of one of the streams, and the event as the viewer is told it; None if it is not."""
        event = row.event
        if row.stream == self.table:
            scene = replace(scene, position=row.position, table=self._game.evolve(scene.table, event))
            return scene, self._game.public(event, self._viewer)
        wallet: Any = wallet_evolve.evolve(scene.wallet or NO_WALLET, event)
        told = event if row.round is not None and table_of(row.round) == self._name else None
        return replace(scene, position=row.position, wallet=wallet), told

    def view(self, scene: Scene) -> Any:
        on = self._game.round(scene.table)
        bets: tuple[Bet, ...] = scene.wallet.open_in(on) if on and scene.wallet else ()
        return self._game.view(scene.table, self._viewer, bets, self._open)

    def first(self, scene: Scene) -> Frame:
        """For one who comes: the table as it is."""
        return Frame(scene.position, None, None, self.view(scene), self._game.view_number)

    def frame(self, scene: Scene, row: EventRow, told: Any) -> Frame:
        """What `after` gave, as it is sent."""
        return Frame(row.position, row.at, told, self.view(scene), self._game.view_number)


encode = msgspec.json.Encoder().encode
"""A frame as the text that is sent of it."""


async def table_at(pool: Pool, operator: str, game: Game[Any, Any, Any], stream: str, version: int) -> Any:
    """A table folds from the opening of its last round by then: that event carries all that came before."""
    kind = codec.type_of(game.opening)
    opening = await pool.fetchval(SQL["opening"], operator, stream, kind, version) or 1
    rows = await pool.fetch(eventlog.SQL["events_of_stream"], operator, stream, opening - 1, version - opening + 1)
    return fold(game.evolve, game.initial, (eventlog.row_of(row).event for row in rows))

"""A round as another saw it: who may look with whose eyes, and what must have been opened, on record, before.

Whoever replays as a player sees that player's hidden cards. An auditor may, when the round is over and what was sealed
of it is opened in the auditor's own stream, event by event (`services/openings.py`); nobody else may at all.
"""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from domain.game import Game, Open, Role, Sealed, SealedText, Viewer
from domain.games import GAMES
from domain.names import AUDIT, TABLE, WALLET, table_of
from infra import codec, eventlog, vault
from infra.postgres import Pool
from infra.sql import queries
from infra.vault import SEALED
from services.openings import RoundIsOn
from services.replay import STEPS_MAX, Replay, Step, replay

SQL = queries("viewers")
ONLOOKER = Viewer("", Role.PLAYER)
"""A player who is not at the table; no player has this name."""
STAFF = (Role.AUDITOR, Role.SUPERVISOR, Role.STUDIO, Role.OPERATOR)
PLAYER = "player:"
"""Before the name of a player who is called as a role is."""


class UnknownViewer(Exception):
    """No such player."""


class NotForYou(Exception):
    """Whoever asks may not see what this viewer saw."""


class NotOpened(Exception):
    """What this viewer saw is sealed in the events at these positions, which the auditor has not opened."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        super().__init__(positions)
        self.positions = positions


class Window(Struct, frozen=True):
    """Which steps, and whether with their frames."""

    after: int = 0
    limit: int = STEPS_MAX
    frames: bool = False


def named(name: str) -> Viewer:
    """`onlooker`, a role of staff, or a player."""
    if name == "onlooker":
        return ONLOOKER
    if name in STAFF:
        return Viewer("", Role(name))
    return Viewer(name.removeprefix(PLAYER) or name, Role.PLAYER)


def name_of(viewer: Viewer) -> str:
    """What `named` takes."""
    if viewer == ONLOOKER:
        return "onlooker"
    if viewer.role is not Role.PLAYER:
        return viewer.role.value
    return f"{PLAYER}{viewer.actor}" if viewer.actor in ("onlooker", *STAFF) else viewer.actor


async def replay_as(
    pool: Pool, operator: str, round_id: str, asker: Viewer, viewer: Viewer, open_sealed: Open, window: Window
) -> Replay | None:
    """The round as `viewer` saw it, for one who asks; None if the log knows no such round.

    Raises NotForYou, UnknownViewer, RoundIsOn, NotOpened; VaultClosed in a process without the key.
    """
    stored = await pool.fetchrow(eventlog.SQL["stream"], operator, TABLE + table_of(round_id))
    game = GAMES.get(stored["decider"]) if stored else None
    if stored is None or game is None:
        return None
    if viewer.role is asker.role and viewer.role is not Role.PLAYER:
        viewer = asker  # all who have a role see the same
    if not _may(asker, viewer, game):
        raise NotForYou
    await _check_known(pool, operator, asker, viewer)
    is_guest = viewer.role is Role.PLAYER and viewer not in (asker, ONLOOKER) and game.hidden_cards
    if is_guest and game.round(codec.decode_state(stored["decider"], stored["state"])) == round_id:
        raise RoundIsOn(round_id)
    noting = _Noting(open_sealed)
    after, limit, frames = window.after, window.limit, window.frames
    played = await replay(pool, operator, round_id, viewer, noting, after=after, limit=limit, frames=frames)
    if played is None:
        return None
    opened = frozenset[int]()
    if asker.role is Role.AUDITOR:
        rounds = [round_id, *(each for each, _ in noting.noted)]
        rows = await pool.fetch(SQL["opened"], operator, AUDIT + asker.actor, rounds)
        opened = frozenset(row["position"] for row in rows)
    if is_guest:
        await _check_opened(pool, operator, noting, opened)
    own = asker == viewer and asker.role is not Role.AUDITOR
    return await _with_bodies(pool, operator, game, played, open_sealed, None if own else opened)


def _may(asker: Viewer, viewer: Viewer, game: Game[Any, Any, Any]) -> bool:
    """Operator and supervisor see all bets anyhow, but no player's cards."""
    if viewer in (asker, ONLOOKER) or asker.role is Role.AUDITOR:
        return True
    return asker.role in (Role.OPERATOR, Role.SUPERVISOR) and viewer.role is Role.PLAYER and not game.hidden_cards


async def _check_known(pool: Pool, operator: str, asker: Viewer, viewer: Viewer) -> None:
    """A player who was never at the table may have looked on, and saw what any onlooker did."""
    if viewer.role is not Role.PLAYER or viewer in (asker, ONLOOKER):
        return
    if await pool.fetchval(eventlog.SQL["decider"], operator, WALLET + viewer.actor) is None:
        raise UnknownViewer(viewer.actor)


# --- What is sealed -----------------------------------------------------------------------------------------------


class _Noting:
    """Opens, and notes of which round it opened what."""

    def __init__(self, open_sealed: Open) -> None:
        self._open = open_sealed
        self.noted = set[tuple[str, str]]()

    def __call__(self, round_id: str, sealed: Sealed) -> bytes:
        self.noted.add((round_id, sealed.sealed))
        return self._open(round_id, sealed)


async def _check_opened(pool: Pool, operator: str, noting: _Noting, opened: frozenset[int]) -> None:
    """Whatever a view took out of the vault must be opened, on record, at the event that holds it."""
    left = set(noting.noted)
    positions = set[int]()
    for round_id in sorted({each for each, _ in noting.noted}):
        async for row in eventlog.of_round(pool, operator, round_id):
            if held := {each for each in left if each[0] == round_id and each[1] in row.data}:
                positions.add(row.position)
                left -= held
    if left or not positions <= opened:
        raise NotOpened(tuple(sorted(positions - opened)))


async def _with_bodies(
    pool: Pool,
    operator: str,
    game: Game[Any, Any, Any],
    played: Replay,
    open_sealed: Open,
    opened: frozenset[int] | None,
) -> Replay:
    """Each step with its command as it was sent: a viewer's own, or all for an auditor, who reads what is sealed once
    the round is `opened` (None: it need not be), and any words of the command besides."""
    mine = [each for each in played.steps if each.command and _reads(played.viewer, each)]
    names = {(each.actor, each.command or "") for each in mine}
    rows = await pool.fetch(SQL["bodies"], operator, [name[0] for name in names], [name[1] for name in names])
    kept = {(row["actor"], row["key"]): row["body"] for row in rows}
    closed = set[tuple[str, str | None]]()
    if opened is not None:
        holds = [each for each in mine if _holds_words(each.event) and each.position not in opened]
        closed = {(each.actor, each.command) for each in (holds if played.opening in opened else mine)}

    def read(step: Step) -> str | None:
        name = (step.actor, step.command or "")
        body: str | None = kept.get(name)
        if body is None or not body.startswith(SEALED):
            return body
        if name in closed:
            return None
        try:
            return open_sealed(game.name, vault.read(body)).decode()
        except LookupError:
            return None

    positions = {each.position for each in mine}
    steps = (replace(each, sent=read(each)) if each.position in positions else each for each in played.steps)
    return replace(played, steps=tuple(steps))


def _reads(viewer: Viewer, step: Step) -> bool:
    return viewer.role is Role.AUDITOR or (viewer.actor, viewer.role) == (step.actor, step.role)


def _holds_words(event: Any) -> bool:
    return any(isinstance(getattr(event, name), SealedText) for name in event.__struct_fields__)

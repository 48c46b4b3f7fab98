"""Every round that is over, folded and decided again by this program: a difference means that what it does now is not
what it did, and nobody said so by a new rules number.

One round is held at a time. Rounds are listed by their projection, which `reconcile` holds against the log.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from domain.game import Micros, Open
from domain.games import GAMES
from domain.names import TABLE, table_of
from infra import codec, eventlog, vault
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.sql import queries
from infra.vault import SEALED, Vault, VaultClosed
from services import what_if
from services.projections.rounds import is_match
from services.redecide import Difference, Name, redecide
from services.resettled_again import resettled_again

SQL = queries("replay")
_PAGE, _NAMES = 100, 1_000


class Again(Struct, frozen=True):
    """A round once more: so many commands decided again, so many left aside, and what differs."""

    round: str
    game: str
    commands: int
    left: int
    differences: tuple[Difference, ...]


async def rounds_again(
    pool: Pool, operator: str, keys: Vault, since: Micros = 0, changes: Mapping[str, Any] | None = None
) -> AsyncIterator[Again]:
    """Each in turn, and older ones that were settled once more since then. With `changes` to their tables' configs it
    is asked what would have been, and only that, of the games whose configs have such fields."""
    after = 0
    while records := await pool.fetch(SQL["ended"], operator, after, since, _PAGE):
        for record in records:
            if changes and not what_if.has(GAMES[record["game"]], changes):
                continue
            yield await again(pool, operator, record["round"], keys, changes)
        after = records[-1]["first"]
    if not changes:
        for record in await pool.fetch(SQL["resettled"], operator, since):
            name = record["round"]
            yield await (_match_again(pool, operator, name) if is_match(name) else again(pool, operator, name, keys))


async def _match_again(pool: Pool, operator: str, match: str) -> Again:
    """A match that was settled once more: its rounds were decided again before, each by itself."""
    of_table = await pool.fetch(eventlog.SQL["ended_match"], operator, match, TABLE + table_of(match))
    rows = [*map(eventlog.row_of, of_table), *[row async for row in eventlog.of_round(pool, operator, match)]]
    done = resettled_again(match, rows)
    found = (Difference(each.position, each.stored, each.decided) for each in done.found)
    return Again(match, rows[0].type.partition(".")[0], done.commands, 0, (*found, *_read_again(rows)))


async def again(
    pool: Pool, operator: str, round_id: str, keys: Vault, changes: Mapping[str, Any] | None = None
) -> Again:
    rows = [row async for row in eventlog.of_round(pool, operator, round_id)]
    game = next(row.type for row in rows if row.type.partition(".")[0] in GAMES).partition(".")[0]
    open_sealed = partial(keys.open, operator)
    sent = await bodies(pool, operator, game, rows, keys)
    done = redecide(operator, round_id, rows, sent, open_sealed, changes)
    found = [] if changes else [*_read_again(rows), *_cards_again(operator, game, rows)]
    return Again(round_id, game, done.commands, done.left, (*done.differences, *found))


async def bodies(pool: Pool, operator: str, game: str, rows: Sequence[EventRow], keys: Vault) -> dict[Name, str]:
    """The commands of these events as they were sent, opened where this process may."""
    open_sealed = partial(keys.open, operator)
    names = list({(row.actor, row.command): None for row in rows if row.command is not None})
    sent: dict[Name, str] = {}
    for at in range(0, len(names), _NAMES):
        page = names[at : at + _NAMES]
        actors, commands = [actor for actor, _ in page], [name for _, name in page]
        for actor, key, body in await pool.fetch(SQL["bodies"], operator, actors, commands):
            sent[actor, key] = _opened(open_sealed, game, body)
    return sent


def _opened(open_sealed: Open, game: str, body: str) -> str:
    if not body.startswith(SEALED):
        return body
    try:
        return open_sealed(game, vault.read(body)).decode()
    except VaultClosed:
        return body


def _read_again(rows: Sequence[EventRow]) -> list[Difference]:
    """What is decoded must be written as it is stored; what is lifted from an older schema, as it is read again."""
    found: list[Difference] = []
    for row in rows:
        event = row.event
        written = codec.encode(event)
        if codec.schema_of(row.type) == row.schema:
            same = written == row.data
        else:
            same = codec.decode_event(row.type, codec.schema_of(row.type), written) == event
        if not same:
            found.append(Difference(row.position, row.data, written))
    return found


def _cards_again(operator: str, game: str, rows: Sequence[EventRow]) -> list[Difference]:
    story = [row.event for row in rows if row.type.partition(".")[0] == game]
    told: Any = GAMES[game].reveals(operator, story)
    failed = [check.what for check in told.checks if not check.holds] if told is not None else []
    return [Difference(rows[0].position, "holds", f"fails: {what}") for what in failed]

"""Making a round's dossier from the log, the notary's tree, and what became of the round's commands."""

import asyncio
import time
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from domain.auditing import OpenSeal
from domain.decider import Submission
from domain.game import Game, Role, SealedSeed, Viewer
from domain.games import GAMES
from domain.names import AUDIT, REFUSED, TABLE, WALLET, table_of
from domain.refused import CommandRefused
from infra import codec, eventlog, vault
from infra.eventlog import SQL, EventRow
from infra.postgres import Pool
from infra.vault import SEALED, Vault
from services import openings, tree
from services.batch import Accepted, Stored, StoredRefused
from services.dossier import Dossier, Form, Proved, Rules, Sent, Shown, StoredEvent, rules_hash
from services.executor import Executor
from services.lines import submit
from services.openings import OpenedSeed, RoundIsOn
from services.resettled_again import is_play

_SIGNED_WITHIN_S = 3.0
_LOOK_AGAIN_S = 0.1
_BESIDE = 100
"""Positions before and after a round: its first and last command may have begun or ended there."""

_stored: "msgspec.json.Decoder[Stored]" = msgspec.json.Decoder(Stored)


class NotSigned(Exception):
    """The notary has not signed a tree that has all of it. `size` is what the tree must be over."""

    def __init__(self, size: int) -> None:
        super().__init__(f"nothing that is over {size} events was signed yet")
        self.size = size


class Story(Struct, frozen=True):
    """A round that is over: what there is of it in the log. `opening` is among `rows`, which are in order."""

    operator: str
    round: str
    game: Game[Any, Any, Any]
    opening: EventRow
    rows: tuple[EventRow, ...]

    @property
    def table(self) -> str:
        return TABLE + table_of(self.round)

    def is_shown_whole(self, row: EventRow, public: Any) -> bool:
        """Whether what is shown of the table's event is all of it, but for a seed's sealed form when the game has
        revealed the seed itself: then nothing is hidden by it, and its event can be proved to players too."""
        if public == row.event:
            return True
        seed: SealedSeed | None = self.opening.event.seed
        if public is None or seed is None or self.game.hidden_cards:
            return False
        sealed, blank = codec.encode(seed), codec.encode(SealedSeed(seed.hash, "", ""))
        return row.data.replace(sealed, blank) == codec.encode(public)


async def story(pool: Pool, operator: str, round_id: str) -> Story | None:
    """None if the log knows no such round. Raises RoundIsOn."""
    rows = [row async for row in eventlog.of_round(pool, operator, round_id)]
    game = GAMES.get(rows[0].type.partition(".")[0]) if rows else None
    opening = next((row for row in rows if game and isinstance(row.event, game.opening)), None)
    if game is None or opening is None:
        return None
    table = TABLE + table_of(round_id)
    stored = await pool.fetchrow(SQL["stream"], operator, table)
    if stored is not None and game.round(codec.decode_state(stored["decider"], stored["state"])) == round_id:
        raise RoundIsOn(round_id)
    before = await _before(pool, operator, table, rows[0].version, opening)
    beside = await _beside(pool, operator, table, rows)
    whole = sorted((*before, *rows, *beside), key=lambda row: row.position)
    return Story(operator, round_id, game, opening, tuple(whole))


async def _before(pool: Pool, operator: str, table: str, first: int, opening: EventRow) -> list[EventRow]:
    """The table's events from the one that published the seed's hash, up to the round."""
    seed: SealedSeed | None = opening.event.seed
    if seed is None:
        return []
    published = await pool.fetchval(SQL["published"], operator, table, first, seed.hash)
    if published is None:
        return []
    return [
        eventlog.row_of(row)
        for row in await pool.fetch(SQL["events_of_stream_between"], operator, table, published, first - 1)
    ]


async def _beside(pool: Pool, operator: str, table: str, rows: Sequence[EventRow]) -> list[EventRow]:
    """What was refused at the table while the round was on; and what its commands did that is not of the round, as to
    buy in."""
    played = [row for row in rows if is_play(row)]
    names = {(row.actor, row.command) for row in rows if row.command is not None}
    actors, keys = [actor for actor, _ in names], [key for _, key in names]
    found: dict[int, EventRow] = {}
    for first, last in _stretches(played, rows):
        beside = await pool.fetch(SQL["beside_round"], operator, first, last, table, actors, keys)
        found |= {row.position: row for row in map(eventlog.row_of, beside) if _is_beside(row, played, names)}
    return list(found.values())


def _stretches(played: Sequence[EventRow], rows: Sequence[EventRow]) -> Iterator[tuple[int, int]]:
    """Where to look: about the play, and about each command that came to the round when it was over, maybe years
    later."""
    yield played[0].position - _BESIDE, played[-1].position + _BESIDE
    for row in rows:
        if row.command is not None and row.position > played[-1].position:
            yield row.position - _BESIDE, row.position + _BESIDE


def _is_beside(row: EventRow, played: Sequence[EventRow], names: Container[tuple[str, str | None]]) -> bool:
    return (row.actor, row.command) in names or played[0].position < row.position < played[-1].position


async def opened_seed(pool: Pool, keys: Vault, told: Story) -> str | None:
    """The seed in hex, where only an auditor may have it. Raises VaultClosed. To be recorded before it is shown."""
    if not told.game.hidden_cards:
        return None
    row = await openings.sealed_at(pool, told.operator, told.opening.position)
    opened = await openings.opened(pool, keys, told.operator, row) if row else None
    assert isinstance(opened, OpenedSeed)
    return opened.seed


class Auditing(Struct, frozen=True):
    """What an auditor's form takes: the position of the record that it was made, the seed, and who opens texts."""

    record: int
    seed: str | None
    keys: Vault


async def make(pool: Pool, told: Story, form: Form, viewer: Viewer, auditing: Auditing | None = None) -> Dossier:
    """Raises NotSigned when the notary does not come to it."""
    rows = list(told.rows)
    if auditing is not None:
        record = await pool.fetchrow(SQL["events_between"], told.operator, auditing.record, auditing.record)
        assert record is not None
        rows.append(eventlog.row_of(record))
    shows = _shows(form, viewer)
    if form == "player":
        rows = [row for row in rows if not isinstance(row.event, CommandRefused) or shows(row)]
    size, note = await signed(pool, told.operator, rows[-1].position)
    paths = await tree.inclusions(pool, told.operator, [row.position for row in rows], size)
    events = tuple(_proved(told, row, shows(row), viewer, *paths[row.position]) for row in rows)
    return Dossier(
        operator=told.operator,
        round=told.round,
        game=told.game.name,
        form=form,
        viewer="" if form == "operator" else viewer.actor,
        rules=Rules(told.opening.event.rules, rules_hash(told.game.name)),
        note=note,
        events=events,
        commands=await _commands(pool, told, form, viewer, auditing.keys if auditing else None),
        seed=auditing.seed if auditing else None,
    )


def _shows(form: Form, viewer: Viewer) -> Callable[[EventRow], bool]:
    """Whether an event's own text may be shown. Of what a player may see the table's are looked at one by one."""
    if form != "player":
        return lambda _row: True
    own = {WALLET + viewer.actor, REFUSED + viewer.actor}
    return lambda row: row.stream in own


def _proved(told: Story, row: EventRow, shown: bool, viewer: Viewer, leaf: bytes, path: Sequence[bytes]) -> Proved:
    place = Proved(row.position, tuple(each.hex() for each in path))
    if not shown and row.stream == told.table:
        public = told.game.public(row.event, viewer)
        if told.is_shown_whole(row, public):
            shown = True
        elif public is not None:
            seen = _shown(row, public)
            return replace(place, leaf=leaf.hex(), shown=seen)
    return replace(place, entry=entry(row)) if shown else replace(place, leaf=leaf.hex())


def _shown(row: EventRow, public: Any) -> Shown:
    return Shown(*_place(row), Raw(codec.encode(public).encode()))


def entry(row: EventRow) -> StoredEvent:
    return StoredEvent(*_place(row), row.data)


def _place(row: EventRow) -> tuple[str, int, str, int, str | None, str | None, str, str, int]:
    return row.stream, row.version, row.type, row.schema, row.round, row.command, row.actor, row.role, row.at


async def signed(pool: Pool, operator: str, position: int) -> tuple[int, str]:
    """The first tree that has the position, and what was signed of it; what was just written is signed in a moment."""
    until = time.monotonic() + _SIGNED_WITHIN_S
    while (row := await pool.fetchrow(tree.SQL["first_over"], operator, position)) is None:
        if time.monotonic() > until:
            raise NotSigned(position)
        await asyncio.sleep(_LOOK_AGAIN_S)
    return row["size"], row["note"]


# --- What was sent ------------------------------------------------------------------------------------------------


async def _commands(pool: Pool, told: Story, form: Form, viewer: Viewer, keys: Vault | None) -> tuple[Sent, ...]:
    """Those that gave the round's events; a player's are the player's own."""
    ours = [row for row in told.rows if row.round == told.round or isinstance(row.event, CommandRefused)]
    names = list(dict.fromkeys((row.actor, row.command) for row in ours if row.command is not None))
    if form == "player":
        names = [name for name in names if name[0] == viewer.actor]
    return await sent(pool, told.operator, names, lambda body: _clear(told, body, keys))


def _clear(told: Story, body: str, keys: Vault | None) -> str | None:
    if not body.startswith(SEALED):
        return body
    return keys.open(told.operator, told.game.name, vault.read(body)).decode() if keys else None


async def sent(
    pool: Pool, operator: str, names: Sequence[tuple[str, str]], clear: Callable[[str], str | None]
) -> tuple[Sent, ...]:
    """These commands, by actor and key, in order; `clear` gives of a body what may be told. Of a key that was fenced
    before its command came, the refusal's record tells all there is."""
    records = await pool.fetch(SQL["commands_of"], operator, [who for who, _ in names], [key for _, key in names])
    found = (_sent(record, clear) for record in records if record["first"] is not None)
    return tuple(sorted(found, key=lambda each: (each.first, each.actor, each.key)))


def _sent(record: Any, clear: Callable[[str], str | None]) -> Sent:
    outcome = _stored.decode(record["outcome"])
    return Sent(
        actor=record["actor"],
        key=record["key"],
        received=record["received"],
        decided=record["decided"],
        first=record["first"],
        last=record["last"],
        refused=outcome.rule if isinstance(outcome, StoredRefused) else None,
        body=clear(record["body"]) if record["body"] is not None else None,
    )


# --- By whom ------------------------------------------------------------------------------------------------------


async def record(
    pool: Pool, executor: Executor, keys: Vault, told: Story, auditor: str, why: str, key: str = ""
) -> Auditing:
    """Put on record that an auditor's form is made, before it is. Raises VaultClosed."""
    seed = await opened_seed(pool, keys, told)
    asked = OpenSeal(told.opening.position, told.table, told.round, why)
    answer = await submit(executor, Submission(told.operator, auditor, Role.AUDITOR, AUDIT + auditor, asked, key))
    assert isinstance(answer, Accepted), answer
    assert answer.last is not None
    return Auditing(answer.last, seed, keys)

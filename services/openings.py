"""What is sealed, opened for an auditor: a whole deck once its round is over, a seed that was not used, what a player
had asked for that was refused. The opening is recorded before anything is shown; the record names no card.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from domain import fairness
from domain.cards import Card
from domain.fairness import ClientSeed
from domain.game import Open, Role, SealedText, Viewer, fold
from domain.games import GAMES
from domain.names import TABLE, table_of
from domain.refused import CommandRefused
from infra import codec, eventlog, vault
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.vault import SEALED, Vault


class NothingSealed(Exception):
    """The event holds nothing that is sealed, or nothing that may ever be opened this way."""


class RoundIsOn(Exception):
    """What is sealed belongs to a round that is not over."""

    def __init__(self, round_id: str) -> None:
        super().__init__(round_id)
        self.round = round_id


class OpenedSeed(Struct, frozen=True, tag="seed"):
    """A round's seed in hex and, if it was dealt from, the deck in dealing order, the root that was published before
    the first bet, and who held what. `fits` tells that seed and deck are those that were committed to."""

    round: str
    seed: str
    fits: bool
    client_seeds: tuple[ClientSeed, ...] = ()
    root: str | None = None
    cards: tuple[Card, ...] = ()
    hands: Mapping[str, tuple[Card, ...]] = {}


class OpenedText(Struct, frozen=True, tag="text"):
    """What was asked and refused, as it was sent; or what was said to some only."""

    text: str


Opened = OpenedSeed | OpenedText


async def sealed_at(pool: Pool, operator: str, position: int) -> EventRow | None:
    """The event at a position, if the log has one. Raises NothingSealed, RoundIsOn."""
    record = await pool.fetchrow(eventlog.SQL["events_between"], operator, position, position)
    if record is None:
        return None
    row = eventlog.row_of(record)
    table = _table_of(row)
    stored = await pool.fetchrow(eventlog.SQL["stream"], operator, table)
    game = GAMES.get(stored["decider"]) if stored else None
    if stored is None or game is None or not game.hidden_cards or not _is_sealed(row, game.opening):
        raise NothingSealed(row.type)
    on = game.round(codec.decode_state(stored["decider"], stored["state"]))
    if on is not None:
        begun = await pool.fetchval(eventlog.SQL["events_of_round"], operator, on, 0, 1)
        if position >= begun:
            raise RoundIsOn(on)
    return row


def _table_of(row: EventRow) -> str:
    return row.event.stream if isinstance(row.event, CommandRefused) else row.stream


def _is_sealed(row: EventRow, opening: type) -> bool:
    match row.event:
        case CommandRefused(asked=asked):
            return asked.startswith(SEALED)
        case event:
            return isinstance(event, opening) or row.type.endswith(".SeedDropped") or _words_in(event) is not None


def _words_in(event: Any) -> SealedText | None:
    """What is said in the event for some ears only."""
    told = (getattr(event, name) for name in event.__struct_fields__)
    return next((each for each in told if isinstance(each, SealedText)), None)


async def opened(pool: Pool, keys: Vault, operator: str, row: EventRow) -> Opened:
    """What `sealed_at` found, opened. Raises VaultClosed in a process without the key."""
    event = row.event
    if isinstance(event, CommandRefused):
        game = await pool.fetchval(eventlog.SQL["decider"], operator, event.stream)
        return OpenedText(keys.open(operator, game, vault.read(event.asked)).decode())
    open_seed = partial(keys.open, operator)
    if (words := _words_in(event)) is not None:
        return OpenedText(open_seed(event.round, words).decode())
    if row.type.endswith(".SeedDropped"):
        seed = open_seed(event.round, event.seed)
        return OpenedSeed(event.round, seed.hex(), fairness.verify_seed(seed, event.seed.hash))
    return await _dealt(pool, operator, row, open_seed)


async def _dealt(pool: Pool, operator: str, row: EventRow, open_seed: Open) -> OpenedSeed:
    event = row.event
    table = table_of(event.round)
    seed = open_seed(event.round, event.seed)
    deck = fairness.shuffle(seed, operator=operator, table=table, round=event.round, client_seeds=event.client_seeds)
    rows = eventlog.of_round(pool, operator, event.round)
    of_table = [each.event async for each in rows if each.stream == TABLE + table]
    game = GAMES[row.type.partition(".")[0]]
    over = fold(game.evolve, game.initial, of_table)
    return OpenedSeed(
        round=event.round,
        seed=seed.hex(),
        fits=fairness.verify_seed(seed, event.seed.hash) and deck.root == event.root,
        client_seeds=event.client_seeds,
        root=event.root,
        cards=deck.cards,
        hands=game.hands(over, Viewer("", Role.AUDITOR), open_seed),
    )

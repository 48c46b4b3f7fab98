"""The rows of rounds and bettors: read for a batch, saved after it, and kept in memory for the next one, which will
mostly go on with the same rounds.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from domain.decider import WALLET
from infra import columns
from infra.eventlog import EventRow
from infra.postgres import Connection
from services.projections import resettled
from services.projections.projection import Place, Projection
from services.projections.rounds import SQL, Book, bettor_of, moved_by, round_of, told_of

KEPT_MAX = 20_000
"""Bettors whose rows stay in memory for the next batch, some 1 KB each."""

_encode = msgspec.json.Encoder().encode


class Known:
    """Rows as they stand at a checkpoint, of rounds that go on."""

    def __init__(self) -> None:
        self.book = Book()
        self.whole: set[str] = set()
        """Rounds whose beginning was seen: who is not in the book has no row yet."""

    def take_over(self, changed: Book) -> None:
        """What a batch made of them, but for rounds that are over. What grows too much is read again when needed."""
        self.book.take_over(changed)
        over = {each.round for each in changed.rounds.values() if each.ended_at is not None}
        if over:
            self.book.forget(over)
            self.whole -= over
        if len(self.book.bettors) > KEPT_MAX:
            self.book, self.whole = Book(), set()


class KeptRounds(Struct, frozen=True):
    """What a batch leaves to the next: what it knew, and what it changed, which holds once it is committed."""

    known: Known
    changed: Book


async def apply(connection: Connection, place: Place, rows: Sequence[EventRow]) -> KeptRounds:
    await resettled.apply(connection, place, rows)
    known = _known(place.kept)
    book, told = Book(known.book), [(about, row) for row in rows if (about := told_of(row)) is not None]
    if told:
        await _load(connection, place, told, known)
        for _, row in told:
            book.take(row)
        await _save(connection, place, book)
    return KeptRounds(known, book)


def _known(kept: KeptRounds | None) -> Known:
    """Taking over the same changes twice, where a batch has failed in between, gives the same."""
    if kept is None:
        return Known()
    kept.known.take_over(kept.changed)
    return kept.known


async def _load(connection: Connection, place: Place, told: Sequence[tuple[str, EventRow]], known: Known) -> None:
    """Read the rows of which these events tell, as far as they are not known."""
    key, book = (place.operator, place.generation), known.book
    if new := {about for about, _ in told} - book.rounds.keys():
        found = [round_of(record) for record in await connection.fetch(SQL["load"], *key, list(new))]
        book.add(found)
        known.whole |= new - {each.round for each in found}
    of_wallets = {(about, row.stream.removeprefix(WALLET)) for about, row in told if row.type.startswith("wallet.")}
    if pairs := [pair for pair in of_wallets if pair[0] not in known.whole and pair not in book.bettors]:
        asked = (columns.texts([about for about, _ in pairs]), columns.texts([player for _, player in pairs]))
        book.add(bettors=[bettor_of(record) for record in await connection.fetch(SQL["load_bettors"], *key, *asked)])
    of_tables = {about for about, row in told if not row.type.startswith("wallet.") and moved_by(row)}
    if seated := list(of_tables - known.whole):
        book.add(bettors=[bettor_of(record) for record in await connection.fetch(SQL["load_seated"], *key, seated)])


async def _save(connection: Connection, place: Place, book: Book) -> None:
    key = (place.operator, place.generation)
    rounds = list(book.rounds.values())
    await connection.execute(
        SQL["save"],
        *key,
        columns.texts([each.round for each in rounds]),
        columns.texts([each.table for each in rounds]),
        columns.texts([each.game for each in rounds]),
        columns.numbers([each.number for each in rounds]),
        columns.texts([each.status for each in rounds]),
        columns.numbers([each.opened_at for each in rounds]),
        columns.numbers([each.closed_at for each in rounds]),
        columns.numbers([each.ended_at for each in rounds]),
        columns.numbers([each.bettors for each in rounds]),
        columns.numbers([each.staked for each in rounds]),
        columns.numbers([each.returned for each in rounds]),
        columns.nullable([bytes(each.result).decode() if each.result else None for each in rounds]),
        columns.numbers([each.first for each in rounds]),
        columns.numbers([each.last for each in rounds]),
    )
    bettors = list(book.bettors.values())
    if not bettors:
        return
    await connection.execute(
        SQL["save_bettors"],
        *key,
        columns.texts([each.round for each in bettors]),
        columns.texts([each.player for each in bettors]),
        columns.texts([each.status for each in bettors]),
        columns.numbers([each.staked for each in bettors]),
        columns.numbers([each.returned for each in bettors]),
        columns.texts([_encode(each.wagers).decode() for each in bettors]),
        columns.numbers([each.placed_at for each in bettors]),
        columns.numbers([each.ended_at for each in bettors]),
        columns.numbers([each.first for each in bettors]),
        columns.numbers([each.last for each in bettors]),
    )


ROUNDS = Projection("rounds", apply, (SQL["clear"], SQL["clear_bettors"], resettled.SQL["clear"]))

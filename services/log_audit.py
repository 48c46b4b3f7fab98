"""Is the log what was signed? All of it is read again: every event held against its leaf in the notary's tree, every
root against the note that was signed of it, and the first place that differs is named.

Whoever has the database can change events, links, leaves and tiles alike, and take notes away; what they cannot do
is to sign. So what is trusted are the public keys alone, and checkpoints kept elsewhere.
"""

import itertools
from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct

from domain import merkle
from infra import eventlog, notes
from infra.eventlog import EventRow
from infra.notes import BadNote, Checkpoint, PublicKey
from infra.postgres import Pool
from services import tree
from services.tree import SQL

_PAGE, _NOTES = eventlog.PAGE, 500
_TELL_EVERY = 100_000


class Fault(Exception):
    """The log is not what was signed. `position` is the first that is wrong; `until` the last that it may be, where it
    cannot be told exactly."""

    def __init__(self, position: int, what: str, until: int | None = None) -> None:
        super().__init__(what)
        self.position = position
        self.until = until


class Audited(Struct, frozen=True):
    """So many events are in the log; of these so many are signed, by so many notes."""

    events: int
    signed: int
    notes: int


async def audit(
    pool: Pool,
    operator: str,
    keys: Sequence[PublicKey],
    say: Callable[[str], None],
    kept: Sequence[str] = (),
) -> Audited:
    """`keys` verify notes, whatever name of the operator's logs they stand for. `kept` are signed checkpoints that
    the auditor has from elsewhere: the log must go on from each. Raises Fault at the first that is wrong, BadNote for a
    kept one that is none."""
    due = sorted((_verified(note, operator, keys) for note in kept), key=lambda each: each.size)
    taken, signed = await _stood(pool, operator)
    course = _Course(operator, keys, [each for each in due if each.size])
    made = _notes(pool, operator, signed)
    note = await anext(made, None)
    async for rows in _pages(pool, operator, await _end(pool, operator)):
        leaves = await _leaves(pool, operator, rows)
        for row in rows:
            course.take(row, leaves.get(row.position))
            while note is not None and note[0] == row.position:
                course.check(*note)
                note = await anext(made, None)
        if rows[-1].position // _TELL_EVERY > (rows[0].position - 1) // _TELL_EVERY:
            say(f"{operator}: {rows[-1].position:,} events read")
    course.end(taken, signed)
    return Audited(course.position, course.signed, course.signatures)


class _Course:
    """Through the log, event by event."""

    def __init__(self, operator: str, keys: Sequence[PublicKey], due: Sequence[Checkpoint]) -> None:
        self._operator = operator
        self._keys = keys
        self._due = list(due)
        self._link = eventlog.genesis(operator, 1)
        self._tiles = tree.Tiles({})
        self.position = self.signed = self.signatures = 0

    def take(self, row: EventRow, leaf: bytes | None) -> None:
        position = self.position + 1
        if row.position != position:
            raise Fault(position, "it is missing from the log")
        if leaf is not None and leaf != eventlog.leaf(row):
            raise Fault(position, "the event is not the one that was taken into the tree")
        self._link = eventlog.link(self._link, row)
        if row.hash != self._link:
            raise Fault(position, "its hash does not link it to the event before")
        self._tiles.append(position - 1, eventlog.leaf(row))
        self.position = position
        if position % 256 == 0:
            self._tiles.forget_all_but(tree.edge(position))
        while self._due and self._due[0].size == position:
            self._hold(self._due.pop(0).root, "this is not the log of the checkpoint that was kept")

    def check(self, size: int, note: str) -> None:
        try:
            checkpoint = _verified(note, self._operator, self._keys)
        except BadNote as bad:
            raise Fault(self.signed + 1, f"the note over {size} events does not hold: {bad}", size) from None
        if checkpoint.size != size:
            raise Fault(self.signed + 1, f"the note over {size} events is over {checkpoint.size}", size)
        self._hold(checkpoint.root, "these events are not the ones that were signed")
        self.signed, self.signatures = size, self.signatures + 1

    def _hold(self, root: bytes, what: str) -> None:
        if merkle.root(self._tiles.node, self.position) != root:
            raise Fault(self.signed + 1, what, self.position)

    def end(self, taken: int, signed: int) -> None:
        """Nothing of what was taken into the tree, or signed, may be missing at the end."""
        if taken > self.position:
            raise Fault(self.position + 1, f"{taken} events were taken into the tree, and the log ends here")
        if signed > self.position:
            raise Fault(self.position + 1, f"{signed} events are signed, and the log ends here")
        if self._due:
            raise Fault(self.position + 1, f"a kept checkpoint is over {self._due[0].size} events, the log ends here")
        if taken != self.signed:
            raise Fault(self.signed + 1, f"{taken} events are in the tree, and {self.signed} are signed", taken)


def _verified(note: str, operator: str, keys: Sequence[PublicKey]) -> Checkpoint:
    """A key signs every log of its operator, and has each log's name in turn. Raises BadNote."""
    name = note.partition("\n")[0]
    if not name.startswith(f"croupier/{operator}/"):
        raise BadNote(f"it is of another log, {name[:100]}")
    return notes.verified(note, [PublicKey(name, key.key) for key in keys])


async def _stood(pool: Pool, operator: str) -> tuple[int, int]:
    """How many events were taken into the tree, and how many are signed: at one moment, for both go on meanwhile."""
    stood = await pool.fetchrow(SQL["stood"], operator)
    assert stood is not None
    return stood["taken"], stood["signed"]


async def _end(pool: Pool, operator: str) -> int:
    """Where the log ends now, whatever its head says. What comes later is the next audit's."""
    return await pool.fetchval(SQL["log_end"], operator) or 0


async def _pages(pool: Pool, operator: str, end: int) -> AsyncIterator[list[EventRow]]:
    """The log as it lies, holes and all: those are for us to find."""
    position = 0
    while position < end and (records := await pool.fetch(eventlog.SQL["events_after"], operator, position, _PAGE)):
        yield [eventlog.row_of(record) for record in records]
        position = records[-1]["position"]


async def _leaves(pool: Pool, operator: str, rows: Sequence[EventRow]) -> dict[int, bytes]:
    """What the tree has of these events, by position."""
    first, last = rows[0].position - 1, rows[-1].position - 1
    tiles = await tree.load(pool, operator, [(0, index) for index in range(first // 256, last // 256 + 1)])
    held = itertools.chain.from_iterable(
        ((index * 256 + at // 32 + 1, tile[at : at + 32]) for at in range(0, len(tile), 32))
        for (_, index), tile in tiles.held.items()
    )
    return dict(held)


async def _notes(pool: Pool, operator: str, signed: int) -> AsyncIterator[tuple[int, str]]:
    """In pages of short queries; those that came since we looked how far it was signed are the next audit's."""
    size = 0
    while size < signed and (records := await pool.fetch(SQL["notes_after"], operator, size, _NOTES)):
        for record in records:
            if record["size"] <= signed:
                yield record["size"], record["note"]
        size = records[-1]["size"]

"""The Merkle tree over an operator's log, kept in tiles of 256 hashes (C2SP tlog-tiles), and proofs from it.

Position n of the log is the tree's leaf n - 1. A tree only grows, so a proof for any earlier size can be made at any
time; what proofs are made of is in `domain.merkle`.
"""

from collections.abc import Iterable, Sequence

from domain import merkle
from domain.merkle import Place, Span
from infra.postgres import Connection, Pool
from infra.sql import queries

SQL = queries("notary")
_LEVELS = 8
"""Of the tree, in one tile: 2^8 hashes stand side by side."""
_WIDTH, _HASH = 1 << _LEVELS, 32


class NoSuchLeaf(LookupError):
    """The tree has not come so far, or not yet."""


class Tiles:
    """Some of a tree's tiles, by level and index: enough for what is asked of them."""

    def __init__(self, held: dict[Place, bytes]) -> None:
        self.held = held
        self.grown: set[Place] = set()

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree. Raises NoSuchLeaf where its tile is not held, or not so full."""
        tile_level, within = divmod(level, _LEVELS)
        first = index << within
        start = first % _WIDTH * _HASH
        hashes = self.held.get((tile_level, first // _WIDTH), b"")[start : start + (_HASH << within)]
        if len(hashes) < _HASH << within:
            raise NoSuchLeaf(f"level {level}, index {index}")
        return merkle.folded(_split(hashes))

    def append(self, index: int, leaf: bytes) -> None:
        """The hash of the next leaf. A tile that is full becomes one hash in a tile above."""
        level, node = 0, leaf
        while True:
            place = level, index // _WIDTH
            tile = self.held[place] = self.held.get(place, b"") + node
            self.grown.add(place)
            if len(tile) < _WIDTH * _HASH:
                return
            level, index, node = level + 1, index // _WIDTH, merkle.folded(_split(tile))

    def forget_all_but(self, places: Iterable[Place]) -> None:
        keep = set(places)
        self.held = {place: tile for place, tile in self.held.items() if place in keep}


def _split(hashes: bytes) -> list[bytes]:
    return [hashes[at : at + _HASH] for at in range(0, len(hashes), _HASH)]


def edge(size: int) -> list[Place]:
    """The tiles that are not full in a tree of this size: all that its root and its growth need."""
    places: list[Place] = []
    level = 0
    while count := size >> (_LEVELS * level):
        if count % _WIDTH:
            places.append((level, count // _WIDTH))
        level += 1
    return places


def _tile_of(place: Place) -> Place:
    level, within = divmod(place[0], _LEVELS)
    return level, (place[1] << within) // _WIDTH


async def load(source: "Pool | Connection", operator: str, places: Iterable[Place]) -> Tiles:
    wanted = sorted(set(places))
    records = await source.fetch(SQL["tiles"], operator, [level for level, _ in wanted], [index for _, index in wanted])
    return Tiles({(record["level"], record["index"]): record["hashes"] for record in records})


async def save(connection: Connection, operator: str, tiles: Tiles) -> None:
    places = sorted(tiles.grown)
    hashes = [tiles.held[place] for place in places]
    await connection.execute(
        SQL["save_tiles"], operator, [each for each, _ in places], [at for _, at in places], hashes
    )


async def inclusion(pool: Pool, operator: str, position: int, size: int) -> tuple[bytes, tuple[bytes, ...]]:
    """The leaf of the event at a position, and its audit path in the tree of `size` leaves. Raises NoSuchLeaf."""
    if not 1 <= position <= size:
        raise NoSuchLeaf(f"position {position} in a tree of {size}")
    leaf, *path = await _hashes(pool, operator, [(position - 1, position), *merkle.inclusion_spans(position - 1, size)])
    return leaf, tuple(path)


async def consistency(pool: Pool, operator: str, old: int, size: int) -> tuple[bytes, ...]:
    """The proof that the tree of `size` leaves begins with that of `old`. Raises NoSuchLeaf."""
    if not 1 <= old <= size:
        raise NoSuchLeaf(f"a tree of {old} in one of {size}")
    return tuple(await _hashes(pool, operator, merkle.consistency_spans(old, size)))


async def inclusions(
    pool: Pool, operator: str, positions: Sequence[int], size: int
) -> dict[int, tuple[bytes, tuple[bytes, ...]]]:
    """Leaf and path of many events at once, by position. Raises NoSuchLeaf."""
    asked = {each: [(each - 1, each), *merkle.inclusion_spans(each - 1, size)] for each in positions}
    spans = list({span for spans in asked.values() for span in spans})
    known = dict(zip(spans, await _hashes(pool, operator, spans), strict=True))
    return {each: (known[spans[0]], tuple(known[span] for span in spans[1:])) for each, spans in asked.items()}


async def _hashes(pool: Pool, operator: str, spans: Sequence[Span]) -> list[bytes]:
    places = {place for span in spans for place in merkle.places(span)}
    tiles = await load(pool, operator, map(_tile_of, places))
    return [merkle.span_hash(tiles.node, span) for span in spans]

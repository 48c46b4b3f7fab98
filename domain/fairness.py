"""How a seed becomes a shuffled deck, and how each card of it can be proved later without showing another.

This is a specification: whoever follows it, in any language, gets the same deck. `||` joins bytes; u32(n) is n in four
bytes, big-endian; field(b) = u32(length of b) || b; text is UTF-8; hex is lower case.

Seed hash. hex SHA-256( field("croupier/seed/1") || field(seed) ), published before the round. A seed is 32 bytes.

Stream. The output of SHAKE-256 (FIPS 202), read from its first byte on for as long as bytes are needed, over
    field("croupier/stream/1") || field(purpose) || field(seed) || field(operator) || field(table) || field(round)
    || u32(number of client seeds) || for each client seed: field(player) || field(client seed)
with the client seeds in order of the players' UTF-8 bytes, one a player. Each purpose has a stream of its own:
"shuffle", "salts", and "draw/" followed by a label.

Number below n (1 <= n <= 256). Let limit = 256 - 256 mod n. Take the stream's next byte b. If b < limit, the number is
b mod n; else b is rejected and the next byte is tried. Every byte is used once, in order; rejected ones are counted.

Shuffle (Fisher-Yates). Begin with the unshuffled deck: spades, hearts, diamonds, clubs, each A 2 3 ... 9 T J Q K.
For i = 51, 50, ... 1: let j be a number below i + 1 from the stream "shuffle", and swap the cards at places i and j.
Cards are dealt from place 0 upwards.

Commitment. The salt of place i is bytes 16 i to 16 i + 15 of the stream "salts". The leaf of place i is
    field("croupier/card/1") || u32(i) || field(card, as in "As") || field(salt).
The root is the hex Merkle tree hash of the 52 leaves (RFC 6962, section 2.1, SHA-256); a card's opening is its place,
card, salt and audit path (section 2.1.1). Whoever has the root can check an opening; the other 51 cards stay hidden.

Example. Seed 000102 ... 1f, operator "demo", table "teen-patti-1", round "teen-patti-1.7", client seeds
alice "lucky" and bob "7" give
    seed hash  618ff7c93a5fb41fe968e52d221cfec75dc0f3f822004c0b78a92005f1fce628
    cards      3h 6h Tc 9s Kd Qd ... 8h 3s Kh, 4 rejects
    root       3df70e03e207fb422aa9ec595d0814d4ab37db89b23172dd9459da5da8c3d53f
    and 4 as the draw "dealer" below 6.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from domain import merkle
from domain.cards import DECK, Card

SEED_BYTES = 32
SALT_BYTES = 16

DECKS_KEPT = 256
"""A deck takes a quarter of a millisecond to make, and a hand looks at its deck at every step. One is some 15 KB."""


class ClientSeed(Struct, frozen=True):
    """What a player threw in, so that the house alone could not choose the deck."""

    player: str
    seed: str


class Opening(Struct, frozen=True):
    """Proof that the card at one place of a committed deck is this one. Salt and path are hex."""

    index: int
    card: Card
    salt: str
    path: tuple[str, ...]


class Deck(Struct, frozen=True):
    """A shuffled deck and its commitment. It never leaves the process that deals; its `root` and openings do."""

    cards: tuple[Card, ...]
    salts: tuple[bytes, ...]
    rejects: int
    tree: tuple[tuple[bytes, ...], ...]
    """Merkle tree hashes, level by level from the 52 leaves up to the root."""

    @property
    def root(self) -> str:
        return self.tree[-1][0].hex()

    def __repr__(self) -> str:  # a log line or a traceback that prints a deck must not show a card
        return f"Deck(root={self.root!r})"


def seed_hash(seed: bytes) -> str:
    return hashlib.sha256(_field(b"croupier/seed/1") + _field(_checked(seed))).hexdigest()


def verify_seed(seed: bytes, published: str) -> bool:
    return len(seed) == SEED_BYTES and seed_hash(seed) == published


def shuffle(
    seed: bytes,
    *,
    operator: str,
    table: str,
    round: str,  # noqa: A002 - the domain's word
    client_seeds: Sequence[ClientSeed] = (),
) -> Deck:
    """The deck of one round, all of it decided by these five."""
    return _shuffled(seed, (operator, table, round), tuple(client_seeds))


@lru_cache(DECKS_KEPT)
def _shuffled(seed: bytes, where: tuple[str, str, str], client_seeds: tuple[ClientSeed, ...]) -> Deck:
    octets = _octets(_source("shuffle", seed, where, client_seeds))
    cards = list(DECK)
    rejects = 0
    for i in range(51, 0, -1):
        j, rejected = below(i + 1, octets)
        rejects += rejected
        cards[i], cards[j] = cards[j], cards[i]
    salts = hashlib.shake_256(_source("salts", seed, where, client_seeds)).digest(52 * SALT_BYTES)
    places = tuple(salts[at : at + SALT_BYTES] for at in range(0, len(salts), SALT_BYTES))
    leaves = tuple(_leaf(i, card, salt) for i, (card, salt) in enumerate(zip(cards, places, strict=True)))
    return Deck(tuple(cards), places, rejects, _tree(leaves))


def draw(
    seed: bytes,
    label: str,
    n: int,
    *,
    operator: str,
    table: str,
    round: str,  # noqa: A002 - the domain's word
    client_seeds: Sequence[ClientSeed] = (),
) -> int:
    """One number below n for what is not a card, such as the first dealer. It says nothing about the deck."""
    number, _ = below(n, _octets(_source(f"draw/{label}", seed, (operator, table, round), client_seeds)))
    return number


def opening(deck: Deck, index: int) -> Opening:
    """What to publish with the card at `index` when the rules show it."""
    if not 0 <= index < len(deck.cards):
        raise IndexError(f"a deck has places 0 to 51, not {index}")
    path: list[str] = []
    place = index
    for level in deck.tree[:-1]:
        if place ^ 1 < len(level):  # the last of an odd number has no sibling: it moves up as it is
            path.append(level[place ^ 1].hex())
        place //= 2
    return Opening(index, deck.cards[index], deck.salts[index].hex(), tuple(path))


def verify_opening(root: str, opening: Opening) -> bool:
    """Whether a deck committed to by `root` has this card at this place; any opening may be asked about."""
    try:
        committed, salt, *path = map(_unhex, (root, opening.salt, *opening.path))
    except ValueError:
        return False
    place, size = opening.index, len(DECK)
    return 0 <= place < size and merkle.includes(committed, size, place, _leaf(place, opening.card, salt), path)


def below(n: int, octets: Iterator[int]) -> tuple[int, int]:
    """A number below n from the next bytes of a stream, each number equally likely, and how many were rejected."""
    if not 1 <= n <= 256:
        raise ValueError(f"one byte chooses among 1 to 256, not {n}")
    limit = 256 - 256 % n
    rejects = 0
    while (octet := next(octets)) >= limit:
        rejects += 1
    return octet % n, rejects


def _checked(seed: bytes) -> bytes:
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed is {SEED_BYTES} bytes, not {len(seed)}")
    return seed


def _field(value: bytes) -> bytes:
    return len(value).to_bytes(4, "big") + value


def _source(purpose: str, seed: bytes, where: tuple[str, str, str], client_seeds: Sequence[ClientSeed]) -> bytes:
    """What a stream is the SHAKE-256 of. Fields carry their lengths, so no two sources can read as the same bytes."""
    by_player = {given.player.encode(): given.seed.encode() for given in client_seeds}
    if len(by_player) != len(client_seeds):
        raise ValueError("a player gives one client seed a round")
    head = [b"croupier/stream/1", purpose.encode(), _checked(seed), *(name.encode() for name in where)]
    given = [part for player in sorted(by_player) for part in (player, by_player[player])]
    return b"".join([*map(_field, head), len(by_player).to_bytes(4, "big"), *map(_field, given)])


def _octets(source: bytes) -> Iterator[int]:
    """The stream, byte after byte. A longer SHAKE output begins with the shorter one, so blocks leave no seam."""
    start, size = 0, 256
    while True:
        yield from hashlib.shake_256(source).digest(size)[start:]
        start, size = size, 2 * size


def _leaf(index: int, card: Card, salt: bytes) -> bytes:
    leaf = _field(b"croupier/card/1") + index.to_bytes(4, "big") + _field(card.encode()) + _field(salt)
    return merkle.leaf_hash(leaf)


def _tree(leaves: tuple[bytes, ...]) -> tuple[tuple[bytes, ...], ...]:
    """Pairing neighbours and moving an odd last one up gives the same root as RFC 6962's split at a power of two."""
    levels = [leaves]
    while len(level := levels[-1]) > 1:
        pairs = tuple(merkle.node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2))
        levels.append(pairs + level[len(level) - len(level) % 2 :])
    return tuple(levels)


def _unhex(text: str) -> bytes:
    """Bytes from hex written in the one way we write it, so that altering any character of a proof spoils it."""
    value = bytes.fromhex(text)
    if value.hex() != text:
        raise ValueError("not lower-case hex")
    return value

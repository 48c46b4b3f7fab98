#!/usr/bin/env python3
"""A second verifier of Croupier's dossiers, for whoever would not take the first one's word.

    python verify_dossier.py FILE --key PUB      PUB: a public key, or a file with one on each line

It needs Python 3.11 or newer and the package `cryptography`, and nothing of Croupier: copy this one file. It was
written from the formats alone, which it tells where it uses them, and checks what can be checked without the rules of a
game: that the file is whole; that the log's checkpoint is signed; that each event is in the signed log; that the seed's
hash was published before the round; that the cards are those that were committed to; and the shuffle. `croupier verify`
plays the round again besides.

One line a check; exit 0 if all hold, 1 at the first that fails, 2 if the question makes no sense.
"""

import base64
import hashlib
import json
import re
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIZE_MAX = 64 * 1024 * 1024
PARTS_MAX = 4_000_000
"""Commas and brackets: what a file may have of them before it is taken apart. A bomb has more."""
HEAD = re.compile(rb'\{"format":"croupier-dossier/(\d{1,9})","sha256":"([0-9a-f]{64})",')

Json = dict[str, Any]


class Failed(Exception):
    """A check that does not hold."""


def main() -> None:
    match sys.argv[1:]:
        case [file, "--key", key] | ["--key", key, file]:
            pass
        case _:
            usage("python verify_dossier.py FILE --key PUB")
    try:
        with open(file, "rb") as stream:  # noqa: PTH123 - fewer imports, less to read
            raw = stream.read(SIZE_MAX + 1)
        keys = known_keys(key)
    except (OSError, ValueError) as problem:
        usage(str(problem))
    wrong = first_failure(raw, keys, lambda line: print("holds ", line))
    if wrong is not None:
        print("FAILS ", wrong)
        sys.exit(1)


def first_failure(
    raw: bytes, keys: dict[tuple[str, bytes], bytes], say: Callable[[str], None] = lambda _line: None
) -> str | None:
    """What does not hold; None if all does."""
    try:
        for line in verify(raw, keys):
            say(line)
    except Failed as failed:
        return str(failed)
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
        ArithmeticError,
        struct.error,
    ) as broken:
        return f"the file is made as its format says: {type(broken).__name__}: {broken}"[:300]
    return None


def usage(problem: str) -> NoReturn:
    print(problem, file=sys.stderr)
    sys.exit(2)


def unhex(text: str) -> bytes:
    """Written in the one way, so that no character may be another."""
    value = bytes.fromhex(text)
    if value.hex() != text:
        raise ValueError(f"this is not hex in lower case: {text[:80]}")
    return value


def check(what: str, holds: bool) -> str:
    if not holds:
        raise Failed(what)
    return what


def verify(raw: bytes, keys: dict[tuple[str, bytes], bytes]) -> Iterator[str]:
    """A line for each check that holds. Raises Failed at the first that does not."""
    dossier = whole(raw)
    yield f"the file is as it was made: round {dossier['round']} of {dossier['game']}, for {dossier['form']}"
    origin, size, root = signed(dossier["note"], keys)
    yield check(
        f"a known key has signed {origin}, {size} events", origin.startswith(f"croupier/{dossier['operator']}/")
    )
    yield from log(dossier, size, root)
    story = Story(dossier)
    yield from story.table()
    yield from story.cards()


# --- The file -----------------------------------------------------------------------------------------------------


def whole(raw: bytes) -> Json:
    """One JSON object whose first two members are its format and the SHA-256 of all bytes behind them."""
    check("the file is at most 64 MB", len(raw) <= SIZE_MAX)
    head = HEAD.match(raw)
    if head is None:
        raise Failed("the file is a dossier: it does not begin like one")
    check(f"its format is version 1, not {head[1].decode()}", head[1] == b"1")
    body = raw[head.end() :]
    check("the file is whole: its sha256 is another", hashlib.sha256(body).hexdigest().encode() == head[2])
    parts = sum(map(body.count, (b",", b"[", b"{")))
    check("the file is a dossier: it has more parts than any", parts <= PARTS_MAX)
    dossier: Json = json.loads(b"{" + body, object_pairs_hook=once)
    return dossier


def once(pairs: list[tuple[str, Any]]) -> Json:
    """Readers differ in what they make of a member that comes twice."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice")
    return members


# --- The signature: C2SP signed-note and tlog-checkpoint --------------------------------------------------------------


def known_keys(told: str) -> dict[tuple[str, bytes], bytes]:
    """A key is written `<name>+<id in hex>+<base64 of 0x01 || key>`; the id is 4 bytes of a hash of name and key."""
    lines = [told]
    if told.count("+") < 2:
        with open(told, encoding="ascii") as stream:  # noqa: PTH123
            lines = stream.read(65_536).splitlines()
    keys: dict[tuple[str, bytes], bytes] = {}
    for line in filter(None, map(str.strip, lines)):
        name, hexed, encoded = line.split("+", 2)
        key = base64.b64decode(encoded, validate=True)
        key_id = hashlib.sha256(name.encode() + b"\n" + key).digest()[:4]
        if key[:1] != b"\x01" or len(key) != 33 or key_id.hex() != hexed:
            raise ValueError(f"this is no public key of Ed25519: {line[:80]}")
        keys[name, key_id] = key[1:]
    if not keys:
        raise ValueError("no public key was given")
    return keys


def signed(note: str, keys: dict[tuple[str, bytes], bytes]) -> tuple[str, int, bytes]:
    """Name, size and root of the log, if a key of ours that has the log's name signed them."""
    text, _, signatures = note.rpartition("\n\n")
    text += "\n"
    names: set[str] = set()
    for line in signatures.removesuffix("\n").split("\n"):
        dash, name, encoded = line.split(" ")
        raw = base64.b64decode(encoded, validate=True)
        key = keys.get((name, raw[:4]))
        check("the signatures of the checkpoint are written as they should be",
              dash == "\u2014" and base64.b64encode(raw).decode() == encoded)  # fmt: skip
        if key is not None:
            try:
                Ed25519PublicKey.from_public_bytes(key).verify(raw[4:], text.encode())
            except InvalidSignature:
                raise Failed(f"the signature of {name} fits the checkpoint") from None
            names.add(name)
    origin, size, root, *_ = text.split("\n")
    check("the checkpoint is signed by a key that was given", origin in names)
    return origin, int(size), base64.b64decode(root, validate=True)


# --- The log: a Merkle tree of RFC 6962 ----------------------------------------------------------------------------


def log(dossier: Json, size: int, root: bytes) -> Iterator[str]:
    places = [each["position"] for each in dossier["events"]]
    yield check("positions of the log are in order, each once", places == sorted(set(places)))
    for each in dossier["events"]:
        one = ("entry" in each) != ("leaf" in each) and not ("entry" in each and "shown" in each)
        check(f"position {each['position']} has an event or a leaf", one)
        leaf = leaf_of(each["position"], each["entry"]) if "entry" in each else unhex(each["leaf"])
        path = [unhex(step) for step in each["path"]]
        check(
            f"position {each['position']} is in the signed tree", included(each["position"] - 1, size, leaf, path, root)
        )
    hidden = sum(1 for each in dossier["events"] if "leaf" in each)
    yield f"each of {len(places)} positions is in the signed tree; of {hidden} only the leaf is here"


def leaf_of(position: int, entry: Json) -> bytes:
    """SHA-256 of 0x00, 0x01 and the event: four numbers of 8 bytes, then seven texts. A text is 0x00 if there is none,
    else 0x01, its length in 4 bytes, and its UTF-8. All numbers big-endian; `at` is microseconds since 1970 UTC."""
    event = struct.pack(">qqqq", position, entry["version"], entry["schema"], entry["at"])
    for name in ("stream", "type", "round", "command", "actor", "role", "data"):
        text = entry[name]
        event += b"\x00" if text is None else b"\x01" + len(text.encode()).to_bytes(4, "big") + text.encode()
    return hashlib.sha256(b"\x00\x01" + event).digest()


def included(index: int, size: int, leaf: bytes, path: list[bytes], root: bytes) -> bool:
    """The algorithm of RFC 9162, section 2.1.3.2."""
    if not 0 <= index < size:
        return False
    at, last, node = index, size - 1, leaf
    for step in path:
        if last == 0:
            return False
        if at % 2 or at == last:
            node = hashlib.sha256(b"\x01" + step + node).digest()
            while at % 2 == 0 and at:
                at, last = at // 2, last // 2
        else:
            node = hashlib.sha256(b"\x01" + node + step).digest()
        at, last = at // 2, last // 2
    return last == 0 and node == root


# --- The round ----------------------------------------------------------------------------------------------------


class Story:
    """The table's events: as they are in the log, or, in a player's file, some as the table showed them."""

    def __init__(self, dossier: Json) -> None:
        self.dossier = dossier
        self.round: str = dossier["round"]
        self.name = self.round.rpartition(".")[0]
        self.events: list[tuple[Json, Json]] = []
        """Each with what it tells."""
        for each in dossier["events"]:
            told: Json = each.get("entry") or each.get("shown") or {"stream": ""}
            if told["stream"] == f"table:{self.name}":
                tells = json.loads(told["data"], object_pairs_hook=once) if "entry" in each else told["event"]
                self.events.append((told | {"position": each["position"], "proved": "entry" in each}, tells))

    def table(self) -> Iterator[str]:
        versions = [told["version"] for told, _ in self.events]
        dense = versions == list(range(versions[0], versions[0] + len(versions)))
        yield check(f"of the table's events {versions[0]} to {versions[-1]} none is missing", dense)

    def opening(self) -> tuple[int, Json]:
        """Where in `events` the round was opened, and with what."""
        for at, (told, tells) in enumerate(self.events):
            if told["type"].endswith(".RoundOpened") and told["round"] == self.round == tells["round"]:
                return at, tells
        raise Failed("the round's opening is there")

    def cards(self) -> Iterator[str]:
        at, opened = self.opening()
        if opened["seed"] is None:
            yield "the cards came from a scanner: there was no deck to commit to"
            return
        yield from self.published(at, opened)
        openings = [each for _, tells in self.of_round() for each in openings_in(tells)]
        for each in openings:
            proved = is_opened(each, unhex(opened["root"]))
            check(f"{each['card']} is the card that was committed to at place {each['index']}", proved)
        yield f"each of {len(openings)} cards that were shown is the one that was committed to at its place"
        yield from self.deck(opened, {each["index"]: each["card"] for each in openings})

    def of_round(self) -> list[tuple[Json, Json]]:
        return [each for each in self.events if each[0]["round"] == self.round]

    def published(self, at: int, opened: Json) -> Iterator[str]:
        (first, tells), given = self.events[0], {}
        by = tells if isinstance(tells.get("seed"), dict) else tells.get("next_seed") or {}
        same = by.get("round") == self.round and at > 0 and by["seed"]["hash"] == opened["seed"]["hash"]
        yield check(f"the seed's hash was published at position {first['position']}, before the round", same)
        for _, tells in self.events[:at]:
            if "player" in tells and "seed" in tells and tells["round"] == self.round:
                given[tells["player"]] = tells["seed"]
        mixed = {each["player"]: each["seed"] for each in opened["client_seeds"]}
        yield check(f"the {len(mixed)} seeds of players were given after that, before the round", mixed == given)

    def seed(self) -> str | None:
        """As the auditor's file has it, or the round's last event."""
        if "seed" in self.dossier:
            return self.dossier["seed"]
        told = (tells for _, tells in self.of_round() if "player" not in tells and tells.get("round") == self.round)
        return next((each["seed"] for each in told if isinstance(each.get("seed"), str)), None)

    def deck(self, opened: Json, shown: dict[int, str]) -> Iterator[str]:
        seed = self.seed()
        check("an auditor's file has the seed", seed is not None or self.dossier["form"] != "auditor")
        if seed is None:
            yield "the seed is not in this form of the file"
            return
        key = unhex(seed)
        hashed = hashlib.sha256(field(b"croupier/seed/1") + field(key)).hexdigest()
        yield check("the seed has the hash that was published", hashed == opened["seed"]["hash"] and len(key) == 32)
        given = [(each["player"], each["seed"]) for each in opened["client_seeds"]]
        deck, root = shuffled(key, (self.dossier["operator"], self.name, self.round), given)
        yield check("the deck shuffled from it has the root that was published", root.hex() == opened["root"])
        yield check("the cards that were shown are its cards", all(deck[place] == shown[place] for place in shown))
        dealt = list(self.dealt())
        yield check(
            f"{len(dealt)} cards lay where that deck has them", all(deck[place] == card for place, card in dealt)
        )

    def dealt(self) -> Iterator[tuple[int, str]]:
        """Where the rules of each game let cards come from."""
        at, hands = 0, dict[int, list[int]]()
        for told, tells in self.of_round():
            match told["type"].partition(".")[2]:
                case "CardDealt":  # Teen Patti 20-20: from the top
                    yield at, tells["card"]
                    at += 1
                case "RoundOpened" if told["type"].startswith("three_patti."):
                    hands = {each["seat"]: each["cards"] for each in tells["dealt"]}
                case "RoundOpened" if "upcard" in tells:  # Gin Rummy: after two hands of ten
                    yield 20, tells["upcard"]
                case "HandsShown":
                    for hand in tells["hands"]:
                        yield from zip(hands[hand["seat"]], hand["cards"], strict=True)
                case "Discarded" | "Knocked" if tells["place"] is not None:
                    yield tells["place"], tells["card"]
                case _:
                    pass


def openings_in(value: Any) -> Iterator[Json]:
    """Wherever they stand in an event."""
    if isinstance(value, dict):
        told: Json = value  # pyright: ignore[reportUnknownVariableType]
        if told.keys() == {"index", "card", "salt", "path"}:
            yield told
        for each in told.values():
            yield from openings_in(each)
    elif isinstance(value, list):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            yield from openings_in(each)


# --- Cards --------------------------------------------------------------------------------------------------------


def field(value: bytes) -> bytes:
    return len(value).to_bytes(4, "big") + value


def card_leaf(place: int, card: str, salt: bytes) -> bytes:
    told = field(b"croupier/card/1") + place.to_bytes(4, "big") + field(card.encode()) + field(salt)
    return hashlib.sha256(b"\x00" + told).digest()


def is_opened(opening: Json, root: bytes) -> bool:
    leaf = card_leaf(opening["index"], opening["card"], unhex(opening["salt"]))
    return included(opening["index"], 52, leaf, [unhex(step) for step in opening["path"]], root)


def source(purpose: str, seed: bytes, where: tuple[str, str, str], given: list[tuple[str, str]]) -> bytes:
    """What SHAKE-256 is taken of: for the shuffle, and for the salts of the 52 cards."""
    parts = [b"croupier/stream/1", purpose.encode(), seed, *(name.encode() for name in where)]
    told = sorted((player.encode(), word.encode()) for player, word in given)
    mixed = b"".join(field(player) + field(word) for player, word in told)
    return b"".join(map(field, parts)) + len(told).to_bytes(4, "big") + mixed


def shuffled(seed: bytes, where: tuple[str, str, str], given: list[tuple[str, str]]) -> tuple[list[str], bytes]:
    """The deck in dealing order, by Fisher and Yates, and the root that commits to it."""
    deck = [rank + suit for suit in "shdc" for rank in "A23456789TJQK"]
    octets = iter(hashlib.shake_256(source("shuffle", seed, where, given)).digest(4_096))
    for i in range(51, 0, -1):
        limit = 256 - 256 % (i + 1)
        octet = next(each for each in octets if each < limit)  # others are rejected: no number is likelier
        j = octet % (i + 1)
        deck[i], deck[j] = deck[j], deck[i]
    salts = hashlib.shake_256(source("salts", seed, where, given)).digest(52 * 16)
    return deck, tree_root([card_leaf(i, card, salts[16 * i : 16 * i + 16]) for i, card in enumerate(deck)])


def tree_root(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1: split at the largest power of two below the count."""
    if len(leaves) == 1:
        return leaves[0]
    middle = 1 << ((len(leaves) - 1).bit_length() - 1)
    return hashlib.sha256(b"\x01" + tree_root(leaves[:middle]) + tree_root(leaves[middle:])).digest()


if __name__ == "__main__":
    main()

"""All that a client needs to check a shown card against the root that was published before the first bet.

Written anew from the specification at the head of domain/fairness.py, with nothing of the house's code, as whoever
does not trust the house would: an audit path verified as RFC 9162 tells it (section 2.1.3.2).
"""

import hashlib
from collections.abc import Mapping
from typing import Any

CARDS = 52


def proves(root: str, opening: Mapping[str, Any]) -> bool:
    """Whether this place of the committed deck holds this card, by its salt and its path."""
    place, last = opening["index"], CARDS - 1
    if not 0 <= place <= last:
        return False
    node = _leaf(place, opening["card"], opening["salt"])
    for sibling in map(bytes.fromhex, opening["path"]):
        if last == 0:
            return False
        if place % 2 or place == last:
            node = _node(sibling, node)
            while place % 2 == 0 and place:  # one that was alone on its level has moved up without a sibling
                place, last = place // 2, last // 2
        else:
            node = _node(node, sibling)
        place, last = place // 2, last // 2
    return last == 0 and node.hex() == root


def _leaf(place: int, card: str, salt: str) -> bytes:
    fields = _field(b"croupier/card/1"), place.to_bytes(4, "big"), _field(card.encode()), _field(bytes.fromhex(salt))
    return hashlib.sha256(b"\0" + b"".join(fields)).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def _field(value: bytes) -> bytes:
    return len(value).to_bytes(4, "big") + value

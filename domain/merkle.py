"""Merkle trees of RFC 6962 (section 2.1, SHA-256): a root that commits to many leaves in their order, paths that prove
one of them, and proofs that a tree only grew.

A tree may hold millions of leaves, so nothing here holds them. Whoever asks gives `Node`: the hash of the complete
subtree at (level, index), which is over the leaves from index * 2^level on, 2^level of them. What is not complete is
made of complete ones.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence

Node = Callable[[int, int], bytes]
Place = tuple[int, int]
"""Level and index of a complete subtree. Level 0 are the leaves."""
Span = tuple[int, int]
"""Leaves from the first to before the second."""

EMPTY = hashlib.sha256().digest()
"""The root of a tree without leaves."""


def leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root over hashes of leaves that are all at hand."""
    return root(lambda level, index: folded(leaves[index << level : (index + 1) << level]), len(leaves))


def folded(hashes: Sequence[bytes]) -> bytes:
    """Of a complete subtree: neighbours are paired until one is left."""
    while len(hashes) > 1:
        hashes = [node_hash(hashes[at], hashes[at + 1]) for at in range(0, len(hashes), 2)]
    return hashes[0]


def root(node: Node, size: int) -> bytes:
    """The root of a tree with so many leaves."""
    return span_hash(node, (0, size)) if size else EMPTY


def span_hash(node: Node, span: Span) -> bytes:
    """The hash of a subtree that such a tree splits into (MTH of section 2.1)."""
    first, *others = (node(*place) for place in reversed(list(places(span))))
    for left in others:
        first = node_hash(left, first)
    return first


def places(span: Span) -> Iterator[Place]:
    """The complete subtrees that a subtree is made of, from left to right."""
    start, end = span
    while start < end:
        level = (end - start).bit_length() - 1
        yield level, start >> level
        start += 1 << level


# --- Proofs: which subtrees they are made of, in the order of the RFC ---------------------------------------------


def inclusion_spans(index: int, size: int) -> list[Span]:
    """Of the audit path (section 2.1.1), from the leaf up. `index` is from 0 and below `size`."""
    return [span for span, _ in _path(index, size)]


def _path(index: int, size: int) -> list[tuple[Span, bool]]:
    """Siblings from the leaf up, and whether each stands to the left."""
    start, end, path = 0, size, list[tuple[Span, bool]]()
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(((middle, end), False))
            end = middle
        else:
            path.append(((start, middle), True))
            start = middle
    return path[::-1]


def consistency_spans(old: int, size: int) -> list[Span]:
    """Of the proof that a tree of `size` leaves begins with one of `old` (section 2.1.2); 0 < old <= size."""
    start, end, spans = 0, size, list[Span]()
    while old != end:
        middle = start + _split(end - start)
        if old <= middle:
            spans.append((middle, end))
            end = middle
        else:
            spans.append((start, middle))
            start = middle
    return [*([(start, end)] if start else []), *spans[::-1]]


def _split(count: int) -> int:
    """The largest power of two below a count of at least 2."""
    return 1 << ((count - 1).bit_length() - 1)


# --- Checks: whoever has roots needs nothing else -----------------------------------------------------------------


def includes(root: bytes, size: int, index: int, leaf: bytes, path: Sequence[bytes]) -> bool:
    """Whether the tree has this leaf (its hash) at this index. Anything may be asked about."""
    if not 0 <= index < size or len(path) > size.bit_length():
        return False
    steps = _path(index, size)
    if len(steps) != len(path):
        return False
    node = leaf
    for (_, is_left), sibling in zip(steps, path, strict=True):
        node = node_hash(sibling, node) if is_left else node_hash(node, sibling)
    return node == root


def extends(old_root: bytes, old: int, root: bytes, size: int, proof: Sequence[bytes]) -> bool:
    """Whether the tree of `size` leaves begins with all leaves of the old one, in their order."""
    if not 0 < old <= size or len(proof) > 2 * size.bit_length():
        return old == 0 and not proof
    spans = consistency_spans(old, size)
    if len(spans) != len(proof):
        return False
    known = dict(zip(spans, proof, strict=True)) | ({(0, old): old_root} if _begins(old, size) else {})
    return _joined(known, (0, old)) == old_root and _joined(known, (0, size)) == root


def _begins(old: int, size: int) -> bool:
    """Is the old tree one subtree of the new one? Then its root is known, and no part of the proof."""
    return all(start for start, _ in consistency_spans(old, size))


def _joined(known: dict[Span, bytes], span: Span) -> bytes:
    if span in known:
        return known[span]
    start, end = span
    if end - start == 1:
        return b""  # no proof of these two trees has it
    middle = start + _split(end - start)
    return node_hash(_joined(known, (start, middle)), _joined(known, (middle, end)))

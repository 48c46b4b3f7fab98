"""Merkle trees of RFC 6962: known roots, and proofs that hold for what they prove and for nothing else."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import merkle

KNOWN = (
    ("", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
    ("00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
    ("10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
    ("2021", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"),
    ("3031", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"),
    ("40414243", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"),
    ("5051525354555657", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
    ("606162636465666768696a6b6c6d6e6f", "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
)
"""Leaves that are added one after the other, and the root after each: the vectors of Certificate Transparency."""

LEAVES = [merkle.leaf_hash(bytes([number])) for number in range(70)]


def node(level: int, index: int) -> bytes:
    return merkle.folded(LEAVES[index << level : (index + 1) << level])


def hashes(spans: Sequence[merkle.Span]) -> list[bytes]:
    return [merkle.span_hash(node, span) for span in spans]


def test_roots_are_those_that_all_others_get() -> None:
    leaves = [merkle.leaf_hash(bytes.fromhex(text)) for text, _ in KNOWN]
    assert [merkle.root_of(leaves[: size + 1]).hex() for size in range(len(KNOWN))] == [root for _, root in KNOWN]
    assert merkle.root_of([]).hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 31, 32, 33, 70])
def test_a_path_proves_its_leaf_at_its_place_and_nothing_else(size: int) -> None:
    root = merkle.root_of(LEAVES[:size])
    for index in range(size):
        path = hashes(merkle.inclusion_spans(index, size))
        assert merkle.includes(root, size, index, LEAVES[index], path)
        assert not merkle.includes(root, size, index, merkle.leaf_hash(b"another"), path)
        assert not merkle.includes(root, size, index, LEAVES[index], [*path, LEAVES[0]])
        assert not merkle.includes(root, size, size, LEAVES[index], path)
        assert not merkle.includes(root, size, -1, LEAVES[index], path)
        for other in set(range(size)) - {index}:
            assert not merkle.includes(root, size, other, LEAVES[index], path)


@given(st.data())
def test_a_path_of_which_anything_is_changed_proves_nothing(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 70))
    index = data.draw(st.integers(0, size - 1))
    path = hashes(merkle.inclusion_spans(index, size))
    at = data.draw(st.integers(0, len(path) - 1))
    path[at] = bytes([path[at][0] ^ 1]) + path[at][1:]
    assert not merkle.includes(merkle.root_of(LEAVES[:size]), size, index, LEAVES[index], path)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 32, 33, 64, 70])
def test_a_tree_goes_on_from_each_of_its_beginnings_and_from_no_other(size: int) -> None:
    root = merkle.root_of(LEAVES[:size])
    for old in range(1, size + 1):
        before = merkle.root_of(LEAVES[:old])
        proof = hashes(merkle.consistency_spans(old, size))
        assert merkle.extends(before, old, root, size, proof)
        assert not merkle.extends(merkle.leaf_hash(b"another"), old, root, size, proof)
        assert not merkle.extends(before, old, merkle.leaf_hash(b"another"), size, proof)
        assert not merkle.extends(before, old, root, size, [*proof, root])
        assert not proof or not merkle.extends(before, old, root, size, proof[:-1])
        for at in range(len(proof)):
            changed = [*proof[:at], merkle.leaf_hash(b"another"), *proof[at + 1 :]]
            assert not merkle.extends(before, old, root, size, changed)


def test_every_tree_goes_on_from_one_that_is_empty() -> None:
    assert merkle.extends(merkle.EMPTY, 0, merkle.root_of(LEAVES), 70, [])
    assert not merkle.extends(merkle.EMPTY, 0, merkle.root_of(LEAVES), 70, [LEAVES[0]])
    assert not merkle.extends(merkle.root_of(LEAVES), 71, merkle.root_of(LEAVES), 70, [])

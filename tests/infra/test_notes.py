"""Signed checkpoints: in the format that other tools read, and not to be forged."""

import base64

import pytest

from infra import notes
from infra.notes import BadNote, Checkpoint, PublicKey

SEED, OTHER = bytes(range(32)), bytes(range(1, 33))
NAME = "croupier/demo/1"
CHECKPOINT = Checkpoint(NAME, 20852163, bytes(range(32)))
KEY = notes.public_key(NAME, SEED)


def test_a_checkpoint_reads_as_the_format_wants_it() -> None:
    note = notes.signed(CHECKPOINT, [SEED])
    text, _, signature = note.partition("\n\n")
    assert text == f"croupier/demo/1\n20852163\n{base64.b64encode(bytes(range(32))).decode()}"
    assert signature.startswith("\u2014 croupier/demo/1 ")
    assert signature.endswith("\n")
    assert notes.verified(note, [KEY]) == CHECKPOINT


def test_what_another_implementation_signed_is_verified() -> None:
    """The example of Go's golang.org/x/mod/sumdb/note; it is no checkpoint, and we say so after the signature holds."""
    key = PublicKey.parse("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    note = (
        "If you think cryptography is the answer to your problem,\n"
        "then you don't know what your problem is.\n\n"
        "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJ"
        "nAM=\n"
    )
    with pytest.raises(BadNote, match="how many events"):
        notes.verified(note, [key])
    with pytest.raises(BadNote, match="does not fit"):
        notes.verified(note.replace("answer", "anwser"), [key])


def test_a_key_is_written_and_read_back() -> None:
    assert PublicKey.parse(f" {KEY}\n") == KEY
    assert str(KEY).startswith(f"{NAME}+{KEY.id.hex()}+")


@pytest.mark.parametrize(
    "text", ["", "a key", f"{NAME}+00000000+{str(KEY).rpartition('+')[2]}", str(KEY)[:-4], "x+y+z", str(KEY) + "="]
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(BadNote):
        PublicKey.parse(text)


def test_a_new_key_signs_beside_the_old_one_and_either_verifies() -> None:
    note = notes.signed(CHECKPOINT, [OTHER, SEED])
    assert note.count("\n\u2014 ") == 2
    for seed in (SEED, OTHER):
        assert notes.verified(note, [notes.public_key(NAME, seed)]) == CHECKPOINT


def test_the_signature_of_another_key_or_another_log_counts_for_nothing() -> None:
    note = notes.signed(CHECKPOINT, [SEED])
    with pytest.raises(BadNote, match="not signed by the key"):
        notes.verified(note, [notes.public_key(NAME, OTHER)])
    with pytest.raises(BadNote, match="not signed by the key"):
        notes.verified(note, [notes.public_key("croupier/other/1", SEED)])
    with pytest.raises(BadNote, match="none given"):
        notes.verified(note, [])
    moved = notes.signed(Checkpoint("croupier/other/1", 1, bytes(32)), [SEED]).replace(
        "\u2014 croupier/other", "\u2014 croupier/demo"
    )
    with pytest.raises(BadNote):
        notes.verified(moved, [KEY, notes.public_key("croupier/other/1", SEED)])


def test_no_character_of_a_checkpoint_can_be_changed() -> None:
    note = notes.signed(CHECKPOINT, [SEED])
    for at, character in enumerate(note):
        for other in ("A", "\n", "", "0") if character != "A" else ("B", ""):
            if character == other:
                continue
            with pytest.raises(BadNote):
                notes.verified(note[:at] + other + note[at + 1 :], [KEY])


@pytest.mark.parametrize(
    "note",
    ["", "\n\n", "a\n1\n" + "A" * 100_000, "a\n1\nAAAA\n\n\u2014 a AAAAA\n", "a\n\n" + "\u2014 a AAAAAAAA\n" * 17],
)
def test_what_is_no_checkpoint_gets_a_clear_answer(note: str) -> None:
    with pytest.raises(BadNote):
        notes.verified(note, [KEY])

"""Signed notes: short texts with signatures below, in the formats of C2SP that witnesses and other tools read
(signed-note, tlog-checkpoint), signed with Ed25519.

A checkpoint's text is three lines, the log's name, the number of leaves, and the root in base64:

    croupier/demo/1
    20852063
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

An empty line follows, then a line for each signature: an em dash, a space, the key's name, a space, and the base64 of
the key's id (4 bytes) and the signature. A key's name is that of the log it signs; its id is the first 4 bytes of
SHA-256(name || 0x0A || 0x01 || public key). A public key is written `<name>+<id in hex>+<base64 of 0x01 || key>`.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

_ED25519 = b"\x01"
_DASH = "\u2014 "
_ID = 4
SIGNATURES_MAX = 16
NOTE_MAX = 64 * 1024


class BadNote(ValueError):
    """A text that is no such note, or a signature that is none of its key; the message says what is wrong."""


class Checkpoint(Struct, frozen=True):
    """What is signed: the log's name, how many leaves its tree has, and their root."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


class PublicKey(Struct, frozen=True):
    """A key that verifies notes."""

    name: str
    key: bytes

    @property
    def id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + _ED25519 + self.key).digest()[:_ID]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(_ED25519 + self.key).decode()}"

    @classmethod
    def parse(cls, text: str) -> "PublicKey":
        """A key as it is written. Raises BadNote."""
        name, _, rest = text.strip().partition("+")
        key_id, _, encoded = rest.partition("+")
        raw = _base64(encoded)
        if not name or len(raw) != 33 or raw[:1] != _ED25519:
            raise BadNote("this is no public key, as in `croupier/demo/1+c4ab35b5+AYs9...`")
        key = cls(name, raw[1:])
        if key.id.hex() != key_id:
            raise BadNote(f"the public key of {name} is damaged: its id is not {key_id}")
        return key


def public_key(name: str, seed: bytes) -> PublicKey:
    """The public half of a signing key, which is 32 random bytes, under the name of the log that it signs."""
    return PublicKey(name, Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())


def signed(checkpoint: Checkpoint, seeds: Sequence[bytes]) -> str:
    """The note, with a signature by each key."""
    text = checkpoint.text
    lines = [_signature(checkpoint.origin, seed, text) for seed in seeds]
    return f"{text}\n{''.join(lines)}"


def _signature(name: str, seed: bytes, text: str) -> str:
    signature = Ed25519PrivateKey.from_private_bytes(seed).sign(text.encode())
    return f"{_DASH}{name} {base64.b64encode(public_key(name, seed).id + signature).decode()}\n"


def verified(note: str, keys: Sequence[PublicKey]) -> Checkpoint:
    """The checkpoint in a note that one of these keys has signed. Raises BadNote.

    Signatures by other keys are passed over, as the format wants it; a wrong one of a known key spoils the note.
    """
    if len(note) > NOTE_MAX:
        raise BadNote("the checkpoint is too long to be one")
    text, blank, signatures = note.rpartition("\n\n")
    if not blank:
        raise BadNote("the checkpoint has no signatures")
    text += "\n"
    by_id = {(key.name, key.id): key for key in keys}
    found = [key for line in _lines(signatures) if (key := _signed_by(line, text, by_id))]
    if not found:
        known = ", ".join(f"{key.name}+{key.id.hex()}" for key in keys)
        raise BadNote(f"the checkpoint is not signed by the key {known or '(none given)'}")
    checkpoint = _parsed(text)
    if checkpoint.origin not in {key.name for key in found}:
        raise BadNote(f"the checkpoint of {checkpoint.origin} is signed by the key of another log")
    return checkpoint


def _lines(signatures: str) -> list[str]:
    lines = signatures.split("\n")
    if lines.pop() != "" or not 0 < len(lines) <= SIGNATURES_MAX:
        raise BadNote("the signatures of the checkpoint are cut off or too many")
    return lines


def _signed_by(line: str, text: str, keys: dict[tuple[str, bytes], PublicKey]) -> PublicKey | None:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    raw = _base64(encoded)
    if not line.startswith(_DASH) or not name or len(raw) < _ID:
        raise BadNote("a signature of the checkpoint is damaged")
    key = keys.get((name, raw[:_ID]))
    if key is None:
        return None
    try:
        Ed25519PublicKey.from_public_bytes(key.key).verify(raw[_ID:], text.encode())
    except InvalidSignature:
        raise BadNote(f"the signature of {name} does not fit the checkpoint") from None
    return key


def _parsed(text: str) -> Checkpoint:
    """Further lines are extensions, and not ours."""
    origin, size, root, *_ = [*text.split("\n"), "", "", ""]
    raw = _base64(root)
    if not (origin and size.isascii() and size.isdigit() and len(size) < 20 and str(int(size)) == size):
        raise BadNote("the checkpoint does not say how many events it is over")
    if len(raw) != 32:
        raise BadNote("the root of the checkpoint is damaged")
    return Checkpoint(origin, int(size), raw)


def _base64(text: str) -> bytes:
    """Written in the one way: what decodes to the same bytes but reads otherwise is refused."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadNote("the checkpoint or key is damaged: not base64") from None
    if base64.b64encode(raw).decode() != text:
        raise BadNote("the checkpoint or key is damaged: not base64 as it is written")
    return raw

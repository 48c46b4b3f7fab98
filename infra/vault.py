"""The vault: seals seeds so that nothing stored shows a card, and words that not everybody may read; and opens them in
the processes that deal.

AES-256-GCM under a key id; what it is, operator, table and round are bound in as associated data, so that something
sealed and moved to another round does not open.
"""

import base64
import hashlib
import secrets
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from domain import fairness
from domain.game import Sealed, SealedSeed, SealedText

_NONCE = 12


class VaultClosed(LookupError):
    """This process holds no vault key: it may neither seal nor open seeds."""


class Vault:
    """Holds vault keys by id; the first one seals. An API process is given none and can do neither."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = {name: AESGCM(key) for name, key in keys.items()}
        self._current = next(iter(keys), None)

    def __repr__(self) -> str:
        return f"Vault({len(self._keys)} keys)"

    def seal(self, operator: str, round_id: str) -> SealedSeed:
        """32 fresh bytes from the system's generator, sealed for this round."""
        seed = secrets.token_bytes(32)
        return SealedSeed(fairness.seed_hash(seed), *self._sealed(seed, _bound("seed", operator, round_id)))

    def seal_text(self, operator: str, round_id: str, text: str) -> SealedText:
        """Words of a round, for whom the rules let read them."""
        return SealedText(*self._sealed(text.encode(), _bound("text", operator, round_id)))

    def open(self, operator: str, round_id: str, sealed: Sealed) -> bytes:
        """The seed, or the text as UTF-8. Raises VaultClosed without its key, ValueError when it was sealed for another
        round or altered."""
        key = self._keys.get(sealed.key)
        if key is None:
            raise VaultClosed(f"no vault key {sealed.key!r} in this process")
        kind = "seed" if isinstance(sealed, SealedSeed) else "text"
        raw = base64.b64decode(sealed.sealed)
        try:
            opened = key.decrypt(raw[:_NONCE], raw[_NONCE:], _bound(kind, operator, round_id))
        except InvalidTag:
            raise ValueError(f"the sealed {kind} of {round_id} does not open: it is of another round") from None
        if isinstance(sealed, SealedSeed) and fairness.seed_hash(opened) != sealed.hash:
            raise ValueError(f"the seed of {round_id} does not match its published hash")
        return opened

    def _sealed(self, plain: bytes, bound: bytes) -> tuple[str, str]:
        """The id of the key, and what it made of this."""
        if self._current is None:
            raise VaultClosed("no vault key in this process")
        nonce = secrets.token_bytes(_NONCE)
        sealed = nonce + self._keys[self._current].encrypt(nonce, plain, bound)
        return self._current, base64.b64encode(sealed).decode()


def _bound(kind: str, operator: str, round_id: str) -> bytes:
    return hashlib.sha256(f"croupier-{kind}-1\0{operator}\0{round_id}".encode()).digest()

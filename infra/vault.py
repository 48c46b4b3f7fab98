"""The vault: seals seeds so that nothing stored shows a card, and opens them in the processes that deal.

AES-256-GCM under a key id; the operator, table and round are bound in as associated data, so that a sealed seed moved
to another round does not open.
"""

import base64
import hashlib
import secrets
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from domain import fairness
from domain.game import SealedSeed

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
        if self._current is None:
            raise VaultClosed("no vault key in this process")
        seed, nonce = secrets.token_bytes(32), secrets.token_bytes(_NONCE)
        sealed = nonce + self._keys[self._current].encrypt(nonce, seed, _bound(operator, round_id))
        return SealedSeed(fairness.seed_hash(seed), self._current, base64.b64encode(sealed).decode())

    def open(self, operator: str, round_id: str, seed: SealedSeed) -> bytes:
        """The seed. Raises VaultClosed without its key, ValueError when it was sealed for another round or altered."""
        key = self._keys.get(seed.key)
        if key is None:
            raise VaultClosed(f"no vault key {seed.key!r} in this process")
        sealed = base64.b64decode(seed.sealed)
        try:
            opened = key.decrypt(sealed[:_NONCE], sealed[_NONCE:], _bound(operator, round_id))
        except InvalidTag:
            raise ValueError(f"the sealed seed of {round_id} does not open: it was sealed for another round") from None
        if fairness.seed_hash(opened) != seed.hash:
            raise ValueError(f"the seed of {round_id} does not match its published hash")
        return opened


def _bound(operator: str, round_id: str) -> bytes:
    return hashlib.sha256(f"croupier-seed-1\0{operator}\0{round_id}".encode()).digest()

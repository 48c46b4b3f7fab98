"""The vault: seals seeds and texts so that nothing stored shows a card, and opens them in the processes that may.

AES-256-GCM under a key id; what is sealed is bound to its operator and round, so that it does not open elsewhere. A key
whose id is `<game>/<name>` is that game's own: a process is given the keys of the games it deals (DESIGN 7).
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
SEALED = "sealed:"


class VaultClosed(LookupError):
    """This process does not hold the vault key that this takes."""


class Vault:
    """Holds vault keys by id. The first of a game's own seals for it; where there is none, the first of no game."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = {name: AESGCM(key) for name, key in keys.items()}
        self._sealing: dict[str, str] = {}
        for name in keys:
            self._sealing.setdefault(game_of(name), name)

    def __repr__(self) -> str:
        return f"Vault({len(self._keys)} keys)"

    def seal(self, operator: str, game: str, round_id: str) -> SealedSeed:
        """32 fresh bytes from the system's generator, sealed for this round. Raises VaultClosed."""
        seed = secrets.token_bytes(32)
        key, sealed = self._encrypt(game, seed, _bound("seed", operator, round_id))
        return SealedSeed(fairness.seed_hash(seed), key, sealed)

    def seal_text(self, operator: str, game: str, text: str) -> str:
        """`sealed:<key>:<base64>`, for what may name a card that only some may see. Raises VaultClosed."""
        key, sealed = self._encrypt(game, text.encode(), _bound("text", operator, game))
        return f"{SEALED}{key}:{sealed}"

    def open(self, operator: str, round_id: str, seed: SealedSeed) -> bytes:
        """The seed. Raises VaultClosed without its key, ValueError when it was sealed for another round or altered."""
        try:
            opened = self._decrypt(seed.key, seed.sealed, _bound("seed", operator, round_id))
        except InvalidTag:
            raise ValueError(f"the sealed seed of {round_id} does not open: it was sealed for another round") from None
        if fairness.seed_hash(opened) != seed.hash:
            raise ValueError(f"the seed of {round_id} does not match its published hash")
        return opened

    def open_text(self, operator: str, game: str, sealed: str) -> str:
        """What `seal_text` was given. Raises VaultClosed without its key, ValueError when it was altered or moved."""
        key, _, text = sealed.removeprefix(SEALED).partition(":")
        try:
            return self._decrypt(key, text, _bound("text", operator, game)).decode()
        except InvalidTag:
            raise ValueError("the sealed text does not open: it was altered, or sealed elsewhere") from None

    def _encrypt(self, game: str, what: bytes, bound: bytes) -> tuple[str, str]:
        name = self._sealing.get(game) or self._sealing.get("")
        if name is None:
            raise VaultClosed(f"no vault key of {game} in this process")
        nonce = secrets.token_bytes(_NONCE)
        return name, base64.b64encode(nonce + self._keys[name].encrypt(nonce, what, bound)).decode()

    def _decrypt(self, name: str, sealed: str, bound: bytes) -> bytes:
        key = self._keys.get(name)
        if key is None:
            raise VaultClosed(f"no vault key {name!r} in this process")
        raw = base64.b64decode(sealed)
        return key.decrypt(raw[:_NONCE], raw[_NONCE:], bound)


def game_of(key: str) -> str:
    """The game whose own key this is, by its id; "" for one of no game."""
    game, slash, _ = key.partition("/")
    return game if slash else ""


def _bound(what: str, operator: str, where: str) -> bytes:
    return hashlib.sha256(f"croupier-{what}-1\0{operator}\0{where}".encode()).digest()

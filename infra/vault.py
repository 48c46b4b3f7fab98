"""The vault: seals seeds, so that nothing stored shows a card, and words that not everybody may read; and opens them in
the processes that may.

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
from domain.game import Sealed, SealedSeed, SealedText

_NONCE = 12
_BLOCK = 256
"""Bytes. Texts are filled up to whole blocks: what is stored can be measured, and the length of a refused knock tells
how many cards are in its melds."""
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
        return SealedSeed(fairness.seed_hash(seed), *self._encrypt(game, seed, _bound("seed", operator, round_id)))

    def seal_text(self, operator: str, game: str, where: str, text: str) -> SealedText:
        """Words that only some may read, sealed for where they belong: a round, or a game. Raises VaultClosed."""
        clear = text.encode()
        filled = clear + bytes(-len(clear) % _BLOCK)
        return SealedText(*self._encrypt(game, filled, _bound("text", operator, where)))

    def open(self, operator: str, where: str, sealed: Sealed) -> bytes:
        """The seed, or the text as UTF-8. Raises VaultClosed without its key, ValueError when it was sealed for another
        round or altered."""
        kind = "seed" if isinstance(sealed, SealedSeed) else "text"
        try:
            opened = self._decrypt(sealed.key, sealed.sealed, _bound(kind, operator, where))
        except InvalidTag:
            raise ValueError(f"the sealed {kind} of {where} does not open: it was sealed for another round") from None
        if isinstance(sealed, SealedSeed) and fairness.seed_hash(opened) != sealed.hash:
            raise ValueError(f"the seed of {where} does not match its published hash")
        return opened.rstrip(b"\0") if kind == "text" else opened  # no JSON and no line of text ends so

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


def written(sealed: SealedText) -> str:
    """As one text, where text is kept: `sealed:<key>:<base64>`."""
    return f"{SEALED}{sealed.key}:{sealed.sealed}"


def read(text: str) -> SealedText:
    """What was `written`."""
    key, _, sealed = text.removeprefix(SEALED).partition(":")
    return SealedText(key, sealed)


def _bound(what: str, operator: str, where: str) -> bytes:
    return hashlib.sha256(f"croupier-{what}-1\0{operator}\0{where}".encode()).digest()

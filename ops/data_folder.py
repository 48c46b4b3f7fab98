"""The data folder of a private installation: who holds it, and the secrets made once in it (files 0600).

Where CROUPIER_SECRET, CROUPIER_VAULT_KEYS and CROUPIER_LOG_KEYS are given, those are used, and none are made.
"""

import base64
import os
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec

from infra.embedded import EmbeddedError
from infra.vault import game_of
from services.wiring import HIDING, held_by_api

HOUSE = Path(__file__).resolve().parent.parent
DEFAULT = HOUSE / "data"

T = TypeVar("T")


class Secrets(msgspec.Struct, frozen=True):
    """As the settings read them from the environment."""

    secret: str
    vault_keys: str
    log_keys: str = ""

    def __repr__(self) -> str:
        return "Secrets(...)"

    @property
    def environment(self) -> dict[str, str]:
        given = {"SECRET": self.secret, "VAULT_KEYS": self.vault_keys, "LOG_KEYS": self.log_keys}
        return {f"CROUPIER_{name}": value for name, value in given.items()}


def without_settings() -> dict[str, str]:
    """The environment for what is private from end to end: it must not meet a real log, nor its keys, because the shell
    that it is begun in knows them."""
    return {name: text for name, text in os.environ.items() if not name.startswith("CROUPIER_")}


def secrets_in(data: Path, environment: Mapping[str, str] = MappingProxyType({})) -> Secrets:
    """Made at the first call. Raises EmbeddedError where they are gone but the sealed decks are still there."""
    given = Secrets(*(environment.get(f"CROUPIER_{name}", "") for name in ("SECRET", "VAULT_KEYS", "LOG_KEYS")))
    if given.secret and given.vault_keys and given.log_keys:
        return given
    file = data / "secrets.json"
    found = read_private(file, Secrets)
    if found is None:
        if (data / "postgres").exists():
            raise EmbeddedError(
                f"{file} is missing, and without it the seeds sealed in {data / 'postgres'} cannot be opened; "
                "put it back from a backup, or choose another data folder"
            )
        found = Secrets(_random(), f"k1:{_random()}")
    if (whole := _completed(found)) != read_private(file, Secrets):
        write_private(file, whole)
    return Secrets(given.secret or whole.secret, given.vault_keys or whole.vault_keys, given.log_keys or whole.log_keys)


def _completed(found: Secrets) -> Secrets:
    """A folder may be older than a game with hidden cards, which has a key of its own, or than the notary."""
    known = {game_of(entry.partition(":")[0]) for entry in found.vault_keys.split(",")}
    fresh = [f"{game}/k1:{_random()}" for game in sorted(HIDING - known)]
    return Secrets(found.secret, ",".join([found.vault_keys, *fresh]), found.log_keys or f"k1:{_random()}")


def keys_for_api(environment: Mapping[str, str]) -> dict[str, str]:
    """What an API process would drop is not even in its environment."""
    entries = [entry.strip() for entry in environment["CROUPIER_VAULT_KEYS"].split(",")]
    mine = [entry for entry in entries if held_by_api(entry.partition(":")[0])]
    return {"CROUPIER_VAULT_KEYS": ",".join(mine), "CROUPIER_LOG_KEYS": ""}


def read_private(file: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise EmbeddedError(f"{file} is damaged ({fault}); put it back from a backup") from None


def write_private(file: Path, content: msgspec.Struct) -> None:
    """Whole or not at all, and for its owner's eyes only."""
    _write(file, msgspec.json.format(msgspec.json.encode(content)) + b"\n")


def write_environment(data: Path, variables: Mapping[str, str]) -> None:
    """For other verbs on the same data: `(. data/env; ./croupier reconcile)`; in a subshell, or `up` would take it
    for servers it is given."""
    lines = ["# Written by each start; holds secrets."]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in sorted(variables.items())]
    _write(data / "env", "\n".join([*lines, ""]).encode())


def _write(file: Path, content: bytes) -> None:
    fresh = file.with_name(f"{file.name}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.rename(file)


def _random() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode()

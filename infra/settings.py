"""What a process is told from outside, read from the environment once.

Every variable is CROUPIER_<FIELD>; all that is wrong is told in one message, with what to set instead.
"""

import base64
import binascii
import os
import re
import zoneinfo
from collections.abc import Callable, Mapping
from typing import Literal, get_args

import msgspec

LogFormat = Literal["auto", "json", "console"]
LogLevel = Literal["debug", "info", "warning", "error"]


class SettingsError(Exception):
    """The environment lacks something or holds something unusable; the message says what to set."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    postgres: str
    redis: str
    secret: bytes
    """Keys the HMACs of command fingerprints and player tokens."""
    vault_keys: dict[str, bytes] = {}
    """By id, `<game>/<name>` for a game's own; the first of a game's seals, all open (DESIGN 7)."""
    log_keys: dict[str, bytes] = {}
    """By id: each signs what the notary states of a log, so whoever knows an older one can follow to a newer."""
    expected_digest: str = ""
    """Of the code, as its release states it: what a self-check must find."""
    dispute_days: int = 3
    """Within how many days a dispute shall be decided, not counting those in which evidence is awaited."""
    host: str = "127.0.0.1"
    port: int = 8080
    log_format: LogFormat = "auto"
    log_level: LogLevel = "info"
    time_zone: str = "UTC"
    """Reports count in gaming days: by this zone of the IANA database, ..."""
    day_begins: str = "00:00"
    """... each from this hour and minute there until the same of the next day. What is stored is UTC."""

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """What may be shown: no secret, no key, no DSN with its password. Pretty tracebacks ask for it too."""
        shown = [(name, getattr(self, name)) for name in _SHOWN]
        return [*shown, ("vault_keys", list(self.vault_keys)), ("log_keys", list(self.log_keys))]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Raise SettingsError with every fault at once: nobody likes to meet them one by one."""
        given: dict[str, object] = {}
        faults: list[str] = []
        for field, (read, hint) in _READERS.items():
            name = f"CROUPIER_{field.upper()}"
            text = environment.get(name, "").strip()
            if not text and field in _REQUIRED:
                faults.append(f"{name} is not set: {hint}")
            elif text:
                try:
                    given[field] = read(text)
                except ValueError as fault:
                    faults.append(f"{name}: {fault}; {hint}")
        if faults:
            raise SettingsError("\n".join(faults))
        return msgspec.convert(given, cls)


def _postgres(text: str) -> str:
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("is not a Postgres DSN")
    return text


def _redis(text: str) -> str:
    if not text.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("is not a Redis URL")
    return text


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("is not base64") from None


def _secret(text: str) -> bytes:
    secret = _base64(text)
    if len(secret) < 32:
        raise ValueError(f"holds {len(secret)} bytes, at least 32 are needed")
    return secret


def _keys(text: str) -> dict[str, bytes]:
    keys: dict[str, bytes] = {}
    for entry in text.split(","):
        name, colon, encoded = entry.strip().partition(":")
        if not (name and colon):
            raise ValueError("has an entry without an id")
        key = _base64(encoded)
        if len(key) != 32:
            raise ValueError(f"key {name!r} holds {len(key)} bytes instead of 32")
        if name in keys:
            raise ValueError(f"uses the id {name!r} twice")
        keys[name] = key
    return keys


def _digest(text: str) -> str:
    if not (len(text) == 64 and set(text) <= set("0123456789abcdef")):
        raise ValueError("is not a SHA-256 in hex")
    return text


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 65536):
        raise ValueError("is not a port number")
    return int(text)


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and 1 <= int(text) <= 90):
        raise ValueError("is not a number of days from 1 to 90")
    return int(text)


def _time_zone(text: str) -> str:
    try:
        return text if text == "UTC" else zoneinfo.ZoneInfo(text).key  # UTC is there without the database too
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):
        raise ValueError(f"{text!r} is no time zone that this machine knows") from None


def _hour_and_minute(text: str) -> str:
    if not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", text):
        raise ValueError(f"{text!r} is no hour and minute")
    return text


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text!r} is unknown")
        return text

    return read


_SHOWN = ("host", "port", "log_format", "log_level", "time_zone", "day_begins", "expected_digest", "dispute_days")
_REQUIRED = {"postgres", "redis", "secret"}
_RANDOM = "`head -c 32 /dev/urandom | base64`"
_READERS: dict[str, tuple[Callable[[str], object], str]] = {
    "postgres": (_postgres, "give postgresql://user:password@host:5432/database"),
    "redis": (_redis, "give redis://host:6379/0 or unix:///path/to/redis.sock"),
    "secret": (_secret, f"give at least 32 random bytes in base64, as {_RANDOM} prints them"),
    "vault_keys": (
        _keys,
        f"give id:base64,game/id:base64, the current key of each first, each 32 bytes as by {_RANDOM}",
    ),
    "log_keys": (_keys, f"give id:base64 of each key that signs, 32 bytes as by {_RANDOM}"),
    "expected_digest": (_digest, "give the 64 hex digits that `croupier selfcheck --digest` prints of the release"),
    "dispute_days": (_days, "give within how many days a dispute shall be decided, as 3"),
    "host": (str, "give the address to listen on"),
    "port": (_port, "give a port from 0 to 65535"),
    "log_format": (_one_of(get_args(LogFormat)), "give one of " + ", ".join(get_args(LogFormat))),
    "log_level": (_one_of(get_args(LogLevel)), "give one of " + ", ".join(get_args(LogLevel))),
    "time_zone": (_time_zone, "give a zone of the IANA database, as Asia/Kolkata"),
    "day_begins": (_hour_and_minute, "give when a gaming day begins, as 06:00"),
}

"""The operator's own stream, `house`: its opening, its API keys, the epochs of its log, and the checks of the
program that writes it.
"""

from enum import StrEnum
from typing import assert_never

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from domain import selfcheck
from domain.errors import Rejected
from domain.game import Micros, Role

KEYS_MAX = 1_000
"""At once. Of those revoked the newest are kept while there is room, so that rotating keys never comes to an end."""


class Rule(StrEnum):
    OperatorExists = "OperatorExists"
    UnknownKey = "UnknownKey"
    TooManyKeys = "TooManyKeys"


class OpenOperator(Struct, frozen=True, tag=True):
    name: str


class MintKey(Struct, frozen=True, tag=True):
    """`digest` is the SHA-256 of the secret, hex: the secret itself is shown once and stored nowhere.

    `actor` is whom the key speaks for, itself if empty: a key that takes another's place speaks for the same actor, so
    that a command whose answer was lost is known again under the new key.
    """

    id: str
    role: Role
    digest: str
    label: str = ""
    actor: str = ""


class RevokeKey(Struct, frozen=True, tag=True):
    id: str


class ResumeLog(Struct, frozen=True, tag=True):
    """The log goes on in a new epoch: it was restored, or its database is another than before."""

    epoch: int
    reason: str


Command = OpenOperator | MintKey | RevokeKey | ResumeLog | selfcheck.Command


class OperatorOpened(Struct, frozen=True, tag="house.OperatorOpened"):
    name: str


class KeyMinted(Struct, frozen=True, omit_defaults=True, tag="house.KeyMinted"):
    id: str
    role: Role
    digest: str
    label: str
    actor: str = ""


class KeyRevoked(Struct, frozen=True, tag="house.KeyRevoked"):
    id: str


class LogResumed(Struct, frozen=True, tag="house.LogResumed"):
    epoch: int
    reason: str


Event = OperatorOpened | KeyMinted | KeyRevoked | LogResumed | selfcheck.Event


class Key(Struct, frozen=True):
    id: str
    role: Role
    digest: str
    label: str = ""
    revoked: bool = False
    speaks_for: str = ""

    @property
    def actor(self) -> str:
        """Who sends what comes with this key; idempotency keys are the actor's."""
        return self.speaks_for or self.id


class House(Struct, frozen=True, tag="House"):
    name: str = ""
    keys: tuple[Key, ...] = ()
    epoch: int = 1
    """The last epoch of the log that every table was resumed in."""
    checks: selfcheck.Checks | UnsetType = UNSET
    """Unset until the first check: so states that were written before there were any read as they did."""

    def key(self, key_id: str) -> Key | None:
        return next((key for key in self.keys if key.id == key_id), None)


INITIAL = House()


def decide(house: House, command: Command, now: Micros = 0) -> tuple[Event, ...]:
    match command:
        case OpenOperator():
            if house.name:
                raise Rejected(Rule.OperatorExists)
            return (OperatorOpened(command.name),)
        case MintKey():
            if sum(not key.revoked for key in house.keys) >= KEYS_MAX:
                raise Rejected(Rule.TooManyKeys, limit=KEYS_MAX)
            return (KeyMinted(command.id, command.role, command.digest, command.label, command.actor),)
        case RevokeKey():
            key = house.key(command.id)
            if key is None:
                raise Rejected(Rule.UnknownKey, key=command.id)
            return () if key.revoked else (KeyRevoked(command.id),)
        case ResumeLog():
            return (LogResumed(command.epoch, command.reason),) if command.epoch > house.epoch else ()
        case selfcheck.CheckSelf() | selfcheck.AcceptManifest():
            return tuple(selfcheck.decide(house.checks or selfcheck.INITIAL, command, now))
        case never:
            assert_never(never)


def evolve(house: House, event: Event) -> House:
    match event:
        case OperatorOpened():
            return replace(house, name=event.name)
        case KeyMinted():
            key = Key(event.id, event.role, event.digest, event.label, speaks_for=event.actor)
            return replace(house, keys=(*_kept(house.keys), key))
        case KeyRevoked():
            revoked = (replace(key, revoked=True) if key.id == event.id else key for key in house.keys)
            return replace(house, keys=tuple(revoked))
        case LogResumed():
            return replace(house, epoch=event.epoch)
        case selfcheck.ManifestRecorded() | selfcheck.ManifestAccepted() | selfcheck.SelfChecked():
            return replace(house, checks=selfcheck.evolve(house.checks or selfcheck.INITIAL, event))
        case never:
            assert_never(never)


def _kept(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Room for one more: the oldest of those revoked goes, whose story the log has."""
    if len(keys) < KEYS_MAX:
        return keys
    oldest = next((key for key in keys if key.revoked), None)
    return tuple(key for key in keys if key is not oldest)

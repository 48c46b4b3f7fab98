"""A dossier: one round in one file, with all that proves it. What its fields are is told here, for whoever reads one
without this program.

The file is UTF-8 JSON on one line, with members in the order below, and begins so:

    {"format":"croupier-dossier/1","sha256":"<64 digits of hex>","operator":...

`sha256` is that of all bytes that come after the `",` behind it: keep the file as it is. That finds accidents. What
proves the round is `note`, the signed checkpoint of the operator's log (infra/notes.py), whose tree has each event as a
leaf (`leaf` in infra/eventlog.py); the public key is not in the file, for it must come from elsewhere.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

import domain.games
from infra.eventlog import EventRow
from services.one_line import OneLine

SIZE_MAX = 64 * 1024 * 1024

Form = Literal["auditor", "operator", "player"]
"""The auditor's has all, opened. The operator's has all, and what is sealed stays so. A player's has what that player
may know: of what was another's, and of what shows more than the table showed, the leaf alone."""

_Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Hash = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")]


class _Placed(Struct, frozen=True, forbid_unknown_fields=True):
    """What an event's place in the log says besides its position."""

    stream: str
    version: _Number
    type: str
    schema: _Number
    round: str | None
    command: str | None
    actor: str
    role: str
    at: _Number

    def _row(self, position: int, data: str) -> EventRow:
        told = (self.stream, self.version, self.type, self.schema, self.round, self.command, self.actor, self.role)
        return EventRow(position, *told, self.at, data, b"")


class StoredEvent(_Placed, frozen=True, forbid_unknown_fields=True):
    """An event as it is stored: with its position this is all that its leaf is the hash of."""

    data: str

    def row(self, position: int) -> EventRow:
        return self._row(position, self.data)


class Shown(_Placed, frozen=True, forbid_unknown_fields=True):
    """An event as the table showed it: its stored form says more. Not proved: the leaf is not the hash of this."""

    event: Raw

    def row(self, position: int) -> EventRow:
        return self._row(position, bytes(self.event).decode())


class Proved(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A place in the log, and the audit path from its leaf to the root that `note` signs. Whoever may see the event has
    it in `entry`; else `leaf` is what its place holds, and `shown` what of it may be shown, if anything."""

    position: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    path: tuple[_Hash, ...]
    entry: StoredEvent | None = None
    leaf: _Hash | None = None
    shown: Shown | None = None


class Sent(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A command of the round: when it came (by the clock of the process that took it in) and was decided, the rule that
    refused it, if one did, and its events, `first` to `last`. `body` is as it was sent, unless it is sealed."""

    actor: str
    key: str
    received: _Number
    decided: _Number
    first: _Number
    last: _Number
    refused: str | None = None
    body: str | None = None


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """By which rules it was played: their number, and the SHA-256 of the rules.md that had it."""

    number: _Number
    sha256: _Hash


class Dossier(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`events` are in order: those of the table from the one that published the seed's hash; the round's own, bets and
    settlements included; what was refused at the table while it was on; last, in an auditor's form, the record that it
    was made, by whom and why. `seed` is the round's (hex), where it had to be opened: else its last event has it."""

    operator: str
    round: str
    game: str
    form: Form
    viewer: str
    """The auditor, or the player; in the operator's form empty."""
    rules: Rules
    note: str
    events: tuple[Proved, ...]
    commands: tuple[Sent, ...]
    seed: _Hash | None = None

    @property
    def proved(self) -> list[EventRow]:
        """Events that are here whole."""
        return [each.entry.row(each.position) for each in self.events if each.entry]

    @property
    def seen(self) -> list[EventRow]:
        """These, and of the others what the table showed."""
        told = ((each.entry or each.shown, each.position) for each in self.events)
        return [event.row(position) for event, position in told if event]


_KIND = OneLine("dossier", 1, SIZE_MAX, Dossier)
FORMAT, write, read = _KIND.format, _KIND.write, _KIND.read


def rules_hash(game: str) -> str:
    """SHA-256 of the game's rules.md as this program has it."""
    assert domain.games.__file__ is not None
    return hashlib.sha256((Path(domain.games.__file__).parent / game / "rules.md").read_bytes()).hexdigest()

"""A program's check of itself: digests of the deployed code and settings, held against those that are expected.

It is told in the operator's own stream, `house`. What is behind a digest is its manifest, which is recorded once: so a
later one can be told part by part from it. A digest that was accepted is the expected one from there on.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from domain.errors import Rejected
from domain.game import SECOND, Micros

HOUR: Micros = 3_600 * SECOND
"""Of workers that start together and find the same, one has it recorded."""

FOUND_MAX = 12
"""What is remembered of what was found; of an older one the manifest is recorded once more when it comes again."""

DIFFERING_MAX = 20
"""So many parts are named; how many differ is told besides."""

FIRST = "the first that was found"
RELEASED = "CROUPIER_EXPECTED_DIGEST"


class Rule(StrEnum):
    NeverFound = "NeverFound"


class Scope(StrEnum):
    """What a digest is over: the code, or the settings of a kind of process."""

    CODE = "code"
    WORKER = "worker_settings"
    API = "api_settings"


class Found(Struct, frozen=True):
    """`parts` is the manifest: of code the SHA-256 of each file, of settings each value. `expected` is what a release
    said, "" if it said nothing. `differing` are the parts that are not as in the manifest of what is expected."""

    scope: Scope
    digest: str
    parts: Mapping[str, str]
    expected: str = ""
    differing: tuple[str, ...] = ()


class CheckSelf(Struct, frozen=True, tag=True):
    """`asked`: by somebody, and so recorded whenever it was the last time."""

    found: tuple[Found, ...]
    asked: bool = False


class AcceptManifest(Struct, frozen=True, tag=True):
    """Expect from here on what was found."""

    scope: Scope
    digest: str
    reason: str


Command = CheckSelf | AcceptManifest


class ManifestRecorded(Struct, frozen=True, tag="house.ManifestRecorded"):
    scope: Scope
    found: str
    parts: Mapping[str, str]


class ManifestAccepted(Struct, frozen=True, tag="house.ManifestAccepted"):
    """`before` is what was expected until then, "" if nothing was."""

    scope: Scope
    before: str
    expected: str
    reason: str


class SelfChecked(Struct, frozen=True, tag="house.SelfChecked"):
    """`differing` names the first parts that differ, `differ` is how many do (0 too where no manifest tells)."""

    scope: Scope
    expected: str
    found: str
    differ: int
    differing: tuple[str, ...]
    at: Micros

    @property
    def holds(self) -> bool:
        return self.expected == self.found


Event = ManifestRecorded | ManifestAccepted | SelfChecked


class Last(Struct, frozen=True):
    """When a digest was found and recorded last, and what was expected then."""

    scope: Scope
    found: str
    expected: str = ""
    at: Micros | None = None


class Checks(Struct, frozen=True):
    """`expected` by scope; `found` with the newest last."""

    expected: Mapping[str, str] = {}
    found: tuple[Last, ...] = ()

    def last(self, scope: Scope, digest: str) -> Last | None:
        return next((each for each in self.found if (each.scope, each.found) == (scope, digest)), None)


INITIAL = Checks()


def decide(checks: Checks, command: Command, now: Micros) -> Iterator[Event]:
    match command:
        case CheckSelf():
            for found in command.found:
                yield from _checked(checks, found, now, asked=command.asked)
        case AcceptManifest():
            if checks.last(command.scope, command.digest) is None:
                raise Rejected(Rule.NeverFound, scope=command.scope, digest=command.digest)
            before = checks.expected.get(command.scope, "")
            if command.digest != before:
                yield ManifestAccepted(command.scope, before, command.digest, command.reason)


def _checked(checks: Checks, found: Found, now: Micros, *, asked: bool) -> Iterator[Event]:
    accepted, last = checks.expected.get(found.scope, ""), checks.last(found.scope, found.digest)
    expected = found.expected or accepted or found.digest
    if last is None:
        yield ManifestRecorded(found.scope, found.digest, found.parts)
    if expected == found.digest != accepted:
        yield ManifestAccepted(found.scope, accepted, expected, RELEASED if found.expected else FIRST)
    lately = last is not None and last.expected == expected and last.at is not None and now < last.at + HOUR
    if asked or not lately:
        yield SelfChecked(
            found.scope, expected, found.digest, len(found.differing), found.differing[:DIFFERING_MAX], now
        )


def evolve(checks: Checks, event: Event) -> Checks:
    match event:
        case ManifestRecorded():
            return _with(checks, Last(event.scope, event.found))
        case ManifestAccepted():
            return replace(checks, expected={**checks.expected, event.scope: event.expected})
        case SelfChecked():
            return _with(checks, Last(event.scope, event.found, event.expected, event.at))


def _with(checks: Checks, last: Last) -> Checks:
    others = [each for each in checks.found if (each.scope, each.found) != (last.scope, last.found)]
    return replace(checks, found=(*others, last)[-FOUND_MAX:])

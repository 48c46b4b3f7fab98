"""What is worked out again from events, and whether it holds."""

from collections import defaultdict

from msgspec import Struct


class Proof(Struct, frozen=True):
    """Something worked out again from the events. `tried` counts the cases, `failed` names those that differ."""

    what: str
    holds: bool
    tried: int
    failed: tuple[str, ...] = ()


class Proofs:
    """Tried case by case."""

    def __init__(self) -> None:
        self._tried = defaultdict[str, int](int)
        self._failed = defaultdict[str, list[str]](list)

    def prove(self, what: str, case: str, holds: bool) -> None:
        self._tried[what] += 1
        if not holds:
            self._failed[what].append(case)

    def all(self, *, named: bool) -> tuple[Proof, ...]:
        """What was proved; the cases that failed are named only to those who may know of them."""
        return tuple(
            Proof(what, what not in self._failed, tried, tuple(self._failed.get(what, ())) if named else ())
            for what, tried in self._tried.items()
        )

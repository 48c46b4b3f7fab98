"""The heartbeat of a worker: a file that is touched for as long as every part of it goes round.

A worker has nothing that could be asked over HTTP; whoever runs it looks at the file's age instead.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import structlog

TOUCH_EVERY_S = 1.0
LATE_S = 60.0
"""A turn may take so long: a part that waits for a server which is away goes round, and is not to be ended for that."""

Beat: TypeAlias = Callable[[str], None]
"""Called by each part with its name, at every turn of its loop."""

log: Any = structlog.get_logger()


def unheard(_: str) -> None:
    """The beat of a part that nobody watches."""


class Heartbeat:
    def __init__(self, parts: Iterable[str]) -> None:
        self._turned = dict.fromkeys(parts, time.monotonic())
        self._said: list[str] = []

    def beat(self, part: str) -> None:
        self._turned[part] = time.monotonic()

    def still(self) -> list[str]:
        """The parts that have not gone round for too long."""
        since = time.monotonic() - LATE_S
        return sorted(part for part, turned in self._turned.items() if turned < since)

    async def run(self, file: Path) -> None:
        """Touch the file for ever, or until cancelled, but not while any part stands still."""
        while True:
            if (still := self.still()) != self._said:
                self._said = still
                if still:
                    log.error("parts of this worker stand still", parts=still, alarm=True)
                else:
                    log.info("every part goes round again")
            if not still:
                _touch(file)
            await asyncio.sleep(TOUCH_EVERY_S)


def _touch(file: Path) -> None:
    try:
        file.touch()
    except OSError as fault:
        log.warning("the heartbeat cannot be written", file=str(file), problem=str(fault))

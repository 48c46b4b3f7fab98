"""One line of the log a command or other request, with its ids.

A command's is written at little cost: what waits is written at once, after the batch that answered it. As JSON it has
the shape of every other line of `infra.logging`; where a person looks on, structlog itself writes it. None of its
fields can hold a secret, so nothing needs to be blanked.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """`command` is the Idempotency-Key, `caller` the role of the sender, `round` the one that the command names;
    `repeated` if it was decided before, and this is its outcome once more."""

    timestamp: datetime
    level: str
    role: str
    event: str
    operator: str
    actor: str
    caller: str
    stream: str
    command: str
    type: str
    code: str
    position: int | None
    ms: float
    round: str | None = None
    repeated: bool = False


_encode = msgspec.json.Encoder().encode
_BEGINS = ("info", "api", "command")
_FIELDS = Line.__struct_fields__[1 + len(_BEGINS) :]
_LEFT_OUT = (("round", None), ("repeated", False))


class Lines:
    def __init__(self) -> None:
        self._log: Any = structlog.get_logger()
        self._waiting: list[Line] = []
        processors: list[Any] = structlog.get_config()["processors"]
        self._as_json = any(isinstance(each, structlog.processors.JSONRenderer) for each in processors)
        self._wanted: bool = self._log.is_enabled_for(logging.INFO)

    def tell(self, *told: Any) -> None:
        """The fields of a line after those that each line begins with, in their order."""
        if not self._wanted:
            return
        if not self._as_json:
            named = [each for each in zip(_FIELDS, told, strict=True) if each not in _LEFT_OUT]
            self._log.info("command", **dict(named))
            return
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._write)
        self._waiting.append(Line(datetime.now(UTC), *_BEGINS, *told))

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        sys.stderr.write(b"\n".join((*map(_encode, waiting), b"")).decode())
        sys.stderr.flush()


def tell_request(scope: Mapping[str, Any], status: int, code: str) -> None:
    """A request that was no command, or that came no further than the door."""
    caller, begun = scope.get("user"), scope.get("begun")
    who = {"operator": caller.operator, "actor": caller.actor, "caller": caller.role.value} if caller else {}
    took = {"ms": round((time.perf_counter() - begun) * 1_000, 1)} if begun else {}
    log: Any = structlog.get_logger()
    log.info("request", method=scope["method"], path=scope["path"], status=status, code=code, **who, **took)

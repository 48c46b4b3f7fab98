"""One line of JSON an entry, for machines; a quiet and readable line where a person looks on.

Everything goes to stderr, the libraries' own warnings too. What looks like a secret is blanked, whoever logs it;
an Idempotency-Key is no secret: log it as `command`.
"""

import logging
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from infra.settings import Settings

_WORDS = "tokens?|keys?|secrets?|seeds?|passwords?|authorization|cookie|dsn"
_SECRET = re.compile(rf"(^|[_-])({_WORDS})($|[_-])", re.IGNORECASE)
_BLANK = "***"


def configure(settings: Settings, role: str) -> None:
    """Once a process, before anything logs; `role` (api, worker, ...) marks each line."""
    shared, last = _configure(settings, role, kept=True)
    _take_over_libraries(shared, last)


@contextmanager
def beside(settings: Settings, role: str) -> Generator[None]:
    """While a verb works: its entries go to stderr, as a server's do; what it prints is its answer."""
    before = structlog.get_config()
    _configure(settings, role, kept=False)
    try:
        yield
    finally:
        structlog.configure(**before)


def _configure(settings: Settings, role: str, *, kept: bool) -> tuple[list[Processor], list[Processor]]:
    """`kept`: a logger stays for good what it was when it was first used."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    as_json = settings.log_format == "json" or (settings.log_format == "auto" and not sys.stderr.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso" if as_json else "%H:%M:%S", utc=as_json, key="timestamp"),
        _opening_with(role),
    ]
    last = _as_json() if as_json else _for_people()
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=kept,
    )
    return shared, last


def blank_secrets(_: WrappedLogger, __: str, entry: EventDict) -> EventDict:
    return cast("EventDict", _blanked(entry))


def _blanked(value: object) -> object:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {name: _BLANK if _SECRET.search(str(name)) else _blanked(inner) for name, inner in pairs}
    if isinstance(value, list | tuple):
        return [_blanked(inner) for inner in cast("Sequence[object]", value)]
    return value


def _opening_with(role: str) -> Processor:
    """Each line begins with the same four fields."""

    def reorder(_: WrappedLogger, __: str, entry: EventDict) -> EventDict:
        first = {name: entry.pop(name) for name in ("timestamp", "level")}
        return {**first, "role": role, "event": entry.pop("event"), **entry}

    return reorder


def _as_json() -> list[Processor]:
    renderer = structlog.processors.JSONRenderer(serializer=_json)
    return [structlog.processors.format_exc_info, blank_secrets, renderer]


def _for_people() -> list[Processor]:
    # The usual pretty traceback shows local variables, and those hold keys and decks.
    plain = structlog.dev.plain_traceback
    colors = sys.stderr.isatty()
    return [
        blank_secrets,
        structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain, pad_event_to=0, sort_keys=False),
    ]


def _json(entry: object, **_: Any) -> str:
    return msgspec.json.encode(entry, enc_hook=repr).decode()


def _take_over_libraries(shared: list[Processor], last: list[Processor]) -> None:
    """uvicorn, asyncio, asyncpg and litestar log by the standard library: only what they warn of, and in our format."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio", "litestar"):
        library = logging.getLogger(name)
        library.handlers, library.propagate = [], True
        library.setLevel(logging.CRITICAL if name == "uvicorn.access" else logging.WARNING)

"""A real round as written rounds are: time, who, the command as it was sent, and what came of it, as aligned text.

What is no line of a written round stands behind a `#`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from domain.game import Role
from domain.games import GAMES
from domain.names import TABLE, WALLET
from services import as_sent
from services.notation import INDENT, Notation, wrapped
from services.replay import Replay, Step
from services.viewers import name_of


def written(played: Replay, *, views: bool = False) -> str:
    """The steps of a replay; with `views`, the table after each as the viewer saw it."""
    return "".join(f"{line}\n" for line in _lines(played, views=views))


def _lines(played: Replay, *, views: bool) -> Iterator[str]:
    yield f"game {played.game} at {played.table}"
    who = name_of(played.viewer)
    yield f"# {played.round} as {who} saw it, view {played.view_number}, {'ended' if played.ended else 'still on'}"
    if not played.steps:
        return
    start = played.steps[0].at
    yield f"# 0:00 is {datetime.fromtimestamp(start // 1_000_000, UTC):%Y-%m-%d %H:%M:%S}.{start % 1_000_000:06} UTC"
    notation, before = Notation(start), None
    for step in played.steps:
        if (said := (step.at, step.actor, step.command)) != before:
            yield f"{notation.clock(step.at):<12}{step.actor:<12} {_asked(played, step, notation)}".rstrip()
            before = said
        yield from _happened(played, step, notation, views=views)
    if played.steps_in_all > played.steps[-1].number:
        yield f"# {played.steps_in_all - played.steps[-1].number} more steps"


def _asked(played: Replay, step: Step, notation: Notation) -> str:
    """The platform acts by itself and sends nothing; another's words are not everybody's to read."""
    if step.sent is None:
        return f"# {step.command}" if step.command else ""
    try:
        asked = as_sent.read(step.sent, GAMES[played.game].commands[Role(step.role)])
    except (msgspec.MsgspecError, KeyError):
        return " ".join(step.sent.split())
    return notation.named(asked, played.round)


def _happened(played: Replay, step: Step, notation: Notation, *, views: bool) -> Iterator[str]:
    whose = "" if step.stream.startswith(TABLE) else step.stream.removeprefix(WALLET)
    event: Any = step.event
    yield from wrapped(f"-> {f'{whose}: ' if whose else ''}{notation.named(event, played.round)}")
    if step.money is not None:
        yield f"{INDENT}= {whose}: balance={step.money.after}"
    if views and step.view is not None:
        yield from wrapped(" ".join((f"= {step.number}:", *notation.fields(step.view))))

"""One line of the log a command that no request asked for: the platform's own, by a clock, and those of verbs.

It has the fields of a command's line at the door (services/api/lines.py). Of events it names types and sums alone, so
it can hold no card and no secret. What did nothing is not told: clocks ask often.
"""

import time
from collections import Counter
from typing import Any

import structlog

from domain.decider import Submission
from infra import codec
from services.batch import Accepted, Answer, Refused
from services.executor import Executor

SUMS = ("round", "bettors", "staked", "returned", "players", "gained")
"""Of what happened in the command's own stream: which round, and what its books were closed with. Some events have a
list by such a name: it is no sum."""

log: Any = structlog.get_logger()


async def submit(executor: Executor, submission: Submission) -> Answer:
    """Submit it, and tell of it. Raises what the executor does."""
    begun = time.perf_counter()
    answer = await executor.submit(submission)
    ms = round((time.perf_counter() - begun) * 1_000, 1)
    match answer:
        case Accepted(events=()):
            pass
        case Accepted(last=position, events=events):
            gave = Counter(codec.type_of(each.event) for each in events)
            own = [each.event for each in events if each.stream == submission.stream]
            fields = ((name, getattr(event, name, None)) for event in own for name in SUMS)
            sums = {name: value for name, value in fields if isinstance(value, str | int)}
            _tell(submission, "Accepted", position, ms, gave=dict(gave), **sums)
        case Refused(rule=rule):
            _tell(submission, rule, None, ms)
        case _:
            _tell(submission, type(answer).__name__, None, ms)
    return answer


def _tell(by: Submission, code: str, position: int | None, ms: float, **more: Any) -> None:
    log.info(
        "command",
        operator=by.operator,
        actor=by.actor,
        caller=by.role.value,
        stream=by.stream,
        command=by.key,
        type=type(by.command).__name__,
        code=code,
        position=position,
        ms=ms,
        **more,
    )

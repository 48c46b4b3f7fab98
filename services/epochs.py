"""Epochs: a restored or moved database must never meet an old Redis stream, nor deal a deck that players may know.

A new epoch begins when the database is another than the one the log was last written in (its system identifier or
timeline), when Redis or a process has seen events that the log does not hold, or by `croupier restore`. The first step
is one row: from then on the fan-out has another name. The rest may begin again after any crash: every table cancels
what is open and drops its published seeds, then the house stream records the epoch, and only then do timers deal again.
"""

from typing import Any

import structlog

from domain import house
from domain.decider import Submission
from domain.game import ResumeLog, Role
from domain.names import HOUSE, TABLE
from infra import codec, eventlog, fanout
from infra.eventlog import SQL, Tip
from infra.postgres import Pool
from infra.sql import queries
from services.executor import Executor
from services.lines import submit
from services.relay import LogRestored, Relay
from services.settlement import PLATFORM

PAGE = 500
ANOTHER_DATABASE = "the database is another than before"
REDIS_AHEAD = "Redis was ahead of the log"
SEEN_BEFORE = "this process has seen events that the log does not hold"

log: Any = structlog.get_logger()


async def check_database(
    executor: Executor, pool: Pool, operator: str, *, seen: Tip | None = None, redis: fanout.Redis | None = None
) -> Tip:
    """Begin a new epoch if the log is not the one it was, by whatever witness there is; finish one that was begun.

    `seen` is the tip as this process saw it last. Returns the tip as it is now. Raises what Redis does when it is away.
    """
    reason = await _begin_if_lost(pool, operator, seen, redis)
    await resume(executor, pool, operator, reason or "a new epoch was begun")
    now = await eventlog.tip(pool, operator)
    assert now is not None
    return now


async def is_known(pool: Pool, redis: fanout.Redis, operator: str, seen: Tip | None) -> bool:
    """Is the log the one that players know, and every table in its epoch? For a process that resumes no log: it asks
    the same witnesses, but waits for no Redis, and begins a new epoch where one is due; a worker does the rest."""
    try:
        lost = await _begin_if_lost(pool, operator, seen, redis)
    except fanout.SILENT_ERRORS:
        lost = await _begin_if_lost(pool, operator, seen, None)
    tip = await eventlog.tip(pool, operator)
    return not lost and (tip is None or await _resumed(pool, operator) >= tip.epoch)


async def _begin_if_lost(pool: Pool, operator: str, seen: Tip | None, redis: fanout.Redis | None) -> str:
    """How we know that the log is not the one it was; empty if it is."""
    tip, system = await eventlog.tip(pool, operator), await pool.fetchval(SQL["system"])
    if tip is None:
        return ""
    reason = ANOTHER_DATABASE if tip.system != system else await _lost(pool, operator, tip, seen, redis)
    if reason:
        await begin(pool, operator, system, tip.epoch)
    return reason


async def _lost(pool: Pool, operator: str, tip: Tip, seen: Tip | None, redis: fanout.Redis | None) -> str:
    """How we know that the log has lost events; empty if nobody knows of any."""
    if seen is not None and seen.epoch >= tip.epoch and seen.position:
        found = await pool.fetchval(SQL["hash_at"], operator, seen.position)
        if found != seen.hash or seen.epoch > tip.epoch:
            return SEEN_BEFORE
    if redis is not None:
        try:
            await Relay(pool, redis, operator).look()
        except LogRestored as restored:
            return REDIS_AHEAD if restored.epoch == tip.epoch else ""
    return ""


async def renew(executor: Executor, pool: Pool, operator: str, reason: str, epoch: int | None = None) -> None:
    """Begin a new epoch, because the log is known to have lost its tail; only after `epoch`, where it is given."""
    tip = await eventlog.tip(pool, operator)
    assert tip is not None
    system = await pool.fetchval(SQL["system"])
    await begin(pool, operator, system, tip.epoch if epoch is None else epoch)
    await resume(executor, pool, operator, reason)


async def begin(pool: Pool, operator: str, system: str, epoch: int) -> None:
    """The epoch after this one; nothing if somebody else has begun it."""
    await pool.execute(queries("executor")["renew"], operator, system, epoch)


async def resume(executor: Executor, pool: Pool, operator: str, reason: str) -> None:
    """Bring every table into the log's epoch, then record it. Does nothing where that is done."""
    tip = await eventlog.tip(pool, operator)
    assert tip is not None
    if await _resumed(pool, operator) >= tip.epoch:
        return
    log.warning("the log goes on in a new epoch", operator=operator, epoch=tip.epoch, reason=reason)
    name = TABLE
    while page := await pool.fetch(SQL["streams_like"], operator, name, TABLE + "\x7f", PAGE):
        for table in page:
            await submit(executor, Submission(operator, PLATFORM, Role.CLOCK, table["stream"], ResumeLog(tip.epoch)))
        name = page[-1]["stream"]
    await submit(executor, Submission(operator, PLATFORM, Role.OPERATOR, HOUSE, house.ResumeLog(tip.epoch, reason)))


async def _resumed(pool: Pool, operator: str) -> int:
    """The last epoch that all tables were brought into."""
    row = await pool.fetchrow(SQL["stream"], operator, HOUSE)
    return codec.decode_state("house", row["state"]).epoch if row else 1

"""Epochs: a restored or moved database must never meet an old Redis stream, nor deal a deck that players may know.

A new epoch begins when the database is another than the one the log was last written in (its system identifier or
timeline), when the relay finds that Redis is ahead of the log, or by `croupier restore`. The first step is one row:
from then on the fan-out has another name. The rest may begin again after any crash: every table cancels what is open
and drops its published seeds, then the house stream records the epoch, and only then do timers deal again.
"""

from typing import Any

import structlog

from domain import house
from domain.decider import HOUSE, TABLE, Submission
from domain.game import ResumeLog, Role
from infra import codec, eventlog
from infra.eventlog import SQL
from infra.postgres import Pool
from infra.sql import queries
from services.executor import Executor
from services.settlement import PLATFORM

PAGE = 500

log: Any = structlog.get_logger()


async def check_database(executor: Executor, pool: Pool, operator: str) -> None:
    """Begin a new epoch if this is another database than before; finish one that was begun. Else nothing."""
    tip, system = await eventlog.tip(pool, operator), await pool.fetchval(SQL["system"])
    assert tip is not None
    if tip.system != system:
        await begin(pool, operator, system)
    await resume(executor, pool, operator, "the database is another than before")


async def renew(executor: Executor, pool: Pool, operator: str, reason: str) -> None:
    """Begin a new epoch in any case, because the log is known to have lost its tail."""
    await begin(pool, operator, await pool.fetchval(SQL["system"]))
    await resume(executor, pool, operator, reason)


async def begin(pool: Pool, operator: str, system: str) -> None:
    await pool.execute(queries("executor")["renew"], operator, system)


async def resume(executor: Executor, pool: Pool, operator: str, reason: str) -> None:
    """Bring every table into the log's epoch, then record it. Does nothing where that is done."""
    tip = await eventlog.tip(pool, operator)
    assert tip is not None
    row = await pool.fetchrow(SQL["stream"], operator, HOUSE)
    known = codec.decode_state("house", row["state"]).epoch if row else 1
    if known >= tip.epoch:
        return
    log.warning("the log goes on in a new epoch", operator=operator, epoch=tip.epoch, reason=reason)
    name = TABLE
    while page := await pool.fetch(SQL["streams_like"], operator, name, TABLE + "\x7f", PAGE):
        for table in page:
            await executor.submit(Submission(operator, PLATFORM, Role.CLOCK, table["stream"], ResumeLog(tip.epoch)))
        name = page[-1]["stream"]
    await executor.submit(Submission(operator, PLATFORM, Role.OPERATOR, HOUSE, house.ResumeLog(tip.epoch, reason)))

"""Settlement: when a round's outcome is final, every bettor is settled or refunded, then the books are closed.

It carries no amounts: the executor asks the game what each stake returns. Every step acts only on an open stake, so
the work may begin again after any crash, and twice at once.
"""

import asyncio
from typing import Any

import structlog

from domain.decider import SettleBettor, Submission
from domain.game import ConcludeRound, Role
from domain.names import TABLE, table_of
from infra.eventlog import SQL
from infra.postgres import Pool
from services.batch import Answer
from services.executor import Executor

IN_FLIGHT = 64
"""So that settling thousands of bettors does not crowd out what players send."""

PAGE = 1_000
PLATFORM = "platform"

log: Any = structlog.get_logger()


async def settle_round(executor: Executor, pool: Pool, operator: str, round_id: str) -> Answer:
    """Settle or refund every bettor of a final round, then conclude it. The answer is that of ConcludeRound."""
    position, bettors = 0, 0
    while page := await pool.fetch(SQL["bettors_of_round"], operator, round_id, position, PAGE):
        position = page[-1]["position"]
        wallets = {row["stream"] for row in page}
        bettors += len(wallets)
        await _settle_all(executor, operator, round_id, wallets)
        if len(page) == PAGE:
            log.info("settling", operator=operator, round=round_id, bets=bettors)
    conclude = ConcludeRound(round_id)
    return await executor.submit(Submission(operator, PLATFORM, Role.CLOCK, TABLE + table_of(round_id), conclude))


async def _settle_all(executor: Executor, operator: str, round_id: str, wallets: set[str]) -> None:
    waiting = iter(sorted(wallets))
    command = SettleBettor(round_id)

    async def settle_next() -> None:
        for wallet in waiting:
            await executor.submit(Submission(operator, PLATFORM, Role.CLOCK, wallet, command))

    await asyncio.gather(*(settle_next() for _ in range(min(IN_FLIGHT, len(wallets)))))

"""Settlement: when a round's outcome is final, every bettor is settled or refunded, then the books are closed.

It carries no amounts: the executor asks the game what each stake returns. Every step acts only on an open stake, so
the work may begin again after any crash, and twice at once.
"""

import asyncio
import time
from typing import Any

import structlog

from domain.decider import SettleBettor, Submission
from domain.game import ConcludeRound, Role
from domain.money import Amount
from domain.names import TABLE, table_of
from domain.wallet.events import BetsSettled
from infra.eventlog import SQL
from infra.postgres import Pool
from services.batch import Accepted, Answer
from services.executor import Executor
from services.lines import submit

IN_FLIGHT = 64
"""So that settling thousands of bettors does not crowd out what players send."""

PAGE = 1_000
PLATFORM = "platform"

log: Any = structlog.get_logger()


async def settle_round(executor: Executor, pool: Pool, operator: str, round_id: str) -> Answer:
    """Settle or refund every bettor of a final round, then conclude it. The answer is that of ConcludeRound."""
    position = 0
    while page := await pool.fetch(SQL["bettors_of_round"], operator, round_id, position, PAGE):
        position, begun = page[-1]["position"], time.perf_counter()
        done = await _settle_all(executor, operator, round_id, {row["stream"] for row in page})
        if done:  # one line a page: a line a bettor would cost as much as to settle him
            ms = round((time.perf_counter() - begun) * 1_000, 1)
            returned = sum(map(_returned, done))
            log.info("settling", operator=operator, round=round_id, bettors=len(done), returned=returned, ms=ms)
    conclude = ConcludeRound(round_id)
    return await submit(executor, Submission(operator, PLATFORM, Role.CLOCK, TABLE + table_of(round_id), conclude))


async def _settle_all(executor: Executor, operator: str, round_id: str, wallets: set[str]) -> list[Accepted]:
    """What was done; not what was done before."""
    waiting = iter(sorted(wallets))
    command, done = SettleBettor(round_id), list[Accepted]()

    async def settle_next() -> None:
        for wallet in waiting:
            answer = await executor.submit(Submission(operator, PLATFORM, Role.CLOCK, wallet, command))
            if isinstance(answer, Accepted) and answer.events:
                done.append(answer)

    await asyncio.gather(*(settle_next() for _ in range(min(IN_FLIGHT, len(wallets)))))
    return done


def _returned(settled: Accepted) -> Amount:
    """The first event pays; of what it pays, what was owed is taken."""
    event = settled.events[0].event
    return event.returned if isinstance(event, BetsSettled) else event.amount

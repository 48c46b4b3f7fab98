"""A process to be frozen: one executor that deposits for a player, told what to do line by line on its stdin.

It says what it knows, as an integrator would learn it: an answer for each key, sent again until there is one.
"""

import asyncio
import sys

import structlog

from domain.decider import Submission
from domain.game import Role
from domain.names import WALLET
from domain.wallet import commands as wallet
from infra.vault import Vault
from services.batch import Accepted, Answer
from services.executor import Executor, Unavailable
from services.writer import Writer


async def main(dsn: str, operator: str, player: str, how: str) -> None:
    """`how`: "locked" takes the lock for each batch, as one does that races with others; "free" only where it must."""
    if how == "locked":
        Writer.races = property(lambda _: True, lambda _writer, _races: None)  # type: ignore[assignment]
    executor = Executor(dsn, Vault({}))

    async def insist(key: str) -> Answer:
        deposit = wallet.Deposit(10, "EUR", key)
        submission = Submission(operator, "victim", Role.OPERATOR, WALLET + player, deposit, key)
        while True:
            try:
                return await executor.submit(submission, key.encode())
            except Unavailable:
                await asyncio.sleep(0.1)

    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        keys = line.split()
        for key, answer in zip(keys, await asyncio.gather(*map(insist, keys)), strict=True):
            said = f"{key} {answer.last} {answer.repeated}" if isinstance(answer, Accepted) else f"{key} {answer}"
            sys.stdout.write(f"{said}\n")
        sys.stdout.flush()
    await executor.close()


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # stdout is for the answers
    asyncio.run(main(*sys.argv[1:]))

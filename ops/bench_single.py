"""The API as it would be without group commit: each command a transaction of its own, on one of 16 connections.

All else is the same code; so this is what group commit is held against.
"""

import asyncio
from itertools import cycle

from domain.decider import Submission
from infra.vault import Vault
from ops.api import command
from services import executor, wiring
from services.batch import Answer
from services.executor import Executor, IsKnown

CONNECTIONS = 16


class Pool(Executor):
    def __init__(self, dsn: str, vault: Vault, is_known: IsKnown | None = None) -> None:
        super().__init__(dsn, vault, is_known)
        self._each = [Executor(dsn, vault, is_known) for _ in range(CONNECTIONS)]
        self._turn = cycle(self._each)

    async def submit(self, submission: Submission, fingerprint: bytes = b"") -> Answer:
        return await next(self._turn).submit(submission, fingerprint)

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._each))


if __name__ == "__main__":
    executor.BATCH_MAX = 1
    wiring.Executor = Pool  # pyright: ignore[reportPrivateImportUsage]
    command()

"""An operator with an executor and nothing else, for tests that look at the log and its writer alone."""

from collections.abc import AsyncGenerator

import pytest

from domain.decider import Submission
from domain.game import Role
from domain.wallet import commands
from infra import eventlog, postgres
from infra.vault import Vault
from services.executor import Executor
from services.operators import open_operator
from services.reconcile import reconcile


@pytest.fixture
async def dsn(database: str) -> str:
    """The database as the service sees it: a login that may only insert into the log."""
    return await postgres.make_service_login(database)


@pytest.fixture
async def pool(dsn: str) -> AsyncGenerator[postgres.Pool]:
    pool = await postgres.pool(dsn, name="test")
    yield pool
    await pool.close()


@pytest.fixture
async def executor(dsn: str, pool: postgres.Pool) -> AsyncGenerator[Executor]:
    executor = Executor(dsn, Vault({}))
    assert await open_operator(executor, pool, "acme", "Acme Casino")
    yield executor
    await executor.close()


def asked(player: str, command: object, key: str = "", text: str = "") -> Submission:
    """What the operator asks of a player's wallet."""
    return Submission("acme", "ops", Role.OPERATOR, f"wallet:{player}", command, key, text=text)


async def funded(executor: Executor, player: str, amount: int = 1_000) -> None:
    await executor.submit(asked(player, commands.OpenWallet("EUR")))
    await executor.submit(asked(player, commands.Deposit(amount, "EUR")))


async def balance(pool: postgres.Pool, player: str) -> int:
    row = await pool.fetchrow(eventlog.SQL["stream"], "acme", f"wallet:{player}")
    return row["balance"]


async def reconciled(pool: postgres.Pool) -> int:
    """The position of the log's end, once its chain was walked and every stored state found to be what it folds to."""
    said: list[str] = []
    found = await reconcile(pool, "acme", said.append)
    assert said == []
    return found.position

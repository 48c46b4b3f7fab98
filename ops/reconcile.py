"""The verb `reconcile`: is everything that was made from the log what the log says?"""

import asyncio
import sys

import click

from domain.decider import Submission
from domain.game import Role
from domain.watch import BOOKS, Differ
from infra import collector, logging, postgres
from infra.settings import Settings
from infra.vault import Vault
from ops.desk import SHELL
from ops.whose import known_operators
from services import lines
from services.executor import Executor
from services.reconcile import Reconciled, reconcile


@click.command(
    help="Fold the log again and compare it with every balance, state and projection. Exit 1 if any differs."
)
@click.option("--operator", help="Only this operator's log; default: all.")
def command(operator: str | None) -> None:
    collector.calm()
    settings = Settings.from_environment()
    with logging.beside(settings, "desk"):
        agrees = asyncio.run(_agrees(settings, operator))
    if not agrees:
        sys.exit(1)


async def _agrees(settings: Settings, operator: str | None) -> bool:
    pool = await postgres.pool(settings.postgres, name="reconcile")
    executor = Executor(settings.postgres, Vault({}))
    try:
        differences = 0
        for each in await known_operators(pool, operator):
            done = await reconcile(pool, each, click.echo)
            differences += done.differences
            if done.differences and done.position:
                await _record(executor, done)
            compared = ", ".join(f"{count} {what}" for what, count in done.compared.items())
            verdict = f"{done.differences} DIFFER" if done.differences else "all agree"
            click.echo(f"{each}: {compared}: {verdict}, up to position {done.position}, in {done.seconds:.1f} s")
        return not differences
    finally:
        await executor.close()
        await pool.close()


async def _record(executor: Executor, done: Reconciled) -> None:
    """That the books differed is itself on record, where the log can still be written."""
    differ = Differ(done.position, done.differences)
    try:
        await lines.submit(executor, Submission(done.operator, SHELL, Role.AUDITOR, BOOKS, differ))
    except Exception as problem:  # noqa: BLE001 - whatever is wrong with this log was told already
        click.echo(f"{done.operator}: that it differs could not be put on record: {problem!r}")

"""The verb `reconcile`: is everything that was made from the log what the log says?"""

import asyncio
import sys

import click

from infra import postgres
from infra.settings import Settings
from ops.whose import known_operators
from services.reconcile import reconcile


@click.command(
    help="Fold the log again and compare it with every balance, state and projection. Exit 1 if any differs."
)
@click.option("--operator", help="Only this operator's log; default: all.")
def command(operator: str | None) -> None:
    if not asyncio.run(_agrees(Settings.from_environment().postgres, operator)):
        sys.exit(1)


async def _agrees(dsn: str, operator: str | None) -> bool:
    pool = await postgres.pool(dsn, name="reconcile")
    try:
        differences = 0
        for each in await known_operators(pool, operator):
            done = await reconcile(pool, each, click.echo)
            differences += done.differences
            compared = ", ".join(f"{count} {what}" for what, count in done.compared.items())
            verdict = f"{done.differences} DIFFER" if done.differences else "all agree"
            click.echo(f"{each}: {compared}: {verdict}, up to position {done.position}, in {done.seconds:.1f} s")
        return not differences
    finally:
        await pool.close()

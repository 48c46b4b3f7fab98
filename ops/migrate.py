"""`croupier migrate`: bring the database's schema up to date."""

import asyncio
import os

import click

from infra import postgres
from services.refold import refold


@click.command(help="Bring the database's schema up to date (safe to run again, and from several places at once).")
@click.option("--dsn", envvar="CROUPIER_POSTGRES_OWNER", help="The owner's login; default: CROUPIER_POSTGRES.")
def command(dsn: str | None) -> None:
    target = dsn or os.environ.get("CROUPIER_POSTGRES")
    if not target:
        raise click.ClickException("CROUPIER_POSTGRES is not set: give postgresql://owner:password@host/database")
    try:
        asyncio.run(_migrate(target))
    except RuntimeError as unfit:
        raise click.ClickException(str(unfit)) from None


async def _migrate(dsn: str) -> None:
    applied = await postgres.migrate(dsn)
    click.echo("\n".join(f"applied {name}" for name in applied) or "the schema is up to date")
    async with await postgres.pool(dsn, name="migrate") as pool:
        await refold(pool, click.echo)

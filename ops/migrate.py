"""`croupier migrate`: bring the database's schema up to date."""

import asyncio
import os

import asyncpg
import click

from infra import postgres
from services.refold import refold


@click.command(help="Bring the database's schema up to date (safe to run again, and from several places at once).")
@click.option(
    "--dsn",
    envvar="CROUPIER_POSTGRES_OWNER",
    help="The login that owns the schema; default: CROUPIER_POSTGRES_OWNER, else CROUPIER_POSTGRES.",
)
def command(dsn: str | None) -> None:
    target = dsn or os.environ.get("CROUPIER_POSTGRES")
    if not target:
        raise click.ClickException(
            "CROUPIER_POSTGRES_OWNER is not set, nor CROUPIER_POSTGRES: give postgresql://owner:password@host/database"
        )
    try:
        asyncio.run(_migrate(target))
    except RuntimeError as unfit:
        raise click.ClickException(str(unfit)) from None
    except asyncpg.InsufficientPrivilegeError as denied:
        raise click.ClickException(
            f"{denied}: this login may not change the schema; give the owner's, by --dsn or CROUPIER_POSTGRES_OWNER"
        ) from None


async def _migrate(dsn: str) -> None:
    applied = await postgres.migrate(dsn)
    click.echo("\n".join(f"applied {name}" for name in applied) or "the schema is up to date")
    async with await postgres.pool(dsn, name="migrate") as pool:
        await refold(pool, click.echo)

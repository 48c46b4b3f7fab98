"""`croupier restore`: after a database was restored from a backup, go on in a new epoch of each log."""

import asyncio

import click

from infra import eventlog, logging
from infra.settings import Settings
from ops.desk import WORDS
from services import epochs
from services.wiring import opened


@click.command(
    help="After Postgres was restored to an earlier state: begin a new epoch of each log, refund what was open, and "
    "drop the published seeds, for players may have seen the lost tail."
)
@click.option("--reason", type=WORDS, default="restored from a backup", show_default=True, help="Recorded in the log.")
def command(reason: str) -> None:
    settings = Settings.from_environment()
    if not settings.vault_keys:
        raise click.ClickException("CROUPIER_VAULT_KEYS is not set: disclosing seeds needs the keys that sealed them")
    logging.configure(settings, "restore")
    asyncio.run(_restore(settings, reason))


async def _restore(settings: Settings, reason: str) -> None:
    async with opened(settings, "restore") as services:
        for operator in await eventlog.operators(services.pool):
            await epochs.renew(services.executor, services.pool, operator, reason)
            tip = await eventlog.tip(services.pool, operator)
            assert tip is not None
            click.echo(f"{operator}: goes on in epoch {tip.epoch} after position {tip.position}")

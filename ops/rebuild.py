"""The verb `rebuild`: a projection made anew from the log, while it is read and while events come in."""

import asyncio
import time

import click

from infra import postgres
from infra.settings import Settings
from ops.whose import known_operators
from services.projections import PROJECTIONS, Projection
from services.rebuild import RebuildRuns, rebuild

NAMES = {projection.name: projection for projection in PROJECTIONS}


@click.command(help="Make a projection anew from the log; it is read and kept up to date meanwhile.")
@click.argument("name", type=click.Choice(sorted(NAMES)))
@click.option("--operator", help="Only this operator's; default: all operators'.")
def command(name: str, operator: str | None) -> None:
    try:
        asyncio.run(_rebuild(Settings.from_environment(), NAMES[name], operator))
    except RebuildRuns as problem:
        raise click.ClickException(str(problem)) from None


async def _rebuild(settings: Settings, projection: Projection, operator: str | None) -> None:
    pool = await postgres.pool(settings.postgres, name="rebuild")
    try:
        for each in await known_operators(pool, operator):
            begun = time.monotonic()
            position = await rebuild(pool, each, projection, _Told(each))
            seconds = time.monotonic() - begun
            click.echo(f"{each}: {projection.name} made anew up to position {position} in {seconds:.1f} s")
    finally:
        await pool.close()


class _Told:
    """Progress on the terminal, every other second."""

    def __init__(self, operator: str) -> None:
        self._operator = operator
        self._next = time.monotonic() + 2

    def __call__(self, done: int, of: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 2
            click.echo(f"{self._operator}: {done} of {of}")

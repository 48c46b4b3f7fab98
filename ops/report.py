"""The verb `report`: figures from the log, as of a position."""

import asyncio
from datetime import datetime

import click

from infra import collector, postgres
from infra.settings import Settings
from ops.whose import known_operators
from services.reports import REPORTS, sheet
from services.reports.days import GamingDays
from services.reports.make import make
from services.reports.report import BadQuestion, Question, Report

_DAY = click.DateTime(["%Y-%m-%d"])
_NAMES = "\b\n" + "\n".join(f"{kind.name:<18}{kind.words}" for kind in REPORTS.values())


@click.command(
    help="Print a report, computed from the log up to a position. Asked again of the same position, years later, the "
    f"body is the same, byte for byte; README tells more.\n\n{_NAMES}"
)
@click.argument("name", metavar="NAME", type=click.Choice(list(REPORTS)))
@click.option("--operator", help="Whose log; needed only if there are several operators.")
@click.option("--from", "first", type=_DAY, help="The first gaming day, as 2026-11-30; default: from the beginning.")
@click.option("--to", "last", type=_DAY, help="The last gaming day; default: up to the position.")
@click.option("--position", type=click.IntRange(min=1), help="How far to read the log; default: to where it stands.")
@click.option("--threshold", type=click.IntRange(min=1), help="Of large wins, in minor units.")
@click.option("--csv", "as_csv", is_flag=True, help="As CSV; default: JSON.")
def command(
    name: str,
    operator: str | None,
    first: datetime | None,
    last: datetime | None,
    position: int | None,
    threshold: int | None,
    as_csv: bool,
) -> None:
    collector.calm()
    question = Question(name, position, first.date() if first else None, last.date() if last else None, threshold)
    try:
        made = asyncio.run(_made(Settings.from_environment(), operator, question))
    except BadQuestion as bad:
        raise click.ClickException(str(bad)) from None
    click.echo(sheet.as_csv(made) if as_csv else sheet.as_json(made), nl=False)


async def _made(settings: Settings, operator: str | None, question: Question) -> Report:
    pool = await postgres.pool(settings.postgres, name="report")
    try:
        operators = await known_operators(pool, operator)
        if len(operators) != 1:
            raise click.ClickException(f"say whose report with --operator; there is {', '.join(operators) or 'none'}")
        return await make(pool, operators[0], question, GamingDays(settings.time_zone, settings.day_begins))
    finally:
        await pool.close()

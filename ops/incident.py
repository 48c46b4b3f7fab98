"""`croupier incident`: what went wrong at tables, and what was done about it. It is resolved over HTTP, where keys say
who.
"""

import click

from ops.desk import ID, Desk, at_desk, show
from services.api.incidents import IncidentView, one, page

_PAGE = 500


@click.group(help="List and show incidents: what went wrong at tables, and what was done about it.")
def command() -> None:
    pass


@command.command("list")
@click.argument("operator", type=ID)
@click.option("--table", type=ID, help="Only at this table.")
@click.option("--open/--resolved", "is_open", default=None, help="Only those that are open, or resolved.")
def list_all(operator: str, table: str | None, *, is_open: bool | None) -> None:
    """Incidents of an OPERATOR, those that changed last first."""

    async def work(desk: Desk) -> None:
        if table is not None:
            await desk.table(table)
        before = None
        while found := await page(desk.pool, operator, table=table, is_open=is_open, before=before, limit=_PAGE):
            for each in found:
                click.echo(_line(each))
            before = found[-1].position

    at_desk(operator, work)


@command.command("show")
@click.argument("operator", type=ID)
@click.argument("incident", type=ID)
def show_one(operator: str, incident: str) -> None:
    """What was reported, noted and done, by whom and when, and what may be done now, as JSON."""

    async def work(desk: Desk) -> None:
        found = await one(desk.pool, operator, incident)
        if found is None:
            raise click.ClickException(
                f"{operator} has no incident {incident!r}; `croupier incident list {operator}` shows all"
            )
        show(found)

    at_desk(operator, work)


def _line(each: IncidentView) -> str:
    done = f"{each.resolution} by {each.resolved_by}" if each.resolution else "open"
    return f"{each.id}  {each.round or each.table}  {each.kind}  by {each.reported_by}  {done}  {each.words}"

"""`croupier proposal`: what was proposed, and what became of it. It is approved over HTTP, where keys say who."""

import click

from domain.proposals import Stage
from ops.desk import ID, Desk, at_desk, show
from services.api.proposals import one, page

_PAGE = 500


@click.group(help="List and show proposals: what takes two persons.")
def command() -> None:
    pass


@command.command("list", epilog=f"The stages: {', '.join(Stage)}.")
@click.argument("operator", type=ID)
@click.option("--stage", metavar="STAGE", type=click.Choice([each.value for each in Stage]), help="Only of this stage.")
def list_all(operator: str, stage: str | None) -> None:
    """Proposals of an OPERATOR, those that changed last first."""

    async def work(desk: Desk) -> None:
        wanted, before = None if stage is None else Stage(stage), None
        while found := await page(desk.pool, operator, stage=wanted, before=before, limit=_PAGE):
            for each in found:
                asked, second = type(each.asked).__name__, f"  {each.stage} by {each.decided_by}"
                decided = second if each.decided_by else f"  {each.stage}"
                why = " ".join(each.asked.reason.split())
                click.echo(f"{each.id}  {asked}  by {each.proposed_by}{decided}  because: {why}")
            before = found[-1].position

    at_desk(operator, work)


@command.command("show")
@click.argument("operator", type=ID)
@click.argument("proposal", type=ID)
def show_one(operator: str, proposal: str) -> None:
    """What was proposed, by whom, and what became of it, as JSON."""

    async def work(desk: Desk) -> None:
        found = await one(desk.pool, operator, proposal)
        if found is None:
            raise click.ClickException(
                f"{operator} has no proposal {proposal!r}; `croupier proposal list {operator}` shows all"
            )
        show(found)

    at_desk(operator, work)

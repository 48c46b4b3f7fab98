"""`croupier proposal`: what was proposed, and what became of it. It is approved over HTTP, where keys say who."""

from typing import assert_never

import click

from domain.proposals import AdjustBalance, Asked, DecideDispute, Resettle, Stage, WriteOff
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
                decided = f"{each.stage} by {each.decided_by}" if each.decided_by else each.stage
                asked, why = type(each.asked).__name__, " ".join(each.asked.reason.split())
                what = f"{asked}  {_about(each.asked)}  by {each.proposed_by}"
                click.echo(f"{each.id}  {what}  {decided}  because: {why}")
            before = found[-1].position

    at_desk(operator, work)


def _about(asked: Asked) -> str:
    """Of whom or what, and how much, in minor units."""
    match asked:
        case AdjustBalance():
            return f"{asked.player} {asked.amount:+,} {asked.currency}"
        case WriteOff():
            return f"{asked.player} {asked.amount:,} {asked.currency}"
        case Resettle():
            return f"{asked.round} {type(asked.basis).__name__}"
        case DecideDispute():
            given = f" {asked.amount:+,} {asked.currency}" if asked.amount else ""
            return f"{asked.dispute} {asked.ruling}{given}"
        case never:
            assert_never(never)


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

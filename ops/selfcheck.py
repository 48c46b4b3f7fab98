"""The verb `selfcheck`: is what is deployed here what is expected?"""

import asyncio
import sys

import click

from domain.names import HOUSE
from domain.selfcheck import AcceptManifest, Scope, SelfChecked
from infra import deployed
from infra.settings import Settings
from ops import desk
from ops.desk import Desk
from ops.whose import known_operators
from services.selfcheck import look

_OF = click.Choice(["worker", "api"])


@click.command(
    help="Hold the code and the settings here against what is expected, in each operator's log. Exit 1 if they differ."
)
@click.option("--operator", type=desk.ID, help="Only in this operator's log; default: in all.")
@click.option("--of", "kind", metavar="PROCESS", type=_OF, default="worker", help="worker or api: whose settings.")
@click.option("--accept", type=desk.WORDS, metavar="REASON", help="Expect what is found here from now on, and say why.")
@click.option("--digest", "alone", is_flag=True, help="Only print the digest of the code; it needs no database.")
def command(operator: str | None, kind: str, accept: str | None, *, alone: bool) -> None:
    if alone:
        click.echo(deployed.code().digest)
        return
    scopes = (Scope.CODE, Scope.WORKER if kind == "worker" else Scope.API)
    if not asyncio.run(_check(operator, scopes, accept)):
        sys.exit(1)


async def _check(operator: str | None, scopes: tuple[Scope, ...], accept: str | None) -> bool:
    settings = Settings.from_environment()
    async with desk.opened("") as any_desk:
        names = await known_operators(any_desk.pool, operator)
        desks = [Desk(name, any_desk.executor, any_desk.pool) for name in names]
        return all([await _at(each, settings, scopes, accept) for each in desks])


async def _at(desk: Desk, settings: Settings, scopes: tuple[Scope, ...], accept: str | None) -> bool:
    asked = await look(desk.pool, desk.operator, settings, scopes, asked=True)
    answer = await desk.send(HOUSE, asked)
    checks = [each.event for each in answer.events if isinstance(each.event, SelfChecked)]
    for check in checks:
        _tell(desk.operator, check)
        if accept is not None and not check.holds:
            await desk.send(HOUSE, AcceptManifest(check.scope, check.found, accept))
            click.echo(f"{desk.operator}: {check.scope}: accepted: {accept}")
        elif not check.holds:
            click.echo("    If all of it is meant, as at a new release: croupier selfcheck --accept REASON")
    return accept is not None or all(check.holds for check in checks)


def _tell(operator: str, check: SelfChecked) -> None:
    if check.holds:
        click.echo(f"{operator}: {check.scope}: {check.found} is what is expected")
        return
    click.echo(f"{operator}: {check.scope}: {click.style('DIFFERS', fg='red')}")
    click.echo(f"    expected  {check.expected}\n    found     {check.found}")
    for name in check.differing:
        click.echo(f"    {name}")
    if check.differ > len(check.differing):
        click.echo(f"    and {check.differ - len(check.differing)} more")

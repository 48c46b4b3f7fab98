"""`croupier operator`: the casino brands that integrate, each with a log of its own."""

import click

from domain import house
from domain.game import Role
from domain.names import HOUSE
from infra import eventlog
from ops.desk import ID, Desk, at_desk
from services.api.auth import new_key
from services.operators import open_operator


@click.group(help="Add the casino brands that integrate.")
def command() -> None:
    pass


@command.command("add")
@click.argument("operator", type=ID)
@click.option("--title", help="The brand's name as people say it; default: the id.")
def add(operator: str, title: str | None) -> None:
    """Open the log of a new OPERATOR, and mint its first API key.

    The key is shown once and stored nowhere; with it the operator mints all others.
    """

    async def work(desk: Desk) -> None:
        if not await open_operator(desk.executor, desk.pool, operator, title or operator):
            raise click.ClickException(
                f"there is an operator {operator!r} already; `croupier key mint` makes more keys"
            )
        key = new_key(operator)
        await desk.send(HOUSE, house.MintKey(key.id, Role.OPERATOR, key.digest, "first key"))
        click.echo(f"{operator} is open. Its first API key, role operator, shown this once:", err=True)
        click.echo(key.token)

    at_desk(operator, work, new=True)


@command.command("list")
def list_all() -> None:
    """All operators, and where their logs stand."""

    async def work(desk: Desk) -> None:
        for name in await eventlog.operators(desk.pool):
            tip = await eventlog.tip(desk.pool, name)
            assert tip is not None
            click.echo(f"{name}  position {tip.position}  epoch {tip.epoch}")

    at_desk("", work, new=True)

"""`croupier player`: block and unblock players, and look at their money."""

import click

from domain.names import WALLET
from domain.wallet import commands as wallet
from ops.desk import ID, TEXT, Desk, at_desk


@click.group(help="Block and unblock players.")
def command() -> None:
    pass


@command.command("block")
@click.argument("operator", type=ID)
@click.argument("player", type=ID)
@click.option("--reason", type=TEXT, default="", help="Recorded in the log: nothing that names a person.")
def block(operator: str, player: str, reason: str) -> None:
    """Let a PLAYER place no new stakes. Money that is the player's still flows: settlements, refunds, withdrawals."""
    _send(operator, player, wallet.Block(reason))


@command.command("unblock")
@click.argument("operator", type=ID)
@click.argument("player", type=ID)
@click.option("--reason", type=TEXT, default="", help="Recorded in the log: nothing that names a person.")
def unblock(operator: str, player: str, reason: str) -> None:
    """Let a PLAYER place stakes again."""
    _send(operator, player, wallet.Unblock(reason))


@command.command("show")
@click.argument("operator", type=ID)
@click.argument("player", type=ID)
def show_player(operator: str, player: str) -> None:
    """A PLAYER's balance and open bets, as JSON."""

    async def work(desk: Desk) -> None:
        await desk.show_player(player)

    at_desk(operator, work)


def _send(operator: str, player: str, asked: wallet.Block | wallet.Unblock) -> None:
    async def work(desk: Desk) -> None:
        await desk.wallet(player)
        accepted = await desk.send(WALLET + player, asked)
        word = "blocked" if isinstance(asked, wallet.Block) else "unblocked"
        click.echo(f"{player} is {word}" if accepted.events else f"{player} was {word} before")

    at_desk(operator, work)

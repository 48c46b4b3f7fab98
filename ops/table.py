"""`croupier table`: open, drain and close tables, and look at them."""

import click
import msgspec

from domain.game import Role, Viewer, no_open
from domain.games import GAMES
from domain.names import TABLE
from infra import codec
from infra.eventlog import SQL
from ops.desk import ID, SHELL, Desk, at_desk, show

PAGE = 500


@click.group(help="Open, drain and close tables.")
def command() -> None:
    pass


@command.command("open", epilog=f"The games: {', '.join(GAMES)}.")
@click.argument("operator", type=ID)
@click.argument("table", type=ID)
@click.argument("game", metavar="GAME", type=click.Choice(list(GAMES)))
@click.option("--config", required=True, help="The table's configuration as JSON, or @FILE. Needed: the currency.")
def open_table(operator: str, table: str, game: str, config: str) -> None:
    """Open a TABLE of a GAME.

    With `--config '{"currency":"EUR"}'` all else is by the game's defaults; `croupier table show` tells all of it.
    """
    opening = _opening(game, config)

    async def work(desk: Desk) -> None:
        accepted = await desk.send(TABLE + table, opening, game)
        click.echo(f"{table} is open, at position {accepted.last}")

    at_desk(operator, work)


def _opening(game: str, config: str) -> object:
    try:
        text = _text(config)
        fields = msgspec.json.decode(text)
        return msgspec.convert({"type": "OpenTable", "config": fields}, GAMES[game].commands[Role.OPERATOR])
    except (msgspec.MsgspecError, OSError) as fault:
        raise click.BadParameter(f"{fault}", param_hint="--config") from None


def _text(given: str) -> str:
    if not given.startswith("@"):
        return given
    with click.open_file(given[1:]) as file:
        return file.read()


@command.command("drain")
@click.argument("operator", type=ID)
@click.argument("table", type=ID)
def drain(operator: str, table: str) -> None:
    """Open no round after the one that is on; then the TABLE closes."""
    _tell(operator, table, "DrainTable", "drains")


@command.command("close")
@click.argument("operator", type=ID)
@click.argument("table", type=ID)
def close(operator: str, table: str) -> None:
    """Close a TABLE.

    Between rounds that is at once, else after the round that is on. The command ReopenTable, sent over HTTP with a key
    of the role operator, opens it again.
    """
    _tell(operator, table, "CloseTable", "closes")


def _tell(operator: str, table: str, kind: str, does: str) -> None:
    async def work(desk: Desk) -> None:
        found = await desk.at_table(table, kind)
        on = GAMES[found.decider].round(found.state)
        click.echo(f"{table} {does}{f' after round {on}' if on else ''}")

    at_desk(operator, work)


@command.command("list")
@click.argument("operator", type=ID)
def list_all(operator: str) -> None:
    """All tables of an OPERATOR, and the round that is on at each."""

    async def work(desk: Desk) -> None:
        name = TABLE
        while rows := await desk.pool.fetch(SQL["streams_like"], operator, name, TABLE + "\x7f", PAGE):
            for row in rows:
                game = GAMES[row["decider"]]
                state = codec.decode_state(row["decider"], row["state"])
                phase = getattr(game.view(state, Viewer(SHELL, Role.OPERATOR), (), no_open), "phase", "")
                on = game.round(state) or "no round on"
                click.echo(f"{row['stream'].removeprefix(TABLE)}  {game.name}  {phase}  {on}")
            name = rows[-1]["stream"]

    at_desk(operator, work)


@command.command("show")
@click.argument("operator", type=ID)
@click.argument("table", type=ID)
def show_table(operator: str, table: str) -> None:
    """A TABLE with its limits and pay table, as JSON.

    It is shown as its operator sees it, with the exact return of each spot.
    """

    async def work(desk: Desk) -> None:
        found = await desk.table(table)
        game = GAMES[found.decider]
        view = game.view(found.state, Viewer(SHELL, Role.OPERATOR), (), no_open)
        show({"table": table, "game": game.name, "view": view, "about": game.about(found.state)})

    at_desk(operator, work)

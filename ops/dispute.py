"""`croupier dispute`: what players dispute, how it stands, and a dispute in one file that proves itself. Disputes are
heard and ruled over HTTP, where keys say who.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from domain.disputes import DisputeStage
from domain.game import Micros
from ops.desk import ID, NEW_FILE, Desk, at_desk, show
from services import make_case, make_dossier, tree
from services.case_file import CaseForm, write
from services.disputes import DisputeView, Wanted, case, page
from services.dossier import SIZE_MAX
from services.make_dossier import NotSigned
from services.openings import RoundIsOn

_PAGE = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@click.group(help="List and show disputes, and write one with all that proves it to a file.")
def command() -> None:
    pass


@command.command("list", epilog=f"The stages: {', '.join(DisputeStage)}.")
@click.argument("operator", type=ID)
@click.option(
    "--stage", metavar="STAGE", type=click.Choice([each.value for each in DisputeStage]), help="Of this stage."
)
@click.option("--player", type=ID, help="Of this player.")
@click.option("--overdue", is_flag=True, help="Those that were not decided in time.")
def list_all(operator: str, stage: str | None, player: str | None, overdue: bool) -> None:
    """Disputes of an OPERATOR, those that changed last first."""

    async def work(desk: Desk) -> None:
        if player is not None:
            await desk.wallet(player)
        wanted = Wanted(None if stage is None else DisputeStage(stage), None, player, overdue or None)
        before = None
        while found := await page(desk.pool, operator, wanted, before=before, limit=_PAGE):
            for each in found:
                click.echo(_line(each))
            before = found[-1].position

    at_desk(operator, work)


def _line(each: DisputeView) -> str:
    about = f"{each.round} {each.bet}".rstrip()
    code = f"  {each.ruling.code}" if each.ruling else ""
    late = "  overdue" if each.overdue else ""
    return f"{each.id}  {each.stage:<9}  {each.player}  {about}  due {_moment(each.due)}{late}{code}"


def _moment(at: Micros) -> str:
    return (_EPOCH + timedelta(microseconds=at)).isoformat(sep=" ", timespec="minutes")


@command.command("show")
@click.argument("operator", type=ID)
@click.argument("dispute", type=ID)
def show_one(operator: str, dispute: str) -> None:
    """A dispute and all that was said in it, as JSON."""

    async def work(desk: Desk) -> None:
        found = await case(desk.pool, operator, dispute)
        if found is None:
            raise _unknown(operator, dispute)
        show(found)

    at_desk(operator, work)


@command.command("export")
@click.argument("operator", type=ID)
@click.argument("dispute", type=ID)
@click.option("--out", type=NEW_FILE, required=True, help="The file to write.")
@click.option("--for-player", is_flag=True, help="What its player may know.")
@click.option("--keys", type=NEW_FILE, help="Write here the public keys that sign the log.")
def export(operator: str, dispute: str, out: Path, for_player: bool, keys: Path | None) -> None:
    """A dispute, the dossier of its round, and all that proves them, in one file; `croupier verify` reads it."""

    made: list[bytes] = []
    known: list[str] = []

    async def work(desk: Desk) -> None:
        made.append(await _made(desk, dispute, "player" if for_player else "operator"))
        known.extend(row["key"] for row in await desk.pool.fetch(tree.SQL["keys"], operator))

    at_desk(operator, work)
    [raw] = made
    if len(raw) > SIZE_MAX:
        raise click.ClickException(f"its round has too many events: a case is at most {SIZE_MAX >> 20} MB")
    out.write_bytes(raw)
    if keys is not None:
        keys.write_text("".join(f"{key}\n" for key in known))
    click.echo(f"{out}: {len(raw):,} bytes; croupier verify {out} --key {keys or 'KEYS, as --keys FILE writes them'}")


async def _made(desk: Desk, dispute: str, form: CaseForm) -> bytes:
    found = await make_case.case(desk.pool, desk.operator, dispute)
    if found is None:
        raise _unknown(desk.operator, dispute)
    try:
        told = await make_dossier.story(desk.pool, desk.operator, found.opened.round)
        assert told is not None, "a dispute is about a round that is there"
        return write(await make_case.make(desk.pool, found, told, form))
    except RoundIsOn as on:
        raise click.ClickException(f"{on.round} is still on: the case is written once it is over") from None
    except NotSigned as unsigned:
        raise click.ClickException(f"{unsigned}: does a worker with CROUPIER_LOG_KEYS run?") from None


def _unknown(operator: str, dispute: str) -> click.ClickException:
    return click.ClickException(f"{operator} has no dispute {dispute!r}; `croupier dispute list {operator}` shows all")

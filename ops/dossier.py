"""The verb `dossier`: a round in one file, with all that proves it."""

import asyncio
from pathlib import Path

import click

from domain.game import Role, Viewer
from domain.names import WALLET
from infra import eventlog, logging
from infra.settings import Settings
from infra.vault import VaultClosed
from ops.desk import ID, NEW_FILE, WORDS
from ops.whose import known_operators
from services import make_dossier, tree, wiring
from services.dossier import SIZE_MAX, Dossier, write
from services.executor import Busy, Unavailable
from services.make_dossier import NotSigned, Story
from services.openings import RoundIsOn
from services.projections.rounds import is_match
from services.wiring import Services


@click.command(help="Write a round that is over, and all that proves it, to one file; `croupier verify` reads it.")
@click.argument("round_id", metavar="ROUND")
@click.option("--out", type=NEW_FILE, required=True, help="The file to write.")
@click.option("--operator", help="Whose round; needed only if several operators have one of this name.")
@click.option("--player", type=ID, help="What this player may know; of the rest the hashes.")
@click.option("--auditor", type=ID, help="Everything, opened, for this auditor. That it was made goes on record.")
@click.option("--why", type=WORDS, help="Why the auditor has it made.")
@click.option("--keys", type=NEW_FILE, help="Write here the public keys that sign the log.")
def command(
    round_id: str,
    out: Path,
    operator: str | None,
    player: str | None,
    auditor: str | None,
    why: str | None,
    keys: Path | None,
) -> None:
    if player and auditor:
        raise click.UsageError("it is a player's or an auditor's form: give --player or --auditor")
    if bool(auditor) != bool(why):
        raise click.UsageError("--auditor and --why go together: say why")
    settings = Settings.from_environment()
    with logging.beside(settings, "desk"):
        made, known = asyncio.run(_made(settings, round_id, operator, player, auditor, why or ""))
    raw = write(made)
    if len(raw) > SIZE_MAX:
        raise click.ClickException(f"{round_id} has too many events: a dossier is at most {SIZE_MAX >> 20} MB")
    out.write_bytes(raw)
    if keys is not None:
        keys.write_text("".join(f"{key}\n" for key in known))
    click.echo(f"{out}: {len(raw):,} bytes; croupier verify {out} --key {keys or 'KEYS, as --keys FILE writes them'}")


async def _made(
    settings: Settings, round_id: str, operator: str | None, player: str | None, auditor: str | None, why: str
) -> tuple[Dossier, list[str]]:
    """With the public keys that ever signed its log."""
    async with wiring.opened(settings, "desk") as services:
        told = await _story(services, round_id, operator)
        keys = [row["key"] for row in await services.pool.fetch(tree.SQL["keys"], told.operator)]
        try:
            if auditor:
                opened = await make_dossier.record(services.pool, services.executor, services.vault, told, auditor, why)
                viewer = Viewer(auditor, Role.AUDITOR)
                return await make_dossier.make(services.pool, told, "auditor", viewer, opened), keys
            if player:
                if not await services.pool.fetch(eventlog.SQL["stream"], told.operator, WALLET + player):
                    raise click.ClickException(f"{told.operator} has no player {player!r}; GET /v1/players lists them")
                return await make_dossier.make(services.pool, told, "player", Viewer(player, Role.PLAYER)), keys
            return await make_dossier.make(services.pool, told, "operator", Viewer("", Role.OPERATOR)), keys
        except NotSigned as unsigned:
            hint = "does a worker with CROUPIER_LOG_KEYS run?"
            raise click.ClickException(f"{unsigned}: {hint}") from None
        except VaultClosed as closed:
            raise click.ClickException(f"{closed}: set CROUPIER_VAULT_KEYS as the worker has it") from None
        except (Busy, Unavailable) as problem:
            raise click.ClickException(f"the log cannot be written now: {type(problem).__name__} {problem}") from None


async def _story(services: Services, round_id: str, operator: str | None) -> Story:
    operators = await known_operators(services.pool, operator)
    try:
        found = [await make_dossier.story(services.pool, each, round_id) for each in operators]
    except RoundIsOn:
        raise click.ClickException(f"{round_id} is still on: its dossier is made once it is over") from None
    match [each for each in found if each is not None]:
        case [one]:
            return one
        case []:
            hint = "a match has a dossier for each of its rounds" if is_match(round_id) else "GET /v1/rounds lists them"
            raise click.ClickException(f"the log knows no round {round_id!r}: {hint}")
        case _:
            raise click.ClickException(f"several operators have a round {round_id!r}: say which with --operator")

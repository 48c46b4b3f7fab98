"""The verb `audit`: is the log what the notary signed?"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from infra import collector, notes, postgres
from infra.notes import BadNote, PublicKey
from infra.settings import Settings
from ops.whose import known_operators
from services.log_audit import Fault, audit

_KEYS = "each public key on a line, as GET /v1/log/keys gives them"


@click.command(
    help="Read the log again and hold every event against what was signed. Names the first that differs; exit 1 then."
)
@click.option("--operator", help="Only this operator's log; default: all.")
@click.option("--key", "file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help=f"A file: {_KEYS}.")
@click.option(
    "--checkpoint",
    "kept",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A signed checkpoint that you kept: the log must go on from it. Needs --operator.",
)
def command(operator: str | None, file: Path | None, kept: Sequence[Path]) -> None:
    collector.calm()
    if kept and operator is None:
        raise click.UsageError("a kept checkpoint is one operator's: say whose with --operator")
    settings = Settings.from_environment()
    if file is None and not settings.log_keys:
        raise click.ClickException(f"which key has signed? Give --key FILE ({_KEYS}), or set CROUPIER_LOG_KEYS")
    try:
        held = asyncio.run(_holds(settings, operator, file, [each.read_text() for each in kept]))
    except (BadNote, UnicodeDecodeError) as bad:
        raise click.ClickException(str(bad)) from None
    if not held:
        sys.exit(1)


async def _holds(settings: Settings, operator: str | None, file: Path | None, kept: Sequence[str]) -> bool:
    pool = await postgres.pool(settings.postgres, name="audit")
    try:
        told = [await _tell(pool, each, _keys(settings, file), kept) for each in await known_operators(pool, operator)]
        return all(told)
    finally:
        await pool.close()


def _keys(settings: Settings, file: Path | None) -> list[PublicKey]:
    """A key is the same whatever log it signs; its name here is of no account."""
    if file is None:
        return [notes.public_key("mine", seed) for seed in settings.log_keys.values()]
    return [PublicKey.parse(line) for line in file.read_text().splitlines() if line.strip()]


async def _tell(pool: postgres.Pool, operator: str, keys: Sequence[PublicKey], kept: Sequence[str]) -> bool:
    try:
        done = await audit(pool, operator, keys, lambda line: click.echo(line, err=True), kept)
    except Fault as fault:
        where = f"position {fault.position}"
        if fault.until is not None and fault.until != fault.position:
            where = f"the first wrong position is one of {fault.position} to {fault.until}"
        click.echo(f"{operator}: {click.style('ALTERED', fg='red')}: {where}: {fault}")
        return False
    unsigned = f", {done.events - done.signed} not signed yet" if done.events > done.signed else ""
    by = f"by {done.notes:,} note{'s' * (done.notes != 1)}"
    click.echo(f"{operator}: {done.events:,} events are the ones that were signed, {by}{unsigned}")
    return True

"""The verb `verify`: is a dossier or a case file true? It needs the file and a public key, and nothing that runs."""

import sys
from pathlib import Path

import click

from infra.notes import BadNote, PublicKey
from services.dossier import SIZE_MAX
from services.verify import verify

_KEY_MAX = 64 * 1024


@click.command(
    help="Verify a dossier, or a dispute's case file, without server, database or network: one line a check, exit 1 at "
    "the first that fails."
)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--key",
    required=True,
    help="Who may have signed: a file with a public key on each line (`demo --out` leaves log.pub), or such a key. "
    "Have it from elsewhere than the file.",
)
def command(file: Path, key: str) -> None:
    keys = _keys(key)
    checks = failed = 0
    for check in verify(_head(file), keys):
        if check.told:
            click.echo(f"       {check.what}")
            continue
        checks += 1
        failed += not check.holds
        verdict = click.style("holds", fg="green") if check.holds else click.style("FAILS", fg="red")
        click.echo(f"{verdict}  {check.what}{f': {check.wrong}' if check.wrong else ''}")
    if failed:
        sys.exit(1)
    click.echo(f"{file.name} is true: all {checks} checks hold.")


def _keys(told: str) -> list[PublicKey]:
    """A key as it is written has two `+`; a name of a file hardly ever."""
    try:
        path = Path(told)
        if told.count("+") >= 2 and not path.exists():
            return [PublicKey.parse(told)]
        keys = [PublicKey.parse(line) for line in _head(path, _KEY_MAX).decode().splitlines() if line.strip()]
    except (BadNote, OSError, ValueError) as bad:
        raise click.BadParameter(f"it is no public key, and no file of them: {bad}", param_hint="--key") from None
    if not keys:
        raise click.BadParameter("the file has no key", param_hint="--key")
    return keys


def _head(file: Path, most: int = SIZE_MAX) -> bytes:
    """A byte more than there may be is enough to see that it is too much."""
    with file.open("rb") as stream:
        return stream.read(most + 1)

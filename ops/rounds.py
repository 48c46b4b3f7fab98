"""`croupier rounds`: play the written rounds of tests/rounds again and show where they tell something else now."""

import difflib
import sys
from pathlib import Path

import click

from services.written_rounds import played

ROUNDS = Path(__file__).parents[1] / "tests" / "rounds"


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--accept", is_flag=True, help="Write down what came out; read the difference before you commit it.")
def command(paths: tuple[Path, ...], accept: bool) -> None:
    """Play written rounds (all of them, or those of PATHS) and compare them line by line.

    Exit 1 if any differs, unless it is accepted.
    """
    files = sorted(
        file for path in paths or (ROUNDS,) for file in ([path] if path.is_file() else path.rglob("*.round"))
    )
    different = 0
    for file in files:
        text = file.read_text()
        now = played(text)
        if now == text:
            continue
        different += 1
        diff = difflib.unified_diff(text.splitlines(), now.splitlines(), str(file), "played now", lineterm="", n=2)
        click.echo("\n".join(diff))
        if accept:
            file.write_text(now)
    click.echo(f"{len(files)} written rounds, {different} {'rewritten' if accept else 'different'}")
    sys.exit(1 if different and not accept else 0)

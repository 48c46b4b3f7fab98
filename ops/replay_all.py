"""`replay --all`: every round that is over, decided again by this program; and what would have been."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from domain.games import GAMES
from infra import collector, eventlog, postgres
from infra.settings import Settings
from infra.vault import Vault
from ops.whose import known_operators
from services import checkpoints, what_if
from services.divergence import Again, rounds_again
from services.redecide import Difference

_TELL_EVERY_S = 2.0
_TEXT_MAX = 300


@click.command(
    help="Fold and decide again every round that is over, by this program, and tell what comes out otherwise than is "
    "stored. Exit 1 if anything does that nobody accepted.",
    epilog="With --what-if nothing is an alarm: it tells, wager by wager, what players would have got more or less.",
)
@click.option("--operator", help="Only this operator's rounds; default: all.")
@click.option("--since", help="Only rounds opened since then: a day as 2026-11-30, or a moment of it (UTC).")
@click.option(
    "--accepted",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Differences that may stand, one a line: OPERATOR ROUND POSITION and the reason.",
)
@click.option(
    "--what-if", "changes", help="""Ask under another config, as '{"pay_table":{"tie":{"numerator":800}}}'."""
)
def command(operator: str | None, since: str | None, file: Path | None, changes: str | None) -> None:
    collector.calm()
    settings = Settings.from_environment()
    if not asyncio.run(all_again(settings, operator, since_of(since), accepted_in(file), changes_in(changes))):
        sys.exit(1)


class Accepted(Struct, frozen=True):
    """A difference that somebody looked into, and the reason why it may stand."""

    operator: str
    round: str
    position: int
    reason: str


def accepted_in(file: Path | None) -> list[Accepted]:
    """One a line: operator, round, position, and the reason in words. Empty lines and those with # are passed over."""
    if file is None:
        return []
    lines = [line for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")]
    found: list[Accepted] = []
    for line in lines:
        words = line.split(maxsplit=3)
        if len(words) < 4 or not words[2].isdigit():
            raise click.ClickException(f"{file}: not `OPERATOR ROUND POSITION REASON`: {line[:100]}")
        found.append(Accepted(words[0], words[1], int(words[2]), words[3]))
    return found


def since_of(text: str | None) -> int:
    """A day or a moment, as Micros; UTC where nothing else is said."""
    if text is None:
        return 0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.ClickException(f"--since {text}: give a day as 2026-11-30, or a moment of it") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000


def changes_in(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        changes = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as fault:
        raise click.ClickException(f"--what-if is not a JSON object: {fault}") from None
    if not any(what_if.has(game, changes) for game in GAMES.values()):
        raise click.ClickException(f"--what-if: no game's config has {' and '.join(changes)}")
    return changes


async def all_again(
    settings: Settings,
    operator: str | None,
    since: int,
    accepted: Sequence[Accepted],
    changes: Mapping[str, Any] | None,
) -> bool:
    """Told as it goes; False if anything differs that was not accepted. What would have been is no alarm."""
    pool = await postgres.pool(settings.postgres, name="replay")
    try:
        courses = [_Course(each, accepted, changes) for each in await known_operators(pool, operator)]
        for course in courses:
            async for again in rounds_again(pool, course.operator, Vault(settings.vault_keys), since, changes):
                course.take(again)
            course.end(await _unlisted(pool, course.operator))
    except msgspec.ValidationError as fault:
        raise click.ClickException(f"--what-if: {fault}") from None
    finally:
        await pool.close()
    return not any(course.alarms for course in courses)


async def _unlisted(pool: postgres.Pool, operator: str) -> int:
    """How many events the list of rounds is behind the log."""
    listed = await pool.fetchval(checkpoints.SQL["position"], operator, "rounds")
    tip = await eventlog.tip(pool, operator)
    return max(0, (tip.position if tip else 0) - (listed or 0))


class _Course:
    """Through one operator's rounds."""

    def __init__(self, operator: str, accepted: Sequence[Accepted], changes: Mapping[str, Any] | None) -> None:
        self.operator = operator
        self._accepted = {(each.round, each.position): each for each in accepted if each.operator == operator}
        self._asks = changes is not None
        self._rounds = self._commands = self._left = self._differ = self._gained = 0
        self._begun = self._told = time.monotonic()
        self.alarms = 0

    def take(self, again: Again) -> None:
        self._rounds += 1
        self._commands += again.commands
        self._left += again.left
        for each in again.differences:
            self._tell(again.round, each)
        if time.monotonic() > self._told + _TELL_EVERY_S:
            self._told = time.monotonic()
            click.echo(f"{self.operator}: {self._so_far()}, at {again.round}", err=True)

    def _tell(self, round_id: str, each: Difference) -> None:
        self._differ += 1
        self._gained += each.gained
        where = f"{self.operator}: {round_id}, position {each.position}"
        if self._asks:
            click.echo(f"{where}: {each.gained:+,}: {_cut(each.decided)}")
        elif accepted := self._accepted.get((round_id, each.position)):
            click.echo(f"{where}: accepted: {accepted.reason}")
        else:
            self.alarms += 1
            click.echo(f"{where}: {click.style('DIFFERS', fg='red')}")
            click.echo(f"    stored   {_cut(each.stored)}\n    decided  {_cut(each.decided)}")

    def end(self, unlisted: int) -> None:
        left = f"; {self._left:,} left aside (sealed from this process, or not kept)" if self._left else ""
        if self._asks:
            verdict = f"{self._differ:,} would differ, players would have got {self._gained:+,}"
        elif self.alarms:
            verdict = click.style(f"{self.alarms:,} DIFFER", fg="red")
        else:
            verdict = f"all the same but {self._differ:,} accepted" if self._differ else "all the same"
        click.echo(f"{self.operator}: {self._so_far()}{left}: {verdict}")
        if unlisted:
            what = f"the last {unlisted:,} events may have ended rounds that are not listed yet"
            click.echo(f"{self.operator}: {what}: does a worker run? (`croupier rebuild rounds` makes the list anew)")

    def _so_far(self) -> str:
        rate = self._commands / max(0.001, time.monotonic() - self._begun)
        return f"{self._rounds:,} rounds, {self._commands:,} commands decided again, {rate:,.0f} a second"


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]} ..."

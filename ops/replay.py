"""The verb `replay`: a stored round or match played again, event by event, as anyone saw it, with what it proves.

Whoever looks with a player's eyes at hidden cards says why, and that is on record before anything is shown.
"""

import asyncio
import sys
from functools import partial
from typing import Any

import click
import msgspec

from domain.auditing import OpenSeal
from domain.decider import Submission
from domain.game import Role, Viewer
from domain.names import AUDIT
from infra import eventlog, logging, postgres
from infra.postgres import Pool
from infra.settings import Settings
from infra.vault import Vault, VaultClosed
from ops import replay_all
from ops.desk import SHELL, TEXT
from ops.whose import known_operators
from services import lines, openings, viewers
from services.executor import Busy, Executor, NewerSchema, Unavailable
from services.notation import Notation
from services.replay import Replay, Step
from services.round_text import written
from services.viewers import Window, replay_as

_NAMES = (
    "a round is called TABLE.N, a match TABLE.mN: GET /v1/rounds lists them, `croupier table list OPERATOR` what is on"
)
AUDITOR = Viewer(SHELL, Role.AUDITOR)
SENTENCES_MAX = 40
"""Of the explanation; more is for machines."""


class _OneOrAll(click.Command):
    """`replay --all` is another command, with options of its own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if "--all" in args:
            left = [each for each in args if each != "--all"]
            return replay_all.command.make_context(f"{info_name} --all", left, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(
    cls=_OneOrAll,
    help="Play a stored round again: what happened, the money it moved, and the proofs worked out again. Or a match of "
    "several rounds, TABLE.mN: how it began, what came between its rounds, how each of them and the match ended.",
    epilog="`replay --all` decides every round that is over again (see `replay --all --help`). "
    "To see hidden cards as a player did takes the vault key of the game, and is recorded with its reason.",
)
@click.argument("round_id", metavar="ROUND")
@click.option("--operator", help="Whose round; needed only if several operators have one of this name.")
@click.option("--as", "name", default="auditor", help="As a player, onlooker, auditor, supervisor, studio or operator.")
@click.option(
    "--why", type=TEXT, default="", help="Why hidden cards are looked at: goes on record, before they are shown."
)
@click.option("--step", type=click.IntRange(min=1), help="Only this step, with the table as it was seen then.")
@click.option("--text", "form", flag_value="text", help="As a written round: time, who, command as sent, balances.")
@click.option("--views", is_flag=True, help="With --text, the table after each step.")
@click.option("--json", "form", flag_value="json", help="As GET /v1/rounds/{round}/replay gives it.")
@click.option("--frames", "form", flag_value="frames", help="As --json, with what was sent live, byte for byte.")
def command(
    round_id: str, operator: str | None, name: str, why: str, step: int | None, form: str | None, *, views: bool
) -> None:
    if views and form != "text":
        raise click.UsageError("--views goes with --text")
    frames = form == "frames"
    window = Window(frames=frames) if step is None else Window(step - 1, 1, frames)
    seen = _Seen(round_id, viewers.named(name), why, window)
    settings = Settings.from_environment()
    with logging.beside(settings, "desk"):
        played = asyncio.run(_replay(settings, operator, seen))
    if step is not None and not played.steps:
        raise click.ClickException(f"{played.round} has {played.steps_in_all} steps, so no step {step}")
    if form == "text":
        click.echo(written(played, views=views or step is not None), nl=False)
    elif form is not None:
        click.echo(msgspec.json.format(msgspec.json.encode(played)).decode())
    elif step is not None:
        _tell_step(played)
    else:
        _tell(played)
    if not played.holds:
        sys.exit(1)


class _Seen(msgspec.Struct, frozen=True):
    """Which round, as whom and why, and which of its steps."""

    round: str
    viewer: Viewer
    why: str
    window: Window


async def _replay(settings: Settings, operator: str | None, seen: _Seen) -> Replay:
    pool = await postgres.pool(settings.postgres, name="replay")
    executor = Executor(settings.postgres, Vault({}))
    try:
        operators = await known_operators(pool, operator)
        if len(operators) > 1 and seen.viewer.role is Role.PLAYER:
            operators = [each for each in operators if await _has(pool, each, seen.round)]
        played = [await _as(pool, executor, Vault(settings.vault_keys), each, seen) for each in operators]
    except viewers.UnknownViewer as unknown:
        raise click.ClickException(f"there is no player {str(unknown)!r}") from None
    except openings.RoundIsOn as on:
        raise click.ClickException(f"{on.round} is still on: what its players see is theirs until it is over") from None
    except VaultClosed as closed:
        raise click.ClickException(f"{closed}: give it in CROUPIER_VAULT_KEYS") from None
    except (Busy, Unavailable, NewerSchema) as problem:
        raise click.ClickException(f"the log cannot be written now: {type(problem).__name__} {problem}") from None
    finally:
        await executor.close()
        await pool.close()
    round_id = seen.round
    match [each for each in played if each is not None]:
        case [one]:
            return one
        case []:
            raise click.ClickException(f"the log knows no round {round_id!r}; {_NAMES}")
        case _:
            raise click.ClickException(f"several operators have a round {round_id!r}: say which with --operator")


async def _as(pool: Pool, executor: Executor, keys: Vault, operator: str, seen: _Seen) -> Replay | None:
    """What is not opened yet is opened here, if it is said why."""
    told = (pool, operator, seen.round, AUDITOR, seen.viewer, partial(keys.open, operator), seen.window)
    try:
        return await replay_as(*told)
    except viewers.NotOpened as closed:
        if not seen.why:
            what = f"{seen.viewer.actor} saw hidden cards"
            raise click.ClickException(f"{what}: say why you look, with --why") from None
        for position in closed.positions:
            row = await openings.sealed_at(pool, operator, position)
            assert row is not None, position
            asked = OpenSeal(row.position, row.stream, row.round, seen.why)
            await lines.submit(executor, Submission(operator, SHELL, Role.AUDITOR, AUDIT + SHELL, asked))
        return await replay_as(*told)


async def _has(pool: Pool, operator: str, round_id: str) -> bool:
    return bool(await pool.fetch(eventlog.SQL["events_of_round"], operator, round_id, 0, 1))


def _tell(played: Replay) -> None:
    click.secho(
        f"{played.round}: {played.title} at {played.table}, {'ended' if played.ended else 'still on'}", bold=True
    )
    notation = Notation(played.steps[0].at) if played.steps else None
    before = None
    for step in played.steps:
        assert notation is not None
        if (said := (step.at, step.actor, step.command)) != before:
            click.echo(f"{notation.clock(step.at):<12}{step.actor:<20}{step.command or ''}".rstrip())
            before = said
        who = step.stream.partition(":")[2] + ": " if step.money else ""
        click.echo(f"{step.number:>7} -> {who}{notation.named(step.event, played.round)}")
    if played.steps_in_all > len(played.steps):
        click.echo(f"        ... {played.steps_in_all - len(played.steps)} more steps; --step N shows any of them")
    _tell_explained(played.explained)
    _tell_proofs(played)


def _tell_explained(sentences: tuple[str, ...]) -> None:
    for sentence in sentences[:SENTENCES_MAX]:
        click.echo(sentence)
    if len(sentences) > SENTENCES_MAX:
        click.echo(f"        ... {len(sentences) - SENTENCES_MAX} more; --json has them")


def _tell_proofs(played: Replay) -> None:
    totals = played.totals
    click.echo(
        f"{totals.bettors} bettors, {totals.staked} staked, {totals.returned} returned, {totals.open} still open"
    )
    for proof in played.proofs:
        failed = f": {', '.join(proof.failed)}" if proof.failed else ""
        _tell_verdict(f"{proof.what} ({proof.tried}){failed}", proof.holds)
    for check in played.checks:
        _tell_verdict(check.what, check.holds)
    told: dict[str, Any] = msgspec.to_builtins(played.fairness) or {}
    for name, value in told.items():
        if name not in ("round", "match", "checks"):
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            click.echo(f"{name.replace('_', ' '):>14}  {text}")


def _tell_verdict(what: str, holds: bool) -> None:
    click.echo(f"{click.style('holds', fg='green') if holds else click.style('FAILS', fg='red')}  {what}")


def _tell_step(played: Replay) -> None:
    step: Step = played.steps[0]
    click.echo(msgspec.json.format(msgspec.json.encode(step)).decode())

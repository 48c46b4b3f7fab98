"""The verb `replay`: a stored round or match played again, event by event, with what it proves."""

import asyncio
import sys
from typing import Any

import click
import msgspec

from domain.game import Role, Viewer
from infra import postgres
from infra.settings import Settings
from ops.whose import known_operators
from services.notation import Notation
from services.replay import STEPS_MAX, Replay, Step, replay

_NAMES = (
    "a round is called TABLE.N, a match TABLE.mN: GET /v1/rounds lists them, `croupier table list OPERATOR` what is on"
)
AUDITOR = Viewer("replay", Role.AUDITOR)


@click.command(
    help="Play a stored round again: what happened, the money it moved, and the proofs worked out again. Or a match of "
    "several rounds, TABLE.mN: how it began, what came between its rounds, how each of them and the match ended."
)
@click.argument("round_id", metavar="ROUND")
@click.option("--operator", help="Whose round; needed only if several operators have one of this name.")
@click.option("--step", type=click.IntRange(min=1), help="Only this step, with the table as everybody saw it then.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document, as GET /v1/rounds/{round}/replay gives it.")
def command(round_id: str, operator: str | None, step: int | None, *, as_json: bool) -> None:
    played = asyncio.run(_replay(Settings.from_environment().postgres, round_id, operator, step))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(played)).decode())
    elif step is not None:
        _tell_step(played, step)
    else:
        _tell(played)
    if not played.holds:
        sys.exit(1)


async def _replay(dsn: str, round_id: str, operator: str | None, step: int | None) -> Replay:
    pool = await postgres.pool(dsn, name="replay")
    after, limit = (0, STEPS_MAX) if step is None else (step - 1, 1)
    try:
        operators = await known_operators(pool, operator)
        played = [await replay(pool, each, round_id, AUDITOR, after=after, limit=limit) for each in operators]
    finally:
        await pool.close()
    match [each for each in played if each is not None]:
        case [one]:
            return one
        case []:
            raise click.ClickException(f"the log knows no round {round_id!r}; {_NAMES}")
        case _:
            raise click.ClickException(f"several operators have a round {round_id!r}: say which with --operator")


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
    _tell_proofs(played)


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


def _tell_step(played: Replay, number: int) -> None:
    if not played.steps:
        raise click.ClickException(f"{played.round} has {played.steps_in_all} steps, so no step {number}")
    step: Step = played.steps[0]
    click.echo(msgspec.json.format(msgspec.json.encode(step)).decode())

"""The verb `significant`: what of the log a regulator wants to look at."""

import asyncio
from datetime import UTC, datetime

import click
import msgspec

from infra import postgres
from infra.settings import Settings
from ops import desk
from ops.replay_all import since_of
from ops.whose import known_operators
from services.significant import Significant, SignificantKind, Thresholds, page, position_at

_PAGE = 500
_AMOUNT = click.IntRange(min=1)


@click.command(
    help="List significant events, the oldest first: changes, overrides, voids, openings, adjustments, faults.",
    epilog=f"The kinds: {', '.join(SignificantKind)}.",
)
@click.option("--operator", type=desk.ID, help="Only of this operator's log; default: of all.")
@click.option("--since", metavar="WHEN", help="Only from this day or moment on (UTC).")
@click.option(
    "--kind", metavar="KIND", type=click.Choice([each.value for each in SignificantKind]), help="Only of this kind."
)
@click.option("--large-win", metavar="AMOUNT", type=_AMOUNT, help="Also what came back to a player, from here on.")
@click.option("--large-wager", metavar="AMOUNT", type=_AMOUNT, help="Also what a player staked, from here on.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(
    operator: str | None,
    since: str | None,
    kind: str | None,
    large_win: int | None,
    large_wager: int | None,
    *,
    as_json: bool,
) -> None:
    large = Thresholds(large_win, large_wager)
    asyncio.run(
        _list(operator, since_of(since), None if kind is None else SignificantKind(kind), large, as_json=as_json)
    )


async def _list(
    operator: str | None, since: int, kind: SignificantKind | None, large: Thresholds, *, as_json: bool
) -> None:
    pool = await postgres.pool(Settings.from_environment().postgres, name="significant", size=1)
    try:
        for name in await known_operators(pool, operator):
            reached, tip = await position_at(pool, name, since), -1
            while reached != tip:
                found = await page(pool, name, reached, _PAGE, large, kind)
                reached, tip = found.reached, found.tip
                for each in found.found:
                    click.echo(_json(name, each) if as_json else _line(name, each))
    finally:
        await pool.close()


def _json(operator: str, each: Significant) -> str:
    return msgspec.json.encode({"operator": operator, **msgspec.to_builtins(each)}).decode()


def _line(operator: str, each: Significant) -> str:
    at = datetime.fromtimestamp(each.at // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    two = each.authoriser  # the role is that of whoever came last
    by = f"by {each.actor}  allowed by {two} ({each.role})" if two else f"by {each.actor} ({each.role})"
    words = [f"{at}  {operator} {each.position}  {each.kind}  {each.component}  {by}"]
    words += [f"amount {each.amount}"] if each.amount is not None else []
    words += [f"player {each.player}"] if each.player else []
    words += [f"round {each.round}"] if each.round else []
    words += [f"{_brief(each.before)} -> {_brief(each.after)}"] if (each.before, each.after) != (None, None) else []
    words += [f"because: {each.reason}"] if each.reason else []
    return "  ".join(words)


def _brief(value: object) -> str:
    return msgspec.json.encode(value).decode()

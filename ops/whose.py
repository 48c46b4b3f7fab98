"""Whose logs a verb reads: those of the operator that was named, or of all."""

import click

from infra import eventlog
from infra.postgres import Pool


async def known_operators(pool: Pool, operator: str | None = None) -> list[str]:
    """A name that is not there is refused and told with those that are."""
    known = await eventlog.operators(pool)
    if operator is None:
        return known
    if operator not in known:
        there = ", ".join(known) or "none yet: `croupier operator add NAME`"
        raise click.ClickException(f"there is no operator {operator!r}; there is {there}")
    return [operator]

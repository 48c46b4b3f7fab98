"""What the scenes of the demo share: telling the story and counting what was checked, waiting, amounts in words."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import click
import httpx

from ops.client import FrameOf, Problem

WAIT_S = 20

F = TypeVar("F", bound="FrameOf[Any]")


class Teller:
    """Tells the story on the terminal and keeps count of what was checked."""

    def __init__(self) -> None:
        self.held = 0
        self.failed: list[str] = []
        self._scenes = 0

    def scene(self, title: str) -> None:
        self._scenes += 1
        click.secho(f"\n{self._scenes}. {title}", bold=True)

    def say(self, line: str) -> None:
        click.echo(f"   {line}")

    def check(self, what: str, holds: bool) -> None:
        if holds:
            self.held += 1
        else:
            self.failed.append(what)
        click.echo(f"   {click.style('holds', fg='green') if holds else click.style('FAILS', fg='red')}  {what}")

    async def refused(self, what: str, code: str, command: Any) -> None:
        """Check that a command is refused by this rule and no other."""
        try:
            await command
            self.check(f"{what}: refused ({code})", False)
        except Problem as problem:
            facts = ", ".join(f"{name} {fact}" for name, fact in problem.facts.items())
            self.check(f"{what}: {problem.status} {problem.code}{f' ({facts})' if facts else ''}", problem.code == code)


async def first(live: AsyncGenerator[F], wanted: Callable[[F], bool]) -> F:
    """The first frame of a table's live stream that shows what is wanted."""
    async with asyncio.timeout(WAIT_S), aclosing(live) as frames:
        async for frame in frames:
            if wanted(frame):
                return frame
    raise AssertionError("a table's live stream does not end")


def money(amount: int) -> str:
    return f"{amount // 100:,}.{amount % 100:02}"


async def unless_refused(command: Any) -> None:
    try:
        await command
    except (Problem, httpx.HTTPError):
        return

"""What the verbs that manage operators, keys, tables and players share: they go in through the executor, like all.

They work on the database named by CROUPIER_POSTGRES, beside any number of running processes, and need no API.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from domain import house, texts
from domain.decider import Stream, Submission
from domain.errors import Fact
from domain.game import Role
from domain.games import GAMES
from domain.names import HOUSE, TABLE, WALLET
from domain.wallet.state import Wallet
from domain.wallet.views import view
from infra import codec, eventlog, logging, postgres
from infra.settings import Settings
from infra.vault import Vault
from ops.whose import known_operators
from services import lines
from services.api.rulebook import meaning
from services.batch import Accepted, Refused
from services.executor import Busy, Executor, NewerSchema, Unavailable, UnknownOperator

SHELL = "shell"
"""The actor of what is done by a verb: whoever may reach the database."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class _Id(click.ParamType[str]):
    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not _ID.fullmatch(value):
            self.fail("is not 1 to 64 of A-Z a-z 0-9 _ and -", param, ctx)
        return value


ID = _Id()


class _Written(click.ParamType[str]):
    """What an API would take too."""

    name = "text"

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return msgspec.convert(value, self._kind)
        except msgspec.ValidationError:
            self.fail(f"it must be {self._kind.__metadata__[0].description}", param, ctx)


WORDS, TEXT = _Written(texts.Words), _Written(texts.Text)


class _NewFile(click.Path):
    """Said before anything is done, and before an opening goes on record for a file that cannot be written."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False, writable=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        folder = Path(value).parent
        if not folder.is_dir():
            self.fail(f"there is no folder {folder}", param, ctx)
        return super().convert(value, param, ctx)


NEW_FILE = _NewFile()


class Desk:
    """One operator's log, to read from and to send commands to."""

    def __init__(self, operator: str, executor: Executor, pool: postgres.Pool) -> None:
        self.operator = operator
        self.executor = executor
        self.pool = pool

    async def send(self, stream: str, command: Any, game: str = "") -> Accepted:
        """Raises ClickException with the rule's own words if it is refused."""
        submission = Submission(self.operator, SHELL, Role.OPERATOR, stream, command, game=game)
        answer = await lines.submit(self.executor, submission)
        if isinstance(answer, Refused):
            raise click.ClickException(told(answer.rule, answer.facts, await self._game(stream)))
        assert isinstance(answer, Accepted), answer
        return answer

    async def at_table(self, table: str, kind: str) -> Any:
        """Send one of the operator's commands that has no fields; returns the table's state after it."""
        there = await self.table(table)
        await self.send(TABLE + table, msgspec.convert({"type": kind}, GAMES[there.decider].commands[Role.OPERATOR]))
        found = await self.stream(TABLE + table)
        assert found is not None
        return found

    async def table(self, table: str) -> Stream:
        found = await self.stream(TABLE + table)
        if found is None:
            raise click.ClickException(
                f"{self.operator} has no table {table!r}; `croupier table list {self.operator}` shows all"
            )
        return found

    async def _game(self, stream: str) -> str:
        found = await self.stream(stream) if stream.startswith(TABLE) else None
        return found.decider if found else ""

    async def stream(self, name: str) -> Stream | None:
        row = await self.pool.fetchrow(eventlog.SQL["stream"], self.operator, name)
        return Stream(row["decider"], row["version"], codec.decode_state(row["decider"], row["state"])) if row else None

    async def house(self) -> house.House:
        found = await self.stream(HOUSE)
        return found.state if found else house.INITIAL

    async def wallet(self, player: str) -> Wallet:
        found = await self.stream(WALLET + player)
        if found is None:
            raise click.ClickException(f"{self.operator} has no player {player!r}; GET /v1/players lists them")
        return found.state

    async def show_player(self, player: str) -> None:
        show(view(player, await self.wallet(player)))


def told(rule: str, facts: dict[str, Fact], game: str = "") -> str:
    known = ", ".join(f"{name} {fact}" for name, fact in facts.items())
    return f"{rule}: {meaning(rule, game) or 'refused'}{f' ({known})' if known else ''}"


def show(value: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


@asynccontextmanager
async def opened(operator: str) -> AsyncGenerator[Desk]:
    settings = Settings.from_environment()
    with logging.beside(settings, "desk"):
        pool = await postgres.pool(settings.postgres, name="desk", size=1)
        executor = Executor(settings.postgres, Vault({}))
        try:
            yield Desk(operator, executor, pool)
        finally:
            await executor.close()
            await pool.close()


def at_desk(operator: str, work: Callable[[Desk], Awaitable[None]], *, new: bool = False) -> None:
    """Do some work at an operator's desk; every refusal becomes one clear line and exit code 1."""

    async def do() -> None:
        async with opened(operator) as desk:
            if not new:
                await known_operators(desk.pool, operator)
            await work(desk)

    try:
        asyncio.run(do())
    except (Busy, Unavailable, UnknownOperator, NewerSchema) as problem:
        raise click.ClickException(f"the log cannot be written now: {type(problem).__name__} {problem}") from None

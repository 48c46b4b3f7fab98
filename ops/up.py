"""`croupier up`: everything on this machine, with tables to look at and bots that play, until Ctrl-C."""

import shlex
import signal
import time
from pathlib import Path
from typing import NoReturn

import click

from domain.game import Role
from domain.games import GAMES
from infra.embedded import EmbeddedError
from infra.settings import Settings, SettingsError
from ops import demo_house
from ops.client import Problem
from ops.data_folder import DEFAULT
from ops.stack import Stack, end_by_signals, heed, step
from services import selfcheck, wiring

LOOK_EVERY_S = 0.2

_ANOTHER_PROGRAM = """The code here is another than these logs expect, as after a pull: the worker's log alarms.
If that is meant: (. {data}/env; ./croupier selfcheck --accept "a new version")
"""


@click.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT,
    help="Where servers, secrets and logs are kept over restarts. Default: the folder `data` beside the script.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: any free one.")
@click.option(
    "--bots/--no-bots", default=True, show_default=True, help="Players at all tables, and a studio that deals."
)
def command(data: Path, port: int, bots: bool) -> None:
    """Run everything on this machine, with tables to look at and bots that play.

    A private Postgres and a private Valkey are started in the data folder; with CROUPIER_POSTGRES or CROUPIER_REDIS
    set, that server is used instead. Ctrl-C stops all of it; what was played is still there at the next start.
    """
    end_by_signals()
    stack = Stack(data, port=port)
    begun = time.monotonic()
    try:
        stack.start(_say)
        heed()
        keys, fresh = step(demo_house.furnished(stack.settings, stack.url, stack.data / "keys"))
        if bots:
            _start_bots(stack)
        click.echo(_where_to_look(stack, keys, fresh, time.monotonic() - begun))
        if step(_is_another_program(stack.settings)):
            click.echo(_ANOTHER_PROGRAM.format(data=shlex.quote(str(stack.data))))
        _watch_over(stack)
    except KeyboardInterrupt:
        exec("")  # noqa: S102 - where it came through an exec of text (an import), CPython would still end by SIGINT
        _say("stopping ...")
    except (EmbeddedError, Problem, SettingsError) as fault:
        raise click.ClickException(str(fault)) from fault
    finally:
        _ignore_impatience()
        stack.stop()
    _say(f"stopped; `croupier up` goes on from here (data in {stack.data})")


def _ignore_impatience() -> None:
    """The rest takes some seconds at most; a second Ctrl-C would only leave work for the next start."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)


async def _is_another_program(settings: Settings) -> bool:
    async with wiring.opened(settings, "up") as services:
        return await selfcheck.is_another_program(services.pool, demo_house.OPERATOR)


def _start_bots(stack: Stack) -> None:
    """They know the address and their keys, and none of the secrets of API and worker."""
    secrets = [f"CROUPIER_{name}" for name in ("SECRET", "VAULT_KEYS", "LOG_KEYS", "POSTGRES", "REDIS")]
    stack.add("bots", ["-m", "ops.bots", stack.url, str(stack.data / "keys")], log=False, without=secrets)


def _watch_over(stack: Stack) -> NoReturn:
    while True:
        heed()
        time.sleep(LOOK_EVERY_S)
        stack.revive(_say)


def _say(line: str) -> None:
    click.echo(click.style("· ", dim=True) + line)


def _where_to_look(stack: Stack, keys: demo_house.Keys, fresh: list[Role], seconds: float) -> str:
    data, url = shlex.quote(str(stack.data)), stack.url
    told = [f"\nCroupier is up ({seconds:.1f} s).\n"]
    if fresh:
        told.append("Keys of the operator `demo`, shown this once; the log holds only their digests:")
        told += [f"  {role:<11}{keys[role]}" for role in fresh]
        told.append(f"For bots and for you they are also kept in {data}/keys (files that only you can read).\n")
    else:
        told.append(f"Keys of the operator `demo` are in {data}/keys.\n")
    told += [
        "Where to look:",
        f"  API to try     {url}/docs",
        f"  tables         {_tables(url)}",
        f"  health         {url}/health/ready     metrics  {url}/metrics",
        f"  logs           {data}/api.log, worker.log, postgres.log, redis.log",
        f"  other verbs    (. {data}/env; ./croupier reconcile), or any other\n",
        "Try:",
        f'  curl -s {url}/v1/tables/rng-1 -H "Authorization: Bearer $(cat {data}/keys/operator)"',
        "README.md goes on from there. Ctrl-C stops everything.\n",
    ]
    return "\n".join(told)


def _tables(url: str) -> str:
    """A line a game."""
    of_games = {game: [f"{url}/v1/tables/{table}" for table in tables] for game, tables in demo_house.TABLES.items()}
    lines = [f"{', '.join(addresses)}   {GAMES[game].title}" for game, addresses in of_games.items()]
    return f"\n{'':17}".join(lines)

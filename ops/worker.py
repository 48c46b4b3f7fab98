"""`croupier worker`: relay, projections, timers and settlement, in one process of which any number may run."""

import asyncio
import signal
from pathlib import Path

import click
import uvloop

from infra import collector, logging
from infra.settings import Settings
from services.worker import work


@click.command(help="Run the relay, the projections, the timers and settlement. Any number of workers may run at once.")
@click.option(
    "--heartbeat",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file to touch each second while relay, projections and timers go round: health is its age.",
)
def command(heartbeat: Path | None) -> None:
    settings = Settings.from_environment()
    if heartbeat:
        _check(heartbeat)
    logging.configure(settings, "worker")
    collector.calm()
    uvloop.run(_until_told(settings, heartbeat))


def _check(heartbeat: Path) -> None:
    """Better said now than by whoever watches the file, and ends the worker for it."""
    try:
        heartbeat.touch()
    except OSError as fault:
        raise click.BadParameter(
            f"{heartbeat} cannot be written ({fault.strerror})", param_hint="--heartbeat"
        ) from None


async def _until_told(settings: Settings, heartbeat: Path | None) -> None:
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    await work(settings, stop, heartbeat)

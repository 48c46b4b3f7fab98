"""`croupier worker`: relay, projections, timers and settlement, in one process of which any number may run."""

import asyncio
import signal

import click
import uvloop

from infra import logging
from infra.settings import Settings
from services.worker import work


@click.command(help="Run the relay, the projections, the timers and settlement. Any number of workers may run at once.")
def command() -> None:
    settings = Settings.from_environment()
    logging.configure(settings, "worker")
    uvloop.run(_until_told(settings))


async def _until_told(settings: Settings) -> None:
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    await work(settings, stop)

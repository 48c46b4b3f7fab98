"""`croupier api`: the HTTP API, in one process of which any number may run beside each other."""

import asyncio
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

import click
import structlog
import uvicorn
import uvloop

from infra import collector, logging
from infra.settings import Settings
from services.api.app import create_app
from services.api.wire import Wire
from services.wiring import opened, warn_of_too_many_rights

log: Any = structlog.get_logger()

STOP_S = 2
"""For requests on their way when the process is told to end; whatever is still there after it is cut off."""


@click.command(help="Serve HTTP on CROUPIER_HOST and CROUPIER_PORT. Any number of these may run at once.")
@click.option("--socket", "unix_socket", help="Listen on this unix socket instead.")
def command(unix_socket: str | None) -> None:
    settings = Settings.from_environment()
    logging.configure(settings, "api")
    uvloop.run(serve(settings, unix_socket))


async def serve(settings: Settings, unix_socket: str | None = None) -> None:
    """Serve until SIGTERM or SIGINT; a second one ends at once."""
    async with opened(settings, "api") as services:
        app = create_app(services)
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            uds=unix_socket,
            loop="none",
            http=Wire,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=STOP_S,
        )
        server = _Server(config)
        collector.calm()

        def stop() -> None:
            app.end()  # streams of events would else hold the process until their time is over
            server.force_exit, server.should_exit = server.should_exit, True

        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, stop)
        beside = [asyncio.create_task(part) for part in (app.watch.run(), warn_of_too_many_rights(services.pool))]
        try:
            await server.serve()
        finally:
            for task in beside:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


class _Server(uvicorn.Server):
    """Uvicorn, but it says in our words where it serves, and signals are ours: it would raise them again at its end,
    and exit with 143 for an orderly stop."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for name in (each.getsockname() for server in self.servers for each in server.sockets):
            told = {"socket": name} if isinstance(name, str) else {"host": name[0], "port": name[1]}
            log.info("serving", **told)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

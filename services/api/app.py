"""The Litestar application: everything put together."""

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.types import Receive, Scope, Send

from services.api import players, problems, tables
from services.api.auth import Gate
from services.api.commands import Counter, Door
from services.api.parts import Asked, Parts, Tables
from services.api.problems import BODY_MAX, Problem
from services.api.tables import TableCommands
from services.wiring import Services


class Api(Litestar):
    """Litestar, but for the one route that nearly all traffic takes."""

    table_commands: TableCommands

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        table = self.table_commands.table_of(scope)
        if table is None:
            await super().__call__(scope, receive, send)
        else:
            await self.table_commands.handle(table, scope, receive, send)


def create_app(services: Services) -> Api:
    secret, pool = services.settings.secret, services.pool
    counter = Counter()
    parts = Parts(services, Gate(pool, secret), Door(services.executor, secret, counter), Tables(pool))
    app = Api(
        [Router("/v1", route_handlers=[*players.HANDLERS, *tables.HANDLERS])],
        exception_handlers={
            Problem: problems.on_problem,
            HTTPException: problems.on_http_exception,
            Exception: problems.on_exception,
        },
        state=State({"parts": parts}),
        request_class=Asked,
        request_max_body_size=BODY_MAX,
        openapi_config=None,
        logging_config=None,
    )
    app.table_commands = TableCommands(parts)
    return app

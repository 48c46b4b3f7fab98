"""The Litestar application: everything put together."""

from collections.abc import Mapping
from typing import Any, cast

from litestar import Litestar, Request, Router
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.plugins.prometheus import PrometheusConfig
from litestar.types import LifeSpanReceive, LifeSpanScope, LifeSpanSend, Receive, Scope, Send

from services.api import (
    disputes,
    docs,
    dossiers,
    health,
    incidents,
    keys,
    pages,
    players,
    problems,
    proofs,
    proposals,
    records,
    reports,
    resettlements,
    rounds,
    selfchecks,
    significant,
    sse,
    tables,
)
from services.api.auth import Gate
from services.api.bodies import check_query
from services.api.commands import Door
from services.api.feed import Hub
from services.api.lines import tell_request
from services.api.parts import Asked, Parts, Tables
from services.api.problems import BODY_MAX
from services.api.tables import TableCommands, table_commanded
from services.watch import Watch
from services.wiring import Services

_COUNTING = PrometheusConfig(app_name="api", prefix="croupier_http", group_path=True)


def told(request: Request[Any, Any, Any]) -> None:
    """Reads have a line of the log too, as all that is asked with a key; commands have had theirs."""
    scope = cast("Mapping[str, Any]", request.scope)
    if "user" in scope and (request.method == "GET" or scope["path"] == "/v1/sessions"):
        tell_request(scope, 200, "Read" if request.method == "GET" else "Minted")


class Api(Litestar):
    """Litestar, but for the one route that nearly all traffic takes."""

    table_commands: TableCommands
    hub: Hub
    watch: Watch
    """To be run beside the server: it tells the log who came."""

    def end(self) -> None:
        """The process is about to end: let those go who follow a table, they will come again elsewhere."""
        self.hub.close()

    async def __call__(
        self, scope: Scope | LifeSpanScope, receive: Receive | LifeSpanReceive, send: Send | LifeSpanSend
    ) -> None:
        if scope["type"] == "http" and (table := table_commanded(scope)):
            await self.table_commands.handle(table, scope, cast("Receive", receive), cast("Send", send))
        else:
            await super().__call__(scope, receive, send)


_V1 = (
    *players.HANDLERS,
    *tables.HANDLERS,
    *sse.HANDLERS,
    *rounds.HANDLERS,
    *dossiers.HANDLERS,
    *records.HANDLERS,
    *proofs.HANDLERS,
    *reports.HANDLERS,
    *selfchecks.HANDLERS,
    *significant.HANDLERS,
    *proposals.HANDLERS,
    *resettlements.HANDLERS,
    *incidents.HANDLERS,
    *disputes.HANDLERS,
    *keys.HANDLERS,
)


def create_app(services: Services) -> Api:
    secret, pool = services.settings.secret, services.pool
    hub, watch = Hub(pool, services.redis), Watch(services.executor)
    door = Door(services.executor, services.vault, secret)
    parts = Parts(services, Gate(pool, secret, watch), door, Tables(pool), hub)
    app = Api(
        [
            Router(
                "/v1",
                route_handlers=_V1,
                include_in_schema=False,
                middleware=[_COUNTING.middleware],
                before_request=check_query,
            ),
            *health.HANDLERS,
            *pages.HANDLERS,
            docs.assets,
        ],
        exception_handlers={
            HTTPException: problems.on_http_exception,
            Exception: problems.on_exception,
        },
        state=State({"parts": parts}),
        after_response=told,
        request_class=Asked,
        request_max_body_size=BODY_MAX,
        openapi_config=docs.config(),
        logging_config=None,
    )
    app.table_commands, app.hub, app.watch = TableCommands(parts), hub, watch
    return app

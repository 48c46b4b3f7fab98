"""Significant events, as a regulator reads them: who did what, who allowed it, why, before and after."""

from typing import Annotated

from litestar import get
from litestar.params import FromQuery, QueryParameter
from msgspec import Meta

from domain.game import Role
from domain.money import AMOUNT_MAX
from services import significant
from services.api.auth import may
from services.api.bodies import Limit, Position
from services.api.parts import Asked
from services.significant import SignificantKind, SignificantPage, Thresholds

Threshold = Annotated[Annotated[int, Meta(ge=1, le=AMOUNT_MAX)] | None, QueryParameter(ge=1, le=AMOUNT_MAX)]


@get("/significant", guards=[may(Role.AUDITOR, Role.OPERATOR, Role.SUPERVISOR)])
async def read_significant(
    request: Asked,
    kind: FromQuery[SignificantKind | None] = None,
    cursor: Position = 0,
    limit: Limit = 100,
    large_win: Threshold = None,
    large_wager: Threshold = None,
) -> SignificantPage:
    """Significant events after the position `cursor`, in the order of the log: changes of keys, tables and players,
    overrides, voids, openings, adjustments, faults, failed self-checks; wins and wagers of at least `large_win` and
    `large_wager` where these are given. A request reads a stretch of the log, and may find nothing in it: go on with
    `reached` as the cursor until it is the `tip`."""
    large = Thresholds(large_win, large_wager)
    return await significant.page(request.parts.pool, request.caller.operator, cursor, limit, large, kind)


HANDLERS = (read_significant,)

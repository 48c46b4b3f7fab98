"""Reports, each as of a position of the log that is printed on it."""

from datetime import date
from typing import Annotated, Literal, NoReturn

from litestar import Response, get
from litestar.params import FromPath, QueryParameter
from msgspec import Meta, Struct

from domain.game import Role
from domain.money import AMOUNT_MAX
from services.api.auth import may
from services.api.parts import Asked
from services.api.problems import Problem
from services.reports import make, sheet
from services.reports.days import GamingDays
from services.reports.make import Listed
from services.reports.report import BadQuestion, Body, Header, Question

REPORTING = may(Role.AUDITOR, Role.OPERATOR, Role.SUPERVISOR)
Bounded = Annotated[int | None, QueryParameter(ge=1, le=AMOUNT_MAX)]
Text = Annotated[str, Meta(max_length=100), QueryParameter(max_length=100)]


class ReportFile(Struct, frozen=True):
    """The bytes of `body` depend on the question and the log alone: under the same software they are the same whenever
    it is asked again of the same position. `header.body_sha256` is over them."""

    header: Header
    body: Body


class ReportList(Struct, frozen=True):
    reports: tuple[Listed, ...]


@get("/reports", guards=[REPORTING])
async def list_reports(request: Asked) -> ReportList:
    """The reports that can be asked for, and what is in each."""
    return ReportList(make.listed())


@get("/reports/{name:str}", guards=[REPORTING], besides=[422])
async def read_report(
    request: Asked,
    name: FromPath[str],
    position: Bounded = None,
    from_: Annotated[str, Meta(max_length=100), QueryParameter(name="from", max_length=100)] = "",
    to: Text = "",
    threshold: Bounded = None,
    format_: Annotated[Literal["json", "csv"], QueryParameter(name="format")] = "json",
) -> Response[ReportFile]:
    """A report, computed from the log up to `position`; without it, up to where the log stands now. `from` and `to` are
    gaming days, as 2026-11-30, both included. `threshold` is of large wins, in minor units. `format=csv` gives the same
    for a spreadsheet."""
    settings, operator = request.parts.services.settings, request.caller.operator
    days = GamingDays(settings.time_zone, settings.day_begins)
    question = Question(name, position, _day("from", from_), _day("to", to), threshold)
    try:
        made = await make.make(request.parts.pool, operator, question, days)
    except BadQuestion as bad:
        _refuse(name, bad)
    csv = format_ == "csv"
    raw = sheet.as_csv(made) if csv else sheet.as_json(made)
    headers = {"content-disposition": f'attachment; filename="{name}.{made.header.position}.{format_}"'}
    media_type = "text/csv; charset=utf-8; header=present" if csv else "application/json"
    whole: Response[ReportFile] = Response(raw, media_type=media_type, headers=headers)  # type: ignore[arg-type]
    return whole


def _day(name: str, text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        detail = f"`{name}` is a gaming day, as 2026-11-30."
        raise Problem(400, "BadParameter", detail, facts={"parameter": name}) from None


def _refuse(name: str, bad: BadQuestion) -> NoReturn:
    if bad.code == "NoSuchReport":
        detail = f"There is no report {name[:100]!r}. GET /v1/reports lists those that there are."
        raise Problem(404, "NotFound", detail, facts={"report": name[:100]}) from None
    raise Problem(422, bad.code, str(bad), facts=bad.facts) from None


HANDLERS = (list_reports, read_report)

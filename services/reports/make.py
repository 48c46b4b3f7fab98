"""A report made: the log read in pages up to a position, folded, and told with its header.

Never from projections, which move on. Memory grows with tables, open bets and the report's own rows.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from domain.disputes import DisputeOpened
from domain.house import OperatorOpened
from domain.money import AMOUNT_MAX
from domain.names import HOUSE, WALLET
from infra import eventlog
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.sql import queries
from services.reports import REPORTS
from services.reports.days import GamingDays
from services.reports.report import (
    NO_ACTIVITY,
    SOFTWARE,
    BadQuestion,
    Body,
    Cell,
    Fold,
    Header,
    Kind,
    Period,
    Question,
    Read,
    Report,
)

SQL = queries("reports")
PAGE = 1_000
"""Small: whoever else is served by this process waits while a page is folded."""
ROWS_MAX = 50_000


async def make(pool: Pool, operator: str, question: Question, days: GamingDays) -> Report:
    """Raises BadQuestion, and LogTorn where the log has a hole."""
    kind = _checked(question)
    tip = await eventlog.tip(pool, operator)
    stands = tip.position if tip else 0
    position = stands if question.position is None else question.position
    if not 1 <= position <= stands:
        detail = f"The log ends at position {stands}: ask as of one from 1 to that."
        raise BadQuestion("NoSuchPosition", detail, position=position, tip=stands)
    threshold = kind.threshold if question.threshold is None else question.threshold
    fold, last = kind.fold(threshold or 0), None
    async for last in _read(pool, operator, position, kind, question, days):
        fold.take(last)
        if len(fold) > ROWS_MAX:
            detail = f"It would have more than {ROWS_MAX:,} rows: ask for a shorter period."
            raise BadQuestion("TooManyRows", detail, limit=ROWS_MAX)
    assert last is not None
    body = _body(kind, fold)
    filters: dict[str, Cell] = {} if threshold is None else {"threshold": threshold}
    header = Header(
        operator=operator,
        operator_name=await _name(pool, operator),
        report=kind.name,
        title=kind.title,
        edition=kind.edition,
        period=Period(question.first, question.last, days.time_zone, days.begins) if kind.has_period else None,
        filters=filters,
        position=position,
        hash=last.row.hash.hex(),
        as_of=last.row.at,
        generated_at=await pool.fetchval(SQL["now"]),
        software=SOFTWARE,
        totals=_totals(kind, body),
        rows=len(body.rows),
        activity="" if body.rows else NO_ACTIVITY,
        body_sha256="",
    )
    return Report(header, body)


def _checked(question: Question) -> Kind:
    kind = REPORTS.get(question.name)
    if kind is None:
        raise BadQuestion("NoSuchReport", f"There is no report {question.name[:100]!r}; there is {', '.join(REPORTS)}.")
    first, last = question.first, question.last
    if not kind.has_period and (first or last):
        detail = f"{kind.name} tells how things stand at a position: it has no days to begin or end with."
        raise BadQuestion("NoPeriodHere", detail)
    if first and last and first > last:
        detail = f"The period ends on {last}, before it begins on {first}."
        raise BadQuestion("PeriodEndsBeforeItBegins", detail, first=str(first), last=str(last))
    if question.threshold is not None and kind.threshold is None:
        raise BadQuestion("NoThresholdHere", f"{kind.name} takes no threshold.", threshold=question.threshold)
    if question.threshold is not None and not 1 <= question.threshold <= AMOUNT_MAX:
        raise BadQuestion("BadThreshold", f"A threshold is a whole number of minor units from 1 to {AMOUNT_MAX}.")
    return kind


async def _read(
    pool: Pool, operator: str, position: int, kind: Kind, question: Question, days: GamingDays
) -> AsyncIterator[Read]:
    at = 0
    while at < position:
        rows = await eventlog.after(pool, operator, at, min(PAGE, position - at))
        if not rows:
            raise eventlog.LogTorn(f"{operator}: position {at + 1} is missing from the log")
        currencies = await _currencies(pool, operator, rows) if kind.asks_currency else {}
        for row in rows:
            day = days.of(row.at)
            within = (question.first or day) <= day <= (question.last or day)
            yield Read(row, day, within, currencies.get(_wallet_of(row) or "", ""))
        at = rows[-1].position


async def _currencies(pool: Pool, operator: str, rows: Sequence[EventRow]) -> dict[str, str]:
    """Of the wallets of a page: not of all, there may be millions."""
    wallets = list({wallet for row in rows if (wallet := _wallet_of(row))})
    found = await pool.fetch(SQL["currencies"], operator, wallets) if wallets else []
    return {record["stream"]: record["currency"] for record in found}


def _wallet_of(row: EventRow) -> str | None:
    """Whose currency the event is told in."""
    if isinstance(row.event, DisputeOpened):
        return WALLET + row.event.player
    return row.stream if row.stream.startswith(WALLET) else None


async def _name(pool: Pool, operator: str) -> str:
    """What the operator is called, by the first event of its house."""
    async for row in eventlog.of_stream(pool, operator, HOUSE):
        return row.event.name if isinstance(row.event, OperatorOpened) else ""
    return ""


def _body(kind: Kind, fold: Fold) -> Body:
    return Body(kind.row.__struct_fields__, tuple(msgspec.structs.asdict(row) for row in fold.rows()))


def _totals(kind: Kind, body: Body) -> tuple[dict[str, Cell], ...]:
    sums: dict[str, dict[str, Any]] = {}
    for row in body.rows if kind.sums else ():
        total = sums.setdefault(str(row["currency"]), dict.fromkeys(kind.sums, 0))
        for name in kind.sums:
            total[name] += row[name]
    return tuple({"currency": currency, **sums[currency]} for currency in sorted(sums))


class Listed(Struct, frozen=True):
    """A report that can be asked for, with its columns, and the threshold that it takes if no other is asked for."""

    name: str
    title: str
    words: str
    columns: tuple[str, ...]
    has_period: bool
    threshold: int | None


def listed() -> tuple[Listed, ...]:
    return tuple(
        Listed(each.name, each.title, each.words, each.row.__struct_fields__, each.has_period, each.threshold)
        for each in REPORTS.values()
    )

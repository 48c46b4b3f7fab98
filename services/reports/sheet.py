"""A report as bytes, JSON or CSV: a header, then a body whose bytes depend on the question and the log alone."""

import csv
import hashlib
import io
import re
from collections.abc import Iterable

import msgspec
from msgspec.structs import asdict, replace

from services.reports.report import Cell, Header, Report

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def as_json(report: Report) -> bytes:
    """`{"header":...,"body":...}` and a newline."""
    body = msgspec.json.encode(report.body)
    return b'{"header":%b,"body":%b}\n' % (msgspec.json.encode(_with_sum(report.header, body)), body)


def as_csv(report: Report) -> bytes:
    """The header, a line for each thing it says; an empty line; the columns and rows, by RFC 4180."""
    body = _lines([report.body.columns, *([row[name] for name in report.body.columns] for row in report.body.rows)])
    return _lines(_told(_with_sum(report.header, body))) + b"\r\n" + body


def _with_sum(header: Header, body: bytes) -> Header:
    return replace(header, body_sha256=hashlib.sha256(body).hexdigest())


def _told(header: Header) -> Iterable[list[Cell]]:
    for name, value in asdict(header).items():
        match value:
            case int() | str() | None:
                yield [name, value]
            case tuple():
                for total in header.totals:
                    yield ["total", *(cell for pair in total.items() for cell in pair)]
            case _:
                told: dict[str, Cell] = msgspec.to_builtins(value)
                for field, cell in told.items():
                    yield [f"{name} {field}", cell]


def _lines(rows: Iterable[Iterable[Cell]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([_safe(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def _safe(cell: Cell) -> Cell:
    """Text that a spreadsheet would take for a formula begins with an apostrophe; numbers stay as they are."""
    if isinstance(cell, str) and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell

"""Rounds and matches that are over, as the log tells them: what opened them, how they came out, how they ended."""

from collections.abc import AsyncIterator, Iterable

from domain.game import Ended
from domain.games import GAMES
from domain.names import TABLE, table_of
from domain.wallet.events import CashedOut, OwedTaken
from infra import eventlog
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.sql import queries
from services.projections.rounds import ends, is_match, match_of

SQL = queries("replay")

CASH_OUTS_MAX = 32
"""No match has half as many players, and of what each wins something owed may be taken."""


def query_of(round_id: str) -> str:
    """The name of the query that finds these events: by operator, round and the table's stream."""
    return "ended_match" if is_match(round_id) else "ended"


async def is_there(pool: Pool, operator: str, round_id: str) -> bool:
    """Does the log know such a round or match, over or not?"""
    if is_match(round_id):
        query = query_of(round_id)
        return bool(await pool.fetch(eventlog.SQL[query], operator, round_id, TABLE + table_of(round_id)))
    first = await pool.fetchrow(eventlog.SQL["events_of_round"], operator, round_id, 0, 1)
    return first is not None and first["type"].partition(".")[0] in GAMES


def ended_of(round_id: str, rows: Iterable[EventRow]) -> Ended | None:
    """None as long as it is on, or where there is none. Other events may be among them."""
    opened = resulted = None
    for row in rows:
        game, _, name = row.type.partition(".")
        if game not in GAMES or not (match_of(row) == round_id if is_match(round_id) else row.round == round_id):
            continue
        if name == ("MatchOpened" if is_match(round_id) else "RoundOpened"):
            opened = row.event
        elif name == "RoundResulted":
            resulted = row.event
        elif ends(row) and name.startswith("Match") is is_match(round_id) and opened is not None:
            return Ended(game, opened, resulted, row.event)
    return None


async def of_match(pool: Pool, operator: str, match: str) -> AsyncIterator[EventRow]:
    """The table's events from the match's opening to its end, its rounds among them; and what the end gave to wallets,
    which the same command recorded after it."""
    table = table_of(match)
    version: int | None = await pool.fetchval(SQL["match_opened"], operator, TABLE + table, match)
    if version is None:
        return
    async for row in eventlog.of_stream(pool, operator, TABLE + table, version - 1):
        yield row
        if match_of(row) == match and ends(row):
            break
    else:
        return
    for record in await pool.fetch(eventlog.SQL["events_after"], operator, row.position, CASH_OUTS_MAX):
        paid = eventlog.row_of(record)  # a gap is no reason not to tell the rest: what is missing, a proof misses
        if isinstance(paid.event, OwedTaken) and paid.at == row.at:
            continue
        if not (isinstance(paid.event, CashedOut) and paid.event.table == table and paid.at == row.at):
            break
        yield paid
    async for row in eventlog.of_round(pool, operator, match):
        yield row

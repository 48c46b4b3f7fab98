"""Resettling: a settled round is settled once more for every one of its players, some hundred in a step.

How far it came stands in the resettlement's own state, and a step names it, so that the work may begin again after any
crash, and twice at once. Who is to be settled with, and how each wager was paid last, is read from the log, which does
not change; what it is paid now the decider works out by the game's own rules.
"""

from typing import Any

from domain import resettlements
from domain.decider import Submission
from domain.game import Ended, Role
from domain.names import RESETTLEMENT, TABLE, WALLET, table_of
from domain.resettlements import Advance, Complete, Paid, Resettlement
from infra import codec, eventlog
from infra.postgres import Pool
from infra.sql import queries
from services.ended import ended_of, query_of
from services.executor import Executor
from services.lines import submit
from services.settlement import PLATFORM

SQL = queries("resettled")
STEP = 100
"""Players: a step holds the log's lock for as long as some hundred bets would."""


async def resettle_round(executor: Executor, pool: Pool, operator: str, round_id: str) -> None:
    """Run the round's resettlement to its end, from wherever it is."""
    ended = await read_ended(pool, operator, round_id)
    assert ended is not None, "what is resettled was settled"
    while (state := await _state(pool, operator, round_id)) is not None:
        players = await _next(pool, operator, state, ended)
        if players:
            until = players[-1][0]
            bettors = tuple(paid for _, paid in players)
            command: Any = Advance(state.number, state.after, until, bettors, ended)
        else:
            [sums] = await pool.fetch(SQL["sums"], operator, round_id, state.number)
            command = Complete(state.number, state.after, sums["players"], sums["gained"], sums["owed"])
        await submit(executor, Submission(operator, PLATFORM, Role.CLOCK, RESETTLEMENT + round_id, command))


async def read_ended(pool: Pool, operator: str, round_id: str) -> Ended | None:
    """The round, or match, if it is over."""
    query = eventlog.SQL[query_of(round_id)]
    records = await pool.fetch(query, operator, round_id, TABLE + table_of(round_id))
    return ended_of(round_id, map(eventlog.row_of, records))


async def _state(pool: Pool, operator: str, round_id: str) -> Resettlement | None:
    """None once there is nothing left to do."""
    row = await pool.fetchrow(eventlog.SQL["stream"], operator, RESETTLEMENT + round_id)
    state = codec.decode_state("resettlement", row["state"]) if row else None
    return state if isinstance(state, Resettlement) and state.due is not None else None


async def _next(pool: Pool, operator: str, state: Resettlement, ended: Ended) -> list[tuple[int, Paid]]:
    """The next players, each with the position at which the log tells how he was paid last."""
    if state.number == 1 and (held := resettlements.paid_out(ended)):
        return [] if state.after else [(1, each) for each in held]
    query = SQL["settled"] if state.number == 1 else SQL["resettled"]
    arguments = (operator, state.round, state.after, STEP, *(() if state.number == 1 else (state.number - 1,)))
    rows = [eventlog.row_of(record) for record in await pool.fetch(query, *arguments)]
    return [(row.position, Paid(row.stream.removeprefix(WALLET), row.event.payouts)) for row in rows]

"""Operators: the casino brands that integrate. Each has one log, opened here."""

from domain import house
from domain.decider import Submission
from domain.game import Role
from domain.names import HOUSE
from infra import eventlog
from infra.eventlog import SQL
from infra.postgres import Pool
from infra.sql import queries
from services.batch import Accepted
from services.executor import Executor
from services.lines import submit
from services.settlement import PLATFORM


async def open_operator(executor: Executor, pool: Pool, operator: str, name: str) -> bool:
    """Open an operator's log. Returns False, and changes nothing, where there is one already."""
    system, genesis = await pool.fetchval(SQL["system"]), eventlog.genesis(operator, 1)
    await pool.execute(queries("executor")["open_log"], operator, 1, genesis, system)
    answer = await submit(executor, Submission(operator, PLATFORM, Role.OPERATOR, HOUSE, house.OpenOperator(name)))
    return isinstance(answer, Accepted)

"""Rounds, and matches of several rounds: their results, who bet in them, and any round played again from its events."""

from typing import Annotated

from litestar import get
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec import Struct
from msgspec.structs import replace

from domain.decider import table_of
from domain.game import Role
from infra.sql import queries
from services.api import problems
from services.api.auth import may
from services.api.bodies import Cursor, Limit, Position, checked_id, checked_round, cursor_after
from services.api.parts import Asked
from services.api.problems import Problem
from services.projections import rounds
from services.projections.rounds import is_match
from services.replay import Replay, replay

SQL = queries("api")
Step = Annotated[int | None, QueryParameter(ge=1, le=1_000_000_000)]


class RoundPage(Struct, frozen=True):
    """Rounds, the newest first; `next` is the cursor of older ones."""

    rounds: tuple[rounds.Round, ...]
    next: int | None


class RoundResult(Struct, frozen=True):
    """A round and who bet in it, by name; to a player only the player's own bets. `next` is the cursor of more.

    Where players hold chips, a bettor has one wager: all that went into the pot from the seat, and what was won of it.
    """

    round: rounds.Round
    bettors: tuple[rounds.Bettor, ...]
    next: str | None


READERS = may(Role.OPERATOR, Role.SUPERVISOR, Role.AUDITOR, Role.STUDIO, Role.PLAYER)


@get("/rounds", guards=[READERS])
async def list_rounds(
    request: Asked,
    table: FromQuery[str | None] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
    after: Position = 0,
) -> RoundPage:
    """Rounds of a table, or of all tables; where a match is played in several rounds, the match as well."""
    operator = request.caller.operator
    if table is not None:
        await request.parts.tables.game_at(operator, table)
    await request.parts.visible(operator, "rounds", after)
    page = await rounds.page(request.parts.pool, operator, table, before=cursor, limit=limit)
    return RoundPage(tuple(page), cursor_after(page, limit, lambda each: each.first))


@get("/rounds/{round_id:str}", guards=[READERS])
async def read_round(
    request: Asked,
    round_id: FromPath[str],
    cursor: FromQuery[str] = "",
    limit: Limit = 100,
    after: Position = 0,
) -> RoundResult:
    """A round's result, and every wager in it with its odds and what it returned; or a match's."""
    caller, pool = request.caller, request.parts.pool
    await request.parts.visible(caller.operator, "rounds", after)
    found = await rounds.one(pool, caller.operator, checked_round(round_id))
    if found is None:
        raise problems.not_found("round", round_id)
    if caller.role is Role.STUDIO:
        return RoundResult(found, (), None)
    if caller.role is Role.PLAYER:
        own = await pool.fetchrow(SQL["bettor"], caller.operator, round_id, caller.actor)
        return RoundResult(found, (rounds.bettor_of(own),) if own else (), None)
    bettors = await rounds.bettors(
        pool, caller.operator, round_id, after=checked_id("player", cursor) if cursor else "", limit=limit
    )
    return RoundResult(found, tuple(bettors), bettors[-1].player if len(bettors) == limit else None)


@get("/rounds/{round_id:str}/replay", guards=[READERS])
async def replay_round(
    request: Asked,
    round_id: FromPath[str],
    step: Step = None,
    cursor: Position = 0,
    limit: Limit = 1_000,
) -> Replay:
    """Play a round again from its events, step by step as the caller saw it, with what it proves. `step` gives that
    step alone; else steps after number `cursor`."""
    caller = request.caller
    after, most = (cursor, limit) if step is None else (step - 1, 1)
    parts, round_ = request.parts, checked_round(round_id)
    open_seed = parts.open_of(caller.operator)
    played = await replay(parts.pool, caller.operator, round_, caller.viewer, open_seed, after=after, limit=most)
    if played is None:
        raise await not_played(request, round_)
    if step is not None and not played.steps:
        raise problems.not_found("step", str(step))
    if caller.role is Role.PLAYER:  # a proof that fails names whose bet it is about
        return replace(played, proofs=tuple(replace(proof, failed=()) for proof in played.proofs))
    return played


async def not_played(request: Asked, round_id: str) -> Problem:
    if not is_match(round_id) or await rounds.one(request.parts.pool, request.caller.operator, round_id) is None:
        return problems.not_found("round", round_id)
    table = table_of(round_id)
    detail = (
        f"{round_id} is a match, which is replayed round by round: GET /v1/rounds?table={table} lists its rounds, each "
        f"with the match in its result. Who won the match, and what, stands in GET /v1/rounds/{round_id}."
    )
    return Problem(422, "ReplayItsRounds", detail, facts={"match": round_id, "table": table})


HANDLERS = (list_rounds, read_round, replay_round)

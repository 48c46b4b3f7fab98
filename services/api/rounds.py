"""Rounds, and matches of several: their results, who bet in them, and any of them played again from its events."""

from typing import Annotated

from litestar import Response, get
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec import Struct

from domain.game import Role
from infra.sql import queries
from services import viewers
from services.api import bets, problems
from services.api.auth import may
from services.api.bets import Bettor, Gain
from services.api.bodies import Cursor, Limit, Position, checked_id, checked_round, cursor_after
from services.api.parts import Asked
from services.api.problems import Problem
from services.openings import RoundIsOn
from services.projections import resettled, rounds
from services.replay import Replay
from services.round_text import written
from services.viewers import Window, replay_as

SQL = queries("api")
Step = Annotated[int | None, QueryParameter(ge=1, le=1_000_000_000)]
As = Annotated[str, QueryParameter(name="as")]
"""As whom: `onlooker`, a role of staff, or a player (`player:NAME` for one who is called as these are)."""


class RoundPage(Struct, frozen=True):
    """Rounds, the newest first; `next` is the cursor of older ones."""

    rounds: tuple[rounds.Round, ...]
    next: int | None
    resettled: tuple[str, ...] = ()
    """Those of them that were settled once more; the rows above stay as they were settled."""


class RoundResult(Struct, frozen=True):
    """A round and who bet in it, by name; to a player only the player's own bets. `next` is the cursor of more.

    Where players hold chips, a bettor has one wager: all that went into the pot from the seat, and what was won of it.
    """

    round: rounds.Round
    bettors: tuple[Bettor, ...]
    next: str | None
    resettled: tuple[Gain, ...] = ()
    """How the round came to these bettors when it was settled once more; the rows above stay as it was settled."""


_TOLD = """game teen_patti_2020 at table-1
# table-1.42 as ann saw it, view 1, ended
# 0:00 is 2026-01-01 00:00:00.000000 UTC
0:05        ann          PlaceBet wagers=player_a:500,tie:100
        -> ann: BetStaked bet=bet-0001:... amount=600 before=10000 after=9400
        = ann: balance=9400
"""
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
    again = await resettled.among(request.parts.pool, operator, [each.round for each in page])
    return RoundPage(tuple(page), cursor_after(page, limit, lambda each: each.first), tuple(again))


@get("/rounds/{round_id:str}", guards=[READERS])
async def read_round(
    request: Asked,
    round_id: FromPath[str],
    cursor: FromQuery[str] = "",
    limit: Limit = 100,
    after: Position = 0,
) -> RoundResult:
    """A round's result, and every wager in it with its odds, what became of it and what it returned; or a match's."""
    caller, pool = request.caller, request.parts.pool
    await request.parts.visible(caller.operator, "rounds", after)
    found = await rounds.one(pool, caller.operator, checked_round(round_id))
    if found is None:
        raise problems.not_found("round", round_id)
    if caller.role is Role.STUDIO:
        return RoundResult(found, (), None)
    if caller.role is Role.PLAYER:
        own = await pool.fetchrow(SQL["bettor"], caller.operator, round_id, caller.actor)
        again = await resettled.of_round(pool, caller.operator, round_id, [caller.actor])
        told, gains = await bets.told(pool, caller.operator, [rounds.bettor_of(own)] if own else [], again)
        return RoundResult(found, told, None, gains)
    rows = await rounds.bettors(
        pool, caller.operator, round_id, after=checked_id("player", cursor) if cursor else "", limit=limit
    )
    again = await resettled.of_round(pool, caller.operator, round_id, [each.player for each in rows])
    told, gains = await bets.told(pool, caller.operator, rows, again)
    return RoundResult(found, told, rows[-1].player if len(rows) == limit else None, gains)


@get("/rounds/{round_id:str}/replay", guards=[READERS], besides=[409, 422])
async def replay_round(
    request: Asked,
    round_id: FromPath[str],
    as_: As = "",
    step: Step = None,
    cursor: Position = 0,
    limit: Limit = 1_000,
    frames: FromQuery[bool] = False,
) -> Replay:
    """Play a round again from its events, step by step as the caller saw it, with what it proves. `step` gives that
    step alone; else steps after number `cursor`. A match (`table-1.m3`) is played again as well: how it began, what
    came between its rounds, how each of them and the match ended, its entries and its prize. What happened within a
    round stands in that round's own replay. `as` gives it as another saw it: `onlooker`, a role of staff, or a
    player; an auditor may see as anyone, operator and supervisor as a player where no cards are hidden. An auditor sees
    as a player who held cards once the round is over and what is sealed of it was opened (`POST /v1/openings`).
    `frames` adds to each step the very text that this viewer was sent of it live."""
    window = Window(cursor, limit, frames) if step is None else Window(step - 1, 1, frames)
    return await _replayed(request, round_id, as_, window, step)


@get("/rounds/{round_id:str}/replay/text", guards=[READERS], media_type="text/plain", besides=[409, 422], example=_TOLD)
async def tell_round(
    request: Asked,
    round_id: FromPath[str],
    as_: As = "",
    step: Step = None,
    cursor: Position = 0,
    limit: Limit = 1_000,
    views: FromQuery[bool] = False,
) -> Response[str]:
    """A round played again, as text: time, who, the command as it was sent, what came of it, and balances. `as`, `step`
    and `cursor` as in its replay. `views` adds the table as the viewer saw it then; with `step` it is always there."""
    window = Window(cursor, limit) if step is None else Window(step - 1, 1)
    played = await _replayed(request, round_id, as_, window, step)
    return Response(written(played, views=views or step is not None), media_type="text/plain; charset=utf-8")


async def _replayed(request: Asked, round_id: str, as_: str, window: Window, step: int | None) -> Replay:
    caller, parts, round_ = request.caller, request.parts, checked_round(round_id)
    viewer = caller.viewer
    if as_:
        viewer = viewers.named(as_)
        if viewer != viewers.ONLOOKER and viewer.role is Role.PLAYER:
            checked_id("player", viewer.actor)
    open_sealed = parts.open_of(caller.operator)
    try:
        played = await replay_as(parts.pool, caller.operator, round_, caller.viewer, viewer, open_sealed, window)
    except viewers.NotForYou:
        raise problems.forbidden(caller.role, f"it sees no round as {as_}") from None
    except viewers.UnknownViewer:
        raise problems.not_found("player", viewer.actor) from None
    except RoundIsOn as on:
        raise problems.round_is_on(on.round) from None
    except viewers.NotOpened as closed:
        detail = (
            f"What {viewer.actor} saw is sealed: open it first, on record, by POST /v1/openings for each of the "
            "positions."
        )
        raise Problem(409, "NotOpened", detail, facts={"positions": closed.positions}) from None
    if played is None:
        raise problems.not_found("round", round_id)
    if step is not None and not played.steps:
        raise problems.not_found("step", str(step))
    return played


HANDLERS = (list_rounds, read_round, replay_round, tell_round)

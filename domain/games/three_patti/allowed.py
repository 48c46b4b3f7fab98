"""What a viewer may do now, with the amounts: so that a client needs no copy of the rules.

Each entry is what `decide` would not refuse; the questions are asked where `decide` asks them.
"""

from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

from domain.errors import Rejected
from domain.game import Micros
from domain.games.three_patti import betting, seating
from domain.games.three_patti.betting import Range
from domain.games.three_patti.events import Seat
from domain.games.three_patti.rules import See
from domain.games.three_patti.state import Acting, Answering, Between, InHand, Opened, Paused, Turn
from domain.money import Amount


class Allowed(Struct, frozen=True, omit_defaults=True):
    """A command that is open now. An amount may be min, min + step, ... max."""

    command: str
    """The `type` to send."""
    min: Amount | None = None
    max: Amount | None = None
    step: Amount | None = None
    pays: Amount | None = None
    """What it takes from the stack."""
    other_pays: Amount | None = None
    """What it takes from the one who is asked for a show."""
    target: int | None = None
    """Whom a sideshow would ask."""
    seats: tuple[int, ...] = ()
    """Where one could sit down."""
    since: Micros | None = None
    until: Micros | None = None
    """It is open from, or before, this moment."""


def allowed(state: Opened, player: str) -> tuple[Allowed, ...]:
    return tuple(_entries(state, player))


def _entries(state: Opened, player: str) -> Iterator[Allowed]:
    match state:
        case Paused():
            if _may_leave(state, player):
                yield Allowed("LeaveTable")
        case Between() | Turn() | Answering():
            if isinstance(state, Acting):
                yield from _acts(state, player)
            yield from _at_table(state, player)
        case _:
            return


def _may_leave(state: Paused, player: str) -> bool:
    on = state.was.round if isinstance(state.was, Acting) else None
    return state.table.seat_of(player) is not None and (on is None or on.of(player) is None)


# --- The seat -----------------------------------------------------------------------------------------------------


def _at_table(state: Between | Acting, player: str) -> Iterator[Allowed]:
    table = state.table
    seat = table.seat_of(player)
    if seat is None:
        with suppress(Rejected):
            yield from _sit_down(state, player, seating.free_seats(table, player))
    elif not seat.leaving:
        yield Allowed("LeaveTable")
        if seat.out_since is None:
            yield Allowed("SitOut")
        elif seat.stack >= table.config.boot:
            yield Allowed("SitIn")
        yield from _top_up(state, seat)
        given = (each.player for each in table.client_seeds)
        if table.next_seed is not None and player not in given:
            yield Allowed("GiveClientSeed")


def _sit_down(state: Between | Acting, player: str, free: tuple[int, ...]) -> Iterator[Allowed]:
    """Who left with more than the least buy-in has to bring it back, for a while."""
    usual = seating.buy_ins(state.table.config)
    back = seating.took_away(state.table, player)
    now = seating.buy_ins(state.table.config, back[0]) if back else usual
    if back is None or now == usual:
        yield Allowed("SitDown", usual.min, usual.max, usual.step, seats=free)
    else:
        yield Allowed("SitDown", now.min, now.max, now.step, seats=free, until=back[1])
        yield Allowed("SitDown", usual.min, usual.max, usual.step, seats=free, since=back[1])


def _top_up(state: Between | Acting, seat: Seat) -> Iterator[Allowed]:
    with suppress(Rejected):
        seating.between_hands(state, seat.player)
        amounts = seating.top_ups(state.table.config, seat.stack)
        yield Allowed("TopUp", amounts.min, amounts.max, amounts.step)


# --- The hand -----------------------------------------------------------------------------------------------------


def _acts(state: Acting, player: str) -> Iterator[Allowed]:
    me = state.round.of(player)
    if me is None or me.folded:
        return
    match state:
        case Answering():
            if me.seat == state.target:
                yield Allowed("AnswerSideShow")
        case Turn():
            on_turn = me.seat == state.seat
            if not me.seen and (on_turn or state.table.config.see is See.ANY_TIME):
                yield Allowed("SeeCards")
            if on_turn:
                yield from _on_turn(state, me)


def _on_turn(state: Turn, me: InHand) -> Iterator[Allowed]:
    table, on = state.table, state.round
    yield Allowed("Fold")
    with suppress(Rejected):
        amounts: Range = betting.bets(table.config, on, me, table.stack(me.seat))
        yield Allowed("Bet", amounts.min, amounts.max, amounts.step)
    with suppress(Rejected):
        mine, other = betting.show(table, on, me)
        yield Allowed("Show", pays=mine.amount, other_pays=other.amount)
    with suppress(Rejected):
        yield Allowed("ShortShow", pays=betting.short_show(table, on, me).amount)
    with suppress(Rejected):
        target, cost = betting.side_show(table, on, me)
        yield Allowed("SideShow", pays=cost, target=target)

"""The table after an event. No rule stands here: what is recorded has happened, and this never fails."""

from collections.abc import Callable
from typing import assert_never

from msgspec.structs import replace

from domain.fairness import ClientSeed
from domain.game import Micros, TableFaulted
from domain.games.gin_rummy import events
from domain.games.gin_rummy.events import NextSeed, PlayerResult, Seat
from domain.games.gin_rummy.roles import Contender, Match, Roles
from domain.games.gin_rummy.rules import Because
from domain.games.gin_rummy.state import (
    STOCK_FROM,
    Acting,
    Between,
    Choice,
    Closed,
    Discarding,
    Drawing,
    Ending,
    InHand,
    InRound,
    Last,
    LastMatch,
    LayingOff,
    Lying,
    NotOpened,
    Opened,
    Paused,
    RolesDrawn,
    Round,
    State,
    Table,
    Turn,
)


def evolve(state: State, event: events.Event) -> State:
    if isinstance(event, events.TableOpened):
        return Between(Table(event.config), event.due)
    if isinstance(event, events.RoundOpened):
        return _opened(event)
    if isinstance(state, NotOpened):
        return state  # whoever folds from the middle of a log: a table begins with one of the two events above
    if isinstance(event, events.OfTable):
        return _at_table(state, event)
    if isinstance(event, events.OfSeed):
        return _at_seed(state, event)
    if isinstance(event, events.OfSeat):
        return _at_seat(state, event)
    if isinstance(event, events.OfMatch):
        return _at_match(state, event)
    if isinstance(event, events.OfPause):
        return _at_pause(state, event)
    on = state.was if isinstance(state, Paused) else state
    if isinstance(event, events.OfEnd):
        return _at_end(on, event) if isinstance(on, InRound) else state
    return _in_round(on, event) if isinstance(on, Acting) else state


def _opened(event: events.RoundOpened) -> Choice:
    """From this event alone: refolding a table never has to go further back."""
    table = Table(
        event.config,
        event.seats,
        pending=event.pending,
        draining=event.draining,
        number=event.number,
        matches=event.match.number,
        match=event.match,
        epoch=event.epoch,
    )
    captain, box = (InHand(each.player, each.cards) for each in event.dealt)
    upcard = STOCK_FROM - 1
    on = Round(
        event.round,
        event.operator,
        event.seed,
        event.root,
        event.client_seeds,
        event.match.id,
        event.match.roles,
        (captain, box),
        event.upcard,
        (Lying(event.upcard, upcard),),
        event.limit,
        event.doubled,
        shown=(upcard,),
        rules=event.rules,
    )
    return Choice(table, on, captain.player, event.due)


# --- The table, its seeds and its seats -----------------------------------------------------------------------------


def _at_table(state: Opened, event: events.OfTable) -> Opened:
    table = state.table
    match event:
        case events.TableConfigured():
            if table.match is not None:
                return _with(state, replace(table, pending=event.config))
            return _due(_with(state, replace(table, config=event.config)), event.due)
        case events.TableDraining():
            return _due(_with(state, replace(table, draining=True)), event.due)
        case events.TableReopened():
            table = replace(table, draining=False)
            return Between(table, event.due) if isinstance(state, Closed) else _due(_with(state, table), event.due)
        case events.TableClosed():
            return Closed(replace(table, next_seed=None, client_seeds=()))
        case events.LogResumed():
            return _with(state, replace(table, epoch=event.epoch))
        case never:
            assert_never(never)


def _at_seed(state: Opened, event: events.OfSeed) -> Opened:
    table = state.table
    match event:
        case events.SeedPublished():
            published = replace(table, next_seed=NextSeed(event.round, event.seed), client_seeds=())
            return _due(_with(state, published), event.due)
        case events.ClientSeedGiven():
            given = ClientSeed(event.player, event.seed)
            after = replace(table, client_seeds=(*table.client_seeds, given))
            return _awake(_with(state, after), event.player)
        case events.SeedDropped():
            return _due(_with(state, replace(table, next_seed=None, client_seeds=())), event.due)
        case never:
            assert_never(never)


def _at_seat(state: Opened, event: events.OfSeat) -> Opened:
    table = state.table
    match event:
        case events.SeatTaken():
            taken = (*table.seats, Seat(event.player, event.amount))
            return _due(_with(state, replace(table, seats=taken)), event.due)
        case events.SeatLeft():
            return _due(_with(state, _without(table, event.player)), event.due)
        case never:
            assert_never(never)


def _without(table: Table, player: str) -> Table:
    seats = tuple(seat for seat in table.seats if seat.player != player)
    return replace(_seedless(table, player), seats=seats)


def _seedless(table: Table, player: str) -> Table:
    """The seed that the player threw in goes with him."""
    return replace(table, client_seeds=tuple(given for given in table.client_seeds if given.player != player))


# --- The match ------------------------------------------------------------------------------------------------------


def _at_match(state: Opened, event: events.OfMatch) -> Opened:
    table = state.table
    match event:
        case events.MatchOpened():
            players = tuple(map(Contender, event.players))
            begun = Match(event.match, event.number, players, event.roles)
            return RolesDrawn(replace(table, match=begun, matches=event.number), event.round)
        case events.Forfeited():
            gone = _with(state, _contending(_seedless(table, event.player), event.player, _forfeits))
            if event.roles is not None and (on := gone.table.match) is not None:
                gone = _with(gone, replace(gone.table, match=replace(on, roles=event.roles)))
            return gone if event.due is None else _waits(gone, event.due)
        case events.MatchSettled():
            return _match_over(state, LastMatch(event.match, event.why, event.results), event.due)
        case events.MatchRefunded():
            return _match_over(state, LastMatch(event.match, None, event.results), event.due)
        case never:
            assert_never(never)


def _match_over(state: Opened, over: LastMatch, due: Micros | None) -> Between:
    """Every seat is free again, and another configuration takes effect."""
    was, table = state.was if isinstance(state, Paused) else state, state.table
    table = replace(
        table,
        config=table.pending or table.config,
        pending=None,
        match=None,
        seats=(),
        client_seeds=(),
    )
    last = was.last if isinstance(was, Between | Ending) else None
    return Between(table, due, last, over)


def _forfeits(me: Contender) -> Contender:
    return replace(me, forfeited=True)


def _contending(table: Table, player: str, change: Callable[[Contender], Contender]) -> Table:
    match = table.match
    if match is None:
        return table
    players = tuple(change(each) if each.player == player else each for each in match.players)
    return replace(table, match=replace(match, players=players))


# --- The hand -------------------------------------------------------------------------------------------------------


def _in_round(state: Acting, event: events.OfTurn) -> Opened:
    if isinstance(event, events.OfAdvice):
        return _advised(state, event)
    match event:
        case events.UpcardDeclined():
            table = _table_after(state, event.player, event.why)
            if event.player == state.round.roles.captain:
                return Choice(table, state.round, event.next, event.due)
            return Drawing(table, state.round, event.next, event.due, stock_only=True)
        case events.CardDrawn():
            return _drawn(state, event)
        case events.Discarded():
            table = _table_after(state, event.player, event.why)
            after = _laid_on_pile(state.round, event.player, event.card, event.place)
            if event.next is None or event.due is None:
                return Ending(table, after)
            return Drawing(table, after, event.next, event.due)
        case events.Knocked():
            return _knocked(state, event)
        case events.CardLaid():
            if not isinstance(state, LayingOff):
                return state
            table = _table_after(state, event.player, Because.ASKED)
            return replace(state, table=table, laid=(*state.laid, events.LaidOff(event.card, event.meld)))
        case events.TimeBankStarted():
            banked = state.round.changed(event.player, lambda me: replace(me, banked=True))
            return replace(state, round=banked, due=event.due, banking=True) if isinstance(state, Turn) else state
        case events.TurnMissed():
            return replace(state, table=_missed(state.table, event.player, event.at))
        case never:
            assert_never(never)


def _advised(state: Acting, event: events.OfAdvice) -> Acting:
    on = state.round
    table = _table_after(state, event.player, Because.ASKED)
    match event:
        case events.AdviceAsked():
            return replace(state, table=table, round=replace(on, asked=True))
        case events.AdviceGiven():
            return replace(state, table=table, round=replace(on, advice=(*on.advice, event.advice)))
        case never:
            assert_never(never)


def _drawn(state: Acting, event: events.CardDrawn) -> Acting:
    """The turn goes on, and its clock with it."""
    if not isinstance(state, Turn) or event.place is None:
        return state  # without its place it is an event as a viewer sees it, not as it is stored
    place = event.place
    table = _table_after(state, event.player, event.why)
    on = state.round.changed(event.player, lambda me: replace(me, cards=(*me.cards, place)))
    more = replace(on, drawn=on.drawn + 1) if event.card is None else replace(on, taken=on.taken + 1, pile=on.pile[:-1])
    return Discarding(
        table, more, event.player, state.due, place, event.card, extended=state.extended, banking=state.banking
    )


def _laid_on_pile(on: Round, player: str, card: events.Card, place: int | None) -> Round:
    if place is None:
        return on  # an event as a viewer sees it, not as it is stored
    less = on.changed(player, lambda me: replace(me, cards=tuple(each for each in me.cards if each != place)))
    shown = on.shown if place in on.shown else (*on.shown, place)
    return replace(less, pile=(*on.pile, Lying(card, place)), shown=shown)


def _knocked(state: Acting, event: events.Knocked) -> InRound:
    knocker = event.spread.player
    table = _table_after(state, knocker, Because.ASKED)
    on = _laid_on_pile(state.round, knocker, event.card, event.place)
    if event.due is None:
        return Ending(table, on, spreads=(event.spread,))
    return LayingOff(table, on, on.other(knocker), event.due, event.spread)


def _table_after(state: Acting, player: str, why: Because) -> Table:
    """Whoever acts himself has missed no turn."""
    return _woken(state.table, player) if why is Because.ASKED else state.table


def _woken(table: Table, player: str) -> Table:
    woken = _contending(table, player, lambda me: replace(me, missed=0, acted=True))
    return woken if woken.match is None else replace(woken, match=replace(woken.match, dead_since=None))


def _awake(state: Opened, player: str) -> Opened:
    return _with(state, _woken(state.table, player))


def _missed(table: Table, player: str, at: Micros) -> Table:
    """When the last one is away too, it is told since when."""
    after = _contending(table, player, lambda me: replace(me, missed=me.missed + 1))
    all_away = all(each.away for each in after.still_in)
    if after.match is None or after.match.dead_since is not None or not all_away:
        return after
    return replace(after, match=replace(after.match, dead_since=at))


# --- How it ends ----------------------------------------------------------------------------------------------------


def _at_end(state: InRound, event: events.OfEnd) -> Opened:
    table, on, spreads = state.table, state.round, state.spreads if isinstance(state, Ending) else ()
    match event:
        case events.RoundScored():
            return Ending(table, on, event.why, (event.knocker, event.opponent))
        case events.RoundCancelled():
            return Ending(table, on)
        case events.RoundSettled():
            last = Last(on, event.why, event.results, spreads)
            table = _counted(table, event.results, event.roles, hands=1)
        case events.RoundRefunded():
            last = Last(on, None, event.results)
            table = _counted(table, event.results, event.roles, hands=0)
        case never:
            assert_never(never)
    if event.due is None:
        return Ending(table, on, last.ended_by, spreads, last)
    return Between(table, event.due, last)


def _counted(table: Table, results: tuple[PlayerResult, ...], roles: Roles, *, hands: int) -> Table:
    if table.match is None:
        return table
    totals = {each.player: each.total for each in results}
    players = tuple(replace(each, total=totals.get(each.player, each.total)) for each in table.match.players)
    return replace(table, match=replace(table.match, players=players, roles=roles, hands=table.match.hands + hands))


# --- Faults ---------------------------------------------------------------------------------------------------------


def _at_pause(state: Opened, event: events.OfPause) -> Opened:
    if isinstance(state, Closed | Ending | RolesDrawn):
        return state
    was = state.was if isinstance(state, Paused) else state
    match event:
        case events.RoundPaused():
            return Paused(was, event.reason, event.left_ms, event.due, by=event.by or "")
        case TableFaulted():
            return Paused(was, event.reason, state.left_ms if isinstance(state, Paused) else 0, None)
        case events.RoundResumed():
            return _counted_anew(_resumed(was, event.due))
        case events.DeadlineExtended():
            return state if isinstance(state, Between) else _counted_anew(replace(state, due=event.due, extended=True))
        case never:
            assert_never(never)


def _counted_anew(state: Opened) -> Opened:
    """A pause or our own downtime is nobody's absence (D16): that all are away is counted from the next missed turn."""
    match = state.table.match
    return state if match is None else _with(state, replace(state.table, match=replace(match, dead_since=None)))


def _resumed(was: Between | Acting, due: Micros | None) -> Opened:
    if isinstance(was, Between):
        return replace(was, due=due)
    return was if due is None else replace(was, due=due)


# --- Parts of a state -----------------------------------------------------------------------------------------------


def _with(state: Opened, table: Table) -> Opened:
    if isinstance(state, Paused):
        return replace(state, was=replace(state.was, table=table))
    return replace(state, table=table)


def _due(state: Opened, due: Micros | None) -> Opened:
    """Only between hands does the table's own work change what the clock waits for."""
    return replace(state, due=due) if isinstance(state, Between) else state


def _waits(state: Opened, due: Micros) -> Opened:
    return replace(state, due=due) if isinstance(state, Between | Acting) else state

"""The table after an event. No rule stands here: what is recorded has happened, and this never fails."""

from collections.abc import Callable
from typing import assert_never

from msgspec.structs import replace

from domain.fairness import ClientSeed
from domain.game import Micros, TableFaulted
from domain.games.three_patti import events
from domain.games.three_patti.events import Dealt, Left, NextSeed, PlayerResult, Seat
from domain.games.three_patti.rules import LEAVERS_MAX, RETURN_WITHIN, Because, SeenBecause
from domain.games.three_patti.state import (
    Acting,
    Answering,
    Between,
    Closed,
    Ending,
    InHand,
    InRound,
    Last,
    NotOpened,
    Opened,
    Paused,
    Round,
    State,
    Table,
    Turn,
)
from domain.money import Amount


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
    if isinstance(event, events.OfPause):
        return _at_pause(state, event)
    on = state.was if isinstance(state, Paused) else state
    if isinstance(event, events.OfEnd):
        return _at_end(on, event) if isinstance(on, InRound) else state
    return _in_round(on, event) if isinstance(on, Acting) else state


def _opened(event: events.RoundOpened) -> Turn:
    """From this event alone: refolding a table never has to go further back."""
    boot = event.config.boot
    table = Table(
        event.config, event.seats, number=event.number, dealer=event.dealer, left=event.left, epoch=event.epoch
    )
    players = tuple(InHand(each.seat, each.player, each.cards, boot) for each in event.dealt)
    for each in event.dealt:
        table = _stacked(table, each.seat, -boot)
    dealt = (event.seed, event.root, event.client_seeds, event.dealer, players, boot)
    on = Round(event.round, event.operator, *dealt, rules=event.rules)
    return Turn(table, on, _first(event.dealt), event.due)


def _first(dealt: tuple[Dealt, ...]) -> int:
    return dealt[0].seat if dealt else 0


# --- The table, its seeds and its seats -----------------------------------------------------------------------------


def _at_table(state: Opened, event: events.OfTable) -> Opened:
    table = state.table
    match event:
        case events.TableConfigured():
            on = state.was if isinstance(state, Paused) else state
            if isinstance(on, InRound):
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
            return _with(state, replace(table, client_seeds=(*table.client_seeds, given)))
        case events.SeedDropped():
            return _due(_with(state, replace(table, next_seed=None, client_seeds=())), event.due)
        case never:
            assert_never(never)


def _at_seat(state: Opened, event: events.OfSeat) -> Opened:
    table = state.table
    match event:
        case events.SeatTaken():
            taken = (*table.seats, Seat(event.seat, event.player, event.amount))
            seats = tuple(sorted(taken, key=lambda seat: seat.number))
            return _due(_with(state, replace(table, seats=seats)), event.due)
        case events.ToppedUp():
            return _with(state, _stacked(table, event.seat, event.amount))
        case events.SatOut():
            out = _seated(table, event.seat, lambda seat: replace(seat, out_since=event.at))
            return _due(_with(state, out), event.due)
        case events.SatIn():
            back = _seated(table, event.seat, lambda seat: replace(seat, out_since=None, time_outs=0))
            return _due(_with(state, back), event.due)
        case events.LeaveAsked():
            return _with(state, _seated(table, event.seat, lambda seat: replace(seat, leaving=True)))
        case events.SeatLeft():
            return _due(_with(state, _freed(table, event)), event.due)
        case never:
            assert_never(never)


def _freed(table: Table, event: events.SeatLeft) -> Table:
    """The seed that the player threw in goes with him; what he took away is remembered for a while."""
    still = tuple(left for left in table.left if left.player != event.player and left.at > event.at - RETURN_WITHIN)
    return replace(
        table,
        seats=tuple(seat for seat in table.seats if seat.number != event.seat),
        client_seeds=tuple(given for given in table.client_seeds if given.player != event.player),
        left=(*still, Left(event.player, event.amount, event.at))[-LEAVERS_MAX:],
    )


# --- The hand -------------------------------------------------------------------------------------------------------


def _in_round(state: Acting, event: events.OfTurn) -> Opened:
    on = state.round
    match event:
        case events.CardsSeen():
            seen = _played(on, event.seat, lambda each: replace(each, seen=True))
            own = event.why is SeenBecause.ASKED
            return replace(_awake(state, event.seat) if own else state, round=seen)
        case events.BetMade():
            turns = 0 if event.seen else 1
            paid = replace(_paid(state, event.seat, event.amount, turns), stake=event.stake)
            return _passed(replace(_awake(state, event.seat, event.amount), round=paid), event.next, event.due)
        case events.Folded():
            return _folded(state, event)
        case events.TimeBankStarted():
            banked = _played(on, event.seat, lambda each: replace(each, banked=True))
            running = replace(state, banking=True) if isinstance(state, Turn) else state
            return replace(running, round=banked, due=event.due)
        case events.SideShowAsked():
            asked = replace(_awake(state, event.seat, event.amount), round=_paid(state, event.seat, event.amount, 0))
            if event.due is None:
                return _passed(asked, None, None)
            return Answering(asked.table, asked.round, event.seat, event.target, event.due)
        case events.SideShowRefused(why=Because.TIMED_OUT):
            return _passed(_slept(state, event.target), event.next, event.due)
        case events.SideShowRefused(target=seat) | events.SideShowLapsed(seat=seat):
            return _passed(_awake(state, seat), event.next, event.due)
        case events.SideShowResolved():
            compared = replace(on, compared=(*on.compared, (event.seat, event.target))).folding(event.folded)
            return _passed(replace(_awake(state, event.target), round=compared), event.next, event.due)
        case never:
            assert_never(never)


def _folded(state: Acting, event: events.Folded) -> InRound:
    folded = state.round.folding(event.seat)
    woken = _slept if event.why is Because.TIMED_OUT else _awake
    after = replace(woken(state, event.seat), round=folded)
    stays = event.next is None and len(folded.active) > 1
    return after if stays else _passed(after, event.next, event.due)


def _passed(state: Acting, seat: int | None, due: Micros | None) -> InRound:
    """The next seat's turn; if there is none the hand is over."""
    if seat is None or due is None:
        return Ending(state.table, state.round)
    return Turn(state.table, state.round, seat, due)


def _paid(state: Acting, seat: int, amount: Amount, blind_turns: int) -> Round:
    """The seat's bet is in the pot."""
    return _played(
        state.round,
        seat,
        lambda each: replace(each, paid=each.paid + amount, bet=True, blind_turns=each.blind_turns + blind_turns),
    )


def _awake(state: Acting, seat: int, spent: Amount = 0) -> Acting:
    """The player acted himself, and spent so much of the stack."""
    table = _seated(state.table, seat, lambda each: replace(each, time_outs=0, stack=each.stack - spent))
    return replace(state, table=table)


def _slept(state: Acting, seat: int) -> Acting:
    table = _seated(state.table, seat, lambda each: replace(each, time_outs=each.time_outs + 1))
    return replace(state, table=table)


# --- How it ends ----------------------------------------------------------------------------------------------------


def _at_end(state: InRound, event: events.OfEnd) -> Opened:
    on = state.round
    match event:
        case events.HandsShown():
            return _shown(state, event)
        case events.RoundCancelled():
            return Ending(state.table, on)
        case events.RoundSettled():
            table = replace(_awarded(state.table, event.results), dealer=event.dealer)
            return Between(_next_config(table), event.due, Last(on, event.why, event.results))
        case events.RoundRefunded():
            table = replace(_awarded(state.table, event.results), dealer=on.dealer)
            return Between(_next_config(table), event.due, Last(on, None, event.results))
        case never:
            assert_never(never)


def _shown(state: InRound, event: events.HandsShown) -> Ending:
    table, on = state.table, state.round
    for each in event.payments:
        amount = each.amount
        table = _stacked(table, each.seat, -amount)
        on = _played(on, each.seat, lambda player, amount=amount: replace(player, paid=player.paid + amount))
    if event.asker is not None:
        table = _seated(table, event.asker, lambda seat: replace(seat, time_outs=0))
    return Ending(table, on, event.why, event.hands)


def _awarded(table: Table, results: tuple[PlayerResult, ...]) -> Table:
    for each in results:
        table = _stacked(table, each.seat, each.won)
    return table


def _next_config(table: Table) -> Table:
    return replace(table, config=table.pending or table.config, pending=None)


# --- Faults ---------------------------------------------------------------------------------------------------------


def _at_pause(state: Opened, event: events.OfPause) -> Opened:
    if isinstance(state, Closed | Ending):
        return state
    was = state.was if isinstance(state, Paused) else state
    match event:
        case events.RoundPaused():
            return Paused(was, event.reason, event.left_ms, event.due, by=event.by or "")
        case TableFaulted():
            return Paused(was, event.reason, state.left_ms if isinstance(state, Paused) else 0, None)
        case events.RoundResumed():
            return _resumed(was, event.due)
        case events.DeadlineExtended():
            return state if isinstance(state, Between) else replace(state, due=event.due, extended=True)
        case never:
            assert_never(never)


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


def _seated(table: Table, number: int, change: Callable[[Seat], Seat]) -> Table:
    return replace(table, seats=tuple(change(seat) if seat.number == number else seat for seat in table.seats))


def _stacked(table: Table, number: int, gained: Amount) -> Table:
    return _seated(table, number, lambda seat: replace(seat, stack=seat.stack + gained))


def _played(on: Round, seat: int, change: Callable[[InHand], InHand]) -> Round:
    return replace(on, players=tuple(change(each) if each.seat == seat else each for each in on.players))

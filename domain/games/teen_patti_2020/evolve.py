"""The table after an event. No rule stands here: what is recorded has happened, and this never fails."""

from typing import assert_never

from msgspec.structs import replace

from domain.fairness import ClientSeed
from domain.game import Micros, TableFaulted
from domain.games.teen_patti_2020 import events
from domain.games.teen_patti_2020.events import NextSeed, RecentResult
from domain.games.teen_patti_2020.rules import RECENT_MAX, SLOTS
from domain.games.teen_patti_2020.state import (
    Betting,
    Between,
    Closed,
    Confirming,
    Dealing,
    InRound,
    NotOpened,
    Opened,
    Paused,
    Refunding,
    Round,
    Settling,
    State,
    Table,
    dealt,
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
    if isinstance(event, events.OfPause):
        return _at_pause(state, event)
    on = state.was if isinstance(state, Paused) else state
    return _in_round(on, event) if isinstance(on, InRound) else state


def _opened(event: events.RoundOpened) -> Betting:
    """From this event alone: refolding a table never has to go further back."""
    table = Table(event.config, number=event.number, recent=event.recent, epoch=event.epoch)
    on = Round(event.round, event.seed, event.root, event.client_seeds, event.rules)
    return Betting(table, on, event.closes_at)


def _at_table(state: Opened, event: events.OfTable) -> Opened:
    table = state.table
    match event:
        case events.TableConfigured():
            return _with(state, replace(table, pending=event.config))
        case events.TableDraining():
            return _due(_with(state, replace(table, draining=True)), event.due)
        case events.TableReopened():
            table = replace(table, draining=False)
            if isinstance(state, Closed) and event.due is not None:
                return Between(table, event.due)
            return _due(_with(state, table), event.due)
        case events.TableClosed():
            return Closed(replace(table, next_seed=None, client_seeds=()))
        case events.LogResumed():
            return _with(state, replace(table, epoch=event.epoch))
        case events.SeedPublished():
            published = replace(table, next_seed=NextSeed(event.round, event.seed), client_seeds=())
            return _due(_with(state, published), event.due)
        case events.ClientSeedGiven():
            given = ClientSeed(event.player, event.seed)
            return _with(state, replace(table, client_seeds=(*table.client_seeds, given)))
        case events.SeedDisclosed():
            return _with(state, replace(table, next_seed=None, client_seeds=()))
        case never:
            assert_never(never)


def _in_round(state: InRound, event: events.OfRound) -> Opened:
    table, on = state.table, state.round
    match event:
        case events.BettingClosed():
            return Dealing(table, on, event.due)
        case events.CardDealt():
            cards = (*dealt(state), event.card)
            return (Dealing if len(cards) < len(SLOTS) else Confirming)(table, on, event.due, cards)
        case events.RoundResulted():
            return Settling(table, on, event.due, event.showdown)
        case events.RoundCancelled():
            return Refunding(table, on, event.due, dealt(state), event.reason)
        case events.RoundSkipped() | events.RoundRefunded():
            return Between(replace(table, next_seed=event.next_seed), event.due)
        case events.RoundSettled():
            return _settled(state, event)
        case never:
            assert_never(never)


def _settled(state: InRound, event: events.RoundSettled) -> Between:
    table, last = replace(state.table, next_seed=event.next_seed), None
    if isinstance(state, Settling):
        last = state.showdown
        table = replace(table, recent=(*table.recent, RecentResult(event.round, last.winner))[-RECENT_MAX:])
    return Between(table, event.due, last)


def _at_pause(state: Opened, event: events.OfPause) -> Opened:
    if isinstance(state, Closed):
        return state
    was = state.was if isinstance(state, Paused) else state
    match event:
        case events.RoundPaused():
            return Paused(was, event.reason, event.left_ms, event.due, by=event.by or "")
        case TableFaulted():
            return Paused(was, event.reason, state.left_ms if isinstance(state, Paused) else 0, None)
        case events.RoundResumed():
            return replace(was, due=event.due)
        case events.RescanOrdered():
            return _from_no_card(state, was, event)
        case events.DeadlineExtended():
            extendable = isinstance(state, Betting | Dealing | Confirming | Paused)
            return replace(state, due=event.due, extended=True) if extendable else state
        case never:
            assert_never(never)


def _from_no_card(state: Opened, was: Between | InRound, event: events.RescanOrdered) -> Opened:
    if not isinstance(was, Dealing | Confirming):
        return state
    return Dealing(was.table, replace(was.round, rescanned=event.reason), event.due)


def _with(state: Opened, table: Table) -> Opened:
    if isinstance(state, Paused):
        return replace(state, was=replace(state.was, table=table))
    return replace(state, table=table)


def _due(state: Opened, due: Micros | None) -> Opened:
    """Only between rounds does the table's own work change what the clock waits for."""
    return replace(state, due=due) if isinstance(state, Between) and due is not None else state

"""Pause, resume and cancel (T26-T28), and whom it takes: a round with money in it is voided by two persons."""

from msgspec import UNSET, UnsetType

from domain.errors import Rejected
from domain.game import Context, Decision
from domain.games.teen_patti_2020 import deck, events
from domain.games.teen_patti_2020.rules import LEAST_BETTING_LEFT_MS, Rule
from domain.games.teen_patti_2020.state import (
    Betting,
    Between,
    Closed,
    Confirming,
    Dealing,
    Opened,
    Paused,
    Refunding,
    Round,
    Settling,
    phase,
)


def told_by(on: Round, context: Context) -> str | UnsetType:
    """Who pauses it, as far as its rules ask."""
    return UNSET if on.rules == 1 else context.person or UNSET


def pause(state: Opened, reason: str, context: Context) -> Decision:
    match state:
        case Settling() | Refunding():
            raise Rejected(Rule.RoundIsFinal, round=state.round.id)
        case Paused():
            raise Rejected(Rule.TableIsPaused, reason=state.reason)
        case Between() | Closed():
            return Decision((events.RoundPaused(None, reason, 0, None, by=context.person or UNSET),))
        case Betting() | Dealing() | Confirming():
            left_ms = max(0, state.due - context.now) // 1_000 if isinstance(state, Betting) else 0
            limit = context.now + state.table.config.pause_limit
            by = told_by(state.round, context)
            return Decision((events.RoundPaused(state.round.id, reason, left_ms, limit, by=by),))


def resume(state: Paused, context: Context) -> Decision:
    config = state.table.config
    match state.was:
        case Between():
            return Decision((events.RoundResumed(None, deck.next_due(state.table, context)),))
        case Betting(round=on):  # betting whose time was over is not opened again
            left_ms = max(state.left_ms, LEAST_BETTING_LEFT_MS) if state.left_ms else 0
            return Decision((events.RoundResumed(on.id, context.now + left_ms * 1_000),))
        case Dealing(round=on) | Confirming(round=on):
            return Decision((events.RoundResumed(on.id, context.now + config.card),))
        case Settling(round=on) | Refunding(round=on):
            return Decision((events.RoundResumed(on.id, context.now),))


def cancel(state: Opened, reason: str, context: Context) -> Decision:
    was = state.was if isinstance(state, Paused) else state
    match was:
        case Betting() | Dealing() | Confirming():
            _check_second(state, was.round, context)
            first = (state.by if isinstance(state, Paused) and context.person else "") or UNSET
            return Decision((events.RoundCancelled(was.round.id, reason, context.now, first),))
        case Settling() | Refunding():
            raise Rejected(Rule.RoundIsFinal, round=was.round.id)
        case Between() | Closed():
            raise Rejected(Rule.NoRoundOn, phase=phase(state))


def _check_second(state: Opened, on: Round, context: Context) -> None:
    """Whoever paused it was the first; what the clock does needs nobody, and where nobody bet there is no money."""
    if on.rules == 1 or not context.person or (isinstance(state, Paused) and state.by != context.person):
        return
    if context.totals.staked:
        raise Rejected(Rule.SecondPersonNeeded, round=on.id)

"""The cards of a live table: one message of the studio's scanner a card, and all of them once more from the first."""

from domain.errors import Rejected
from domain.game import Context, Decision, Micros
from domain.games.teen_patti_2020 import commands, events, pausing
from domain.games.teen_patti_2020.rules import SLOTS, Kind, Rule
from domain.games.teen_patti_2020.state import (
    Betting,
    Confirming,
    Dealing,
    Opened,
    Paused,
    Refunding,
    Settling,
    dealt,
    phase,
)


def deal_card(state: Betting | Dealing | Confirming, command: commands.DealCard, context: Context) -> Decision:
    due = context.now + state.table.config.card
    if not isinstance(state, Betting):
        return Decision((_scanned(state, command, due, context),))
    if context.now < state.due:
        raise Rejected(Rule.BettingIsOpen, round=state.round.id, closes_at=state.due)
    closed = events.BettingClosed(state.round.id, due)
    return Decision((closed, _scanned(state, command, due, context)))


def _scanned(
    state: Betting | Dealing | Confirming, command: commands.DealCard, due: Micros, context: Context
) -> events.CardDealt | events.RoundPaused:
    """The card, or the pause that a card asks for which cannot be right (T26, S20.29)."""
    cards = dealt(state)
    awaited = SLOTS[len(cards)] if len(cards) < len(SLOTS) else None
    if command.slot != awaited:
        fault = f"a card came for {command.slot}, awaited was {awaited or 'none'}"
    elif command.card in cards:
        fault = f"{command.card} came for {command.slot} and lies in {SLOTS[cards.index(command.card)]} already"
    else:
        return events.CardDealt(state.round.id, command.slot, command.card, None, due)
    limit = context.now + state.table.config.pause_limit
    by = pausing.told_by(state.round, context)
    return events.RoundPaused(state.round.id, fault, 0, limit, command.slot, command.card, by=by)


def rescan(state: Opened, command: commands.RescanCards, context: Context) -> Decision:
    """Only of a paused round: so nobody deals on while it is ordered, and betting is over for good."""
    was = state.was if isinstance(state, Paused) else state
    if was.table.config.kind is Kind.RNG:
        raise Rejected(Rule.DealsByItself)
    match was:
        case Settling() | Refunding():
            raise Rejected(Rule.RoundIsFinal, round=was.round.id)
        case _ if not isinstance(state, Paused):
            raise Rejected(Rule.NotPaused, phase=phase(state))
        case Dealing(cards=(_, *_)) | Confirming():
            due = context.now + state.table.config.card
            return Decision((events.RescanOrdered(was.round.id, command.reason, due),))
        case _:
            raise Rejected(Rule.NoCardsToRescan, phase=phase(was))

"""Who is not there: turns that the platform plays (D16), and forfeits (D14)."""

from domain.game import Context, Decision, fold
from domain.games.gin_rummy import acting, commands, deck, ending, events, melds, roles, seating
from domain.games.gin_rummy.evolve import evolve
from domain.games.gin_rummy.rules import Because, Source
from domain.games.gin_rummy.state import Acting, Between, Choice, Discarding, Drawing, LayingOff

Events = tuple[events.Event, ...]

ALL_AWAY = "all players were away for too long"


def turn_over(state: Acting, context: Context) -> Decision:
    """The time bank, once a hand; then the turn is missed. Who is out of the match has neither, and a lay-off has a
    clock of its own, which no bank makes longer (D13)."""
    on, config = state.round, state.table.config
    me = on.of(state.player)
    assert me is not None, "whose turn it is, is in the hand"
    if acting.gone(state.table, state.player):
        return _played(state, (), Because.FORFEITED, context)
    if config.time_bank and not me.banked and not isinstance(state, LayingOff):
        return Decision((events.TimeBankStarted(on.id, state.player, context.now + config.time_bank),))
    return _missed(state, context)


def _missed(state: Acting, context: Context) -> Decision:
    """While all are away nobody forfeits: after some time of that the match is void."""
    missed: Events = (events.TurnMissed(state.round.id, state.player, context.now),)
    after = fold(evolve, state, missed)
    assert isinstance(after, Acting), "the turn is still on"
    match, config = after.table.match, after.table.config
    assert match is not None, "a hand is one of a match"
    since = match.dead_since
    if since is not None:
        if context.now >= since + config.dead:
            return ending.match_cancelled(state, ALL_AWAY, context, missed)
        return _played(state, missed, Because.TIMED_OUT, context)
    me = after.table.contender(state.player)
    if me is None or me.missed < config.away_turns:
        return _played(state, missed, Because.TIMED_OUT, context)
    forfeit = events.Forfeited(match.id, state.player, Because.TIMED_OUT, None, None)
    if len(after.table.still_in) == 2:
        return ending.forfeited(state, (*missed, forfeit), context)
    return _played(state, (*missed, forfeit), Because.FORFEITED, context)


def _played(state: Acting, so_far: Events, why: Because, context: Context) -> Decision:
    """Declined; drawn from the stock and discarded; or laid down at best. Never from the pile, and never a knock."""
    match state:
        case Choice():
            return Decision((*so_far, acting.decline(state, why, context)))
        case LayingOff():
            return acting.lay_down(state, commands.LayDown(), context, so_far)
        case Drawing():
            return _discarded(state, (*so_far, acting.draw(state, Source.STOCK, why)), why, context)
        case Discarding():
            return _discarded(state, so_far, why, context)


def _discarded(before: Drawing | Discarding, so_far: Events, why: Because, context: Context) -> Decision:
    """The card drawn from the stock; after a draw from the pile the one that leaves least, but not that one (D16)."""
    state = fold(evolve, before, so_far)
    assert isinstance(state, Discarding), "the card is drawn"
    cards = deck.shuffled(state.round, context.open)
    hand = acting.in_hand(state.round, state.player, cards)
    card = cards.cards[state.place] if state.taken is None else melds.best_discards(tuple(hand), state.taken)[0]
    return acting.discarded(before, so_far, card, hand[card], why, cards, context)


def left(state: Between | Acting, context: Context) -> Decision:
    """Leaving a match is a forfeit; the hand that is on is played to its end (D14)."""
    seating.seat_of(state.table, context.actor)
    match = state.table.match
    assert match is not None, "a match is on"
    others = frozenset(each.player for each in match.players if each.forfeited)
    alone = len(state.table.still_in) == 2
    due, after = None, None
    if isinstance(state, Between):
        after = roles.after(match.roles, None, others | {context.actor})
    elif state.player == context.actor:
        due = context.now
    forfeit = events.Forfeited(match.id, context.actor, Because.LEFT, after, due)
    return ending.forfeited(state, (forfeit,), context) if alone else Decision((forfeit,))

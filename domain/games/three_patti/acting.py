"""What is done in the hand: seeing, betting, folding, leaving, sideshows. Whoever acts here may: `decide` has asked."""

from domain.errors import Rejected
from domain.game import Context, Decision
from domain.game import fold as folded
from domain.games.three_patti import betting, commands, deck, ending, events
from domain.games.three_patti.evolve import evolve
from domain.games.three_patti.rules import Because, Config, EndedBy, Rule, See, SeenBecause
from domain.games.three_patti.state import Acting, Answering, InHand, Round, Turn
from domain.money import Amount

Events = tuple[events.Event, ...]


def see_cards(state: Turn, me: InHand) -> Decision:
    if me.seen:
        raise Rejected(Rule.AlreadySeen, seat=me.seat)
    if state.table.config.see is See.ON_TURN and me.seat != state.seat:
        raise Rejected(Rule.NotYourTurn, seat=state.seat)
    return Decision((events.CardsSeen(state.round.id, me.seat, SeenBecause.ASKED),))


def bet(state: Turn, me: InHand, amount: Amount, context: Context) -> Decision:
    table, on = state.table, state.round
    betting.bets(table.config, on, me, table.stack(me.seat)).check(amount)
    stake = betting.stake_after(me, amount)
    if _fills(table.config, on.pot + amount):
        made = events.BetMade(on.id, me.seat, amount, me.seen, stake, None, None)
        return ending.show(state, (made,), EndedBy.POT_LIMIT, context)
    seat, due = on.after(me.seat), context.now + table.config.turn
    made = events.BetMade(on.id, me.seat, amount, me.seen, stake, seat, due)
    return Decision((made, *_turn_begins(table.config, on, seat)))


def fold(before: Acting, me: InHand, why: Because, context: Context, so_far: Events = ()) -> Decision:
    """`so_far` are events that led from `before` to the fold: of one who leaves while a sideshow is asked for."""
    state = folded(evolve, before, so_far)
    assert isinstance(state, Acting), "the hand is on"
    on, config = state.round, state.table.config
    after = on.folding(me.seat)
    if len(after.active) == 1:
        last = events.Folded(on.id, me.seat, why, None, None)
        return ending.won_by_folds(before, (*so_far, last), context)
    if not isinstance(state, Turn) or state.seat != me.seat:
        return Decision((*so_far, events.Folded(on.id, me.seat, why, None, None)))
    seat = after.after(me.seat)
    one = events.Folded(on.id, me.seat, why, seat, context.now + config.turn)
    return Decision((*so_far, one, *_turn_begins(config, on, seat)))


def leave(state: Acting, me: InHand, context: Context) -> Decision:
    """A fold at once, also off turn; who is asked for a sideshow refuses first, and who asked for one withdraws."""
    asked = events.LeaveAsked(me.seat, me.player)
    if me.folded:
        return Decision((asked,))
    ends: Events = ()
    if isinstance(state, Answering) and me.seat == state.target:
        ends = refused(state, Because.LEFT, context)
    elif isinstance(state, Answering) and me.seat == state.asker:
        on = state.round
        seat, due = on.after(me.seat), context.now + state.table.config.turn
        lapsed = events.SideShowLapsed(on.id, state.asker, state.target, seat, due)
        ends = (lapsed, *_turn_begins(state.table.config, on, seat))
    return fold(state, me, Because.LEFT, context, (asked, *ends))


def side_show(state: Turn, me: InHand, context: Context) -> Decision:
    on, config = state.round, state.table.config
    target, cost = betting.side_show(state.table, on, me)
    if _fills(config, on.pot + cost):
        asked = events.SideShowAsked(on.id, me.seat, target, cost, None)
        return ending.show(state, (asked,), EndedBy.POT_LIMIT, context)
    return Decision((events.SideShowAsked(on.id, me.seat, target, cost, context.now + config.answer),))


def answer(state: Answering, command: commands.AnswerSideShow, context: Context) -> Decision:
    if not command.accept:
        return Decision(refused(state, Because.ASKED, context))
    on, config = state.round, state.table.config
    loser = _lower(state, context)
    after = on.folding(loser)
    if len(after.active) == 1:
        resolved = events.SideShowResolved(on.id, state.asker, state.target, loser, None, None)
        return ending.won_by_folds(state, (resolved,), context)
    seat, due = after.after(state.asker), context.now + config.turn
    resolved = events.SideShowResolved(on.id, state.asker, state.target, loser, seat, due)
    return Decision((resolved, *_turn_begins(config, on, seat)))


def refused(state: Answering, why: Because, context: Context) -> Events:
    on, config = state.round, state.table.config
    seat, due = on.after(state.asker), context.now + config.turn
    answered = events.SideShowRefused(on.id, state.asker, state.target, why, seat, due)
    return (answered, *_turn_begins(config, on, seat))


def _lower(state: Answering, context: Context) -> int:
    """Of the two hands the lower one's seat; of equal ones the asker's (D8)."""
    on, cards = state.round, deck.shuffled(state.round, context.open)
    worth = {each.seat: deck.worth(deck.hand(cards, each)) for each in on.active}
    return state.target if worth[state.asker] > worth[state.target] else state.asker


def _fills(config: Config, pot: Amount) -> bool:
    return config.full_pot is not None and pot >= config.full_pot


def _turn_begins(config: Config, on: Round, seat: int) -> Events:
    """Whoever has been blind for as many turns as the table allows, is made seen as the next turn begins."""
    whose, limit = on.at(seat), config.max_blind_turns
    if whose is None or whose.seen or not limit or whose.blind_turns < limit:
        return ()
    return (events.CardsSeen(on.id, seat, SeenBecause.BLIND_LIMIT),)

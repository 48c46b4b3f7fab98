"""What is done in the hand: declining, drawing, discarding, knocking, laying off, advice. Whoever acts here may:
`decide` has asked; what the cards allow is asked in `turns`.
"""

from domain.cards import Card
from domain.fairness import Deck
from domain.game import Context, Decision, Micros, fold
from domain.games.gin_rummy import commands, deck, ending, events, turns
from domain.games.gin_rummy.events import Spread
from domain.games.gin_rummy.evolve import evolve
from domain.games.gin_rummy.rules import PILE_DRAWS_MAX, STOCK_LEFT, Because, EndedBy, LayOffBy, Source
from domain.games.gin_rummy.state import Acting, Choice, Discarding, Drawing, LayingOff, Round, State, Table

Events = tuple[events.Event, ...]


def decline(state: Choice, why: Because, context: Context) -> events.UpcardDeclined:
    """The box may take what the captain has declined; then the captain draws (G13, G15)."""
    on = state.round
    then = on.other(state.player)
    return events.UpcardDeclined(on.id, state.player, why, then, turn_due(state.table, then, context))


def draw(state: Choice | Drawing, source: Source, why: Because) -> events.CardDrawn:
    turns.draw(state, source)
    on = state.round
    if source is Source.STOCK:
        return events.CardDrawn(on.id, state.player, source, on.next_place, None, why)
    top = on.pile[-1]
    return events.CardDrawn(on.id, state.player, source, top.place, top.card, why)


def discard(state: Discarding, command: commands.Discard, context: Context) -> Decision:
    cards = deck.shuffled(state.round, context.open)
    hand = in_hand(state.round, state.player, cards)
    turns.discard(state, hand, command.card)
    return discarded(state, (), command.card, hand[command.card], Because.ASKED, cards, context)


def discarded(
    before: State, so_far: Events, card: Card, place: int, why: Because, cards: Deck, context: Context
) -> Decision:
    """The turn passes; or the hand is drawn, with two cards left in the stock or after too many from the pile (G27).

    `so_far` are the events that led from `before` to the one who discards.
    """
    state = fold(evolve, before, so_far)
    assert isinstance(state, Discarding), "who discards has drawn"
    on, player = state.round, state.player
    drawn = EndedBy.STOCK if on.stock <= STOCK_LEFT else EndedBy.PILE if on.taken >= PILE_DRAWS_MAX else None
    if drawn is not None:
        last = events.Discarded(on.id, player, card, place, why, None, None)
        return ending.drawn(before, (*so_far, last), drawn, cards, context)
    then = on.other(player)
    due = turn_due(state.table, then, context)
    return Decision((*so_far, events.Discarded(on.id, player, card, place, why, then, due)))


def knock(state: Discarding, command: commands.Knock, context: Context) -> Decision:
    """The other one lays off himself, if the table is so, he is still in the match, and it was not gin (G20)."""
    on, table = state.round, state.table
    cards = deck.shuffled(on, context.open)
    hand = in_hand(on, state.player, cards)
    spread, least = turns.knock(state, hand, command.card, command.melds)
    other = on.other(state.player)
    lays_off = bool(spread.deadwood) and table.config.layoff is LayOffBy.DECLARED and not gone(table, other)
    due = context.now + table.config.laying_off if lays_off else None
    knocked = events.Knocked(on.id, command.card, hand[command.card], spread, command.melds is not None, least, due)
    if lays_off:
        return Decision((knocked,))
    on_melds = spread.melds if spread.deadwood else ()
    answer = turns.answered(other, on_melds, tuple(in_hand(on, other, cards)))
    return ending.scored(state, (knocked,), spread, answer, cards, context)


def lay_off(state: LayingOff, command: commands.LayOff, context: Context) -> Decision:
    on = state.round
    hand = in_hand(on, state.player, deck.shuffled(on, context.open))
    turns.lay_off(state, hand, command.card, command.meld)
    return Decision((events.CardLaid(on.id, state.player, command.card, command.meld),))


def lay_down(state: LayingOff, command: commands.LayDown, context: Context, so_far: Events = ()) -> Decision:
    """`so_far` says that the platform does it, for one who has missed it."""
    cards = deck.shuffled(state.round, context.open)
    spread: Spread = turns.lay_down(state, in_hand(state.round, state.player, cards), command.melds)
    return ending.scored(state, so_far, state.knocker, spread, cards, context)


def ask_advice(state: Acting, player: str) -> Decision:
    turns.ask_advice(state, player)
    return Decision((events.AdviceAsked(state.round.id, player),))


def send_advice(state: Acting, command: commands.SendAdvice, context: Context) -> Decision:
    turns.send_advice(state, context.actor)
    sealed = context.seal_text(state.round.id, command.text)
    return Decision((events.AdviceGiven(state.round.id, context.actor, sealed),))


# --- Parts ----------------------------------------------------------------------------------------------------------


def in_hand(on: Round, player: str, cards: Deck) -> dict[Card, int]:
    me = on.of(player)
    assert me is not None, "whoever acts is in the hand"
    return deck.hand(cards, me)


def gone(table: Table, player: str) -> bool:
    me = table.contender(player)
    return me is None or me.forfeited


def turn_due(table: Table, player: str, context: Context) -> Micros:
    """Nobody waits for one who is out of the match: the clock plays for him at once (D14)."""
    return context.now if gone(table, player) else context.now + table.config.turn

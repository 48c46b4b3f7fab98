"""How a hand ends: hands shown, the pot awarded or paid back, and what then becomes of the seats."""

from msgspec import UNSET

from domain.game import Context, Decision, Micros, fold
from domain.games.three_patti import deck, events, seating
from domain.games.three_patti.events import Dealer, Payment, PlayerResult, ShownHand
from domain.games.three_patti.evolve import evolve
from domain.games.three_patti.rules import EndedBy, LeftBecause
from domain.games.three_patti.state import Between, Ending, InRound, Round, State, Turn
from domain.money import Amount

Events = tuple[events.Event, ...]


def show(
    before: InRound,
    so_far: Events,
    why: EndedBy,
    context: Context,
    *,
    asker: int | None = None,
    payments: tuple[Payment, ...] = (),
) -> Decision:
    """All active hands are shown, and the best wins. Of equal ones whoever asked loses (P21); at a full pot they
    share (D10). `so_far` are the events that led here from `before`."""
    on = _round(before, so_far)
    cards = deck.shuffled(on, context.open)
    hands = tuple(deck.shown(cards, each) for each in on.active)
    paid = tuple(payment for payment in payments if payment.amount)
    shown = events.HandsShown(on.id, why, asker, paid, hands)
    return _award(before, (*so_far, shown), winners(hands, asker), why, context)


def won_by_folds(before: InRound, so_far: Events, context: Context) -> Decision:
    """The last player standing wins, and shows nothing (P14)."""
    [winner] = _round(before, so_far).active
    return _award(before, so_far, (winner.seat,), EndedBy.FOLDS, context)


def cancelled(state: InRound, reason: str, context: Context, so_far: Events = (), *, paused_by: str = "") -> Decision:
    """Whatever was put in goes back to its owner, without rake."""
    on = state.round
    void = events.RoundCancelled(on.id, reason, paused_by or UNSET)
    return _ended(state, (*so_far, void, events.RoundRefunded(on.id, refunds(on), context.now)), context)


def winners(hands: tuple[ShownHand, ...], asker: int | None) -> tuple[int, ...]:
    """The seats of the best of these hands; of equal ones the asker's is not among them (P21)."""
    worth = {each.seat: deck.worth(each.cards) for each in hands}
    best = tuple(seat for seat, strength in worth.items() if strength == max(worth.values()))
    return best if len(best) == 1 else tuple(seat for seat in best if seat != asker)


def _award(before: InRound, so_far: Events, won_by: tuple[int, ...], why: EndedBy, context: Context) -> Decision:
    after = fold(evolve, before, so_far)
    assert isinstance(after, Ending), "the hand is over"
    return _ended(before, (*so_far, settled(before, after, won_by, why, context.now)), context)


def settled(before: InRound, after: Ending, won_by: tuple[int, ...], why: EndedBy, due: Micros) -> events.RoundSettled:
    """The pot of a hand that is over, awarded: `before` is how it stood when the act that ended it began."""
    on = after.round
    rake = 0 if in_first_circuit(before) else after.table.config.rake(on.pot)
    due_to = shares(on, won_by, on.pot - rake)
    shown = {each.seat: each.cards for each in after.shown}
    results = tuple(
        PlayerResult(each.seat, each.player, each.paid, due_to.get(each.seat, 0), shown.get(each.seat, ()))
        for each in on.players
    )
    first = next(each for each in on.players if each.seat in won_by)
    return events.RoundSettled(on.id, why, on.pot, rake, results, Dealer(first.seat, first.player), due)


def refunds(on: Round) -> tuple[PlayerResult, ...]:
    return tuple(PlayerResult(each.seat, each.player, each.paid, each.paid) for each in on.players)


def in_first_circuit(state: InRound) -> bool:
    """Whoever's turn it is has not bet yet: then nobody has had a second turn."""
    if not isinstance(state, Turn):
        return False
    acting = state.round.at(state.seat)
    return acting is not None and not acting.bet


def shares(on: Round, won_by: tuple[int, ...], pot: Amount) -> dict[int, Amount]:
    """Equal shares; odd units go one each to the winners in play order from the seat after the dealer (D10)."""
    each, odd = divmod(pot, len(won_by))
    order = [player.seat for player in on.players if player.seat in won_by]
    return {seat: each + (at < odd) for at, seat in enumerate(order)}


def _round(before: State, so_far: Events) -> Round:
    after = fold(evolve, before, so_far)
    assert isinstance(after, InRound)
    return after.round


def _ended(before: State, so_far: Events, context: Context) -> Decision:
    """The hand's events, then those of the seats: who leaves, who is sat out."""
    after = fold(evolve, before, so_far)
    assert isinstance(after, Between), "no hand is on any more"
    gone = tuple(seat for seat in after.table.seats if seat.leaving)
    left, transfers = seating.freed(gone, LeftBecause.ASKED, context)
    then = (*left, *seating.sat_out(after.table, context))
    return Decision((*so_far, *(seating.timed(after, event, context) for event in then)), transfers)

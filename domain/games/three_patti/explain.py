"""The hand in words: who was folded and why, the hands that were shown and which wins, the pot, and what each got.

All is worked out anew from the events before it; what differs is Unexplained. Of hands that were not shown it says
nothing, for the events name none of their cards.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from domain import wording
from domain.cards import show
from domain.game import PaidIn, PaidOut, Unexplained
from domain.games.three_patti import ending, events, views
from domain.games.three_patti.events import PlayerResult, ShownHand
from domain.games.three_patti.evolve import evolve
from domain.games.three_patti.rules import Because, EndedBy
from domain.games.three_patti.state import INITIAL, Acting, Ending, Paused, Round, State
from domain.hands import three_card
from domain.hands import wording as hands
from domain.money import Amount, Payout

End = events.RoundSettled | events.RoundRefunded


class _Hand(Struct):
    """What the events say of the hand. `before` is how it stood when the act that ended it began."""

    story: tuple[events.Event, ...]
    opened: events.RoundOpened
    before: Acting
    after: Ending | None = None
    shown: events.HandsShown | None = None
    end: End | None = None

    def name(self, seat: int | None) -> str:
        """Of the player at this seat."""
        return next((each.player for each in self.opened.dealt if each.seat == seat), f"seat {seat}")


def explains_round(of_round: Iterable[events.Event]) -> tuple[str, ...]:
    hand = _read(of_round)
    return (*_dealt(hand), *_acts(hand), *_ended(hand))


def explains_payout(of_round: Iterable[events.Event], player: str, payout: Payout) -> str:
    hand = _read(of_round)
    end = _checked(hand)
    by_the_rules = next(
        (each for each in views.chips(end) if isinstance(each, PaidOut) and each.player == player), None
    )
    if by_the_rules is None:
        raise Unexplained(f"{player} was not dealt into this hand")
    paid = wording.summed(_paid_in(hand, by_the_rules.payout.spot))
    if payout != by_the_rules.payout:
        right = by_the_rules.payout
        raise Unexplained(
            f"{player} put in {paid}: by the rules {wording.number(right.returned)} come back ({right.odds}); "
            f"told is {wording.number(payout.returned)} for {wording.number(payout.staked)} ({payout.odds})"
        )
    came_back = wording.returned(hand.opened.config.currency, payout.returned)
    match payout.odds:
        case "refunded":
            return f"{player} put in {paid}: the hand was cancelled, so all of it comes back; {came_back}"
        case "won":
            return f"{player} put in {paid} and won {_of_the_pot(end)}; {came_back}"
        case _:
            return f"{player} put in {paid} and did not win; {came_back}"


# --- What the events say --------------------------------------------------------------------------------------------


def _read(of_round: Iterable[events.Event]) -> _Hand:
    story = tuple(of_round)
    hand: _Hand | None = None
    state: State = INITIAL
    for event in story:
        state = evolve(state, event)
        on = state.was if isinstance(state, Paused) else state
        if isinstance(event, events.RoundOpened) and isinstance(on, Acting):
            hand = _Hand(story, event, on)
        elif hand is None or hand.end is not None:
            continue
        elif isinstance(event, End):
            hand.end = event
        elif isinstance(on, Acting):
            hand.before = on
        elif isinstance(on, Ending):
            hand.after = on
            hand.shown = event if isinstance(event, events.HandsShown) else hand.shown
    if hand is None:
        raise Unexplained("none of these events deals a hand")
    return hand


def _paid_in(hand: _Hand, spot: str) -> list[Amount]:
    """What this seat put in, one payment after another."""
    told = (each for event in hand.story for each in views.chips(event))
    return [each.amount for each in told if isinstance(each, PaidIn) and each.spot == spot]


# --- The hand worked out anew ---------------------------------------------------------------------------------------


def _checked(hand: _Hand) -> End:
    """The event that ended the hand, which must be what follows from those before it."""
    match hand.end, hand.after:
        case events.RoundSettled() as told, Ending() as after:
            why = EndedBy.FOLDS if hand.shown is None else hand.shown.why
            _same(told, ending.settled(hand.before, after, _winners(hand, after), why, told.due))
            return told
        case events.RoundRefunded() as told, Ending() as after:
            _results(told.results, ending.refunds(after.round))
            return told
        case _:
            raise Unexplained("the hand has no end that a payout could follow from")


def _winners(hand: _Hand, after: Ending) -> tuple[int, ...]:
    still_in = tuple(each.seat for each in after.round.active)
    if not still_in:
        raise Unexplained("all have folded: nobody is left to win")
    if hand.shown is None:
        if len(still_in) != 1:
            raise Unexplained(f"{len(still_in)} are still in the hand, and no hands were shown")
        return still_in
    if {each.seat for each in hand.shown.hands} != set(still_in):
        raise Unexplained("the hands shown are not those of the players still in the hand")
    for each in hand.shown.hands:
        _one_hand(each)
    return ending.winners(hand.shown.hands, hand.shown.asker)


def _one_hand(shown: ShownHand) -> None:
    if len(set(shown.cards)) < len(shown.cards):
        raise Unexplained(f"{shown.player} shows {show(shown.cards)}, which are not three different cards")
    category = three_card.rank(shown.cards).category
    if category is not shown.category:
        raise Unexplained(f"{shown.player} holds {hands.hand(shown.cards)}; told is {shown.category}")


def _same(told: events.RoundSettled, right: events.RoundSettled) -> None:
    if (told.pot, told.rake, told.why) != (right.pot, right.rake, right.why):
        raise Unexplained(
            f"by the rules the pot is {wording.number(right.pot)} and the rake {wording.number(right.rake)} "
            f"({right.why}); told is {wording.number(told.pot)} and {wording.number(told.rake)} ({told.why})"
        )
    _results(told.results, right.results)
    if told.dealer != right.dealer:
        raise Unexplained(f"by the rules {right.dealer.player} deals next; told is {told.dealer.player}")


def _results(told: tuple[PlayerResult, ...], right: tuple[PlayerResult, ...]) -> None:
    if told != right:
        raise Unexplained(f"by the rules {_put_and_got(right)}; told is that {_put_and_got(told)}")


def _put_and_got(results: tuple[PlayerResult, ...]) -> str:
    return "; ".join(
        f"{each.player} put in {wording.number(each.paid)} and got {wording.number(each.won)}" for each in results
    )


# --- In words -------------------------------------------------------------------------------------------------------


def _dealt(hand: _Hand) -> Iterator[str]:
    opened = hand.opened
    players, boot = wording.listed(each.player for each in opened.dealt), wording.number(opened.config.boot)
    yield f"{players} each put in the boot of {boot}; {opened.dealer.player} dealt."


def _acts(hand: _Hand) -> Iterator[str]:
    """Who was folded, and how sideshows ended; bets are told with each player's payout."""
    for event in hand.story:
        match event:
            case events.Folded():
                yield f"{hand.name(event.seat)} {_FOLDED[event.why]}."
            case events.SideShowRefused():
                yield f"{hand.name(event.seat)} asked {hand.name(event.target)} for a sideshow, which was refused."
            case events.SideShowLapsed():
                asker, target = hand.name(event.seat), hand.name(event.target)
                yield f"{asker} asked {target} for a sideshow, and left before the answer."
            case events.SideShowResolved():
                how = "was not the higher one" if event.folded == event.seat else "was the lower one"
                yield (
                    f"{hand.name(event.seat)} and {hand.name(event.target)} compared their hands in a sideshow: "
                    f"{hand.name(event.folded)}'s {how}, and folded. Nobody else saw either."
                )
            case _:
                pass


_FOLDED = {
    Because.ASKED: "folded",
    Because.LEFT: "left the table, which is a fold",
    Because.TIMED_OUT: "was folded when the time to act was over",
}


def _ended(hand: _Hand) -> Iterator[str]:
    if hand.end is None or hand.after is None:
        yield "The hand is still on."
        return
    end = _checked(hand)
    on = hand.after.round
    if isinstance(end, events.RoundRefunded):
        reasons = (event.reason for event in hand.story if isinstance(event, events.RoundCancelled))
        yield f"The hand was cancelled ({next(reasons, '')}): all that was put in goes back, without rake."
        return
    winners = _winners(hand, hand.after)
    if hand.shown is None:
        yield f"All others have folded: {hand.name(winners[0])} wins, and shows no hand (P14)."
    else:
        yield _asked(hand, hand.shown)
        yield from (f"{each.player} holds {hands.hand(each.cards)}." for each in hand.shown.hands)
        yield from _compared(hand.shown, winners)
    yield from _pot(hand, on, end)


def _asked(hand: _Hand, shown: events.HandsShown) -> str:
    who = hand.name(shown.asker)
    paid = " and ".join(f"{hand.name(each.seat)} put in {wording.number(each.amount)}" for each in shown.payments)
    match shown.why:
        case EndedBy.SHOW:
            return f"{who} asked for a show, for which {paid}."
        case EndedBy.SHORT_SHOW:
            return f"{who} could not cover the least bet and asked for a short show, for which {paid or 'nobody paid'}."
        case _:
            return "The pot came to the table's limit: all hands still in are shown, free of charge (D10)."


def _compared(shown: events.HandsShown, winners: tuple[int, ...]) -> Iterator[str]:
    """The best hand held against each of the others."""
    best = next(each for each in shown.hands if each.seat in winners)
    for other in shown.hands:
        if other is best:
            continue
        if three_card.rank(best.cards) > three_card.rank(other.cards):
            yield f"{best.player} is above {other.player}: {hands.beats(best.cards, other.cards)}."
        elif other.seat in winners:
            yield f"{best.player} and {other.player} share: {hands.ties(best.cards)} (D10)."
        else:
            yield (
                f"{best.player} and {other.player} tie: {hands.ties(best.cards)}; of equal hands the one that asked "
                f"loses, so {best.player} wins (P21)."
            )


def _pot(hand: _Hand, on: Round, end: events.RoundSettled) -> Iterator[str]:
    config = hand.opened.config
    yield f"The pot is {wording.summed(each.paid for each in on.players)}."
    if config.rake_bps and ending.in_first_circuit(hand.before):
        yield "No rake is taken from a hand that ends in the first circuit."
    else:
        yield wording.rake(end.pot, config.rake_bps, config.rake_cap, end.rake)
    won = [each for each in end.results if each.won]
    if len(won) > 1:
        left = end.pot - end.rake
        share, odd = divmod(left, len(won))
        odd_units = f", and {odd} odd, one each in play order from the seat after the dealer" if odd else ""
        yield f"{wording.number(left)} in {len(won)} shares is {wording.number(share)} each{odd_units} (D10)."


def _of_the_pot(end: End) -> str:
    assert isinstance(end, events.RoundSettled), "a refund wins nothing"
    whole = sum(1 for each in end.results if each.won) == 1
    left = f", {wording.number(end.pot)} - {wording.number(end.rake)} = {wording.number(end.pot - end.rake)}"
    less = f" less the rake{left if whole else ''}" if end.rake else ""
    return f"{'' if whole else 'a share of '}the pot{less}"

"""The round in words: the two hands, which one wins and why, and how each wager was settled (T9, T19-T24).

All is worked out anew from the cards that were dealt and the round's own pay table; what differs is Unexplained.
"""

from collections.abc import Iterable

from msgspec import Struct

from domain import wording
from domain.cards import Card
from domain.game import Cancelled, Outcome, Resulted, Unexplained
from domain.games.teen_patti_2020 import events
from domain.games.teen_patti_2020.pays import PUSH, Result, Showdown, Spot, Winner, odds_of, returns, showdown
from domain.games.teen_patti_2020.rules import SLOTS, Slot
from domain.hands import wording as hands
from domain.hands.three_card import Category
from domain.money import Bet, Odds, Payout, Wager

_SPOTS = {
    Spot.PLAYER_A: "Player A",
    Spot.PLAYER_B: "Player B",
    Spot.TIE: "Tie",
    Spot.PAIR_PLUS_A: "Pair + (A)",
    Spot.PAIR_PLUS_B: "Pair + (B)",
    Spot.SIX_CARD_BONUS: "6 Card Bonus",
}

_CAME_OUT = {Winner.PLAYER_A: "Player A won", Winner.PLAYER_B: "Player B won", Winner.TIE: "the hands tie"}

End = events.RoundResulted | events.RoundCancelled | events.RoundSkipped


class _Story(Struct):
    """What the events say of the round."""

    opened: events.RoundOpened
    cards: dict[Slot, Card]
    end: End | None = None
    rescans: tuple[str, ...] = ()


def explains_round(of_round: Iterable[events.Event]) -> tuple[str, ...]:
    story = _read(of_round)
    again = tuple(f"The cards were scanned again from the first ({reason}): they prevail." for reason in story.rescans)
    return (*again, *_ended(story))


def _ended(story: _Story) -> tuple[str, ...]:
    match story.end:
        case events.RoundResulted():
            return _compared(_shown(story, story.end))
        case events.RoundCancelled(reason=reason):
            return (f"The round was cancelled ({reason}): every stake goes back in full (T28).",)
        case events.RoundSkipped():
            return ("Nobody bet, so no card was dealt.",)
        case None:
            return (f"The round is still on: {len(story.cards)} of {len(SLOTS)} cards are dealt.",)


def explains_payout(of_round: Iterable[events.Event], player: str, payout: Payout) -> str:
    story = _read(of_round)
    outcome = _outcome(story)
    if payout.spot not in _SPOTS:
        raise Unexplained(f"{payout.spot} is no spot of this game")
    spot = Spot(payout.spot)
    wager = f"{player}'s {wording.number(payout.staked)} on {_SPOTS[spot]}"
    by_the_rules = _paid(outcome, payout)
    if payout != by_the_rules:
        raise Unexplained(
            f"{wager}: by the rules it ends {by_the_rules.odds} and {wording.number(by_the_rules.returned)} come back; "
            f"told is {payout.odds} and {wording.number(payout.returned)}"
        )
    currency = story.opened.config.currency
    if isinstance(outcome, Cancelled):
        return f"{wager}: the round was cancelled, so the stake comes back; {wording.returned(currency, payout.staked)}"
    return f"{wager}: {_why(outcome.result, spot)}{_settled(odds_of(outcome.result, spot), payout, currency)}"


# --- The round ----------------------------------------------------------------------------------------------------


def _read(of_round: Iterable[events.Event]) -> _Story:
    story: _Story | None = None
    for event in of_round:
        if isinstance(event, events.RoundOpened):
            story = _Story(event, {})
        elif story is not None and isinstance(event, events.CardDealt):
            story.cards[event.slot] = event.card
        elif story is not None and isinstance(event, events.RescanOrdered):
            story.cards, story.rescans = {}, (*story.rescans, event.reason)
        elif story is not None and isinstance(event, End):
            story.end = event
    if story is None:
        raise Unexplained("none of these events opens a round")
    return story


def _shown(story: _Story, resulted: events.RoundResulted) -> Showdown:
    """The showdown of the cards that were dealt, which must be the one that was recorded."""
    cards = tuple(story.cards[slot] for slot in SLOTS if slot in story.cards)
    if len(set(cards)) != len(SLOTS):
        raise Unexplained(f"six different cards give a result, not {wording.cards(cards)}")
    shown = showdown(cards)
    if shown != resulted.showdown:
        raise Unexplained(
            f"{wording.cards(cards)}: by the rules {_CAME_OUT[shown.winner]}; the result that was recorded is "
            f"another one: {wording.cards(resulted.showdown.hand_a)} to {wording.cards(resulted.showdown.hand_b)}, "
            f"{_CAME_OUT[resulted.showdown.winner]}"
        )
    return shown


def _compared(shown: Showdown) -> tuple[str, ...]:
    a, b = shown.hand_a, shown.hand_b
    match shown.winner:
        case Winner.PLAYER_A:
            why = f"Player A wins: {hands.beats(a, b)}."
        case Winner.PLAYER_B:
            why = f"Player B wins: {hands.beats(b, a)}."
        case Winner.TIE:
            why = f"The hands tie: {hands.ties(a)}."
    six = tuple(card for pair in zip(a, b, strict=True) for card in pair)
    return (
        f"Player A holds {hands.hand(a)}.",
        f"Player B holds {hands.hand(b)}.",
        why,
        f"The best five of the six cards are {hands.five(six)}.",
    )


# --- The wager ----------------------------------------------------------------------------------------------------


def _outcome(story: _Story) -> Outcome:
    match story.end:
        case events.RoundResulted() as end:
            return Resulted(end.round, Result(_shown(story, end), story.opened.config.pay_table))
        case events.RoundCancelled(round=round_id, reason=reason):
            return Cancelled(round_id, reason)
        case _:
            raise Unexplained("the round has no result that a payout could follow from")


def _paid(outcome: Outcome, payout: Payout) -> Payout:
    """What the game returns for the same wager."""
    try:
        [paid] = returns(outcome, (Bet(payout.bet, outcome.round, (Wager(payout.spot, payout.staked),)),))
    except (ValueError, ZeroDivisionError) as fault:  # a stake off the step has no exact payout (D4)
        raise Unexplained(str(fault)) from fault
    return paid


def _why(result: Result, spot: Spot) -> str:
    """What about the cards decides this spot."""
    shown = result.showdown
    match spot:
        case Spot.PLAYER_A | Spot.PLAYER_B | Spot.TIE:
            return _CAME_OUT[shown.winner]
        case Spot.PAIR_PLUS_A:
            return f"Player A holds {_category(shown.category_a)}"
        case Spot.PAIR_PLUS_B:
            return f"Player B holds {_category(shown.category_b)}"
        case Spot.SIX_CARD_BONUS:
            return f"the best five are {hands.bonus_name(shown.bonus)}"


def _category(category: Category) -> str:
    return "less than a pair" if category is Category.HIGH_CARD else hands.name(category)


def _settled(odds: Odds | None, payout: Payout, currency: str) -> str:
    """Odds and arithmetic: stake times odds is what was won, and with the stake what comes back (D4)."""
    if odds is None:
        return f", so it is lost; {wording.returned(currency, 0)}"
    if odds == PUSH:
        return f", so the stake comes back; {wording.returned(currency, payout.staked)}"
    won, stake = odds.winnings(payout.staked), wording.number(payout.staked)
    times = wording.number(odds.numerator) + (f"/{odds.denominator}" if odds.denominator > 1 else "")
    end = wording.returned(currency, payout.staked, won)
    return f", which pays {odds}: {stake} x {times} = {wording.number(won)} won; {end}"

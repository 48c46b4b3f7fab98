"""What anyone can check of a hand from its events alone.

Its seed is never revealed: cards that the rules did not show stay hidden for ever.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from domain import fairness
from domain.fairness import ClientSeed
from domain.games.gin_rummy import ending, events, melds, scoring
from domain.games.gin_rummy.events import PlayerResult, Spread
from domain.games.gin_rummy.roles import after
from domain.games.gin_rummy.rules import Source
from domain.games.gin_rummy.state import STOCK_FROM


class Check(Struct, frozen=True):
    what: str
    holds: bool


class Reveal(Struct, frozen=True, omit_defaults=True):
    """What can be checked of a hand's cards and points, and of a match's prize, checked."""

    round: str
    checks: tuple[Check, ...]
    seed_hash: str
    root: str
    client_seeds: tuple[ClientSeed, ...] = ()


def reveals(_operator: str, of_round: Iterable[events.Event]) -> Reveal | None:
    """None if these events open no hand."""
    story = tuple(of_round)
    opened = next((event for event in story if isinstance(event, events.RoundOpened)), None)
    if opened is None:
        return None
    hands = _Hands(opened)
    followed = [hands.follow(event) for event in story]
    checks = [
        Check("the hands are places of the deck that no other hand has", _apart(opened)),
        Check("each card drawn was the next of the stock, or the top of the discard pile", all(followed)),
    ]
    settled = next((event for event in story if isinstance(event, events.RoundSettled)), None)
    if settled is not None:
        scored = next((event for event in story if isinstance(event, events.RoundScored)), None)
        checks += _cards(opened, hands, scored, settled)
        checks += _points(opened, scored, settled)
    checks += (_prize(opened, event) for event in story if isinstance(event, events.MatchSettled))
    return Reveal(opened.round, tuple(checks), opened.seed.hash, opened.root, opened.client_seeds)


class _Hands:
    """Places of the deck as they go from hand to hand."""

    def __init__(self, opened: events.RoundOpened) -> None:
        self.held = {each.player: set(each.cards) for each in opened.dealt}
        self.pile = [STOCK_FROM - 1]
        self.faces = {STOCK_FROM - 1: opened.upcard}
        """The cards that were laid on the discard pile, by place."""
        self._next = STOCK_FROM

    def follow(self, event: events.Event) -> bool:
        """Whether the event is possible after those before it."""
        match event:
            case events.CardDrawn():
                return self._draws(event)
            case events.Discarded():
                return self._discards(event.player, event.card, event.place)
            case events.Knocked():
                return self._discards(event.spread.player, event.card, event.place)
            case _:
                return True

    def _draws(self, event: events.CardDrawn) -> bool:
        if event.source is Source.STOCK:
            place, self._next = self._next, self._next + 1
            fits = place == event.place and event.card is None
        else:
            place = self.pile.pop() if self.pile else -1
            fits = place == event.place and event.card is self.faces.get(place)
        self.held.setdefault(event.player, set()).add(place)
        return fits

    def _discards(self, player: str, card: events.Card, place: int | None) -> bool:
        if place is None or place not in self.held.get(player, set()):
            return False
        self.held[player].remove(place)
        self.pile.append(place)
        fits = self.faces.get(place, card) is card
        self.faces[place] = card
        return fits


def _apart(opened: events.RoundOpened) -> bool:
    places = [place for each in opened.dealt for place in each.cards]
    return sorted(places) == list(range(len(places)))


def _cards(
    opened: events.RoundOpened, hands: _Hands, scored: events.RoundScored | None, settled: events.RoundSettled
) -> Iterator[Check]:
    """Each card that was shown proves itself against the root published when the hand was dealt."""
    if not settled.openings:
        return  # broken off
    committed = all(fairness.verify_opening(opened.root, opening) for opening in settled.openings)
    yield Check(f"{len(settled.openings)} cards are those of the committed deck at their places", committed)
    proved_at = {opening.index: opening.card for opening in settled.openings}
    discards = all(proved_at.get(place) is card for place, card in hands.faces.items())
    yield Check("each card of the discard pile is proved", discards)
    for spread in (scored.knocker, scored.opponent) if scored else ():
        held = {proved_at.get(place) for place in hands.held.get(spread.player, set())}
        yield Check(f"the hand that {spread.player} showed is proved", held == set(ending.cards_of(spread)))


def _points(
    opened: events.RoundOpened, scored: events.RoundScored | None, settled: events.RoundSettled
) -> Iterator[Check]:
    points: dict[str, int] = {}
    if scored is not None:
        score = scoring.score(opened.config, scored.knocker, scored.opponent, doubled=opened.doubled)
        told = scoring.Score(scored.why, scored.winner, scored.points)
        fits = laid_out(scored, opened.limit)
        yield Check("the hands score what was told, for whom it was told", fits and score == told)
        points = {scored.winner: scored.points}
    before = {each.player: each.total for each in opened.match.players}
    gained = (_gained(each, points, before) for each in settled.results)
    yield Check("each total is the one before and the points of the hand", all(gained))
    gone = frozenset(before) - {settled.roles.box, settled.roles.captain, settled.roles.sitting_out or ""}
    turned = settled.due is None or settled.roles == after(opened.match.roles, settled.winner, gone)
    yield Check("the roles went round by the rules", turned)


def _gained(result: PlayerResult, points: dict[str, int], before: dict[str, int]) -> bool:
    gained = points.get(result.player, 0)
    return result.points == gained and result.total == before.get(result.player, 0) + gained


def laid_out(scored: events.RoundScored, limit: int) -> bool:
    """Melds are melds, what was laid off makes longer ones, and what is unmatched counts what was told."""
    knocker, opponent = scored.knocker, scored.opponent
    longer = (
        (*meld, *(each.card for each in opponent.laid if each.meld == index))
        for index, meld in enumerate(knocker.melds)
    )
    return (
        all(map(melds.is_meld, (*longer, *opponent.melds)))
        and all(map(_counts, (knocker, opponent)))
        and knocker.points <= limit
        and not (opponent.laid and not knocker.deadwood)
    )


def _counts(spread: Spread) -> bool:
    cards = ending.cards_of(spread)
    return len(set(cards)) == len(cards) and sum(map(melds.points, spread.deadwood)) == spread.points


def _prize(opened: events.RoundOpened, settled: events.MatchSettled) -> Check:
    paid, won = sum(each.paid for each in settled.results), sum(each.won for each in settled.results)
    whole = settled.prize == paid == won + settled.rake and settled.rake <= opened.config.rake(settled.prize)
    return Check("what was won and the rake are all that was paid in", whole)

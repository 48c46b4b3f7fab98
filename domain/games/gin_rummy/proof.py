"""What anyone can check of a hand, and of a match of several, from their events alone.

A hand's seed is never revealed: cards that the rules did not show stay hidden for ever.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from domain import fairness
from domain.fairness import ClientSeed
from domain.games.gin_rummy import ending, events, melds, scoring
from domain.games.gin_rummy.events import PlayerResult, Spread
from domain.games.gin_rummy.roles import after
from domain.games.gin_rummy.rules import PILE_DRAWS_MAX, STOCK_LEFT, EndedBy, LayOffBy, Source
from domain.games.gin_rummy.standing import Check, Over, Standing, ended
from domain.games.gin_rummy.state import DECK_SIZE, STOCK_FROM

HandOver = events.RoundSettled | events.RoundRefunded


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
        Check("the knock limit, and whether points are doubled, follow from table and upcard", _limited(opened)),
    ]
    over = next((event for event in story if isinstance(event, events.RoundSettled | events.RoundRefunded)), None)
    if over is not None:
        scored = _scored(story)
        standing = Standing(opened.match)
        for event in story[: story.index(over) + 1]:
            standing.follow(event)
        if isinstance(over, events.RoundSettled):
            checks += _cards(opened, hands, scored, over)
            checks += _scores(opened, hands, standing, story, over)
        checks += _points(opened, standing, scored, over)
        checks += _match_after(opened, standing, story, over)
    return Reveal(opened.round, tuple(checks), opened.seed.hash, opened.root, opened.client_seeds)


class _Hands:
    """Places of the deck as they go from hand to hand."""

    def __init__(self, opened: events.RoundOpened) -> None:
        self.held = {each.player: set(each.cards) for each in opened.dealt}
        self.pile = [STOCK_FROM - 1]
        self.faces = {STOCK_FROM - 1: opened.upcard}
        """The cards that were laid on the discard pile, by place."""
        self._next = STOCK_FROM
        self.taken = 0
        """Cards drawn from the discard pile."""

    @property
    def stock(self) -> int:
        """Cards that are left in it."""
        return DECK_SIZE - self._next

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
            self.taken += 1
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


def _scored(story: tuple[events.Event, ...]) -> events.RoundScored | None:
    return next((event for event in story if isinstance(event, events.RoundScored)), None)


def _apart(opened: events.RoundOpened) -> bool:
    places = [place for each in opened.dealt for place in each.cards]
    return sorted(places) == list(range(len(places)))


def _limited(opened: events.RoundOpened) -> bool:
    config, upcard = opened.config, opened.upcard
    limit, doubled = scoring.knock_limit(config, upcard), scoring.doubles(config, upcard)
    return (opened.limit, opened.doubled) == (limit, doubled)


def _cards(
    opened: events.RoundOpened, hands: _Hands, scored: events.RoundScored | None, settled: events.RoundSettled
) -> Iterator[Check]:
    """Each card that was shown proves itself against the root published when the hand was dealt."""
    if settled.why is EndedBy.FORFEIT:
        return  # broken off
    committed = all(fairness.verify_opening(opened.root, opening) for opening in settled.openings)
    yield Check(f"{len(settled.openings)} cards are those of the committed deck at their places", committed)
    proved_at = {opening.index: opening.card for opening in settled.openings}
    discards = all(proved_at.get(place) is card for place, card in hands.faces.items())
    yield Check("each card of the discard pile is proved", discards)
    for spread in (scored.knocker, scored.opponent) if scored else ():
        held = {proved_at.get(place) for place in hands.held.get(spread.player, set())}
        yield Check(f"the hand that {spread.player} showed is proved", held == set(ending.cards_of(spread)))


def _scores(
    opened: events.RoundOpened,
    hands: _Hands,
    standing: Standing,
    story: tuple[events.Event, ...],
    settled: events.RoundSettled,
) -> Iterator[Check]:
    if (scored := _scored(story)) is not None:
        score = scoring.score(opened.config, scored.knocker, scored.opponent, doubled=opened.doubled)
        told = scoring.Score(scored.why, scored.winner, scored.points)
        fits = laid_out(scored, opened.limit)
        yield Check("the hands score what was told, for whom it was told", fits and score == told)
        at_best = fits and _at_best(opened, story, scored)
        yield Check("where nobody declared anything, they lie as well as they can", at_best)
        same = (settled.why, settled.winner) == (scored.why, scored.winner)
        yield Check("the hand ended with that score", same)
        return
    come_to_its_end = {
        EndedBy.STOCK: hands.stock <= STOCK_LEFT,
        EndedBy.PILE: hands.taken >= PILE_DRAWS_MAX,
        EndedBy.FORFEIT: len(standing.totals) - len(standing.gone) == 1,
    }
    ended_so = come_to_its_end.get(settled.why, False) and settled.winner is None
    yield Check("the hand had come to an end without a score", ended_so)


def _points(
    opened: events.RoundOpened, standing: Standing, scored: events.RoundScored | None, over: HandOver
) -> Iterator[Check]:
    """Points and totals, the hands that are shown with them, and no money: that is the match's."""
    points = {scored.winner: scored.points} if scored else {}
    shown = {each.player: ending.cards_of(each) for each in (scored.knocker, scored.opponent)} if scored else {}
    due = [
        PlayerResult(player, 0, 0, points.get(player, 0), total, shown.get(player, ()))
        for player, total in standing.totals.items()
    ]
    yield Check("each total is the one before and the points of the hand", list(over.results) == due)
    winner = over.winner if isinstance(over, events.RoundSettled) else None
    turned = over.roles == after(opened.match.roles, winner, standing.gone)
    yield Check("the roles went round by the rules", turned)


def _match_after(
    opened: events.RoundOpened, standing: Standing, story: tuple[events.Event, ...], over: HandOver
) -> Iterator[Check]:
    """The match ended with the hand if that decided it, and else it goes on."""
    ends = [event for event in story if isinstance(event, Over)]
    for end in ends:
        yield from ended(standing, opened.config, opened.seats, end)
    if isinstance(over, events.RoundSettled):
        decided = standing.won(opened.config) is not None
        yield Check("the match is over if the hand has decided it, and else goes on", decided == bool(ends))


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


def _at_best(opened: events.RoundOpened, story: tuple[events.Event, ...], scored: events.RoundScored) -> bool:
    """The knocker's hand as it was laid when he knocked (D12), and the answer to it by `layoff: automatic` (D13)."""
    knocker, opponent = scored.knocker, scored.opponent
    knocks = [event for event in story if isinstance(event, events.Knocked)]
    if [event.spread for event in knocks] != [knocker]:
        return False
    best = melds.best(ending.cards_of(knocker))
    if not knocks[0].declared and (knocker.melds, knocker.points) != (best.melds, best.points):
        return False
    if opened.config.layoff is LayOffBy.DECLARED and knocker.deadwood:
        return opponent.laid[: len(_laid(story))] == _laid(story)
    on = knocker.melds if knocker.deadwood else ()
    return opponent.points == melds.best_answer(on, ending.cards_of(opponent)).points


def _laid(story: tuple[events.Event, ...]) -> tuple[events.LaidOff, ...]:
    """One by one, by `layoff: declared`."""
    return tuple(events.LaidOff(event.card, event.meld) for event in story if isinstance(event, events.CardLaid))


def _counts(spread: Spread) -> bool:
    cards = ending.cards_of(spread)
    return len(set(cards)) == len(cards) and sum(map(melds.points, spread.deadwood)) == spread.points

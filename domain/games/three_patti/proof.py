"""What anyone can check of a hand from its events alone.

Its seed is never revealed: cards that the rules did not show stay hidden for ever.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from domain import fairness
from domain.fairness import ClientSeed
from domain.games.three_patti import deck, ending, events
from domain.games.three_patti.events import Dealer, Dealt, ShownHand
from domain.games.three_patti.evolve import evolve
from domain.games.three_patti.rules import HAND
from domain.games.three_patti.state import INITIAL, Acting, Ending

Over = events.RoundSettled | events.RoundRefunded


class Check(Struct, frozen=True):
    what: str
    holds: bool


class Reveal(Struct, frozen=True, omit_defaults=True):
    """What can be checked of a hand's cards and pot, checked."""

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
    shown = next((event for event in story if isinstance(event, events.HandsShown)), None)
    over = next((event for event in story if isinstance(event, Over)), None)
    checks = [Check("the hands are places of the deck that no other hand has", _apart(opened.dealt))]
    if shown is not None:
        checks += _cards(opened, shown)
    if over is not None:
        checks += _money(opened, story, shown, over)
    return Reveal(opened.round, tuple(checks), opened.seed.hash, opened.root, opened.client_seeds)


def _apart(dealt: tuple[Dealt, ...]) -> bool:
    places = [place for each in dealt for place in each.cards]
    return sorted(places) == list(range(len(places)))


def _cards(opened: events.RoundOpened, shown: events.HandsShown) -> Iterator[Check]:
    """Each card that was shown proves itself against the root published before the first bet."""
    places = {each.seat: each.cards for each in opened.dealt}
    for each in shown.hands:
        for place, card, opening in zip(places.get(each.seat, ()), each.cards, each.openings, strict=False):
            proved = (opening.index, opening.card) == (place, card) and fairness.verify_opening(opened.root, opening)
            yield Check(f"seat {each.seat} {card} was card {place} of the committed deck", proved)


def _played(story: tuple[events.Event, ...]) -> tuple[Acting, Ending] | None:
    """The hand by its own events: as it was when somebody last acted, and as it came to its end."""
    last, state = None, INITIAL
    for event in story:
        last = state if isinstance(state, Acting) else last
        state = evolve(state, event)
    return (last, state) if last is not None and isinstance(state, Ending) else None


def _money(
    opened: events.RoundOpened, story: tuple[events.Event, ...], shown: events.HandsShown | None, over: Over
) -> Iterator[Check]:
    played = _played(story[: story.index(over)])
    yield Check("the hand was played to its end", played is not None)
    if played is not None and isinstance(over, events.RoundSettled):
        yield from _pot(opened, *played, shown, over)
    if played is not None and isinstance(over, events.RoundRefunded):
        told = [(each.seat, each.player, each.paid, each.won) for each in over.results]
        back = [(each.seat, each.player, each.paid, each.paid) for each in played[1].round.players]
        yield Check("what was put in went back to whoever put it in", told == back)


def _pot(
    opened: events.RoundOpened, last: Acting, end: Ending, shown: events.HandsShown | None, settled: events.RoundSettled
) -> Iterator[Check]:
    """To the unit, and for each player: the best hand shown has won, or the last one who had not folded."""
    on = end.round
    paid, won = sum(each.paid for each in settled.results), sum(each.won for each in settled.results)
    whole = settled.pot == paid == on.pot == won + settled.rake
    yield Check("what was won and the rake are all that was put in", whole)
    rake = 0 if ending.in_first_circuit(last) else opened.config.rake(on.pot)
    yield Check("the rake is what the table takes of the pot", settled.rake == rake)
    active = {each.seat for each in on.active}
    winners = _best(shown.hands, shown.asker) if shown is not None else active
    shares = ending.shares(on, tuple(winners), on.pot - rake) if winners else {}
    due = [(each.seat, each.player, each.paid, shares.get(each.seat, 0)) for each in on.players]
    told = [(each.seat, each.player, each.paid, each.won) for each in settled.results]
    if shown is not None:
        yield Check("the hands shown are those that were still in", {each.seat for each in shown.hands} == active)
    what = "the best hand shown won" if shown is not None else "the last one who had not folded won"
    yield Check(f"{what}, each share to the unit", told == due and (shown is not None or len(active) == 1))
    first = next((Dealer(each.seat, each.player) for each in on.players if each.seat in winners), None)
    yield Check("the winner deals next", settled.dealer == first)


def _best(hands: tuple[ShownHand, ...], asker: int | None) -> set[int]:
    """Of equal hands the one that asked loses (P21). One that holds a card twice was forged, and is worth nothing."""
    worth = {each.seat: deck.worth(each.cards) for each in hands if len(set(each.cards)) == HAND}
    best = {seat for seat, strength in worth.items() if strength == max(worth.values())}
    return best - {asker} if len(best) > 1 else best

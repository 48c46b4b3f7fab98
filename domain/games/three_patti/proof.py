"""What anyone can check of a hand from its events alone.

Its seed is never revealed: cards that the rules did not show stay hidden for ever.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from domain import fairness
from domain.fairness import ClientSeed
from domain.games.three_patti import deck, events
from domain.games.three_patti.events import Dealt, ShownHand
from domain.games.three_patti.rules import HAND


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
    settled = next((event for event in story if isinstance(event, events.RoundSettled)), None)
    checks = [Check("the hands are places of the deck that no other hand has", _apart(opened.dealt))]
    if shown is not None:
        checks += _cards(opened, shown)
    if settled is not None:
        checks += _pot(opened, shown, settled)
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


def _pot(opened: events.RoundOpened, shown: events.HandsShown | None, settled: events.RoundSettled) -> Iterator[Check]:
    paid, won = sum(each.paid for each in settled.results), sum(each.won for each in settled.results)
    whole = settled.pot == paid == won + settled.rake and settled.rake <= opened.config.rake(settled.pot)
    yield Check("what was won and the rake are all that was put in", whole)
    if shown is not None:
        winners = {each.seat for each in settled.results if each.won}
        yield Check("the best hand shown won", winners <= _best(shown.hands, shown.asker))


def _best(hands: tuple[ShownHand, ...], asker: int | None) -> set[int]:
    """Of equal hands the one that asked loses (P21). One that holds a card twice was forged, and is worth nothing."""
    worth = {each.seat: deck.worth(each.cards) for each in hands if len(set(each.cards)) == HAND}
    best = {seat for seat, strength in worth.items() if strength == max(worth.values())}
    return best - {asker} if len(best) > 1 else best

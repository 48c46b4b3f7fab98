"""What a viewer may do now, and with which cards: so that a client needs no copy of the rules.

Each entry is what `decide` would not refuse; the questions are asked where `decide` asks them.
"""

from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

from domain.cards import Card
from domain.errors import Rejected
from domain.games.gin_rummy import seating, turns
from domain.games.gin_rummy.events import Cards, LaidOff
from domain.games.gin_rummy.rules import Source
from domain.games.gin_rummy.state import Acting, Between, Choice, Discarding, Drawing, LayingOff, Opened, Paused
from domain.money import Amount


class Knockable(Struct, frozen=True):
    """A discard with which one may knock, and the least that is then unmatched; gin, if that is nothing."""

    card: Card
    deadwood: int


class Allowed(Struct, frozen=True, omit_defaults=True):
    """A command that is open now."""

    command: str
    """The `type` to send."""
    amount: Amount | None = None
    """What sitting down costs."""
    forfeits: bool = False
    """Leaving would forfeit the match."""
    sources: tuple[Source, ...] = ()
    """Where one may draw from."""
    cards: Cards = ()
    """What one may discard."""
    knocks: tuple[Knockable, ...] = ()
    """With which discards one may knock. Melds may be declared, if they leave no more than the knock limit."""
    lays: tuple[LaidOff, ...] = ()
    """What one may lay off, and on which of the knocker's melds."""


def allowed(state: Opened, player: str, hand: Cards) -> tuple[Allowed, ...]:
    """`hand` are the player's own cards, if he is in the hand that is on."""
    return tuple(_entries(state, player, hand))


def _entries(state: Opened, player: str, hand: Cards) -> Iterator[Allowed]:
    match state:
        case Paused():
            if state.table.match is None and state.table.seat_of(player) is not None:
                yield Allowed("LeaveTable")
        case Between():
            yield from _at_table(state, player)
        case Choice() | Drawing() | Discarding() | LayingOff():
            yield from _plays(state, player, hand)
            yield from _advises(state, player)
            yield from _at_table(state, player)
        case _:
            return


def _at_table(state: Between | Acting, player: str) -> Iterator[Allowed]:
    table = state.table
    with suppress(Rejected):
        yield Allowed("SitDown", amount=seating.entry(table, player))
    with suppress(Rejected):
        seating.seat_of(table, player)
        yield Allowed("LeaveTable", forfeits=table.match is not None)
        given = (each.player for each in table.client_seeds)
        if table.next_seed is not None and player not in given:
            yield Allowed("GiveClientSeed")


def _plays(state: Acting, player: str, hand: Cards) -> Iterator[Allowed]:
    me = state.table.contender(player)
    if state.player != player or me is None or me.forfeited:
        return
    match state:
        case Choice():
            yield Allowed("Decline")
            yield Allowed("Draw", sources=turns.sources(state))
        case Drawing():
            yield Allowed("Draw", sources=turns.sources(state))
        case Discarding():
            yield Allowed("Discard", cards=turns.discards(state, hand))
            if knocks := turns.knocks(state, hand):
                yield Allowed("Knock", knocks=tuple(Knockable(card, left) for card, left in knocks.items()))
        case LayingOff():
            if lays := turns.lays(state, hand):
                yield Allowed("LayOff", lays=lays)
            yield Allowed("LayDown")


def _advises(state: Acting, player: str) -> Iterator[Allowed]:
    me = state.table.contender(player)
    if me is None or me.forfeited:
        return
    with suppress(Rejected):
        turns.ask_advice(state, player)
        yield Allowed("AskAdvice")
    with suppress(Rejected):
        turns.send_advice(state, player)
        yield Allowed("SendAdvice")

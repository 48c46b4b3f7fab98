"""The table to its viewers, built up from nothing; what an event shows; and what anyone can check of a hand.

A view takes from the deck what `hands` says its viewer may know, and never anything else.
"""

from collections.abc import Iterator

from msgspec import UNSET, Struct
from msgspec.structs import replace

from domain.cards import Card
from domain.fairness import ClientSeed
from domain.game import Brought, Chips, Micros, Open, PaidIn, PaidOut, Role, SealedSeed, Viewer
from domain.games.three_patti import betting, deck, events
from domain.games.three_patti.allowed import Allowed, allowed
from domain.games.three_patti.events import PlayerResult, Seat
from domain.games.three_patti.rules import Config, EndedBy
from domain.games.three_patti.seating import freed_at
from domain.games.three_patti.state import (
    Acting,
    Answering,
    Between,
    Closed,
    Ending,
    InHand,
    NotOpened,
    Opened,
    Paused,
    Round,
    State,
    Turn,
    phase,
    round_on,
)
from domain.money import Amount, Payout

VIEW_NUMBER = 1
"""Another number when a view, or what is shown of an event, changes."""

RANKING = (
    "Trio, pure sequence, sequence, color, pair, high card; A-K-Q is the highest sequence, then A-2-3, then K-Q-J. "
    "Suits never decide."
)


# --- The table ----------------------------------------------------------------------------------------------------


class SeatView(Struct, frozen=True, omit_defaults=True):
    """`status` is blind, seen or folded of who is in the hand; else waiting, out or leaving."""

    seat: int
    player: str
    stack: Amount
    status: str
    paid: Amount = 0
    """Put in since the hand began."""
    cards: tuple[Card, ...] = ()
    """As far as the viewer may know them."""
    leaving: bool = False
    time_bank: bool = False
    """Still there, for this hand."""
    show_costs: Amount | None = None
    """What a show would take from this seat now."""


class LastView(Struct, frozen=True, omit_defaults=True):
    """How the hand before ended, with the cards as far as the viewer may know them; `ended_by` none: cancelled."""

    round: str
    ended_by: EndedBy | None
    results: tuple[PlayerResult, ...]


class TableView(Struct, frozen=True, omit_defaults=True):
    """`round` is the hand that is on. What is open to the viewer himself stands in `allowed`."""

    phase: str
    """between hands, turn, answering (a sideshow), ending, paused, closed."""
    seats: tuple[SeatView, ...] = ()
    round: str | None = None
    dealer: int | None = None
    pot: Amount | None = None
    stake: Amount | None = None
    turn: int | None = None
    """The seat that is to act, until `act_by`."""
    sideshow_of: int | None = None
    """The seat that asks `turn` for a sideshow."""
    act_by: Micros | None = None
    on_time_bank: bool = False
    you: int | None = None
    """The viewer's own seat."""
    allowed: tuple[Allowed, ...] = ()
    opens_at: Micros | None = None
    """When the next hand is dealt; none while it waits for players."""
    last: LastView | None = None
    reason: str | None = None
    """Why the table is paused."""
    seed_hash: str | None = None
    root: str | None = None
    next_round: str | None = None
    next_seed_hash: str | None = None
    """Published: who sits here may give a client seed for `next_round`."""
    client_seeds: tuple[ClientSeed, ...] = ()
    draining: bool = False


def view(state: State, viewer: Viewer, _bets: tuple[object, ...], open_seed: Open) -> TableView:
    if isinstance(state, NotOpened):
        return TableView(phase(state))
    known = hands(state, viewer, open_seed) if viewer.role is Role.PLAYER else _shown_hands(state)
    table, on, next_seed = state.table, round_on(state), state.table.next_seed
    mine = table.seat_of(viewer.actor) if viewer.role is Role.PLAYER else None
    acting = state if isinstance(state, Acting) else None
    return TableView(
        phase=phase(state),
        seats=tuple(_seat(state, on, seat, known) for seat in table.seats),
        round=on.id if on else None,
        dealer=on.dealer.seat if on else None,
        pot=on.pot if on else None,
        stake=on.stake if on else None,
        turn=_turn(state),
        sideshow_of=state.asker if isinstance(state, Answering) else None,
        act_by=acting.due if acting else None,
        on_time_bank=isinstance(state, Turn) and state.banking,
        you=mine.number if mine else None,
        allowed=allowed(state, viewer.actor) if viewer.role is Role.PLAYER else (),
        opens_at=state.due if isinstance(state, Between) and next_seed else None,
        last=_last(state, known),
        reason=state.reason if isinstance(state, Paused) else None,
        seed_hash=on.seed.hash if on else None,
        root=on.root if on else None,
        next_round=next_seed.round if next_seed else None,
        next_seed_hash=next_seed.seed.hash if next_seed else None,
        client_seeds=on.client_seeds if on else table.client_seeds,
        draining=table.draining,
    )


def _turn(state: Opened) -> int | None:
    match state.was if isinstance(state, Paused) else state:
        case Turn(seat=seat) | Answering(target=seat):
            return seat
        case _:
            return None


def _seat(state: Opened, on: Round | None, seat: Seat, known: dict[str, tuple[Card, ...]]) -> SeatView:
    me = on.of(seat.player) if on else None
    if on is None or me is None:
        status = "out" if seat.out_since is not None else "waiting"
        return SeatView(seat.number, seat.player, seat.stack, status)
    return SeatView(
        seat=seat.number,
        player=seat.player,
        stack=seat.stack,
        status="folded" if me.folded else "seen" if me.seen else "blind",
        paid=me.paid,
        cards=known.get(seat.player, ()),
        leaving=seat.leaving,
        time_bank=bool(state.table.config.time_bank and not me.banked and not me.folded),
        show_costs=None if me.folded else _show_costs(state, on, me, seat.stack),
    )


def _show_costs(state: Opened, on: Round, me: InHand, stack: Amount) -> Amount:
    """As the one who asks, on one's own turn; else as the one who is asked."""
    if isinstance(state, Turn) and state.seat == me.seat:
        return betting.price(me, on.stake)
    return betting.forced(state.table.config, on, me, stack)


def _last(state: Opened, known: dict[str, tuple[Card, ...]]) -> LastView | None:
    between = state.was if isinstance(state, Paused) else state
    if not isinstance(between, Between) or between.last is None:
        return None
    last = between.last
    results = tuple(replace(each, cards=known.get(each.player, ())) for each in last.results)
    return LastView(last.round.id, last.ended_by, results)


# --- Who may know which cards ---------------------------------------------------------------------------------------


def hands(state: State, viewer: Viewer, open_seed: Open) -> dict[str, tuple[Card, ...]]:
    """Whose cards this viewer may know by now. The deck is opened only for cards that are not shown to all."""
    if isinstance(state, NotOpened | Closed):
        return {}
    known, on, over = _shown_hands(state), _last_round(state), round_on(state) is None
    if on is None:
        return known
    if viewer.role is Role.AUDITOR and over:
        own = {each.seat for each in on.players}
    elif viewer.role is Role.PLAYER:
        own = set(_own(on, viewer.actor, over=over))
    else:
        return known
    sealed = [each for each in on.players if each.seat in own and each.player not in known]
    if not sealed:
        return known
    cards = deck.shuffled(on, open_seed)
    return known | {each.player: deck.hand(cards, each) for each in sealed}


def _own(on: Round, player: str, *, over: bool) -> Iterator[int]:
    """The player's own hand, once it is seen or the hand is over; and the other one of each sideshow he was in."""
    me = on.of(player)
    if me is None:
        return
    if me.seen or over:
        yield me.seat
    for asker, target in on.compared:
        if me.seat in (asker, target):
            yield asker
            yield target


def _shown_hands(state: Opened) -> dict[str, tuple[Card, ...]]:
    """What everybody has seen: the hands of a show."""
    match state.was if isinstance(state, Paused) else state:
        case Ending(shown=shown):
            return {each.player: each.cards for each in shown}
        case Between(last=last) if last is not None:
            return {each.player: each.cards for each in last.results if each.cards}
        case _:
            return {}


def _last_round(state: Opened) -> Round | None:
    """The hand that is on, or else the last one."""
    on = state.was if isinstance(state, Paused) else state
    if isinstance(on, Between):
        return on.last.round if on.last else None
    return round_on(on)


# --- The table's particulars ----------------------------------------------------------------------------------------


class About(Struct, frozen=True):
    """The table's public particulars: its limits in figures, and what beats what."""

    config: Config
    next_config: Config | None
    buy_in_min: Amount
    buy_in_max: Amount
    max_stake: Amount
    pot_limit: Amount | None
    ranking: str
    fairness: str


FAIRNESS = (
    "The deck is committed to before the first bet, and every card that is shown is proved against it. This guards "
    "against the house alone, not against the house together with a player at the table."
)


def about(state: State) -> About | None:
    if isinstance(state, NotOpened):
        return None
    config = state.table.config
    return About(
        config, state.table.pending, config.least_buy_in, config.most_buy_in, config.highest_stake, config.full_pot,
        RANKING, FAIRNESS,
    )  # fmt: skip


def public(event: events.Event, _viewer: Viewer) -> events.Event:
    """Every event is for everybody, but of a sealed seed only its hash, and not who of the staff stopped a hand: no
    event names a card before all may see it."""
    match event:
        case events.SeedPublished() | events.SeedDropped() | events.RoundOpened():
            return replace(event, seed=SealedSeed(event.seed.hash, "", ""))
        case events.RoundPaused():
            return replace(event, by=UNSET)
        case events.RoundCancelled():
            return replace(event, paused_by=UNSET)
        case _:
            return event


# --- To the machinery -----------------------------------------------------------------------------------------------


def round_id(state: State) -> str | None:
    on = round_on(state)
    return on.id if on else None


def deadline(state: State) -> Micros | None:
    match state:
        case NotOpened() | Closed() | Ending():
            return None
        case Between():
            freed = (freed_at(state.table, seat) for seat in state.table.seats)
            return min((due for due in (state.due, *freed) if due is not None), default=None)
        case _:
            return state.due


def holdings(state: State) -> Amount:
    """All chips at the table: the stacks and the pot."""
    if isinstance(state, NotOpened):
        return 0
    on = round_on(state)
    return sum(seat.stack for seat in state.table.seats) + (on.pot if on else 0)


def rake(event: events.Event) -> Amount:
    return event.rake if isinstance(event, events.RoundSettled) else 0


def chips(event: events.Event) -> tuple[Chips, ...]:
    match event:
        case events.SeatTaken() | events.ToppedUp():
            return (Brought(event.player, event.amount),)
        case events.SeatLeft():
            return (Brought(event.player, -event.amount),)
        case events.RoundOpened():
            return tuple(PaidIn(_spot(each.seat), event.config.boot, each.player) for each in event.dealt)
        case events.BetMade() | events.SideShowAsked():
            return (PaidIn(_spot(event.seat), event.amount),)
        case events.HandsShown():
            return tuple(PaidIn(_spot(each.seat), each.amount) for each in event.payments)
        case events.RoundSettled():
            return tuple(_paid_out(event.round, each, "won" if each.won else "lost") for each in event.results)
        case events.RoundRefunded():
            return tuple(_paid_out(event.round, each, "refunded") for each in event.results)
        case _:
            return ()


def _spot(seat: int) -> str:
    return f"seat {seat}"


def _paid_out(round_id: str, each: PlayerResult, how: str) -> PaidOut:
    return PaidOut(each.player, Payout(round_id, _spot(each.seat), each.paid, how, each.won))

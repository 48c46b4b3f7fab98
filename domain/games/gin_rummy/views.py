"""The table to its viewers, built up from nothing; what an event shows; and who may know which cards.

A view takes from the deck what `hands` says its viewer may know, and never anything else.
"""

from collections.abc import Iterator

from msgspec import UNSET, Struct
from msgspec.structs import replace

from domain.cards import Card
from domain.fairness import ClientSeed
from domain.game import Brought, Chips, Micros, Open, PaidIn, PaidOut, Role, SealedSeed, SealedText, Viewer
from domain.games.gin_rummy import deck, ending, events
from domain.games.gin_rummy.allowed import Allowed, allowed
from domain.games.gin_rummy.events import Cards, LaidOff, PlayerResult, Seat, Spread
from domain.games.gin_rummy.roles import Roles
from domain.games.gin_rummy.rules import Config, EndedBy, Source
from domain.games.gin_rummy.state import (
    Acting,
    Between,
    Closed,
    Ending,
    InHand,
    LastMatch,
    LayingOff,
    NotOpened,
    Opened,
    Paused,
    RolesDrawn,
    Round,
    State,
    Turn,
    phase,
    round_on,
    shown_to,
)
from domain.money import Amount, Payout

VIEW_NUMBER = 1
"""Another number when a view, or what is shown of an event, changes."""

# --- The table ----------------------------------------------------------------------------------------------------


class SeatView(Struct, frozen=True, omit_defaults=True):
    """`status` is waiting, playing, sitting_out, away (missed the last turn) or forfeited."""

    player: str
    status: str
    total: int = 0
    missed: int = 0
    """Turns in a row that the platform played."""
    holds: int = 0
    """How many cards."""
    cards: Cards = ()
    """As far as the viewer may know them."""
    time_bank: bool = False
    """Still there, for this hand."""


class LastView(Struct, frozen=True, omit_defaults=True):
    """How the hand before ended, with the cards as far as the viewer may know them; `ended_by` none: cancelled."""

    round: str
    ended_by: EndedBy | None
    results: tuple[PlayerResult, ...]
    spreads: tuple[Spread, ...] = ()
    """The knocker's, and the other one's."""
    pile: Cards = ()
    """The discard pile as it lay, the top card last."""


class TableView(Struct, frozen=True, omit_defaults=True):
    """`round` is the hand that is on. What is open to the viewer himself stands in `allowed`."""

    phase: str
    """between hands (or matches), roles_drawn, choice (of the upcard), drawing, discarding, laying_off, ending, paused,
    closed."""
    seats: tuple[SeatView, ...] = ()
    match: str | None = None
    prize: Amount = 0
    hands: int = 0
    """Of the match, scored or drawn up to now."""
    roles: Roles | None = None
    """Of the hand that is on, or of the next one."""
    round: str | None = None
    top: Card | None = None
    """Of the discard pile."""
    pile: int = 0
    stock: int = 0
    """How many cards."""
    knock_limit: int | None = None
    doubled: bool = False
    turn: str | None = None
    """The player who is to act, until `act_by`."""
    act_by: Micros | None = None
    on_time_bank: bool = False
    knocker: Spread | None = None
    """The hand that lies on the table."""
    laid: tuple[LaidOff, ...] = ()
    """What the other one has laid off on it up to now."""
    asked: bool = False
    """The captain has asked for advice."""
    advice: tuple[str, ...] = ()
    """To its two readers only."""
    allowed: tuple[Allowed, ...] = ()
    opens_at: Micros | None = None
    """When the next hand is dealt; none while it waits for players."""
    last: LastView | None = None
    last_match: LastMatch | None = None
    reason: str | None = None
    """Why the table is paused."""
    seed_hash: str | None = None
    root: str | None = None
    next_round: str | None = None
    next_seed_hash: str | None = None
    """Published: who sits here may give a client seed for `next_round`."""
    client_seeds: tuple[ClientSeed, ...] = ()
    draining: bool = False


def view(state: State, viewer: Viewer, _bets: tuple[object, ...], open_sealed: Open) -> TableView:
    if isinstance(state, NotOpened):
        return TableView(phase(state))
    player = viewer.actor if viewer.role is Role.PLAYER else None
    known = hands(state, viewer, open_sealed) if player is not None else _shown_hands(state)
    table, next_seed, on = state.table, state.table.next_seed, round_on(state)
    shown = TableView(
        phase=phase(state),
        seats=tuple(_seat(state, seat, known) for seat in table.seats),
        match=table.match.id if table.match else None,
        prize=table.prize,
        hands=table.match.hands if table.match else 0,
        roles=table.match.roles if table.match else None,
        allowed=() if player is None else allowed(state, player, known.get(player, ())),
        opens_at=state.due if isinstance(state, Between) and next_seed else None,
        last=_last(state, known),
        last_match=_last_match(state),
        reason=state.reason if isinstance(state, Paused) else None,
        next_round=next_seed.round if next_seed else None,
        next_seed_hash=next_seed.seed.hash if next_seed else None,
        client_seeds=on.client_seeds if on else table.client_seeds,
        draining=table.draining,
    )
    return shown if on is None else _with_hand(shown, state, on, player, open_sealed)


def _with_hand(shown: TableView, state: Opened, on: Round, player: str | None, open_sealed: Open) -> TableView:
    acting = _acting(state)
    laying = acting if isinstance(acting, LayingOff) else None
    return replace(
        shown,
        round=on.id,
        top=on.pile[-1].card if on.pile else None,
        pile=len(on.pile),
        stock=on.stock,
        knock_limit=on.limit,
        doubled=on.doubled,
        turn=acting.player if acting else None,
        act_by=acting.due if acting and not isinstance(state, Paused) else None,
        on_time_bank=isinstance(acting, Turn) and acting.banking,
        knocker=laying.knocker if laying else None,
        laid=laying.laid if laying else (),
        asked=on.asked,
        advice=tuple(_advice(on, player, open_sealed)),
        seed_hash=on.seed.hash,
        root=on.root,
    )


def _acting(state: Opened) -> Acting | None:
    on = state.was if isinstance(state, Paused) else state
    return on if isinstance(on, Acting) else None


def _advice(on: Round, player: str | None, open_sealed: Open) -> Iterator[str]:
    """Between the captain and the adviser (G7)."""
    if player is None or player not in (on.roles.captain, on.roles.sitting_out):
        return
    for each in on.advice:
        yield open_sealed(on.id, each).decode()


def _seat(state: Opened, seat: Seat, known: dict[str, Cards]) -> SeatView:
    table, on = state.table, round_on(state)
    me = table.contender(seat.player)
    if me is None:
        return SeatView(seat.player, "waiting")
    mine = on.of(seat.player) if on else None
    present = "waiting" if on is None else "sitting_out" if mine is None else "playing"
    return SeatView(
        player=seat.player,
        status="forfeited" if me.forfeited else "away" if me.missed else present,
        total=me.total,
        missed=me.missed,
        holds=_holds(state, mine) if mine else 0,
        cards=known.get(seat.player, ()) if mine else (),
        time_bank=bool(mine and table.config.time_bank and not mine.banked),
    )


def _holds(state: Opened, player: InHand) -> int:
    acting = _acting(state)
    laid = acting.laid if isinstance(acting, LayingOff) and acting.player == player.player else ()
    return len(player.cards) - len(laid)


def _last(state: Opened, known: dict[str, Cards]) -> LastView | None:
    between = state.was if isinstance(state, Paused) else state
    if not isinstance(between, Between) or between.last is None:
        return None
    last = between.last
    results = tuple(replace(each, cards=known.get(each.player, ())) for each in last.results)
    pile = tuple(each.card for each in last.round.pile)
    return LastView(last.round.id, last.ended_by, results, last.spreads, pile)


def _last_match(state: Opened) -> LastMatch | None:
    between = state.was if isinstance(state, Paused) else state
    return between.last_match if isinstance(between, Between) else None


# --- Who may know which cards ---------------------------------------------------------------------------------------


def hands(state: State, viewer: Viewer, open_sealed: Open) -> dict[str, Cards]:
    """Whose cards this viewer may know by now. The deck is opened only for cards that are not shown to all."""
    if isinstance(state, NotOpened | Closed):
        return {}
    known, on, over = _shown_hands(state), _last_round(state), round_on(state) is None
    if on is None:
        return known
    if viewer.role is Role.AUDITOR and over:
        own = {each.player for each in on.players}
    elif viewer.role is Role.PLAYER:
        own = set(_own(state, on, viewer.actor))
    else:
        return known
    whole = _whole(state)
    sealed = [each for each in on.players if each.player in own and each.player not in whole]
    if not sealed:
        return known
    cards = deck.shuffled(on, open_sealed)
    return known | {each.player: tuple(deck.hand(cards, each)) for each in sealed}


def _own(state: Opened, on: Round, player: str) -> Iterator[str]:
    """The player's own hand; and to the adviser the captain's, opened to him for as long as the hand is played (G7)."""
    if on.of(player) is not None:
        yield player
    elif _acting(state) is not None and player == shown_to(state.table, on):
        yield on.roles.captain


def _shown_hands(state: Opened) -> dict[str, Cards]:
    """What lies on the table: the knocker's hand, what the other one has laid off, and both when they are scored."""
    match state.was if isinstance(state, Paused) else state:
        case LayingOff() as laying:
            knocker = {laying.knocker.player: ending.cards_of(laying.knocker)}
            return knocker | ({laying.player: tuple(each.card for each in laying.laid)} if laying.laid else {})
        case Ending(spreads=spreads):
            return {each.player: ending.cards_of(each) for each in spreads}
        case Between(last=last) if last is not None:
            return {each.player: each.cards for each in last.results if each.cards}
        case _:
            return {}


def _whole(state: Opened) -> set[str]:
    """Whose whole hand lies on the table."""
    shown = set(_shown_hands(state))
    acting = _acting(state)
    return shown - {acting.player} if isinstance(acting, LayingOff) else shown


def _last_round(state: Opened) -> Round | None:
    """The hand that is on, or else the last one."""
    on = state.was if isinstance(state, Paused) else state
    if isinstance(on, Between):
        return on.last.round if on.last else None
    return round_on(on)


# --- The table's particulars ----------------------------------------------------------------------------------------


class About(Struct, frozen=True):
    """The table's public particulars: what a match costs, and what scores."""

    config: Config
    next_config: Config | None
    prize: Amount
    rake: Amount
    scoring: str
    fairness: str


SCORING = (
    "Face cards 10, number cards their number, aces 1. Gin {gin} and the difference; a knock of {knock} or less the "
    "difference; an undercut {undercut} and the difference. {target} points win the match."
)
FAIRNESS = (
    "The deck is committed to before the cards are looked at, and every card that a hand has shown is proved against "
    "it when the hand has ended. This guards against the house alone, not against the house together with a player at "
    "the table."
)


def about(state: State) -> About | None:
    if isinstance(state, NotOpened):
        return None
    config = state.table.config
    prize = config.players * config.entry
    told = SCORING.format(
        gin=config.gin_bonus, knock=config.knock_limit, undercut=config.undercut_bonus, target=config.target
    )
    return About(config, state.table.pending, prize, config.rake(prize), told, FAIRNESS)


def public(event: events.Event, _viewer: Viewer) -> events.Event:
    """Every event is for everybody, but of what is sealed only a seed's hash, and not where a card of the discard
    pile lay in the deck: that would tell when it came into the hand; nor who of the staff stopped a hand or match."""
    match event:
        case events.SeedPublished() | events.SeedDropped() | events.RoundOpened():
            return replace(event, seed=SealedSeed(event.seed.hash, "", ""))
        case events.AdviceGiven():
            return replace(event, advice=SealedText("", ""))
        case events.Discarded() | events.Knocked() | events.CardDrawn(source=Source.PILE):
            return replace(event, place=None)
        case events.RoundPaused():
            return replace(event, by=UNSET)
        case events.RoundCancelled() | events.MatchRefunded():
            return replace(event, paused_by=UNSET)
        case _:
            return event


# --- To the machinery -----------------------------------------------------------------------------------------------


def round_id(state: State) -> str | None:
    """The id of the hand that is on, or with which a match is just beginning or ending."""
    if isinstance(state, RolesDrawn):
        return state.round
    on = round_on(state)
    return on.id if on else None


def deadline(state: State) -> Micros | None:
    return state.due if isinstance(state, Between | Acting | Paused) else None


def holdings(state: State) -> Amount:
    """The entries that were paid, until they are paid out."""
    return 0 if isinstance(state, NotOpened) else state.table.prize


def rake(event: events.Event) -> Amount:
    return event.rake if isinstance(event, events.MatchSettled) else 0


def chips(event: events.Event) -> tuple[Chips, ...]:
    """Entries are money of the match; a hand moves none."""
    match event:
        case events.SeatTaken():
            return (Brought(event.player, event.amount),)
        case events.SeatLeft():
            return (Brought(event.player, -event.amount),)
        case events.MatchOpened():
            entry = event.prize // len(event.players)
            return tuple(PaidIn(ENTRY, entry, player) for player in event.players)
        case events.MatchSettled():
            return tuple(_paid_out(event.match, event.results, "won", "lost"))
        case events.MatchRefunded():
            return tuple(_paid_out(event.match, event.results, "refunded", "refunded"))
        case _:
            return ()


ENTRY = "entry"
"""What is played for in a match, as a round's wagers are on spots."""


def _paid_out(match: str, results: tuple[PlayerResult, ...], won: str, lost: str) -> Iterator[Chips]:
    """How the match ended for each player; and what was won is cash at once."""
    for each in results:
        yield PaidOut(each.player, Payout(match, ENTRY, each.paid, won if each.won else lost, each.won))
        if each.won:
            yield Brought(each.player, -each.won)

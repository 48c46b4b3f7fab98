"""What a table is now: its phases are types, so that each holds what it needs and nothing else.

NotOpened -> Between -> RolesDrawn -> Choice -> Drawing <-> Discarding -> LayingOff -> Ending -> Between ... -> Closed
RolesDrawn and Ending last from one event of a command to another: never longer than the command. Every phase but these
can go to Paused and back, and every one of a hand to Ending.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from domain.cards import Card
from domain.fairness import ClientSeed
from domain.game import Micros, SealedSeed, SealedText, Stage, Standing
from domain.games.gin_rummy.events import (
    Cards,
    LaidOff,
    NextSeed,
    Places,
    PlayerResult,
    Seat,
    Spread,
)
from domain.games.gin_rummy.roles import Contender, Match, Roles
from domain.games.gin_rummy.rules import HAND, AdviserSees, Config, EndedBy, WonBy
from domain.money import Amount

STOCK_FROM = 2 * HAND + 1
"""After both hands and the upcard come the cards of the stock."""
DECK_SIZE = 52


class Table(Struct, frozen=True, omit_defaults=True):
    """What outlasts a hand. `config` is that of the match that is on; `pending` takes its place when it has ended."""

    config: Config
    seats: tuple[Seat, ...] = ()
    """Those that are taken, in the order in which they were."""
    pending: Config | None = None
    draining: bool = False
    number: int = 0
    """Of the last hand dealt."""
    matches: int = 0
    """Begun up to now."""
    match: Match | None = None
    next_seed: NextSeed | None = None
    client_seeds: tuple[ClientSeed, ...] = ()
    """Given since `next_seed` was published, for its hand, by players who sit here."""
    epoch: int = 0
    """Of the log, when it was last resumed here."""

    def seat_of(self, player: str) -> Seat | None:
        return next((seat for seat in self.seats if seat.player == player), None)

    def contender(self, player: str) -> Contender | None:
        players = self.match.players if self.match else ()
        return next((each for each in players if each.player == player), None)

    @property
    def prize(self) -> Amount:
        return sum(seat.paid for seat in self.seats)

    @property
    def still_in(self) -> tuple[Contender, ...]:
        """Who has not forfeited the match."""
        return tuple(each for each in (self.match.players if self.match else ()) if not each.forfeited)

    @property
    def ready(self) -> bool:
        """A hand may follow: of the match that is on, or the first one of another."""
        return self.match is not None or len(self.seats) == self.config.players


class InHand(Struct, frozen=True, omit_defaults=True):
    """A player in the hand that is on. The cards are places in the sealed deck."""

    player: str
    cards: Places
    banked: bool = False
    """The time bank of this hand is spent."""


class Lying(Struct, frozen=True):
    """A card of the discard pile, and its place in the deck."""

    card: Card
    place: int


class Round(Struct, frozen=True, omit_defaults=True):
    """The hand that is on. `players` are the captain and the box."""

    id: str
    operator: str
    seed: SealedSeed
    root: str
    client_seeds: tuple[ClientSeed, ...]
    match: str
    roles: Roles
    players: tuple[InHand, InHand]
    upcard: Card
    pile: tuple[Lying, ...]
    """The discard pile, the top card last."""
    limit: int
    doubled: bool = False
    drawn: int = 0
    """Cards taken from the stock."""
    taken: int = 0
    """Cards taken from the discard pile."""
    shown: Places = ()
    """All that have lain there."""
    asked: bool = False
    """The captain has asked for advice."""
    advice: tuple[SealedText, ...] = ()
    rules: int = 1
    """The number of the rules that it is played by to its end."""

    @property
    def stock(self) -> int:
        """How many cards are left in it."""
        return DECK_SIZE - STOCK_FROM - self.drawn

    @property
    def next_place(self) -> int:
        return STOCK_FROM + self.drawn

    def of(self, player: str) -> InHand | None:
        return next((each for each in self.players if each.player == player), None)

    def other(self, player: str) -> str:
        captain, box = self.players
        return box.player if player == captain.player else captain.player

    def changed(self, player: str, change: Callable[[InHand], InHand]) -> "Round":
        captain, box = (change(each) if each.player == player else each for each in self.players)
        return replace(self, players=(captain, box))


class Last(Struct, frozen=True, omit_defaults=True):
    """How the hand before ended, for as long as nothing new is dealt. `ended_by` is none if it was cancelled."""

    round: Round
    ended_by: EndedBy | None
    results: tuple[PlayerResult, ...]
    spreads: tuple[Spread, ...] = ()
    """The knocker's, and the other one's."""


class LastMatch(Struct, frozen=True, omit_defaults=True):
    """How the match before ended, for as long as no other begins. `won_by` is none if it was cancelled."""

    match: str
    won_by: WonBy | None
    results: tuple[PlayerResult, ...]


class NotOpened(Struct, frozen=True, tag=True):
    """No OpenTable yet."""


class Between(Struct, frozen=True, tag=True, omit_defaults=True):
    """No hand is on. At `due` the clock publishes the next seed, deals, or closes; none: it waits for players."""

    table: Table
    due: Micros | None
    last: Last | None = None
    last_match: LastMatch | None = None


class RolesDrawn(Struct, frozen=True, tag=True, omit_defaults=True):
    """The match has begun; its first hand is being dealt."""

    table: Table
    round: str


class Choice(Struct, frozen=True, tag=True, omit_defaults=True):
    """The upcard is offered to this player (G13)."""

    table: Table
    round: Round
    player: str
    due: Micros
    extended: bool = False
    banking: bool = False
    """The time bank is running."""


class Drawing(Struct, frozen=True, tag=True, omit_defaults=True):
    """It is this player's turn, and he has not drawn yet."""

    table: Table
    round: Round
    player: str
    due: Micros
    extended: bool = False
    banking: bool = False
    stock_only: bool = False
    """Both have declined the upcard (G15)."""


class Discarding(Struct, frozen=True, tag=True, omit_defaults=True):
    """He has drawn the card at this place, and holds eleven."""

    table: Table
    round: Round
    player: str
    due: Micros
    place: int
    taken: Card | None = None
    """It is from the discard pile, and may not be discarded in this turn (D11)."""
    extended: bool = False
    banking: bool = False


class LayingOff(Struct, frozen=True, tag=True, omit_defaults=True):
    """The knocker's opponent lays off, by `layoff: declared`."""

    table: Table
    round: Round
    player: str
    due: Micros
    knocker: Spread
    laid: tuple[LaidOff, ...] = ()
    extended: bool = False

    @property
    def melds(self) -> tuple[Cards, ...]:
        """The knocker's, with what has been laid off on them."""
        return tuple(
            (*meld, *(each.card for each in self.laid if each.meld == index))
            for index, meld in enumerate(self.knocker.melds)
        )


class Ending(Struct, frozen=True, tag=True, omit_defaults=True):
    table: Table
    round: Round
    ended_by: EndedBy | None = None
    spreads: tuple[Spread, ...] = ()
    last: Last | None = None
    """The hand is settled; what is missing is the end of the match."""


class Paused(Struct, frozen=True, tag=True, omit_defaults=True):
    """Whatever was on stands still until a supervisor resumes or cancels it, or the pause has lasted too long."""

    was: "Between | Choice | Drawing | Discarding | LayingOff"
    reason: str
    left_ms: int
    """Of the time to act."""
    due: Micros | None
    extended: bool = False
    by: str = ""
    """Who paused it; "" if that was the platform."""

    @property
    def table(self) -> Table:
        return self.was.table


class Closed(Struct, frozen=True, tag=True):
    table: Table


Turn = Choice | Drawing | Discarding
Acting = Turn | LayingOff
InRound = Acting | Ending
Opened = Between | RolesDrawn | InRound | Paused | Closed
State = NotOpened | Opened
INITIAL = NotOpened()


def adviser(table: Table, on: Round) -> str | None:
    """Who advises the captain in this hand: whoever sits out, and is still in the match."""
    out = table.contender(on.roles.sitting_out) if on.roles.sitting_out else None
    return None if out is None or out.forfeited else out.player


def shown_to(table: Table, on: Round) -> str | None:
    """The adviser, if the captain's hand is open to him (G7)."""
    sees = table.config.adviser_sees
    is_open = sees is AdviserSees.ALWAYS or (on.asked and sees is AdviserSees.ON_ASK)
    return adviser(table, on) if is_open else None


def round_on(state: State) -> Round | None:
    on = state.was if isinstance(state, Paused) else state
    return on.round if isinstance(on, InRound) else None


def phase(state: State) -> str:
    match state:
        case NotOpened():
            return "not_opened"
        case RolesDrawn():
            return "roles_drawn"
        case LayingOff():
            return "laying_off"
        case _:
            return type(state).__name__.lower()


def standing(state: State) -> Standing:
    on = round_on(state)
    match state.was if isinstance(state, Paused) else state:
        case NotOpened() | Closed():
            stage = Stage.CLOSED
        case Between() | RolesDrawn():
            stage = Stage.IDLE
        case _:
            stage = Stage.PLAYING
    return Standing(on.id if on else None, stage, isinstance(state, Paused))

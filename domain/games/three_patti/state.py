"""What a table is now: its phases are types, so that each holds what it needs and nothing else.

NotOpened -> Between -> Turn <-> Answering -> Ending -> Between ... -> Closed
Ending lasts from the event that ended the hand to the one that awards the pot or pays it back: never longer than a
command. Turn and Answering are cancelled by way of it too; every phase but that can go to Paused and back.
"""

from msgspec import Struct
from msgspec.structs import replace

from domain.fairness import ClientSeed
from domain.game import Micros, SealedSeed, Stage, Standing
from domain.games.three_patti.events import Dealer, Left, NextSeed, Places, PlayerResult, Seat, ShownHand
from domain.games.three_patti.rules import Config, EndedBy
from domain.money import Amount


class Table(Struct, frozen=True, omit_defaults=True):
    """What outlasts a hand. `config` is that of the hand that is on; `pending` takes its place when it has ended."""

    config: Config
    seats: tuple[Seat, ...] = ()
    """Those that are taken, in play order."""
    pending: Config | None = None
    draining: bool = False
    number: int = 0
    """Of the last hand dealt."""
    next_seed: NextSeed | None = None
    client_seeds: tuple[ClientSeed, ...] = ()
    """Given since `next_seed` was published, for its hand, by players who sit here."""
    dealer: Dealer | None = None
    """Who is to deal next; nobody yet before the first hand."""
    left: tuple[Left, ...] = ()
    epoch: int = 0
    """Of the log, when it was last resumed here."""

    def seat(self, number: int) -> Seat | None:
        return next((seat for seat in self.seats if seat.number == number), None)

    def seat_of(self, player: str) -> Seat | None:
        return next((seat for seat in self.seats if seat.player == player), None)

    def stack(self, number: int) -> Amount:
        seat = self.seat(number)
        return seat.stack if seat else 0

    @property
    def ready(self) -> tuple[Seat, ...]:
        """Those who would be dealt in, in play order."""
        boot = self.config.boot
        return tuple(s for s in self.seats if s.out_since is None and not s.leaving and s.stack >= boot)


class InHand(Struct, frozen=True, omit_defaults=True):
    """A player in the hand that is on. The cards are places in the sealed deck."""

    seat: int
    player: str
    cards: Places
    paid: Amount
    """All put in so far: boot, bets, sideshows, show."""
    seen: bool = False
    folded: bool = False
    bet: bool = False
    """Has bet at least once: not in the first circuit any more."""
    blind_turns: int = 0
    banked: bool = False
    """The time bank of this hand is spent."""


class Round(Struct, frozen=True, omit_defaults=True):
    """The hand that is on. `players` are in play order from the seat after the dealer; folded ones stay among them."""

    id: str
    operator: str
    seed: SealedSeed
    root: str
    client_seeds: tuple[ClientSeed, ...]
    dealer: Dealer
    players: tuple[InHand, ...]
    stake: Amount
    """What a blind player must meet; a seen one twice as much (D6)."""
    compared: tuple[tuple[int, int], ...] = ()
    """Seats that have seen each other's hand in a sideshow."""
    rules: int = 1
    """The number of the rules that it is played by to its end."""

    @property
    def pot(self) -> Amount:
        return sum(each.paid for each in self.players)

    @property
    def active(self) -> tuple[InHand, ...]:
        return tuple(each for each in self.players if not each.folded)

    def at(self, seat: int) -> InHand | None:
        return next((each for each in self.players if each.seat == seat), None)

    def of(self, player: str) -> InHand | None:
        return next((each for each in self.players if each.player == player), None)

    def after(self, seat: int) -> int:
        """The next active seat in play order."""
        return self._active_from(seat, 1)

    def before(self, seat: int) -> int:
        """The nearest earlier active seat."""
        return self._active_from(seat, -1)

    def _active_from(self, seat: int, step: int) -> int:
        order = [each.seat for each in self.players]
        at, active = order.index(seat), {each.seat for each in self.active}
        turns = (order[(at + step * n) % len(order)] for n in range(1, len(order) + 1))
        return next(each for each in turns if each in active)

    def folding(self, seat: int) -> "Round":
        folded = (replace(each, folded=True) if each.seat == seat else each for each in self.players)
        return replace(self, players=tuple(folded))


class Last(Struct, frozen=True):
    """How the hand before ended, for as long as nothing new is dealt. `ended_by` is none if it was cancelled."""

    round: Round
    ended_by: EndedBy | None
    results: tuple[PlayerResult, ...]


class NotOpened(Struct, frozen=True, tag=True):
    """No OpenTable yet."""


class Between(Struct, frozen=True, tag=True, omit_defaults=True):
    """No hand is on. At `due` the clock publishes the next one's seed, deals it, or closes; none: waiting for players.

    Seats that sit out have deadlines of their own.
    """

    table: Table
    due: Micros | None
    last: Last | None = None


class Turn(Struct, frozen=True, tag=True, omit_defaults=True):
    """It is this seat's turn."""

    table: Table
    round: Round
    seat: int
    due: Micros
    extended: bool = False
    banking: bool = False
    """The time bank is running."""


class Answering(Struct, frozen=True, tag=True, omit_defaults=True):
    """The target is to answer the asker's sideshow."""

    table: Table
    round: Round
    asker: int
    target: int
    due: Micros
    extended: bool = False


class Ending(Struct, frozen=True, tag=True, omit_defaults=True):
    table: Table
    round: Round
    ended_by: EndedBy | None = None
    shown: tuple[ShownHand, ...] = ()


class Paused(Struct, frozen=True, tag=True, omit_defaults=True):
    """Whatever was on stands still until a supervisor resumes or cancels it, or the pause has lasted too long."""

    was: "Between | Turn | Answering"
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


Acting = Turn | Answering
InRound = Acting | Ending
Opened = Between | InRound | Paused | Closed
State = NotOpened | Opened
INITIAL = NotOpened()


def round_on(state: State) -> Round | None:
    on = state.was if isinstance(state, Paused) else state
    return on.round if isinstance(on, InRound) else None


def phase(state: State) -> str:
    return "not_opened" if isinstance(state, NotOpened) else type(state).__name__.lower()


def standing(state: State) -> Standing:
    on = round_on(state)
    match state.was if isinstance(state, Paused) else state:
        case NotOpened() | Closed():
            stage = Stage.CLOSED
        case Between():
            stage = Stage.IDLE
        case _:
            stage = Stage.PLAYING
    return Standing(on.id if on else None, stage, isinstance(state, Paused))

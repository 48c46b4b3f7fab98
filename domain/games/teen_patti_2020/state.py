"""What a table is now: its phases are types, so that each holds what it needs and nothing else.

NotOpened -> Between -> Betting -> Dealing -> Confirming -> Settling -> Between ... -> Closed
Betting, Dealing and Confirming can also go to Refunding (T28), every phase to Paused and back (T26, T27); a live round
that is scanned again goes from Paused to Dealing.
"""

from msgspec import Struct

from domain.cards import Card
from domain.fairness import ClientSeed
from domain.game import Micros, SealedSeed, Stage, Standing
from domain.games.teen_patti_2020.events import NextSeed, RecentResult
from domain.games.teen_patti_2020.pays import Showdown
from domain.games.teen_patti_2020.rules import Config


class Table(Struct, frozen=True, omit_defaults=True):
    """What outlasts a round. `config` is that of the round that is on; `pending` takes its place at the next one."""

    config: Config
    pending: Config | None = None
    draining: bool = False
    number: int = 0
    """Of the last round opened."""
    next_seed: NextSeed | None = None
    client_seeds: tuple[ClientSeed, ...] = ()
    """Given since `next_seed` was published, for its round."""
    recent: tuple[RecentResult, ...] = ()
    epoch: int = 0
    """Of the log, when it was last resumed here."""


class Round(Struct, frozen=True):
    """What the round was opened with. A live round has no seed and no root."""

    id: str
    seed: SealedSeed | None
    root: str | None
    client_seeds: tuple[ClientSeed, ...]
    rules: int = 1
    """The number of the rules that it is played by to its end."""
    rescanned: str = ""
    """Why its cards were scanned again from the first, if they were."""


class NotOpened(Struct, frozen=True, tag=True):
    """No OpenTable yet."""


class Between(Struct, frozen=True, tag=True):
    """No round is on; the clock opens the next one, or publishes its seed first."""

    table: Table
    due: Micros
    last: Showdown | None = None
    """How the round before ended, for as long as its cards lie there."""


class Betting(Struct, frozen=True, tag=True, cache_hash=True):
    """Thousands of bettors look at one such state: its hash is worked out once (see views)."""

    table: Table
    round: Round
    due: Micros
    """When betting closes."""
    extended: bool = False


class Dealing(Struct, frozen=True, tag=True):
    """Cards in the order of the slots: the next one goes to slot number len(cards)."""

    table: Table
    round: Round
    due: Micros
    cards: tuple[Card, ...] = ()
    extended: bool = False


class Confirming(Struct, frozen=True, tag=True):
    """Live: six cards lie there, and the studio has yet to confirm who won."""

    table: Table
    round: Round
    due: Micros
    cards: tuple[Card, ...]
    extended: bool = False


class Settling(Struct, frozen=True, tag=True):
    """The result is final, and bets are being paid."""

    table: Table
    round: Round
    due: Micros
    showdown: Showdown


class Refunding(Struct, frozen=True, tag=True):
    """The round is void, and stakes are going back."""

    table: Table
    round: Round
    due: Micros
    cards: tuple[Card, ...]
    reason: str


class Paused(Struct, frozen=True, tag=True):
    """Whatever was on stands still until a supervisor resumes or cancels it, or the pause has lasted too long."""

    was: "Between | InRound"
    reason: str
    left_ms: int
    """Betting time that remained."""
    due: Micros | None
    extended: bool = False
    by: str = ""
    """Who paused it; "" if that was the platform."""

    @property
    def table(self) -> Table:
        return self.was.table


class Closed(Struct, frozen=True, tag=True):
    table: Table


InRound = Betting | Dealing | Confirming | Settling | Refunding
Opened = Between | InRound | Paused | Closed
State = NotOpened | Opened
INITIAL = NotOpened()


def dealt(state: State) -> tuple[Card, ...]:
    """The cards on the table, in the order of the slots."""
    match state:
        case Dealing() | Confirming() | Refunding():
            return state.cards
        case Settling(showdown=shown) | Between(last=Showdown() as shown):
            return tuple(card for pair in zip(shown.hand_a, shown.hand_b, strict=True) for card in pair)
        case Paused():
            return dealt(state.was)
        case NotOpened() | Between() | Betting() | Closed():
            return ()


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
        case Betting():
            stage = Stage.BETTING
        case Dealing() | Confirming():
            stage = Stage.PLAYING
        case Settling() | Refunding():
            stage = Stage.FINAL
    return Standing(on.id if on else None, stage, isinstance(state, Paused))

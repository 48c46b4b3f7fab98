"""The names of the rules, the numbers in them, and what a table is configured with. rules.md tells each rule."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from domain.errors import Rejected
from domain.game import SECOND, Micros
from domain.money import AMOUNT_MAX, EXPONENTS, Amount

RULES_VERSION = 2
"""Recorded in each round's opening; another number when a rule changes (of views: `VIEW_NUMBER`)."""

PLAYERS_MIN, PLAYERS_MAX = 2, 3
HAND = 10
"""Cards a player is dealt (G10)."""
STOCK_LEFT = 2
"""A discard that leaves so many in the stock draws the hand (G27)."""
PILE_DRAWS_MAX = 50
"""So many taken from the discard pile in a hand, and the next discard draws it."""
HANDS_MAX = 100
"""Then the highest total wins the match (D14)."""
ADVICE_MAX = 10
"""Pieces in a hand."""
LEAST_TIME_LEFT_MS = 5_000


class Rule(StrEnum):
    # the table
    TableExists = "TableExists"
    TableNotOpen = "TableNotOpen"
    UnknownCurrency = "UnknownCurrency"
    StakesTooLarge = "StakesTooLarge"
    CurrencyStays = "CurrencyStays"
    AlreadyDraining = "AlreadyDraining"
    NotDraining = "NotDraining"
    # seats
    TableIsDraining = "TableIsDraining"
    AlreadySeated = "AlreadySeated"
    NotSeated = "NotSeated"
    TableIsFull = "TableIsFull"
    MatchIsOn = "MatchIsOn"
    NotTheEntry = "NotTheEntry"
    AlreadyForfeited = "AlreadyForfeited"
    # client seeds
    NoSeedPublished = "NoSeedPublished"
    OneClientSeed = "OneClientSeed"
    # the hand
    NoRoundOn = "NoRoundOn"
    AnotherRound = "AnotherRound"
    NotInHand = "NotInHand"
    NotYourTurn = "NotYourTurn"
    # drawing and discarding
    ChooseFirst = "ChooseFirst"
    NothingOffered = "NothingOffered"
    StockOnly = "StockOnly"
    DrawFirst = "DrawFirst"
    AlreadyDrawn = "AlreadyDrawn"
    NotHeld = "NotHeld"
    JustTaken = "JustTaken"
    # knock and lay-off
    FalseMelds = "FalseMelds"
    OverKnockLimit = "OverKnockLimit"
    LayOffIsAwaited = "LayOffIsAwaited"
    NoLayOffAwaited = "NoLayOffAwaited"
    DoesNotFit = "DoesNotFit"
    # advice
    NobodyAdvises = "NobodyAdvises"
    NotTheCaptain = "NotTheCaptain"
    AlreadyAsked = "AlreadyAsked"
    NotTheAdviser = "NotTheAdviser"
    NotAsked = "NotAsked"
    EnoughAdvice = "EnoughAdvice"
    AdviceIsOver = "AdviceIsOver"
    # pause and cancel
    NoMatchOn = "NoMatchOn"
    TableIsPaused = "TableIsPaused"
    NotPaused = "NotPaused"
    SecondPersonNeeded = "SecondPersonNeeded"


class LayOffBy(StrEnum):
    """How the knocker's opponent lays off (D13)."""

    AUTOMATIC = "automatic"
    DECLARED = "declared"


class AdviserSees(StrEnum):
    """When the captain's hand is open to the player who sits out (G7)."""

    ON_ASK = "on_ask"
    ALWAYS = "always"
    NEVER = "never"


class Oklahoma(StrEnum):
    """Whether the upcard sets the knock limit, and a spade doubles the points."""

    OFF = "off"
    ON = "on"
    SPADES_DOUBLE = "spades_double"


class Source(StrEnum):
    """Where a card is drawn from (G12)."""

    STOCK = "stock"
    PILE = "pile"


# --- Why something happened: words of the events ---------------------------------------------------------------------


class Because(StrEnum):
    """Why a turn was played as it was, or a match forfeited."""

    ASKED = "asked"
    LEFT = "left"
    TIMED_OUT = "timed_out"
    """By the platform, for a player whose time was over (D16)."""
    FORFEITED = "forfeited"
    """By the platform, for a player who is out of the match when the hand has ended (D14)."""


class LeftBecause(StrEnum):
    ASKED = "asked"
    CONFIGURED = "configured"
    """By the platform: the table is not the one any more that the entry was paid for."""
    CLOSED = "closed"
    """By the platform: the table closed."""
    BLOCKED = "blocked"
    """By the platform: the operator has blocked the player before the match began."""


class EndedBy(StrEnum):
    """How a hand ended."""

    KNOCK = "knock"
    GIN = "gin"
    UNDERCUT = "undercut"
    STOCK = "stock"
    """Drawn: two cards were left (G27)."""
    PILE = "pile"
    """Drawn: the discard pile went to and fro for too long."""
    FORFEIT = "forfeit"
    """One player alone is left in the match."""


class WonBy(StrEnum):
    """How a match was won."""

    TARGET = "target"
    FORFEITS = "forfeits"
    HANDS = "hands"
    """By the highest total after so many hands."""


# --- A table's configuration ------------------------------------------------------------------------------------------

Limit = Annotated[int, Meta(ge=1, le=AMOUNT_MAX, description="Whole minor units.")]
Points = Annotated[int, Meta(ge=0, le=1_000)]


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that may differ between tables of this game. A change takes effect with the next match."""

    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}(?![\s\S])", description="ISO 4217 code.")]
    entry: Limit = 10_000
    """What each player pays into the match."""
    players: Annotated[int, Meta(ge=PLAYERS_MIN, le=PLAYERS_MAX)] = PLAYERS_MAX
    target: Annotated[int, Meta(ge=1, le=10_000, description="The total that wins the match (G28).")] = 100
    knock_limit: Annotated[int, Meta(ge=0, le=98, description="G17; 0: gin only.")] = 10
    gin_bonus: Points = 25
    undercut_bonus: Points = 10
    oklahoma: Oklahoma = Oklahoma.OFF
    layoff: LayOffBy = LayOffBy.AUTOMATIC
    adviser_sees: AdviserSees = AdviserSees.ON_ASK
    turn_seconds: Annotated[int, Meta(ge=5, le=300)] = 30
    layoff_seconds: Annotated[int, Meta(ge=5, le=300, description="To lay off on a knock.")] = 30
    time_bank_seconds: Annotated[int, Meta(ge=0, le=300, description="Once a hand, when a turn's are over.")] = 30
    away_turns: Annotated[int, Meta(ge=1, le=100, description="So many missed in a row are a forfeit.")] = 3
    dead_minutes: Annotated[int, Meta(ge=1, le=1_440, description="All away for so long: cancelled.")] = 5
    pause_seconds: Annotated[int, Meta(ge=0, le=600, description="From one hand to the next.")] = 5
    pause_limit_seconds: Annotated[int, Meta(ge=10, le=3_600)] = 120
    """How long a paused match waits for its supervisor."""
    rake_bps: Annotated[int, Meta(ge=0, le=1_000, description="Of the prize, in hundredths of a percent.")] = 0
    rake_cap: Limit | None = None

    @property
    def turn(self) -> Micros:
        return self.turn_seconds * SECOND

    @property
    def laying_off(self) -> Micros:
        return self.layoff_seconds * SECOND

    @property
    def time_bank(self) -> Micros:
        return self.time_bank_seconds * SECOND

    @property
    def dead(self) -> Micros:
        return self.dead_minutes * 60 * SECOND

    @property
    def pause(self) -> Micros:
        return self.pause_seconds * SECOND

    @property
    def pause_limit(self) -> Micros:
        return self.pause_limit_seconds * SECOND

    def rake(self, prize: Amount) -> Amount:
        """Rounded down and capped: what stays is the winner's."""
        share = prize * self.rake_bps // 10_000
        return share if self.rake_cap is None else min(share, self.rake_cap)


def check(config: Config) -> None:
    """Refuse a table whose amounts cannot be."""
    if config.currency not in EXPONENTS:
        raise Rejected(Rule.UnknownCurrency, currency=config.currency)
    if config.players * config.entry > AMOUNT_MAX:
        raise Rejected(Rule.StakesTooLarge, entry=config.entry, players=config.players, limit=AMOUNT_MAX)

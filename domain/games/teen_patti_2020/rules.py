"""The names of the rules, the numbers in them, and what a table is configured with. rules.md tells each rule."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from domain.errors import Rejected
from domain.game import SECOND, Micros
from domain.games.teen_patti_2020.pays import PayTable, most_won
from domain.money import AMOUNT_MAX, EXPONENTS, Amount, Bet, Wager, whole_step

RULES_VERSION = 2
"""Recorded in each round's opening; another number when a rule changes (of views: `VIEW_NUMBER`)."""

WAGERS_MAX = 32
CLIENT_SEEDS_MAX = 64
RECENT_MAX = 10
LEAST_BETTING_LEFT_MS = 5_000
ODDS_NUMERATOR_MAX = 1_000_000
ODDS_DENOMINATOR_MAX = 1_000


class Rule(StrEnum):
    # the table
    TableExists = "TableExists"
    TableNotOpen = "TableNotOpen"
    UnknownCurrency = "UnknownCurrency"
    OddsOutOfRange = "OddsOutOfRange"
    StepLeavesFractions = "StepLeavesFractions"
    LimitsDisagree = "LimitsDisagree"
    WinTooLarge = "WinTooLarge"
    KindAndCurrencyStay = "KindAndCurrencyStay"
    AlreadyDraining = "AlreadyDraining"
    NotDraining = "NotDraining"
    # bets
    NoRoundOn = "NoRoundOn"
    AnotherRound = "AnotherRound"
    BettingIsClosed = "BettingIsClosed"
    StakeOffStep = "StakeOffStep"
    BelowSpotMinimum = "BelowSpotMinimum"
    AboveSpotLimit = "AboveSpotLimit"
    AboveRoundLimit = "AboveRoundLimit"
    TooManyWagers = "TooManyWagers"
    BetNotOpen = "BetNotOpen"
    # client seeds
    NoSeedPublished = "NoSeedPublished"
    OneClientSeed = "OneClientSeed"
    ClientSeedsFull = "ClientSeedsFull"
    # cards
    DealsByItself = "DealsByItself"
    BettingIsOpen = "BettingIsOpen"
    CardsAreMissing = "CardsAreMissing"
    # pause, cancel, conclude
    TableIsPaused = "TableIsPaused"
    NotPaused = "NotPaused"
    NoCardsToRescan = "NoCardsToRescan"
    SecondPersonNeeded = "SecondPersonNeeded"
    RoundIsFinal = "RoundIsFinal"
    StakesAreOpen = "StakesAreOpen"


class Slot(StrEnum):
    """Where a card lies; also the order in which the cards come (T8)."""

    A1 = "A1"
    B1 = "B1"
    A2 = "A2"
    B2 = "B2"
    A3 = "A3"
    B3 = "B3"


SLOTS = tuple(Slot)


class Kind(StrEnum):
    """`rng` deals by itself from a sealed deck; `live` takes each card from the studio's scanner."""

    RNG = "rng"
    LIVE = "live"


class WhenEmpty(StrEnum):
    """What becomes of a round on which nobody bet (S20.26)."""

    SKIP = "skip"
    DEAL = "deal"


Limit = Annotated[int, Meta(ge=1, le=AMOUNT_MAX, description="Whole minor units.")]


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that may differ between tables of this game. A change takes effect with the next round."""

    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}(?![\s\S])", description="ISO 4217 code.")]
    kind: Kind = Kind.RNG
    pay_table: PayTable = PayTable()
    step: Limit = 100
    spot_min: Limit = 100
    spot_max: Limit = 1_000_000
    round_max: Limit = 3_000_000
    betting_seconds: Annotated[int, Meta(ge=1, le=600)] = 15
    card_interval_ms: Annotated[int, Meta(ge=0, le=10_000, description="rng: between two cards; 0: all at once.")] = 700
    pause_seconds: Annotated[int, Meta(ge=0, le=600, description="From one round to the next.")] = 5
    when_empty: WhenEmpty = WhenEmpty.SKIP
    pause_limit_seconds: Annotated[int, Meta(ge=10, le=3_600)] | None = None
    """How long a paused round waits for its supervisor; if not given, 2 minutes (rng) or 10 (live)."""
    scan_timeout_seconds: Annotated[int, Meta(ge=5, le=600, description="live: how long to wait for a card.")] = 60

    @property
    def betting(self) -> Micros:
        return self.betting_seconds * SECOND

    @property
    def pause(self) -> Micros:
        return self.pause_seconds * SECOND

    @property
    def pause_limit(self) -> Micros:
        return (self.pause_limit_seconds or (120 if self.kind is Kind.RNG else 600)) * SECOND

    @property
    def card(self) -> Micros:
        """How long until the next card comes (rng), or until the studio's silence is a fault (live)."""
        return self.card_interval_ms * 1_000 if self.kind is Kind.RNG else self.scan_timeout_seconds * SECOND


def check(config: Config) -> None:
    """Refuse a table that could not be run to the last unit (D4)."""
    if config.currency not in EXPONENTS:
        raise Rejected(Rule.UnknownCurrency, currency=config.currency)
    for odds in config.pay_table.odds:
        if not (1 <= odds.numerator <= ODDS_NUMERATOR_MAX and 1 <= odds.denominator <= ODDS_DENOMINATOR_MAX):
            raise Rejected(Rule.OddsOutOfRange, numerator=odds.numerator, denominator=odds.denominator)
    whole = whole_step(config.pay_table.odds)
    if config.step % whole:
        raise Rejected(Rule.StepLeavesFractions, step=config.step, multiple_of=whole)
    limits = (config.spot_min, config.spot_max, config.round_max)
    if list(limits) != sorted(limits) or any(limit % config.step for limit in limits):
        raise Rejected(
            Rule.LimitsDisagree, step=config.step, spot_min=limits[0], spot_max=limits[1], round_max=limits[2]
        )
    won = most_won(config.pay_table, config.spot_max, config.round_max)
    if config.round_max + won > AMOUNT_MAX:
        raise Rejected(Rule.WinTooLarge, most_won=won, limit=AMOUNT_MAX - config.round_max)


def within_limits(config: Config, wagers: tuple[Wager, ...], stakes: tuple[Bet, ...]) -> None:
    """Limits hold for the sum of all that the player has open in the round."""
    for wager in wagers:
        if wager.amount % config.step:
            raise Rejected(Rule.StakeOffStep, spot=wager.spot, step=config.step)
    every = (*(wager for bet in stakes for wager in bet.wagers), *wagers)
    if len(every) > WAGERS_MAX:
        raise Rejected(Rule.TooManyWagers, limit=WAGERS_MAX)
    sums: dict[str, Amount] = {}
    for wager in every:
        sums[wager.spot] = sums.get(wager.spot, 0) + wager.amount
    for spot, amount in sums.items():
        if amount < config.spot_min:
            raise Rejected(Rule.BelowSpotMinimum, spot=spot, minimum=config.spot_min)
        if amount > config.spot_max:
            raise Rejected(Rule.AboveSpotLimit, spot=spot, limit=config.spot_max, sum=amount)
    total = sum(sums.values())
    if total > config.round_max:
        raise Rejected(Rule.AboveRoundLimit, limit=config.round_max, sum=total)

"""The names of the rules, the numbers in them, and what a table is configured with. rules.md tells each rule."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from domain.errors import Rejected
from domain.game import SECOND, Micros
from domain.money import AMOUNT_MAX, EXPONENTS, Amount

RULES_VERSION = 2
"""Recorded in each round's opening; another number when a rule changes (of views: `VIEW_NUMBER`)."""

SEATS_MIN, SEATS_MAX = 3, 6
HAND = 3
"""Cards a player is dealt (P3)."""
TIME_OUTS_MAX = 2
"""So many in a row, and the player is sat out (D16)."""
LEAST_TIME_LEFT_MS = 5_000
RETURN_WITHIN: Micros = 30 * 60 * SECOND
"""Who comes back within this time brings at least what was taken away."""
LEAVERS_MAX = 64

MAX_STAKE_BOOTS = 128
POT_LIMIT_BOOTS = 1_024
BUY_IN_SPREAD = 10


class Rule(StrEnum):
    # the table
    TableExists = "TableExists"
    TableNotOpen = "TableNotOpen"
    UnknownCurrency = "UnknownCurrency"
    ChipsDisagree = "ChipsDisagree"
    LimitsDisagree = "LimitsDisagree"
    StakesTooLarge = "StakesTooLarge"
    CurrencyStays = "CurrencyStays"
    AlreadyDraining = "AlreadyDraining"
    NotDraining = "NotDraining"
    # seats
    TableIsDraining = "TableIsDraining"
    AlreadySeated = "AlreadySeated"
    NotSeated = "NotSeated"
    NoSuchSeat = "NoSuchSeat"
    SeatIsTaken = "SeatIsTaken"
    TableIsFull = "TableIsFull"
    BuyInOutOfRange = "BuyInOutOfRange"
    HandIsOn = "HandIsOn"
    AlreadyLeaving = "AlreadyLeaving"
    AlreadySittingOut = "AlreadySittingOut"
    NotSittingOut = "NotSittingOut"
    StackBelowBoot = "StackBelowBoot"
    # client seeds
    NoSeedPublished = "NoSeedPublished"
    OneClientSeed = "OneClientSeed"
    # the hand
    NoRoundOn = "NoRoundOn"
    AnotherRound = "AnotherRound"
    NotInHand = "NotInHand"
    AlreadyFolded = "AlreadyFolded"
    NotYourTurn = "NotYourTurn"
    AnswerIsAwaited = "AnswerIsAwaited"
    NoAnswerAwaited = "NoAnswerAwaited"
    AlreadySeen = "AlreadySeen"
    # bets
    OffChipUnit = "OffChipUnit"
    BelowMinimum = "BelowMinimum"
    AboveMaximum = "AboveMaximum"
    NotEnoughChips = "NotEnoughChips"
    # show and sideshow
    ShowNeedsTwo = "ShowNeedsTwo"
    OpponentIsBlind = "OpponentIsBlind"
    ChipsSuffice = "ChipsSuffice"
    SideShowNeedsThree = "SideShowNeedsThree"
    FirstCircuit = "FirstCircuit"
    SeeFirst = "SeeFirst"
    TargetIsBlind = "TargetIsBlind"
    SomebodyIsBlind = "SomebodyIsBlind"
    # pause
    TableIsPaused = "TableIsPaused"
    NotPaused = "NotPaused"
    SecondPersonNeeded = "SecondPersonNeeded"


class ShowPaidBy(StrEnum):
    """Who pays for a show (D5)."""

    BOTH = "both"
    REQUESTER = "requester"


class SideShowWhen(StrEnum):
    """Who must have seen the cards before a sideshow can be asked for (D8)."""

    TARGET_SEEN = "target_seen"
    ALL_SEEN = "all_seen"


class See(StrEnum):
    """When a player may look at the cards."""

    ON_TURN = "on_turn"
    ANY_TIME = "any_time"


# --- Why something happened: words of the events ---------------------------------------------------------------------


class SeenBecause(StrEnum):
    ASKED = "asked"
    BLIND_LIMIT = "blind_limit"
    """By the platform: so many turns blind are all that the table allows."""


class Because(StrEnum):
    """Why a hand was folded, or a sideshow refused."""

    ASKED = "asked"
    LEFT = "left"
    TIMED_OUT = "timed_out"
    """By the platform, for a player whose time was over (D16)."""


class OutBecause(StrEnum):
    ASKED = "asked"
    TIMED_OUT = "timed_out"
    """By the platform: two time-outs in a row."""
    LOW_STACK = "low_stack"
    """By the platform: the stack does not pay the boot."""
    BLOCKED = "blocked"
    """By the platform: the operator has blocked the player, who is dealt no more hands."""


class LeftBecause(StrEnum):
    ASKED = "asked"
    IDLE = "idle"
    """By the platform: sat out for too long."""
    CLOSED = "closed"
    """By the platform: the table closed."""


class EndedBy(StrEnum):
    FOLDS = "folds"
    SHOW = "show"
    SHORT_SHOW = "short_show"
    POT_LIMIT = "pot_limit"


# --- A table's configuration ------------------------------------------------------------------------------------------

Limit = Annotated[int, Meta(ge=1, le=AMOUNT_MAX, description="Whole minor units.")]
LimitOrNone = Annotated[int, Meta(ge=0, le=AMOUNT_MAX, description="Whole minor units; 0: no limit.")]


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that may differ between tables of this game. A change takes effect with the next hand."""

    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}(?![\s\S])", description="ISO 4217 code.")]
    boot: Limit = 1_000
    chip: Limit = 100
    """The unit of all bets; seen bets are of two units."""
    seats: Annotated[int, Meta(ge=SEATS_MIN, le=SEATS_MAX)] = SEATS_MAX
    buy_in_min: Limit | None = None
    """If not given, the pot limit, or 1,024 boots (D9)."""
    buy_in_max: Limit | None = None
    """If not given, ten times the least."""
    max_stake: Limit | None = None
    """The stake never exceeds it (D10); if not given, 128 boots."""
    pot_limit: LimitOrNone | None = None
    """The pot that ends the betting (D10); if not given, 1,024 boots."""
    max_blind_turns: Annotated[int, Meta(ge=0, le=100, description="0: a player may stay blind.")] = 0
    show_paid_by: ShowPaidBy = ShowPaidBy.BOTH
    sideshow_when: SideShowWhen = SideShowWhen.TARGET_SEEN
    see: See = See.ON_TURN
    turn_seconds: Annotated[int, Meta(ge=5, le=300)] = 20
    answer_seconds: Annotated[int, Meta(ge=5, le=300, description="To answer a sideshow.")] = 10
    time_bank_seconds: Annotated[int, Meta(ge=0, le=300, description="Once a hand, when the turn's are over.")] = 30
    pause_seconds: Annotated[int, Meta(ge=0, le=600, description="From one hand to the next.")] = 5
    idle_minutes: Annotated[int, Meta(ge=1, le=1_440, description="Then the seat of who sits out is freed.")] = 10
    pause_limit_seconds: Annotated[int, Meta(ge=10, le=3_600)] = 120
    """How long a paused hand waits for its supervisor."""
    rake_bps: Annotated[int, Meta(ge=0, le=1_000, description="Of the awarded pot, in hundredths of a percent.")] = 0
    rake_cap: Limit | None = None

    @property
    def highest_stake(self) -> Amount:
        return self.max_stake or MAX_STAKE_BOOTS * self.boot

    @property
    def full_pot(self) -> Amount | None:
        """The pot that ends the betting; None if it may grow without end."""
        return (POT_LIMIT_BOOTS * self.boot if self.pot_limit is None else self.pot_limit) or None

    @property
    def least_buy_in(self) -> Amount:
        whole = -(-(self.full_pot or POT_LIMIT_BOOTS * self.boot) // self.chip) * self.chip
        return self.buy_in_min or whole

    @property
    def most_buy_in(self) -> Amount:
        return self.buy_in_max or BUY_IN_SPREAD * self.least_buy_in

    @property
    def turn(self) -> Micros:
        return self.turn_seconds * SECOND

    @property
    def answer(self) -> Micros:
        return self.answer_seconds * SECOND

    @property
    def time_bank(self) -> Micros:
        return self.time_bank_seconds * SECOND

    @property
    def pause(self) -> Micros:
        return self.pause_seconds * SECOND

    @property
    def pause_limit(self) -> Micros:
        return self.pause_limit_seconds * SECOND

    @property
    def idle(self) -> Micros:
        return self.idle_minutes * 60 * SECOND

    def rake(self, pot: Amount) -> Amount:
        """Rounded down and capped: what stays is the winner's."""
        share = pot * self.rake_bps // 10_000
        return share if self.rake_cap is None else min(share, self.rake_cap)


def check(config: Config) -> None:
    """Refuse a table whose amounts do not fit together."""
    if config.currency not in EXPONENTS:
        raise Rejected(Rule.UnknownCurrency, currency=config.currency)
    stake, least, most = config.highest_stake, config.least_buy_in, config.most_buy_in
    if any(amount % config.chip for amount in (config.boot, stake, least, most)):
        raise Rejected(
            Rule.ChipsDisagree,
            chip=config.chip, boot=config.boot, max_stake=stake, buy_in_min=least, buy_in_max=most,
        )  # fmt: skip
    boots = SEATS_MAX * config.boot
    if not config.boot <= stake or not config.boot <= least <= most or not boots < (config.full_pot or boots + 1):
        raise Rejected(
            Rule.LimitsDisagree,
            boot=config.boot, max_stake=stake, pot_limit=config.full_pot or 0, buy_in_min=least, buy_in_max=most,
        )  # fmt: skip
    if max(4 * stake, SEATS_MAX * most) > AMOUNT_MAX:
        raise Rejected(Rule.StakesTooLarge, max_stake=stake, buy_in_max=most, limit=AMOUNT_MAX)

"""What each role may ask of the table: one union a role. No command names a seat to act for: it acts for its sender."""

from typing import Annotated

from msgspec import Meta, Struct

from domain.game import ResumeLog, TimeOut
from domain.games.three_patti.rules import SEATS_MAX, Config
from domain.money import AMOUNT_MAX
from domain.texts import Words

Id = Annotated[str, Meta(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9_.-]+(?![\s\S])")]
ClientSeedText = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+(?![\s\S])")]
Chips = Annotated[int, Meta(ge=1, le=AMOUNT_MAX, description="Whole minor units, a multiple of the chip unit.")]


# --- Player: the seat ---------------------------------------------------------------------------------------------


class SitDown(Struct, frozen=True, forbid_unknown_fields=True, tag="SitDown"):
    """Buy in and take a seat: the one named, or the first free one."""

    amount: Chips
    seat: Annotated[int, Meta(ge=1, le=SEATS_MAX)] | None = None


class TopUp(Struct, frozen=True, forbid_unknown_fields=True, tag="TopUp"):
    """Bring more chips to the table, while you are in no hand."""

    amount: Chips


class SitOut(Struct, frozen=True, forbid_unknown_fields=True, tag="SitOut"):
    """Be dealt no cards from the next hand on, and keep the seat."""


class SitIn(Struct, frozen=True, forbid_unknown_fields=True, tag="SitIn"):
    """Be dealt cards again from the next hand on."""


class LeaveTable(Struct, frozen=True, forbid_unknown_fields=True, tag="LeaveTable"):
    """Cash out. In mid-hand it is a fold at once, and the stack follows when the hand ends."""


class GiveClientSeed(Struct, frozen=True, forbid_unknown_fields=True, tag="GiveClientSeed"):
    """Throw a word of your own into the next hand's shuffle, now that its seed is committed."""

    seed: ClientSeedText
    round: Id | None = None


# --- Player: the hand. A command that names the round acts on that round or not at all. ---------------------------


class SeeCards(Struct, frozen=True, forbid_unknown_fields=True, tag="SeeCards"):
    """Look at your cards (P8). From then on you are seen (chaal), and everybody knows."""

    round: Id | None = None


class Bet(Struct, frozen=True, forbid_unknown_fields=True, tag="Bet"):
    """Go on in the hand: call or raise, blind or seen (P9, P10)."""

    amount: Chips
    round: Id | None = None


class Fold(Struct, frozen=True, forbid_unknown_fields=True, tag="Fold"):
    """Throw in your cards, and lose what you have put in (P6)."""

    round: Id | None = None


class Show(Struct, frozen=True, forbid_unknown_fields=True, tag="Show"):
    """Two are left: pay, and compare the hands (P15-P21)."""

    round: Id | None = None


class ShortShow(Struct, frozen=True, forbid_unknown_fields=True, tag="ShortShow"):
    """Two are left, and your chips do not cover the least bet: put in all you have, and compare (D9)."""

    round: Id | None = None


class SideShow(Struct, frozen=True, forbid_unknown_fields=True, tag="SideShow"):
    """Bet the least, and ask the player before you to compare hands in private (P23-P25, D8)."""

    round: Id | None = None


class AnswerSideShow(Struct, frozen=True, forbid_unknown_fields=True, tag="AnswerSideShow"):
    """Accept or refuse the sideshow that you are asked for."""

    accept: bool
    round: Id | None = None


Act = SeeCards | Bet | Fold | Show | ShortShow | SideShow | AnswerSideShow
Player = SitDown | TopUp | SitOut | SitIn | LeaveTable | GiveClientSeed | Act


# --- Supervisor and operator --------------------------------------------------------------------------------------


class Pause(Struct, frozen=True, forbid_unknown_fields=True, tag="Pause"):
    reason: Words


class Resume(Struct, frozen=True, forbid_unknown_fields=True, tag="Resume"):
    pass


class CancelRound(Struct, frozen=True, forbid_unknown_fields=True, tag="CancelRound"):
    """Void the hand: whatever was put in goes back to its owner's stack."""

    reason: Words


class DrainTable(Struct, frozen=True, forbid_unknown_fields=True, tag="DrainTable"):
    """Deal no hand after this one; then pay out every seat and close the table."""


Supervisor = Pause | Resume | CancelRound | DrainTable


class OpenTable(Struct, frozen=True, forbid_unknown_fields=True, tag="OpenTable"):
    config: Config


class ConfigureTable(Struct, frozen=True, forbid_unknown_fields=True, tag="ConfigureTable"):
    """Another configuration from the next hand on."""

    config: Config


class ReopenTable(Struct, frozen=True, forbid_unknown_fields=True, tag="ReopenTable"):
    """Hands follow on again at a table that is closed or draining."""


class CloseTable(Struct, frozen=True, forbid_unknown_fields=True, tag="CloseTable"):
    """Pay out every seat and close between hands; while one is on, the table drains first."""


Operator = OpenTable | ConfigureTable | DrainTable | ReopenTable | CloseTable

Clock = TimeOut | ResumeLog

Command = Player | Supervisor | Operator | Clock

"""What each role may ask of the table: one union a role, so that a player's message cannot even spell DealCard."""

from typing import Annotated

from msgspec import Meta, Struct

from domain.cards import Card
from domain.game import ConcludeRound, ResumeLog, TimeOut
from domain.games.teen_patti_2020.pays import Spot, Winner
from domain.games.teen_patti_2020.rules import WAGERS_MAX, Config, Slot
from domain.money import AMOUNT_MAX
from domain.texts import Words

Id = Annotated[str, Meta(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9_.-]+(?![\s\S])")]
ClientSeedText = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+(?![\s\S])")]


# --- Player -------------------------------------------------------------------------------------------------------


class Wager(Struct, frozen=True, forbid_unknown_fields=True):
    spot: Spot
    amount: Annotated[int, Meta(ge=1, le=AMOUNT_MAX, description="Whole minor units, a multiple of the step.")]


class PlaceBet(Struct, frozen=True, forbid_unknown_fields=True, tag="PlaceBet"):
    """Bet on one or more spots of the round that is on. A further bet on a spot adds to the first."""

    round: Id
    wagers: Annotated[tuple[Wager, ...], Meta(min_length=1, max_length=WAGERS_MAX)]


class CancelBet(Struct, frozen=True, forbid_unknown_fields=True, tag="CancelBet"):
    """Take back a bet, named by the idempotency key of the command that placed it."""

    bet: Id


class GiveClientSeed(Struct, frozen=True, forbid_unknown_fields=True, tag="GiveClientSeed"):
    """Throw a word of your own into the next round's shuffle, now that its seed is committed."""

    seed: ClientSeedText
    round: Id | None = None


Player = PlaceBet | CancelBet | GiveClientSeed


# --- Studio -------------------------------------------------------------------------------------------------------


class DealCard(Struct, frozen=True, forbid_unknown_fields=True, tag="DealCard"):
    """The scanner read a card in a slot. A device that names the round cannot deal into another one."""

    slot: Slot
    card: Card
    round: Id | None = None


class ConfirmResult(Struct, frozen=True, forbid_unknown_fields=True, tag="ConfirmResult"):
    """The dealer announced the winner, with all six cards on the table."""

    round: Id
    winner: Winner


class ReportFault(Struct, frozen=True, forbid_unknown_fields=True, tag="ReportFault"):
    """The dealer tells the supervisor (T26): the round is paused."""

    reason: Words


Studio = DealCard | ConfirmResult | ReportFault


# --- Supervisor and operator --------------------------------------------------------------------------------------


class Pause(Struct, frozen=True, forbid_unknown_fields=True, tag="Pause"):
    reason: Words


class Resume(Struct, frozen=True, forbid_unknown_fields=True, tag="Resume"):
    pass


class CancelRound(Struct, frozen=True, forbid_unknown_fields=True, tag="CancelRound"):
    """Void the round and refund every stake (T28)."""

    reason: Words


class RescanCards(Struct, frozen=True, forbid_unknown_fields=True, tag="RescanCards"):
    """Go on, but with the cards that lie there scanned again from the first: they prevail over what was recorded."""

    reason: Words


class DrainTable(Struct, frozen=True, forbid_unknown_fields=True, tag="DrainTable"):
    """Open no round after this one; then close the table."""


Supervisor = Pause | Resume | RescanCards | CancelRound | DrainTable


class OpenTable(Struct, frozen=True, forbid_unknown_fields=True, tag="OpenTable"):
    config: Config


class ConfigureTable(Struct, frozen=True, forbid_unknown_fields=True, tag="ConfigureTable"):
    """Another configuration from the next round on."""

    config: Config


class ReopenTable(Struct, frozen=True, forbid_unknown_fields=True, tag="ReopenTable"):
    """Rounds follow on again at a table that is closed or draining."""


class CloseTable(Struct, frozen=True, forbid_unknown_fields=True, tag="CloseTable"):
    """Close between rounds; while a round is on, the table drains first."""


Operator = OpenTable | ConfigureTable | DrainTable | ReopenTable | CloseTable

Clock = TimeOut | ConcludeRound | ResumeLog

Command = Player | Studio | Supervisor | Operator | Clock

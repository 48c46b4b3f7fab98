"""What each role may ask of the table: one union a role. No command names whom to act for: it acts for its sender."""

from typing import Annotated

from msgspec import Meta, Struct

from domain.cards import Card
from domain.game import ResumeLog, TimeOut
from domain.games.gin_rummy.rules import HAND, Config, Source
from domain.money import AMOUNT_MAX
from domain.texts import Words

Id = Annotated[str, Meta(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9_.-]+(?![\s\S])")]
ClientSeedText = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+(?![\s\S])")]
Meld = Annotated[tuple[Card, ...], Meta(min_length=3, max_length=HAND)]
Melds = Annotated[tuple[Meld, ...], Meta(max_length=3)]
"""Ten cards make three melds at most."""


# --- Player: the seat ---------------------------------------------------------------------------------------------


class SitDown(Struct, frozen=True, forbid_unknown_fields=True, tag="SitDown"):
    """Pay the entry and wait for a match; when all seats are taken it begins."""

    amount: Annotated[int, Meta(ge=1, le=AMOUNT_MAX, description="Whole minor units: the table's entry.")]


class LeaveTable(Struct, frozen=True, forbid_unknown_fields=True, tag="LeaveTable"):
    """Before the match: take the entry back. In a match: forfeit it."""


class GiveClientSeed(Struct, frozen=True, forbid_unknown_fields=True, tag="GiveClientSeed"):
    """Throw a word of your own into the next hand's shuffle, now that its seed is committed."""

    seed: ClientSeedText
    round: Id | None = None


# --- Player: the hand. A command that names the round acts on that round or not at all. ---------------------------


class Decline(Struct, frozen=True, forbid_unknown_fields=True, tag="Decline"):
    """Leave the upcard, with which a hand begins, on the discard pile (G13)."""

    round: Id | None = None


class Draw(Struct, frozen=True, forbid_unknown_fields=True, tag="Draw"):
    """Take the top card of the stock or of the discard pile (G12); of the pile, also to take the upcard (G13)."""

    source: Source
    round: Id | None = None


class Discard(Struct, frozen=True, forbid_unknown_fields=True, tag="Discard"):
    """Lay one card face up on the discard pile, and so end your turn (G12)."""

    card: Card
    round: Id | None = None


class Knock(Struct, frozen=True, forbid_unknown_fields=True, tag="Knock"):
    """Discard this card, and lay your hand on the table (G16-G19): with these melds, or with the best ones."""

    card: Card
    melds: Melds | None = None
    round: Id | None = None


class LayOff(Struct, frozen=True, forbid_unknown_fields=True, tag="LayOff"):
    """Lay a card off on the knocker's meld of this index, counted from 0 (G20)."""

    card: Card
    meld: Annotated[int, Meta(ge=0, le=2)]
    round: Id | None = None


class LayDown(Struct, frozen=True, forbid_unknown_fields=True, tag="LayDown"):
    """Lay the rest of your hand down: with these melds; or else melded and laid off as well as it can be."""

    melds: Melds | None = None
    round: Id | None = None


class AskAdvice(Struct, frozen=True, forbid_unknown_fields=True, tag="AskAdvice"):
    """The captain opens his hand to the one who sits out, for this hand (G7)."""

    round: Id | None = None


class SendAdvice(Struct, frozen=True, forbid_unknown_fields=True, tag="SendAdvice"):
    """The one who sits out tells the captain something; nobody else reads it."""

    text: Words
    round: Id | None = None


Play = Decline | Draw | Discard | Knock | LayOff | LayDown
Advise = AskAdvice | SendAdvice
Act = Play | Advise
Player = SitDown | LeaveTable | GiveClientSeed | Act


# --- Supervisor and operator --------------------------------------------------------------------------------------


class Pause(Struct, frozen=True, forbid_unknown_fields=True, tag="Pause"):
    reason: Words


class Resume(Struct, frozen=True, forbid_unknown_fields=True, tag="Resume"):
    pass


class CancelRound(Struct, frozen=True, forbid_unknown_fields=True, tag="CancelRound"):
    """Void the hand: it counts for nothing, and the same two play another one."""

    reason: Words


class CancelMatch(Struct, frozen=True, forbid_unknown_fields=True, tag="CancelMatch"):
    """Void the match: every entry goes back to whoever paid it."""

    reason: Words


class DrainTable(Struct, frozen=True, forbid_unknown_fields=True, tag="DrainTable"):
    """Begin no match after this one; then close the table."""


Supervisor = Pause | Resume | CancelRound | CancelMatch | DrainTable


class OpenTable(Struct, frozen=True, forbid_unknown_fields=True, tag="OpenTable"):
    config: Config


class ConfigureTable(Struct, frozen=True, forbid_unknown_fields=True, tag="ConfigureTable"):
    """Another configuration from the next match on."""

    config: Config


class ReopenTable(Struct, frozen=True, forbid_unknown_fields=True, tag="ReopenTable"):
    """Matches follow on again at a table that is closed or draining."""


class CloseTable(Struct, frozen=True, forbid_unknown_fields=True, tag="CloseTable"):
    """Give back the entries of who waits, and close; while a match is on, the table drains first."""


Operator = OpenTable | ConfigureTable | DrainTable | ReopenTable | CloseTable

Clock = TimeOut | ResumeLog

Command = Player | Supervisor | Operator | Clock

"""What happened at the table. These are storage formats: they must decode for ever (tests/golden).

No event names a card that the rules have not shown to everybody: a hand is places in the sealed deck.
`due` is when the clock has its next work here; `next` is the player whose turn begins, with its deadline. Both are none
if the hand is over. `match` is the id of a match, `<table>.m<n>`.
"""

from msgspec import UNSET, Struct, UnsetType

from domain.cards import Card
from domain.fairness import ClientSeed, Opening
from domain.game import Micros, SealedSeed, SealedText, TableFaulted
from domain.games.gin_rummy.roles import Match, RoleDraw, Roles
from domain.games.gin_rummy.rules import Because, Config, EndedBy, LeftBecause, Source, WonBy
from domain.money import Amount

Cards = tuple[Card, ...]
Places = tuple[int, ...]
"""Where in the deck the cards of a hand lie, in the order in which they came."""


class NextSeed(Struct, frozen=True):
    """The committed seed of a hand that is not dealt yet."""

    round: str
    seed: SealedSeed


class Seat(Struct, frozen=True):
    """One player's place at the table, and the entry he paid for it. All of them are the prize of the match."""

    player: str
    paid: Amount


class Dealt(Struct, frozen=True):
    """Ten cards face down before a player (G10)."""

    player: str
    cards: Places


class LaidOff(Struct, frozen=True):
    """A card laid off, and the index of the knocker's meld on which it lies (G20)."""

    card: Card
    meld: int


class Spread(Struct, frozen=True, omit_defaults=True):
    """A hand laid on the table: melds, what was laid off on the knocker's, and what is left unmatched."""

    player: str
    melds: tuple[Cards, ...]
    deadwood: Cards
    points: int
    laid: tuple[LaidOff, ...] = ()


class PlayerResult(Struct, frozen=True, omit_defaults=True):
    """How it ended for one player: what he put in and was given, which is money of the match and none of a hand; the
    points of the hand and the total after it; and his cards if all have seen them."""

    player: str
    paid: Amount
    won: Amount
    points: int = 0
    total: int = 0
    cards: Cards = ()


# --- The table ----------------------------------------------------------------------------------------------------


class TableOpened(Struct, frozen=True, tag="gin_rummy.TableOpened"):
    config: Config
    due: Micros


class TableConfigured(Struct, frozen=True, tag="gin_rummy.TableConfigured"):
    """Between matches it holds at once, else from the next match on."""

    config: Config
    due: Micros | None


class TableDraining(Struct, frozen=True, tag="gin_rummy.TableDraining"):
    due: Micros | None


class TableReopened(Struct, frozen=True, tag="gin_rummy.TableReopened"):
    due: Micros | None


class TableClosed(Struct, frozen=True, tag="gin_rummy.TableClosed"):
    pass


class LogResumed(Struct, frozen=True, tag="gin_rummy.LogResumed"):
    epoch: int


# --- The next hand's seed -----------------------------------------------------------------------------------------


class SeedPublished(Struct, frozen=True, tag="gin_rummy.SeedPublished"):
    round: str
    seed: SealedSeed
    due: Micros | None


class ClientSeedGiven(Struct, frozen=True, tag="gin_rummy.ClientSeedGiven"):
    round: str
    player: str
    seed: str


class SeedDropped(Struct, frozen=True, tag="gin_rummy.SeedDropped"):
    """A committed seed that no hand will use. It stays sealed: an auditor opens it, players never see it."""

    round: str
    seed: SealedSeed
    reason: str
    due: Micros | None


# --- Seats and the match --------------------------------------------------------------------------------------------


class SeatTaken(Struct, frozen=True, tag="gin_rummy.SeatTaken"):
    player: str
    amount: Amount
    due: Micros | None


class SeatLeft(Struct, frozen=True, tag="gin_rummy.SeatLeft"):
    """No match had begun: the entry is the player's cash again."""

    player: str
    amount: Amount
    why: LeftBecause
    due: Micros | None


class MatchOpened(Struct, frozen=True, tag="gin_rummy.MatchOpened"):
    """The entries are the prize, and the roles are drawn. The first hand, `round`, is dealt in the same breath."""

    match: str
    number: int
    round: str
    players: tuple[str, ...]
    prize: Amount
    draws: tuple[RoleDraw, ...]
    roles: Roles


class Forfeited(Struct, frozen=True, tag="gin_rummy.Forfeited"):
    """The player is out when the hand has ended, and the entry stays in the prize. `roles` are those of the next hand
    if none is on; `due` is set if the player's own turn is on, or the next hand is to be dealt."""

    match: str
    player: str
    why: Because
    roles: Roles | None
    due: Micros | None


class MatchSettled(Struct, frozen=True, tag="gin_rummy.MatchSettled"):
    """The prize is awarded: it is all that was paid in, and what was won and the rake are its sum. Seats are free."""

    match: str
    why: WonBy
    prize: Amount
    rake: Amount
    results: tuple[PlayerResult, ...]
    due: Micros | None


class MatchRefunded(Struct, frozen=True, tag="gin_rummy.MatchRefunded"):
    """The match is void, and every entry is its owner's cash again. Seats are free."""

    match: str
    reason: str
    results: tuple[PlayerResult, ...]
    due: Micros | None
    paused_by: str | UnsetType = UNSET
    """The first of the two persons whom it took."""


# --- The hand -----------------------------------------------------------------------------------------------------


class RoundOpened(Struct, frozen=True, tag="gin_rummy.RoundOpened", omit_defaults=True):
    """All that the hand needs stands here: with it, state and replay begin anew.

    `root` commits to each of the 52 cards. `dealt` are the captain, who plays first, and the box. The upcard is the
    first of the discard pile; the cards after it are the stock.
    """

    round: str
    number: int
    rules: int
    config: Config
    operator: str
    """The deck is bound to it, as to table and round."""
    seed: SealedSeed
    root: str
    client_seeds: tuple[ClientSeed, ...]
    match: Match
    dealt: tuple[Dealt, Dealt]
    upcard: Card
    limit: int
    """Of what one may knock with (G17); by `oklahoma` the upcard's."""
    doubled: bool
    """By `oklahoma`: all points of the hand count twice."""
    seats: tuple[Seat, ...]
    due: Micros
    epoch: int
    pending: Config | None = None
    """Of the next match."""
    draining: bool = False


class UpcardDeclined(Struct, frozen=True, tag="gin_rummy.UpcardDeclined"):
    round: str
    player: str
    why: Because
    next: str
    due: Micros


class CardDrawn(Struct, frozen=True, tag="gin_rummy.CardDrawn"):
    """`place` is where in the deck the card lies; of one from the discard pile it is told to nobody, as in `Discarded`.
    From the pile it is `card`; from the stock only the player may know it. The turn and its clock go on."""

    round: str
    player: str
    source: Source
    place: int | None
    card: Card | None
    why: Because


class Discarded(Struct, frozen=True, tag="gin_rummy.Discarded"):
    """`place` is told to nobody while the hand is on: it would say when the card came into the hand."""

    round: str
    player: str
    card: Card
    place: int | None
    why: Because
    next: str | None
    due: Micros | None


class TimeBankStarted(Struct, frozen=True, tag="gin_rummy.TimeBankStarted"):
    """The turn's time is over; the time bank runs, once a hand."""

    round: str
    player: str
    due: Micros


class TurnMissed(Struct, frozen=True, tag="gin_rummy.TurnMissed"):
    """The time bank is over too: what follows is played by the platform (D16)."""

    round: str
    player: str
    at: Micros


class AdviceAsked(Struct, frozen=True, tag="gin_rummy.AdviceAsked"):
    """By `adviser_sees` the captain's hand is open to the adviser from here on."""

    round: str
    player: str


class AdviceGiven(Struct, frozen=True, tag="gin_rummy.AdviceGiven"):
    """For the captain alone, who reads it in his view; sealed for everybody else."""

    round: str
    player: str
    advice: SealedText


class Knocked(Struct, frozen=True, tag="gin_rummy.Knocked"):
    """The knocker's discard and hand, face up (G19). `due` is none unless the other one lays off himself."""

    round: str
    card: Card
    place: int | None
    spread: Spread
    declared: bool
    """By the knocker; else the platform chose the melds (D12)."""
    least: int
    """Points that could have been unmatched: what is declared counts, even if it is more."""
    due: Micros | None


class CardLaid(Struct, frozen=True, tag="gin_rummy.CardLaid"):
    """On the knocker's meld of this index (G20)."""

    round: str
    player: str
    card: Card
    meld: int


class RoundScored(Struct, frozen=True, tag="gin_rummy.RoundScored"):
    """Both hands, all of them, and who scores what for it (G22-G26)."""

    round: str
    why: EndedBy
    knocker: Spread
    opponent: Spread
    winner: str
    points: int


class RoundSettled(Struct, frozen=True, tag="gin_rummy.RoundSettled"):
    """The hand is over, and its points are in the totals. `roles` are those of the next one; `due` is none if the
    match is over with it. `openings` prove every card that the hand has shown."""

    round: str
    match: str
    why: EndedBy
    winner: str | None
    results: tuple[PlayerResult, ...]
    roles: Roles
    openings: tuple[Opening, ...]
    due: Micros | None


# --- Faults -------------------------------------------------------------------------------------------------------


class RoundPaused(Struct, frozen=True, tag="gin_rummy.RoundPaused"):
    """`left_ms` of the time to act remained. `by` is who paused it, if it was not the platform; not told of rounds by
    rules of number 1."""

    round: str | None
    reason: str
    left_ms: int
    due: Micros | None
    by: str | UnsetType = UNSET


class RoundResumed(Struct, frozen=True, tag="gin_rummy.RoundResumed"):
    round: str | None
    due: Micros | None


class DeadlineExtended(Struct, frozen=True, tag="gin_rummy.DeadlineExtended"):
    """The clock itself was late (downtime): once a turn, a fresh deadline in place of the act."""

    round: str | None
    due: Micros


class RoundCancelled(Struct, frozen=True, tag="gin_rummy.RoundCancelled"):
    """The hand is void. `paused_by` is the first of the two persons whom it took; the second sent the command."""

    round: str
    reason: str
    paused_by: str | UnsetType = UNSET


class RoundRefunded(Struct, frozen=True, tag="gin_rummy.RoundRefunded"):
    """It counts for nothing, and cost nothing. `due` is none if the match is over with it."""

    round: str
    match: str
    results: tuple[PlayerResult, ...]
    roles: Roles
    due: Micros | None


OfTable = TableConfigured | TableDraining | TableReopened | TableClosed | LogResumed
OfSeed = SeedPublished | ClientSeedGiven | SeedDropped
OfSeat = SeatTaken | SeatLeft
OfMatch = MatchOpened | Forfeited | MatchSettled | MatchRefunded
OfAdvice = AdviceAsked | AdviceGiven
OfTurn = UpcardDeclined | CardDrawn | Discarded | TimeBankStarted | TurnMissed | OfAdvice | Knocked | CardLaid
OfEnd = RoundScored | RoundSettled | RoundCancelled | RoundRefunded
OfPause = RoundPaused | RoundResumed | DeadlineExtended | TableFaulted
Event = TableOpened | OfTable | OfSeed | OfSeat | OfMatch | RoundOpened | OfTurn | OfEnd | OfPause

"""What a game is: a value. The executor, timers, replay, API and projections are generic over it.

A fourth game is one folder in `domain/games/` and one line in its `__init__`.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Any, Generic, TypeVar

from msgspec import Struct

from domain.cards import Card
from domain.money import Amount, Bet, Payout, Transfer

Micros = int
"""A moment: microseconds since 1970 UTC, by the clock of the database."""

SECOND: Micros = 1_000_000

LATE: Micros = 5 * SECOND
"""A `TimeOut` decided later than this after its deadline was held up by downtime, not by the player."""

NEVER: Micros = 253_402_214_400 * SECOND
"""The last day of 9999: a deadline of what is open and awaits none. What is due is indexed: so the open is found."""


class Role(StrEnum):
    """Who sends a command. The role chooses the union its body is decoded into, so a player cannot even spell Deal."""

    PLAYER = "player"
    STUDIO = "studio"
    SUPERVISOR = "supervisor"
    OPERATOR = "operator"
    AUDITOR = "auditor"
    CLOCK = "clock"


class SealedSeed(Struct, frozen=True):
    """A deck's seed before its round: its SHA-256 for all to see, the seed itself encrypted for the dealing process.

    `hash` is hex; `key` names the vault key; `sealed` is base64 (AES-256-GCM, bound to operator, table and round).
    """

    hash: str
    key: str
    sealed: str


class SealedText(Struct, frozen=True):
    """Words of a round that not everybody may read, encrypted like its seed."""

    key: str
    sealed: str


Sealed = SealedSeed | SealedText

Open = Callable[[str, Sealed], bytes]
"""What was sealed for a round in clear, a text as UTF-8, in a process that holds its key; raises LookupError in one
that does not."""


class RoundTotals(Struct, frozen=True):
    """What the log says of a round's money, read under its lock when the round is concluded."""

    bettors: int
    staked: Amount
    returned: Amount
    open: int
    """Bettors whose stake is still open: a round with any cannot be concluded."""


class Ended(Struct, frozen=True):
    """A round that is over, or a match, by events of its table: the one that opened it, its result if that is one by
    itself, and its end."""

    game: str
    opened: Any
    resulted: Any
    ended: Any


NO_TOTALS = RoundTotals(bettors=0, staked=0, returned=0, open=0)


def _no_totals() -> RoundTotals:
    return NO_TOTALS


def _none_blocked(_player: str) -> bool:
    return False


def none_ended(round_id: str) -> "Ended | None":
    raise LookupError(f"whether {round_id} is over cannot be read here")


def _no_seal(round_id: str) -> SealedSeed:
    raise LookupError(f"this process may not seal the seed of {round_id}")


def _no_seal_text(round_id: str, _text: str) -> SealedText:
    raise LookupError(f"this process may not seal a text of {round_id}")


def no_open(round_id: str, _sealed: Sealed) -> bytes:
    """For a process that holds no key: whatever needs a card fails."""
    raise LookupError(f"this process may not open what was sealed for {round_id}")


def none_decided(_actor: str, _key: str) -> bool:
    return False


def no_table(table: str) -> tuple["Game[Any, Any, Any]", Any]:
    raise LookupError(f"the table {table} cannot be looked at here")


class Context(Struct, frozen=True):
    """All that a decision may know besides state and command. It keeps the domain free of clock, dice and I/O."""

    operator: str
    table: str
    now: Micros
    actor: str
    role: Role
    key: str = ""
    """The command's idempotency key; the id of the bet that a PlaceBet makes."""
    stream: str = ""
    """Whose command is decided, by its whole name; `table` is empty where that is no table."""
    stakes: tuple[Bet, ...] = ()
    """The caller's open bets in the round that is on at this table (at most 32 wagers)."""
    read_totals: Callable[[], RoundTotals] = _no_totals
    """Reads the round's sums from the log, under its lock; only decisions that look at `totals` pay for it."""
    ended: Callable[[str], Ended | None] = none_ended
    """Reads a round or match that is over from the log, under its lock; None if there is none."""
    decided: Callable[[str, str], bool] = none_decided
    """Was a command of this actor decided under this key, by a rule or by doing it? One that is fenced was not."""
    blocked: Callable[[str], bool] = _none_blocked
    """Has the operator blocked this player? For what stakes somebody else's money than the caller's, as a deal does."""
    seal: Callable[[str], SealedSeed] = _no_seal
    """Draw 32 fresh bytes from the system's generator and seal them for this round id."""
    seal_text: Callable[[str, str], SealedText] = _no_seal_text
    """Seal, for this round id, words that the log must not show."""
    open: Open = no_open
    """What was sealed for a round, for a process that holds its key; called only when a card or text is needed."""
    at_table: Callable[[str], tuple["Game[Any, Any, Any]", Any]] = no_table
    """The game of a table, and the table as it is; for what is decided beside it. Refused where there is none."""

    @property
    def totals(self) -> RoundTotals:
        return self.read_totals()

    @property
    def person(self) -> str:
        """Who of the staff or players acts; "" if it is the platform itself."""
        return "" if self.role is Role.CLOCK else self.actor


class Ask(Struct, frozen=True):
    """What one stream asks of another, by whoever sent the command that it decides."""

    stream: str
    command: Any


class Decision(Struct, frozen=True):
    """What a command did: events of its stream, and what it asks of others; all of it happens or none."""

    events: tuple[Any, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    """Money that is asked of wallets."""
    asks: tuple[Ask, ...] = ()
    """What else is asked, each seeing what those before it did."""
    tries: tuple[Ask, ...] = ()
    """What must be possible now and is not done yet: decided like `asks`, and forgotten."""
    fences: tuple[str, ...] = ()
    """Keys of the caller's own commands that must never act any more: each becomes a fence, and the late command is
    refused. One that was `decided` already is refused as `AlreadyDecided`."""


class Resulted(Struct, frozen=True, tag=True):
    """The round has its final result: bets are to be settled by `returns`."""

    round: str
    result: Any


class Cancelled(Struct, frozen=True, tag=True):
    """The round is void: every open bet goes back to its player (T28)."""

    round: str
    reason: str


Outcome = Resulted | Cancelled


class Stage(StrEnum):
    """How far a table is with the round that is on."""

    CLOSED = "closed"
    """The table is not open."""
    IDLE = "idle"
    """No round is on."""
    BETTING = "betting"
    """Bets are taken on what cards will come."""
    PLAYING = "playing"
    FINAL = "final"
    """The outcome is final, and its money is on its way."""


class Standing(Struct, frozen=True):
    """How a table stands, in words that every game has. `stage` is that from before a pause, while there is one."""

    round: str | None
    stage: Stage
    paused: bool


class Brought(Struct, frozen=True):
    """Cash that became chips at the table; less than nothing: chips that became cash again."""

    player: str
    amount: Amount


class PaidIn(Struct, frozen=True):
    """Chips that were put into the round, or into the match that the event opens. The opening names the players and
    their spots; later the spot is enough."""

    spot: str
    amount: Amount
    player: str = ""


class PaidOut(Struct, frozen=True):
    """How the round ended for a player, or the match that the event ends: one wager of all that was put in, with what
    came back to the stack, or to the player."""

    player: str
    payout: Payout


Chips = Brought | PaidIn | PaidOut
"""What an event says of the chips of one player."""


class LongRun(Struct, frozen=True):
    """What bets give back in the long run, counted over all deals, for each unit staked and by spot: exact, and the
    same for every round under this pay table."""

    pay_table: str
    returns: dict[str, Fraction]


class Unexplained(ValueError):
    """What is told does not follow from the events: the cards, the odds or the arithmetic give something else, which
    the text says beside it. Or the events are not those of a round."""


class Viewer(Struct, frozen=True):
    """Whose eyes a view is for: a player, never a seat."""

    actor: str
    role: Role


# --- Events every table knows, whatever its game. Each game's union holds them. -----------------------------------


class TableFaulted(Struct, frozen=True, tag="table.Faulted"):
    """The table's clock command failed again and again: its clock stands until a supervisor resumes or cancels."""

    reason: str


# --- Commands every table knows. ----------------------------------------------------------------------------------


class TimeOut(Struct, frozen=True, forbid_unknown_fields=True, tag="TimeOut"):
    """The clock says a deadline may have passed. It acts only if the state's deadline has; early or twice it does
    nothing."""


class ConcludeRound(Struct, frozen=True, forbid_unknown_fields=True, tag="ConcludeRound"):
    """Every stake of the round is settled or refunded: close its books. `context.totals` has the sums."""

    round: str


class ResumeLog(Struct, frozen=True, forbid_unknown_fields=True, tag="ResumeLog"):
    """The log was restored to an earlier state and goes on in a new epoch: cancel what is open, disclose and drop
    every seed that was published, for players may have seen the lost tail."""

    epoch: int


S = TypeVar("S")
E = TypeVar("E")
C = TypeVar("C")


def _never_corrected(_opened: Any, _cards: tuple[Card, ...]) -> tuple[Any, ...]:
    return ()


class Game(Struct, Generic[S, E, C], frozen=True):
    """A game. `decide` holds every rule and may raise Rejected; `evolve` holds none and never fails."""

    name: str
    title: str
    commands: Mapping[Role, Any]
    """For each role the union of commands it may send (msgspec tagged union)."""
    config: type
    """What a table of this game is configured with; `OpenTable` carries one."""
    events: Any
    states: Any
    initial: S
    decide: Callable[[S, C, Context], Decision]
    evolve: Callable[[S, E], S]
    opening: type
    """The event that opens a round. It carries all the round needs, so a table can be folded from its last one."""
    returns: Callable[[Outcome, tuple[Bet, ...]], tuple[Payout, ...]]
    """What each wager of these bets gets back, given the round's outcome."""
    holdings: Callable[[S], Amount]
    """Money of players that the table's own state holds (buy-ins); zero where bets stay in the wallets."""
    rake: Callable[[E], Amount]
    """What an event of the table gives to the house out of its holdings."""
    chips: Callable[[E], tuple[Chips, ...]]
    """Where players hold chips, what an event says of each one's: brought or taken away, put into the round or the
    match, given back at its end. With the rake it accounts for every change of the holdings. Empty where bets stay in
    the wallets."""
    view: Callable[[S, Viewer, tuple[Bet, ...], Open], Any]
    """What this viewer may see, built up from nothing. After the viewer come his own open bets, and what opens a deck
    if he may see cards that are still sealed; nothing else is ever taken out of it."""
    hands: Callable[[S, Viewer, Open], Mapping[str, tuple[Card, ...]]]
    """Whose cards this viewer may know by now, by player: his own, once he has seen them or the round is over; those
    the rules showed him; and for an auditor, once the round is over, all. Empty where players hold no cards."""
    public: Callable[[E, Viewer], Any]
    """The event as this viewer may see it, or None."""
    view_number: int
    """Of `view` and `public`: raised with any change by which a viewer would be sent other bytes for the same event."""
    about: Callable[[S], Any]
    """The table's public particulars: config, limits, pay table with exact returns."""
    deadline: Callable[[S], Micros | None]
    """When the clock has work at this table: the next `TimeOut`, or at once while a round waits to be concluded."""
    round: Callable[[S], str | None]
    """The id of the round that is on, if one is."""
    standing: Callable[[S], Standing]
    """How far the table is, for whoever decides beside it."""
    result: Callable[[S], Outcome | None]
    """The final outcome of a round whose bets are not all settled yet."""
    hidden_cards: bool
    """Players hold cards that not everybody may see: what players send is kept sealed, and every process that serves
    the game's tables, an API too, needs the game's own vault key."""
    reveals: Callable[[str, Iterable[E]], Any]
    """For replay, given the operator and a round's table events: what anyone can check of its fairness, checked."""
    explains_round: Callable[[Iterable[E]], tuple[str, ...]]
    """How a round came out, given its table events as stored, in plain English: whose hand is what, why it wins, what
    there was to win. Worked out anew from the cards; Unexplained if an event says something else. It opens nothing, so
    anybody who may see the round may read it."""
    explains_payout: Callable[[Iterable[E], str, Payout], str]
    """How this player's payout follows, given the events as above: the odds and the arithmetic, to the unit. Where
    players hold chips, of the `PaidOut` of the round or of the match; the last hand's events are enough. Unexplained
    if it does not follow. That a bet was placed at all is for its player's wallet to tell."""
    corrected: Callable[[E, tuple[Card, ...]], tuple[E, ...]] = _never_corrected
    """The events that a round would have had with other cards than were recorded, from its opening, which is given, to
    its result. Empty where its cards cannot be others, or these cannot be its cards."""
    reveals_match: Callable[[str, Iterable[E]], Any] | None = None
    """The same of a match of several rounds, given the table's events from its opening to its end. None where a round
    is all that is played for."""
    offers: Callable[[Any], Mapping[str, str]] | None = None
    """What a spot pays if it wins, given a table's config, where that is the same in every deal. None where players
    play against each other."""
    long_run: Callable[[Any], LongRun] | None = None
    """What the bets of a table with this config give back in the long run. None where players play against each
    other: there is no theoretical return, only rake."""


def fold(evolve: Callable[[S, E], S], state: S, events: Iterable[E]) -> S:
    """The state after `events`: replay is this function over the same events that were appended live."""
    for event in events:
        state = evolve(state, event)
    return state

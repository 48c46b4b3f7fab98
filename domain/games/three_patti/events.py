"""What happened at the table. These are storage formats: they must decode for ever (tests/golden).

No event names a card that the rules have not shown to everybody: a hand is three places in the sealed deck.
`due` is when the clock has its next work here; in an event of a seat it counts between hands only. `next` is the seat
whose turn begins, with its deadline; none if the turn stays where it is, or the hand is over.
"""

from msgspec import UNSET, Struct, UnsetType

from domain.cards import Card
from domain.fairness import ClientSeed, Opening
from domain.game import Micros, SealedSeed, TableFaulted
from domain.games.three_patti.rules import Because, Config, EndedBy, LeftBecause, OutBecause, SeenBecause
from domain.hands.three_card import Category
from domain.money import Amount

Hand = tuple[Card, Card, Card]
Places = tuple[int, int, int]
"""Where in the deck a hand lies, in the order in which it was dealt."""


class NextSeed(Struct, frozen=True):
    """The committed seed of a hand that is not dealt yet."""

    round: str
    seed: SealedSeed


class Seat(Struct, frozen=True, omit_defaults=True):
    """One player's place at the table, and the chips before it. The pot is not among them."""

    number: int
    player: str
    stack: Amount
    out_since: Micros | None = None
    """Sitting out: dealt no cards, and freed after a while."""
    time_outs: int = 0
    """In a row, up to now."""
    leaving: bool = False
    """Left in mid-hand: the stack follows when the hand ends."""


class Left(Struct, frozen=True):
    """What a player took away, remembered for a while."""

    player: str
    amount: Amount
    at: Micros


class Dealer(Struct, frozen=True):
    seat: int
    player: str


class Dealt(Struct, frozen=True):
    """Three cards face down before a player (P3)."""

    seat: int
    player: str
    cards: Places


class Payment(Struct, frozen=True):
    seat: int
    amount: Amount


class ShownHand(Struct, frozen=True):
    """A hand for all to see, each card with its proof against the root."""

    seat: int
    player: str
    cards: Hand
    category: Category
    openings: tuple[Opening, Opening, Opening]


class PlayerResult(Struct, frozen=True, omit_defaults=True):
    """How the hand ended for one player: what he put in, what he was given, and his cards if all have seen them."""

    seat: int
    player: str
    paid: Amount
    won: Amount
    cards: tuple[Card, ...] = ()


# --- The table ----------------------------------------------------------------------------------------------------


class TableOpened(Struct, frozen=True, tag="three_patti.TableOpened"):
    config: Config
    due: Micros


class TableConfigured(Struct, frozen=True, tag="three_patti.TableConfigured"):
    """Between hands it holds at once, else from the next hand on."""

    config: Config
    due: Micros | None


class TableDraining(Struct, frozen=True, tag="three_patti.TableDraining"):
    due: Micros | None


class TableReopened(Struct, frozen=True, tag="three_patti.TableReopened"):
    due: Micros | None


class TableClosed(Struct, frozen=True, tag="three_patti.TableClosed"):
    pass


class LogResumed(Struct, frozen=True, tag="three_patti.LogResumed"):
    epoch: int


# --- The next hand's seed -----------------------------------------------------------------------------------------


class SeedPublished(Struct, frozen=True, tag="three_patti.SeedPublished"):
    round: str
    seed: SealedSeed
    due: Micros | None


class ClientSeedGiven(Struct, frozen=True, tag="three_patti.ClientSeedGiven"):
    round: str
    player: str
    seed: str


class SeedDropped(Struct, frozen=True, tag="three_patti.SeedDropped"):
    """A committed seed that no hand will use. It stays sealed: an auditor opens it, players never see it."""

    round: str
    seed: SealedSeed
    reason: str
    due: Micros | None


# --- Seats --------------------------------------------------------------------------------------------------------


class SeatTaken(Struct, frozen=True, tag="three_patti.SeatTaken"):
    seat: int
    player: str
    amount: Amount
    due: Micros | None


class ToppedUp(Struct, frozen=True, tag="three_patti.ToppedUp"):
    seat: int
    player: str
    amount: Amount


class SatOut(Struct, frozen=True, tag="three_patti.SatOut"):
    seat: int
    player: str
    why: OutBecause
    at: Micros
    due: Micros | None


class SatIn(Struct, frozen=True, tag="three_patti.SatIn"):
    seat: int
    player: str
    due: Micros | None


class LeaveAsked(Struct, frozen=True, tag="three_patti.LeaveAsked"):
    """Whoever was dealt into the hand that is on keeps the seat until it has ended."""

    seat: int
    player: str


class SeatLeft(Struct, frozen=True, tag="three_patti.SeatLeft"):
    """The seat is free; `amount`, all that lay before it, is the player's cash again."""

    seat: int
    player: str
    amount: Amount
    why: LeftBecause
    at: Micros
    due: Micros | None


# --- The hand -----------------------------------------------------------------------------------------------------


class RoundOpened(Struct, frozen=True, tag="three_patti.RoundOpened"):
    """All that the hand needs stands here: with it, state and replay begin anew.

    `root` commits to each of the 52 cards. `dealt` is in play order from the seat after the dealer, which acts first;
    each of them has put in the boot. `seats` are all who sit at the table, as they were before it.
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
    dealer: Dealer
    dealt: tuple[Dealt, ...]
    seats: tuple[Seat, ...]
    left: tuple[Left, ...]
    due: Micros
    epoch: int


class CardsSeen(Struct, frozen=True, tag="three_patti.CardsSeen"):
    """The player at this seat knows the cards now; nobody else does."""

    round: str
    seat: int
    why: SeenBecause


class BetMade(Struct, frozen=True, tag="three_patti.BetMade"):
    """`stake` is what the next blind player must meet: this bet if it was blind, half of it if seen (D6)."""

    round: str
    seat: int
    amount: Amount
    seen: bool
    stake: Amount
    next: int | None
    due: Micros | None


class Folded(Struct, frozen=True, tag="three_patti.Folded"):
    round: str
    seat: int
    why: Because
    next: int | None
    due: Micros | None


class TimeBankStarted(Struct, frozen=True, tag="three_patti.TimeBankStarted"):
    """The turn's time is over; the time bank runs, once a hand."""

    round: str
    seat: int
    due: Micros


class SideShowAsked(Struct, frozen=True, tag="three_patti.SideShowAsked"):
    """The asker has paid, and the target is to answer. `due` is none if the payment filled the pot."""

    round: str
    seat: int
    target: int
    amount: Amount
    due: Micros | None


class SideShowRefused(Struct, frozen=True, tag="three_patti.SideShowRefused"):
    round: str
    seat: int
    target: int
    why: Because
    next: int | None
    due: Micros | None


class SideShowLapsed(Struct, frozen=True, tag="three_patti.SideShowLapsed"):
    """The asker has left the table before the answer came."""

    round: str
    seat: int
    target: int
    next: int | None
    due: Micros | None


class SideShowResolved(Struct, frozen=True, tag="three_patti.SideShowResolved"):
    """Accepted: the two have seen each other's hand, and the lower one is folded. Nobody else ever sees either."""

    round: str
    seat: int
    target: int
    folded: int
    next: int | None
    due: Micros | None


class HandsShown(Struct, frozen=True, tag="three_patti.HandsShown"):
    """What was paid for the show, and the hands for all to see. `asker` is none at a full pot."""

    round: str
    why: EndedBy
    asker: int | None
    payments: tuple[Payment, ...]
    hands: tuple[ShownHand, ...]


class RoundSettled(Struct, frozen=True, tag="three_patti.RoundSettled"):
    """The pot is awarded: its sum is all that was put in, and what was won and the rake are its sum."""

    round: str
    why: EndedBy
    pot: Amount
    rake: Amount
    results: tuple[PlayerResult, ...]
    dealer: Dealer
    """The winner deals next (P22)."""
    due: Micros


# --- Faults -------------------------------------------------------------------------------------------------------


class RoundPaused(Struct, frozen=True, tag="three_patti.RoundPaused"):
    """`left_ms` of the time to act remained. `by` is who paused it, if it was not the platform; not told of rounds by
    rules of number 1."""

    round: str | None
    reason: str
    left_ms: int
    due: Micros | None
    by: str | UnsetType = UNSET


class RoundResumed(Struct, frozen=True, tag="three_patti.RoundResumed"):
    round: str | None
    due: Micros | None


class DeadlineExtended(Struct, frozen=True, tag="three_patti.DeadlineExtended"):
    """The clock itself was late (downtime): once a turn, a fresh deadline in place of the act."""

    round: str
    due: Micros


class RoundCancelled(Struct, frozen=True, tag="three_patti.RoundCancelled"):
    """The hand is void. `paused_by` is the first of the two persons whom it took; the second sent the command."""

    round: str
    reason: str
    paused_by: str | UnsetType = UNSET


class RoundRefunded(Struct, frozen=True, tag="three_patti.RoundRefunded"):
    """Whatever was put in is back in its owner's stack; the same dealer deals again."""

    round: str
    results: tuple[PlayerResult, ...]
    due: Micros


OfTable = TableConfigured | TableDraining | TableReopened | TableClosed | LogResumed
OfSeed = SeedPublished | ClientSeedGiven | SeedDropped
OfSeat = SeatTaken | ToppedUp | SatOut | SatIn | LeaveAsked | SeatLeft
OfSideShow = SideShowAsked | SideShowRefused | SideShowLapsed | SideShowResolved
OfTurn = CardsSeen | BetMade | Folded | TimeBankStarted | OfSideShow
OfEnd = HandsShown | RoundCancelled | RoundSettled | RoundRefunded
OfPause = RoundPaused | RoundResumed | DeadlineExtended | TableFaulted
Event = TableOpened | OfTable | OfSeed | OfSeat | RoundOpened | OfTurn | OfEnd | OfPause

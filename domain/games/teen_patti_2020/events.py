"""What happened at the table. These are storage formats: they must decode for ever (tests/golden).

`due` is when the clock has its next work here. A seed that is sealed shows its hash alone, a card comes in its time.
"""

from msgspec import UNSET, Struct, UnsetType

from domain.cards import Card
from domain.fairness import ClientSeed, Opening
from domain.game import Micros, SealedSeed, TableFaulted
from domain.games.teen_patti_2020.pays import Showdown, Winner
from domain.games.teen_patti_2020.rules import Config, Slot
from domain.money import Amount


class NextSeed(Struct, frozen=True):
    """The committed seed of a round that is not open yet."""

    round: str
    seed: SealedSeed


class RecentResult(Struct, frozen=True):
    round: str
    winner: Winner


# --- The table ----------------------------------------------------------------------------------------------------


class TableOpened(Struct, frozen=True, tag="teen_patti_2020.TableOpened"):
    config: Config
    due: Micros


class TableConfigured(Struct, frozen=True, tag="teen_patti_2020.TableConfigured"):
    config: Config


class TableDraining(Struct, frozen=True, tag="teen_patti_2020.TableDraining"):
    due: Micros | None
    """Between rounds: the clock closes the table at once. Else it closes when the round has ended."""


class TableReopened(Struct, frozen=True, tag="teen_patti_2020.TableReopened"):
    due: Micros | None
    """While a round is on nothing is due: the table only stops draining."""


class TableClosed(Struct, frozen=True, tag="teen_patti_2020.TableClosed"):
    pass


class LogResumed(Struct, frozen=True, tag="teen_patti_2020.LogResumed"):
    epoch: int


# --- The next round's seed ----------------------------------------------------------------------------------------


class SeedPublished(Struct, frozen=True, tag="teen_patti_2020.SeedPublished"):
    round: str
    seed: SealedSeed
    due: Micros


class ClientSeedGiven(Struct, frozen=True, tag="teen_patti_2020.ClientSeedGiven"):
    round: str
    player: str
    seed: str


class SeedDisclosed(Struct, frozen=True, tag="teen_patti_2020.SeedDisclosed"):
    """A committed seed that no round will use, opened for all to check (hex)."""

    round: str
    seed: str
    reason: str


# --- The round ----------------------------------------------------------------------------------------------------


class RoundOpened(Struct, frozen=True, tag="teen_patti_2020.RoundOpened"):
    """All that the round needs stands here: with it, state and replay begin anew.

    `root` commits to each of the 52 cards of an rng table; `client_seeds` are those mixed into its shuffle.
    """

    round: str
    number: int
    rules: int
    config: Config
    seed: SealedSeed | None
    root: str | None
    client_seeds: tuple[ClientSeed, ...]
    closes_at: Micros
    recent: tuple[RecentResult, ...]
    epoch: int


class BettingClosed(Struct, frozen=True, tag="teen_patti_2020.BettingClosed"):
    round: str
    due: Micros


class CardDealt(Struct, frozen=True, tag="teen_patti_2020.CardDealt"):
    """A card lies face up (T7). `opening` proves it against the root; a live card has none."""

    round: str
    slot: Slot
    card: Card
    opening: Opening | None
    due: Micros


class RoundResulted(Struct, frozen=True, tag="teen_patti_2020.RoundResulted"):
    """Final: from here on nothing but settlement."""

    round: str
    showdown: Showdown
    due: Micros


class RoundSkipped(Struct, frozen=True, tag="teen_patti_2020.RoundSkipped"):
    """Nobody bet: no card is dealt (S20.26)."""

    round: str
    seed: str | None
    next_seed: NextSeed | None
    due: Micros


class RoundSettled(Struct, frozen=True, tag="teen_patti_2020.RoundSettled"):
    """Every bet is paid. The seed of an rng round is revealed, and the next one's hash published."""

    round: str
    bettors: int
    staked: Amount
    returned: Amount
    seed: str | None
    next_seed: NextSeed | None
    due: Micros


# --- Faults (T26-T28) ---------------------------------------------------------------------------------------------


class RoundPaused(Struct, frozen=True, tag="teen_patti_2020.RoundPaused"):
    """`left_ms` of the betting time remained. `slot` and `card`: the scan that was not accepted, if one was.
    `by` is who paused it, if it was not the platform; not told of rounds by rules of number 1."""

    round: str | None
    reason: str
    left_ms: int
    due: Micros | None
    slot: Slot | None = None
    card: Card | None = None
    by: str | UnsetType = UNSET


class RoundResumed(Struct, frozen=True, tag="teen_patti_2020.RoundResumed"):
    round: str | None
    due: Micros


class RescanOrdered(Struct, frozen=True, tag="teen_patti_2020.RescanOrdered"):
    """The paused round goes on from no card: those dealt before this event do not count, whatever is scanned next."""

    round: str
    reason: str
    due: Micros


class DeadlineExtended(Struct, frozen=True, tag="teen_patti_2020.DeadlineExtended"):
    """The clock itself was late (downtime): once a turn, a fresh deadline in place of the act."""

    round: str
    due: Micros


class RoundCancelled(Struct, frozen=True, tag="teen_patti_2020.RoundCancelled"):
    """Final: every stake goes back (T28). `paused_by` is the first of the two persons whom it took; the second sent the
    command."""

    round: str
    reason: str
    due: Micros
    paused_by: str | UnsetType = UNSET


class RoundRefunded(Struct, frozen=True, tag="teen_patti_2020.RoundRefunded"):
    """Every stake has gone back. The seed of an rng round is revealed, and the next one's hash published."""

    round: str
    bettors: int
    staked: Amount
    returned: Amount
    seed: str | None
    next_seed: NextSeed | None
    due: Micros


OfTable = (
    TableConfigured
    | TableDraining
    | TableReopened
    | TableClosed
    | LogResumed
    | SeedPublished
    | ClientSeedGiven
    | SeedDisclosed
)
OfRound = BettingClosed | CardDealt | RoundResulted | RoundSkipped | RoundSettled | RoundCancelled | RoundRefunded
OfPause = RoundPaused | RoundResumed | RescanOrdered | DeadlineExtended | TableFaulted
Event = TableOpened | OfTable | RoundOpened | OfRound | OfPause

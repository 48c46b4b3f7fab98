"""The table to its viewers, built up from nothing; what an event shows; and what anyone can check of a round."""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from msgspec import UNSET, Struct
from msgspec.structs import replace

from domain import fairness
from domain.cards import Card
from domain.fairness import ClientSeed
from domain.game import Cancelled, LongRun, Micros, Open, Outcome, Resulted, SealedSeed, Viewer
from domain.games.teen_patti_2020 import events
from domain.games.teen_patti_2020.events import NextSeed, RecentResult
from domain.games.teen_patti_2020.pays import Result, Showdown, Spot, SpotReturn, most_won, returns_of, showdown
from domain.games.teen_patti_2020.rules import SLOTS, Config, Kind, Slot
from domain.games.teen_patti_2020.state import (
    Betting,
    Between,
    Closed,
    InRound,
    NotOpened,
    Paused,
    Refunding,
    Settling,
    State,
    dealt,
    phase,
    round_on,
)
from domain.money import Amount, Bet

VIEW_NUMBER = 1
"""Another number when a view, or what is shown of an event, changes."""

WORDING = (
    "Equal in the ranking is a tie: the same pattern and the same ranks. K-9-4 of one suit beats K-9-4 of several. "
    "On a tie, bets on Player A and Player B are returned."
)
"""How a tie is to be published (D1)."""


# --- The table ----------------------------------------------------------------------------------------------------


class TableView(Struct, frozen=True, omit_defaults=True):
    """One view for everybody; only `bets` are the viewer's own. `round` is the one that is on."""

    phase: str
    """between rounds, betting, dealing, confirming, settling, refunding, paused, closed."""
    round: str | None = None
    closes_at: Micros | None = None
    opens_at: Micros | None = None
    cards: dict[Slot, Card] = {}
    result: Showdown | None = None
    reason: str | None = None
    """Why the round is paused or cancelled."""
    rescanned: str | None = None
    """Why the cards are scanned again from the first: what lay there before does not count."""
    bets: tuple[Bet, ...] = ()
    seed_hash: str | None = None
    root: str | None = None
    next_round: str | None = None
    next_seed_hash: str | None = None
    """Published: players may give client seeds for `next_round`."""
    recent: tuple[RecentResult, ...] = ()
    draining: bool = False


def view(state: State, _viewer: Viewer, bets: tuple[Bet, ...], _open: Open) -> TableView:
    return replace(_everybodys(state), bets=bets)


@lru_cache(64)
def _everybodys(state: State) -> TableView:
    """Remembered, since thousands look at one state: making it anew was 3 % of a bet's CPU."""
    if isinstance(state, NotOpened):
        return TableView(phase(state))
    on, next_seed = round_on(state), state.table.next_seed
    unpaused = state.was if isinstance(state, Paused) else state
    return TableView(
        phase=phase(state),
        round=on.id if on else None,
        closes_at=state.due if isinstance(state, Betting) else None,
        opens_at=state.due if isinstance(state, Between) else None,
        cards=dict(zip(SLOTS, dealt(state), strict=False)),
        result=_shown(unpaused),
        reason=state.reason if isinstance(state, Paused | Refunding) else None,
        rescanned=on.rescanned or None if on else None,
        seed_hash=on.seed.hash if on and on.seed else None,
        root=on.root if on else None,
        next_round=next_seed.round if next_seed else None,
        next_seed_hash=next_seed.seed.hash if next_seed else None,
        recent=state.table.recent,
        draining=state.table.draining,
    )


def _shown(state: Between | InRound | Closed) -> Showdown | None:
    match state:
        case Settling(showdown=shown) | Between(last=shown):
            return shown
        case _:
            return None


class About(Struct, frozen=True):
    """The table's public particulars: limits, pay table, and what each bet returns in the long run, exactly."""

    config: Config
    next_config: Config | None
    returns: tuple[SpotReturn, ...]
    most_won: Amount
    """The most that one player can win in a round within the limits."""
    wording: str


def about(state: State) -> About | None:
    if isinstance(state, NotOpened):
        return None
    config = state.table.config
    won = most_won(config.pay_table, config.spot_max, config.round_max)
    return About(config, state.table.pending, returns_of(config.pay_table), won, WORDING)


def offers(config: Config) -> dict[str, str]:
    """Pair + and 6 Card Bonus pay by the hand."""
    pays = config.pay_table
    return {Spot.PLAYER_A: str(pays.player_a), Spot.PLAYER_B: str(pays.player_b), Spot.TIE: str(pays.tie)}


def long_run(config: Config) -> LongRun:
    returns = {each.spot.value: Fraction(each.rtp_exact) for each in returns_of(config.pay_table)}
    return LongRun(config.pay_table.version, returns)


def public(event: events.Event, _viewer: Viewer) -> events.Event:
    """Every event is for everybody, but of a sealed seed only its hash, and not who of the staff stopped a round."""
    match event:
        case events.SeedPublished():
            return replace(event, seed=_blank(event.seed))
        case events.RoundOpened(seed=SealedSeed() as seed):
            return replace(event, seed=_blank(seed))
        case events.RoundSkipped() | events.RoundSettled() | events.RoundRefunded():
            following = event.next_seed
            blank = NextSeed(following.round, _blank(following.seed)) if following else None
            return replace(event, next_seed=blank)
        case events.RoundPaused():
            return replace(event, by=UNSET)
        case events.RoundCancelled():
            return replace(event, paused_by=UNSET)
        case _:
            return event


def _blank(seed: SealedSeed) -> SealedSeed:
    return SealedSeed(seed.hash, "", "")


# --- To the machinery ---------------------------------------------------------------------------------------------


def round_id(state: State) -> str | None:
    on = round_on(state)
    return on.id if on else None


def deadline(state: State) -> Micros | None:
    return None if isinstance(state, NotOpened | Closed) else state.due


def result(state: State) -> Outcome | None:
    """Final, also while a fault of the clock holds the table up: what is won is won."""
    match state.was if isinstance(state, Paused) else state:
        case Settling(round=on, showdown=shown, table=table):
            return Resulted(on.id, Result(shown, table.config.pay_table))
        case Refunding(round=on, reason=reason):
            return Cancelled(on.id, reason)
        case _:
            return None


def corrected(opened: events.Event, cards: tuple[Card, ...]) -> tuple[events.Event, ...]:
    """Of a live round, whose scanner can have read wrongly: what an rng table deals is committed to before."""
    if not isinstance(opened, events.RoundOpened) or opened.config.kind is not Kind.LIVE:
        return ()
    if len(cards) != len(SLOTS) or len(set(cards)) != len(SLOTS):
        return ()
    at = opened.closes_at
    dealt_again = (events.CardDealt(opened.round, *each, None, at) for each in zip(SLOTS, cards, strict=True))
    return (opened, *dealt_again, events.RoundResulted(opened.round, showdown(cards), at))


# --- To whoever checks a round ------------------------------------------------------------------------------------


class Check(Struct, frozen=True):
    what: str
    holds: bool


class Reveal(Struct, frozen=True, omit_defaults=True):
    """What can be checked of a round's cards, checked. Before its end an rng round has openings but no seed."""

    round: str
    checks: tuple[Check, ...]
    seed_hash: str | None = None
    seed: str | None = None
    root: str | None = None
    rejects: int | None = None
    client_seeds: tuple[ClientSeed, ...] = ()


def reveals(operator: str, of_round: Iterable[events.Event]) -> Reveal | None:
    """None if these events open no round."""
    story = tuple(of_round)
    opened = next((event for event in story if isinstance(event, events.RoundOpened)), None)
    if opened is None:
        return None
    cards = _lying(story)
    checks = (*_openings(opened, cards), *_outcome(story, cards))
    if opened.seed is None or opened.root is None:
        return Reveal(opened.round, checks)
    ends = (events.RoundSkipped, events.RoundSettled, events.RoundRefunded)
    seed = next((event.seed for event in story if isinstance(event, ends)), None)
    if seed is None:
        return Reveal(opened.round, checks, opened.seed.hash, None, opened.root, None, opened.client_seeds)
    deck = _reshuffled(operator, opened, bytes.fromhex(seed))
    from_seed = (
        Check(
            "the seed has the hash published before the round",
            fairness.verify_seed(bytes.fromhex(seed), opened.seed.hash),
        ),
        Check("the deck shuffled from it has the root published before the first bet", deck.root == opened.root),
        Check("what was dealt is its first cards, in order", deck.cards[: len(cards)] == tuple(c.card for c in cards)),
    )
    known = (opened.seed.hash, seed, opened.root, deck.rejects, opened.client_seeds)
    return Reveal(opened.round, (*from_seed, *checks), *known)


def _lying(story: tuple[events.Event, ...]) -> tuple[events.CardDealt, ...]:
    """The cards that count: none of those before the last scan from the first."""
    rescans = (index for index, event in enumerate(story) if isinstance(event, events.RescanOrdered))
    return tuple(event for event in story[max(rescans, default=0) :] if isinstance(event, events.CardDealt))


def _reshuffled(operator: str, opened: events.RoundOpened, seed: bytes) -> fairness.Deck:
    table = opened.round.rpartition(".")[0]
    return fairness.shuffle(seed, operator=operator, table=table, round=opened.round, client_seeds=opened.client_seeds)


def _openings(opened: events.RoundOpened, cards: tuple[events.CardDealt, ...]) -> tuple[Check, ...]:
    """Each card of an rng round proves itself against the root, long before the seed is known."""
    if opened.root is None:
        return ()
    return tuple(
        Check(
            f"{dealt.slot} {dealt.card} was card {index} of the committed deck",
            dealt.opening is not None
            and (dealt.opening.index, dealt.opening.card) == (index, dealt.card)
            and fairness.verify_opening(opened.root, dealt.opening),
        )
        for index, dealt in enumerate(cards)
    )


def _outcome(story: tuple[events.Event, ...], cards: tuple[events.CardDealt, ...]) -> tuple[Check, ...]:
    resulted = next((event for event in story if isinstance(event, events.RoundResulted)), None)
    if resulted is None:
        return ()
    dealt = tuple(each.card for each in cards)
    whole = len(dealt) == len(set(dealt)) == len(SLOTS)  # a card that came twice was forged, and makes no hand
    follows = whole and showdown(dealt) == resulted.showdown
    return (Check("the result follows from the cards", follows),)

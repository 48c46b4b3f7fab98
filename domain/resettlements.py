"""The stream `resettlement:<round>`: a settled round, or match, settled once more, so that what was paid wrongly is put
right. What was settled is never edited: each player's wallet gets a compensating settlement, numbered within the round.

It takes two persons (see `domain.proposals`). Then it runs to its end in steps of some players each, every step once
only: it names how far the one before came.
"""

from enum import StrEnum
from typing import Annotated, Any, assert_never

from msgspec import Meta, Struct
from msgspec.structs import replace

from domain import wording
from domain.cards import DECK, Card
from domain.errors import Rejected
from domain.game import Ask, Context, Decision, Ended, Micros, Outcome, PaidOut, Unexplained, fold
from domain.games import GAMES
from domain.money import Amount, Bet, Payout, Wager
from domain.names import RESETTLEMENT, WALLET
from domain.wallet.commands import Compensate

REFUNDED = "refunded"


class Rule(StrEnum):
    RoundNotSettled = "RoundNotSettled"
    CannotBeCorrected = "CannotBeCorrected"
    NothingChanges = "NothingChanges"
    ResettlementIsOn = "ResettlementIsOn"


class Void(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Every wager is returned, whatever came of it; where players hold chips, whatever each put in, the rake too."""


class Corrected(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The cards that truly lay there, in the order in which they were dealt: the round is settled by them."""

    cards: Annotated[tuple[Card, ...], Meta(min_length=1, max_length=len(DECK))]


Basis = Void | Corrected
"""What the round is settled by now."""


# --- Commands: all of them Croupier's own --------------------------------------------------------------------------


class Resettle(Struct, frozen=True, tag=True):
    """Two persons want it: it comes from a proposal that a second one approved."""

    basis: Basis
    incident: str
    reason: str
    proposed_by: str
    proposal: str


class Paid(Struct, frozen=True):
    """A player, and how each wager of his was paid last."""

    player: str
    payouts: tuple[Payout, ...]


class Advance(Struct, frozen=True, tag=True):
    """The next players, as they were paid last, read from the log: those that stand after position `after` there, up to
    `until`."""

    number: int
    after: int
    until: int
    bettors: tuple[Paid, ...]
    of: Ended


class Complete(Struct, frozen=True, tag=True):
    """There are no more players. What the log has of this resettlement in sum is `gained`, `owed` of it."""

    number: int
    after: int
    players: int
    gained: Amount
    owed: Amount


Command = Resettle | Advance | Complete


# --- Events -------------------------------------------------------------------------------------------------------


class Opened(Struct, frozen=True, omit_defaults=True, tag="resettlement.Opened"):
    """`proposed_by` wanted it by that proposal, the event's actor approved it; `incident` is what it is about."""

    round: str
    number: int
    basis: Basis
    reason: str
    proposed_by: str
    proposal: str
    due: Micros
    incident: str = ""


class Advanced(Struct, frozen=True, tag="resettlement.Advanced"):
    """So many more players were settled with: all who stand up to position `until`."""

    round: str
    number: int
    until: int
    players: int
    gained: Amount


class Completed(Struct, frozen=True, tag="resettlement.Completed"):
    """All players were settled with: what they gained in sum, less than nothing for a loss, and what of their losses
    their cash did not cover, which is owed."""

    round: str
    number: int
    players: int
    gained: Amount
    owed: Amount


Event = Opened | Advanced | Completed


# --- State --------------------------------------------------------------------------------------------------------


class Absent(Struct, frozen=True, tag="Absent"):
    """The round was never resettled."""


class Resettlement(Struct, frozen=True, tag="Resettlement"):
    """The round's last one. `players` were settled with so far, `due` is none when all were."""

    round: str
    number: int
    basis: Basis
    due: Micros | None
    after: int = 0
    players: int = 0
    gained: Amount = 0


State = Absent | Resettlement
INITIAL: State = Absent()


def decide(state: State, command: Command, context: Context) -> Decision:
    match command:
        case Resettle():
            return _open(state, command, context)
        case Advance() | Complete():
            if isinstance(state, Absent) or not _is_next(state, command):
                return Decision()
            return _advance(state, command) if isinstance(command, Advance) else _complete(state, command)
        case never:
            assert_never(never)


def _is_next(state: Resettlement, command: Advance | Complete) -> bool:
    """Once only by state: a step that was done already does nothing."""
    return state.due is not None and (state.number, state.after) == (command.number, command.after)


def _open(state: State, command: Resettle, context: Context) -> Decision:
    round_id = context.stream.removeprefix(RESETTLEMENT)
    ended = context.ended(round_id)
    if ended is None or not is_settled(ended):
        raise Rejected(Rule.RoundNotSettled, round=round_id)
    if isinstance(state, Resettlement) and state.due is not None:
        raise Rejected(Rule.ResettlementIsOn, round=round_id, number=state.number)
    _check_changes(state, command.basis, ended, round_id)
    number = state.number + 1 if isinstance(state, Resettlement) else 1
    why = (command.reason, command.proposed_by, command.proposal)
    return Decision((Opened(round_id, number, command.basis, *why, context.now, command.incident),))


def _check_changes(state: State, basis: Basis, ended: Ended, round_id: str) -> None:
    """Who asks for the same twice, as after two reports of one mistake, has been served already."""
    if isinstance(state, Resettlement):
        same = state.basis == basis
    else:
        same = isinstance(basis, Corrected) and outcome_of(basis, ended) == _outcome(ended)
    if isinstance(basis, Corrected) and outcome_of(basis, ended) is None:
        raise Rejected(Rule.CannotBeCorrected, round=round_id)
    if same:
        raise Rejected(Rule.NothingChanges, round=round_id)


def _outcome(ended: Ended) -> Outcome | None:
    """As it was settled."""
    return _folded(ended.game, (ended.opened, ended.resulted)) if ended.resulted else None


def _folded(name: str, story: tuple[Any, ...]) -> Outcome | None:
    return GAMES[name].result(fold(GAMES[name].evolve, GAMES[name].initial, story))


def _advance(state: Resettlement, command: Advance) -> Decision:
    paid = [(each, payouts_by(state.basis, state.round, command.of, each.payouts)) for each in command.bettors]
    gained = sum(_returned(now) - _returned(each.payouts) for each, now in paid)
    asks = (Ask(WALLET + each.player, Compensate(state.round, state.number, each.payouts, now)) for each, now in paid)
    advanced = Advanced(state.round, state.number, command.until, len(paid), gained)
    return Decision((advanced,), asks=tuple(asks))


def _complete(state: Resettlement, command: Complete) -> Decision:
    if (command.players, command.gained) != (state.players, state.gained):
        raise ValueError(f"the log of {state.round} has other compensations than its resettlement told of")
    return Decision((Completed(state.round, state.number, state.players, state.gained, command.owed),))


# --- What is paid -------------------------------------------------------------------------------------------------


def is_settled(ended: Ended) -> bool:
    """Whether money was won and lost: not where nobody bet, in a hand of a match, or where all went back anyhow."""
    event = ended.ended
    if type(event).__name__ not in ("RoundSettled", "MatchSettled"):
        return False
    return getattr(event, "bettors", 0) > 0 or bool(paid_out(ended))


def paid_out(ended: Ended) -> tuple[Paid, ...]:
    """Who held chips, and how it ended for them; none where bets lay in the wallets."""
    told = (each for each in GAMES[ended.game].chips(ended.ended) if isinstance(each, PaidOut))
    return tuple(Paid(each.player, (each.payout,)) for each in told)


def payouts_by(basis: Basis, round_id: str, of: Ended, paid: tuple[Payout, ...]) -> tuple[Payout, ...]:
    """How the same wagers are paid on this basis, each as it was placed."""
    match basis:
        case Void():
            return tuple(Payout(each.bet, each.spot, each.staked, REFUNDED, each.staked) for each in paid)
        case Corrected():
            outcome = outcome_of(basis, of)
            if outcome is None:
                raise ValueError(f"{round_id} cannot be settled by other cards")
            return GAMES[of.game].returns(outcome, bets_of(round_id, paid))
        case never:
            assert_never(never)


def outcome_of(basis: Corrected, of: Ended) -> Outcome | None:
    """How the round comes out with those cards; None if it cannot come out by other cards than it did."""
    return _folded(of.game, GAMES[of.game].corrected(of.opened, basis.cards))


def bets_of(round_id: str, paid: tuple[Payout, ...]) -> tuple[Bet, ...]:
    """The bets that were paid so, in the order in which they were placed."""
    bets: dict[str, tuple[Wager, ...]] = {}
    for each in paid:
        bets[each.bet] = (*bets.get(each.bet, ()), Wager(each.spot, each.staked))
    return tuple(Bet(bet, round_id, wagers) for bet, wagers in bets.items())


def _returned(payouts: tuple[Payout, ...]) -> Amount:
    return sum(each.returned for each in payouts)


# --- In words -----------------------------------------------------------------------------------------------------


def explains(opened: Opened, of: Ended, *, why: bool) -> tuple[str, ...]:
    """How the round stands by it. `why`: with the words of whoever wanted it, which are not everybody's to read."""
    head = f"Settled once more, number {opened.number}{f' ({opened.reason})' if why else ''}"
    match opened.basis:
        case Void():
            return (f"{head}: the round is void, and every wager is returned.",)
        case Corrected(cards=cards):
            game = GAMES[of.game]
            story = game.corrected(of.opened, cards)
            return (f"{head}, by the cards that lay there: {wording.cards(cards)}.", *game.explains_round(story))
        case never:
            assert_never(never)


def explains_payouts(
    basis: Basis, of: Ended, player: str, was: tuple[Payout, ...], payouts: tuple[Payout, ...]
) -> tuple[str, ...]:
    """How each wager is paid now, and what the player gained by the change. Raises Unexplained."""
    told = [_explains_payout(basis, of, player, each) for each in payouts]
    before, now = _returned(was), _returned(payouts)
    gain = (
        "no change"
        if now == before
        else f"a {'gain' if now > before else 'loss'} of {wording.number(abs(now - before))}"
    )
    told.append(f"{player} had {wording.number(before)} back and has {wording.number(now)} now: {gain}.")
    return tuple(told)


def _explains_payout(basis: Basis, of: Ended, player: str, payout: Payout) -> str:
    if isinstance(basis, Corrected):
        return GAMES[of.game].explains_payout(GAMES[of.game].corrected(of.opened, basis.cards), player, payout)
    staked = wording.number(payout.staked)
    if (payout.odds, payout.returned) != (REFUNDED, payout.staked):
        raise Unexplained(f"{player}'s {staked} on {payout.spot} is void and comes back; told is {payout.returned}")
    return f"{player}'s {staked} on {payout.spot}: the round is void, so the stake comes back; returned: {staked}."


# --- Folding ------------------------------------------------------------------------------------------------------


def evolve(state: State, event: Event) -> State:
    if isinstance(event, Opened):
        return Resettlement(event.round, event.number, event.basis, event.due)
    assert isinstance(state, Resettlement), "a resettlement's first event is Opened"
    match event:
        case Advanced():
            players, gained = state.players + event.players, state.gained + event.gained
            return replace(state, after=event.until, players=players, gained=gained)
        case Completed():
            return replace(state, due=None)
        case never:
            assert_never(never)


def deadline(state: State) -> Micros | None:
    """At once and for as long as it is not completed."""
    return state.due if isinstance(state, Resettlement) else None

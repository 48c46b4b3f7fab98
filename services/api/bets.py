"""Who bet what and what became of it, with outcome and odds apart: events and rows have both in one word."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import asdict

from domain.games import GAMES
from domain.money import Amount, Payout
from infra import codec
from infra.postgres import Pool
from infra.sql import queries
from services.projections import resettled, rounds

SQL = queries("api")


class WagerOutcome(StrEnum):
    """`push`: the stake came back, for neither side won. `cancelled`: its player took it back. `refunded`: it went back
    with its round."""

    OPEN = "open"
    WON = "won"
    LOST = "lost"
    PUSH = "push"
    CANCELLED = "cancelled"
    REFUNDED = "refunded"


_OUTCOMES = {each.value: each for each in WagerOutcome}


class WagerResult(Struct, frozen=True):
    """A wager of a bet, and what became of it; `returned` includes the stake."""

    bet: str
    spot: str
    staked: Amount
    outcome: WagerOutcome
    odds: str | None
    """At which it was won, as 0.95:1. Of one that was not, what the spot would have paid; null if that depends on the
    cards, and where players hold chips."""
    returned: Amount


class Bettor(rounds.BettorOf[WagerResult], frozen=True):
    """One player's bets in one round, each with what became of it.

    Where players hold chips there is one wager, named like the round, on the player's seat: all that was put in. In a
    match of several rounds it is named like the match: what the player paid to take part.
    """


class Gain(resettled.GainOf[WagerResult], frozen=True):
    """The round's `number`th resettlement as it came to one player: every wager with what it returns now, and what the
    player gained by the change, less than nothing for a loss."""


Offers = Mapping[str, Mapping[str, str]]
"""By round and spot, the odds where they are the same in every deal."""


async def told(
    pool: Pool, operator: str, bettors: Iterable[rounds.Bettor], again: Iterable[resettled.Gain]
) -> tuple[tuple[Bettor, ...], tuple[Gain, ...]]:
    """The rows, told with the odds that their rounds were opened with."""
    bettors, again = list(bettors), list(again)
    offers = await _offers(pool, operator, {each.round for each in (*bettors, *again)})
    return tuple(_bettor_of(each, offers) for each in bettors), tuple(_gain_of(each, offers) for each in again)


async def _offers(pool: Pool, operator: str, names: Iterable[str]) -> Offers:
    found: dict[str, Mapping[str, str]] = {}
    for record in await pool.fetch(SQL["beginnings"], operator, list(names)):
        game = GAMES.get(record["type"].partition(".")[0])
        if game is not None and game.offers is not None:
            opening = codec.decode_event(record["type"], record["schema"], record["data"])
            if isinstance(opening, game.opening):
                found[record["round"]] = game.offers(opening.config)
    return found


def _bettor_of(row: rounds.Bettor, offers: Offers) -> Bettor:
    stands = asdict(row)
    stands["wagers"] = _wagers_of(row.round, row.wagers, offers)
    return Bettor(**stands)


def _gain_of(row: resettled.Gain, offers: Offers) -> Gain:
    stands = asdict(row)
    stands["payouts"] = _wagers_of(row.round, row.payouts, offers)
    return Gain(**stands)


def _wagers_of(round_id: str, payouts: Iterable[Payout], offers: Offers) -> tuple[WagerResult, ...]:
    offered = offers.get(round_id, {})
    return tuple(_wager_of(each, offered) for each in payouts)


def _wager_of(payout: Payout, offered: Mapping[str, str]) -> WagerResult:
    outcome, odds = _OUTCOMES.get(payout.odds or WagerOutcome.OPEN), offered.get(payout.spot)
    if outcome is None:
        outcome, odds = WagerOutcome.WON, payout.odds
    return WagerResult(payout.bet, payout.spot, payout.staked, outcome, odds, payout.returned)

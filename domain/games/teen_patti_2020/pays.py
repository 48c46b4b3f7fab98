"""What is paid: the pay table as data, the showdown of six cards, and what every bet returns, exactly."""

from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct

from domain.cards import Card
from domain.game import Cancelled, Outcome
from domain.games.teen_patti_2020.joint import JOINT
from domain.hands.five_card import BonusCategory, bonus
from domain.hands.three_card import Category, rank
from domain.money import Amount, Bet, Odds, Payout, Wager


class Spot(StrEnum):
    """What a player may bet on (T6)."""

    PLAYER_A = "player_a"
    PLAYER_B = "player_b"
    TIE = "tie"
    PAIR_PLUS_A = "pair_plus_a"
    PAIR_PLUS_B = "pair_plus_b"
    SIX_CARD_BONUS = "six_card_bonus"


class Winner(StrEnum):
    PLAYER_A = "player_a"
    PLAYER_B = "player_b"
    TIE = "tie"


PUSH = Odds(0)
"""A main bet on a tie wins nothing and loses nothing: its stake is returned (T20)."""


class PairPlusPays(Struct, frozen=True, forbid_unknown_fields=True):
    """What Pair + pays for each category (T23); less than a pair loses."""

    trio_aces: Odds = Odds(50)
    trio: Odds = Odds(40)
    pure_sequence: Odds = Odds(30)
    sequence: Odds = Odds(6)
    color: Odds = Odds(3)
    pair: Odds = Odds(1)

    def of(self, category: Category) -> Odds | None:
        return None if category is Category.HIGH_CARD else getattr(self, category)


class BonusPays(Struct, frozen=True, forbid_unknown_fields=True):
    """What the 6 Card Bonus pays for each category (T24); less than three of a kind loses."""

    royal_flush: Odds = Odds(1000)
    straight_flush: Odds = Odds(200)
    four_of_a_kind: Odds = Odds(100)
    full_house: Odds = Odds(20)
    flush: Odds = Odds(15)
    straight: Odds = Odds(10)
    three_of_a_kind: Odds = Odds(7)

    def of(self, category: BonusCategory) -> Odds | None:
        return None if category is BonusCategory.NONE else getattr(self, category)


class PayTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The odds of every spot. The default is the seed document's (T21, T23, T24), its Tie at 50:1 included (D2)."""

    version: Annotated[str, Meta(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9._-]+(?![\s\S])")] = "seed-1"
    player_a: Odds = Odds(19, 20)
    player_b: Odds = Odds(19, 20)
    tie: Odds = Odds(50)
    pair_plus: PairPlusPays = PairPlusPays()
    six_card_bonus: BonusPays = BonusPays()

    @property
    def odds(self) -> tuple[Odds, ...]:
        """Every odds in the table."""
        pair_plus = (getattr(self.pair_plus, name) for name in PairPlusPays.__struct_fields__)
        six_card_bonus = (getattr(self.six_card_bonus, name) for name in BonusPays.__struct_fields__)
        return (self.player_a, self.player_b, self.tie, *pair_plus, *six_card_bonus)


class Showdown(Struct, frozen=True):
    """The two hands compared (T9, T19), and what the best five of all six cards are (T24)."""

    hand_a: tuple[Card, ...]
    hand_b: tuple[Card, ...]
    winner: Winner
    category_a: Category
    category_b: Category
    bonus: BonusCategory


def showdown(cards: tuple[Card, ...]) -> Showdown:
    """The result of six cards in the order they were dealt (T8). Equal in the ranking is a tie (T20, D1)."""
    hand_a, hand_b = cards[0::2], cards[1::2]
    a, b = rank(hand_a), rank(hand_b)
    winner = Winner.PLAYER_A if a > b else Winner.PLAYER_B if b > a else Winner.TIE
    return Showdown(hand_a, hand_b, winner, a.category, b.category, bonus(cards))


def paid(
    table: PayTable, spot: Spot, winner: Winner, category_a: Category, category_b: Category, best_five: BonusCategory
) -> Odds | None:
    """The odds at which a spot is paid; None if it loses."""
    match spot:
        case Spot.PLAYER_A | Spot.PLAYER_B if winner is Winner.TIE:
            return PUSH
        case Spot.PLAYER_A:
            return table.player_a if winner is Winner.PLAYER_A else None
        case Spot.PLAYER_B:
            return table.player_b if winner is Winner.PLAYER_B else None
        case Spot.TIE:
            return table.tie if winner is Winner.TIE else None
        case Spot.PAIR_PLUS_A:  # whether the hand wins the round or loses it (T22)
            return table.pair_plus.of(category_a)
        case Spot.PAIR_PLUS_B:
            return table.pair_plus.of(category_b)
        case Spot.SIX_CARD_BONUS:
            return table.six_card_bonus.of(best_five)


class Result(Struct, frozen=True):
    """All that a bet's return depends on: the showdown, and the pay table recorded in its round (S20.25)."""

    showdown: Showdown
    pay_table: PayTable


def returns(outcome: Outcome, bets: tuple[Bet, ...]) -> tuple[Payout, ...]:
    """What each wager gets back: stake and winnings, the stake alone, or nothing. Never rounded (D4)."""
    return tuple(_payout(outcome, bet.id, wager) for bet in bets for wager in bet.wagers)


def _payout(outcome: Outcome, bet: str, wager: Wager) -> Payout:
    odds = PUSH if isinstance(outcome, Cancelled) else odds_of(outcome.result, Spot(wager.spot))
    if odds is None:
        return Payout(bet, wager.spot, wager.amount, "lost", 0)
    said = "push" if odds == PUSH else str(odds)
    return Payout(bet, wager.spot, wager.amount, said, wager.amount + odds.winnings(wager.amount))


def odds_of(result: Result, spot: Spot) -> Odds | None:
    """The odds at which the round pays a spot; None if it loses."""
    shown = result.showdown
    return paid(result.pay_table, spot, shown.winner, shown.category_a, shown.category_b, shown.bonus)


class SpotReturn(Struct, frozen=True):
    """What a bet gives back in the long run: of all 407,170,400 deals counted once, never simulated."""

    spot: Spot
    rtp_exact: str
    """Returned for each unit staked, as a fraction in lowest terms."""
    rtp_percent: str
    hit_percent: str
    """How often the bet wins (a push is no win)."""


@lru_cache(maxsize=64)
def returns_of(table: PayTable) -> tuple[SpotReturn, ...]:
    return tuple(_spot_return(table, spot) for spot in Spot)


def _spot_return(table: PayTable, spot: Spot) -> SpotReturn:
    deals = hits = 0
    returned = Fraction(0)
    for row in JOINT:
        deals += row.count
        odds = paid(table, spot, Winner(row.winner), row.a, row.b, row.bonus)
        if odds is not None:
            returned += row.count * (1 + Fraction(odds.numerator, odds.denominator))
            hits += row.count if odds != PUSH else 0
    rtp = returned / deals
    return SpotReturn(spot, f"{rtp.numerator}/{rtp.denominator}", percent(rtp), percent(Fraction(hits, deals)))


def percent(part: Fraction) -> str:
    """To six decimals, half to even: the one place where a figure is rounded, and it is no money."""
    whole, decimals = divmod(round(part * 10**8), 10**6)
    return f"{whole}.{decimals:06}"


@lru_cache(maxsize=64)
def most_won(table: PayTable, spot_max: Amount, round_max: Amount) -> Amount:
    """The most that one player can win in a round within these limits: the dearest of all deals, bet on perfectly."""
    return max(_most_won(_odds_paid(table, row.winner, row.a, row.b, row.bonus), spot_max, round_max) for row in JOINT)


def _odds_paid(table: PayTable, winner: str, a: Category, b: Category, best_five: BonusCategory) -> list[Fraction]:
    """The odds that a deal pays, best first."""
    odds = (paid(table, spot, Winner(winner), a, b, best_five) for spot in Spot)
    return sorted((Fraction(o.numerator, o.denominator) for o in odds if o is not None), reverse=True)


def _most_won(odds: list[Fraction], spot_max: Amount, round_max: Amount) -> Amount:
    won, left = Fraction(0), round_max
    for each in odds:
        stake = min(spot_max, left)
        won, left = won + stake * each, left - stake
    return int(won)

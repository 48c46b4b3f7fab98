"""`croupier calc`: the pure rules applied to JSON lines, for whoever checks our rulings against their own.

Field names are those of the files in tests/data; other fields are passed over. A card may be written "As" or "AS".
"""

from collections.abc import Callable
from itertools import chain
from typing import IO, Annotated, TypeVar

import click
import msgspec
from msgspec import Meta, Struct

from domain.cards import show
from domain.game import Resulted
from domain.games import teen_patti_2020
from domain.hands import five_card, three_card
from domain.money import AMOUNT_MAX, Bet, Wager
from ops import calc_bets, calc_gin
from ops.calc_cards import cards

Q = TypeVar("Q")
Hand = tuple[str, str, str]
Amount = Annotated[int, Meta(ge=1, le=AMOUNT_MAX)]

RANKS = 741
"""The files count the ranks of three cards from the best, 1, to the worst, 741."""


class Pair(Struct):
    a: Hand
    b: Hand


class PairRuling(Struct):
    winner: str
    category_a: three_card.Category
    category_b: three_card.Category
    class_a: int
    class_b: int


class Deal(Struct):
    player_a: Hand
    player_b: Hand


class DealRuling(Struct):
    category: five_card.BonusCategory


class Round(Struct):
    player_a: Hand
    player_b: Hand
    stakes: dict[teen_patti_2020.Spot, Amount]


class RoundRuling(Struct):
    winner: teen_patti_2020.Winner
    category_a: three_card.Category
    category_b: three_card.Category
    bonus: five_card.BonusCategory
    returned: dict[str, int]


@click.group()
def command() -> None:
    """Apply the pure rules to JSON lines from FILE (or stdin): for each line in, a line out. A card is its
    rank, 23456789TJQKA, and its suit, shdc.

    \b
    echo '{"a": ["As","2h","3d"], "b": ["Ks","Qh","Jd"]}' | croupier calc three-card
    """


lines_in = click.argument("file", type=click.File("rb"), default="-")


@command.command("three-card")
@lines_in
def three_card_command(file: IO[bytes]) -> None:
    """Which of two hands wins. In: a, b. Out: winner, category_a, category_b, class_a, class_b (1 the best of 741)."""
    answer_lines(file, Pair, compared)


@command.command("six-card")
@lines_in
def six_card_command(file: IO[bytes]) -> None:
    """The 6 Card Bonus of a deal. In: player_a, player_b. Out: category."""
    answer_lines(file, Deal, best_five)


@command.command("teen-patti-20-20")
@lines_in
def teen_patti_2020_command(file: IO[bytes]) -> None:
    """What a round returns. In: player_a, player_b, stakes (by spot, in minor units).
    Spots: player_a, player_b, tie, pair_plus_a, pair_plus_b, six_card_bonus.
    Out: winner, category_a, category_b, bonus, returned (by spot, the stake included)."""
    answer_lines(file, Round, settled)


@command.command("three-patti-bets")
@lines_in
def three_patti_bets_command(file: IO[bytes]) -> None:
    """The bets of a 3 Patti hand. In: players, boot, dealer, events (seat, do: bet|see|fold, amount).
    `players` is how many; seats and `dealer` count from 0.
    Out: first_to_act, pot_after_boot, events (with min, max, stake, stake_after, pot_after), end."""
    answer_lines(file, calc_bets.Hand, calc_bets.ruled)


@command.command("gin-deadwood")
@lines_in
def gin_deadwood_command(file: IO[bytes]) -> None:
    """The least deadwood of ten cards of Gin Rummy. In: hand.
    Out: deadwood, optimal_partitions (in how many ways the hand can be laid out so)."""
    answer_lines(file, calc_gin.Hand, calc_gin.hand_ruled)


@command.command("gin-discard")
@lines_in
def gin_discard_command(file: IO[bytes]) -> None:
    """What each discard of eleven cards leaves. In: hand, taken_from_discard_pile (a card, or null).
    Out: best_deadwood, best_discards, deadwood_after (by discard), knockable_discards (10 or less), gin_discards,
    best_deadwood_not_discarding_taken, best_discards_not_taken."""
    answer_lines(file, calc_gin.Drawn, calc_gin.drawn_ruled)


@command.command("gin-knock")
@lines_in
def gin_knock_command(file: IO[bytes]) -> None:
    """A knock, answered as well as can be. In: knocker_melds, knocker_hand, opponent_hand (ten cards each).
    Out: knocker_deadwood, opponent_deadwood_no_layoff, opponent_deadwood, result (knock|gin|undercut), winner
    (knocker|opponent), points, points_gin20 (were a gin worth 20)."""
    answer_lines(file, calc_gin.Knock, calc_gin.knock_ruled)


def answer_lines(file: IO[bytes], question: type[Q], answer: Callable[[Q], Struct]) -> None:
    decoder = msgspec.json.Decoder(question)
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            click.echo(msgspec.json.encode(answer(decoder.decode(line))))
        except (ValueError, msgspec.DecodeError) as problem:
            raise click.ClickException(f"line {number}: {problem}") from problem


def compared(pair: Pair) -> PairRuling:
    hands = cards(pair.a), cards(pair.b)
    if twice := set(hands[0]) & set(hands[1]):
        raise ValueError(f"{show(sorted(twice))} cannot be in both hands")
    a, b = map(three_card.rank, hands)
    winner = "A" if a > b else "B" if b > a else "tie"
    return PairRuling(winner, a.category, b.category, RANKS + 1 - a.strength, RANKS + 1 - b.strength)


def best_five(deal: Deal) -> DealRuling:
    return DealRuling(five_card.bonus(cards(deal.player_a + deal.player_b)))


def settled(deal: Round) -> RoundRuling:
    as_dealt = chain.from_iterable(zip(deal.player_a, deal.player_b, strict=True))
    shown = teen_patti_2020.showdown(cards(as_dealt))
    bet = Bet("", "", tuple(Wager(spot, amount) for spot, amount in deal.stakes.items()))
    payouts = teen_patti_2020.GAME.returns(
        Resulted("", teen_patti_2020.Result(shown, teen_patti_2020.PayTable())), (bet,)
    )
    returned = {payout.spot: payout.returned for payout in payouts}
    return RoundRuling(shown.winner, shown.category_a, shown.category_b, shown.bonus, returned)

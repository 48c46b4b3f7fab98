"""Rounds and all that can be explained of them, for tests: of written rounds, and of stories in memory."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from domain.decider import Recorded
from domain.game import Cancelled, Game, PaidOut
from domain.money import Bet, Payout
from domain.names import TABLE, WALLET
from domain.wallet.events import BetCancelled, BetsSettled, BetStaked, Refunded
from services import written_rounds

ROUNDS = Path(__file__).parents[1] / "rounds"


class Told(Struct):
    """A round's table events, and who got what at its end."""

    game: Game[Any, Any, Any]
    story: list[Any]
    payouts: list[tuple[str, Payout]]

    def round(self) -> tuple[str, ...]:
        return self.game.explains_round(self.story)

    def paid(self) -> list[str]:
        return [self.game.explains_payout(self.story, player, payout) for player, payout in self.payouts]

    def text(self) -> str:
        return "\n".join((*self.round(), *self.paid()))


def written(name: str) -> dict[str, Told]:
    """The rounds of a written round, by id."""
    lines = [line for line in (ROUNDS / f"{name}.round").read_text().splitlines() if not line.startswith(" ")]
    play = written_rounds._Play(lines[0])
    for line in lines:
        list(play.line(line))
    assert play.game is not None
    return rounds(play.game, play.memory.log)


def every_written_round() -> Iterator[Told]:
    for file in sorted(ROUNDS.rglob("*.round")):
        yield from written(f"{file.parent.name}/{file.stem}").values()


def rounds(game: Game[Any, Any, Any], log: list[Recorded]) -> dict[str, Told]:
    told: dict[str, Told] = {}
    bets: dict[str, list[Bet]] = {}
    for each in log:
        if each.round is None:
            continue
        if isinstance(each.event, game.opening):
            told.setdefault(each.round, Told(game, [], []))
        if each.round in told:
            told[each.round].payouts += _paid(game, each, told[each.round], bets)
            if each.stream.startswith(TABLE):
                told[each.round].story.append(each.event)
    return told


def _paid(game: Game[Any, Any, Any], each: Recorded, told: Told, bets: dict[str, list[Bet]]) -> list[Any]:
    player = each.stream.removeprefix(WALLET)
    match each.event:
        case BetStaked(bet=bet):
            bets.setdefault(player, []).append(bet)
        case BetCancelled(bet=bet):
            bets[player] = [one for one in bets[player] if one.id != bet]
        case BetsSettled(payouts=payouts):
            bets.pop(player)
            return [(player, payout) for payout in payouts]
        case Refunded(round=round_id, reason=reason):
            return [(player, each) for each in game.returns(Cancelled(round_id, reason), tuple(bets.pop(player)))]
        case event if isinstance(event, game.events):
            return [(one.player, one.payout) for one in game.chips(event) if isinstance(one, PaidOut)]
        case _:
            pass
    return []


# --- Reading what was told --------------------------------------------------------------------------------------------


def last_number(sentence: str) -> int:
    """What came back, by the sentence's own last words: minor units, and the same with its decimals."""
    found = re.search(r"returned: (?:[\d,+ ]+ = )?([\d,]+) \(([\d,.]+) [A-Z]{3}\)\.$", sentence)
    assert found, sentence
    units, decimals = (int(re.sub(r"\D", "", each)) for each in found.groups())
    assert units == decimals
    return units


def sums(text: str) -> list[tuple[str, bool]]:
    """Every sum in a text, and whether it is right."""
    found = re.findall(r"((?:[\d,/]+ [+x-] )+[\d,/]+) = ([\d,]+)", text)
    return [(f"{left} = {right}", _worth(left) == int(right.replace(",", ""))) for left, right in found]


def _worth(left: str) -> int:
    first, *rest = left.replace(",", "").split()
    total = int(first)
    for sign, number in zip(rest[::2], rest[1::2], strict=True):
        numerator, _, denominator = number.partition("/")
        match sign:
            case "+":
                total += int(numerator)
            case "-":
                total -= int(numerator)
            case _:
                total, left_over = divmod(total * int(numerator), int(denominator or 1))
                assert not left_over
    return total


def cards_in(text: str) -> set[str]:
    """The cards that a text names, as events write them."""
    suits = dict(zip("♠♥♦♣", "shdc", strict=True))
    return {rank.replace("10", "T") + suits[suit] for rank, suit in re.findall(r"(10|[2-9AJQK])([♠♥♦♣])", text)}

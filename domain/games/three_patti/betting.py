"""What whoever's turn it is may do, and at what price (P9-P25, D5-D10).

Each question is answered or refused here, once: `decide` acts on the answer, and views list what is not refused.
"""

from msgspec import Struct

from domain.errors import Rejected
from domain.games.three_patti.events import Payment
from domain.games.three_patti.rules import Config, Rule, ShowPaidBy, SideShowWhen
from domain.games.three_patti.state import InHand, Round, Table
from domain.money import Amount


class Range(Struct, frozen=True):
    """The amounts min, min + step, ... max."""

    min: Amount
    max: Amount
    step: Amount

    def check(self, amount: Amount) -> None:
        if amount < self.min:
            raise Rejected(Rule.BelowMinimum, minimum=self.min, amount=amount)
        if amount > self.max:
            raise Rejected(Rule.AboveMaximum, maximum=self.max, amount=amount)
        if amount % self.step:
            raise Rejected(Rule.OffChipUnit, multiple_of=self.step, amount=amount)


def price(player: InHand, stake: Amount) -> Amount:
    """The least bet, and the price of a show or sideshow: the stake if blind, twice the stake if seen."""
    return 2 * stake if player.seen else stake


def bets(config: Config, on: Round, me: InHand, stack: Amount) -> Range:
    """From the least bet to twice as much, by what is behind it (P9, P10) and under the highest stake (D10)."""
    least = price(me, on.stake)
    _covered(least, stack)
    units = 2 if me.seen else 1
    step = units * config.chip
    most = min(2 * least, units * config.highest_stake, stack)
    return Range(least, most // step * step, step)


def stake_after(me: InHand, amount: Amount) -> Amount:
    """What a blind player put in, or half of what a seen one did (D6)."""
    return amount // 2 if me.seen else amount


def show(table: Table, on: Round, me: InHand) -> tuple[Payment, ...]:
    """What a show would take, from whoever asks and from the other."""
    other = _opponent(on, me)
    if me.seen and not other.seen:
        raise Rejected(Rule.OpponentIsBlind, seat=other.seat)  # P19
    asked = price(me, on.stake)
    _covered(asked, table.stack(me.seat))
    return Payment(me.seat, asked), Payment(other.seat, forced(table.config, on, other, table.stack(other.seat)))


def forced(config: Config, on: Round, asked: InHand, stack: Amount) -> Amount:
    """What the player who is asked for a show pays: all that is left, if that is less (D9)."""
    return 0 if config.show_paid_by is ShowPaidBy.REQUESTER else min(price(asked, on.stake), stack)


def short_show(table: Table, on: Round, me: InHand) -> Payment:
    """All that a player puts in who cannot cover the least bet, against whomever (D9)."""
    _opponent(on, me)
    stack, least = table.stack(me.seat), price(me, on.stake)
    if stack >= least:
        raise Rejected(Rule.ChipsSuffice, needed=least, stack=stack)
    return Payment(me.seat, stack)


def side_show(table: Table, on: Round, me: InHand) -> tuple[int, Amount]:
    """Whom a sideshow would ask, and what it costs (P23-P25, D8)."""
    if len(on.active) < 3:
        raise Rejected(Rule.SideShowNeedsThree, active=len(on.active))
    if not me.seen:
        raise Rejected(Rule.SeeFirst, seat=me.seat)
    if not me.bet:
        raise Rejected(Rule.FirstCircuit)
    target = on.before(me.seat)
    blind = [each.seat for each in on.active if not each.seen]
    if target in blind:
        raise Rejected(Rule.TargetIsBlind, seat=target)
    if blind and table.config.sideshow_when is SideShowWhen.ALL_SEEN:
        raise Rejected(Rule.SomebodyIsBlind, seats=tuple(blind))
    cost = price(me, on.stake)
    _covered(cost, table.stack(me.seat))
    return target, cost


def _opponent(on: Round, me: InHand) -> InHand:
    if len(on.active) > 2:
        raise Rejected(Rule.ShowNeedsTwo, active=len(on.active))
    return next(each for each in on.active if each.seat != me.seat)


def _covered(needed: Amount, stack: Amount) -> None:
    if stack < needed:
        raise Rejected(Rule.NotEnoughChips, needed=needed, stack=stack)

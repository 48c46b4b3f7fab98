"""The bets of a 3 Patti hand, worked out by the game itself: what `croupier calc three-patti-bets` answers.

Seats are numbered from 0 in play order, as in the published file; stacks, the highest stake and the pot have no limit.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from domain.errors import Rejected
from domain.game import Context, Role, Sealed, SealedSeed, Viewer, fold
from domain.games.three_patti import GAME

Amount = Annotated[int, Meta(ge=1, le=10**12)]
ENDLESS = 2**52
TABLE = "calc"


class Move(Struct):
    seat: Annotated[int, Meta(ge=0, le=5)]
    do: Literal["bet", "see", "fold"]
    amount: Amount | None = None
    rejected_amounts: tuple[int, ...] | UnsetType = UNSET
    """Amounts to try before the bet; those that are refused are named in the answer."""


class Hand(Struct):
    players: Annotated[int, Meta(ge=3, le=6)]
    boot: Amount
    dealer: int
    events: tuple[Move, ...] = ()


class MoveRuling(Struct, omit_defaults=True):
    seat: int
    do: str
    seen: bool | UnsetType = UNSET
    amount: int | UnsetType = UNSET
    min: int | UnsetType = UNSET
    max: int | UnsetType = UNSET
    stake: int | UnsetType = UNSET
    stake_after: int | UnsetType = UNSET
    pot: int | UnsetType = UNSET
    pot_after: int | UnsetType = UNSET
    rejected_amounts: tuple[int, ...] | UnsetType = UNSET


class Price(Struct):
    requester_pays: int
    opponent_pays: int
    pot_after: int


class Show(Struct):
    """What a show would cost the seat to act, in both readings (D5)."""

    requester: int
    requester_seen: bool
    opponent_seen: bool
    allowed: bool
    literal_seed: Price | None
    customary: Price | None


class SideShow(Struct):
    requester: int
    target: int
    allowed: bool
    cost: int


class End(Struct, omit_defaults=True):
    active: tuple[int, ...]
    stake: int
    pot: int
    winner: int | UnsetType = UNSET
    to_act: int | UnsetType = UNSET
    show: Show | UnsetType = UNSET
    sideshow: SideShow | UnsetType = UNSET


class HandRuling(Struct):
    first_to_act: int
    pot_after_boot: int
    events: tuple[MoveRuling, ...]
    end: End


def ruled(hand: Hand) -> HandRuling:
    if not 0 <= hand.dealer < hand.players:
        raise ValueError(f"the dealer is a seat from 0 to {hand.players - 1}, not {hand.dealer}")
    play = _Play(hand)
    first, pot = play.to_act, play.view.pot
    return HandRuling(first, pot, tuple(play.move(each) for each in hand.events), play.end())


class _Play:
    """The hand, opened by an event of the game and played by its own `decide`."""

    def __init__(self, hand: Hand) -> None:
        self.state: Any = GAME.evolve(GAME.initial, _opening(hand, "both"))
        self.alike: Any = GAME.evolve(GAME.initial, _opening(hand, "requester"))
        """The same hand at a table where only who asks for a show pays."""
        self.last = self.view

    @property
    def view(self) -> Any:
        return self._view(self.state)

    @property
    def to_act(self) -> int:
        return self.view.turn - 1

    def move(self, move: Move) -> MoveRuling:
        view = self.last = self.view
        if view.turn is None:
            raise ValueError("the hand is over")
        if move.do == "see":
            self._do(move, {"type": "SeeCards"})
            return MoveRuling(move.seat, "see")
        [least, most] = _range(view)
        if move.do == "fold":
            self._do(move, {"type": "Fold"})
            return MoveRuling(move.seat, "fold", min=least, max=most, stake=view.stake, pot=view.pot)
        refused = UNSET if move.rejected_amounts is UNSET else tuple(filter(self._refuses, move.rejected_amounts))
        seen = view.seats[move.seat].status == "seen"
        self._do(move, {"type": "Bet", "amount": move.amount})
        after = self.view
        return MoveRuling(
            move.seat, "bet", seen=seen, amount=move.amount or 0, min=least, max=most, stake=view.stake,
            stake_after=after.stake, pot_after=after.pot, rejected_amounts=refused,
        )  # fmt: skip

    def end(self) -> End:
        view = self.view
        if view.last is not None:
            winner = next(each for each in view.last.results if each.won)
            return End((winner.seat - 1,), self.last.stake, winner.won, winner=winner.seat - 1)
        active = tuple(seat.seat - 1 for seat in view.seats if seat.status != "folded")
        end = End(active, view.stake, view.pot, to_act=self.to_act)
        if len(active) == 2:
            end.show = self._show(view, active)
        else:
            end.sideshow = self._side_show(view, active)
        return end

    def _show(self, view: Any, active: tuple[int, ...]) -> Show:
        requester = self.to_act
        [opponent] = (seat for seat in active if seat != requester)
        literal, customary = (_price(each, "Show") for each in (view, self._view(self.alike)))
        seen = {seat.seat - 1: seat.status == "seen" for seat in view.seats}
        return Show(requester, seen[requester], seen[opponent], literal is not None, literal, customary)

    def _side_show(self, view: Any, active: tuple[int, ...]) -> SideShow:
        requester = self.to_act
        before = [seat for seat in active if seat < requester] or list(active)
        open_now = next((each for each in view.allowed if each.command == "SideShow"), None)
        if open_now is None:
            return SideShow(requester, before[-1], allowed=False, cost=2 * view.stake)
        return SideShow(requester, open_now.target - 1, allowed=True, cost=open_now.pays)

    def _do(self, move: Move, command: dict[str, Any]) -> None:
        asked = msgspec.convert(command, GAME.commands[Role.PLAYER])
        try:
            decisions = [GAME.decide(state, asked, _context(move.seat)) for state in (self.state, self.alike)]
        except Rejected as refused:
            raise ValueError(f"seat {move.seat} cannot {move.do}: {refused}") from None
        self.state, self.alike = (
            fold(GAME.evolve, state, decision.events)
            for state, decision in zip((self.state, self.alike), decisions, strict=True)
        )

    def _refuses(self, amount: int) -> bool:
        if amount < 1:
            return True  # no message at all
        bet = msgspec.convert({"type": "Bet", "amount": amount}, GAME.commands[Role.PLAYER])
        try:
            GAME.decide(self.state, bet, _context(self.to_act))
        except Rejected:
            return True
        return False

    def _view(self, state: Any) -> Any:
        """Of whoever's turn it is."""
        turn = GAME.view(state, Viewer("", Role.PLAYER), (), _any_deck).turn
        return GAME.view(state, Viewer(_name(turn - 1) if turn else "", Role.PLAYER), (), _any_deck)


def _range(view: Any) -> tuple[int, int]:
    bet = next((each for each in view.allowed if each.command == "Bet"), None)
    if bet is None:
        raise ValueError("stakes beyond all measure")
    return bet.min, bet.max


def _price(view: Any, command: str) -> Price | None:
    show = next((each for each in view.allowed if each.command == command), None)
    if show is None:
        return None
    return Price(show.pays, show.other_pays or 0, view.pot + show.pays + (show.other_pays or 0))


def _name(seat: int) -> str:
    return f"player-{seat}"


def _context(seat: int) -> Context:
    return Context(TABLE, TABLE, 0, _name(seat), Role.PLAYER)


def _any_deck(_round: str, _sealed: Sealed) -> bytes:
    return bytes(32)  # bets do not depend on cards


def _opening(hand: Hand, show_paid_by: str) -> Any:
    seats = [*range(hand.dealer + 1, hand.players), *range(hand.dealer + 1)]
    n = hand.players
    config = {"currency": "INR", "boot": hand.boot, "chip": 1, "max_stake": ENDLESS, "pot_limit": 0}
    dealt = [
        {"seat": seat + 1, "player": _name(seat), "cards": (at, at + n, at + 2 * n)} for at, seat in enumerate(seats)
    ]
    told = {
        "type": "three_patti.RoundOpened",
        "round": TABLE + ".1",
        "number": 1,
        "rules": 1,
        "config": {**config, "show_paid_by": show_paid_by},
        "operator": TABLE,
        "seed": SealedSeed("", "", ""),
        "root": "",
        "client_seeds": (),
        "dealer": {"seat": hand.dealer + 1, "player": _name(hand.dealer)},
        "dealt": dealt,
        "seats": [{"number": seat + 1, "player": _name(seat), "stack": ENDLESS} for seat in range(n)],
        "left": (),
        "due": 0,
        "epoch": 0,
    }
    opening: Any = GAME.opening
    return msgspec.convert(told, opening)

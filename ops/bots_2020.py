"""Bots at tables of 20-20: players of several tempers who bet, and a studio that deals at live tables."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any

from domain.cards import DECK, Card
from domain.game import Role
from domain.hands import three_card
from ops.bots_house import Bot, Pace, beside, chance, for_ever
from ops.client import Client, Problem, View, new_key

BETS_A_SECOND = 4
CARD_S = 0.7
SLOTS = ("A1", "B1", "A2", "B2", "A3", "B3")

Stakes = dict[str, int]


class Memory:
    """What a player remembers of the rounds before."""

    def __init__(self) -> None:
        self.winners: list[str] = []
        self.lost_in_a_row = 0


def steady(_: Memory) -> Stakes:
    return {"player_a": 10_000}


def follower(memory: Memory) -> Stakes:
    """Believes in luck that lasts."""
    last = memory.winners[-1] if memory.winners else "player_b"
    return {last if last != "tie" else "player_b": chance.choice((5_000, 10_000, 20_000))}


def doubler(memory: Memory) -> Stakes:
    """Doubles after each loss, until the money says no."""
    return {"player_b": 2_000 * 2 ** min(memory.lost_in_a_row, 6)}


def dreamer(_: Memory) -> Stakes:
    return {"tie": 1_000, "six_card_bonus": 2_000}


def collector(_: Memory) -> Stakes:
    return {"player_a": 5_000, "pair_plus_a": 2_000, "pair_plus_b": 2_000}


def everywhere(_: Memory) -> Stakes:
    spots = ("player_a", "player_b", "tie", "pair_plus_a", "pair_plus_b", "six_card_bonus")
    return {spot: 100 * chance.randint(10, 50) for spot in chance.sample(spots, 3)}


TEMPERS: dict[str, Callable[[Memory], Stakes]] = {
    "bot-asha": steady,
    "bot-bilal": follower,
    "bot-chen": doubler,
    "bot-devi": dreamer,
    "bot-emre": collector,
    "bot-farah": everywhere,
}


class Player(Bot):
    def __init__(self, name: str, operator: Client, pace: Pace) -> None:
        super().__init__(name, operator)
        self.memory = Memory()
        self._temper = TEMPERS[name]
        self._pace = pace

    async def bet(self, table: str, round_id: str) -> None:
        """One bet, and now and then second thoughts; a rule that refuses it is part of the game."""
        stakes = self._temper(self.memory)
        await asyncio.sleep(chance.uniform(0.5, 4))
        try:
            placed = await self._send(table, "PlaceBet", round=round_id, wagers=_wagers(stakes))
            if chance.random() < 0.05:
                await self._send(table, "CancelBet", bet=placed)
        except Problem as problem:
            if problem.code == "InsufficientFunds":
                await self.bring_money()
                self.memory.lost_in_a_row = 0

    def learn(self, winner: str) -> None:
        self.memory.winners = [*self.memory.winners[-9:], winner]
        self.memory.lost_in_a_row = self.memory.lost_in_a_row + 1 if winner == "player_a" else 0

    async def _send(self, table: str, kind: str, **fields: Any) -> str:
        """Returns the key it was sent under."""
        await self._pace.turn()
        key = new_key()
        await self.ask(lambda client: client.at_table(table, kind, key, **fields))
        return key


def _wagers(stakes: Stakes) -> list[dict[str, str | int]]:
    return [{"spot": spot, "amount": amount} for spot, amount in stakes.items()]


async def play(operator: Client, table: str, players: list[Player]) -> None:
    """Bet in every round of a table, and tell how each ended."""
    last = ""
    async with beside() as begin, aclosing(operator.watch(table)) as frames:
        async for frame in frames:
            view = frame.view
            if view.phase == "betting" and view.round and view.round != last:
                last = view.round
                for player in players:
                    begin(player.bet(table, last))
            if frame.event and frame.event["type"].endswith(".RoundSettled"):
                _tell(frame.event, view)
                for player in players:
                    player.learn(view.result["winner"] if view.result else "tie")


def _tell(event: dict[str, Any], view: View) -> None:
    hands = [" ".join(view.cards.get(f"{hand}{place}", "--") for place in "123") for hand in "AB"]
    winner = view.result["winner"].replace("_", " ") if view.result else "?"
    money = f"{event['bettors']} bettors staked {event['staked'] / 100:,.2f}, got {event['returned'] / 100:,.2f}"
    print(f"{event['round']:<12} A {hands[0]}   B {hands[1]}   {winner:<9} {money}", flush=True)


async def deal(studio: Client, table: str) -> None:
    """The studio's device: sends each card as it is drawn, then who won. It goes by the table, not by what it did."""
    async with aclosing(studio.watch(table)) as frames:
        async for frame in frames:
            if frame.view.phase in ("dealing", "confirming"):
                await deal_round(studio, table)


async def deal_round(studio: Client, table: str, pause: float = CARD_S) -> View:
    """Every card that is missing, then the confirmation."""
    view = await studio.table(table)
    while view.phase == "dealing" and view.round:
        await asyncio.sleep(pause)
        card = chance.choice([card for card in DECK if card not in view.cards.values()])
        view = await _now(studio, table, "DealCard", round=view.round, slot=SLOTS[len(view.cards)], card=card)
    if view.phase == "confirming" and view.round:
        await asyncio.sleep(pause)
        view = await _now(studio, table, "ConfirmResult", round=view.round, winner=winner_of(view))
    return view


async def _now(studio: Client, table: str, kind: str, **fields: Any) -> View:
    answer = await studio.at_table(table, kind, **fields)
    assert answer.view is not None
    return answer.view


def winner_of(view: View) -> str:
    a, b = (three_card.rank(tuple(Card(view.cards[f"{hand}{place}"]) for place in "123")) for hand in "AB")
    return "player_a" if a > b else "player_b" if b > a else "tie"


async def live(callers: Mapping[Role, Client], tables: Mapping[str, Mapping[str, Any]]) -> None:
    operator, studio = callers[Role.OPERATOR], callers[Role.STUDIO]
    pace = Pace(BETS_A_SECOND)
    players = [Player(name, operator, pace) for name in TEMPERS]
    for player in players:
        await player.arrive()
    async with asyncio.TaskGroup() as group:
        for table, config in tables.items():
            group.create_task(for_ever(lambda table=table: play(operator, table, players)))
            if config["kind"] == "live":
                group.create_task(for_ever(lambda table=table: deal(studio, table)))

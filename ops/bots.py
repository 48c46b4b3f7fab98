"""The life in `croupier up`: players of several tempers who bet, and a studio that deals at live tables.

Run as `python -m ops.bots URL KEYS_FOLDER`. They are ordinary callers of the API. House bots give no client seeds:
those are for players who do not trust the house.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from pathlib import Path
from secrets import SystemRandom
from typing import Any

import httpx

from domain.cards import DECK, Card
from domain.game import Role
from domain.hands import three_card
from ops import demo_house
from ops.client import Client, Problem, View, new_key

CURRENCY = "INR"
TOP_UP = 500_000
BETS_A_SECOND = 4
CARD_S = 0.7
SLOTS = ("A1", "B1", "A2", "B2", "A3", "B3")
LOST = (httpx.HTTPError, OSError)

chance = SystemRandom()

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


class Pace:
    """So many commands a second and no more, whoever sends them."""

    def __init__(self, a_second: int) -> None:
        self._interval = 1 / a_second
        self._next = 0.0

    async def turn(self) -> None:
        now = asyncio.get_running_loop().time()
        self._next = max(now, self._next + self._interval)
        await asyncio.sleep(self._next - now)


class Player:
    def __init__(self, name: str, operator: Client, pace: Pace) -> None:
        self.name = name
        self.memory = Memory()
        self._temper = TEMPERS[name]
        self._operator = operator
        self._pace = pace
        self._client: Client | None = None

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
                await self._operator.deposit(self.name, TOP_UP, CURRENCY, "top-up")
                self.memory.lost_in_a_row = 0

    def learn(self, winner: str) -> None:
        self.memory.winners = [*self.memory.winners[-9:], winner]
        self.memory.lost_in_a_row = self.memory.lost_in_a_row + 1 if winner == "player_a" else 0

    async def _send(self, table: str, kind: str, **fields: Any) -> str:
        """Returns the key it was sent under. A token that has expired is replaced."""
        for last in (False, True):
            if self._client is None:
                self._client = self._operator.acting_as((await self._operator.session(self.name)).token)
            await self._pace.turn()
            try:
                key = new_key()
                await self._client.at_table(table, kind, key, **fields)
                return key
            except Problem as problem:
                if problem.status != 401 or last:
                    raise
                self._client = None
        raise AssertionError


def _wagers(stakes: Stakes) -> list[dict[str, str | int]]:
    return [{"spot": spot, "amount": amount} for spot, amount in stakes.items()]


async def play(operator: Client, table: str, players: list[Player]) -> None:
    """Bet in every round of a table, and tell how each ended."""
    bets = set[asyncio.Task[None]]()
    last = ""
    async with aclosing(operator.watch(table)) as frames:
        async for frame in frames:
            view = frame.view
            if view.phase == "betting" and view.round and view.round != last:
                last = view.round
                bets |= {asyncio.create_task(_quietly(player.bet(table, last))) for player in players}
                bets = {task for task in bets if not task.done()}
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


async def _quietly(work: Coroutine[Any, Any, Any]) -> None:
    with suppress(Problem, *LOST):
        await work


async def _for_ever(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Begin again whenever the service was away or refused something."""
    while True:
        await _quietly(work())
        await asyncio.sleep(1)


async def live(url: str, keys: demo_house.Keys) -> None:
    limits = httpx.Limits(max_connections=50)
    async with Client(
        url, keys[Role.OPERATOR], httpx.AsyncClient(timeout=30, trust_env=False, limits=limits)
    ) as operator:
        pace = Pace(BETS_A_SECOND)
        players = [Player(name, operator, pace) for name in TEMPERS]
        for player in players:
            opened = await operator.open_player(player.name, CURRENCY)
            if opened.balance and opened.balance.cash < TOP_UP // 10:
                await operator.deposit(player.name, TOP_UP, CURRENCY, "top-up")
        studio = operator.acting_as(keys[Role.STUDIO])
        async with asyncio.TaskGroup() as group:
            for table, config in demo_house.TABLES.items():
                group.create_task(_for_ever(lambda table=table: play(operator, table, players)))
                if config["kind"] == "live":
                    group.create_task(_for_ever(lambda table=table: deal(studio, table)))


async def _until_told(url: str, keys: demo_house.Keys) -> None:
    task = asyncio.create_task(live(url, keys))
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


if __name__ == "__main__":
    asyncio.run(_until_told(sys.argv[1], demo_house.kept(Path(sys.argv[2]))))

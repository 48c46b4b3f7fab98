"""Three executors race for one log while answers get lost and sessions end: whatever they answer is what the commands
come to in some order, one after the other, and each between the moments it was sent and answered."""

import asyncio
import itertools
import random
from typing import Any

import msgspec
import pytest

from domain.decider import Fence
from domain.wallet import commands
from infra import eventlog
from infra.vault import Vault
from services import executor as executor_module
from services import writer as writer_module
from services.batch import Accepted, Answer, KeyReused, Refused
from services.executor import Executor, Unavailable
from services.writer import Writer
from tests.services.acme import asked, dsn, executor, funded, pool, reconciled

__all__ = ["dsn", "executor", "pool"]

PLAYERS = ("ann", "bob", "cat")
ACTIONS = 96


class Sent(msgspec.Struct, frozen=True):
    """A command and its answer. The log stood at `since` or after it when it was sent, and not after `until` when it
    was answered."""

    player: str
    command: Any
    key: str
    since: int
    until: int
    answer: Answer


class Clients:
    """They send to any executor, often to several at once, and send again until they know."""

    def __init__(self, chance: random.Random, executors: list[Executor], pool: eventlog.Pool) -> None:
        self.sent: list[Sent] = []
        self._chance, self._executors, self._pool = chance, executors, pool
        self._numbers = itertools.count(1)

    async def send(self, player: str, command: Any, key: str = "") -> None:
        while True:
            since = await self._position()
            try:
                submission = asked(player, command, key, text=msgspec.json.encode(command).decode())
                answer = await self._chance.choice(self._executors).submit(submission, repr(command).encode())
            except Unavailable:
                continue
            self.sent.append(Sent(player, command, key, since, await self._position(), answer))
            return

    async def _position(self) -> int:
        tip = await eventlog.tip(self._pool, "acme")
        assert tip is not None
        return tip.position

    async def act(self) -> None:
        chance, key = self._chance, f"k{next(self._numbers)}"
        player, kind = chance.choice(PLAYERS), chance.choice([commands.Deposit, commands.Withdraw, commands.Withdraw])
        command = kind(chance.choice([1, 30, 200]), "EUR")
        match chance.choice(["once", "twice", "two bodies", "fenced", "again", "nothing to do", "nothing to do"]):
            case "once":
                await self.send(player, command, key)
            case "twice":
                await asyncio.gather(*(self.send(player, command, key) for _ in range(3)))
            case "two bodies":
                other = msgspec.structs.replace(command, amount=command.amount + 1)
                await asyncio.gather(self.send(player, command, key), self.send(player, other, key))
            case "fenced":
                await asyncio.gather(self.send(player, command, key), self.send(player, Fence(key)))
                await self.send(player, command, key)
            case "again":
                if keyed := [each for each in self.sent if each.key]:
                    each = chance.choice(keyed)
                    await self.send(each.player, each.command, each.key)
            case _:
                await self.send(player, chance.choice([commands.Block(), commands.Unblock()]))


@pytest.fixture
def trouble(monkeypatch, request):
    """Bounds so tight that each is met; messages that wait; answers that are lost, with the session or without."""
    chance = random.Random(request.node.name)
    monkeypatch.setattr(writer_module, "SINCE_MAX", chance.choice([3, 6, 1_000]))
    monkeypatch.setattr(executor_module, "KEPT_MAX", chance.choice([2, 20_000]))
    monkeypatch.setattr(executor_module, "BATCH_MAX", chance.choice([1, 3, 128]))
    fetch = Writer._fetch

    async def fetched(self, name, *arguments):
        await asyncio.sleep(chance.choice([0, 0, 0.001, 0.004]))
        if chance.random() < 0.01:
            self.connection.terminate()
        rows = await fetch(self, name, *arguments)
        if chance.random() < 0.03:
            if chance.random() < 0.5:
                self.connection.terminate()
            raise TimeoutError("what it did is done, and nobody hears of it")
        return rows

    monkeypatch.setattr(Writer, "_fetch", fetched)
    return chance


@pytest.mark.parametrize("many", [2, 4, 8])
async def test_all_answers_fit_one_order_of_all_commands(executor, dsn, pool, request, many):
    for player in PLAYERS:
        await funded(executor, player, 100)
    chance = request.getfixturevalue("trouble")
    clients = Clients(chance, [executor, *(others := [Executor(dsn, Vault({})) for _ in range(2)])], pool)

    async def client() -> None:
        for _ in range(ACTIONS // many):
            await clients.act()

    await asyncio.gather(*(client() for _ in range(many)))
    for each in others:
        await each.close()
    await reconciled(pool)
    story = Story(await eventlog.after(pool, "acme", 0))
    keyed = [each for each in clients.sent if each.key]
    for key in {each.key for each in keyed}:
        _one_command(story, key, [each for each in keyed if each.key == key], clients.sent)
    for each in clients.sent:
        _was_so(story, each)


class Story:
    """The log, as plain numbers after each position."""

    def __init__(self, rows: list[eventlog.EventRow]) -> None:
        self.given: dict[str, list[eventlog.EventRow]] = {}
        self.known: dict[str, list[tuple[int, bool]]] = {player: [(0, False)] for player in PLAYERS}
        """By player: cash, and whether blocked."""
        for row in rows:
            if row.command is not None:
                self.given.setdefault(row.command, []).append(row)
            for player, known in self.known.items():
                cash, blocked = known[-1]
                if row.stream == f"wallet:{player}":
                    cash = getattr(row.event, "after", cash)
                    blocked = {"wallet.Blocked": True, "wallet.Unblocked": False}.get(row.type, blocked)
                known.append((cash, blocked))

    def between(self, player: str, since: int, until: int) -> list[tuple[int, bool]]:
        return self.known[player][since : until + 1]


def _one_command(story: Story, key: str, sent: list[Sent], all_sent: list[Sent]) -> None:
    """Whatever was sent under a key, it is one command, that acted once or never, and everybody is told the same."""
    told = [each for each in sent if not isinstance(each.answer, KeyReused)]
    assert sum(not each.answer.repeated for each in told) <= 1, "the first of them may have been lost, and told again"
    if any(each.command == Fence(key) and isinstance(each.answer, Accepted) for each in all_sent):
        assert {each.answer.rule for each in told} == {"Fenced"}
        return
    assert len({repr(each.command) for each in told}) == 1
    assert all(each.command != told[0].command for each in sent if isinstance(each.answer, KeyReused))
    assert len({repr(msgspec.structs.astuple(each.answer)[:2]) for each in told}) == 1
    accepted = [each for each in told if isinstance(each.answer, Accepted)]
    assert len(accepted) in (0, len(told))
    [row] = story.given[key]
    assert {each.answer.first for each in accepted} <= {row.position}
    assert (row.type == "refused.CommandRefused") == (not accepted)
    assert not accepted or row.event.amount == told[0].command.amount
    assert any(each.since < row.position <= each.until for each in told)
    assert all(row.position <= each.until for each in told)


def _was_so(story: Story, sent: Sent) -> None:
    """What an answer says, or is silent about, was so at some moment while the caller waited."""
    known = story.between(sent.player, sent.since, sent.until)
    match sent.answer:
        case Refused("InsufficientFunds", facts, repeated=False):
            assert facts["balance"] in {cash for cash, _ in known}
            assert facts["needed"] == sent.command.amount > facts["balance"]
        case Refused("AlreadyDecided", facts):
            assert any(row.position <= sent.until for row in story.given[facts["key"]])
        case Accepted(first=None) if not isinstance(sent.command, Fence):
            assert isinstance(sent.command, commands.Block) in {blocked for _, blocked in known}
        case Accepted(repeated=True, states=states):
            assert states[f"wallet:{sent.player}"].cash in {cash for cash, _ in known}
        case _:
            pass

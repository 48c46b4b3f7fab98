"""Players at real processes, who do at random what their view allows, and remember all they are told.

Everything told carries between which positions of the log it was true: what may stand in it depends on that.
"""

import asyncio
import itertools
import json
import random
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

import httpx

from domain.game import Role, Viewer
from ops.fault_house import House

CASH = 1_000_000


class Ways(NamedTuple):
    """How a game is played by those who do what their view allows."""

    game: str
    players: int
    config: Callable[[random.Random], dict[str, Any]]
    liked: dict[str, float]
    """How often each command is chosen, where it is allowed."""
    command: Callable[[dict[str, Any], dict[str, Any], random.Random], dict[str, Any]]
    """A command that an entry of `allowed` lists, by the view it stands in."""
    wrong: tuple[str, ...]
    """Commands that anybody sends at any time."""
    must: frozenset[str]
    """What is to be done at each table, accepted or refused, for it to be worth looking at."""
    void: str
    """How a supervisor gives everybody the money of what is on back."""


class Text(NamedTuple):
    """Something that somebody could read of a table between two positions; of one round only, if `round` is named."""

    where: str
    content: str
    viewer: Viewer
    table: str = ""
    first: int = 0
    last: int = 0
    round: str = ""


class Eyes:
    """A caller who remembers what it was told."""

    def __init__(self, house: House, viewer: Viewer, bearer: str) -> None:
        self.viewer = viewer
        self.texts: list[Text] = []
        self._house = house
        self._urls = house.ground.urls
        self._bearer = {"authorization": f"Bearer {bearer}"}
        self._http = house.http

    async def read(self, path: str, **about: Any) -> httpx.Response:
        answer = await self._insist("GET", f"v1/{path}", headers=self._bearer)
        await self._keep(f"GET {path}", answer, **about)
        return answer

    async def read_records(self, table: str) -> None:
        """Lists of what happened: each entry may show what its event or its round showed, and nothing else."""
        for each in await self._listed("audit?limit=1000", "entries"):
            entry = each["entry"]
            self._keep_event("audit", each, entry["subject"], entry["position"])
        for each in await self._listed("events?limit=1000", "events"):
            self._keep_event("log", each, each["stream"], each["position"])
        for each in await self._listed(f"rounds?table={table}&limit=1000", "rounds"):
            where = f"list of rounds to {self.viewer.actor}"
            self.texts.append(Text(where, json.dumps(each), self.viewer, round=each["round"]))

    async def _listed(self, path: str, name: str) -> list[Any]:
        """Nothing, if this caller may not read it."""
        answer = await self._insist("GET", f"v1/{path}", headers=self._bearer)
        return answer.json().get(name, [])

    def _keep_event(self, where: str, told: Any, stream: str, at: int) -> None:
        table = stream.partition("table:")[2]
        self.texts.append(Text(f"{where} of {at} to {self.viewer.actor}", json.dumps(told), self.viewer, table, at, at))

    async def send(self, path: str, body: Any, **about: Any) -> httpx.Response:
        headers = self._bearer | {"idempotency-key": secrets.token_hex(8)}
        answer = await self._insist("POST", f"v1/{path}", json=body, headers=headers)
        await self._keep(f"POST {path} {body}", answer, **about)
        return answer

    async def _insist(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Ask, with the same key, until somebody answers."""
        async with asyncio.timeout(30):
            for again in itertools.count():
                url = self._urls[again % len(self._urls)]
                with suppress(httpx.HTTPError):
                    answer = await self._http.request(method, f"{url}/{path}", **request)
                    if answer.status_code not in (500, 502, 503):
                        return answer
                await asyncio.sleep(0.1)
        raise AssertionError

    async def _keep(self, what: str, answer: httpx.Response, **about: Any) -> None:
        """What is told of a table was true by the log's end now: who learns a card later was told too soon."""
        if answer.is_success and "position" in (told := answer.json()) and "table" in about:
            about["first"] = about["last"] = told["position"]
        elif "first" in about:
            about.setdefault("last", (await self._house.tip()).position)
        self.texts.append(Text(f"{what} to {self.viewer.actor}", answer.text, self.viewer, **about))

    async def watch(self, table: str) -> None:
        """Frames of the table, coming again and again, until cancelled."""
        last: int | None = None
        while True:
            async with aclosing(self.frames(table, last)) as frames:
                async for last, content in frames:
                    where = f"frame {last} to {self.viewer.actor}"
                    self.texts.append(Text(where, content, self.viewer, table, last, last))

    async def frames(self, table: str, after: int | None = None) -> AsyncGenerator[tuple[int, str]]:
        """Positions and frames of one stream, until it ends."""
        headers = self._bearer | ({"last-event-id": str(after)} if after else {})
        path = f"{self._urls[0]}/v1/tables/{table}/events"
        at = 0
        async with self._http.stream("GET", path, headers=headers, timeout=30) as stream:
            async for line in stream.aiter_lines():
                name, _, told = line.partition(": ")
                if name == "id":
                    at = int(told)
                elif name == "data":
                    yield at, told


class Company:
    """Some players at one table, and who looks on."""

    def __init__(self, ways: Ways, table: str, players: list[Eyes], watchers: list[Eyes], seed: int) -> None:
        self.ways = ways
        self.table = table
        self.players = players
        self.watchers = watchers
        self.done = Counter[str]()
        """Commands that were accepted, and codes of those that were not."""
        self.hands = set[str]()
        self._position = 0
        self.chance = random.Random(seed)

    async def play(self, hands: int) -> None:
        """So many hands, and some more if one of the game's acts was not done by then."""
        while len(self.hands) <= hands or (self.ways.must - set(self.done) and len(self.hands) <= 4 * hands):
            await self._step()

    async def _step(self) -> None:
        """Whoever's turn it is does something; now and then somebody else does, allowed or not."""
        player = self.chance.choice(self.players)
        view = await self._view(player)
        on_turn = _on_turn(view)
        if view.get("round"):
            self.hands.add(view["round"])
        if on_turn and on_turn != player.viewer.actor and self.chance.random() < 0.8:
            [player] = [each for each in self.players if each.viewer.actor == on_turn]
            view = await self._view(player)
        entries = [entry for entry in view.get("allowed", ()) if "since" not in entry]
        weights = [0.02 if each.get("forfeits") else self.ways.liked[each["command"]] for each in entries]
        [entry] = self.chance.choices([*entries, None], [*weights, 2])
        if entry is None:
            await asyncio.sleep(0.01)
            return
        await self._send(player, self.ways.command(entry, view, self.chance))
        if self.chance.random() < 0.05:
            await self._send(self.chance.choice(self.players), {"type": self.chance.choice(self.ways.wrong)})

    async def _view(self, player: Eyes) -> Any:
        answer = await player.read(f"tables/{self.table}", table=self.table, first=self._position)
        return answer.json()["view"]

    async def _send(self, player: Eyes, body: dict[str, Any]) -> None:
        path = f"tables/{self.table}/commands"
        answer = await player.send(path, body, table=self.table, first=self._position)
        if answer.is_success:
            self._position = answer.json()["position"]
            self.done[body["type"]] += 1
        else:
            self.done[answer.json()["code"]] += 1


def _on_turn(view: dict[str, Any]) -> str | None:
    """Whose turn it is: views name the seat, or the player."""
    turn = view.get("turn")
    names = (seat["player"] for seat in view.get("seats", ()) if turn in (seat.get("seat"), seat["player"]))
    return None if turn is None else next(names, None)


async def gathered(house: House, ways: Ways, number: int, **more: Any) -> Company:
    """A table, its players with cash for it, and who looks on: one more, and staff."""
    table = f"t{number}"
    before = len(house.players)
    await house.open_players(ways.players + 1, cash=CASH)
    bearers = house.bearers()

    def eyes(name: str, role: Role) -> Eyes:
        return Eyes(house, Viewer(name, role), bearers[name])

    *players, onlooker = [eyes(name, Role.PLAYER) for name in house.players[before:]]
    roles = (Role.OPERATOR, Role.SUPERVISOR, Role.STUDIO, Role.AUDITOR)
    made = Company(ways, table, players, [onlooker, *(eyes(role.value, role) for role in roles)], number)
    about = {"table": table, "game": ways.game, "config": ways.config(made.chance) | more}
    told = await house.staff(Role.OPERATOR, "tables", "OpenTable", about)
    assert told.accepted, told
    return made

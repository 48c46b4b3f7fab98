"""Players of 3 Patti at real processes, who do at random what their view allows, and remember all they are told.

Everything told carries between which positions of the log it was true: what may stand in it depends on that.
"""

import asyncio
import itertools
import json
import random
import secrets
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

import httpx

from domain.game import Role, Viewer
from domain.games.three_patti.rules import See, ShowPaidBy, SideShowWhen
from ops.fault_house import House

CASH = 1_000_000
LIKED = {
    "Bet": 8, "SeeCards": 6, "Show": 4, "SideShow": 15, "AnswerSideShow": 10, "ShortShow": 8, "Fold": 2, "SitDown": 8,
    "SitIn": 8, "TopUp": 1, "GiveClientSeed": 1, "SitOut": 0.2, "LeaveTable": 0.3,
}  # fmt: skip


def config(chance: random.Random) -> dict[str, Any]:
    return {
        "currency": "EUR",
        "boot": 100,
        "chip": 10,
        "seats": 5,
        "buy_in_min": 1_000,
        "buy_in_max": 4_000,
        "max_stake": 800,
        "pot_limit": chance.choice([0, 3_000, 8_000]),
        "max_blind_turns": chance.choice([0, 2]),
        "show_paid_by": chance.choice(list(ShowPaidBy)).value,
        "sideshow_when": chance.choice(list(SideShowWhen)).value,
        "see": chance.choice(list(See)).value,
        "pause_seconds": 0,
        "rake_bps": 250,
        "rake_cap": 500,
    }


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

    def __init__(self, urls: list[str], viewer: Viewer, bearer: str, http: httpx.AsyncClient) -> None:
        self.viewer = viewer
        self.texts: list[Text] = []
        self._urls = urls
        self._bearer = {"authorization": f"Bearer {bearer}"}
        self._http = http

    async def read(self, path: str, **about: Any) -> httpx.Response:
        answer = await self._insist("GET", f"v1/{path}", headers=self._bearer)
        self._keep(f"GET {path}", answer, **about)
        return answer

    async def read_audit(self) -> None:
        """Each entry may show what its event showed, and nothing else."""
        answer = await self._insist("GET", "v1/audit?limit=1000", headers=self._bearer)
        for each in answer.json().get("entries", ()):
            entry = each["entry"]
            table, at = entry["subject"].partition("table:")[2], entry["position"]
            where = f"audit of {at} to {self.viewer.actor}"
            self.texts.append(Text(where, json.dumps(each), self.viewer, table, at, at))

    async def send(self, path: str, body: Any, **about: Any) -> httpx.Response:
        headers = self._bearer | {"idempotency-key": secrets.token_hex(8)}
        answer = await self._insist("POST", f"v1/{path}", json=body, headers=headers)
        self._keep(f"POST {path} {body}", answer, **about)
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

    def _keep(self, what: str, answer: httpx.Response, **about: Any) -> None:
        if answer.is_success and "position" in (told := answer.json()) and "table" in about:
            about["first"] = about["last"] = told["position"]
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

    def __init__(self, table: str, players: list[Eyes], watchers: list[Eyes], seed: int) -> None:
        self.table = table
        self.players = players
        self.watchers = watchers
        self.done = Counter[str]()
        """Commands that were accepted, and codes of those that were not."""
        self.hands = set[str]()
        self._position = 0
        self.chance = random.Random(seed)

    async def play(self, hands: int) -> None:
        while len(self.hands) <= hands:
            await self._step()

    async def _step(self) -> None:
        """Whoever's turn it is does something; now and then somebody else does, allowed or not."""
        player = self.chance.choice(self.players)
        view = await self._view(player)
        on_turn = [seat["player"] for seat in view.get("seats", ()) if seat["seat"] == view.get("turn")]
        if view.get("round"):
            self.hands.add(view["round"])
        if on_turn and on_turn[0] != player.viewer.actor and self.chance.random() < 0.8:
            [player] = [each for each in self.players if each.viewer.actor == on_turn[0]]
            view = await self._view(player)
        entries = [entry for entry in view.get("allowed", ()) if "since" not in entry]
        if not entries or (not on_turn and not self.chance.choice([*entries, None])):
            await asyncio.sleep(0.02)
            return
        [entry] = self.chance.choices(entries, [LIKED[each["command"]] for each in entries])
        await self._send(player, self._command(entry))
        if self.chance.random() < 0.05:
            kind = self.chance.choice(["Show", "SideShow", "SeeCards", "Fold", "ShortShow"])
            await self._send(self.chance.choice(self.players), {"type": kind})

    async def _view(self, player: Eyes) -> Any:
        answer = await player.read(f"tables/{self.table}", table=self.table, first=self._position, last=2**62)
        return answer.json()["view"]

    async def _send(self, player: Eyes, body: dict[str, Any]) -> None:
        path = f"tables/{self.table}/commands"
        answer = await player.send(path, body, table=self.table, first=self._position, last=2**62)
        if answer.is_success:
            self._position = answer.json()["position"]
            self.done[body["type"]] += 1
        else:
            self.done[answer.json()["code"]] += 1

    def _command(self, entry: dict[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {"type": entry["command"]}
        if "min" in entry:
            steps = (entry["max"] - entry["min"]) // entry["step"]
            body["amount"] = entry["min"] + entry["step"] * self.chance.choice([0, 0, self.chance.randint(0, steps)])
        if entry["command"] == "AnswerSideShow":
            body["accept"] = self.chance.random() < 0.7
        if entry["command"] == "GiveClientSeed":
            body["seed"] = "lucky"
        return body


async def gathered(house: House, number: int, **more: Any) -> Company:
    """A table, five players with cash for it, and who looks on: one more, and staff."""
    table = f"t{number}"
    before = len(house.players)
    await house.open_players(6, cash=CASH)
    bearers = house.bearers()

    def eyes(name: str, role: Role) -> Eyes:
        return Eyes(house.ground.urls, Viewer(name, role), bearers[name], house.http)

    *players, onlooker = [eyes(name, Role.PLAYER) for name in house.players[before:]]
    roles = (Role.OPERATOR, Role.SUPERVISOR, Role.STUDIO, Role.AUDITOR)
    made = Company(table, players, [onlooker, *(eyes(role.value, role) for role in roles)], number)
    about = {"table": table, "game": "three_patti", "config": config(made.chance) | more}
    told = await house.staff(Role.OPERATOR, "tables", "OpenTable", about)
    assert told.accepted, told
    return made

"""What was really sent to every kind of viewer of every game, and the same rounds replayed as each of them: the bytes
are the same."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from domain.game import Role
from domain.games import GAMES
from tests.services.conftest import Casino
from tests.services.gin_http import GinTable
from tests.services.patti_http import PattiTable
from tests.services.seats_http import SeatsOverHttp

STAFF = (Role.STUDIO, Role.SUPERVISOR, Role.OPERATOR)


class Watcher:
    """Somebody who watches a table and keeps each frame's text as it came."""

    def __init__(self, casino: Casino, table: str, name: str, bearer: str) -> None:
        self.name = name
        self.frames: dict[int, str] = {}
        self.first: dict[int, str] = {}
        """Frames of no event: the table as it was when the watcher came."""
        self.last = 0
        self._casino, self._path = casino, f"/v1/tables/{table}/events"
        self._headers = {"authorization": f"Bearer {bearer}"}

    async def watch(self) -> None:
        while True:
            headers = self._headers | ({"last-event-id": str(self.last)} if self.last else {})
            async with self._casino.http.stream("GET", self._path, headers=headers) as stream:
                kind = ""
                async for line in stream.aiter_lines():
                    name, _, text = line.partition(": ")
                    if name == "id":
                        self.last = int(text)
                    elif name == "event":
                        kind = text
                    elif name == "data":
                        (self.first if kind == "view" else self.frames)[self.last] = text


class Shown:
    """A table, all who watched it, and the rounds that were played there."""

    def __init__(self, casino: Casino, table: str, watchers: list[Watcher]) -> None:
        self.casino, self.table, self.watchers = casino, table, watchers
        self.rounds: list[str] = []
        self.opened = 0

    async def replayed(self, round_id: str, viewer: str) -> Any:
        """As an auditor reads it, who opens whatever must be opened."""
        path = f"/v1/rounds/{round_id}/replay"
        query = {"as": viewer, "frames": "true"}
        auditor = self.casino.bearer(Role.AUDITOR)
        while True:
            answer = await self.casino.ask("GET", path, auditor, params=query)
            if answer.status_code == 200:
                return answer.json()
            told = answer.json()
            assert told["code"] == "NotOpened", told
            for position in told["facts"]["positions"]:
                await self.casino.done("/v1/openings", {"position": position, "why": "as it was seen"}, auditor)
                self.opened += 1


async def play_2020(casino: Casino, table: str, tokens: dict[str, str]) -> None:
    for number in (1, 2):
        round_id = f"{table}.{number}"
        await casino.until(table, "betting")
        assert (await casino.bet(tokens["a"], round_id, f"one-{number}", player_a=500, tie=100)).status_code == 200
        await casino.bet(tokens["a"], round_id, f"two-{number}", player_b=300)
        path = f"/v1/tables/{table}/commands"
        await casino.done(path, {"type": "CancelBet", "bet": f"two-{number}"}, tokens["a"])
        await casino.bet(tokens["b"], round_id, six_card_bonus=200)
        if number == 1:
            supervisor = casino.bearer(Role.SUPERVISOR)
            await casino.done(path, {"type": "Pause", "reason": "a fly"}, supervisor)
            await casino.done(path, {"type": "Resume"}, supervisor)
        await asyncio.sleep(1.05)
        await casino.until(table, "between")


async def play_patti(patti: PattiTable) -> None:
    await patti.dealt()
    await patti.circuit()
    first = await patti.turn()
    await patti.does(first, "SeeCards")
    await patti.arrive("d")
    await patti.does("d", "SitDown", amount=patti.buy_in)
    await patti.staff("Pause", reason="a fly")
    await patti.staff("Resume")
    await patti.does(first, "Fold")
    await patti.does(await patti.turn(), "Show")
    await patti.dealt()
    for player in "abcd":
        await patti.does(player, "SeeCards")
    await patti.circuit()
    await patti.does(await patti.turn(), "SideShow")
    await patti.does(await patti.turn(), "AnswerSideShow", accept=True)
    while (await patti.view()).get("round"):
        await patti.does(await patti.turn(), "Fold")


async def play_gin(gin: GinTable) -> None:
    """Two matches at least: the second begins where the hand before still lies there."""
    captain, _, out = await gin.dealt()
    await gin.does(captain, "AskAdvice")
    await gin.does(out, "SendAdvice", text="take the jack")
    await gin.takes(captain)
    await gin.knocks(captain)
    for _ in range(12):
        if (await gin.view()).get("last_match"):
            break
        await gin.played()
    for player in "abc":
        await gin.does(player, "SitDown", amount=gin.buy_in)
    await gin.played()


async def shown(casino: Casino, game: str) -> AsyncGenerator[Shown]:
    table = f"frames-{game.split('_', maxsplit=1)[0]}"
    seats: SeatsOverHttp | None = None
    tokens: dict[str, str] = {}
    if game == "teen_patti_2020":
        await casino.table(table, betting_seconds=1)
        tokens = {name: await casino.player(f"{table}-{name}") for name in "ab"}
    else:
        made: Any = PattiTable(casino, table) if game == "three_patti" else GinTable(casino, table)
        seats = made
        await SeatsOverHttp.open(made, **({"target": 10} if game == "gin_rummy" else {}))
        tokens = {name: await made.arrive(name, 100_000) for name in "abc"}
    looking = await casino.player(f"{table}-eve")
    bearers = {f"{table}-{name}": token for name, token in tokens.items()} | {"onlooker": looking}
    bearers |= {role.value: casino.bearer(role) for role in STAFF}
    made_shown = Shown(casino, table, [Watcher(casino, table, name, bearer) for name, bearer in bearers.items()])
    tasks = [asyncio.create_task(each.watch()) for each in made_shown.watchers]
    await asyncio.sleep(0.3)
    if seats is None:
        await play_2020(casino, table, tokens)
    else:
        for player in "abc":
            await seats.does(player, "SitDown", amount=seats.buy_in)
        await (play_patti(seats) if isinstance(seats, PattiTable) else play_gin(seats))  # type: ignore[arg-type]
    await asyncio.sleep(1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    query = "select round from events where operator = 'lotus' and stream = $1 and round is not null group by 1"
    rows = await casino.services.pool.fetch(query, f"table:{table}")
    on = (await casino.get(f"/v1/tables/{table}"))["view"].get("round")
    made_shown.rounds = [row["round"] for row in rows if row["round"] != on]
    yield made_shown


@pytest.fixture(scope="module", params=list(GAMES))
async def scene(request: pytest.FixtureRequest, house_of_module: Casino) -> AsyncGenerator[Shown]:
    async for each in shown(house_of_module, request.param):
        yield each


async def test_every_frame_that_was_sent_is_replayed_byte_for_byte_and_no_other(scene):
    compared = 0
    assert len(scene.rounds) >= 2
    for watcher in scene.watchers:
        assert len(watcher.first) == 1
        [began] = watcher.first
        for round_id in scene.rounds:
            played = await scene.replayed(round_id, watcher.name)
            made = {step["position"]: step["frame"] for step in played["steps"] if step["frame"] is not None}
            first, last = min(made), max(made)
            sent = {at: frame for at, frame in watcher.frames.items() if first <= at <= last}
            assert {at: frame for at, frame in made.items() if at > began} == sent, (watcher.name, round_id)
            assert all(json.loads(frame)["view_number"] == played["view_number"] for frame in sent.values())
            compared += len(sent)
    assert compared > 100
    if "teen" not in scene.table:
        assert scene.opened >= 2


async def test_the_table_that_was_shown_first_is_the_replayed_one_of_then(scene):
    """Whoever came in the middle of a round was shown what its last event left."""
    for watcher in scene.watchers:
        [(began, frame)] = watcher.first.items()
        for round_id in scene.rounds:
            steps = (await scene.replayed(round_id, watcher.name))["steps"]
            if steps[0]["position"] <= began < steps[-1]["position"]:
                then = [step for step in steps if step["position"] <= began][-1]
                assert json.loads(frame)["view"] == then["view"]


async def test_a_step_says_the_same_as_its_frame(scene):
    for watcher in scene.watchers:
        for step in (await scene.replayed(scene.rounds[0], watcher.name))["steps"]:
            if step["frame"] is not None:
                told = json.loads(step["frame"])
                assert [told[name] for name in ("position", "at", "event", "view")] == [
                    step[name] for name in ("position", "at", "event", "view")
                ]

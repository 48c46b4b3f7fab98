"""Many hands of 3 Patti and Gin Rummy at real processes, by players who do what they may and what they may not, every
seat and role looking on; then every channel and every store is searched for a card that its reader may not know."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import asyncpg
import pytest

from domain.game import Role, Viewer
from ops.fault_ground import Ground, standing
from ops.fault_house import House, clients, open_house
from services.divergence import rounds_again
from tests.domain import gin_knowledge
from tests.services.card_search import NOBODY, Archive, stored
from tests.services.gin_ways import GIN, WORD
from tests.services.patti_ways import PATTI
from tests.services.table_players import Company, Eyes, Text, gathered

pytestmark = pytest.mark.slow

TABLES = [(PATTI, 20, {}), (PATTI, 20, {}), (GIN, 4, {"layoff": "declared", "knock_limit": 60}), (GIN, 4, {})]
"""How many hands each, and what is other than by chance."""


class Scene:
    def __init__(self, house: House, companies: list[Company]) -> None:
        self.house = house
        self.companies = companies
        self.archive: Archive

    @property
    def ground(self) -> Ground:
        return self.house.ground

    @property
    def eyes(self) -> list[Eyes]:
        return [eyes for company in self.companies for eyes in (*company.players, *company.watchers)]

    async def texts(self) -> list[Text]:
        told = [text for eyes in self.eyes for text in eyes.texts]
        return [*told, *await stored(self.ground, await self.house.rows())]


@pytest.fixture(scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Scene]:
    folder, processes = tmp_path_factory.mktemp("ground"), ("api-1", "worker-1")
    async with standing(folder, *processes, log_level="debug") as ground, clients() as http:
        house = await open_house(ground, "leaky", http)
        scene = Scene(house, [await gathered(house, ways, at, **more) for at, (ways, _, more) in enumerate(TABLES)])
        watching = [
            asyncio.create_task(eyes.watch(company.table))
            for company in scene.companies
            for eyes in (*company.players, *company.watchers)
            if eyes.viewer.role is not Role.AUDITOR
        ]
        try:
            played = zip(scene.companies, TABLES, strict=True)
            await asyncio.gather(*(company.play(hands) for company, (_, hands, _) in played))
            await read_everything(scene)
            scene.archive = Archive("leaky", await house.rows(), ground.services.vault)
            yield scene
        finally:
            for task in watching:
                task.cancel()
            await asyncio.wait(watching)


async def read_everything(scene: Scene) -> None:
    """When all is played: the tables stand still, and everybody reads what there is to be read."""
    answered: dict[str, set[int]] = {}

    async def look(eyes: Eyes, path: str, **about: Any) -> None:
        answered.setdefault(path, set()).add((await eyes.read(path, **about)).status_code)

    for company in scene.companies:
        path = f"tables/{company.table}/commands"
        await scene.house.staff(Role.SUPERVISOR, path, "Pause", {"type": "Pause", "reason": "the end"})
    await scene.house.caught_up()
    for company in scene.companies:
        for eyes in (*company.players, *company.watchers):
            await look(eyes, f"tables/{company.table}", table=company.table, first=2**61, last=2**62)
            whose = eyes.viewer.actor if eyes.viewer.role is Role.PLAYER else company.players[0].viewer.actor
            for path in ("tables", "players", f"players/{whose}/statement", f"players/{whose}/bets"):
                await look(eyes, path)
            await eyes.read_records(company.table)
        some = sorted(company.hands)[::10]
        matches = [f"{company.table}.m{number}" for number in (1, 2)] * (company.ways is GIN)
        for round_id in (*some, *matches):
            for eyes in (*company.players[:2], *company.watchers):
                for path in (f"rounds/{round_id}", f"rounds/{round_id}/replay"):
                    await look(eyes, path, round=round_id)
    in_vain = [path for path, statuses in answered.items() if 200 not in statuses]
    assert not in_vain


async def test_no_channel_and_no_store_shows_a_card_that_its_reader_may_not_know(scene):
    assert scene.archive.found(await scene.texts()) == []


async def test_advice_is_told_in_clear_to_its_two_readers_alone(scene):
    """The request that sends it is the only other place."""
    rounds = scene.archive.rounds.values()
    pairs = [{known.captain, known.adviser} for known in rounds if isinstance(known, gin_knowledge.Knowledge)]
    readers = set[str]()
    for text in await scene.texts():
        if WORD in text.content:
            readers.add(text.viewer.actor)
            assert any(text.viewer.actor in pair for pair in pairs), text
            assert text.where.startswith(("frame", "GET tables/", "POST tables/", "GET rounds/")), text.where
    assert readers


async def test_there_was_much_to_see(scene):
    """Every kind of act was done and refused, and whoever may know a card was shown it."""
    done = sum((company.done for company in scene.companies), Counter[str]())
    assert not (PATTI.must | GIN.must) - set(done)
    frames = [text for eyes in scene.eyes for text in eyes.texts if text.where.startswith("frame")]
    read = Counter(text.where.partition(" ")[0] for eyes in scene.eyes for text in eyes.texts)
    assert min(read[kind] for kind in ("audit", "log", "list", "GET", "POST")) > 100, read
    with_cards = {text.viewer.role for text in frames if '"cards":["' in text.content}
    assert {Role.PLAYER, Role.SUPERVISOR} <= with_cards
    assert len(frames) > 5_000


async def test_every_seat_sees_its_own_cards_once_it_has_looked_and_no_frame_is_missing_or_told_twice(scene):
    rows = await scene.house.rows()
    for company in scene.companies:
        of_table = {row["position"] for row in rows if row["stream"] == f"table:{company.table}"}
        for eyes in company.players:
            wallet = {row["position"] for row in rows if row["stream"] == f"wallet:{eyes.viewer.actor}"}
            frames = [text for text in eyes.texts if text.where.startswith("frame")]
            ids = [text.first for text in frames]
            assert ids == sorted(set(ids)), "a frame was told twice, or out of order"
            assert set(ids[1:]) >= {each for each in of_table if ids[0] < each <= ids[-1]}, "a frame is missing"
            assert set(ids[1:]) <= of_table | wallet
            for text in frames:
                view = json.loads(text.content)["view"]
                [mine] = [seat for seat in view.get("seats", ()) if seat["player"] == eyes.viewer.actor] or [None]
                if mine and mine["status"] == "seen":
                    assert len(mine["cards"]) == 3, text
                if mine and mine["status"] == "blind" and view["phase"] in ("turn", "answering"):
                    assert "cards" not in mine, text


async def test_a_seat_that_comes_again_anywhere_is_told_the_very_same_frames(scene):
    """What was told live and what is folded from the log, byte for byte."""
    for company in scene.companies:
        eyes = company.players[1]
        live = [(text.first, text.content) for text in eyes.texts if text.where.startswith("frame")]
        for begin in range(2, 120, 23):
            after, expected = live[-begin][0], live[-begin + 1 :]
            async with aclosing(eyes.frames(company.table, after)) as frames:
                again = [await anext(frames) for _ in expected]
            assert again == expected


async def test_every_hand_decided_again_comes_to_what_is_stored(scene):
    pool, keys = scene.ground.services.pool, scene.ground.services.vault
    again = [each async for each in rounds_again(pool, "leaky", keys)]
    assert [each for each in again if each.differences] == []
    assert {each.game for each in again} == {"three_patti", "gin_rummy"}
    assert sum(each.commands for each in again) > 500
    assert sum(each.left for each in again) == 0


# --- Leaks, planted -----------------------------------------------------------------------------------------------

Undo = Callable[[], Awaitable[None]]
Plant = Callable[[Scene, str], Awaitable[Undo]]
"""Puts what it is given somewhere, and gives what takes it away again."""


async def in_a_log(scene: Scene, secret: str) -> Undo:
    file = scene.ground.data / "worker-1.log"
    before = file.stat().st_size
    with file.open("a") as log:
        log.write(f'{{"event":"dealt","cards":"{secret}"}}\n')

    async def undo() -> None:
        os.truncate(file, before)

    return undo


async def in_redis(scene: Scene, secret: str) -> Undo:
    await scene.ground.services.redis.set("cache", secret)

    async def undo() -> None:
        await scene.ground.services.redis.delete("cache")

    return undo


def in_a_table(change: str, back: str) -> Plant:
    async def plant(scene: Scene, secret: str) -> Undo:
        async def run(statement: str) -> None:
            owner = await asyncpg.connect(scene.ground.servers.postgres)
            try:
                await owner.execute("set session_replication_role = replica")  # the log refuses it else
                await owner.execute(statement, secret)
            finally:
                await owner.close()

        await run(change)
        return lambda: run(back)

    return plant


PLANTS: dict[str, Plant] = {
    "worker-1.log": in_a_log,
    "Redis under": in_redis,
    "table commands": in_a_table(
        "update commands set body = body || ' ' || $1 where key = (select min(key) from commands)",
        "update commands set body = replace(body, ' ' || $1, '')",
    ),
    "table audit": in_a_table(
        "update audit set subject = subject || ' ' || $1 where position = 3",
        "update audit set subject = replace(subject, ' ' || $1, '') where position = 3",
    ),
    "event": in_a_table(
        'update events set data = replace(data::text, \'"reason":"the end"\', \'"reason":"\' || $1 || \'"\')::json',
        'update events set data = replace(data::text, \'"reason":"\' || $1 || \'"\', \'"reason":"the end"\')::json',
    ),
    "table streams": in_a_table(
        "update streams set state = replace(state::text, '\"the end\"', '\"' || $1 || '\"')::json",
        "update streams set state = replace(state::text, '\"' || $1 || '\"', '\"the end\"')::json",
    ),
}


async def test_a_hand_planted_in_any_store_is_found(scene):
    """The hand of one who folded, written as a log line or a state would write it."""
    hand = folded_hand(scene, "t0")
    undo = [await plant(scene, hand) for plant in PLANTS.values()]
    try:
        said = scene.archive.found(await stored(scene.ground, await scene.house.rows()))
    finally:
        for each in reversed(undo):
            await each()
    for place in PLANTS:
        assert [each for each in said if each.startswith(place)], f"{place} was not found"
    assert all(each.startswith(tuple(PLANTS)) for each in said), said


@pytest.mark.parametrize("viewer", [Viewer("p9999", Role.PLAYER), Viewer("auditor", Role.AUDITOR), NOBODY])
async def test_a_hand_or_a_salt_told_to_one_who_may_not_know_it_is_found(scene, viewer):
    hand, salt = folded_hand(scene, "t0"), min(scene.archive.secrets)
    last = {"viewer": viewer, "table": "t0", "first": 2**61, "last": 2**62}
    for content in (f'{{"cards":"{hand}"}}', json.dumps(hand.split()), f"x={hand.replace(' ', ', ')};"):
        assert scene.archive.found([Text("planted", content, **last)]) == [f"planted names {sorted(hand.split())}"]
    assert scene.archive.found([Text("planted", f'"{salt}"', **last)]) == ["planted holds a seed or a salt"]


async def test_his_own_hand_in_a_table_that_a_blind_player_read_is_found(scene):
    """Also if he has looked since: what counts is what he might know when he was told."""
    tried = 0
    for company in scene.companies:
        for eyes in company.players:
            for text in [text for text in eyes.texts if text.where.startswith("GET tables/t") and text.last < 2**61]:
                view = json.loads(text.content)["view"]
                [mine] = [seat for seat in view.get("seats", ()) if seat["player"] == eyes.viewer.actor] or [None]
                dealt = scene.archive.rounds[view["round"]].hands if "round" in view else {}
                hand = dealt.get(eyes.viewer.actor, set())
                if mine and mine["status"] == "blind" and not hand & scene.archive.may_know(text):
                    assert scene.archive.found([text._replace(content=" ".join(hand))]), text
                    tried += 1
    assert tried > 20  # all but those in whose moment the hand was over, or he was made to look


def folded_hand(scene: Scene, table: str) -> str:
    """A hand of the last round that was never shown to all, and so may stand nowhere but in its owner's eyes."""
    rounds = [name for name in scene.archive.rounds if name.startswith(f"{table}.")]
    known = scene.archive.rounds[max(rounds, key=lambda name: int(name.partition(".")[2]))]
    hidden = [cards for cards in known.hands.values() if not cards & known.public]
    assert hidden
    return " ".join(sorted(hidden[0]))

"""Rounds on real servers and processes, bet on, watched, disturbed; then everything anybody could read is searched for
what nobody may know: seeds not yet revealed, cards not yet dealt, keys and tokens. A leak planted anywhere is found."""

import asyncio
import itertools
import os
from collections.abc import AsyncGenerator, Awaitable, Callable

import asyncpg
import pytest

from domain.game import Role
from infra.vault import Vault
from ops.fault_ground import Ground, standing
from ops.fault_house import House, clients, open_house
from tests.services import leaks
from tests.services.leaks import Reader, Secret, Text

READS = (
    "/v1/tables", "/v1/tables/t", "/v1/rounds", "/v1/rounds/t.1", "/v1/rounds/t.2", "/v1/rounds/t.3",
    "/v1/rounds/t.1/replay", "/v1/rounds/t.2/replay", "/v1/rounds/t.3/replay", "/v1/events?limit=1000",
    "/v1/audit?limit=1000", "/v1/players", "/v1/players/p0000", "/v1/players/p0000/balance",
    "/v1/players/p0000/statement", "/v1/players/p0000/bets", "/v1/players/p0001", "/v1/keys", "/v1/commands/own",
    "/health/ready", "/docs", "/docs/openapi.json", "/metrics", "/problems",
)  # fmt: skip


class Scene:
    """Two rounds are over, and a third one is held up in the middle of its cards."""

    def __init__(self, house: House, readers: list[Reader], bearers: dict[str, str]) -> None:
        self.house = house
        self.readers = readers
        self.bearers = bearers
        """All keys and tokens by their owner's name."""

    @property
    def ground(self) -> Ground:
        return self.house.ground

    async def texts(self) -> list[Text]:
        rows = await self.house.rows()
        answers = [text for reader in self.readers for text in reader.texts]
        return [
            *await leaks.in_postgres(self.ground, rows),
            *await leaks.in_redis(self.ground),
            *leaks.in_logs(self.ground),
            *answers,
        ]

    async def secrets(self) -> list[Secret]:
        settings = self.ground.services.settings
        secrets = [*leaks.secrets_of_rounds(self.house.operator, await self.house.rows(), Vault(settings.vault_keys))]
        secrets += [Secret(f"vault key {name}", leaks.forms(key)) for name, key in settings.vault_keys.items()]
        secrets.append(Secret("the service's secret", leaks.forms(settings.secret)))
        for name, bearer in self.bearers.items():
            _, _, rest = bearer.partition(".")
            hidden = rest.partition("_")[2] if bearer.startswith("ck_") else rest.rpartition(".")[2]
            assert len(hidden) > 40
            secrets.append(Secret(f"the bearer of {name}", (hidden.encode(),)))
        return secrets


@pytest.fixture(scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Scene]:
    folder, processes = tmp_path_factory.mktemp("ground"), ("api-1", "worker-1")
    async with standing(folder, *processes, log_level="debug") as ground, clients() as http:
        house = await open_house(ground, "leaky", http)
        await house.open_players(3)
        bearers = house.bearers()
        readers = [Reader(ground.urls[0], name, bearer, http) for name, bearer in bearers.items()]
        scene = Scene(house, readers, bearers)
        watching = [asyncio.create_task(reader.watch("t")) for reader in readers if reader.name != "auditor"]
        try:
            await play(scene)
            await read_everything(scene)
            yield scene
        finally:
            for task in watching:
                task.cancel()
            await asyncio.wait(watching)


async def play(scene: Scene) -> None:
    house = scene.house
    for number in (1, 2):
        on = await (house.open_table(betting_seconds=1, pause_seconds=1) if number == 1 else house.round_on())
        await house.bet("p0000", on, {"player_a": 100, "tie": 200}, "own" if number == 1 else "")
        await house.bet("p0001", on, {"player_b": 150})
        await house.seen("teen_patti_2020.RoundSettled", number)
        await house.seed("p0000", "a word of my own")
        if number == 1:
            slower = house.config(betting_seconds=2, pause_seconds=1, card_interval_ms=400)
            await house.at_table(Role.OPERATOR, "ConfigureTable", config=slower)
            scene.ground.lose_postgres()  # so that the logs have something to say
            await asyncio.sleep(0.3)
            scene.ground.start_postgres()
    on = await house.round_on()
    await house.bet("p0000", on, {"player_a": 100})
    already = await house.count("teen_patti_2020.CardDealt")
    await house.seen("teen_patti_2020.CardDealt", already + 2)
    assert (await house.at_table(Role.SUPERVISOR, "Pause", reason="a fly on the table")).accepted
    await house.caught_up()


async def read_everything(scene: Scene) -> None:
    read = set[str]()
    for reader in scene.readers:
        read |= {path for path in READS if (await reader.ask(path)).status_code == 200}
        assert (await reader.ask("/nothing/here")).status_code == 404
        await disturb(reader)
    assert read == set(READS), "where nobody is shown anything, nothing was searched"
    wrong = Reader(scene.ground.urls[0], "a stranger", scene.bearers["operator"][:-4] + "AAAA", scene.house.http)
    await wrong.ask("/v1/keys")
    scene.readers.append(wrong)


async def disturb(reader: Reader) -> None:
    """Requests that fail, with what could be repeated in an answer or a log line."""
    headers = {"idempotency-key": f"wrong-{reader.name}"}
    for body in ("{", '{"type":"PlaceBet"}', '{"type":"Nothing","secret":1}', f'{{"type":"{"x" * 3_000}"}}'):
        json_ = {"content-type": "application/json"}
        await reader.ask("/v1/tables/t/commands", "POST", headers={**headers, **json_}, content=body)
    await reader.ask("/v1/players/p0000/deposits", "POST", headers=headers, json={"amount": -1, "currency": "EUR"})


async def test_nothing_that_anybody_can_read_shows_what_nobody_may_know(scene):
    secrets, texts = await scene.secrets(), await scene.texts()
    assert leaks.found(secrets, texts) == []


async def test_there_was_something_to_find(scene):
    """What is known by now does stand in all these places: had it stood there too early, it would have been found."""
    secrets, texts = await scene.secrets(), await scene.texts()
    revealed = [secret for secret in secrets if secret.known_from < leaks.NEVER]
    hidden = {secret.what for secret in secrets} - {secret.what for secret in revealed}
    assert {"the seed of t.3", "the salt of card 5 of t.3", "vault key k1"} <= hidden
    assert {"the seed of t.1", "the seed of t.2", "the salt of card 1 of t.3"} <= {each.what for each in revealed}
    too_early = leaks.found([secret._replace(known_from=leaks.NEVER) for secret in revealed], texts)
    places = {said.partition(" ")[0] for said in too_early}
    assert {"event", "Redis", "frame", "GET"} <= places


Plant = Callable[[Scene, bytes], Awaitable[Callable[[], Awaitable[None]]]]
"""Puts a secret somewhere, and gives what takes it away again."""


async def in_a_log(scene: Scene, secret: bytes) -> Callable[[], Awaitable[None]]:
    file = scene.ground.data / "api-1.log"
    before = file.stat().st_size
    with file.open("ab") as log:
        log.write(b'{"event":"dealt","card":"' + secret + b'"}\n')

    async def undo() -> None:
        os.truncate(file, before)

    return undo


async def in_redis(scene: Scene, secret: bytes) -> Callable[[], Awaitable[None]]:
    await scene.ground.services.redis.set("cache", secret)

    async def undo() -> None:
        await scene.ground.services.redis.delete("cache")

    return undo


async def in_a_stream(scene: Scene, secret: bytes) -> Callable[[], Awaitable[None]]:
    await scene.ground.services.redis.xadd("other", {"e": secret}, id="1-0")

    async def undo() -> None:
        await scene.ground.services.redis.delete("other")

    return undo


def in_a_table(change: str, back: str) -> Plant:
    async def plant(scene: Scene, secret: bytes) -> Callable[[], Awaitable[None]]:
        async def run(statement: str) -> None:
            owner = await asyncpg.connect(scene.ground.servers.postgres)
            await owner.execute(statement, secret.decode())
            await owner.close()

        await run(change)
        return lambda: run(back)

    return plant


async def in_an_answer(scene: Scene, secret: bytes) -> Callable[[], Awaitable[None]]:
    scene.readers[0].texts.append(Text("GET /v1/tables to operator", b'{"next":"' + secret + b'"}'))

    async def undo() -> None:
        scene.readers[0].texts.pop()

    return undo


async def in_an_early_frame(scene: Scene, secret: bytes) -> Callable[[], Awaitable[None]]:
    scene.readers[0].texts.append(Text("frame 9 to p0000", secret, 9))

    async def undo() -> None:
        scene.readers[0].texts.pop()

    return undo


PLANTS: dict[str, Plant] = {
    "api-1.log": in_a_log,
    "Redis": in_redis,
    "Redis at 1": in_a_stream,
    "table audit": in_a_table(
        "update audit set subject = subject || $1 where position = 3",
        "update audit set subject = replace(subject, $1, '') where position = 3",
    ),
    "table commands": in_a_table(
        "update commands set body = body || $1 where key = 'own'",
        "update commands set body = replace(body, $1, '') where key = 'own'",
    ),
    "GET /v1/tables to operator": in_an_answer,
    "frame 9 to p0000": in_an_early_frame,
}


KINDS = ("the seed of t.3", "the salt of card 4 of t.3", "the bearer of operator")


@pytest.mark.parametrize(("place", "what"), list(zip(PLANTS, itertools.cycle(KINDS), strict=False)))
async def test_a_leak_planted_anywhere_is_found(scene, place, what):
    secrets = await scene.secrets()
    [secret] = [each for each in secrets if each.what == what]
    undo = await PLANTS[place](scene, secret.forms[1 % len(secret.forms)])
    try:
        said = leaks.found(secrets, await scene.texts())
    finally:
        await undo()
    assert said, f"{what} in {place} was not found"
    assert all(each.startswith(place) and each.endswith(what) for each in said), said


@pytest.mark.parametrize("form", range(6))
async def test_a_seed_is_found_in_every_form(scene, form):
    [secret] = [each for each in await scene.secrets() if each.what == "the seed of t.3"]
    assert leaks.found([secret], [Text("here", b"x" + secret.forms[form] + b"x")])


async def test_cards_not_yet_dealt_are_found_however_they_are_listed(scene):
    [run] = [each for each in await scene.secrets() if each.what == "cards 3 to 5 of t.3"]
    a, b, c = (part for part in run.forms[0].removeprefix(b"(?a)").split(b"[^0-9A-Za-z]{0,8}"))
    for listed in (b" ".join((a, b, c)), b'["%b", "%b", "%b"]' % (a, b, c), b"".join((a, b, c))):
        assert leaks.found([run], [Text("here", listed)])

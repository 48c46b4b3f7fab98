"""Nothing stored, sent or logged shows a card before its time: looked for in all there is, in the middle of a round."""

import asyncio
import base64
import re
from typing import Any

import pytest
import redis.asyncio

from domain import fairness
from domain.game import Role
from infra import eventlog, postgres
from infra.settings import Settings
from infra.vault import Vault, VaultClosed
from services import wiring
from services.relay import Relay
from tests.services.conftest import Casino

READS = (
    "/v1/tables",
    "/v1/tables/t",
    "/v1/rounds",
    "/v1/rounds/t.1",
    "/v1/rounds/t.1/replay",
    "/v1/events?limit=1000",
    "/v1/audit?limit=1000",
    "/v1/players",
    "/v1/players/ann",
    "/v1/players/ann/balance",
    "/v1/players/ann/statement",
    "/v1/players/ann/bets",
    "/v1/commands/the-bet",
    "/v1/keys",
    "/health/ready",
    "/metrics",
)


async def in_the_middle_of_a_round(casino: Casino) -> str:
    """Betting is over and two cards or more lie there. Returns the token of ann, who has bet and given a seed."""
    ann = await casino.player("ann")
    body = {"table": "t", "game": "teen_patti_2020", "config": {"currency": "EUR", "betting_seconds": 3}}
    await casino.done("/v1/tables", body | {"config": body["config"] | {"card_interval_ms": 100, "pause_seconds": 1}})
    await casino.tick("t")
    await casino.done("/v1/tables/t/commands", {"type": "GiveClientSeed", "seed": "mine"}, ann)
    await casino.until("t", "betting")
    assert (await casino.bet(ann, "t.1", "the-bet", player_a=100, tie=200)).status_code == 200
    assert (await casino.bet(ann, "t.1", player_a=150)).status_code == 422
    await casino.until("t", "dealing")
    while len(await dealt(casino)) < 2:
        await casino.tick("t")
        await asyncio.sleep(0.05)
    return ann


async def dealt(casino: Casino) -> dict[str, str]:
    return (await casino.get("/v1/tables/t"))["view"].get("cards", {})


async def secrets_of(casino: Casino) -> tuple[fairness.Deck, bytes]:
    """The deck as only a process with the vault key can know it."""
    rows = [row async for row in eventlog.of_round(casino.services.pool, "lotus", "t.1")]
    [opened] = [row.event for row in rows if row.type == "teen_patti_2020.RoundOpened"]
    seed = Vault({"k1": bytes(32)}).open("lotus", "t.1", opened.seed)
    where: dict[str, Any] = {"operator": "lotus", "table": "t", "round": "t.1", "client_seeds": opened.client_seeds}
    return fairness.shuffle(seed, **where), seed


async def all_of_postgres(dsn: str) -> bytes:
    async with postgres.connected(dsn, name="owner") as owner:
        tables = [name for [name] in await owner.fetch("select relname from pg_stat_user_tables")]
        assert {"events", "streams", "commands", "audit", "rounds", "statement"} <= set(tables)
        rows = [text for name in tables for [text] in await owner.fetch(f'select t::text from "{name}" t')]
    return "\n".join(rows).encode()


async def all_of_redis(url: str) -> bytes:
    async with redis.asyncio.Redis.from_url(url) as client:
        streams = [name async for name in client.scan_iter()]
        assert streams
        return b"\n".join([repr(await client.xrange(name)).encode() for name in streams])


async def all_answers(casino: Casino, ann: str) -> bytes:
    bearers = [casino.bearer(role) for role in (Role.OPERATOR, Role.STUDIO, Role.SUPERVISOR, Role.AUDITOR)]
    told = {path: [await casino.ask("GET", path, bearer) for bearer in (*bearers, ann)] for path in READS}
    for path, answers in told.items():
        assert any(answer.status_code == 200 for answer in answers), f"{path} was looked at in vain"
    return (
        b"\n".join(answer.content for answers in told.values() for answer in answers)
        + repr(await casino.watch("t", ann, 1)).encode()
    )


async def test_nothing_anywhere_shows_a_seed_or_a_card_before_its_time(casino, database, redis_url, capfd):
    ann = await in_the_middle_of_a_round(casino)
    relay = Relay(casino.services.pool, casino.services.redis, "lotus")
    while await relay.once():
        pass
    await casino.project()
    found = {
        "postgres": await all_of_postgres(database),
        "redis": await all_of_redis(redis_url),
        "answers": await all_answers(casino, ann),
        "logs": "".join(capfd.readouterr()).encode(),
    }
    deck, seed = await secrets_of(casino)
    shown = await dealt(casino)
    assert tuple(shown.values()) == deck.cards[: len(shown)]
    hidden = [rf"[\"']{card}\b".encode() for card in deck.cards[len(shown) :]]
    hidden += [salt.hex().encode() for salt in deck.salts[len(shown) :]]
    hidden += [seed.hex().encode(), base64.b64encode(seed)[:40], re.escape(seed), bytes(32).hex().encode()]
    for where, everything in found.items():
        for secret in hidden:
            assert not re.search(secret, everything), f"{where} shows {secret!r}"
        assert where == "logs" or re.search(rf"[\"']{deck.cards[0]}\b".encode(), everything), (
            f"looked at {where} in vain"
        )
    assert b"the-bet" in found["logs"]


async def test_a_process_of_the_api_holds_only_keys_of_games_with_hidden_cards(database, redis_url):
    """Whatever keys its environment has."""
    keys = {"k1": bytes(32), "three_patti/k1": bytes(range(32)), "teen_patti_2020/k1": bytes(range(32, 64))}
    settings = Settings(postgres=database, redis=redis_url, secret=bytes(32), vault_keys=keys)
    async with wiring.opened(settings, "worker") as services:
        sealed = services.vault.seal("lotus", "teen_patti_2020", "t.1")
        patti = services.vault.seal("lotus", "three_patti", "p.1")
    old = Vault({"k1": bytes(32)}).seal("lotus", "teen_patti_2020", "t.1")
    async with wiring.opened(settings, "api") as services:
        for each in (sealed, old):
            with pytest.raises(VaultClosed):
                services.vault.open("lotus", "t.1", each)
        assert len(services.vault.open("lotus", "p.1", patti)) == 32

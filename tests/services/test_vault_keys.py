"""Vault keys that change while hands are played, as ops/runbooks/key-rotation.md has it."""

import asyncio
import base64
from collections.abc import AsyncGenerator

import pytest

from infra.settings import Settings, SettingsError
from infra.vault import Vault, VaultClosed
from ops import data_folder
from services import epochs
from services.executor import Executor
from services.wiring import missing_keys, opened
from services.worker import work
from tests.services.patti import Patti
from tests.services.town import OPERATOR, Town, town

OLD, NEW = bytes(range(32)), bytes(range(32, 64))
SECRET = base64.b64encode(OLD).decode()


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        for name in ("ann", "bob", "cid"):
            await made.player(name, 20_000)
        yield made


async def test_after_a_key_has_leaked_no_hand_is_dealt_that_it_opens(acme):
    """To cancel the hand is not enough: the seed of the next one is published by then, and sealed by the same key."""
    before = Executor(acme.dsn, Vault({"three_patti/k1": OLD}))
    after = Executor(acme.dsn, Vault({"three_patti/k2": NEW, "three_patti/k1": OLD}))
    patti = await Patti(before, acme.pool, OPERATOR).open("ann", "bob", "cid")
    await patti.deals()
    await patti.void("CancelRound", reason="a key leaked")
    known = (await patti.tick(lambda state: state.table.next_seed is not None)).table.next_seed.seed
    assert known.key == "three_patti/k1"
    patti.executor = after
    await epochs.renew(after, acme.pool, OPERATOR, "a key leaked")
    await patti.deals()
    assert (await patti.state()).round.seed.key == "three_patti/k2"
    await before.close()
    await after.close()


async def test_an_api_that_has_the_new_key_behind_the_old_one_plays_what_workers_seal_by_it(acme):
    worker = Executor(acme.dsn, Vault({"three_patti/k2": NEW, "three_patti/k1": OLD}))
    api = Executor(acme.dsn, Vault({"three_patti/k1": OLD, "three_patti/k2": NEW}))
    patti = await Patti(worker, acme.pool, OPERATOR).open("ann", "bob", "cid")
    _, first, second, third = await patti.deals()
    patti.executor = api
    await patti.does(first, "Fold")
    await patti.does(second, "Show")
    assert {each.player for each in (await patti.state()).last.results if each.cards} == {second, third}
    await worker.close()
    await api.close()


async def test_a_worker_says_which_games_have_no_key_of_their_own():
    """It deals all of them; what it seals under another key no API could open."""
    keys = {"k1": OLD, "three_patti/k1": NEW}
    settings = Settings(postgres="postgresql://nowhere", redis="redis://nowhere", secret=bytes(32), vault_keys=keys)
    with pytest.raises(SettingsError, match=r"no key of its own for gin_rummy: add gin_rummy/k1:BASE64"):
        await work(settings, asyncio.Event())
    assert missing_keys(settings) == ["gin_rummy"]


async def test_an_api_holds_no_key_that_it_has_no_use_for_whatever_it_is_given(acme):
    """By its environment where `up` starts it, else by what it drops: one rule."""
    given = {
        "CROUPIER_VAULT_KEYS": f"k1:{SECRET}, teen_patti_2020/k1:{SECRET},gin_rummy/k1:{SECRET},three_patti/k1:{SECRET}"
    }
    left = data_folder.keys_for_api(given)
    assert left == {"CROUPIER_VAULT_KEYS": f"gin_rummy/k1:{SECRET},three_patti/k1:{SECRET}", "CROUPIER_LOG_KEYS": ""}
    names = [entry.partition(":")[0].strip() for entry in given["CROUPIER_VAULT_KEYS"].split(",")]
    keys = dict.fromkeys(names, OLD)
    settings = Settings(postgres=acme.dsn, redis="unix:///nowhere", secret=OLD, vault_keys=keys, log_keys={"k1": OLD})
    async with opened(settings, "api") as api, opened(settings, "worker") as worker:
        assert (sorted(api.settings.vault_keys), api.settings.log_keys) == (["gin_rummy/k1", "three_patti/k1"], {})
        with pytest.raises(VaultClosed):
            api.vault.open("acme", "t.1", worker.vault.seal("acme", "teen_patti_2020", "t.1"))
        assert worker.settings == settings

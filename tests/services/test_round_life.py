"""Whole rounds on a real Postgres, driven by the timers: dealt, settled, refunded, and picked up after a crash."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from domain.decider import Submission
from domain.game import Role
from domain.games import GAMES
from domain.wallet import commands as wallet
from infra import codec, eventlog, postgres
from infra.vault import Vault
from services import epochs, settlement
from services.batch import Accepted, Refused
from services.executor import Executor
from services.operators import open_operator
from services.timers import Timers
from tests.services.acme import reconciled

GAME = GAMES["teen_patti_2020"]
QUICK = {"currency": "EUR", "betting_seconds": 1, "card_interval_ms": 0, "pause_seconds": 0}


class House:
    """A small casino for one test: an operator, a table, players, and timers that run."""

    def __init__(self, dsn: str, pool: postgres.Pool, vault: Vault) -> None:
        self.pool = pool
        self.executor = Executor(dsn, vault)
        self._keys = 0

    async def send(self, actor: str, role: Role, stream: str, command: Any, game: str = "") -> Any:
        self._keys += 1
        submission = Submission("acme", actor, role, stream, command, f"k{self._keys}", game)
        return await self.executor.submit(submission, b"f")

    async def table(self, role: Role, fields: dict[str, Any], game: str = "") -> Any:
        command = codec.msgspec.convert(fields, GAME.commands[role])
        return await self.send("staff", role, "table:t", command, game)

    async def void(self, reason: str) -> None:
        """It takes two: the studio reports, the staff cancels."""
        report = codec.msgspec.convert({"type": "ReportFault", "reason": reason}, GAME.commands[Role.STUDIO])
        assert isinstance(await self.send("studio", Role.STUDIO, "table:t", report), Accepted)
        assert isinstance(await self.table(Role.SUPERVISOR, {"type": "CancelRound", "reason": reason}), Accepted)

    async def open_table(self, **config: Any) -> None:
        opened = await self.table(Role.OPERATOR, {"type": "OpenTable", "config": QUICK | config}, GAME.name)
        assert isinstance(opened, Accepted), opened

    async def player(self, name: str, cash: int) -> None:
        await self.send("ops", Role.OPERATOR, f"wallet:{name}", wallet.OpenWallet("EUR"))
        await self.send("ops", Role.OPERATOR, f"wallet:{name}", wallet.Deposit(cash, "EUR"))

    async def bet(self, name: str, round_id: str, **wagers: int) -> Any:
        fields = {
            "type": "PlaceBet",
            "round": round_id,
            "wagers": [{"spot": spot, "amount": amount} for spot, amount in wagers.items()],
        }
        return await self.send(name, Role.PLAYER, "table:t", codec.msgspec.convert(fields, GAME.commands[Role.PLAYER]))

    async def state(self) -> Any:
        row = await self.pool.fetchrow(eventlog.SQL["stream"], "acme", "table:t")
        return codec.decode_state(row["decider"], row["state"])

    async def until(self, holds: Callable[[Any], bool], seconds: float = 60) -> Any:
        async with asyncio.timeout(seconds):
            while not holds(state := await self.state()):  # noqa: ASYNC110 - it changes in the database
                await asyncio.sleep(0.02)
            return state

    async def round_is_on(self) -> str:
        state = await self.until(lambda state: type(state).__name__ == "Betting")
        return state.round.id

    async def event(self, type_name: str, round_id: str) -> Any:
        async with asyncio.timeout(60):
            while True:
                async for row in eventlog.of_round(self.pool, "acme", round_id):
                    if row.type == f"teen_patti_2020.{type_name}":
                        return row.event
                await asyncio.sleep(0.05)

    async def cash(self, name: str) -> int:
        return (await self.pool.fetchrow(eventlog.SQL["stream"], "acme", f"wallet:{name}"))["balance"]


@pytest.fixture
async def house(database: str) -> AsyncGenerator[House]:
    dsn = await postgres.make_service_login(database)
    pool = await postgres.pool(dsn, name="test")
    house = House(dsn, pool, Vault({"k1": b"v" * 32}))
    await open_operator(house.executor, pool, "acme", "Acme")
    yield house
    await house.executor.close()
    await pool.close()


@pytest.fixture
async def clock(house: House) -> AsyncGenerator[Callable[[], Awaitable[None]]]:
    """Timers that run; call it to end them, as a crash would."""
    task = asyncio.create_task(Timers(house.executor, house.pool).run())

    async def stop() -> None:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    yield stop
    await stop()


async def test_an_rng_table_deals_and_settles_round_after_round_by_itself(house, clock):
    await house.player("ann", 10_000)
    await house.player("bob", 10_000)
    await house.open_table()
    first = await house.round_is_on()
    assert isinstance(await house.bet("ann", first, player_a=1_000, tie=100), Accepted)
    assert isinstance(await house.bet("bob", first, player_b=2_000, six_card_bonus=100), Accepted)
    settled = await house.event("RoundSettled", first)
    assert (settled.bettors, settled.staked) == (2, 3_200)
    assert await house.cash("ann") + await house.cash("bob") == 20_000 - 3_200 + settled.returned
    second = await house.round_is_on()
    assert second == "t.2"
    await reconciled(house.pool)


async def test_a_bet_after_the_close_is_refused_though_no_clock_has_come(house, clock):
    await house.player("ann", 10_000)
    await house.open_table()
    round_id = await house.round_is_on()
    await clock()
    await asyncio.sleep(1.1)
    late = await house.bet("ann", round_id, player_a=100)
    assert isinstance(late, Refused)
    assert late.rule == "BettingIsClosed"
    assert await house.cash("ann") == 10_000


async def test_a_cancelled_round_gives_every_stake_back_once(house, clock):
    await house.player("ann", 10_000)
    await house.open_table(betting_seconds=60)
    round_id = await house.round_is_on()
    await house.bet("ann", round_id, player_a=1_000)
    await house.bet("ann", round_id, tie=500)
    await house.void("a fault")
    refunded = await house.event("RoundRefunded", round_id)
    assert (refunded.bettors, refunded.staked, refunded.returned) == (1, 1_500, 1_500)
    assert await house.cash("ann") == 10_000


async def test_settlement_that_was_cut_off_is_taken_up_and_pays_nobody_twice(house, clock, monkeypatch):
    monkeypatch.setattr(settlement, "IN_FLIGHT", 4)  # else it is over before it can be cut off
    await asyncio.gather(*(house.player(f"p{n}", 1_000) for n in range(120)))
    await house.open_table(betting_seconds=3)
    round_id = await house.round_is_on()
    await asyncio.gather(*(house.bet(f"p{n}", round_id, player_a=100) for n in range(120)))
    await house.until(lambda state: GAME.result(state) is not None)
    await clock()
    cuts = 0
    while GAME.result(await house.state()) is not None:
        timers = asyncio.create_task(Timers(house.executor, house.pool).run())
        await asyncio.sleep(0.02 + cuts / 50)
        timers.cancel()
        with suppress(asyncio.CancelledError):
            await timers
        cuts += 1
    assert cuts > 1, "the settlement was not cut off"
    settled = await house.event("RoundSettled", round_id)
    assert (settled.bettors, settled.staked) == (120, 12_000)
    total = sum([await house.cash(f"p{n}") for n in range(120)])
    assert total == 120_000 - 12_000 + settled.returned
    kinds = [row.type async for row in eventlog.of_round(house.pool, "acme", round_id)]
    assert kinds.count("wallet.BetsSettled") == 120
    assert kinds.count("teen_patti_2020.RoundSettled") == 1


async def test_an_unknown_bet_is_fenced_and_refused_when_it_comes_late(house, clock):
    await house.player("ann", 1_000)
    await house.open_table(betting_seconds=60)
    round_id = await house.round_is_on()
    cancel = codec.msgspec.convert({"type": "CancelBet", "bet": "late-bet"}, GAME.commands[Role.PLAYER])
    fenced = await house.send("ann", Role.PLAYER, "table:t", cancel)
    assert isinstance(fenced, Accepted)
    assert fenced.fenced
    fields = {"type": "PlaceBet", "round": round_id, "wagers": [{"spot": "tie", "amount": 100}]}
    place = codec.msgspec.convert(fields, GAME.commands[Role.PLAYER])
    late = await house.executor.submit(Submission("acme", "ann", Role.PLAYER, "table:t", place, "late-bet"), b"f")
    assert late == Refused("Fenced", {})
    assert await house.cash("ann") == 1_000


async def test_a_table_whose_clock_fails_three_times_is_put_to_rest_and_can_be_cancelled(house, clock):
    await house.player("ann", 1_000)
    await house.open_table()
    round_id = await house.round_is_on()
    await clock()
    await house.bet("ann", round_id, player_a=100)
    keyless = Executor(house.executor._dsn, Vault({}))
    timers = asyncio.create_task(Timers(keyless, house.pool).run())
    await house.until(lambda state: type(state).__name__ == "Paused")
    timers.cancel()
    await keyless.close()
    assert GAME.deadline(await house.state()) is None
    await house.table(Role.SUPERVISOR, {"type": "CancelRound", "reason": "its clock failed"})
    again = asyncio.create_task(Timers(house.executor, house.pool).run())
    await house.event("RoundRefunded", round_id)
    again.cancel()
    assert await house.cash("ann") == 1_000


async def test_a_new_epoch_refunds_what_is_open_and_drops_the_published_seeds(house, clock):
    await house.player("ann", 1_000)
    await house.open_table(betting_seconds=60)
    round_id = await house.round_is_on()
    known = (await house.state()).round.seed.hash
    await house.bet("ann", round_id, player_a=100)
    await epochs.renew(house.executor, house.pool, "acme", "restored from a backup")
    await epochs.check_database(house.executor, house.pool, "acme")
    assert (await eventlog.tip(house.pool, "acme")).epoch == 2
    await house.event("RoundRefunded", round_id)
    assert await house.cash("ann") == 1_000
    following = await house.round_is_on()
    assert following != round_id
    assert (await house.state()).round.seed.hash != known
    types = [row.type for row in await eventlog.after(house.pool, "acme", 0)]
    assert types.count("house.LogResumed") == 1


async def test_an_operator_whose_log_cannot_be_resumed_holds_up_no_other(house, clock):
    await house.open_table(pause_seconds=60)
    await house.until(lambda state: state.table.next_seed is not None)  # to be disclosed, which needs the key
    await clock()
    tip = await eventlog.tip(house.pool, "acme")
    await epochs.begin(house.pool, "acme", tip.system, tip.epoch)
    keyless = Executor(house.executor._dsn, Vault({}))
    await open_operator(keyless, house.pool, "zeta", "Zeta")
    timers = Timers(keyless, house.pool)
    await timers.look()
    assert set(timers._seen) == {"zeta"}
    await keyless.close()

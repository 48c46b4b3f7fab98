"""A small casino on real servers for the tests of fan-out: an operator, players with money, a table, and its clock."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from domain import proposals
from domain.decider import SettleBettor, Submission
from domain.game import ConcludeRound, Role, TimeOut
from domain.games import GAMES
from domain.names import PROPOSAL, id_of
from domain.wallet import commands as wallet
from domain.wallet.rules import AdjustmentCode
from infra import codec, eventlog, fanout, postgres
from infra.vault import Vault
from services import checkpoints
from services.batch import Accepted
from services.executor import Executor
from services.operators import open_operator
from services.projections import PROJECTIONS, balances
from services.projector import Projector
from services.relay import Relay

GAME = GAMES["teen_patti_2020"]
OPERATOR = "acme"
QUICK = {"currency": "EUR", "betting_seconds": 1, "card_interval_ms": 0, "pause_seconds": 0}


class Town:
    def __init__(self, dsn: str, redis_url: str, pool: postgres.Pool, redis: fanout.Redis) -> None:
        self.dsn = dsn
        self.redis_url = redis_url
        self.pool = pool
        self.redis = redis
        self.vault = Vault({"k1": b"v" * 32})
        self.executor = Executor(dsn, self.vault)
        self.keys = 0

    async def send(self, actor: str, role: Role, stream: str, command: Any, *, game: str = "", key: str = "") -> Any:
        self.keys += 1
        submission = Submission(OPERATOR, actor, role, stream, command, key or f"k{self.keys}", game, "asked so")
        return await self.executor.submit(submission, b"f")

    async def player(self, name: str, cash: int = 100_000) -> None:
        assert isinstance(await self.send("ops", Role.OPERATOR, f"wallet:{name}", wallet.OpenWallet("EUR")), Accepted)
        await self.deposit(name, cash)

    async def deposit(self, name: str, amount: int = 100) -> None:
        deposit = wallet.Deposit(amount, "EUR", "ref-1")
        assert isinstance(await self.send("ops", Role.OPERATOR, f"wallet:{name}", deposit), Accepted)

    async def adjust(self, name: str, amount: int, reason: str) -> None:
        """One of the staff proposes it, and another one approves."""
        asked = proposals.AdjustBalance(name, amount, "EUR", AdjustmentCode.OTHER, reason)
        stream = PROPOSAL + id_of("ops", f"k{self.keys + 1}")
        assert isinstance(await self.send("ops", Role.OPERATOR, stream, proposals.Propose(asked)), Accepted)
        assert isinstance(await self.send("sue", Role.SUPERVISOR, stream, proposals.Approve()), Accepted)

    async def grow(self, events: int, name: str = "ann") -> None:
        """Append this many events, all of them deposits of a player that is there."""
        for done in range(0, events, 100):
            await asyncio.gather(*(self.deposit(name) for _ in range(min(100, events - done))))

    async def table(self, role: Role, fields: dict[str, Any], *, actor: str = "staff", game: str = "") -> Any:
        command = msgspec.convert(fields, GAME.commands[role])
        return await self.send(actor, role, "table:t", command, game=game)

    async def open_table(self, **config: Any) -> None:
        opened = await self.table(Role.OPERATOR, {"type": "OpenTable", "config": QUICK | config}, game=GAME.name)
        assert isinstance(opened, Accepted), opened

    async def void(self, reason: str) -> None:
        """It takes two: one supervisor pauses, another one cancels."""
        for who, kind in (("sid", "Pause"), ("sue", "CancelRound")):
            assert isinstance(await self.table(Role.SUPERVISOR, {"type": kind, "reason": reason}, actor=who), Accepted)

    async def bet(self, name: str, round_id: str, *, key: str = "", **wagers: int) -> Any:
        placed = [{"spot": spot, "amount": amount} for spot, amount in wagers.items()]
        command = msgspec.convert({"type": "PlaceBet", "round": round_id, "wagers": placed}, GAME.commands[Role.PLAYER])
        return await self.send(name, Role.PLAYER, "table:t", command, key=key)

    async def cancel_bet(self, name: str, bet: str) -> Any:
        command = msgspec.convert({"type": "CancelBet", "bet": bet}, GAME.commands[Role.PLAYER])
        return await self.send(name, Role.PLAYER, "table:t", command)

    async def state(self) -> Any:
        row = await self.pool.fetchrow(eventlog.SQL["stream"], OPERATOR, "table:t")
        return codec.decode_state(row["decider"], row["state"])

    async def tick(self, until: Callable[[Any], bool]) -> Any:
        """Send the table's clock until its state is as wanted."""
        async with asyncio.timeout(60):
            while not until(state := await self.state()):
                clock = Submission(OPERATOR, "platform", Role.CLOCK, "table:t", TimeOut())
                await self.executor.submit(clock)
                await asyncio.sleep(0.02)
            return state

    async def round_is_on(self) -> str:
        state = await self.tick(lambda state: type(state).__name__ == "Betting")
        return state.round.id

    async def finish_round(self, round_id: str, players: list[str]) -> None:
        """Let the clock run to the round's end and settle or refund these players."""
        await self.tick(lambda state: type(state).__name__ in ("Settling", "Refunding"))
        for name in players:
            settle = Submission(OPERATOR, "platform", Role.CLOCK, f"wallet:{name}", SettleBettor(round_id))
            await self.executor.submit(settle)
        conclude = Submission(OPERATOR, "platform", Role.CLOCK, "table:t", ConcludeRound(round_id))
        assert isinstance(await self.executor.submit(conclude), Accepted)

    async def tip(self) -> eventlog.Tip:
        tip = await eventlog.tip(self.pool, OPERATOR)
        assert tip is not None
        return tip

    async def relay(self) -> Relay:
        """A relay that has copied all there is."""
        relay = Relay(self.pool, self.redis, OPERATOR)
        while await relay.once():
            pass
        return relay

    def projector(self, *projections: Any) -> Projector:
        return Projector(self.pool, self.redis, OPERATOR, projections or PROJECTIONS)

    async def project(self) -> None:
        """Bring every projection up to date."""
        projector = self.projector()
        while await projector.once():
            pass

    async def up_to_date(self) -> bool:
        """Have all projections come to the log's end?"""
        tip = await self.tip()
        found = [await checkpoints.live(self.pool, OPERATOR, each.name) for each in PROJECTIONS]
        return all(checkpoint.position == tip.position for checkpoint in found)

    async def all_there_once(self) -> None:
        """Ann's balance is what her wallet says, and there is one movement for every deposit."""
        wallet_row = await self.pool.fetchrow(eventlog.SQL["stream"], OPERATOR, "wallet:ann")
        projected = await balances.one(self.pool, OPERATOR, "ann")
        assert projected is not None
        assert (projected.balance, projected.position) == (wallet_row["balance"], wallet_row["position"])
        moved = await self.pool.fetchval("select count(*) from statement")
        assert moved == await self.pool.fetchval("select count(*) from events where type = 'wallet.Deposited'")

    async def stream_key(self) -> str:
        return fanout.key(OPERATOR, (await self.tip()).epoch)

    async def streamed(self) -> list[int]:
        """The positions in the Redis stream, in order."""
        return [int(entry_id.split(b"-")[0]) for entry_id, _ in await self.redis.xrange(await self.stream_key())]


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - it changes in the servers
            await asyncio.sleep(0.02)


@asynccontextmanager
async def town(dsn: str, redis_url: str) -> AsyncGenerator[Town]:
    login = await postgres.make_service_login(dsn)
    pool = await postgres.pool(login, name="test", size=8)
    redis = fanout.connect(redis_url)
    made = Town(login, redis_url, pool, redis)
    await open_operator(made.executor, pool, OPERATOR, "Acme")
    try:
        yield made
    finally:
        await made.executor.close()
        await redis.aclose()
        await pool.close()

"""One operator's house on the ground, and its clients: integrators who send again, with the same key, until they know.

Everything a client learns goes into the model, which is then held against the log, the projections and Redis.
"""

import asyncio
import itertools
import random
from collections.abc import Iterable, Mapping
from typing import Any, cast

import asyncpg
import httpx
import msgspec
from msgspec import Struct

from domain import house
from domain.decider import Submission
from domain.game import Role, TimeOut
from domain.games import GAMES
from domain.names import HOUSE, TABLE, WALLET
from domain.wallet import commands as wallet
from infra import codec, eventlog, fanout
from infra.fanout import Entry
from ops.fault_ground import Ground, until
from ops.fault_model import Audit, Model, Name, Row
from services.api.auth import Caller, Gate, NewKey, new_key
from services.batch import Accepted
from services.executor import Unavailable
from services.operators import open_operator
from services.reconcile import reconcile

GAME = GAMES["teen_patti_2020"]
CURRENCY = "EUR"
FUNDS = 100_000
TABLE_ID = "t"
COLLEAGUE = "colleague"  # of the supervisor: the second person whom it takes to void a round
QUICK = {"currency": CURRENCY, "betting_seconds": 1, "card_interval_ms": 0, "pause_seconds": 0}
PATIENCE_S = 60
"""How long a client goes on asking before it gives the house up for lost."""

ATTEMPT_S = 4.0
AT_ONCE = 50
"""Requests on their way at a time: more would only wait within the HTTP client, which grows slow with them."""

_AGAIN = (500, 502, 503)
_ROWS = """
select position, stream, version, type, schema, round, command, actor, role, at, data::text, hash
from events where operator = $1 order by position
"""


class Told(Struct, frozen=True):
    """What a client knows of a command at last. `repeated` if it was told so for a second time."""

    became: str
    position: int | None = None
    at: int = 0
    code: str = ""
    repeated: bool = False
    view: Any = None

    @property
    def accepted(self) -> bool:
        return self.became == "accepted"


class House:
    def __init__(self, ground: Ground, operator: str, keys: Mapping[str, NewKey], http: httpx.AsyncClient) -> None:
        self.ground = ground
        self.operator = operator
        self.model = Model(operator)
        self.players: list[str] = []
        self.through = ""  # the API process to which everything is sent, for as long as it answers
        self.retries = 0
        """How often a client had to ask or send again."""
        self.surprises: list[str] = []
        """Answers that say the service was at fault: an outage is no surprise."""
        self._keys = keys
        self.http = http
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._numbers = itertools.count(1)
        self._tokens: dict[str, str] = {}
        self._requests: dict[Name, tuple[str, str, Mapping[str, Any]]] = {}
        self._gate = Gate(ground.services.pool, ground.services.settings.secret)
        self._dice = random.Random(operator)  # noqa: S311 - so that a run can be told again

    # --- Clients ---

    def key(self) -> str:
        return f"key-{next(self._numbers)}"

    async def staff(self, role: Role, path: str, kind: str, about: Mapping[str, Any], key: str = "") -> Told:
        return await self._insist(self._keys[role].id, self._keys[role].token, path, kind, about, key or self.key())

    async def deposit(self, player: str, amount: int, key: str = "") -> Told:
        about = {"amount": amount, "currency": CURRENCY}
        return await self.staff(Role.OPERATOR, f"players/{player}/deposits", "Deposit", about, key)

    async def withdraw(self, player: str, amount: int) -> Told:
        about = {"amount": amount, "currency": CURRENCY}
        return await self.staff(Role.OPERATOR, f"players/{player}/withdrawals", "Withdraw", about)

    async def block(self, player: str, *, undo: bool = False) -> Told:
        kind = "Unblock" if undo else "Block"
        return await self.staff(Role.OPERATOR, f"players/{player}/{kind.lower()}", kind, {})

    async def at_table(self, role: Role, kind: str, **about: Any) -> Told:
        return await self.staff(role, f"tables/{TABLE_ID}/commands", kind, {"type": kind, **about})

    async def void(self, reason: str, kind: str = "CancelRound", table: str = TABLE_ID) -> Told:
        """It takes two persons: one supervisor pauses, another one cancels; if it was over, the table goes on."""
        path, other = f"tables/{table}/commands", self._keys[COLLEAGUE]
        await self._insist(other.id, other.token, path, "Pause", {"type": "Pause", "reason": reason}, self.key())
        told = await self.staff(Role.SUPERVISOR, path, kind, {"type": kind, "reason": reason})
        if not told.accepted:
            await self.staff(Role.SUPERVISOR, path, "Resume", {"type": "Resume"})
        return told

    async def bet(self, player: str, round_id: str, stakes: Mapping[str, int], key: str = "") -> Told:
        wagers = [{"spot": spot, "amount": amount} for spot, amount in stakes.items()]
        return await self._play(player, "PlaceBet", {"round": round_id, "wagers": wagers}, key)

    async def seed(self, player: str, word: str) -> Told:
        return await self._play(player, "GiveClientSeed", {"seed": word})

    async def cancel_bet(self, player: str, bet: str) -> Told:
        return await self._play(player, "CancelBet", {"bet": bet})

    async def _play(self, player: str, kind: str, about: Mapping[str, Any], key: str = "") -> Told:
        about = {"type": kind, **about}
        path = f"tables/{TABLE_ID}/commands"
        return await self._insist(player, self._token(player), path, kind, about, key or self.key())

    async def _insist(self, actor: str, bearer: str, path: str, kind: str, about: Mapping[str, Any], key: str) -> Told:
        """Send it until an answer says what became of it; half of the time ask, before sending again."""
        if (actor, key) not in self.model.sent:
            self.model.send(actor, key, kind, about)
        self._requests[actor, key] = (bearer, path, about)
        clock = asyncio.get_running_loop()
        until_ = clock.time() + PATIENCE_S
        while True:
            told = await self._attempt(bearer, path, about, key)
            if told is None and self._dice.random() < 0.5:
                self.retries += 1
                told = await self._ask(bearer, key)
            if told is not None:
                self.model.learn(actor, key, told.became, told.position, told.code)
                return told
            assert clock.time() < until_, f"no answer to {key} of {actor} at {self.operator}"
            self.retries += 1
            await asyncio.sleep(0.1)

    async def _attempt(self, bearer: str, path: str, about: Mapping[str, Any], key: str) -> Told | None:
        headers = {"authorization": f"Bearer {bearer}", "idempotency-key": key}
        url = self.through or self._dice.choice(self.ground.urls)
        try:
            async with self._at_once:
                answer = await self.http.post(f"{url}/v1/{path}", json=about, headers=headers)
        except httpx.HTTPError:
            self.through = ""
            return None
        if answer.status_code == 500:
            self.surprises.append(f"{path}: {answer.text}")
        if answer.status_code in _AGAIN:
            return None
        told = msgspec.json.decode(answer.content)
        repeated = answer.headers.get("idempotent-replayed") == "true"
        if answer.is_success:
            return Told("accepted", told["position"], told["at"], repeated=repeated, view=told["view"])
        return Told("refused", code=told["code"], repeated=repeated)

    async def _ask(self, bearer: str, key: str) -> Told | None:
        headers = {"authorization": f"Bearer {bearer}"}
        try:
            answer = await self.http.get(f"{self._dice.choice(self.ground.urls)}/v1/commands/{key}", headers=headers)
        except httpx.HTTPError:
            return None
        if not answer.is_success:
            return None
        told = msgspec.json.decode(answer.content)
        if told["became"] == "fenced":  # it is refused, whenever it comes
            return Told("refused", code="Fenced", repeated=True)
        return Told(told["became"], told["last"], told["decided"], told["code"] or "", repeated=True)

    def _token(self, player: str) -> str:
        if player not in self._tokens:
            minting = Caller(self.operator, self._keys[Role.OPERATOR].id, Role.OPERATOR)
            self._tokens[player] = self._gate.mint(minting, player, 3_600)[0]
        return self._tokens[player]

    def set_back(self, sent: dict[Name, dict[str, Any]]) -> None:
        """The log has lost whatever was not sent by then."""
        self.model.sent = sent
        self._requests.clear()

    # --- Furnishing: through the executor of this very process, since only what follows is on trial ---

    async def open_players(self, count: int, cash: int = FUNDS) -> None:
        names = [f"p{number:04}" for number in range(len(self.players), len(self.players) + count)]
        for command in (wallet.OpenWallet(CURRENCY), wallet.Deposit(cash, CURRENCY)):
            await self.submit_all((name, WALLET + name, Role.OPERATOR, command) for name in names)
        self.players += names

    async def bets(self, round_id: str, stakes: Mapping[str, int], players: Iterable[str]) -> None:
        wagers = [{"spot": spot, "amount": amount} for spot, amount in stakes.items()]
        command = msgspec.convert({"type": "PlaceBet", "round": round_id, "wagers": wagers}, GAME.commands[Role.PLAYER])
        await self.submit_all((name, TABLE + TABLE_ID, Role.PLAYER, command) for name in players)

    async def submit_all(self, commands: Iterable[tuple[str, str, Role, Any]]) -> None:
        await asyncio.gather(*(self._submit(*command) for command in commands))

    async def _submit(self, name: str, stream: str, role: Role, command: Any) -> None:
        key, actor = self.key(), name if role is Role.PLAYER else self._keys[role].id
        kind = type(command).__name__
        self.model.send(actor, key, kind, msgspec.structs.asdict(command))
        submission = Submission(self.operator, actor, role, stream, command, key)
        while True:
            try:
                answer = await self.ground.services.executor.submit(submission, b"furnished")
                break
            except Unavailable:
                await asyncio.sleep(0.1)
        assert isinstance(answer, Accepted), (kind, answer)
        self.model.learn(actor, key, "accepted", answer.last)

    def config(self, **config: Any) -> dict[str, Any]:
        return QUICK | config

    def bearers(self) -> dict[str, str]:
        """Every key and token by its owner's name: a role, or a player."""
        keys = {name: key.token for name, key in self._keys.items() if name != COLLEAGUE}
        return keys | {player: self._token(player) for player in self.players}

    async def open_table(self, **config: Any) -> str:
        """A table, and its first round."""
        about = {"table": TABLE_ID, "game": GAME.name, "config": self.config(**config)}
        told = await self.staff(Role.OPERATOR, "tables", "OpenTable", about)
        assert told.accepted, told
        return await self.round_on()

    # --- Looking ---

    async def state(self) -> Any:
        rows = await self.ground.fetch(eventlog.SQL["stream"], self.operator, TABLE + TABLE_ID)
        return codec.decode_state(rows[0]["decider"], rows[0]["state"]) if rows else GAME.initial

    async def tick(self) -> None:
        """Tell the table's clock, as the worker does."""
        submission = Submission(self.operator, "platform", Role.CLOCK, TABLE + TABLE_ID, TimeOut())
        await self.ground.services.executor.submit(submission)

    async def clock(self) -> float:
        """Postgres' time, in seconds."""
        [(now,)] = await self.ground.fetch("select clock_timestamp()")
        return now / 1_000_000

    async def phase(self) -> str:
        return type(await self.state()).__name__

    async def round_on(self, seconds: float = 60) -> str:
        """Wait until bets are taken; the round's id."""

        async def betting() -> bool:
            return await self.phase() == "Betting"

        await until(betting, seconds, f"a round at {self.operator}")
        on = GAME.round(await self.state())
        assert on is not None
        return on

    async def seen(self, type_name: str, times: int = 1, seconds: float = 60) -> None:
        """Wait until so many events of this type are in the log."""

        async def there() -> bool:
            return await self.count(type_name) >= times

        await until(there, seconds, f"{times} {type_name} at {self.operator}", pause=0.02)

    async def count(self, type_name: str) -> int:
        query = "select count(*) from events where operator = $1 and type = $2"
        [(count,)] = await self.ground.fetch(query, self.operator, type_name)
        return count

    async def rows(self) -> list[Row]:
        return cast("list[Row]", await self.ground.fetch(_ROWS, self.operator))

    async def tip(self) -> eventlog.Tip:
        [record] = await self.ground.fetch(eventlog.SQL["tip"], self.operator)
        return eventlog.Tip(*record)

    # --- The verdict ---

    async def end(self) -> None:
        """Let the table end its round and close, and the projections catch up; then judge everything."""
        if await self.phase() not in ("NotOpened", "Closed"):
            if await self.phase() == "Paused":
                await self.at_table(Role.SUPERVISOR, "Resume")
            await self.at_table(Role.OPERATOR, "DrainTable")
            if await self.phase() == "Betting":
                await self.void("the end")

            async def closed() -> bool:
                return await self.phase() == "Closed"

            await until(closed, 30, f"the table of {self.operator} is closed")
        await self.judge()

    async def judge(self) -> None:
        """Raises AssertionError with all that is wrong."""
        await self.caught_up()
        faults = Audit(self.model, await self.rows()).run()
        faults += await self._stored_balances()
        done = await reconcile(self.ground.services.pool, self.operator, faults.append)
        faults += await self._stream_in_redis(done.position)
        faults += await self._told_again()
        faults += self.surprises
        assert not faults, f"{self.operator}: {len(faults)} faults\n" + "\n".join(faults[:20])

    async def caught_up(self, seconds: float = 60) -> None:
        """Redis and every projection have come to the log's end."""

        async def there() -> bool:
            tip = await self.tip()
            query = "select min(position) from checkpoints where operator = $1 and live"
            [(slowest,)] = await self.ground.fetch(query, self.operator)
            stream = fanout.key(self.operator, tip.epoch)
            last = await fanout.last_position(self.ground.services.redis, stream)
            if not last and slowest == tip.position and self.players:
                # The relay came when all was projected, and has begun no stream: with one more event it must.
                await self.deposit(self.players[0], 1)
                return False
            return slowest == last == tip.position

        await until(there, seconds, f"Redis and the projections of {self.operator} at the log's end")

    async def _stored_balances(self) -> list[str]:
        """What the executor keeps of each wallet, and what HTTP tells of it, against the audit's own numbers."""
        audit = Audit(self.model, await self.rows())
        audit.run()
        query = "select stream, balance from streams where operator = $1 and stream like 'wallet:%'"
        stored = {row["stream"].removeprefix(WALLET): row["balance"] for row in await self._fetch(query)}
        query = "select player, balance from balances where operator = $1"
        projected = {row["player"]: row["balance"] for row in await self._fetch(query)}
        query = "select player, sum(amount)::bigint as sum from statement where operator = $1 group by player"
        movements = {row["player"]: row["sum"] for row in await self._fetch(query)}
        faults = [f"balances in streams: {stored} not {audit.cash}"] if stored != audit.cash else []
        faults += [f"projected balances: {projected} not {audit.cash}"] if projected != audit.cash else []
        moved = {player: cash for player, cash in audit.cash.items() if player in movements}
        return faults + ([f"statements: {movements} not {moved}"] if movements != moved else [])

    async def _fetch(self, query: str) -> list[asyncpg.Record]:
        return await self.ground.fetch(query, self.operator)

    async def _stream_in_redis(self, position: int) -> list[str]:
        """What Redis still has of this epoch is the log, entry by entry."""
        tip = await self.tip()
        name = fanout.key(self.operator, tip.epoch)
        entries: list[Entry] = []
        while page := await fanout.read(self.ground.services.redis, name, entries[-1].position if entries else 0):
            entries += page
        if not entries:
            return [f"Redis has nothing of {self.operator}"]
        rows = {row["position"]: row for row in await self.rows()}
        wanted = list(range(entries[0].position, position + 1))
        faults = [] if [entry.position for entry in entries] == wanted else [f"Redis has a hole: {self.operator}"]
        strange = [each.position for each in entries if rows[each.position]["hash"] != each.hash]
        return faults + ([f"Redis has other events than the log at {strange}"] if strange else [])

    async def _told_again(self, sample: int = 40) -> list[str]:
        """A command sent once more is told what it was told before, and does nothing."""
        before = await self.tip()
        faults: list[str] = []
        sent = sorted(self._requests)
        for actor, key in self._dice.sample(sent, min(sample, len(sent))):
            bearer, path, about = self._requests[actor, key]
            known = self.model.sent[actor, key]
            for told in (await self._attempt(bearer, path, about, key), await self._ask(bearer, key)):
                wanted = (known["became"], known["code"], known["position"], True)
                if told is None or (told.became, told.code, told.position, told.repeated) != wanted:
                    faults.append(f"{actor} sends {key} again and is told {told}, not {wanted}")
        after = await self.tip()
        return faults + ([] if before == after else ["asking changed the log"])


async def open_house(ground: Ground, operator: str, http: httpx.AsyncClient) -> House:
    executor, pool = ground.services.executor, ground.services.pool
    assert await open_operator(executor, pool, operator, operator)
    staff = (Role.OPERATOR, Role.SUPERVISOR, Role.STUDIO, Role.AUDITOR)
    roles = {**{str(role): role for role in staff}, COLLEAGUE: Role.SUPERVISOR}
    keys = {name: new_key(operator) for name in roles}
    for name, key in keys.items():
        minting = house.MintKey(key.id, roles[name], key.digest, "faults")
        await executor.submit(Submission(operator, "platform", Role.OPERATOR, HOUSE, minting))
    return House(ground, operator, keys, http)


def clients() -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE)
    return httpx.AsyncClient(trust_env=False, timeout=httpx.Timeout(ATTEMPT_S, pool=60), limits=limits)

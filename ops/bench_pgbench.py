"""A bet as pgbench would do it: the same rows in one statement and one transaction a bet, without any of our code."""

import asyncio
import shutil
from pathlib import Path

import asyncpg

from domain.money import Bet, Wager
from domain.wallet.events import BetStaked
from domain.wallet.state import Wallet
from infra import codec, postgres
from services.batch import StoredAccepted

OPERATOR = "pgbench"
_OPEN = "insert into logs values ($1, 1, 0, '\\x00', now(), '') on conflict do nothing"
_POSITION = "select position from logs where operator = $1"
_BET = Bet("load-1-12345", "bench.1", (Wager("player_a", 100),))
_BODY = '{"type":"PlaceBet","round":"bench.1","wagers":[{"spot":"player_a","amount":100}]}'
_SCRIPT = """\\set player random(1, {players})
\\set key random(1, 1000000000000000)
with head as (
    update logs set position = position + 1, hash = sha256(hash), at = clock_timestamp() where operator = 'pgbench'
    returning position, hash, at
), appended as (
    insert into events (operator, position, stream, version, type, schema, round, command, actor, role, at, data, hash)
    select 'pgbench', position, 'wallet-p' || :player::text, position, 'wallet.BetStaked', 1, 'bench.1',
           'load-' || :key::text, 'p' || :player::text, 'player', at, '{event}', hash
    from head
), folded as (
    insert into streams (operator, stream, decider, version, position, state, state_schema, balance, due)
    select 'pgbench', 'wallet-p' || :player::text, 'wallet', position, position, '{state}', 1, 999999900, null
    from head
    on conflict (operator, stream) do update set
        version = excluded.version, position = excluded.position, state = excluded.state, balance = excluded.balance
)
insert into commands (operator, actor, key, fingerprint, body, received, decided, outcome, first, last)
select 'pgbench', 'p' || :player::text, 'load-' || :key::text || '-' || position, hash, '{body}', at, at, '{outcome}',
       position, position
from head;
"""


def program() -> str | None:
    """pgbench, if it is at hand."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))
    return shutil.which("pgbench") or (str(debian[-1]) if debian else None)


class Pgbench:
    """pgbench on the bench's own database, under an operator of its own."""

    def __init__(self, dsn: str, folder: Path, players: int, clients: int) -> None:
        self._dsn = dsn
        self._script = folder / "bet.pgbench"
        self._script.write_text(script(players))
        self._clients = clients
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, seconds: int) -> None:
        """Bets for some seconds; what its connections cost to make is over when the first bets are in the log."""
        async with postgres.connected(self._dsn, name="pgbench") as connection:
            await connection.execute(_OPEN, OPERATOR)
            words = [program() or "pgbench", "--no-vacuum", "--protocol=prepared", f"--file={self._script}"]
            words += [f"--client={self._clients}", f"--time={seconds}", self._dsn]
            devnull, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
            process = self._process = await asyncio.create_subprocess_exec(*words, stdout=devnull, stderr=pipe)
            enough = await _position(connection) + 10 * self._clients
            while await _position(connection) < enough and process.returncode is None:  # noqa: ASYNC110 - in the database
                await asyncio.sleep(0.05)

    async def end(self) -> None:
        assert self._process is not None
        _, said = await self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"pgbench failed: {said.decode()[-500:]}")

    async def bets(self) -> int:
        async with postgres.connected(self._dsn, name="pgbench") as connection:
            return await _position(connection)


def script(players: int) -> str:
    event = BetStaked(_BET, 100, 1_000_000_000, 999_999_900)
    state = Wallet("EUR", 999_999_900, (_BET,), 100)
    rows = {"event": event, "state": state, "outcome": StoredAccepted()}
    # a colon before a letter would be a variable of pgbench
    texts = {name: codec.encode(row).replace(":false", ": false") for name, row in rows.items()}
    return _SCRIPT.format(players=players, body=_BODY, **texts)


async def _position(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    return await connection.fetchval(_POSITION, OPERATOR)

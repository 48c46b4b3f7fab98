"""`croupier bench`: what this machine does, beside what it could do at most, measured in one run and interleaved.

CPU time is the figure to trust: it hardly moves when other work runs beside, while rates and latencies do. It moves
with the machine's own speed, which neighbours change from one second to the next: so what is compared is measured in
many short slices by turns, and the median of each is told.
"""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import click
import msgspec
import uvloop
from msgspec import Struct
from msgspec.structs import replace

from domain.game import Role
from domain.games import GAMES
from domain.names import TABLE
from infra import collector, logging
from infra.embedded import EmbeddedError
from ops import bench_cpu as cpu
from ops import bench_house, bench_log, bench_melds, bench_tables, data_folder
from ops.bench_house import GAME, Cost, House
from ops.bench_pgbench import Pgbench, program
from ops.bench_report import Bets, Figures, Gin, Memory, Played, Rate, Settlement, goals, table
from ops.bench_tables import Plan, V
from services.projections import PROJECTIONS

Say = Callable[[str], None]


class Size(Struct, frozen=True):
    """How much is measured. A repetition opens a round, lets the contestants bet, and gives the bets back."""

    players: int
    repetitions: int
    rare: int
    """Every how many repetitions the slow contestants take part too."""
    connections: int
    seconds: float
    """Of a slice."""
    settlements: int
    bettors: int
    betting_seconds: int
    """Of the rounds that are settled; in it all of their bets must be placed."""
    tables: int
    """At once, of 3 Patti and then of Gin Rummy: as many as bets are on their way at once."""
    table_repetitions: int


FULL = Size(10_000, 16, 4, 64, 1.0, 3, 10_000, 6, 64, 6)
QUICK = Size(1_000, 1, 1, 16, 0.5, 1, 200, 2, 2, 1)
FEW = 500
"""Players of a server that serves few bets: each is to have bet once before it is measured."""
PASSES = 4
"""Over the log, by relay and replay."""
BETS_S = 100
"""When no repetition is begun any more: on a busy machine as many are made as fit."""


@click.command(
    help="Measure this machine: bets over HTTP, settlement, relay, projections, replay, 3 Patti, Gin Rummy. Minutes."
)
@click.option("--json", "as_json", is_flag=True, help="End with one line of JSON.")
@click.option("--quick", is_flag=True, help="Tiny numbers, to see that it runs; what it tells is no measurement.")
@click.option("--data", type=click.Path(path_type=Path), default=data_folder.DEFAULT, help="On whose disk to measure.")
def command(as_json: bool, quick: bool, data: Path) -> None:
    if sys.platform != "linux":
        raise click.ClickException("CPU time is read from /proc, which only Linux has")
    begun = time.monotonic()

    def say(line: str) -> None:
        click.echo(f"[{time.monotonic() - begun:4.0f} s] {line}", err=True)

    others = cpu.others_us()
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=data))
    try:
        figures = uvloop.run(measured(folder, QUICK if quick else FULL, say))
    except EmbeddedError as fault:
        raise click.ClickException(str(fault)) from None
    finally:
        shutil.rmtree(folder)
    others = (cpu.others_us() - others) / 1_000_000 / (time.monotonic() - begun)
    click.echo(table(figures))
    click.echo(f"{'cores that others kept busy':<46}{others:>9.1f} of {os.cpu_count()}")
    click.echo(goals(figures))
    if as_json:
        click.echo(msgspec.json.encode(figures).decode())


async def measured(folder: Path, size: Size, say: Say) -> Figures:
    solver = _solver(say)
    say(f"private servers in {folder}, fsync on")
    collector.calm()  # this process does what a worker does
    async with bench_house.standing(folder) as house:
        logging.configure(replace(house.services.settings, log_level="warning"), "bench")
        say(f"opening {size.players} players")
        await house.open(size.players)
        await house.start_all()
        bets = await _bets(house, size, say)
        api_mb = cpu.peak_mb(house.pid("api"))
        house.end()
        settlement = await _settlement(house, size, say)
        relay, projections, replay = await _readers(house, say)
        say("memory of a worker that reads the whole log")
        worker_mb = await bench_log.worker_mb(house)
        patti = await _at_tables(bench_tables.PATTI, house, size, say)
        gin = await _at_tables(bench_tables.GIN, house, size, say)
    memory = Memory(round(api_mb, 1), round(worker_mb, 1))
    solved = Gin(gin.tables, gin.actions_per_s, gin.cpu_us, solver.deadwood_us, solver.layoff_us)
    return Figures(bets, settlement, relay, projections, replay, memory, patti, solved)


async def _bets(house: House, size: Size, say: Say) -> Bets:
    costs: dict[str, list[Cost]] = {"api": [], "floor": [], "single": []}
    until = time.monotonic() + BETS_S
    pgbench_us: list[float] = []
    pgbench = Pgbench(house.servers.postgres, house.data, size.players, size.connections) if program() else None
    round_id = await house.open_table(bench_house.OPERATOR, 600)
    say("warming up")
    for name in costs:
        await _load(house, name, round_id, size, all_first=True)
    for number in range(size.repetitions):
        if number and time.monotonic() > until:
            break
        round_id = await _next_round(house, round_id)
        for name in ("api", "floor") if number % 2 else ("floor", "api"):
            costs[name].append(await _load(house, name, round_id, size))
        api, floor = (costs[name][-1] for name in ("api", "floor"))
        say(f"{number + 1}/{size.repetitions} api: {api}; floor: {floor.server_us:.0f} us")
        if number % size.rare == 0:
            costs["single"].append(await _load(house, "single", round_id, size))
            say(f"{number + 1}/{size.repetitions} single: {costs['single'][-1]}")
        if number % size.rare == 0 and pgbench is not None:
            pgbench_us.append(await _pgbench(house, pgbench, size))
            say(f"{number + 1}/{size.repetitions} pgbench: {pgbench_us[-1]:,.0f} us of CPU a bet")
    await _next_round(house, round_id)
    ours = costs["api"]
    return Bets(
        cpu_us=_middle([cost.cpu_us for cost in ours]),
        per_s=_middle([cost.load.count / cost.load.seconds for cost in ours]),
        p50_ms=_middle([cost.load.p50_ms for cost in ours]),
        p99_ms=_middle([cost.load.p99_ms for cost in ours]),
        floor_handler_cpu_us=_middle([cost.server_us for cost in costs["floor"]]),
        transaction_per_command_cpu_us=_middle([cost.cpu_us for cost in costs["single"]]),
        pgbench_cpu_us=_middle(pgbench_us) if pgbench_us else None,
    )


async def _load(house: House, name: str, round_id: str, size: Size, *, all_first: bool = False) -> Cost:
    return await house.load(
        name,
        msgspec.json.encode(bench_house.bet(round_id)).decode(),
        players=FEW if name == "single" else size.players,
        connections=size.connections,
        seconds=0.5 if all_first else size.seconds,
        all_first=all_first,
    )


async def _next_round(house: House, round_id: str) -> str:
    await house.cancel_round(bench_house.OPERATOR, round_id)
    return await house.round_opened(bench_house.OPERATOR)


async def _pgbench(house: House, pgbench: Pgbench, size: Size) -> float:
    await pgbench.start(int(size.seconds) + 2)
    bets, used = await pgbench.bets(), house.postgres_us
    await asyncio.sleep(size.seconds)
    bets, used = await pgbench.bets() - bets, house.postgres_us - used
    await pgbench.end()
    return used / bets


async def _settlement(house: House, size: Size, say: Say) -> Settlement:
    """Rounds in which each bettor placed one bet, settled as the worker would, by this process."""
    costs: list[float] = []
    round_id = await house.open_table("settled", size.betting_seconds)
    for number in range(size.settlements):
        place = msgspec.convert(bench_house.bet(round_id), GAME.commands[Role.PLAYER])
        bettors = house.players[: size.bettors]
        await house.send_all([(TABLE + "settled", place, Role.PLAYER, player) for player in bettors])
        await house.betting_closed("settled")
        used = cpu.own_us(house.own_pid) + house.postgres_us
        await house.settle(round_id)
        used = cpu.own_us(house.own_pid) + house.postgres_us - used
        costs.append(used / len(bettors))
        say(f"{number + 1}/{size.settlements} settled {len(bettors)} bettors: {costs[-1]:.0f} us of CPU a bettor")
        round_id = await house.round_opened("settled")
    return Settlement(_middle(costs))


async def _readers(house: House, say: Say) -> tuple[Rate, dict[str, Rate], Rate]:
    end = await house.position()
    say(f"relay, replay and projections of {end} events")
    relay, replay, projections = list[float](), list[float](), dict[str, Rate]()
    for _ in range(PASSES):  # before any projection: a relay leaves out what all projections have read
        relay.append(await bench_log.relay_rate(house))
        replay.append(await bench_log.replay_rate(house))
        say(f"relay {relay[-1]:,.0f}, replay {replay[-1]:,.0f} events/s")
    for projection in PROJECTIONS:
        rate = await bench_log.projection_rate(house, projection)
        say(f"projection {projection.name}: {rate:,.0f} events/s")
        projections[projection.name] = Rate(_middle([rate]))
    return Rate(_middle(relay)), projections, Rate(_middle(replay))


async def _at_tables(plan: Plan[V], house: House, size: Size, say: Say) -> Played:
    played = await bench_tables.measured(plan, house, size.tables, size.table_repetitions, size.seconds)
    title = GAMES[plan.game].title
    say(f"{title}: {played.actions_per_s:,.0f} actions/s, {played.cpu_us:,.0f} us of CPU an action")
    return played


def _solver(say: Say) -> bench_melds.Measured:
    """While nothing else of ours runs yet."""
    solver = bench_melds.measured()
    say(
        f"Gin Rummy: {solver.deadwood_us} us of CPU for the least deadwood of a hand, {solver.adding_up_us} us "
        f"for adding its cards up, {solver.layoff_us} us for the best answer to a knock"
    )
    return solver


def _middle(values: list[float]) -> float:
    return round(median(values), 2)

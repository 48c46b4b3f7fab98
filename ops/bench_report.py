"""What the bench tells: the figures as one JSON object, as a table, and beside the goals set for them."""

from collections.abc import Iterator

from msgspec import Struct

CPU_TO_FLOOR, CPU_TO_SINGLE = 1.8, 8.0
RELAY_PER_S, PROJECTION_PER_S, REPLAY_PER_S = 50_000, 25_000, 200_000
MEMORY_MB = 200
DEADWOOD_US, LAYOFF_US = 150, 1_000


class Bets(Struct, frozen=True):
    """Of bets over HTTP, durable. CPU is that of server and Postgres together, in microseconds a bet."""

    cpu_us: float
    per_s: float
    p50_ms: float
    p99_ms: float
    floor_handler_cpu_us: float
    """Of a bare Litestar handler with a like body and answer."""
    transaction_per_command_cpu_us: float
    """Of the same API, each command a transaction of its own, on one of 16 connections."""
    pgbench_cpu_us: float | None
    """Of Postgres alone, for the same rows written by pgbench; null where that program is not at hand."""


class Settlement(Struct, frozen=True):
    cpu_us: float
    """A bettor."""


class Played(Struct, frozen=True):
    """Of what the bots of a game do over HTTP, one after the other, at so many tables at once. CPU is that of server
    and Postgres together, in microseconds an action."""

    tables: int
    actions_per_s: float
    cpu_us: float


class Rate(Struct, frozen=True):
    events_per_s: float


class Memory(Struct, frozen=True):
    """The most that was resident."""

    api_mb: float
    worker_mb: float


class Gin(Played, frozen=True):
    """And of Gin Rummy's solver the CPU, in microseconds: of the least deadwood of a hand, of the best answer to a
    knock."""

    deadwood_us: float
    layoff_us: float


class Figures(Struct, frozen=True):
    bets: Bets
    settlement: Settlement
    relay: Rate
    projections: dict[str, Rate]
    replay: Rate
    memory: Memory
    patti: Played
    gin: Gin


def table(figures: Figures) -> str:
    bets, patti, gin = figures.bets, figures.patti, figures.gin
    rows = [
        ("bets over HTTP, durable", f"{bets.per_s:,.0f} bets/s", f"p50 {bets.p50_ms} ms, p99 {bets.p99_ms} ms"),
        ("CPU of a bet, server and Postgres", f"{bets.cpu_us:,.0f} us", ""),
        ("  bare Litestar handler (a)", f"{bets.floor_handler_cpu_us:,.0f} us", ""),
        ("  one transaction a command, 16 at a time (b)", f"{bets.transaction_per_command_cpu_us:,.0f} us", ""),
        ("  pgbench, the same rows (c)", f"{bets.pgbench_cpu_us:,.0f} us" if bets.pgbench_cpu_us else "not here", ""),
        (f"3 Patti, {patti.tables} tables of six bots", f"{patti.actions_per_s:,.0f} actions/s", ""),
        ("CPU of an action of 3 Patti", f"{patti.cpu_us:,.0f} us", _beside(patti.cpu_us, bets)),
        (f"Gin Rummy, {gin.tables} tables of three bots", f"{gin.actions_per_s:,.0f} actions/s", ""),
        ("CPU of an action of Gin Rummy", f"{gin.cpu_us:,.0f} us", _beside(gin.cpu_us, bets)),
        ("CPU of settling a bettor", f"{figures.settlement.cpu_us:,.0f} us", ""),
        ("relay", f"{figures.relay.events_per_s:,.0f} events/s", ""),
        *(
            (f"projection {name}", f"{rate.events_per_s:,.0f} events/s", "")
            for name, rate in figures.projections.items()
        ),
        ("replay", f"{figures.replay.events_per_s:,.0f} events/s", ""),
        ("memory of an API process, at most", f"{figures.memory.api_mb:,.0f} MB", ""),
        ("memory of a worker, at most", f"{figures.memory.worker_mb:,.0f} MB", ""),
        ("Gin Rummy: least deadwood of a hand", f"{gin.deadwood_us:,.1f} us", ""),
        ("Gin Rummy: best answer to a knock", f"{gin.layoff_us:,.1f} us", ""),
    ]
    return "\n".join(f"{what:<46}{value:>16}   {more}".rstrip() for what, value, more in rows)


def _beside(cpu_us: float, bets: Bets) -> str:
    return f"{cpu_us / bets.floor_handler_cpu_us:.1f} times (a), {cpu_us / bets.cpu_us:.1f} times a bet"


def goals(figures: Figures) -> str:
    """Each goal with what was reached of it."""
    lines = ["", f"{'goal':<50}{'here':>12}"]
    for what, here, reached in _goals(figures):
        lines.append(f"{what:<50}{here:>12}   {'reached' if reached else 'NOT REACHED'}")
    return "\n".join(lines)


def _goals(figures: Figures) -> Iterator[tuple[str, str, bool]]:
    bets = figures.bets
    to_floor = bets.cpu_us / bets.floor_handler_cpu_us
    yield f"CPU of a bet at most {CPU_TO_FLOOR} times (a)", f"{to_floor:.2f}", to_floor <= CPU_TO_FLOOR
    to_single = bets.transaction_per_command_cpu_us / bets.cpu_us
    yield f"... and at least {CPU_TO_SINGLE:.0f} times less than (b)", f"{to_single:.1f}", to_single >= CPU_TO_SINGLE
    to_bet = figures.settlement.cpu_us / bets.cpu_us
    yield "CPU of settling a bettor at most that of a bet", f"{to_bet:.2f}", to_bet <= 1
    rates = [
        ("relay", figures.relay, RELAY_PER_S),
        *((f"projection {name}", rate, PROJECTION_PER_S) for name, rate in figures.projections.items()),
        ("replay", figures.replay, REPLAY_PER_S),
    ]
    for what, rate, wanted in rates:
        yield f"{what} at least {wanted:,} events/s", f"{rate.events_per_s:,.0f}", rate.events_per_s >= wanted
    for what, used in (("an API process", figures.memory.api_mb), ("a worker", figures.memory.worker_mb)):
        yield f"{what} under {MEMORY_MB} MB", f"{used:,.0f}", used < MEMORY_MB
    solver = [
        ("least deadwood", figures.gin.deadwood_us, DEADWOOD_US),
        ("best lay-off", figures.gin.layoff_us, LAYOFF_US),
    ]
    for what, used, allowed in solver:
        yield f"{what} under {allowed:,} us of CPU a hand", f"{used:,.1f}", used < allowed

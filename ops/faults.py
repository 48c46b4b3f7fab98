"""The verb `faults`: real faults, made on private servers of its own, and everything held against an independent model.

Nothing lost, nothing doubled, no deck dealt twice, projections equal to a fresh fold, money conserved to the unit.
"""

import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import click
import structlog

from infra.embedded import EmbeddedError
from ops import fault_frozen, fault_kills, fault_restored
from ops.fault_ground import Ground, standing
from ops.fault_house import House, clients, open_house
from ops.stack import end_by_signals

Scenario = Callable[[House], Awaitable[None]]

SCENARIOS: dict[str, Scenario] = {
    scenario.__name__.replace("_", "-"): scenario
    for scenario in (
        fault_kills.api_killed,
        fault_kills.worker_killed,
        fault_kills.redis_lost,
        fault_kills.postgres_killed,
        fault_kills.killed_in_settling,
        fault_kills.killed_in_cancelling,
        fault_frozen.holder_frozen,
        fault_frozen.worker_frozen,
        fault_frozen.redis_frozen,
        fault_frozen.doubled,
        fault_restored.redis_set_back,
        fault_restored.restored_beside_newer_redis,
        fault_restored.restored_beside_older_redis,
        fault_restored.restored_beside_late_redis,
        fault_restored.restored_under_running_processes,
        fault_restored.restored_by_hand,
    )
}
PROCESSES = ("api-1", "api-2", "worker-1")


@click.command(epilog="\n  ".join(("\b\nThe scenarios:", *SCENARIOS)))
@click.argument("names", nargs=-1, metavar="[SCENARIO]...", type=click.Choice(tuple(SCENARIOS)))
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="Keep servers' data and logs here.")
def command(names: tuple[str, ...], data: Path | None) -> None:
    """Kill, freeze and set back processes and servers in the middle of load, and prove that nothing came of it.

    Private servers and processes of its own are used, whatever the environment says. Without a SCENARIO, all are run:
    three minutes. Exit 0 only if all hold.
    """
    end_by_signals()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))  # faults are expected
    try:
        if data is not None:
            data.mkdir(mode=0o700, parents=True, exist_ok=True)
            failed = asyncio.run(_run(data.resolve(), names or tuple(SCENARIOS)))
        else:
            with tempfile.TemporaryDirectory(prefix="croupier-faults-") as folder:
                failed = asyncio.run(_run(Path(folder), names or tuple(SCENARIOS)))
    except EmbeddedError as fault:
        raise click.ClickException(str(fault)) from fault
    except KeyboardInterrupt:
        raise click.Abort from None
    if failed:
        click.secho(f"{len(failed)} did not hold: {', '.join(failed)}", fg="red", bold=True)
        sys.exit(1)


async def _run(data: Path, names: Sequence[str]) -> list[str]:
    begun, failed = time.monotonic(), list[str]()
    click.echo("Starting private servers, two API processes and a worker ...")
    async with standing(data, *PROCESSES) as ground, clients() as http:
        ground.say = lambda line: click.echo(f"   {line}")
        for number, name in enumerate(names, 1):
            click.secho(f"\n[{number}/{len(names)}] {name}", bold=True)
            click.echo(f"   {(SCENARIOS[name].__doc__ or '').strip()}")
            house = await open_house(ground, f"{name}-{int(time.time())}", http)
            if not await _holds(ground, name, house):
                failed.append(name)
    if not failed:
        told = f"\nAll {len(names)} hold, in {time.monotonic() - begun:.0f} s"
        click.secho(told, fg="green", bold=True)
    return failed


async def _holds(ground: Ground, name: str, house: House) -> bool:
    begun = time.monotonic()
    try:
        await SCENARIOS[name](house)
    except Exception as problem:  # noqa: BLE001 - whatever went wrong, the other scenarios are run, and this one failed
        click.secho(f"   {type(problem).__name__}: {problem}", fg="red")
        return False
    finally:
        await ground.mend()
    commands, tip = house.model.counted(), await house.tip()
    click.echo(
        f"   {commands.total()} commands, {house.retries} sent again or asked after, {tip.position} events in epoch "
        f"{tip.epoch}: nothing lost, nothing doubled, {time.monotonic() - begun:.0f} s"
    )
    return True

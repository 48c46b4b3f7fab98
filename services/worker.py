"""The worker: everything that goes on without anybody asking. Any number of processes may run it at once.

Relays copy the logs to Redis, projectors fold them into rows, timers tell tables that their time has come and settle
final rounds, notaries sign how the logs stand, what is deployed is checked. A worker holds the vault keys: it deals.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import structlog

from infra.settings import Settings, SettingsError
from services import epochs
from services.heartbeat import Heartbeat
from services.notary import Notaries
from services.projector import Projectors
from services.relay import Relays
from services.selfcheck import SelfChecks
from services.timers import Timers
from services.wiring import Services, missing_keys, opened, warn_of_too_many_rights

log: Any = structlog.get_logger()


async def work(settings: Settings, stop: asyncio.Event, heartbeat: Path | None = None) -> None:
    """Run all of it until `stop` is set, and touch the heartbeat meanwhile.

    Raises SettingsError without vault keys, and what ended a part by itself.
    """
    if not settings.vault_keys:
        raise SettingsError("CROUPIER_VAULT_KEYS is not set: a worker deals, and needs the keys that seal its decks")
    if missing := missing_keys(settings):
        names = ",".join(f"{name}/k1:BASE64" for name in missing)
        raise SettingsError(f"CROUPIER_VAULT_KEYS has no key of its own for {', '.join(missing)}: add {names}")
    async with opened(settings, "worker") as services:
        heart = Heartbeat(("relay", "projector", "timers"))
        relays = Relays(services.pool, services.redis, restored=_renewing(services), beat=heart.beat)
        projectors = Projectors(services.pool, services.redis, beat=heart.beat)
        timers = Timers(services.executor, services.pool, services.redis, beat=heart.beat)
        services.executor.wake = relays.wake
        async with asyncio.TaskGroup() as group:
            checks = SelfChecks(services.executor, services.pool, settings)
            parts = [relays.run(), projectors.run(), timers.run(), checks.run()]
            parts.append(warn_of_too_many_rights(services.pool))
            if heartbeat:
                parts.append(heart.run(heartbeat))
            if settings.log_keys:
                parts.append(Notaries(services.pool, settings.log_keys).run())
            else:
                log.warning("nothing of the logs is signed: CROUPIER_LOG_KEYS is not set", alarm=True)
            tasks = [group.create_task(part) for part in parts]
            log.info("working")
            await stop.wait()
            for task in tasks:
                task.cancel()


def _renewing(services: Services) -> Callable[[str, int], Awaitable[None]]:
    async def renew(operator: str, epoch: int) -> None:
        await epochs.renew(services.executor, services.pool, operator, epochs.REDIS_AHEAD, epoch)

    return renew

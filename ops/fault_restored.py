"""Scenarios of servers set back to an earlier state: what players saw in the lost tail must never be dealt again.

A cold copy of a data folder is taken in the middle of a round; the round is played to its end, its seed is revealed,
another is committed. Then the copy takes the folder's place, as if nothing had happened since.
"""

import asyncio
import copy
import json
from typing import Any

from ops.fault_ground import until
from ops.fault_house import House
from ops.fault_load import under_load

BETTORS = 20
STAKES = {"player_a": 100, "tie": 300}
BETTING_S = 4
NOTICED_S = 20


async def restored_beside_newer_redis(house: House) -> None:
    """Postgres set back while all processes are down; Redis still has what the log lost."""
    await _play_and_lose(house, survivors=False)


async def restored_beside_older_redis(house: House) -> None:
    """Postgres set back, and Redis too, to a moment between the copy and the end: it still has more than the log."""
    await _play_and_lose(house, survivors=False, redis_copy=True)


async def restored_beside_late_redis(house: House) -> None:
    """Postgres set back; Redis, which knows, is back only when the worker has long been at work."""
    await _play_and_lose(house, survivors=False, redis_late=True)


async def restored_under_running_processes(house: House) -> None:
    """Postgres set back and Redis emptied while API and worker go on running: what they saw is the only witness."""
    await _play_and_lose(house, survivors=True, redis_lost=True)


async def restored_by_hand(house: House) -> None:
    """Postgres set back, Redis empty, all processes new: nobody can notice, so the operator says `croupier restore`."""
    await _play_and_lose(house, survivors=False, redis_lost=True, by_hand=True)


async def redis_set_back(house: House) -> None:
    """Redis set back behind the log while players bet: it is brought up to date, and nothing else happens."""
    await house.open_table()
    ground = house.ground
    earlier = ground.copy_of("redis")

    async def fault() -> None:
        await asyncio.sleep(1)
        ground.restore("redis", earlier)

    await under_load(house, 4, fault)
    await house.end()
    assert (await house.tip()).epoch == 1, "an epoch was begun for nothing"


async def _play_and_lose(
    house: House,
    *,
    survivors: bool,
    redis_copy: bool = False,
    redis_lost: bool = False,
    redis_late: bool = False,
    by_hand: bool = False,
) -> None:
    ground = house.ground
    await house.open_players(BETTORS)
    round_id = await house.open_table(betting_seconds=BETTING_S, pause_seconds=1)
    await house.bets(round_id, STAKES, house.players)
    await house.caught_up()
    earlier, known_then = ground.copy_of("postgres"), copy.deepcopy(house.model.sent)
    await house.seen("teen_patti_2020.RoundOpened", 2)
    redis_earlier = ground.copy_of("redis") if redis_copy else None
    await house.deposit(house.players[0], 77)
    await house.caught_up()
    lost = await house.rows()
    if not survivors:
        await ground.end_processes()
    ground.restore("postgres", earlier)
    if redis_earlier:
        ground.restore("redis", redis_earlier)
    if redis_lost or redis_late:
        ground.lose_redis(with_its_data=redis_lost)
    house.set_back(known_then)
    kept = len(await house.rows())
    assert kept < len(lost)
    if redis_late:
        await ground.start("worker-1")
        await asyncio.sleep(3)
    await ground.mend_servers()
    if by_hand:
        await ground.run("restore", "--reason", "set back by hand")
    await ground.mend()
    await _goes_on(house, kept, _seeds(lost))


async def _goes_on(house: House, kept: int, seeds: set[str]) -> None:
    """In a new epoch, with the old round's bets given back, and another round on a deck that nobody knows."""
    await _noticed(house)
    await house.seen("teen_patti_2020.RoundRefunded")
    await house.bets(await house.round_on(), STAKES, house.players)
    await house.seen("teen_patti_2020.RoundSettled")
    _deals_nothing_known(await house.rows(), kept, seeds)
    await house.end()


async def _noticed(house: House) -> None:
    async def in_new_epoch() -> bool:
        return await house.count("house.LogResumed") > 0

    waited = await until(in_new_epoch, NOTICED_S, f"{house.operator} goes on in a new epoch")
    house.ground.say(f"noticed within {waited:.1f} s")


def _seeds(rows: list[Any]) -> set[str]:
    """The hashes of all seeds that players ever saw published."""
    seeds = set[str]()
    for row in rows:
        told: dict[str, Any] = json.loads(row["data"])
        published: dict[str, Any] = told.get("next_seed") or told
        seed: Any = published.get("seed")
        if seed and not isinstance(seed, str):
            seeds.add(seed["hash"])
    return seeds


def _deals_nothing_known(rows: list[Any], kept: int, known: set[str]) -> None:
    """After the last event that was kept, no round opens on a known seed, and no card of an older round is dealt."""
    old_rounds = {json.loads(row["data"])["round"] for row in rows[:kept] if row["type"].endswith("RoundOpened")}
    for row in rows[kept:]:
        told = json.loads(row["data"])
        if row["type"].endswith("RoundOpened"):
            assert told["seed"]["hash"] not in known, f"position {row['position']} opens a round on a known seed"
        if row["type"].endswith("CardDealt"):
            assert told["round"] not in old_rounds, f"position {row['position']} deals a card that players know"

"""A match played again from the log: what belongs to none of its hands, how each of them ended, and its money."""

from collections.abc import AsyncGenerator, Awaitable, Callable

import msgspec
import pytest
from anyio import to_thread
from click.testing import CliRunner

from domain.game import Role, Viewer
from infra import postgres
from ops.replay import command
from services.replay import IN_WALLETS, Replay, replay
from tests.services.gin import ENTRY, PRIZE, RAKE, Gin
from tests.services.told import events_of, forge, replayed, round_row
from tests.services.town import OPERATOR, Town, town

PLAYERS = ("ann", "bob", "cid")
BOOKS = "the closed books say what the bettors' events add up to"
REFUNDS = "every refund is the whole open stake of a cancelled round"


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        for name in PLAYERS:
            await made.player(name, 40_000)
        yield made


@pytest.fixture
async def gin(acme: Town) -> Gin:
    return await Gin(acme.executor, acme.vault, acme.pool, OPERATOR).open(*PLAYERS)


def kinds(found: Replay) -> list[str]:
    return [step.type.partition(".")[2] for step in found.steps]


def tried(found: Replay) -> dict[str, int]:
    return {proof.what: proof.tried for proof in found.proofs}


def failing(found: Replay) -> set[str]:
    return {each.what for each in (*found.proofs, *found.checks) if not each.holds}


async def test_a_match_that_was_won_tells_of_entries_hands_and_prize_down_to_the_wallets(acme, gin):
    hands = await gin.match()
    found = await replayed(acme, "g.m1")
    assert failing(found) == set()
    assert (found.round, found.table, found.ended) == ("g.m1", "g", True)
    totals = found.totals
    assert (totals.bettors, totals.staked, totals.returned, totals.open) == (3, PRIZE, PRIZE - RAKE, 0)
    told = kinds(found)
    assert (told[0], told[-2:]) == ("MatchOpened", ["MatchSettled", "CashedOut"])
    assert told.count("RoundSettled") == len(hands) == len(found.fairness.rounds)
    assert found.fairness.rounds == tuple(hands)
    assert (tried(found)[BOOKS], tried(found)[IN_WALLETS]) == (1, 1)
    [paid] = [step.money for step in found.steps if step.money]
    assert paid.amount == PRIZE - RAKE


async def test_a_match_that_ended_between_hands_is_replayed_though_no_round_tells_of_its_end(acme, gin):
    [hand] = await gin.forfeited_between_hands()
    names = {type(event).__name__ for event in await events_of(acme, hand)}
    assert not names & {"MatchSettled", "Forfeited"}
    found = await replayed(acme, "g.m1")
    assert failing(found) == set()
    assert kinds(found)[-4:] == ["Forfeited", "Forfeited", "MatchSettled", "CashedOut"]
    assert (found.ended, found.totals.returned) == (True, PRIZE - RAKE)


@pytest.mark.parametrize("in_hand", [True, False])
async def test_a_match_that_was_cancelled_gave_back_each_entry_down_to_the_wallets(acme, gin, in_hand):
    await gin.played()
    if in_hand:
        await gin.still_on()
    await gin.void("CancelMatch", reason="the lights went out")
    found = await replayed(acme, "g.m1")
    assert failing(found) == set()
    assert kinds(found)[-4:] == ["MatchRefunded", *["CashedOut"] * 3]
    assert (found.totals.staked, found.totals.returned, found.totals.open) == (PRIZE, PRIZE, 0)
    assert (tried(found)[REFUNDS], tried(found)[IN_WALLETS]) == (3, 3)


async def test_each_match_is_replayed_apart_and_one_that_is_on_as_far_as_it_went(acme, gin):
    await gin.forfeited_between_hands()
    for player in PLAYERS:
        await gin.does(player, "SitDown", amount=ENTRY)
    await gin.supervisor("Pause", reason="so")
    await gin.supervisor("Resume")
    await gin.still_on()
    first, second = await replayed(acme, "g.m1"), await replayed(acme, "g.m2")
    assert (first.ended, second.ended) == (True, False)
    assert failing(first) == failing(second) == set()
    assert kinds(second) == ["MatchOpened"], "what came before the match, and in its hand, is not its own"
    assert (second.totals.staked, second.totals.returned, second.totals.open) == (PRIZE, 0, 3)
    assert second.fairness.rounds == ("g.2",)
    assert {step.position for step in first.steps}.isdisjoint(step.position for step in second.steps)
    assert await replay(acme.pool, OPERATOR, "g.m3", Viewer("aud", Role.AUDITOR)) is None
    assert await replay(acme.pool, "other", "g.m1", Viewer("aud", Role.AUDITOR)) is None


async def test_what_came_between_hands_is_told_with_the_table_as_it_was(acme, gin):
    await gin.played()
    await gin.supervisor("Pause", reason="so")
    await gin.supervisor("Resume")
    await gin.still_on()
    await gin.supervisor("Pause", reason="in the hand: told there")
    found = await replayed(acme, "g.m1")
    assert kinds(found) == ["MatchOpened", "RoundSettled", "RoundPaused", "RoundResumed", "SeedPublished"]
    assert [step.view and step.view.phase for step in found.steps] == [
        "roles_drawn",
        "between",
        "paused",
        "between",
        "between",
    ]


async def test_a_player_sees_of_a_match_what_the_table_showed_him_and_of_wallets_his_own(acme, gin):
    await gin.match()
    settled = (await round_row(acme, "g.m1")).result
    assert settled is not None
    winner = next(each["player"] for each in msgspec.json.decode(settled)["results"] if each["won"])
    for player in PLAYERS:
        found = await replayed(acme, "g.m1", Viewer(player, Role.PLAYER))
        assert found.holds
        assert ("CashedOut" in kinds(found)) == (player == winner)
        assert b'"sealed":"ey' not in msgspec.json.encode(found)


async def test_a_match_is_read_step_by_step(acme, gin):
    await gin.match()
    whole = await replayed(acme, "g.m1")
    for number in range(1, whole.steps_in_all + 1):
        one = await replayed(acme, "g.m1", after=number - 1, limit=1)
        assert (one.steps, one.steps_in_all) == ((whole.steps[number - 1],), whole.steps_in_all)


async def cancels(gin: Gin) -> None:
    await gin.played()
    await gin.void("CancelMatch", reason="so")


@pytest.mark.parametrize(
    ("play", "kind", "old", "new", "found"),
    [
        (Gin.match, "gin_rummy.MatchSettled", f'"rake":{RAKE}', '"rake":740', BOOKS),
        (Gin.match, "gin_rummy.MatchSettled", f'"won":{PRIZE - RAKE}', '"won":14260', BOOKS),
        (Gin.match, "wallet.CashedOut", f'"amount":{PRIZE - RAKE}', '"amount":14260', IN_WALLETS),
        (Gin.forfeited_between_hands, "gin_rummy.MatchSettled", f'"won":{PRIZE - RAKE}', '"won":14260', IN_WALLETS),
        (cancels, "gin_rummy.MatchRefunded", f'"won":{ENTRY}', '"won":4000', REFUNDS),
        (cancels, "wallet.CashedOut", f'"amount":{ENTRY}', '"amount":4000', IN_WALLETS),
        (Gin.match, "gin_rummy.RoundScored", '"points":', '"points":1', "the hand g.1 proves itself"),
    ],
)
async def test_what_is_altered_afterwards_is_found(
    acme: Town,
    gin: Gin,
    database: str,
    play: Callable[[Gin], Awaitable[object]],
    kind: str,
    old: str,
    new: str,
    found: str,
):
    await play(gin)
    await forge(database, kind, old, new)
    assert found in failing(await replayed(acme, "g.m1"))


async def test_a_cash_out_that_is_missing_is_found(acme, gin, database):
    await cancels(gin)
    await forge(database, "wallet.CashedOut", '"table":"g"', '"table":"h"')
    assert IN_WALLETS in failing(await replayed(acme, "g.m1"))
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("delete from events where type = 'wallet.CashedOut'")
    assert IN_WALLETS in failing(await replayed(acme, "g.m1"))


async def test_the_verb_replays_hands_and_matches_and_says_when_there_is_none(acme, gin):
    hands = await gin.match()
    environment = {"CROUPIER_POSTGRES": acme.dsn, "CROUPIER_REDIS": acme.redis_url, "CROUPIER_SECRET": "A" * 44}

    async def printed(round_id: str) -> tuple[int, str]:
        done = await to_thread.run_sync(lambda: CliRunner().invoke(command, [round_id], env=environment))
        return done.exit_code, done.output

    for hand in (hands[0], hands[-1]):
        code, said = await printed(hand)
        assert (code, "RoundScored" in said, "FAILS" in said) == (0, True, False), said
    code, said = await printed("g.m1")
    assert (code, "MatchSettled" in said, "RoundScored" in said, "FAILS" in said) == (0, True, False, False), said
    assert f"3 bettors, {PRIZE} staked, {PRIZE - RAKE} returned, 0 still open" in said
    code, said = await printed("g.m2")
    assert (code, "the log knows no round 'g.m2'" in said) == (1, True)

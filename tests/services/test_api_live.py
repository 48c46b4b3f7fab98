"""A table live by server-sent events: every viewer's own view after each event, without gaps and without repeats."""

import asyncio
import json

import pytest

from domain.game import Role
from infra import fanout
from services.api import feed, sse
from services.relay import Relays


async def beginning(casino) -> tuple[str, str]:
    ann = await casino.player("ann", 10_000)
    return ann, await casino.table("t1")


@pytest.fixture
async def relayed(casino):
    """The casino with a relay that copies its log to Redis."""
    relays = Relays(casino.services.pool, casino.services.redis)
    task = asyncio.create_task(relays.run())
    yield casino
    task.cancel()
    await asyncio.wait([task])


async def followed(casino) -> None:
    await until(lambda: casino.app.hub.followers)
    await asyncio.sleep(0.05)


async def until(true) -> None:
    for _ in range(500):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come true")


async def test_a_player_sees_own_bets_and_all_that_the_table_shows(relayed):
    ann, round_id = await beginning(relayed)
    bob = await relayed.player("bob", 10_000)
    watching = asyncio.create_task(relayed.watch("t1", ann, 4))
    await followed(relayed)
    await relayed.bet(ann, round_id, "mine", player_a=500)
    await relayed.bet(bob, round_id, "his", player_b=700)
    await relayed.done("/v1/players/ann/deposits", {"amount": 5, "currency": "EUR"})
    supervisor = relayed.bearer(Role.SUPERVISOR)
    await relayed.done("/v1/tables/t1/commands", {"type": "Pause", "reason": "a fly on the table"}, supervisor)
    await relayed.done("/v1/tables/t1/commands", {"type": "Resume"}, supervisor)
    first, bet, paused, resumed = await watching
    assert (first[1], first[2]["event"], first[2]["view"]["phase"]) == ("view", None, "betting")
    assert (bet[1], bet[2]["event"]["bet"]["id"]) == ("wallet.BetStaked", "mine")
    assert [each["id"] for each in bet[2]["view"]["bets"]] == ["mine"]
    assert (paused[1], paused[2]["view"]["phase"]) == ("teen_patti_2020.RoundPaused", "paused")
    assert [each["id"] for each in paused[2]["view"]["bets"]] == ["mine"]
    assert resumed[2]["view"]["phase"] == "betting"
    assert [frame[0] for frame in (bet, paused, resumed)] == [frame[2]["position"] for frame in (bet, paused, resumed)]


async def test_staff_see_the_table_and_no_bets(relayed):
    ann, round_id = await beginning(relayed)
    for role in (Role.STUDIO, Role.SUPERVISOR, Role.OPERATOR):
        watching = asyncio.create_task(relayed.watch("t1", relayed.bearer(role), 2))
        await followed(relayed)
        await relayed.bet(ann, round_id, f"bet-{role}", player_a=500)
        await relayed.done("/v1/tables/t1/commands", {"type": "Pause", "reason": "x"}, relayed.bearer(Role.SUPERVISOR))
        await relayed.done("/v1/tables/t1/commands", {"type": "Resume"}, relayed.bearer(Role.SUPERVISOR))
        _, paused = await watching
        assert (paused[1], paused[2]["view"].get("bets", [])) == ("teen_patti_2020.RoundPaused", [])


async def test_whoever_comes_again_goes_on_without_gap_and_without_repeat(relayed):
    """Every position that one unbroken stream shows, a stream resumed at that position shows the rest of, the same."""
    ann, round_id = await beginning(relayed)
    start = await relayed.position()
    watching = asyncio.create_task(relayed.watch("t1", ann, 9))
    await followed(relayed)
    await relayed.bet(ann, round_id, "one", player_a=500)
    await relayed.bet(ann, round_id, "two", tie=100)
    await relayed.done("/v1/tables/t1/commands", {"type": "CancelBet", "bet": "one"}, ann)
    for _ in range(2):
        await relayed.done("/v1/tables/t1/commands", {"type": "Pause", "reason": "x"}, relayed.bearer(Role.SUPERVISOR))
        await relayed.done("/v1/tables/t1/commands", {"type": "Resume"}, relayed.bearer(Role.SUPERVISOR))
    await relayed.bet(ann, round_id, "three", player_b=300)
    whole = await watching
    assert whole[0][0] == start
    for index, frame in enumerate(whole[:-1]):
        rest = whole[index + 1 :]
        assert await relayed.watch("t1", ann, len(rest), last_id=frame[0]) == rest


async def test_what_happens_between_the_first_look_and_the_following_is_told_once(relayed, monkeypatch):
    ann, round_id = await beginning(relayed)
    look = sse.Watch._now

    async def late_look(watch: sse.Watch) -> sse.Scene:
        await relayed.bet(ann, round_id, "early", player_a=500)
        await asyncio.sleep(0.3)  # the follower has it already, and the look will show it too
        return await look(watch)

    monkeypatch.setattr(sse.Watch, "_now", late_look)
    watching = asyncio.create_task(relayed.watch("t1", ann, 2))
    await followed(relayed)
    await asyncio.sleep(0.5)
    await relayed.bet(ann, round_id, "later", player_a=500)
    first, second = await watching
    assert [each["id"] for each in first[2]["view"]["bets"]] == ["early"]
    assert second[2]["event"]["bet"]["id"] == "later"


async def test_a_stream_resumed_over_the_end_of_a_round_shows_how_it_ended(casino):
    ann = await casino.player("ann", 10_000)
    round_id = await casino.table("t1", betting_seconds=1)
    await casino.bet(ann, round_id, "mine", player_a=1_000)
    at = await casino.position()
    await asyncio.sleep(1)
    await casino.until("t1", "between")
    await casino.until("t1", "betting")
    kinds = [frame[1].partition(".")[2] for frame in await casino.watch("t1", ann, 11, last_id=at)]
    assert kinds == [
        "BettingClosed", *["CardDealt"] * 6, "RoundResulted", "BetsSettled", "RoundSettled", "RoundOpened",
    ]  # fmt: skip


@pytest.mark.parametrize("last_id", [10**9, 0])
async def test_whoever_cannot_be_resumed_is_shown_the_table_as_it_is(casino, last_id, monkeypatch):
    monkeypatch.setattr(sse, "MISSED_MAX", 2)
    ann, round_id = await beginning(casino)
    for number in range(3):
        await casino.bet(ann, round_id, f"b{number}", player_a=500)
    [frame] = await casino.watch("t1", ann, 1, last_id=last_id)
    assert (frame[1], frame[0], len(frame[2]["view"]["bets"])) == ("view", await casino.position(), 3)


async def test_without_redis_or_relay_the_log_itself_is_followed(casino):
    ann, round_id = await beginning(casino)
    watching = asyncio.create_task(casino.watch("t1", ann, 2))
    await followed(casino)
    await casino.bet(ann, round_id, "mine", player_a=500)
    assert (await watching)[1][1] == "wallet.BetStaked"


async def test_a_redis_that_loses_everything_in_the_middle_makes_no_gap(relayed):
    ann, round_id = await beginning(relayed)
    watching = asyncio.create_task(relayed.watch("t1", ann, 7))
    await followed(relayed)
    for number in range(6):
        await relayed.bet(ann, round_id, f"b{number}", player_a=500)
        if number in (1, 3):
            await relayed.services.redis.flushdb()
    frames = await watching
    assert [frame[2]["event"]["bet"]["id"] for frame in frames[1:]] == [f"b{number}" for number in range(6)]


async def test_a_lie_in_redis_is_not_believed(casino):
    """An entry whose link does not fit is passed over: the log says what happened."""
    ann, round_id = await beginning(casino)
    watching = asyncio.create_task(casino.watch("t1", ann, 2))
    await followed(casino)
    false = (await casino.position() + 1, "table:t1", 99, "teen_patti_2020.TableClosed", 1, None, None, "x", "clock", 1)
    entry = fanout.encode((*false, '{"type":"teen_patti_2020.TableClosed"}', b"h" * 32), b"b" * 32)
    await casino.services.redis.xadd(fanout.key("lotus", 1), {"e": entry}, id=f"{false[0]}-0")
    await casino.bet(ann, round_id, "mine", player_a=500)
    assert (await watching)[1][1] == "wallet.BetStaked"


async def test_a_stream_ends_by_itself_and_says_when_to_come_again(casino, monkeypatch):
    monkeypatch.setattr(sse, "STREAM_S", 0.5)
    monkeypatch.setattr(sse, "KEEP_ALIVE_S", 0.1)
    ann, _ = await beginning(casino)
    answer = await casino.ask("GET", "/v1/tables/t1/events", ann)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.text.startswith("retry: 500\n\n")
    assert answer.text.count(":\n\n") >= 2
    assert casino.app.hub.followers == 0


async def test_one_who_does_not_keep_up_is_let_go_and_holds_up_nobody(casino, monkeypatch):
    monkeypatch.setattr(feed, "BUFFER_MAX", 3)
    ann, round_id = await beginning(casino)
    hub = casino.app.hub
    async with hub.follow("lotus", ["wallet:ann"]) as slow, hub.follow("lotus", ["wallet:ann"]) as quick:
        taken = []
        for number in range(6):
            await casino.bet(ann, round_id, f"b{number}", player_a=500)
            row = await quick.next(5)
            taken.append(row.event.bet.id)
        assert taken == [f"b{number}" for number in range(6)]
        assert slow.gone
        assert not quick.gone
    assert hub.followers == 0


async def test_when_the_process_is_to_end_all_streams_end_at_once(casino):
    ann, _ = await beginning(casino)
    watching = asyncio.create_task(casino.ask("GET", "/v1/tables/t1/events", ann))
    await followed(casino)
    casino.app.end()
    async with asyncio.timeout(1):
        assert (await watching).status_code == 200
    again = await casino.ask("GET", "/v1/tables/t1/events", ann)
    assert (again.status_code, again.json()["retryable"]) == (503, True)


async def test_a_viewer_who_leaves_is_forgotten(casino):
    ann, _ = await beginning(casino)
    await casino.watch("t1", ann, 1)
    await until(lambda: not casino.app.hub.followers)


async def test_a_last_id_that_is_none_is_refused(casino):
    ann, _ = await beginning(casino)
    answer = await casino.ask("GET", "/v1/tables/t1/events", ann, headers={"last-event-id": "-1"})
    assert (answer.status_code, json.loads(answer.text)["code"]) == (400, "BadCursor")

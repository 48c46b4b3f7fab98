"""What the projections show: balances, statement, rounds with their bettors, and the audit log."""

from collections.abc import AsyncGenerator

import msgspec
import pytest

from domain import house
from domain.game import Role
from domain.money import Payout
from domain.wallet import commands
from infra import eventlog
from services import projector
from services.batch import Accepted, Refused
from services.projections import audit, balances, rounds, statement
from services.projections.balances import Balance
from services.projections.statement import Kind
from tests.services.town import OPERATOR, Town, town


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        for name in ("ann", "bob"):
            await made.player(name, 10_000)
        yield made


async def balance(acme: Town, name: str = "ann") -> Balance:
    await acme.project()
    found = await balances.one(acme.pool, OPERATOR, name)
    assert found is not None
    return found


async def kinds(acme: Town, name: str = "ann") -> list[tuple[Kind, int]]:
    await acme.project()
    page = await statement.page(acme.pool, OPERATOR, name, after=0)
    return [(each.kind, each.amount) for each in page]


async def bettor(acme: Town, name: str, round_id: str) -> rounds.Bettor:
    await acme.project()
    [found] = [each for each in await rounds.bettors(acme.pool, OPERATOR, round_id) if each.player == name]
    return found


async def round_row(acme: Town, round_id: str) -> rounds.Round:
    await acme.project()
    found = await rounds.one(acme.pool, OPERATOR, round_id)
    assert found is not None
    return found


async def supervise(acme: Town, type_name: str, **fields: str) -> None:
    answer = await acme.table(Role.SUPERVISOR, {"type": type_name, **fields}, actor="sue")
    assert isinstance(answer, Accepted), answer


# --- Balances -----------------------------------------------------------------------------------------------------


async def test_a_balance_follows_every_movement_and_open_stakes_go_with_the_bets(acme):
    await acme.open_table(betting_seconds=60)
    round_id = await acme.round_is_on()
    assert await balance(acme) == Balance("ann", "EUR", 10_000, 0, False, 0, 3)
    await acme.bet("ann", round_id, key="one", player_a=1_000, tie=200)
    await acme.bet("ann", round_id, key="two", tie=500)
    assert (await balance(acme)).open_stakes == 1_700
    await acme.cancel_bet("ann", "two")
    shown = await balance(acme)
    assert (shown.balance, shown.open_stakes) == (8_800, 1_200)
    await acme.void("a fault")
    await acme.finish_round(round_id, ["ann"])
    shown = await balance(acme)
    assert (shown.balance, shown.open_stakes) == (10_000, 0)


async def test_a_block_shows_and_leaves_the_money_alone(acme):
    await acme.send("ops", Role.OPERATOR, "wallet:ann", commands.Block("asked"))
    shown = await balance(acme)
    assert (shown.blocked, shown.balance, shown.currency) == (True, 10_000, "EUR")
    await acme.send("ops", Role.OPERATOR, "wallet:ann", commands.Unblock())
    assert not (await balance(acme)).blocked


async def test_balances_are_paged_by_name(acme):
    await acme.project()
    assert [each.player for each in await balances.page(acme.pool, OPERATOR, limit=1)] == ["ann"]
    assert [each.player for each in await balances.page(acme.pool, OPERATOR, after="ann")] == ["bob"]
    assert await balances.one(acme.pool, OPERATOR, "nobody") is None


# --- Statement ----------------------------------------------------------------------------------------------------


async def test_every_movement_is_in_the_statement_and_each_goes_on_from_the_one_before(acme):
    await acme.open_table()
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, key="one", player_a=1_000, player_b=1_000)
    await acme.bet("ann", round_id, key="two", tie=500)
    await acme.cancel_bet("ann", "two")
    await acme.finish_round(round_id, ["ann"])
    await acme.send("ops", Role.OPERATOR, "wallet:ann", commands.Withdraw(300, "EUR", "out-1"))
    await acme.adjust("ann", -50, "a slip")
    await acme.project()
    page = await statement.page(acme.pool, OPERATOR, "ann", after=0)
    wanted = [Kind.DEPOSIT, Kind.BET, Kind.BET, Kind.BET_CANCELLED, Kind.SETTLEMENT, Kind.WITHDRAWAL, Kind.ADJUSTMENT]
    assert [each.kind for each in page] == wanted
    assert [each.reference for each in page] == ["ref-1", "one", "two", "two", "", "out-1", "a slip"]
    assert [each.round for each in page] == [None, *[round_id] * 4, None, None]
    before = 0
    for each in page:
        assert (each.before, each.before + each.amount) == (before, each.after)
        before = each.after
    assert page[-1].after == (await balance(acme)).balance


async def test_a_refund_names_its_reason(acme):
    await acme.open_table(betting_seconds=60)
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, tie=500)
    await acme.void("the lights went out")
    await acme.finish_round(round_id, ["ann"])
    assert await kinds(acme) == [(Kind.DEPOSIT, 10_000), (Kind.BET, -500), (Kind.REFUND, 500)]
    [newest] = await statement.page(acme.pool, OPERATOR, "ann", limit=1)
    assert newest.reference == "the lights went out"


async def test_the_statement_is_paged_both_ways_by_position(acme):
    for _ in range(5):
        await acme.deposit("ann")
    await acme.project()
    oldest = [each.position for each in await statement.page(acme.pool, OPERATOR, "ann", after=0)]
    newest = [each.position for each in await statement.page(acme.pool, OPERATOR, "ann")]
    assert newest == oldest[::-1]
    first = await statement.page(acme.pool, OPERATOR, "ann", limit=2)
    rest = await statement.page(acme.pool, OPERATOR, "ann", before=first[-1].position)
    assert [each.position for each in (*first, *rest)] == newest
    assert [each.position for each in await statement.page(acme.pool, OPERATOR, "ann", after=oldest[2], limit=2)] == (
        oldest[3:5]
    )


# --- Rounds -------------------------------------------------------------------------------------------------------


async def test_a_round_is_told_from_its_opening_to_its_closed_books(acme):
    await acme.open_table()
    round_id = await acme.round_is_on()
    opened = await round_row(acme, round_id)
    assert (opened.status, opened.table, opened.game, opened.number) == ("open", "t", "teen_patti_2020", 1)
    assert (opened.closed_at, opened.ended_at, opened.result) == (None, None, None)
    await acme.bet("ann", round_id, player_a=1_000, tie=100)
    await acme.bet("ann", round_id, player_b=500)
    await acme.bet("bob", round_id, player_b=2_000)
    betting = await round_row(acme, round_id)
    assert (betting.bettors, betting.staked, betting.returned) == (2, 3_600, 0)
    await acme.finish_round(round_id, ["ann", "bob"])
    ended = await round_row(acme, round_id)
    books = [row.event async for row in eventlog.of_round(acme.pool, OPERATOR, round_id)][-1]
    assert ended.status == "settled"
    assert (ended.bettors, ended.staked, ended.returned) == (books.bettors, books.staked, books.returned)
    assert ended.closed_at is not None
    assert ended.ended_at is not None
    assert opened.opened_at < ended.closed_at <= ended.ended_at
    assert ended.result is not None
    assert set(msgspec.json.decode(ended.result)) == {"showdown"}
    assert len(msgspec.json.decode(ended.result)["showdown"]["hand_a"]) == 3


async def test_a_bettors_row_has_every_wager_with_its_odds_and_return(acme):
    await acme.open_table()
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, key="one", player_a=1_000, player_b=1_000)
    await acme.bet("ann", round_id, key="two", tie=500)
    await acme.cancel_bet("ann", "two")
    open_bets = await bettor(acme, "ann", round_id)
    assert open_bets.status == "open"
    assert open_bets.wagers == (
        Payout("one", "player_a", 1_000, "", 0),
        Payout("one", "player_b", 1_000, "", 0),
        Payout("two", "tie", 500, "cancelled", 500),
    )
    await acme.finish_round(round_id, ["ann"])
    ended = await bettor(acme, "ann", round_id)
    settled = [row.event async for row in eventlog.of_round(acme.pool, OPERATOR, round_id)][-2]
    assert ended.status == "settled"
    assert ended.wagers == (Payout("two", "tie", 500, "cancelled", 500), *settled.payouts)
    assert (ended.staked, ended.returned) == (2_000, settled.returned)
    assert ended.ended_at is not None
    assert (ended.first, ended.placed_at) == (open_bets.first, open_bets.placed_at)


async def test_whoever_takes_every_bet_back_is_no_bettor(acme):
    await acme.open_table(betting_seconds=60)
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, key="one", tie=500)
    await acme.bet("bob", round_id, tie=500)
    await acme.cancel_bet("ann", "one")
    row = await round_row(acme, round_id)
    assert (row.bettors, row.staked) == (1, 500)
    assert (await bettor(acme, "ann", round_id)).status == "cancelled"
    await acme.bet("ann", round_id, tie=300)
    row = await round_row(acme, round_id)
    assert (row.bettors, row.staked) == (2, 800)
    assert (await bettor(acme, "ann", round_id)).status == "open"


async def test_a_cancelled_round_says_why_and_its_wagers_are_refunded(acme):
    await acme.open_table(betting_seconds=60)
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, key="one", tie=500)
    await acme.void("a fault")
    assert (await round_row(acme, round_id)).status == "cancelled"
    await acme.finish_round(round_id, ["ann"])
    row = await round_row(acme, round_id)
    assert (row.status, row.bettors, row.staked, row.returned) == ("refunded", 1, 500, 500)
    assert row.result is not None
    assert msgspec.json.decode(row.result) == {"reason": "a fault"}
    refunded = await bettor(acme, "ann", round_id)
    assert refunded.status == "refunded"
    assert refunded.wagers == (Payout("one", "tie", 500, "refunded", 500),)


async def test_a_round_without_bets_is_skipped_and_still_told(acme):
    await acme.open_table()
    round_id = await acme.round_is_on()
    await acme.tick(lambda state: getattr(getattr(state, "round", None), "id", round_id) != round_id)
    row = await round_row(acme, round_id)
    assert (row.status, row.bettors) == ("skipped", 0)
    assert row.ended_at is not None


async def test_rounds_and_a_players_bets_are_paged_from_the_newest(acme):
    await acme.open_table()
    played: list[str] = []
    for _ in range(3):
        played.append(await acme.round_is_on())
        await acme.bet("ann", played[-1], tie=100)
        await acme.finish_round(played[-1], ["ann"])
    await acme.project()
    newest = await rounds.page(acme.pool, OPERATOR, "t", limit=2)
    older = await rounds.page(acme.pool, OPERATOR, "t", before=newest[-1].first)
    assert [each.round for each in (*newest, *older)] == played[::-1]
    assert [each.round for each in await rounds.page(acme.pool, OPERATOR)] == played[::-1]
    assert await rounds.page(acme.pool, OPERATOR, "another") == []
    bets = await rounds.history(acme.pool, OPERATOR, "ann", limit=2)
    older_bets = await rounds.history(acme.pool, OPERATOR, "ann", before=bets[-1].first)
    assert [each.round for each in (*bets, *older_bets)] == played[::-1]
    assert await rounds.history(acme.pool, OPERATOR, "bob") == []


async def test_one_event_at_a_time_gives_the_same_rows_as_all_at_once(acme, monkeypatch):
    """However the events fall into batches, the rows are the same: here each is a batch of its own."""
    await acme.open_table()
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, key="one", player_a=1_000, player_b=1_000)
    await acme.bet("ann", round_id, key="two", tie=500)
    await acme.cancel_bet("ann", "two")
    await acme.finish_round(round_id, ["ann"])
    await acme.project()
    at_once = await everything(acme)
    await acme.pool.execute("delete from checkpoints")
    for table in ("balances", "statement", "rounds", "bettors", "audit"):
        await acme.pool.execute(f"delete from {table}")
    monkeypatch.setattr(projector, "BATCH", 1)
    await acme.project()
    assert await everything(acme) == at_once


async def everything(acme: Town) -> list[str]:
    found: list[str] = []
    for table in ("balances", "statement", "rounds", "bettors", "audit"):
        found += [repr(dict(row)) for row in await acme.pool.fetch(f"select * from {table} order by {table}::text")]
    return found


# --- Audit --------------------------------------------------------------------------------------------------------


async def test_the_audit_log_says_who_did_what_when_and_why(acme):
    await acme.open_table(betting_seconds=60)
    await acme.round_is_on()
    await supervise(acme, "Pause", reason="the table shakes")
    await acme.project()
    [told] = await audit.page(acme.pool, OPERATOR, actor="sue")
    assert (told.entry.role, told.entry.action) == ("supervisor", "teen_patti_2020.RoundPaused")
    assert (told.entry.subject, told.entry.round) == ("table:t", "t.1")
    assert told.entry.command is not None
    assert told.told["reason"] == "the table shakes"
    tip = await acme.tip()
    assert (told.entry.position, told.entry.at) == (tip.position, tip.at)


async def test_a_refused_bet_is_there_with_its_rule_and_facts(acme):
    await acme.open_table(betting_seconds=60)
    round_id = await acme.round_is_on()
    refused = await acme.bet("ann", round_id, tie=100_000)
    assert isinstance(refused, Refused)
    await acme.project()
    [told] = await audit.page(acme.pool, OPERATOR, subject="refused:ann")
    assert told.entry.rule == refused.rule == "InsufficientFunds"
    assert told.told["facts"] == {"balance": 10_000, "needed": 100_000}
    assert told.told["asked"] == "asked so"


async def test_every_event_has_its_row_and_they_are_paged(acme):
    await acme.project()
    page = await audit.page(acme.pool, OPERATOR, limit=2)
    rest = await audit.page(acme.pool, OPERATOR, before=page[-1].entry.position)
    tip = await acme.tip()
    assert [each.entry.position for each in (*page, *rest)] == list(range(tip.position, 0, -1))


async def test_the_audit_log_shows_no_sealed_seed_and_no_digest_of_a_key(acme):
    await acme.send("ops", Role.OPERATOR, "house", house.MintKey("k-1", Role.PLAYER, "d1" * 32, "shop"))
    await acme.open_table(betting_seconds=60)
    await acme.round_is_on()
    await acme.project()
    shown = msgspec.json.encode(await audit.page(acme.pool, OPERATOR)).decode()
    sealed = await acme.pool.fetchval("select data -> 'seed' ->> 'sealed' from events where type like '%SeedPublished'")
    assert len(sealed) > 40
    assert sealed not in shown
    assert "d1" * 8 not in shown
    assert '"label":"shop"' in shown

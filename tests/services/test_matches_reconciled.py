"""Matches cut off by a restored log; and what reconcile finds of a forger's work, and of rows that differ."""

import re
from collections.abc import AsyncGenerator

import pytest

from infra import postgres
from services import epochs, reconcile_rounds
from services.projections import statement
from tests.services.gin import ENTRY, GAME, PRIZE, RAKE, Gin
from tests.services.told import differences, forge, replayed, round_row
from tests.services.town import OPERATOR, Town, town

CASH = 20_000
PLAYERS = ("ann", "bob", "cid")


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        for name in PLAYERS:
            await made.player(name, CASH)
        yield made


@pytest.fixture
async def gin(acme: Town) -> Gin:
    return await Gin(acme.executor, acme.vault, acme.pool, OPERATOR).open(*PLAYERS)


async def again(gin: Gin) -> None:
    """The same three sit down for another match."""
    for player in PLAYERS:
        await gin.does(player, "SitDown", amount=ENTRY)


@pytest.mark.parametrize("in_hand", [True, False])
async def test_a_match_that_a_restored_log_cuts_off_is_refunded(acme, gin, in_hand):
    played = await gin.played()
    on = await gin.still_on() if in_hand else None
    await epochs.renew(acme.executor, acme.pool, OPERATOR, "restored")
    assert (await round_row(acme, "g.m1")).status == "refunded"
    assert (await round_row(acme, played)).status == "settled"
    if on is not None:
        assert (await round_row(acme, on)).status == "refunded"
        assert (await replayed(acme, on)).holds
    for player in PLAYERS:
        assert (await statement.page(acme.pool, OPERATOR, player))[0].after == CASH
    assert GAME.holdings(await gin.state()) == 0
    assert await differences(acme) == []


MONEY = "money held at table:g after event"
CARRIED = "wallet and table:g differ by"


@pytest.mark.parametrize(
    ("kind", "old", "new", "said"),
    [
        (
            "wallet.BoughtIn",
            '"amount":5000,"before":20000,"after":15000',
            '"amount":5010,"before":20000,"after":14990',
            ["ann's wallet and table:g differ by 10 in what was brought there", "money held at table:g: "],
        ),
        ("gin_rummy.SeatTaken", '"amount":5000', '"amount":5010', [CARRIED, MONEY]),
        ("gin_rummy.MatchSettled", f'"rake":{RAKE}', '"rake":740', [MONEY, "round g.m1"]),
        ("gin_rummy.MatchSettled", f'"won":{PRIZE - RAKE}', '"won":14260', [CARRIED, MONEY, "round g.m1"]),
        ("gin_rummy.MatchOpened", f'"prize":{PRIZE}', '"prize":15030', ["paid into g.m1, as its end tells"]),
        ("gin_rummy.RoundOpened", f'"paid":{ENTRY}', '"paid":5010', [MONEY]),
    ],
)
async def test_money_that_a_forger_makes_at_the_table_is_found(acme, gin, database, kind, old, new, said):
    await gin.match()
    await acme.project()
    assert await differences(acme) == []
    await forge(database, kind, old, new, once=True)
    found = await differences(acme)
    for words in said:
        assert any(words in line for line in found), (words, found)


PLANTED = {
    "a prize": ("update rounds set staked = staked + 1 where round = 'g.m1'", "round g.m1"),
    "a match's end": ("update rounds set result = '{}' where round = 'g.m1'", "round g.m1"),
    "a match that is gone": ("delete from rounds where round = 'g.m2'", "round g.m2 is missing"),
    "a match that never was": (
        "update rounds set round = 'g.m9' where round = 'g.m2'",
        "rounds has g.m9, which is not in the log",
    ),
    "a hand's points": ("update rounds set result = '{}' where round = 'g.1'", "round g.1"),
    "what was won": (
        "update bettors set returned = returned + 1 where player = 'ann' and round = 'g.m1'",
        "bettor ann of round g.m1",
    ),
    "a player who is gone": (
        "delete from bettors where player = 'bob' and round = 'g.m2'",
        "bettor bob of round g.m2 is missing",
    ),
    "a player who lags": (
        "update bettors set last = first where player = 'cid' and round = 'g.m1'",
        "bettor cid of round g.m1 stands at",
    ),
    "a player ahead of all": (
        "update bettors set last = last + 1 where player = 'cid' and round = 'g.m2'",
        "bettor cid of round g.m2 stands at",
    ),
    "an entry": (
        "update streams set state = replace(state::text, '\"paid\":5', '\"paid\":6')::json where stream = 'table:g'",
        "state of table:g at version",
    ),
    "a buy-in": ("update statement set reference = 'q' where kind = 'buy_in'", "statement at"),
}


async def test_each_planted_difference_in_what_is_made_of_a_match_is_found(acme, gin, database):
    await gin.forfeited_between_hands()
    await again(gin)
    await gin.still_on()
    await acme.project()
    assert await differences(acme) == []
    async with postgres.connected(database, name="tamper") as owner:
        for planted, (change, said) in PLANTED.items():
            [table] = re.findall(r"^(?:update|delete from) (\w+)", change)
            await owner.execute(f"create table before as select * from {table}")
            assert (await owner.execute(change)).rpartition(" ")[2] != "0"
            found = await differences(acme)
            assert any(said in line for line in found), (planted, found)
            await owner.execute(f"delete from {table}")
            await owner.execute(f"insert into {table} select * from before")
            await owner.execute("drop table before")
    assert await differences(acme) == []


async def test_a_match_that_ends_while_it_is_looked_at_is_compared_as_it_then_is(acme, gin, monkeypatch):
    """Its row is read after the tip of the log was, and has taken in what is beyond it."""
    await gin.played()
    await acme.project()
    stored, late = reconcile_rounds._stored, list[str]()

    async def later(*arguments):
        if not late:
            late.append("once")
            await gin.void("CancelMatch", reason="the lights went out")
            await acme.project()
        return await stored(*arguments)

    monkeypatch.setattr(reconcile_rounds, "_stored", later)
    assert await differences(acme) == []
    assert late
    late.clear()
    for player in PLAYERS:
        await gin.does(player, "SitDown", amount=ENTRY)
    await gin.played()
    await acme.project()
    assert await differences(acme) == []


async def test_matches_are_compared_across_the_edges_of_pages(acme, gin, database, monkeypatch):
    monkeypatch.setattr("infra.eventlog.PAGE", 2)
    await gin.match()
    await acme.project()
    assert await differences(acme) == []
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("update rounds set returned = returned + 1 where round = 'g.m1'")
    [said] = await differences(acme)
    assert said.startswith("round g.m1: ")

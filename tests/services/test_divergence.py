"""Every round decided again by the deployed code: what differs is an alarm, unless somebody said why it may stand."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from infra import postgres
from ops.__main__ import croupier
from services.settlement import settle_round
from tests.services.conftest import Casino

Run = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture(scope="module")
async def played(house_of_module: Casino) -> Casino:
    """One round settled with two bettors, one cancelled, one still on."""
    house = house_of_module
    tokens = [await house.player(name) for name in ("ann", "bob")]
    on = await house.table("t1", betting_seconds=2)
    for token in tokens:
        assert (await house.bet(token, on, player_a=1_000, player_b=1_000, tie=100)).status_code == 200
    assert (await house.bet(tokens[0], on, tie=100_000_000)).status_code == 422
    on = await round_after(house, on)
    await house.void("t1", "a test")
    on = await round_after(house, on)
    await house.bet(tokens[0], on, tie=200)
    await house.project()
    return house


async def round_after(house: Casino, on: str) -> str:
    """The clock ticks until the next round is on."""
    while True:
        now = (await house.get("/v1/tables/t1"))["view"]
        if now["phase"] == "betting" and now["round"] != on:
            return now["round"]
        if now["phase"] in ("settling", "refunding"):
            await settle_round(house.worker, house.services.pool, "lotus", on)
        await house.tick("t1")
        await asyncio.sleep(0.02)


@pytest.fixture
def run(played: Casino) -> Run:
    async def run(*words: str) -> tuple[int, str]:
        arguments = ["replay", "--all", "--operator", "lotus", *words]
        result = await asyncio.to_thread(CliRunner(env=played.environment).invoke, croupier, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output

    return run


async def test_what_nobody_touched_comes_out_the_same(run: Run) -> None:
    code, told = await run()
    assert code == 0
    assert "lotus: 2 rounds, " in told
    assert told.rstrip().endswith(": all the same")
    assert "left aside" not in told


async def test_rounds_that_are_not_listed_yet_are_told_of(played: Casino, run: Run) -> None:
    assert "not listed yet" not in (await run())[1]
    await played.player("late", 5)
    assert "lotus: the last 2 events may have ended rounds that are not listed yet" in (await run())[1]
    await played.project()


async def test_rounds_since_a_moment(run: Run) -> None:
    assert "lotus: 0 rounds" in (await run("--since", "2999-01-01"))[1]
    assert "lotus: 2 rounds" in (await run("--since", "2020-01-01T10:00+05:30"))[1]
    code, told = await run("--since", "soon")
    assert (code, "give a day" in told) == (1, True)


async def test_a_payout_that_the_rules_do_not_give_is_an_alarm_until_somebody_says_why_it_may_stand(
    played: Casino, module_database: str, run: Run, tmp_path: Path
) -> None:
    settled = "type = 'wallet.BetsSettled' and stream = 'wallet:ann'"
    async with postgres.connected(module_database, name="owner") as owner:
        await owner.execute("alter table events disable trigger all")
        position, data = await owner.fetchrow(f"select position, data from events where {settled}")
        wrong = data.replace('"returned":', '"returned":1', 1)
        ends = await owner.fetchval("select position from events where type like '%.RoundSettled'")
        await owner.execute(f"update events set data = $1 where {settled}", wrong)
        code, told = await run()
        assert code == 1
        assert f"t1.1, position {position}: DIFFERS" in told
        assert f"stored   {wrong[:200]}" in told
        assert f"decided  {data[:200]}" in told
        assert f"t1.1, position {ends}: DIFFERS" in told, "the books of the round do not have it either"
        file = tmp_path / "accepted"
        file.write_text(
            f"# looked into by two of us\n\nlotus t1.1 {position} paid by hand, case 7\nlotus t1.1 {ends} case 7\n"
        )
        code, told = await run("--accepted", str(file))
        assert code == 0
        assert f"position {position}: accepted: paid by hand, case 7" in told
        file.write_text("lotus t1.1 x\n")
        code, told = await run("--accepted", str(file))
        assert (code, "OPERATOR ROUND POSITION REASON" in told) == (1, True)
        await owner.execute(f"update events set data = $1 where {settled}", data)
    assert (await run())[0] == 0


async def test_what_would_have_been_under_another_pay_table(run: Run) -> None:
    """Both players staked the same on A and on B: one of the two wins 2:1 instead of 0.95:1, or it is a tie."""
    odds = '{"numerator":2,"denominator":1}'
    code, told = await run("--what-if", f'{{"pay_table":{{"player_a":{odds},"player_b":{odds}}}}}')
    assert code == 0
    assert (
        "2 would differ, players would have got +2,100" in told or "0 would differ, players would have got +0" in told
    )
    for wrong, says in (("{", "not a JSON object"), ('{"x":1}', "no game's config has x"), ('{"kind":1}', "kind")):
        code, told = await run("--what-if", wrong)
        assert (code, says in told) == (1, True), told

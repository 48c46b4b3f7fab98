"""Replay on real rounds: the same evolve over the same events, and proofs that fail when a stored event is altered."""

from collections.abc import AsyncGenerator

import msgspec
import pytest
from anyio import to_thread
from click.testing import CliRunner

from domain.game import Role, Viewer
from infra import codec, eventlog, postgres
from ops.replay import command
from services.fold import Fold
from services.replay import Replay, replay
from tests.services.town import OPERATOR, Town, town

AUDITOR = Viewer("aud", Role.AUDITOR)


@pytest.fixture
async def acme(database: str, redis_url: str) -> AsyncGenerator[Town]:
    async with town(database, redis_url) as made:
        for name in ("ann", "bob"):
            await made.player(name, 10_000)
        yield made


@pytest.fixture
async def played(acme: Town) -> str:
    """A round in which ann and bob bet, ann twice and once taken back."""
    await acme.open_table()
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, key="one", player_a=1_000, player_b=1_000)
    await acme.bet("ann", round_id, key="two", tie=500)
    await acme.cancel_bet("ann", "two")
    await acme.bet("bob", round_id, six_card_bonus=300, player_a=700)
    await acme.finish_round(round_id, ["ann", "bob"])
    return round_id


async def replayed(acme: Town, round_id: str, viewer: Viewer = AUDITOR, **window: int) -> Replay:
    found = await replay(acme.pool, OPERATOR, round_id, viewer, **window)
    assert found is not None
    return found


def failing(found: Replay) -> set[str]:
    return {proof.what for proof in found.proofs if not proof.holds}


async def test_a_replayed_round_is_what_was_played(acme, played):
    found = await replayed(acme, played)
    assert found.holds
    assert found.ended
    tried = {proof.what: proof.tried for proof in found.proofs}
    assert tried == {
        "every balance changed by what its event says": 6,
        "every payout is what the game returns for its bet": 2,
        "the closed books say what the bettors' events add up to": 1,
        "the round and its payouts can be explained from the events": 1,
        "the table's state is what its round's own events fold to": 1,
    }
    assert (found.totals.bettors, found.totals.staked, found.totals.open) == (2, 3_000, 0)
    assert all(check.holds for check in found.fairness.checks)
    assert len(found.fairness.checks) == 10


async def test_each_step_has_its_event_the_table_then_and_the_money_it_moved(acme, played):
    found = await replayed(acme, played)
    stored = [row async for row in eventlog.of_round(acme.pool, OPERATOR, played)]
    assert [step.position for step in found.steps] == [row.position for row in stored]
    assert [step.hash for step in found.steps] == [row.hash.hex() for row in stored]
    assert [step.number for step in found.steps] == list(range(1, len(stored) + 1))
    assert [len(step.view.cards) for step in found.steps if step.type.endswith("CardDealt")] == [1, 2, 3, 4, 5, 6]
    moved = {step.number: step.money for step in found.steps if step.money}
    assert [money.player for money in moved.values()] == ["ann", "ann", "ann", "bob", "ann", "bob"]
    assert moved[2].amount == -2_000
    assert moved[2].reference == "one"


async def test_a_long_round_is_read_step_by_step(acme, played):
    whole = await replayed(acme, played)
    for number in range(1, whole.steps_in_all + 1):
        one = await replayed(acme, played, after=number - 1, limit=1)
        assert one.steps == (whole.steps[number - 1],)
        assert one.steps_in_all == whole.steps_in_all
    assert (await replayed(acme, played, after=whole.steps_in_all)).steps == ()


async def test_a_player_sees_their_own_money_and_nobody_elses(acme, played):
    found = await replayed(acme, played, Viewer("bob", Role.PLAYER))
    assert {step.money.player for step in found.steps if step.money} == {"bob"}
    text = msgspec.json.encode(found)
    assert b'"ann"' not in text
    assert found.holds
    [staked] = [step for step in found.steps if step.type == "wallet.BetStaked"]
    assert sum(bet.amount for bet in staked.view.bets) == 1_000
    assert all(not step.view.bets for step in found.steps if step.number > found.steps_in_all - 1)


async def test_a_round_is_explained_with_the_payouts_that_the_viewer_may_see(acme, played):
    viewers = (AUDITOR, Viewer("bob", Role.PLAYER), Viewer("cam", Role.STUDIO))
    told = [(await replayed(acme, played, viewer)).explained for viewer in viewers]
    assert [len(each) for each in told] == [4 + 4, 4 + 2, 4]
    assert all(each[:4] == told[0][:4] for each in told)
    assert told[0][0].startswith("Player A holds ")
    assert [sentence.split("'")[0] for sentence in told[0][4:]] == ["ann", "ann", "bob", "bob"]
    assert told[1][4:] == told[0][6:]


async def test_the_studio_sees_cards_and_no_money(acme, played):
    found = await replayed(acme, played, Viewer("cam", Role.STUDIO))
    assert all(step.money is None for step in found.steps)
    assert any(step.type.endswith("CardDealt") for step in found.steps)


async def test_no_step_shows_a_sealed_seed_or_a_card_before_its_time(acme, played):
    found = await replayed(acme, played)
    sealed = await acme.pool.fetchval("select data -> 'seed' ->> 'sealed' from events where type like '%RoundOpened'")
    assert len(sealed) > 40
    assert sealed.encode() not in msgspec.json.encode(found)
    early = [step for step in found.steps if step.type == "wallet.BetStaked"]
    assert early
    assert all(not step.view.cards for step in early)


async def test_a_round_that_is_on_is_replayed_as_far_as_it_went(acme):
    await acme.open_table(betting_seconds=60)
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, tie=500)
    found = await replayed(acme, round_id)
    assert not found.ended
    assert found.holds
    assert (found.totals.open, found.totals.staked, found.totals.returned) == (1, 500, 0)
    assert found.fairness.seed is None


async def test_a_cancelled_round_proves_its_refunds(acme):
    await acme.open_table(betting_seconds=60)
    round_id = await acme.round_is_on()
    await acme.bet("ann", round_id, tie=500)
    await acme.void("a fault")
    await acme.finish_round(round_id, ["ann"])
    found = await replayed(acme, round_id)
    assert found.holds
    assert ("every refund is the whole open stake of a cancelled round", 1) in {(p.what, p.tried) for p in found.proofs}
    assert found.explained == (
        "The round was cancelled (a fault): every stake goes back in full (T28).",
        "ann's 500 on Tie: the round was cancelled, so the stake comes back; returned: 500 (5.00 EUR).",
    )


async def test_rounds_that_are_over_replay_when_others_followed(acme, played):
    following = await acme.round_is_on()
    assert following != played
    found = await replayed(acme, played)
    assert found.holds
    assert found.ended


async def test_what_is_no_round_gives_nothing(acme, played):
    assert await replay(acme.pool, OPERATOR, "t.99", AUDITOR) is None
    assert await replay(acme.pool, "stranger", played, AUDITOR) is None


@pytest.mark.parametrize(
    ("kind", "change", "broken"),
    [
        ("BetsSettled", ("'\"returned\":'", "'\"returned\":1'"), "every payout is what the game returns for its bet"),
        ("BetsSettled", ('\'"odds":"\'', '\'"odds":"9\''), "every payout is what the game returns for its bet"),
        (
            "BetsSettled",
            ('\'"odds":"\'', '\'"odds":"9\''),
            "the round and its payouts can be explained from the events",
        ),
        ("BetsSettled", ("'\"after\":'", "'\"after\":1'"), "every balance changed by what its event says"),
        (
            "RoundSettled",
            ("'\"staked\":'", "'\"staked\":1'"),
            "the closed books say what the bettors' events add up to",
        ),
        (
            "RoundSettled",
            ("'\"bettors\":'", "'\"bettors\":1'"),
            "the closed books say what the bettors' events add up to",
        ),
    ],
)
async def test_an_altered_event_is_found_out(acme, played, database, kind, change, broken):
    await alter(database, kind, *change)
    found = await replayed(acme, played)
    assert not found.holds
    assert broken in failing(found)


async def test_an_altered_card_is_found_out_by_its_proof(acme, played, database):
    card = await acme.pool.fetchval("select data ->> 'card' from events where type like '%CardDealt' order by position")
    await alter(database, "CardDealt", f'\'"card":"{card}"\'', '\'"card":"2c"\'' if card != "2c" else '\'"card":"3c"\'')
    found = await replayed(acme, played)
    assert not found.holds
    assert not all(check.holds for check in found.checks)
    told = await in_thread([played], environment(acme))
    assert (told.exit_code, "FAILS  A1" in told.output) == (1, True)
    assert "Contradicted: " in told.output


async def test_a_state_that_was_altered_is_found_out(acme, played, database):
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute(
            "update streams set state = replace(state::text, '\"number\":1', '\"number\":7')::json"
            " where stream = 'table:t'"
        )
    assert failing(await replayed(acme, played)) == {"the table's state is what its round's own events fold to"}


async def alter(database: str, kind: str, old: str, new: str) -> None:
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("alter table events disable trigger all")
        changed = await owner.execute(
            f"update events set data = replace(data::text, {old}, {new})::json where type like '%.{kind}'"
        )
        assert changed != "UPDATE 0"


async def test_folding_the_whole_log_gives_every_state(acme, played, monkeypatch):
    monkeypatch.setattr(eventlog, "PAGE", 7)
    folded = Fold()
    counts = [count async for count in folded.pages(acme.pool, OPERATOR)]
    assert sum(counts) == folded.position == (await acme.tip()).position
    assert max(counts) == 7
    stored = await acme.pool.fetch("select stream, state from streams")
    assert {row["stream"]: row["state"] for row in stored} == {
        stream: codec.encode(state) for stream, state in folded.states.items()
    }


async def test_a_gap_in_the_log_ends_the_fold(acme, played, database):
    async with postgres.connected(database, name="tamper") as owner:
        await owner.execute("alter table events disable trigger all")
        await owner.execute("delete from events where position = 4")
    with pytest.raises(eventlog.LogTorn):
        [_ async for _ in Fold().pages(acme.pool, OPERATOR)]


async def test_the_verb_tells_the_round_and_its_proofs(acme, played):
    told = await in_thread([played], environment(acme))
    assert told.exit_code == 0, told.output
    assert "Teen Patti 20-20 at t, ended" in told.output
    assert "ann: BetStaked" in told.output
    assert "Player B holds " in told.output
    assert "bob's 300 on 6 Card Bonus: " in told.output
    assert "holds  every payout is what the game returns for its bet (2)" in told.output
    step = await in_thread([played, "--step", "2"], environment(acme))
    assert msgspec.json.decode(step.output)["event"]["type"] == "wallet.BetStaked"
    document = await in_thread([played, "--json", "--operator", OPERATOR], environment(acme))
    assert msgspec.json.decode(document.output)["round"] == played
    unknown = await in_thread(["t.99"], environment(acme))
    assert unknown.exit_code == 1
    assert "no round 't.99'" in unknown.output
    elsewhere = await in_thread([played, "--operator", "acne"], environment(acme))
    assert (elsewhere.exit_code, f"no operator 'acne'; there is {OPERATOR}" in elsewhere.output) == (1, True)
    assert "holds  the seed has the hash published before the round" in told.output


async def test_the_verb_fails_when_a_proof_does(acme, played, database):
    await alter(database, "RoundSettled", "'\"staked\":'", "'\"staked\":1'")
    told = await in_thread([played], environment(acme))
    assert told.exit_code == 1
    assert "FAILS  the closed books" in told.output


def environment(acme: Town) -> dict[str, str]:
    return {"CROUPIER_POSTGRES": acme.dsn, "CROUPIER_REDIS": acme.redis_url, "CROUPIER_SECRET": "A" * 44}


async def in_thread(arguments, environment):
    """The verb has an event loop of its own."""
    return await to_thread.run_sync(lambda: CliRunner().invoke(command, arguments, env=environment))

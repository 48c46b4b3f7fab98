"""What one caller must not be able to cost the others: their commands, the service's memory, the database's time."""

import asyncio
import time

import pytest

from domain import house
from domain.decider import Submission
from domain.game import Role
from domain.names import HOUSE
from services.api.auth import BEARER_MAX, Caller, Gate, new_key
from services.api.problems import Problem
from services.settlement import PLATFORM
from tests.services.conftest import SECRET, assert_problem


@pytest.fixture
def casino(two_houses):
    return two_houses


async def test_a_cancel_that_names_its_own_key_is_taken_and_leaves_its_neighbours_alone(casino, capfd):
    """It fences the very key it is remembered under: twice in one statement, that would fail the whole batch."""
    ann, bob = await casino.player("ann-own", 1_000), await casino.player("bob-own", 1_000)
    cancel = {"type": "CancelBet", "bet": "own"}
    cancelled, *bets = await asyncio.gather(
        casino.send("/v1/tables/h1/commands", cancel, ann, key="own"),
        *(casino.bet(bob, "h1.1", f"own-{number}", player_a=100) for number in range(5)),
    )
    assert [answer.status_code for answer in (cancelled, *bets)] == [200] * 6
    again = await casino.send("/v1/tables/h1/commands", cancel, ann, key="own")
    assert (again.status_code, again.headers["idempotent-replayed"]) == (200, "true")
    assert (await casino.bet(ann, "h1.1", "own", player_a=100)).json()["code"] == "KeyReused"
    assert "alarm" not in capfd.readouterr().err


async def test_a_bearer_longer_than_any_of_ours_is_refused_and_not_kept(casino):
    long = "a" * 2 * BEARER_MAX
    for bearer in (f"ck_{long}.x_y", f"{casino.bearers['lotus', Role.PLAYER]}{long}"):
        answer = await casino.ask("GET", "/v1/players/ann", bearer)
        assert (answer.status_code, answer.json()["code"]) == (401, "Unauthorized")
    gate = casino.app.state.parts.gate
    assert max(map(len, (*gate._houses, *gate._known))) <= BEARER_MAX + len("Bearer ")


async def test_every_bearer_of_ours_is_within_the_bound(casino):
    """The longest ids there can be, in a key and in a token."""
    await casino.operator("o" * 64)
    token = await casino.player("p" * 64, 0, "o" * 64)
    assert (await casino.ask("GET", f"/v1/players/{'p' * 64}", token)).status_code == 200
    assert len(token) < BEARER_MAX


@pytest.mark.parametrize("path", ["/v1/players/ann/balance", "/v1/players/ann/statement", "/v1/rounds"])
async def test_nobody_waits_for_what_the_log_does_not_hold(casino, path):
    await casino.project()
    begun = time.monotonic()
    answer = await casino.ask("GET", path, params={"after": await casino.position() + 1})
    assert (answer.status_code, answer.json()["code"]) == (503, "Behind")
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/v1/keys/{}"), ("POST", "/v1/keys/{}/rotate")])
@pytest.mark.parametrize("name", ["a" * 65, "a%00b", "a%0Ab"])
async def test_the_name_of_a_key_is_not_told_again_at_any_length(casino, method, path, name):
    answer = await casino.ask(method, path.format(name), headers={"idempotency-key": f"odd-{len(name)}"})
    assert (answer.status_code, answer.json()["code"]) == (400, "BadId")


async def test_no_player_is_named_like_a_key_for_he_could_fence_what_it_sends(casino):
    """Commands are remembered by operator, sender and key: two senders of one name would share them."""
    name = casino.bearer().partition(".")[2].partition("_")[0]
    answer = await casino.send("/v1/players", {"player": name, "currency": "EUR"})
    assert_problem(answer, 422, "ReservedId")


async def test_a_key_minted_elsewhere_opens_at_once_and_so_do_its_players_tokens(casino):
    """Each process knows a house as of a moment ago; another process may have minted a key since."""
    here, there = casino.app.state.parts.gate, Gate(casino.services.pool, SECRET)
    for _ in range(5):
        with pytest.raises(Problem):  # so that this process has looked at the house just now
            await here.caller("Bearer ck_lotus.forged_x")
        key = new_key("lotus")
        mint = house.MintKey(key.id, Role.OPERATOR, key.digest)
        await casino.worker.submit(Submission("lotus", PLATFORM, Role.OPERATOR, HOUSE, mint))
        token, _ = there.mint(Caller("lotus", key.id, Role.OPERATOR), "ann", 60)
        assert (await here.caller(f"Bearer {token}")).actor == "ann"
        assert (await here.caller(f"Bearer {key.token}")).actor == key.id

"""What the design says of keys over HTTP: which answers are remembered under a key, and which are not."""

import pytest

from domain.game import Role
from services import executor

DEPOSIT = {"amount": 70, "currency": "EUR"}


@pytest.fixture
def casino(house_of_module):
    return house_of_module


async def became(casino, key: str) -> str:
    answer = await casino.ask("GET", f"/v1/commands/{key}")
    return answer.json()["became"] if answer.status_code == 200 else answer.json()["code"]


async def test_a_body_that_was_no_command_leaves_its_key_free(casino):
    await casino.player("ada", 0)
    wrong = await casino.send("/v1/players/ada/deposits", DEPOSIT | {"amount": 7.5}, key="free-400")
    assert (wrong.status_code, wrong.json()["outcome"]) == (400, "not_applied")
    assert await became(casino, "free-400") == "Undecided"
    right = await casino.send("/v1/players/ada/deposits", DEPOSIT, key="free-400")
    assert (right.status_code, right.json()["balance"]["cash"]) == (200, 70)


async def test_a_sender_who_was_not_known_leaves_the_key_free(casino):
    await casino.player("bea", 0)
    forged = casino.bearer()[:-1] + ("a" if casino.bearer()[-1] != "a" else "b")
    wrong = await casino.send("/v1/players/bea/deposits", DEPOSIT, forged, key="free-401")
    assert wrong.status_code == 401
    right = await casino.send("/v1/players/bea/deposits", DEPOSIT, key="free-401")
    assert (right.status_code, "idempotent-replayed" in right.headers) == (200, False)


async def test_a_command_that_was_not_taken_in_leaves_its_key_free(casino, monkeypatch):
    await casino.player("cam", 0)
    with monkeypatch.context() as full:
        full.setattr(executor, "QUEUE_MAX", 0)
        turned_away = await casino.send("/v1/players/cam/deposits", DEPOSIT, key="free-503")
    assert (turned_away.status_code, turned_away.headers["retry-after"]) == (503, "1")
    assert (turned_away.json()["retryable"], turned_away.json()["outcome"]) == (True, "not_applied")
    assert (await casino.send("/v1/players/cam/deposits", DEPOSIT, key="free-503")).status_code == 200


async def test_a_refusal_by_a_rule_takes_its_key_and_says_that_it_is_told_again(casino):
    await casino.player("dot", 0)
    first, again = [await casino.send("/v1/players/dot/withdrawals", DEPOSIT, key="taken") for _ in range(2)]
    assert await became(casino, "taken") == "refused"
    assert first.json() == again.json()
    assert [answer.headers.get("idempotent-replayed") for answer in (first, again)] == [None, "true"]


@pytest.mark.parametrize("key", ["a", "A-z_0-9", "x" * 64])
async def test_a_key_is_1_to_64_of_its_alphabet(casino, key):
    await casino.player("eli", 0)
    assert (await casino.send("/v1/players/eli/deposits", DEPOSIT, key=key)).status_code == 200


@pytest.mark.parametrize("key", ["x" * 65, "a b", "a.b", "a/b", "a=", "\u00e9".encode()])
async def test_any_other_key_is_refused(casino, key):
    answer = await casino.ask("POST", "/v1/players/eli/deposits", json=DEPOSIT, headers={"idempotency-key": key})
    assert (answer.status_code, answer.json()["code"]) == (400, "BadKey")


async def test_a_key_sees_its_own_operator_only(casino):
    """The same player, table and key at two operators have nothing to do with each other."""
    await casino.player("fox", 100)
    theirs = casino.bearer(Role.OPERATOR, "other")
    assert (await casino.ask("GET", "/v1/players/fox", theirs)).status_code == 404
    await casino.player("fox", 5, operator="other")
    await casino.done("/v1/players/fox/deposits", DEPOSIT, key="both")
    answer = await casino.send("/v1/players/fox/deposits", DEPOSIT, theirs, key="both")
    assert (answer.json()["balance"]["cash"], "idempotent-replayed" in answer.headers) == (75, False)

"""What is kept and can be looked up: the log with its chain, the audit log, commands and their fences, and keys."""

import asyncio
import hashlib
import struct
from typing import Any

import pytest

from domain.game import Role
from infra import postgres, sql
from services.api import auth

JSON = {"content-type": "application/json"}


@pytest.fixture
def casino(house_of_module):
    return house_of_module


def test_field(text: str | None) -> bytes:
    return b"\x00" if text is None else b"\x01" + struct.pack(">I", len(text.encode())) + text.encode()


test_field.__test__ = False


def link(before: bytes, event: dict) -> bytes:
    """The chain as infra/eventlog.py describes it, written anew from the description."""
    numbers = b"".join(struct.pack(">q", event[name]) for name in ("position", "version", "schema", "at"))
    texts = (event[name] for name in ("stream", "type", "round", "command", "actor", "role", "data"))
    return hashlib.sha256(b"\x01" + before + numbers + b"".join(map(test_field, texts))).digest()


async def test_an_auditor_reads_the_whole_log_and_verifies_its_chain_from_outside(casino):
    ann = await casino.player("ann", 10_000)
    round_id = await casino.table("r1")
    await casino.bet(ann, round_id, player_a=500)
    cursor, expected = 0, 1
    before = hashlib.sha256(test_field("croupier-log-1") + test_field("lotus") + struct.pack(">q", 1)).digest()
    while cursor is not None:
        page = await casino.get("/v1/events", casino.bearer(Role.AUDITOR), cursor=cursor, limit=5)
        assert page["before"] == before.hex()
        for event in page["events"]:
            assert event["position"] == expected
            before = link(before, event)
            assert event["hash"] == before.hex()
            expected += 1
        cursor = page["next"]
    assert expected == page["tip"] + 1


async def test_the_log_shows_no_seed_before_its_round_has_ended(casino):
    await casino.table("r2")
    page = await casino.get("/v1/events", casino.bearer(Role.AUDITOR), limit=1_000)
    sealed = [event["data"] for event in page["events"] if event["type"].endswith("SeedPublished")]
    vault_key = bytes(32)
    assert sealed
    assert vault_key.hex() not in str(page)
    shown = (await casino.get("/v1/tables/r2"))["view"]
    assert "sealed" not in str(shown)
    assert shown["seed_hash"] in str(sealed)


async def test_who_did_what_is_told_by_actor_and_by_subject(casino):
    await casino.player("bob", 50)
    refused = await casino.send("/v1/players/bob/withdrawals", {"amount": 99, "currency": "EUR"}, key="too-much")
    assert refused.status_code == 422
    await casino.project()
    auditor = casino.bearer(Role.AUDITOR)
    page = await casino.get("/v1/audit", auditor, subject="refused:bob", after=await casino.position())
    [told] = page["entries"]
    assert (told["entry"]["rule"], told["entry"]["command"]) == ("InsufficientFunds", "too-much")
    assert told["told"]["asked"] == '{"amount":99,"currency":"EUR"}'
    operator = casino.bearer().partition(".")[2].partition("_")[0]
    by_actor = await casino.get("/v1/audit", auditor, actor=operator, limit=3)
    assert {each["entry"]["actor"] for each in by_actor["entries"]} == {operator}
    older = await casino.get("/v1/audit", auditor, actor=operator, limit=3, cursor=by_actor["next"])
    assert older["entries"][0]["entry"]["position"] < by_actor["entries"][-1]["entry"]["position"]


async def test_what_was_asked_and_refused_in_a_round_is_found_by_the_round(casino):
    """Also by its table's rule alone, where the command names no round; the log itself has refusals in no round."""
    lou = await casino.player("lou", 1_000)
    round_id = await casino.table("r7")
    await casino.bet(lou, round_id, "one", tie=100)
    await casino.bet(lou, round_id, "off-step", tie=101)
    await casino.bet(lou, "r7.99", "of-another", tie=100)
    for _ in range(2):
        await casino.send("/v1/tables/r7/commands", {"type": "CancelBet", "bet": "one"}, lou)
    await casino.send("/v1/players/lou/withdrawals", {"amount": 5_000, "currency": "EUR"})
    await casino.project()
    auditor = casino.bearer(Role.AUDITOR)

    async def entries(**asked: Any) -> list[dict[str, Any]]:
        page = await casino.get("/v1/audit", auditor, **asked, after=await casino.position())
        return [each["entry"] for each in page["entries"]]

    of_round = await entries(round=round_id)
    assert {each["round"] for each in of_round} == {round_id}
    assert [each["rule"] or each["action"] for each in of_round if each["actor"] == "lou"] == [
        "BetNotOpen", "wallet.BetCancelled", "StakeOffStep", "wallet.BetStaked",
    ]  # fmt: skip
    assert [each["position"] for each in of_round] == sorted((each["position"] for each in of_round), reverse=True)
    assert [each["rule"] for each in await entries(round="r7.99")] == ["AnotherRound"]
    assert [each["rule"] for each in await entries(round=round_id, subject="refused:lou")] == [
        "BetNotOpen", "StakeOffStep",
    ]  # fmt: skip
    assert {each["round"] for each in await entries(subject="refused:lou")} == {round_id, "r7.99", None}
    ours = [each for each in of_round if each["actor"] == "lou"]
    assert await entries(round=round_id, actor="lou", limit=2) == ours[:2]
    assert await entries(round=round_id, actor="lou", limit=2, cursor=ours[1]["position"]) == ours[2:]
    events = await casino.get("/v1/events", auditor, limit=1_000)
    assert {each["round"] for each in events["events"] if each["stream"] == "refused:lou"} == {None}


async def test_rows_of_before_are_told_of_which_round_they_are_by_the_migration(casino, module_database):
    """As the projection tells it of new ones: in other writing, by the rule alone, and of no table too."""
    max_ = await casino.player("max", 1_000)
    round_id = await casino.table("r8")
    spaced = '{ "round" : "r8\\u002e99","type":"PlaceBet", "wagers":[{"spot":"tie","amount":100}]}'
    headers = {"idempotency-key": "spaced"}
    answer = await casino.ask("POST", "/v1/tables/r8/commands", max_, content=spaced, headers=headers | JSON)
    assert answer.json()["code"] == "AnotherRound"
    await casino.bet(max_, round_id, "off-step", tie=101)
    await casino.send("/v1/tables/r8/commands", {"type": "CancelBet", "bet": "spaced"}, max_)
    await casino.send("/v1/players/max/withdrawals", {"amount": 5_000, "currency": "EUR"})
    await casino.project()
    refusals = "select position, round from audit where rule is not null order by position"
    async with postgres.connected(module_database, name="test") as owner:
        told = [tuple(row) for row in await owner.fetch(refusals)]
        assert {"r8.99", round_id, None} <= {about for _, about in told}
        await owner.execute("update audit set round = null where rule is not null")
        migration = (sql.HERE / "schema" / "0009_audit_by_round.sql").read_text()
        await owner.execute(migration[migration.index("update audit") :])
        assert [tuple(row) for row in await owner.fetch(refusals)] == told


async def test_what_became_of_a_command_is_told_to_its_sender_alone(casino):
    cat, dan = await casino.player("cat", 1_000), await casino.player("dan", 1_000)
    round_id = await casino.table("r3")
    placed = (await casino.bet(cat, round_id, "mine", player_a=500)).json()
    await casino.bet(cat, round_id, "too-much", player_a=900_000)
    accepted = await casino.get("/v1/commands/mine", cat)
    assert (accepted["became"], accepted["first"], accepted["last"]) == (
        "accepted",
        placed["position"],
        placed["position"],
    )
    refused = await casino.get("/v1/commands/too-much", cat)
    assert (refused["became"], refused["code"]) == ("refused", "InsufficientFunds")
    stranger = await casino.ask("GET", "/v1/commands/mine", dan)
    assert (stranger.status_code, stranger.json()["code"], stranger.json()["outcome"]) == (404, "Undecided", "unknown")


async def test_a_fenced_command_never_acts_and_a_decided_one_is_not_fenced(casino):
    eve = await casino.player("eve", 1_000)
    round_id = await casino.table("r4")
    before = await casino.position()
    for _ in range(2):
        fenced = await casino.ask("POST", "/v1/commands/lost/fence", eve)
        assert (fenced.status_code, fenced.json()) == (200, {"key": "lost", "became": "fenced"})
    assert (await casino.get("/v1/commands/lost", eve))["became"] == "fenced"
    late = await casino.bet(eve, round_id, "lost", player_a=500)
    assert (late.status_code, late.json()["code"]) == (409, "Fenced")
    assert await casino.position() == before + 1, "the refusal is on record, and nothing else happened"
    await casino.bet(eve, round_id, "in-time", player_a=500)
    too_late = await casino.ask("POST", "/v1/commands/in-time/fence", eve)
    assert (too_late.status_code, too_late.json()["code"]) == (409, "AlreadyDecided")


async def test_a_bet_is_taken_back_once_and_one_that_has_not_come_is_fenced(casino):
    """Three answers to one question: taken back; never to come; and nothing of that name that is open."""
    kim = await casino.player("kim", 1_000)
    round_id = await casino.table("r6")
    commands, cancel = "/v1/tables/r6/commands", {"type": "CancelBet", "bet": "oops"}

    never = await casino.done(commands, cancel | {"bet": "lost"}, kim, key="k0")
    assert (never["position"], never["events"], never["fenced"]) == (None, [], True)
    assert (await casino.done(commands, cancel | {"bet": "lost"}, kim, key="k0"))["fenced"], "again, the same"
    assert (await casino.get("/v1/commands/k0", kim))["fenced"]
    assert (await casino.bet(kim, round_id, "lost", tie=500)).json()["code"] == "Fenced"

    placed = (await casino.bet(kim, round_id, "oops", tie=500)).json()
    taken_back = await casino.done(commands, cancel, kim, key="k1")
    assert taken_back["events"][0]["event"]["type"] == "wallet.BetCancelled"
    for answer in (placed, taken_back, await casino.get("/v1/commands/k1", kim)):
        assert "fenced" not in answer

    await casino.bet(kim, round_id, "too-much", tie=900_000)
    for name in ("oops", "too-much", "k1"):
        again = await casino.send(commands, cancel | {"bet": name}, kim)
        assert (again.status_code, again.json()["code"]) == (409, "BetNotOpen")
        assert again.json()["facts"] == {"bet": name, "round": round_id}


async def test_a_refusal_by_a_rule_of_the_game_says_what_the_rule_is(casino):
    fay = await casino.player("fay", 1_000)
    odd = await casino.bet(fay, await casino.table("r5-odd"), "odd", player_a=150)
    assert (odd.json()["code"], odd.json()["facts"]) == ("StakeOffStep", {"spot": "player_a", "step": 100})
    assert "A stake is a multiple of the table's step" in odd.json()["detail"]


async def test_a_key_is_minted_used_rotated_and_revoked_within_a_second(casino):
    minted = await casino.done("/v1/keys", {"role": "auditor", "label": "inspector"}, key="mint-1")
    token, key_id = minted["token"], minted["id"]
    again = await casino.done("/v1/keys", {"role": "auditor", "label": "inspector"}, key="mint-1")
    assert (again["id"], again["token"]) == (key_id, None)
    await asyncio.sleep(auth.HOUSE_AGE_S)
    assert (await casino.ask("GET", "/v1/events", token)).status_code == 200
    rotated = await casino.done(f"/v1/keys/{key_id}/rotate", {})
    await asyncio.sleep(auth.HOUSE_AGE_S)
    assert (await casino.ask("GET", "/v1/events", token)).status_code == 401
    assert (await casino.ask("GET", "/v1/events", rotated["token"])).status_code == 200
    headers = {"idempotency-key": "revoke-1"}
    revoked = await casino.ask("DELETE", f"/v1/keys/{rotated['id']}", headers=headers)
    assert revoked.status_code == 200
    await asyncio.sleep(auth.HOUSE_AGE_S)
    assert (await casino.ask("GET", "/v1/events", rotated["token"])).status_code == 401
    listed = {key["id"]: key for key in (await casino.get("/v1/keys"))["keys"]}
    assert [listed[each]["revoked"] for each in (key_id, rotated["id"])] == [True, True]
    assert "digest" not in str(listed)


async def test_a_command_whose_answer_was_lost_is_known_again_under_the_key_that_takes_the_old_ones_place(casino):
    await casino.player("gil", 100)
    old = await casino.done("/v1/keys", {"role": "operator", "label": "cashier"})
    deposit = ("/v1/players/gil/deposits", {"amount": 7, "currency": "EUR"}, old["token"])
    first = await casino.send(*deposit, key="lost-answer")
    new = await casino.done(f"/v1/keys/{old['id']}/rotate", {})
    again = await casino.send(*deposit[:2], new["token"], key="lost-answer")
    assert (again.status_code, again.headers["idempotent-replayed"]) == (200, "true")
    assert again.json()["position"] == first.json()["position"]
    newest = await casino.done(f"/v1/keys/{new['id']}/rotate", {})
    assert (await casino.get("/v1/commands/lost-answer", newest["token"]))["became"] == "accepted"
    session = await casino.done("/v1/sessions", {"player": "gil"}, newest["token"])
    assert (await casino.get("/v1/players/gil", session["token"]))["balance"] == 107
    taken = await casino.send("/v1/players", {"player": old["id"], "currency": "EUR"})
    assert taken.json()["code"] == "ReservedId"


async def test_a_revoked_key_takes_the_tokens_it_minted_with_it(casino):
    await casino.player("fay")
    minted = await casino.done("/v1/keys", {"role": "operator"})
    await asyncio.sleep(auth.HOUSE_AGE_S)
    token = (await casino.done("/v1/sessions", {"player": "fay", "seconds": 600}, minted["token"]))["token"]
    assert (await casino.ask("GET", "/v1/players/fay", token)).status_code == 200
    await casino.ask("DELETE", f"/v1/keys/{minted['id']}", headers={"idempotency-key": "revoke-2"})
    await asyncio.sleep(auth.HOUSE_AGE_S)
    await casino.get("/v1/keys")  # others' requests keep what is known of the house fresh
    assert (await casino.ask("GET", "/v1/players/fay", token)).status_code == 401


async def test_a_token_lasts_as_long_as_it_says(casino):
    await casino.player("gus")
    session = await casino.done("/v1/sessions", {"player": "gus", "seconds": 1})
    assert (await casino.ask("GET", "/v1/players/gus", session["token"])).status_code == 200
    await asyncio.sleep(1.5)
    await casino.get("/v1/keys")
    assert (await casino.ask("GET", "/v1/players/gus", session["token"])).status_code == 401


async def test_a_key_that_is_not_there_can_be_neither_rotated_nor_revoked(casino):
    for method, path in (("POST", "/v1/keys/nothing/rotate"), ("DELETE", "/v1/keys/nothing")):
        answer = await casino.ask(method, path, headers={"idempotency-key": f"no-{method}"})
        assert answer.status_code == 404


async def test_lists_come_in_pages_that_follow_on(casino):
    for name in ("p1", "p2", "p3"):
        await casino.player(name, 5)
    for amount in (1, 2, 3):
        await casino.done("/v1/players/p1/deposits", {"amount": amount, "currency": "EUR"})
    await casino.project()
    seen, cursor = [], ""
    while cursor is not None:
        page = await casino.get("/v1/players", cursor=cursor, limit=2)
        seen += [player["player"] for player in page["players"]]
        cursor = page["next"]
    assert seen == sorted(set(seen))
    assert {"p1", "p2", "p3"} <= set(seen)
    moves = await casino.get("/v1/players/p1/statement", limit=2)
    older = await casino.get("/v1/players/p1/statement", limit=2, cursor=moves["next"])
    assert [move["amount"] for move in (*moves["movements"], *older["movements"])] == [3, 2, 1, 5]
    tables, cursor = [], ""
    for name in ("q1", "q2"):
        await casino.table(name)
    while cursor is not None:
        page = await casino.get("/v1/tables", cursor=cursor, limit=1)
        tables += [table["table"] for table in page["tables"]]
        cursor = page["next"]
    assert tables == sorted(set(tables))
    assert {"q1", "q2"} <= set(tables)


async def test_a_table_tells_its_pay_table_with_exact_returns(casino):
    await casino.table("r5")
    table = await casino.get("/v1/tables/r5", casino.bearer(Role.STUDIO))
    assert (table["game"], table["title"]) == ("teen_patti_2020", "Teen Patti 20-20")
    assert table["about"]["config"]["currency"] == "EUR"
    assert {each["spot"] for each in table["about"]["returns"]} >= {"player_a", "tie", "six_card_bonus"}

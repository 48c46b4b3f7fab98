"""Who may see a round again with whose eyes, what must be on record before, and how it reads as text."""

from typing import Any

import pytest
from anyio import to_thread
from click.testing import CliRunner, Result

from domain.game import Role
from ops.replay import command
from tests.services.conftest import Casino, assert_problem
from tests.services.gin_http import GinTable
from tests.services.patti_http import PattiTable

KEYS = "k1:" + "A" * 43 + "=,three_patti/k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
"""As in the casino's own settings."""


@pytest.fixture
def casino(house_of_module: Casino) -> Casino:
    return house_of_module


@pytest.fixture(scope="module")
async def bets(house_of_module: Casino) -> str:
    """A round of 20-20 that is on, in which ann and bob bet, in a casino with a third player."""
    casino = house_of_module
    tokens = {name: await casino.player(name) for name in ("ann", "bob", "eve")}
    casino.bearers |= {(name, Role.PLAYER): token for name, token in tokens.items()}
    round_id = await casino.table("bets")
    assert (await casino.bet(tokens["ann"], round_id, "anns", player_a=500)).status_code == 200
    assert (await casino.bet(tokens["bob"], round_id, "bobs", tie=700)).status_code == 200
    return round_id


@pytest.fixture(scope="module")
async def hand(house_of_module: Casino) -> str:
    """A hand of 3 Patti that is over: one has seen cards and folded, then nobody showed."""
    patti = await PattiTable(house_of_module, "hand").open("a", "b", "c")
    await patti.does(await patti.turn(), "SeeCards")
    while (await patti.view()).get("round"):
        await patti.does(await patti.turn(), "Fold")
    return "hand.1"


async def ask(casino: Casino, round_id: str, bearer: str | Role, form: str = "", **query: Any) -> Any:
    token = casino.bearer(bearer) if isinstance(bearer, Role) else bearer
    if "as_" in query:
        query["as"] = query.pop("as_")
    return await casino.ask("GET", f"/v1/rounds/{round_id}/replay{form}", token, params=query)


async def replayed(casino: Casino, round_id: str, bearer: str | Role, **query: Any) -> Any:
    answer = await ask(casino, round_id, bearer, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def cards(played: Any) -> set[str]:
    """Whose cards any step shows."""
    return {seat["player"] for step in played["steps"] for seat in step["view"].get("seats", ()) if "cards" in seat}


# --- Whose eyes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asker", "viewer", "status"),
    [
        (Role.AUDITOR, "ann", 200), (Role.AUDITOR, "onlooker", 200), (Role.AUDITOR, "studio", 200),
        (Role.SUPERVISOR, "ann", 200), (Role.OPERATOR, "ann", 200), (Role.SUPERVISOR, "onlooker", 200),
        (Role.SUPERVISOR, "supervisor", 200), (Role.SUPERVISOR, "auditor", 403), (Role.OPERATOR, "supervisor", 403),
        (Role.STUDIO, "ann", 403), (Role.STUDIO, "onlooker", 200), ("ann", "bob", 403), ("ann", "ann", 200),
        ("ann", "onlooker", 200), ("ann", "operator", 403), ("ann", "nobody", 403), (Role.AUDITOR, "nobody", 404),
        (Role.AUDITOR, "player:auditor", 404), (Role.AUDITOR, "a b", 400), (Role.AUDITOR, "player:", 400),
    ],
)  # fmt: skip
async def test_each_sees_as_others_what_he_might_see_anyhow(casino, bets, asker, viewer, status):
    token = casino.bearer(asker) if isinstance(asker, Role) else casino.bearers[asker, Role.PLAYER]
    for form in ("", "/text"):
        answer = await ask(casino, bets, token, form, as_=viewer)
        assert answer.status_code == status, answer.text
        if status != 200:
            assert_problem(answer, status, {403: "Forbidden", 404: "NotFound", 400: "BadId"}[status])


async def test_as_a_player_a_round_is_what_that_player_sees_of_it(casino, bets):
    own = await replayed(casino, bets, casino.bearers["ann", Role.PLAYER], frames="true")
    for asker in (Role.AUDITOR, Role.SUPERVISOR, Role.OPERATOR):
        assert await replayed(casino, bets, asker, as_="ann", frames="true") == own
    assert own["viewer"] == {"actor": "ann", "role": "player"}
    assert {step["actor"] for step in own["steps"]} == {"platform", "ann"}


async def test_who_was_never_at_the_table_saw_what_any_onlooker_saw(casino, bets):
    looked, eve = [(await replayed(casino, bets, Role.AUDITOR, as_=name))["steps"] for name in ("onlooker", "eve")]
    assert looked == eve
    assert all(step["money"] is None for step in looked)


async def test_a_step_that_is_not_there_is_refused(casino, bets):
    for form in ("", "/text"):
        assert_problem(await ask(casino, bets, Role.AUDITOR, form, as_="ann", step=99), 404, "NotFound")
        assert_problem(await ask(casino, bets, Role.AUDITOR, form, as_="ann", step=0), 400, "BadParameter")
        assert_problem(await ask(casino, "bets.99", Role.AUDITOR, form, as_="ann"), 404, "NotFound")
        assert_problem(await ask(casino, "nowhere.1", Role.AUDITOR, form, as_="ann"), 404, "NotFound")


# --- Hidden cards -------------------------------------------------------------------------------------------------


async def test_as_a_player_who_held_cards_only_an_auditor_sees_and_only_once_it_is_opened_on_record(casino, hand):
    patti, auditor = "hand-a", casino.bearer(Role.AUDITOR)
    for role in (Role.SUPERVISOR, Role.OPERATOR, Role.STUDIO):
        assert_problem(await ask(casino, hand, role, as_=patti), 403, "Forbidden")
    closed = await ask(casino, hand, auditor, as_=patti)
    assert_problem(closed, 409, "NotOpened")
    assert_problem(await ask(casino, hand, auditor, "/text", as_=patti), 409, "NotOpened")
    opening = (await replayed(casino, hand, auditor))["opening"]
    assert closed.json()["facts"] == {"positions": [opening]}
    await casino.done("/v1/openings", {"position": opening, "why": "a dispute"}, auditor)
    assert cards(await replayed(casino, hand, auditor, as_=patti)) <= {patti}
    assert (await replayed(casino, hand, auditor, as_=patti))["steps"][-1]["view"]["last"]["results"]
    for role in (Role.SUPERVISOR, Role.OPERATOR, Role.STUDIO):
        assert_problem(await ask(casino, hand, role, as_=patti), 403, "Forbidden")


async def test_a_hand_that_is_on_is_for_its_players_alone(casino):
    patti = await PattiTable(casino, "on").open("a", "b", "c")
    await patti.does("a", "SeeCards")
    assert cards(await replayed(casino, "on.1", patti.tokens["a"])) == {"on-a"}
    assert_problem(await ask(casino, "on.1", Role.AUDITOR, as_="on-a"), 409, "RoundIsOn")
    assert_problem(await ask(casino, "on.1", Role.AUDITOR, as_="on-a", step=1), 409, "RoundIsOn")
    assert_problem(await ask(casino, "on.1", patti.tokens["b"], as_="on-a"), 403, "Forbidden")
    assert not cards(await replayed(casino, "on.1", Role.AUDITOR, as_="onlooker"))
    assert not cards(await replayed(casino, "on.1", patti.tokens["a"], as_="onlooker"))


async def test_advice_that_a_player_read_is_opened_piece_by_piece(casino):
    gin, auditor = await GinTable(casino, "words").open("a", "b", "c"), casino.bearer(Role.AUDITOR)
    captain, _, out = await gin.dealt()
    await gin.does(captain, "AskAdvice")
    words = [await gin.does(out, "SendAdvice", text=f"a hare {number}") for number in (1, 2)]
    await gin.takes(captain)
    await gin.knocks(captain)
    closed = (await ask(casino, "words.1", auditor, as_=gin.full(out))).json()["facts"]["positions"]
    assert {each["position"] for each in words} < set(closed)
    for done, position in enumerate(closed):
        told = (await ask(casino, "words.1", auditor, "/text")).text
        assert [f'SendAdvice text="a hare {number}"' in told for number in (1, 2)] == [done > 1, done > 2], told
        assert_problem(await ask(casino, "words.1", auditor, as_=gin.full(out)), 409, "NotOpened")
        await casino.done("/v1/openings", {"position": position, "why": "words"}, auditor)
    told = await replayed(casino, "words.1", auditor, as_=gin.full(out))
    assert ["a hare 1", "a hare 2"] in [step["view"].get("advice") for step in told["steps"]]


# --- Text ---------------------------------------------------------------------------------------------------------


async def test_the_text_reads_as_a_written_round_with_commands_as_they_were_sent_and_balances(casino, bets):
    told = (await ask(casino, bets, Role.AUDITOR, "/text")).text.splitlines()
    assert told[:2] == ["game teen_patti_2020 at bets", "# bets.1 as auditor saw it, view 1, still on"]
    assert told[2].startswith("# 0:00 is 20")
    for name, spot, stake in (("ann", "player_a", 500), ("bob", "tie", 700)):
        [asked] = [at for at, line in enumerate(told) if f" {name} " in line]
        assert told[asked].endswith(f"{name:<12} PlaceBet wagers={spot}:{stake}")
        assert told[asked + 1].startswith(f"        -> {name}: BetStaked ")
        assert f"        = {name}: balance={10_000 - stake}" in told


async def test_whoever_looks_reads_only_what_he_sent_himself(casino, bets):
    told = (await ask(casino, bets, casino.bearers["ann", Role.PLAYER], "/text")).text
    assert ("PlaceBet wagers=player_a:500" in told, "bob" in told, "tie:700" in told) == (True, False, False)
    looked = (await ask(casino, bets, Role.STUDIO, "/text", as_="onlooker")).text
    assert ("PlaceBet" in looked, "ann" in looked) == (False, False)


async def test_the_table_stands_where_it_is_asked_for(casino, bets):
    step = (await ask(casino, bets, Role.AUDITOR, "/text", step=2, as_="ann")).text
    assert "= 2: phase=betting" in step
    assert "bets=(id=anns " in step
    assert "phase=" not in (await ask(casino, bets, Role.AUDITOR, "/text", as_="ann")).text
    whole = (await ask(casino, bets, Role.AUDITOR, "/text", as_="ann", views="true")).text
    assert ("= 1: phase=betting" in whole, "= 2: phase=betting" in whole) == (True, True)
    cut = (await ask(casino, bets, Role.AUDITOR, "/text", limit=1)).text
    assert cut.endswith("# 2 more steps\n")


async def test_sealed_commands_are_read_by_their_sender_and_by_an_auditor_who_opened_the_round(casino):
    patti = await PattiTable(casino, "sent").open("a", "b", "c")
    first = await patti.turn()
    while (await patti.view()).get("round"):
        await patti.does(await patti.turn(), "Fold")
    own = (await ask(casino, "sent.1", patti.tokens[first], "/text")).text
    assert own.count("Fold\n") == 1
    auditor = casino.bearer(Role.AUDITOR)
    closed = await replayed(casino, "sent.1", auditor)
    assert {step["sent"] for step in closed["steps"] if step["command"]} == {None}
    await casino.done("/v1/openings", {"position": closed["opening"], "why": "a dispute"}, auditor)
    told = (await ask(casino, "sent.1", auditor, "/text")).text
    assert told.count(" Fold\n") == 2


# --- The verb -----------------------------------------------------------------------------------------------------


async def verb(casino: Casino, *arguments: str) -> Result:
    """It has an event loop of its own."""
    told = {"CROUPIER_POSTGRES": casino.services.settings.postgres, "CROUPIER_REDIS": "unix:///nowhere"}
    told |= {"CROUPIER_SECRET": "A" * 44, "CROUPIER_VAULT_KEYS": KEYS}
    run = ["--operator", "lotus", *arguments]
    return await to_thread.run_sync(lambda: CliRunner().invoke(command, run, env=told))


async def openings(casino: Casino) -> list[tuple[str, str]]:
    query = "select data ->> 'why' as why, data ->> 'round' as round from events where stream = 'audit:shell'"
    return [(row["why"], row["round"]) for row in await casino.services.pool.fetch(query)]


async def test_the_verb_shows_a_players_cards_when_it_is_said_why_and_records_it(casino, hand):
    silent = await verb(casino, hand, "--as", "hand-a", "--text")
    assert (silent.exit_code, "--why" in silent.output, "->" in silent.output) == (1, True, False)
    assert await openings(casino) == []
    told = await verb(casino, hand, "--as", "hand-a", "--text", "--why", "case 17")
    assert told.exit_code == 0, told.output
    assert "# hand.1 as hand-a saw it, view 1, ended" in told.output
    assert await openings(casino) == [("case 17", hand)]
    again = await verb(casino, hand, "--as", "hand-a", "--frames", "--step", "1")
    assert ('"frame": "{\\"position\\":' in again.output, again.exit_code) == (True, 0)
    assert len(await openings(casino)) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bets.1", "--as", "nobody"), "there is no player 'nobody'"),
        (("bets.1", "--as", "ann", "--step", "99"), "bets.1 has 2 steps, so no step 99"),
        (("bets.99", "--as", "ann"), "no round 'bets.99'"),
        (("verb-on.1", "--as", "verb-on-a", "--why", "x"), "still on"),
    ],
)
async def test_the_verb_refuses_what_cannot_be_seen_in_one_line(casino, bets, arguments, said):
    if arguments[0] == "verb-on.1":
        await PattiTable(casino, "verb-on").open("a", "b", "c")
    told = await verb(casino, *arguments)
    assert (told.exit_code, said in told.output, "Traceback" in told.output) == (1, True, False), told.output


async def test_the_verb_tells_a_round_as_an_onlooker_and_as_ann(casino, bets):
    looked = await verb(casino, bets, "--as", "onlooker", "--text", "--views")
    assert (looked.exit_code, "ann" in looked.output, "phase=betting" in looked.output) == (0, False, True)
    seen = await verb(casino, bets, "--as", "ann", "--text")
    assert "PlaceBet wagers=player_a:500" in seen.output

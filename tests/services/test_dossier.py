"""Dossiers of rounds of every game: they hold, to both verifiers, and tell each reader what he may know."""

import json
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from click.testing import CliRunner

import ops.standalone.verify_dossier as standalone
from domain.game import Role, Viewer
from infra import eventlog
from infra.notes import PublicKey
from ops.dossier import command as make_verb
from ops.verify import command
from services.dossier import write
from services.verify import verify
from tests.domain import gin_knowledge, patti_knowledge
from tests.services.card_search import HEX

from .conftest import Casino, assert_problem
from .dossiers import KEYS, OTHER, PLAYERS, Rounds, failing, notes, played, standalone_failure


@pytest.fixture(scope="module")
async def rounds(house_of_module: Casino) -> AsyncGenerator[Rounds]:
    async with played(house_of_module) as made:
        yield made


def lines(raw: bytes) -> list[str]:
    return [check.what for check in verify(raw, KEYS)]


FORMS = (("auditor", ""), ("operator", ""), *(("player", name) for name in (*PLAYERS, "nobody")))


@pytest.mark.parametrize(("form", "player"), FORMS)
async def test_every_round_holds_in_every_form_to_both_verifiers(rounds: Rounds, form: Any, player: str) -> None:
    for what, round_id in rounds.ids.items():
        raw = write(await rounds.dossier(round_id, form, player))
        assert failing(raw) is None, what
        assert standalone_failure(raw) is None, what


async def test_nothing_is_left_sealed_in_an_auditors_form_and_every_command_is_decided_again(rounds: Rounds) -> None:
    for what, round_id in rounds.ids.items():
        told = await rounds.dossier(round_id, "auditor")
        assert all(each.body for each in told.commands), what
        [again] = [line for line in lines(write(told)) if line.startswith("decided again")]
        assert "sealed" not in again
        made = [row.event for row in told.proved if row.type == "audit.SealOpened"]
        assert [(each.round, each.why) for each in made] == [(round_id, "a complaint")]


async def test_it_tells_what_was_asked_when_and_what_was_refused_and_why(rounds: Rounds) -> None:
    told = await rounds.dossier(rounds.ids["banked"], "auditor")
    by_key = {each.key: each for each in told.commands}
    assert {"one", "two", "three", "four"} <= by_key.keys()
    refused = by_key["four"]
    assert refused.refused is not None
    assert json.loads(refused.body or "")["wagers"] == [{"spot": "player_a", "amount": 999_999_900}]
    assert abs(refused.decided - refused.received) < 5_000_000
    assert any(line.startswith(f"refused to ann: {refused.refused}") for line in lines(write(told)))


async def test_root_odds_and_result_of_a_banked_round_are_proved_to_its_player_too(rounds: Rounds) -> None:
    told = await rounds.dossier(rounds.ids["banked"], "player", "ann")
    proved = {row.type.partition(".")[2]: row.event for row in told.proved}
    assert proved["RoundOpened"].root
    assert proved["RoundOpened"].config.pay_table
    assert {"SeedPublished", "CardDealt", "RoundResulted", "BetStaked", "BetsSettled"} <= proved.keys()
    assert [each.type for each in (event.shown for event in told.events) if each] == ["teen_patti_2020.RoundSettled"]
    said = lines(write(told))
    assert "every payout is what the game returns for its bet (1)" in said
    assert "the deck shuffled from it has the root of the round's opening" in said


async def test_a_player_is_told_nothing_of_what_is_anothers(rounds: Rounds) -> None:
    whole = await rounds.dossier(rounds.ids["banked"], "operator")
    bobs = [row for row in whole.proved if row.stream == "wallet:bob"]
    assert bobs
    told = await rounds.dossier(rounds.ids["banked"], "player", "ann")
    by_position = {each.position: each for each in told.events}
    for row in bobs:
        assert by_position[row.position].entry is by_position[row.position].shown is None
    assert {each.actor for each in told.commands} == {"ann"}
    assert "three" not in {each.key for each in told.commands}
    text = write(told).decode()
    assert '"wallet:bob"' not in text
    assert '\\"spot\\":\\"six_card_bonus' not in text


async def test_what_is_sealed_is_in_no_players_form(rounds: Rounds) -> None:
    """Neither a seed's ciphertext, but where the round has revealed the seed itself; nor the seed of a game with hidden
    cards, nor where a card of the pile came from."""
    for what, round_id in rounds.ids.items():
        whole = await rounds.dossier(round_id, "auditor")
        sealed = {each for row in whole.proved for each in _sealed(json.loads(row.data))}
        opened = next(row.event for row in whole.proved if row.type.endswith(".RoundOpened"))
        if whole.game == "teen_patti_2020" and opened.seed:
            sealed.remove(opened.seed.sealed)
            assert sealed
        for player in ("ann", "bob", "nobody"):
            told = await rounds.dossier(round_id, "player", player)
            text = write(told).decode()
            assert not [each for each in sealed if each in text], what
            if whole.seed:
                assert whole.seed not in text
        if what.startswith("gin"):
            public = [json.loads(bytes(each.shown.event)) for each in told.events if each.shown]
            assert all(each["place"] is None for each in public if "place" in each)


def _sealed(told: Any) -> list[str]:
    if isinstance(told, dict):
        own = [told["sealed"]] if isinstance(told.get("sealed"), str) else []
        return own + [each for value in told.values() for each in _sealed(value)]
    return [each for value in told for each in _sealed(value)] if isinstance(told, list) else []


KNOWLEDGE = {"patti": patti_knowledge.Knowledge, "gin": gin_knowledge.Knowledge}


async def known_of(rounds: Rounds, what: str, round_id: str) -> Any:
    """What the model says can be known when the round is over."""
    pool, vault = rounds.house.services.pool, rounds.house.services.vault
    known = KNOWLEDGE[what.partition(",")[0]]("lotus", partial(vault.open, "lotus"))
    last = await pool.fetchval("select max(position) from events where operator = 'lotus' and round = $1", round_id)
    async for row in eventlog.of_stream(pool, "lotus", f"table:{round_id.partition('.')[0]}"):
        if row.position <= last:
            known.learn(row.event)
    return known


async def test_no_players_form_names_a_card_that_the_player_may_not_know(rounds: Rounds) -> None:
    """As the models tell who know neither a game's state nor its views."""
    tried = 0
    for what, round_id in rounds.ids.items():
        if what.partition(",")[0] not in KNOWLEDGE:
            continue
        known = await known_of(rounds, what, round_id)
        for player in (*known.hands, "nobody"):
            told = await rounds.dossier(round_id, "player", player)
            texts = [row.data for row in told.seen if row.round == round_id] + [
                each.body or "" for each in told.commands
            ]
            named = {card for text in texts for card in patti_knowledge.CARD.findall(text)}
            assert named <= known.of(Viewer(player, Role.PLAYER)), (what, player)
            assert not known.secrets & set(HEX.findall(" ".join(texts))), (what, player)
            tried += 1
    assert tried > 20


# --- Over HTTP ------------------------------------------------------------------------------------------------------


async def test_it_comes_over_http_in_the_form_of_whoever_asks(rounds: Rounds) -> None:
    house = rounds.house
    path = f"/v1/rounds/{rounds.ids['patti, shown']}/dossier"
    for bearer, form in (
        (house.bearer(Role.OPERATOR), "operator"),
        (house.bearer(Role.AUDITOR), "operator"),
        (rounds.tokens["ann"], "player"),
    ):
        answer = await house.ask("GET", path, bearer)
        assert (answer.status_code, answer.json()["form"]) == (200, form), answer.text
        assert answer.headers["content-type"] == "application/json"
        assert failing(answer.content) is None
    assert_problem(await house.ask("GET", path, house.bearer(Role.STUDIO)), 403, "Forbidden")


async def test_an_auditor_asks_for_it_with_a_reason_which_is_on_record_once(rounds: Rounds) -> None:
    house, auditor = rounds.house, rounds.house.bearer(Role.AUDITOR)
    path = f"/v1/rounds/{rounds.ids['patti, sideshow']}/dossier"
    begun = await house.position()
    first = await house.send(path, {"why": "dispute 12"}, auditor, "made-1")
    assert first.status_code == 200, first.text
    assert failing(first.content) is None
    assert "dispute 12" in " ".join(lines(first.content))
    again = await house.send(path, {"why": "dispute 12"}, auditor, "made-1")
    assert again.headers["idempotent-replayed"] == "true"
    assert again.content == first.content
    assert await house.position() == begun + 1
    assert_problem(await house.send(path, {"why": "dispute 13"}, auditor, "made-1"), 422, "KeyReused")
    assert_problem(await house.send(path, {}, auditor), 400, "MissingField")
    assert_problem(await house.send(path, {"why": "x"}), 403, "Forbidden")


async def test_of_a_round_that_is_on_or_was_not_there_is_none(rounds: Rounds) -> None:
    house, auditor = rounds.house, rounds.house.bearer(Role.AUDITOR)
    begun = await house.position()
    for answer in (
        await house.ask("GET", f"/v1/rounds/{rounds.on}/dossier"),
        await house.send(f"/v1/rounds/{rounds.on}/dossier", {"why": "curious"}, auditor),
    ):
        assert_problem(answer, 409, "RoundIsOn")
    for there_is_not in ("t.999", "nowhere.1", "ann.1"):
        assert_problem(await house.ask("GET", f"/v1/rounds/{there_is_not}/dossier"), 404, "NotFound")
    assert_problem(await house.ask("GET", "/v1/rounds/t.1;drop/dossier"), 400, "BadId")
    assert await house.position() == begun
    other = house.bearer(Role.OPERATOR, "other")
    assert_problem(await house.ask("GET", "/v1/rounds/t.1/dossier", other), 404, "NotFound")


# --- The verifiers as programs --------------------------------------------------------------------------------------


async def test_the_verb_tells_each_check_on_a_line_and_ends_well_if_all_hold(rounds: Rounds, tmp_path: Path) -> None:
    file, keys = tmp_path / "t.1.dossier.json", tmp_path / "log.pub"
    file.write_bytes(write(await rounds.dossier(rounds.ids["banked"], "auditor")))
    keys.write_text(f"{KEYS[0]}\n")
    for key in (str(keys), str(KEYS[0])):
        done = await to_thread.run_sync(CliRunner().invoke, command, [str(file), "--key", key])
        assert done.exit_code == 0, done.output
        assert done.output.splitlines()[-1].startswith("t.1.dossier.json is true")
    wrong = PublicKey("croupier/lotus/1", notes.public_key("x", OTHER).key)
    done = await to_thread.run_sync(CliRunner().invoke, command, [str(file), "--key", str(wrong)])
    assert (done.exit_code, done.output.splitlines()[-1][:5]) == (1, "FAILS")
    for nonsense in ("", "a+b", "a+b+c", str(tmp_path), str(file)):
        done = await to_thread.run_sync(CliRunner().invoke, command, [str(file), "--key", nonsense])
        assert done.exit_code == 2, done.output
        assert "Traceback" not in done.output


async def test_the_verb_writes_the_file_and_the_keys_or_says_why_not(rounds: Rounds, tmp_path: Path) -> None:
    given = rounds.house.environment
    file, keys = tmp_path / "dossier.json", tmp_path / "log.pub"

    async def run(round_id: str, *more: str) -> Any:
        asked = [round_id, "--out", str(file), "--keys", str(keys), *more]
        return await to_thread.run_sync(partial(CliRunner().invoke, make_verb, asked, env=given))

    for more, form in (
        ((), "operator"),
        (("--player", "ann"), "player"),
        (("--auditor", "zoe", "--why", "dispute 12", "--operator", "lotus"), "auditor"),
    ):
        done = await run(rounds.ids["patti, shown"], *more)
        assert done.exit_code == 0, done.output
        assert json.loads(file.read_bytes())["form"] == form
        assert failing(file.read_bytes(), [PublicKey.parse(keys.read_text())]) is None
    for round_id, more, code, said in (
        (rounds.on, (), 1, "is still on"),
        ("t.999", (), 1, "knows no round"),
        ("g.m1", (), 1, "a match has a dossier for each of its rounds"),
        ("t.1", ("--auditor", "zoe"), 2, "say why"),
        ("t.1", ("--player", "ann", "--auditor", "zoe", "--why", "x"), 2, "give --player or --auditor"),
        ("t.1", ("--operator", "nobody"), 1, "there is no operator"),
    ):
        done = await run(round_id, *more)
        assert (done.exit_code, said in done.output) == (code, True), done.output


async def test_the_second_verifier_needs_nothing_of_this_project(rounds: Rounds, tmp_path: Path) -> None:
    program = shutil.copy(standalone.__file__, tmp_path / "verify_dossier.py")
    file = tmp_path / "dossier.json"
    raw = write(await rounds.dossier(rounds.ids["gin, played"], "auditor"))

    async def run(key: object, *more: str) -> subprocess.CompletedProcess[str]:
        asked = [sys.executable, "-I", program, str(file), "--key", str(key), *more]
        return await to_thread.run_sync(
            partial(subprocess.run, asked, cwd=tmp_path, capture_output=True, text=True, check=False)
        )

    file.write_bytes(raw)
    held = await run(KEYS[0])
    assert (held.returncode, held.stderr) == (0, "")
    assert all(line.startswith("holds  ") for line in held.stdout.splitlines())
    file.write_bytes(raw.replace(b'"Knock', b'"Knick', 1))
    failed = await run(KEYS[0])
    assert (failed.returncode, failed.stderr, failed.stdout[:5]) == (1, "", "FAILS")
    assert (await run("nonsense")).returncode == 2
    assert (await run(KEYS[0], "more")).returncode == 2

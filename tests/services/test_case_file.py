"""A dispute in one file: it holds, tells each party what it may know, and whatever is altered in it is found."""

import json
import random
from collections.abc import AsyncGenerator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from click.testing import CliRunner

from domain.game import Role
from infra.notes import PublicKey
from ops.__main__ import croupier
from services import dossier
from services.case_file import FORMAT, read
from services.reconcile import reconcile
from services.verify import verify
from tests.services.test_dossier import _sealed
from tests.services.test_dossier_altered import HOSTILE, altered, taken_apart
from tests.services.test_dossier_altered import forged as forged_dossier

from .conftest import Casino, assert_problem
from .dossiers import KEYS, OTHER, Rounds, failing, notes, played, standalone_failure

STORY = "My bet showed on the screen.\nIt was not paid."
UPHELD = {"ruling": "upheld", "code": "dealing_error", "reason": "A card fell.", "evidence": 1}


class Cases:
    """Disputes by what they are about; ann's all."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self.house = rounds.house
        self.ann = rounds.tokens["ann"]
        self.ids: dict[str, str] = {}
        self._made: dict[tuple[str, str], bytes] = {}

    async def open(self, what: str, round_id: str, **more: Any) -> str:
        body = {"round": round_id, "words": STORY, **more}
        self.ids[what] = (await self.house.done("/v1/disputes", body, self.ann))["dispute"]["id"]
        return f"/v1/disputes/{self.ids[what]}"

    async def of_every_kind(self) -> None:
        for what, round_id in self.rounds.ids.items():
            await self.open(what, round_id)
        await self.upheld()
        await self.rejected()
        path = await self.open("withdrawn", "t.3", bet="late")
        await self.house.done(f"{path}/withdraw", {}, self.ann)

    async def upheld(self) -> None:
        """After evidence, a ruling that was declined, and one that was overtaken."""
        house, supervisor, operator = self.house, self.house.bearer(Role.SUPERVISOR), self.house.bearer(Role.OPERATOR)
        path = await self.open("upheld", "t.1", bet="four")
        await house.done(f"{path}/ask", {"words": "A picture, please."}, supervisor)
        evidence = {"words": "Here.", "reference": "mail 12", "sha256": 64 * "a"}
        await house.done(f"{path}/evidence", evidence, self.ann)
        ruling = UPHELD | {"amount": 195, "currency": "EUR"}
        first = (await house.send(f"{path}/ruling", ruling | {"amount": 99_000}, supervisor)).json()["proposal"]["id"]
        await house.done(f"/v1/proposals/{first}/decline", {"reason": "too much"}, operator)
        await house.by_two(f"{path}/ruling", ruling, supervisor, operator)

    async def rejected(self) -> None:
        """A bet that came when the round was over."""
        supervisor, operator = self.house.bearer(Role.SUPERVISOR), self.house.bearer(Role.OPERATOR)
        answer = await self.house.bet(self.ann, "t.2", "late", player_a=100)
        assert answer.status_code in (409, 422)
        path = await self.open("rejected", "t.2", bet="late")
        ruling = {"ruling": "rejected", "code": "too_late", "reason": "It came too late.", "evidence": 0}
        await self.house.by_two(f"{path}/ruling", ruling, supervisor, operator)

    async def file(self, what: str, form: str) -> bytes:
        name = (what, form)
        if name not in self._made:
            bearer = self.ann if form == "player" else self.house.bearer()
            answer = await self.house.ask("GET", f"/v1/disputes/{self.ids[what]}/export", bearer)
            assert answer.status_code == 200, answer.text
            self._made[name] = answer.content
        return self._made[name]


@pytest.fixture(scope="module")
async def cases(house_of_module: Casino) -> AsyncGenerator[Cases]:
    async with played(house_of_module) as rounds:
        made = Cases(rounds)
        await made.of_every_kind()
        yield made


def lines(raw: bytes) -> list[str]:
    return [check.what for check in verify(raw, KEYS)]


async def test_every_case_holds_in_both_forms_and_so_does_the_dossier_in_it(cases: Cases) -> None:
    for what in cases.ids:
        for form in ("operator", "player"):
            raw = await cases.file(what, form)
            assert failing(raw) is None, (what, form)
            assert standalone_failure(bytes(read(raw).dossier)) is None, (what, form)


async def test_it_tells_who_said_and_did_what_when_and_what_was_given(cases: Cases) -> None:
    said = lines(await cases.file("upheld", "operator"))
    assert any(
        "opened about four" in line and line.endswith("My bet showed on the screen. / It was not paid.")
        for line in said
    )
    assert any("evidence (mail 12 aaaa" in line for line in said)
    assert any("upheld, dealing_error: A card fell." in line for line in said)
    assert "what was given is in the player's wallet: 195 EUR" in said
    assert "2 rulings were proposed, each about this dispute" in said
    assert any(line.startswith("of the round") or "decided again" in line for line in said)


async def test_it_has_the_player_s_commands_of_the_round_and_when_each_came(cases: Cases) -> None:
    told = read(await cases.file("upheld", "player"))
    by_key = {each.key: each for each in told.commands if each.actor == "ann"}
    assert {"one", "two", "four"} <= by_key.keys()
    assert (by_key["four"].refused is not None, "999999900" in (by_key["four"].body or "")) == (True, True)
    assert {each.actor for each in told.commands} > {"ann"}, "and who heard it"
    assert not {"three", "five"} & {each.key for each in told.commands}, "and nothing of bob's"


async def test_a_bet_that_came_after_the_end_is_there_with_its_refusal(cases: Cases) -> None:
    for form in ("operator", "player"):
        told = read(await cases.file("rejected", form))
        [refused] = [row for row in told.rows if row.stream == "refused:ann"]
        [sent] = [each for each in told.commands if each.key == "late"]
        assert (sent.refused, sent.received) == (refused.event.rule, refused.event.received)


async def test_a_player_is_told_no_more_than_in_the_dossier_of_the_round(cases: Cases) -> None:
    """Same rule, same bytes: what surrounds them is the dispute's, and neither a card nor anything sealed."""
    for what, round_id in cases.rounds.ids.items():
        raw = await cases.file(what, "player")
        own = dossier.write(await cases.rounds.dossier(round_id, "player", "ann"))
        assert bytes(read(raw).dossier) == own, what
        around = raw.replace(own, b"").decode()
        whole = await cases.rounds.dossier(round_id, "auditor")
        sealed = [each for row in whole.proved for each in _sealed(json.loads(row.data))]
        assert not [each for each in (*sealed, whole.seed) if each and each in around], what
        assert "proposal.Proposed" not in around
        assert {row.stream.partition(":")[0] for row in read(raw).rows} == {"dispute", "docket"}


async def test_an_operator_s_case_opens_nothing_that_is_sealed(cases: Cases) -> None:
    for what, round_id in cases.rounds.ids.items():
        own = dossier.write(await cases.rounds.dossier(round_id, "operator"))
        assert bytes(read(await cases.file(what, "operator")).dossier) == own


async def test_there_is_none_of_a_round_that_is_on_nor_of_another_s(cases: Cases) -> None:
    house = cases.house
    path = await cases.open("on", cases.rounds.on)
    del cases.ids["on"]
    assert_problem(await house.ask("GET", f"{path}/export"), 409, "RoundIsOn")
    path = f"/v1/disputes/{cases.ids['upheld']}/export"
    for bearer in (cases.rounds.tokens["bob"], house.bearer(Role.OPERATOR, "other")):
        assert_problem(await house.ask("GET", path, bearer), 404, "NotFound")
    assert_problem(await house.ask("GET", path, house.bearer(Role.STUDIO)), 403, "Forbidden")


async def test_disputes_leave_rounds_dossiers_and_books_as_they_were(cases: Cases) -> None:
    """What is said about a round afterwards is no part of it."""
    replay = await cases.house.get("/v1/rounds/t.1/replay", cases.house.bearer(Role.AUDITOR))
    assert all(proof["holds"] for proof in replay["proofs"])
    assert not [step for step in replay["steps"] if "dispute" in json.dumps(step)]
    await cases.house.project()
    said: list[str] = []
    await reconcile(cases.house.services.pool, "lotus", said.append)
    assert said == []


# --- Altered --------------------------------------------------------------------------------------------------------


def forged(told: Any) -> bytes:
    """With its digests made anew, the dossier's too."""
    whole = json.loads(json.dumps(told))
    within = whole.pop("dossier") if isinstance(whole.get("dossier"), dict) else None
    if within is not None:
        within.pop("format", None), within.pop("sha256", None)
    body = json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()[1:-1]
    if within is not None:
        body += b',"dossier":' + forged_dossier(within)
    body += b"}"
    return f'{{"format":"{FORMAT}","sha256":"{sha256(body).hexdigest()}",'.encode() + body


SOME = ("upheld", "rejected", "withdrawn")


async def test_60_accidents_are_each_found(cases: Cases) -> None:
    whole = [await cases.file(what, form) for what in SOME for form in ("operator", "player")]
    chance = random.Random(3)
    for number in range(60):
        raw = chance.choice(whole)
        at = chance.randrange(len(raw))
        accident = chance.choice(
            [raw[:at], raw[:at] + raw[at + 1 :], raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :], raw + b"\n"]
        )
        assert failing(accident) is not None, number


def is_proved(place: tuple[Any, ...], before: Any) -> bool:
    """As in a dossier: not when an accepted command came, nor how a body was written."""
    match place:
        case ("dossier", *_):
            return False  # its own tests
        case ("commands", int(at), "received"):
            return before["commands"][at].get("refused") is not None
        case ("commands", int(), "first" | "last"):
            return before["form"] == "operator"
        case ("commands", int(), "body"):
            return False
        case _:
            return True


async def test_100_forgeries_are_each_found_although_the_digests_were_made_anew(cases: Cases) -> None:
    whole = [taken_apart(await cases.file(what, form)) for what in SOME for form in ("operator", "operator", "player")]
    assert failing(forged(whole[0])) is None, "so that what is found is the forgery"
    chance = random.Random(5)
    tried = 0
    while tried < 100:
        before = chance.choice(whole)
        told = {name: json.loads(json.dumps(value)) for name, value in before.items() if name != "dossier"}
        place = altered(told, chance)
        if is_proved(place, before):
            tried += 1
            assert failing(forged(told | {"dossier": before["dossier"]})) is not None, place


async def test_an_event_left_out_is_missed_but_for_the_last_and_for_what_was_only_proposed(cases: Cases) -> None:
    for what in ("upheld", "rejected"):
        whole = taken_apart(await cases.file(what, "operator"))
        for at, event in enumerate(whole["events"]):
            told = dict(whole, events=whole["events"][:at] + whole["events"][at + 1 :])
            assert failing(forged(told)) is not None, (what, event["entry"]["type"])


async def test_a_dossier_of_another_round_or_form_does_not_fit(cases: Cases) -> None:
    whole = taken_apart(await cases.file("upheld", "operator"))
    for other in (await cases.file("rejected", "operator"), await cases.file("upheld", "player")):
        said = str(failing(forged(whole | {"dossier": taken_apart(other)["dossier"]})))
        assert "the dossier is that of the round" in said


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_file_gets_one_clear_line(cases: Cases, hostile: Any) -> None:
    """The dossier's own bombs, called cases; and within a case."""
    raw = hostile(bytes(read(await cases.file("upheld", "operator")).dossier))
    said = str(failing(raw.replace(b"croupier-dossier/", b"croupier-case/", 1)))
    assert said != "None"
    assert ("\n" in said, len(said) < 1_000) == (False, True)


async def test_who_signed_it_with_another_key_is_not_believed(cases: Cases) -> None:
    for key in (
        PublicKey("croupier/lotus/1", notes.public_key("x", OTHER).key),
        PublicKey("croupier/other/1", KEYS[0].key),
    ):
        assert "signed" in str(failing(await cases.file("upheld", "operator"), [key]))


async def test_a_case_of_another_version_is_named(cases: Cases) -> None:
    raw = (await cases.file("upheld", "operator")).replace(b"croupier-case/1", b"croupier-case/2", 1)
    assert "it is of version 2" in str(failing(raw))


# --- The verb ---------------------------------------------------------------------------------------------------------


async def test_the_verb_lists_shows_and_exports(cases: Cases, tmp_path: Path) -> None:
    given = cases.house.environment
    file, keys = tmp_path / "dispute.json", tmp_path / "log.pub"

    async def run(*words: str) -> Any:
        return await to_thread.run_sync(lambda: CliRunner(env=given).invoke(croupier, list(words)))

    this = cases.ids["upheld"]
    listed = await run("dispute", "list", "lotus", "--stage", "upheld", "--player", "ann")
    assert (listed.exit_code, listed.output.count("\n")) == (0, 1), listed.output
    assert f"{this}  upheld     ann  t.1 four  due 20" in listed.output
    assert listed.output.endswith("dealing_error\n")
    assert len((await run("dispute", "list", "lotus")).output.splitlines()) >= len(cases.ids)
    assert (await run("dispute", "list", "lotus", "--overdue")).output == ""
    shown = json.loads((await run("dispute", "show", "lotus", this)).output)
    assert [each["event"]["type"] for each in shown["events"]][::3] == ["dispute.Opened", "dispute.Decided"]
    for more, form in (((), "operator"), (("--for-player",), "player")):
        done = await run("dispute", "export", "lotus", this, "--out", str(file), "--keys", str(keys), *more)
        assert done.exit_code == 0, done.output
        assert json.loads(file.read_bytes())["form"] == form
        held = await run("verify", str(file), "--key", str(keys))
        assert held.exit_code == 0, held.output
        assert held.output.splitlines()[-1].startswith("dispute.json is true")
    file.write_bytes(file.read_bytes()[:-9])
    broken = await run("verify", str(file), "--key", str(keys))
    assert (broken.exit_code, "cut off, or altered" in broken.output) == (1, True)
    for words in (("show", "lotus", "none"), ("export", "lotus", "none", "--out", str(file))):
        done = await run("dispute", *words)
        assert (done.exit_code, "has no dispute 'none'" in done.output) == (1, True)

"""What was altered in a dossier is found, by accident or on purpose; and no file, whatever it is, breaks a verifier."""

import json
import random
import resource
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from hashlib import sha256
from typing import Any

import msgspec
import pytest

from infra.notes import PublicKey
from services.dossier import FORMAT, SIZE_MAX, Form, write

from .conftest import Casino
from .dossiers import KEYS, OTHER, Rounds, failing, notes, played, standalone_failure

THREE = ("banked", "patti, shown", "gin, played")
BY_ACCIDENT, ON_PURPOSE = 200, 200


@pytest.fixture(scope="module")
async def rounds(house_of_module: Casino) -> AsyncGenerator[Rounds]:
    async with played(house_of_module) as made:
        yield made


async def files(rounds: Rounds, *forms: tuple[Form, str]) -> list[bytes]:
    return [write(await rounds.dossier(rounds.ids[what], form, player)) for what in THREE for form, player in forms]


# --- By accident: bytes ---------------------------------------------------------------------------------------------


def flipped(raw: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ 1 << chance.randrange(8)]) + raw[at + 1 :]


def cut_off(raw: bytes, chance: random.Random) -> bytes:
    return raw[: chance.randrange(len(raw))]


def cut_out(raw: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(raw))
    return raw[:start] + raw[start + chance.randint(1, 200) :]


def repeated(raw: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(raw))
    return raw[:start] + raw[start : start + chance.randint(1, 200)] + raw[start:]


def went_on(raw: bytes, chance: random.Random) -> bytes:
    return raw + chance.choice([b"\n", b" ", b"}", raw, b"\0"])


async def test_200_accidents_are_each_found_by_both_verifiers(rounds: Rounds) -> None:
    whole = await files(rounds, ("auditor", ""), ("operator", ""), ("player", "ann"))
    chance = random.Random(7)
    for number in range(BY_ACCIDENT):
        accident = chance.choice([flipped, cut_off, cut_out, repeated, went_on])
        raw = accident(chance.choice(whole), chance)
        assert failing(raw) is not None, (number, accident)
        assert standalone_failure(raw) is not None, (number, accident)


async def test_an_accident_is_found_even_where_nothing_proves_what_was_there(rounds: Rounds) -> None:
    """When a command came in, no event tells: here the digest alone stands for it."""
    raw = write(await rounds.dossier(rounds.ids["banked"], "auditor"))
    at = raw.index(b'"received":') + len(b'"received":')
    other_moment = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
    assert "not as it was made" in str(failing(other_moment))
    assert "sha256" in str(standalone_failure(other_moment))


# --- On purpose: whoever alters it writes the digest anew -----------------------------------------------------------


def forged(told: Any) -> bytes:
    body = json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()[1:]
    return f'{{"format":"{FORMAT}","sha256":"{sha256(body).hexdigest()}",'.encode() + body


def taken_apart(raw: bytes) -> Any:
    told = json.loads(raw)
    del told["format"], told["sha256"]
    return told


Place = tuple[Any, ...]


def places(told: Any, place: Place = ()) -> Iterator[tuple[Place, Any, Any]]:
    """Each value, where it is, and what holds it."""
    items = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    for name, value in items:
        yield (*place, name), value, told
        yield from places(value, (*place, name))


def altered(told: Any, chance: random.Random) -> Place:
    """One thing is other than it was; returns where."""
    while True:
        place, value, holder = chance.choice(every := list(places(told)))
        name = place[-1]
        before = json.dumps(told)
        match chance.choice(["value", "drop", "repeat", "swap", "move"]):
            case "value":
                holder[name] = other(value, chance)
            case "drop":
                del holder[name]
            case "repeat" if isinstance(holder, list):
                holder.insert(chance.randrange(len(holder) + 1), value)
            case "swap":
                kin = [each for each in every if each[0][-1] == name and type(each[1]) is type(value)]
                there, another, its_holder = chance.choice(kin)
                if there[: len(place)] != place and place[: len(there)] != there:
                    holder[name], its_holder[there[-1]] = another, value
            case "move" if isinstance(holder, list):
                holder.insert(chance.randrange(len(holder)), holder.pop(name))
            case _:
                continue
        if json.dumps(told) != before:
            return place


def other(value: Any, chance: random.Random) -> Any:
    match value:
        case int():
            return value + chance.choice([-1, 1, 1_000, -(2**70), 2**70])
        case str() if value:
            at = chance.randrange(len(value))
            return value[:at] + chance.choice('0123456789abcdefAK "\\\u20ac') + value[at + 1 :]
        case None | "":
            return "x"
        case _:
            return chance.choice([None, [], {}, 0, "x"])


def is_proved(place: Place, before: Any) -> bool:
    """All but when a command came, which no event tells if it was accepted, and how its body was written."""
    match place:
        case ("commands", int(at), "received"):
            return before["commands"][at].get("refused") is not None
        case ("commands", int(), "body"):
            return False
        case _:
            return True


def is_in_scope(place: Place) -> bool:
    """What the second verifier proves: it is told of the rules of no game, and plays nothing again."""
    match place:
        case ("note" | "operator" | "round" | "seed", *_):
            return True
        case ("events", int(), "position" | "path" | "entry" | "leaf", *_):
            return True
        case _:
            return False


async def test_200_forgeries_are_each_found_although_the_digest_was_made_anew(rounds: Rounds) -> None:
    whole = await files(rounds, ("auditor", ""))
    chance = random.Random(11)
    second = 0
    for number in range(ON_PURPOSE):
        told = taken_apart(chance.choice(whole))
        before = json.loads(json.dumps(told))
        place = altered(told, chance)
        while not is_proved(place, before):
            told = json.loads(json.dumps(before))
            place = altered(told, chance)
        raw = forged(told)
        assert failing(raw) is not None, (number, place)
        if is_in_scope(place):
            second += 1
            assert standalone_failure(raw) is not None, (number, place)
    assert second > ON_PURPOSE // 2


async def test_in_a_players_form_whatever_is_proved_cannot_be_altered_either(rounds: Rounds) -> None:
    whole = await files(rounds, ("player", "ann"), ("player", "bob"))
    chance = random.Random(13)
    tried = 0
    while tried < ON_PURPOSE // 2:
        told = taken_apart(chance.choice(whole))
        place = altered(told, chance)
        if is_in_scope(place):
            tried += 1
            assert failing(forged(told)) is not None, place
            assert standalone_failure(forged(told)) is not None, place


async def test_a_forged_file_that_nobody_altered_would_hold(rounds: Rounds) -> None:
    """So that the test above finds forgeries, and not its own way of writing."""
    for raw in await files(rounds, ("auditor", ""), ("player", "ann")):
        assert forged(taken_apart(raw)) == raw
        assert failing(raw) is None


async def test_an_event_left_out_is_missed_whichever_it_is(rounds: Rounds) -> None:
    for what in THREE:
        whole = taken_apart(write(await rounds.dossier(rounds.ids[what], "auditor")))
        for at in range(len(whole["events"])):
            told = dict(whole, events=whole["events"][:at] + whole["events"][at + 1 :])
            assert failing(forged(told)) is not None, (what, whole["events"][at])


async def test_other_bodies_are_found_by_deciding_again(rounds: Rounds) -> None:
    for what, instead in (
        ("banked", '{"type":"PlaceBet","round":"t.1","wagers":[{"spot":"player_a","amount":900}]}'),
        ("patti, shown", '{"type":"Fold"}'),
        ("gin, played", '{"type":"Draw","source":"stock"}'),
    ):
        whole = taken_apart(write(await rounds.dossier(rounds.ids[what], "auditor")))
        missed = 0
        for at, each in enumerate(whole["commands"]):
            if json.loads(each["body"]).get("type") != json.loads(instead)["type"]:
                told = json.loads(json.dumps(whole))
                told["commands"][at]["body"] = instead
                missed += failing(forged(told)) is None
        assert not missed, what


# --- Hostile files ----------------------------------------------------------------------------------------------------


def of_another_version(raw: bytes) -> bytes:
    return raw.replace(b"croupier-dossier/1", b"croupier-dossier/2", 1)


def nested(raw: bytes) -> bytes:
    return with_body(b'"operator":' + 1_000_000 * b"[" + 1_000_000 * b"]" + b"}")


def nested_in_an_event(raw: bytes) -> bytes:
    told = taken_apart(raw)
    told["events"][0]["entry"]["data"] = 1_000_000 * "["
    return forged(told)


def with_body(body: bytes) -> bytes:
    return f'{{"format":"{FORMAT}","sha256":"{sha256(body).hexdigest()}",'.encode() + body


def huge(raw: bytes) -> bytes:
    return raw + (SIZE_MAX - len(raw) + 1) * b" "


def bomb_of_objects(raw: bytes) -> bytes:
    return with_body(b'"events":[' + 20_000_000 * b"{}," + b"{}]}")


def bomb_of_paths(raw: bytes) -> bytes:
    return with_body(b'"events":[{"position":1,"path":[' + 20_000_000 * b'"",' + b'""]}]}')


def bomb_of_digits(raw: bytes) -> bytes:
    return with_body(b'"events":[{"position":' + 30_000_000 * b"9" + b"}]}")


def long_paths(raw: bytes) -> bytes:
    told = taken_apart(raw)
    told["events"][0]["path"] *= 10_000
    return forged(told)


HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _raw: b"",
    "null": lambda _raw: b"null",
    "no text": lambda _raw: b"\xff\xfe{}",
    "half": lambda raw: raw[: len(raw) // 2],
    "empty": lambda _raw: with_body(b"}"),
    "no text within": lambda _raw: with_body(b"\xff}"),
    "another version": of_another_version,
    "nested": nested,
    "nested in an event": nested_in_an_event,
    "huge": huge,
    "a bomb of objects": bomb_of_objects,
    "a bomb of paths": bomb_of_paths,
    "a bomb of digits": bomb_of_digits,
    "long paths": long_paths,
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("verifier", [failing, standalone_failure])
async def test_a_hostile_file_gets_one_clear_line_in_bounded_time_and_memory(
    rounds: Rounds, hostile: Callable[[bytes], bytes], verifier: Callable[[bytes], Any]
) -> None:
    raw = hostile(write(await rounds.dossier(rounds.ids["banked"], "auditor")))
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = str(verifier(raw))
    assert said != "None"
    assert "\n" not in said
    assert len(said) < 1_000
    assert time.monotonic() - begun < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000  # KB


async def test_who_signed_it_with_another_key_is_not_believed(rounds: Rounds) -> None:
    raw = write(await rounds.dossier(rounds.ids["banked"], "auditor"))
    for key in (
        PublicKey("croupier/lotus/1", notes.public_key("x", OTHER).key),
        PublicKey("croupier/other/1", KEYS[0].key),
        PublicKey("croupier/lotus/2", KEYS[0].key),
    ):
        assert "signed" in str(failing(raw, [key]))
        assert "signed" in str(standalone_failure(raw, [key]))
    told = await rounds.dossier(rounds.ids["banked"], "auditor")
    own = notes.signed(notes.Checkpoint("croupier/lotus/1", 10**6, bytes(32)), [OTHER])
    raw = write(msgspec.structs.replace(told, note=own))
    assert "is not signed by the key" in str(failing(raw))
    assert "signed" in str(standalone_failure(raw))


async def test_proofs_of_another_tree_prove_nothing(rounds: Rounds) -> None:
    """The same log's note of another time, and another operator's log: both signed well."""
    told = await rounds.dossier(rounds.ids["banked"], "auditor")
    later = (await rounds.dossier(rounds.ids["gin, drawn"], "auditor")).note
    foreign = notes.signed(notes.Checkpoint("croupier/other/1", 10**6, bytes(32)), [bytes(range(32))])
    keys = [*KEYS, notes.public_key("croupier/other/1", bytes(range(32)))]
    raw = write(msgspec.structs.replace(told, note=later))
    assert "tree that was signed" in str(failing(raw))
    assert "signed tree" in str(standalone_failure(raw))
    raw = write(msgspec.structs.replace(told, note=foreign))
    assert "it is of croupier/other/1" in str(failing(raw, keys))
    assert "croupier/other/1" in str(standalone_failure(raw, keys))

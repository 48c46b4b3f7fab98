"""The signed log: what the notary takes in and signs, proofs of it, and how whoever has the database is found out."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from domain import merkle
from domain.decider import Submission
from domain.game import Role
from domain.wallet.commands import Deposit, OpenWallet
from infra import eventlog, notes, postgres
from infra.notes import BadNote, PublicKey
from services import notary, tree
from services.log_audit import Audited, Fault, audit
from services.notary import Notaries, Notary
from services.settlement import PLATFORM

from .conftest import Casino

SEED, NEWER = bytes(range(32)), bytes(range(2, 34))
KEY = notes.public_key("any", SEED)


@pytest.fixture(scope="module")
async def signed(house_of_module: Casino) -> Casino:
    """A log of some hundred events, signed three times."""
    house, each = house_of_module, Notary(house_of_module.services.pool, "lotus", {"k1": SEED})
    for number in range(3):
        names = [f"p{number}-{at}" for at in range(50)]
        for command in (OpenWallet("EUR"), Deposit(100, "EUR")):
            asked = [Submission("lotus", PLATFORM, Role.OPERATOR, f"wallet:{name}", command) for name in names]
            await asyncio.gather(*map(house.worker.submit, asked))
        while await each.once():
            pass
    return house


async def events(house: Casino) -> list[eventlog.EventRow]:
    return await eventlog.after(house.services.pool, "lotus", 0)


async def notes_of(house: Casino) -> list[Any]:
    return await house.services.pool.fetch("select size, note from notes where operator = 'lotus' order by size")


def silent(_line: str) -> None:
    pass


# --- What is signed -----------------------------------------------------------------------------------------------


async def test_what_is_signed_is_the_tree_over_the_events_as_anybody_can_build_it(signed: Casino) -> None:
    rows, told = await events(signed), await notes_of(signed)
    assert len(told) == 3
    assert told[-1]["size"] == len(rows) > 256
    for size, note in told:
        assert notes.verified(note, [notes.public_key("croupier/lotus/1", SEED)]) == notes.Checkpoint(
            "croupier/lotus/1", size, merkle.root_of([eventlog.leaf(row) for row in rows[:size]])
        )


async def test_each_event_is_proved_in_each_checkpoint_that_is_over_it(signed: Casino) -> None:
    pool, rows = signed.services.pool, await events(signed)
    for size, note in await notes_of(signed):
        root = notes.verified(note, [notes.public_key("croupier/lotus/1", SEED)]).root
        proofs = await tree.inclusions(pool, "lotus", range(1, size + 1), size)
        for row in rows[:size]:
            leaf, path = proofs[row.position]
            assert leaf == eventlog.leaf(row)
            assert merkle.includes(root, size, row.position - 1, leaf, path)
        assert await tree.inclusion(pool, "lotus", 7, size) == proofs[7]


async def test_a_log_that_is_signed_again_goes_on_from_what_was_signed_before(signed: Casino) -> None:
    key = notes.public_key("croupier/lotus/1", SEED)
    roots = [(size, notes.verified(note, [key]).root) for size, note in await notes_of(signed)]
    for old, before in roots:
        for size, root in roots:
            if old <= size:
                proof = await tree.consistency(signed.services.pool, "lotus", old, size)
                assert merkle.extends(before, old, root, size, proof)


async def test_it_is_all_there_over_http(signed: Casino) -> None:
    bearer = signed.bearer()
    answer = await signed.ask("GET", "/v1/log/checkpoint")
    assert answer.headers["content-type"].startswith("text/plain")
    [key] = [PublicKey.parse(each["key"]) for each in (await signed.get("/v1/log/keys", bearer))["keys"]]
    now = notes.verified(answer.text, [key])
    one = await signed.get("/v1/log/inclusion/5", bearer)
    assert one["size"] == now.size
    leaf = eventlog.leaf((await events(signed))[4])
    assert bytes.fromhex(one["leaf"]) == leaf
    assert merkle.includes(now.root, now.size, 4, leaf, [bytes.fromhex(each) for each in one["path"]])
    old = (await notes_of(signed))[0]
    grown = await signed.get("/v1/log/consistency", bearer, old=old["size"])
    proof = [bytes.fromhex(each) for each in grown["proof"]]
    assert merkle.extends(notes.verified(old["note"], [key]).root, old["size"], now.root, now.size, proof)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/log/inclusion/0", 404, "NotFound"),
        ("/v1/log/inclusion/1000000", 422, "NoSuchPosition"),
        ("/v1/log/inclusion/9?size=5", 404, "NotFound"),
        ("/v1/log/inclusion/9?size=99999999", 422, "NoSuchPosition"),
        ("/v1/log/inclusion/99999999999999999999999", 404, "NotFound"),
        ("/v1/log/inclusion/-1", 404, "NotFound"),
        ("/v1/log/consistency?old=0", 400, "BadParameter"),
        ("/v1/log/consistency?old=9&size=8", 400, "BadParameter"),
        ("/v1/log/consistency", 400, "BadParameter"),
        ("/v1/log/checkpoint?size=9999999", 422, "NoSuchPosition"),
    ],
)
async def test_what_there_is_not_gets_a_clear_answer(signed: Casino, path: str, status: int, code: str) -> None:
    answer = await signed.ask("GET", path)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_a_log_that_nobody_has_signed_says_so(signed: Casino) -> None:
    answer = await signed.ask("GET", "/v1/log/checkpoint", signed.bearer(Role.OPERATOR, "other"))
    assert (answer.status_code, answer.json()["code"]) == (503, "NotSigned")
    assert "CROUPIER_LOG_KEYS" in answer.json()["detail"]


# --- How it goes on -----------------------------------------------------------------------------------------------


async def test_an_event_is_signed_within_a_second_however_many_notaries_run(casino: Casino) -> None:
    pool = casino.services.pool
    tasks = [asyncio.create_task(Notaries(pool, {"k1": SEED}).run()) for _ in range(2)]
    took: list[float] = []
    for number in range(6):
        await casino.player(f"p{number}", 1)
        begun, position = time.monotonic(), await casino.position()
        while await pool.fetchval("select max(size) from notes where operator = 'lotus'") != position:
            await asyncio.sleep(0.01)
            assert time.monotonic() - begun < 20
        took.append(time.monotonic() - begun)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert sorted(took)[1] < 1, took  # on a busy machine the clock of one may run over
    assert (await audit(pool, "lotus", [KEY], silent)).signed == await casino.position()


async def test_notaries_that_meet_take_each_event_in_once(casino: Casino) -> None:
    pool = casino.services.pool
    for number in range(5):
        await casino.player(f"p{number}", 1)
        await asyncio.gather(*(Notary(pool, "lotus", {"k1": SEED}).once() for _ in range(8)))
    done = await audit(pool, "lotus", [KEY], silent)
    assert done == Audited(await casino.position(), await casino.position(), 5)


async def test_a_key_is_followed_by_another_and_both_are_known(casino: Casino) -> None:
    pool = casino.services.pool
    for number, keys in enumerate(({"old": SEED}, {"new": NEWER, "old": SEED}, {"new": NEWER})):
        await casino.player(f"p{number}", 1)
        await Notary(pool, "lotus", keys).once()
    known = [PublicKey.parse(each["key"]).key for each in (await casino.get("/v1/log/keys"))["keys"]]
    assert known == [notes.public_key("any", NEWER).key, KEY.key]
    newer = notes.public_key("any", NEWER)
    assert (await audit(pool, "lotus", [KEY, newer], silent)).notes == 3
    with pytest.raises(Fault, match="not signed by the key"):
        await audit(pool, "lotus", [newer], silent)


async def test_nothing_is_signed_of_a_log_that_does_not_link(casino: Casino, database: str) -> None:
    each = Notary(casino.services.pool, "lotus", {"k1": SEED})
    await each.once()
    await casino.player("ann", 5)
    async with postgres.connected(database, name="owner") as connection:
        await connection.execute("alter table events disable trigger all")
        await connection.execute("update events set data = '{}' where operator = 'lotus' and stream = 'wallet:ann'")
    with pytest.raises(eventlog.LogTorn, match="does not link"):
        await each.once()
    assert len(await notes_of(casino)) == 1


async def test_nothing_is_signed_of_a_log_that_ends_before_what_was_signed(casino: Casino, database: str) -> None:
    each = Notary(casino.services.pool, "lotus", {"k1": SEED})
    await casino.player("ann", 5)
    await each.once()
    async with postgres.connected(database, name="owner") as connection:
        await connection.execute("alter table events disable trigger all")
        await connection.execute("delete from events where operator = 'lotus' and position > 3")
        await connection.execute("update logs set position = 3 where operator = 'lotus'")
    with pytest.raises(eventlog.LogTorn, match="the log ends at 3"):
        await each.once()


# --- Whoever has the database -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def log(module_database: str, signed: Casino) -> None:
    """Of the other operator: some events, of which position 5 on are about money, signed in steps; the last not yet."""
    each = Notary(signed.services.pool, "other", {"k1": SEED})
    for number in range(3):
        await signed.player(f"p{number}", 100, "other")
        await each.once()
    await signed.player("late", 100, "other")


@pytest.fixture
async def owner(log: None, module_database: str) -> AsyncGenerator[postgres.Connection]:
    """The database as its owner, with every guard of the tables taken away; in the end all is as it was."""
    async with postgres.connected(module_database, name="owner") as connection:
        change = connection.transaction()
        await change.start()
        await connection.execute("alter table events disable trigger all")
        yield connection
        await change.rollback()


async def found(owner: postgres.Connection, kept: tuple[str, ...] = ()) -> tuple[int, int | None]:
    with pytest.raises(Fault) as fault:
        await audited(owner, kept)
    return fault.value.position, fault.value.until


async def audited(owner: Any, kept: tuple[str, ...] = ()) -> Audited:
    return await audit(owner, "other", [KEY], silent, kept)


async def signed_of_it(owner: postgres.Connection) -> list[Any]:
    return await owner.fetch("select size, note from notes where operator = 'other' order by size")


MINE = "operator = 'other' and position"


@pytest.mark.parametrize(
    ("change", "first"),
    [
        (f"update events set data = replace(data::text, '100', '900')::json where {MINE} = 7", 7),
        (f"update events set actor = 'somebody' where {MINE} = 6", 6),
        (f"update events set at = at + interval '1 microsecond' where {MINE} = 8", 8),
        (f"update events set round = 't.1' where {MINE} = 6", 6),
        (f"update events set command = null where {MINE} = 7", 7),
        (f"update events set hash = decode(repeat('ab', 32), 'hex') where {MINE} = 9", 9),
        (f"delete from events where {MINE} = 7", 7),
        (f"delete from events where {MINE} = 1", 1),
        (f"delete from events where {MINE} >= 8", 8),
    ],
)
async def test_what_was_done_to_an_event_is_found_at_its_place(owner: postgres.Connection, change: str, first: int):
    assert (await owner.execute(change)).split()[-1] != "0"
    assert await found(owner) == (first, None)


async def test_two_events_that_changed_places_are_found(owner: postgres.Connection) -> None:
    for old, new in ((6, 1_000_006), (8, 6), (1_000_006, 8)):
        await owner.execute(f"update events set position = {new} where {MINE} = {old}")
    assert await found(owner) == (6, None)


async def test_an_event_that_was_put_in_is_found(owner: postgres.Connection) -> None:
    await owner.execute(f"update events set position = position + 1000001 where {MINE} >= 7")
    await owner.execute(f"update events set position = position - 1000000 where {MINE} > 1000000")
    others = "type, schema, round, command, actor, role, at, data, hash"
    await owner.execute(
        f"insert into events (operator, position, stream, version, {others}) "
        f"select operator, 7, 'wallet:thief', 1, {others} from events where {MINE} = 6"
    )
    assert await found(owner) == (7, None)


async def test_links_made_anew_after_a_change_do_not_hide_it(owner: postgres.Connection) -> None:
    await forge(owner, 7)
    assert await found(owner) == (7, None)


async def test_a_tree_made_anew_after_a_change_is_not_the_one_that_was_signed(owner: postgres.Connection) -> None:
    """Who makes links, leaves and tiles anew leaves no single place that differs; it lies between two notes."""
    before, over = [each["size"] for each in (await signed_of_it(owner))[:2]]
    assert before < over
    await forge(owner, over)
    rows = await all_events(owner)
    tiles = tree.Tiles({})
    for row in rows[: (await signed_of_it(owner))[-1]["size"]]:
        tiles.append(row.position - 1, eventlog.leaf(row))
    await tree.save(owner, "other", tiles)
    assert await found(owner) == (before + 1, over)


async def all_events(owner: postgres.Connection) -> list[eventlog.EventRow]:
    return [eventlog.row_of(each) for each in await owner.fetch(eventlog.SQL["events_after"], "other", 0, 1_000)]


async def forge(owner: postgres.Connection, position: int) -> None:
    """An event is changed, and every link after it made anew."""
    await owner.execute(f"update events set actor = 'somebody' where {MINE} = {position}")
    link = eventlog.genesis("other", 1)
    for row in await all_events(owner):
        link = eventlog.link(link, row)
        await owner.execute(f"update events set hash = $1 where {MINE} = {row.position}", link)


async def test_notes_that_were_taken_away_or_changed_are_found(owner: postgres.Connection) -> None:
    last = (await signed_of_it(owner))[-1]["size"]
    await owner.execute(f"delete from notes where operator = 'other' and size = {last}")
    [*_, kept] = [each["size"] for each in await signed_of_it(owner)]
    assert await found(owner) == (kept + 1, last)
    await owner.execute(
        f"update notes set note = replace(note, E'\\n{kept}\\n', E'\\n{kept - 1}\\n') where size = {kept}"
    )
    assert (await found(owner))[1] == kept


async def test_a_log_cut_back_with_all_that_was_signed_of_it_is_found_by_a_checkpoint_that_was_kept(
    owner: postgres.Connection,
) -> None:
    first, *_, last = await signed_of_it(owner)
    for table, column in (("events", "position"), ("notes", "size")):
        await owner.execute(f"delete from {table} where operator = 'other' and {column} > {first['size']}")
    await owner.execute(f"update trees set size = {first['size']} where operator = 'other'")
    assert (await audited(owner)).signed == first["size"]
    assert await found(owner, (first["note"], last["note"])) == (first["size"] + 1, None)
    with pytest.raises(BadNote, match="another log"):
        await audited(owner, ("croupier/lotus/1\n",))


async def test_what_is_signed_while_the_log_is_read_is_the_next_audits(casino: Casino) -> None:
    each = Notary(casino.services.pool, "lotus", {"k1": SEED})
    await casino.player("ann", 100)
    while await each.once():
        pass
    before = (await notes_of(casino))[-1]["size"]

    async def bo_comes() -> None:
        await casino.player("bo", 100)
        assert await each.once()

    done = await audit(Meanwhile(casino.services.pool, bo_comes), "lotus", [KEY], silent)  # type: ignore[arg-type]
    assert done.signed == before < done.events


class Meanwhile:
    """The pool, but that something happens after a first row was read from it."""

    def __init__(self, pool: postgres.Pool, work: Callable[[], Awaitable[None]]) -> None:
        self._pool = pool
        self._work = work

    async def fetchrow(self, *asked: Any) -> Any:
        row = await self._pool.fetchrow(*asked)
        await self._work()
        return row

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


async def test_a_log_cut_back_whose_notes_were_left_is_found(owner: postgres.Connection) -> None:
    first, *_, last = await signed_of_it(owner)
    await owner.execute(f"delete from events where {MINE} > {first['size']}")
    await owner.execute(f"update trees set size = {first['size']} where operator = 'other'")
    assert first["size"] < last["size"]
    assert await found(owner) == (first["size"] + 1, None)


async def test_a_log_that_nobody_touched_is_the_one_that_was_signed(owner: postgres.Connection) -> None:
    position, told = len(await all_events(owner)), await signed_of_it(owner)
    assert await audited(owner) == Audited(position, told[-1]["size"], 3)
    assert notary.origin("other", 1) in told[-1]["note"]

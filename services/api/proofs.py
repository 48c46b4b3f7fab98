"""The signed log: checkpoints that the notary signed, and proofs that an event is in it and that it only grew."""

from typing import Any

from litestar import get
from litestar.params import FromPath
from msgspec import Struct

from domain.game import Micros, Role
from domain.money import AMOUNT_MAX
from infra import eventlog
from services import tree
from services.api import problems
from services.api.auth import EVERYONE, may
from services.api.bodies import Position
from services.api.parts import Asked
from services.api.problems import Problem
from services.tree import SQL, NoSuchLeaf

AUDITING = may(Role.AUDITOR, Role.OPERATOR, Role.SUPERVISOR)


class LogKey(Struct, frozen=True):
    """A public key that has signed this log, as `<name>+<id>+<base64>` (C2SP signed-note), and since when."""

    key: str
    since: Micros


class LogKeys(Struct, frozen=True):
    """The newest first. Keep them: what is taken from the same server as the log it signs proves little."""

    keys: tuple[LogKey, ...]


class Inclusion(Struct, frozen=True):
    """That the event at `position` is leaf `position - 1` of the tree of `size` leaves (RFC 6962); hashes are hex."""

    position: int
    size: int
    leaf: str
    path: tuple[str, ...]


class Consistency(Struct, frozen=True):
    """That the tree of `size` leaves begins with the tree of `old` leaves (RFC 6962); hashes are hex."""

    old: int
    size: int
    proof: tuple[str, ...]


@get("/log/checkpoint", guards=[EVERYONE], media_type="text/plain")
async def read_checkpoint(request: Asked, size: Position = 0) -> str:
    """What the notary signed last of the log: its name, how many events it is over, their root (C2SP tlog-checkpoint).
    `size` asks for one that is over at least so many events; one that was just written is signed within a second."""
    return (await _latest(request, size))["note"]


@get("/log/keys", guards=[EVERYONE])
async def read_keys(request: Asked) -> LogKeys:
    """The public keys that ever signed this log."""
    rows = await request.parts.pool.fetch(SQL["keys"], request.caller.operator)
    return LogKeys(tuple(LogKey(row["key"], row["since"]) for row in rows))


@get("/log/inclusion/{position:int}", guards=[AUDITING])
async def prove_inclusion(request: Asked, position: FromPath[int], size: Position = 0) -> Inclusion:
    """Prove that an event is in the tree of a signed checkpoint; without `size`, of the newest one."""
    if not 1 <= position <= AMOUNT_MAX:
        raise problems.not_found("event", str(position))
    over = size or (await _latest(request, position))["size"]
    await _taken(request, over)
    try:
        leaf, path = await tree.inclusion(request.parts.pool, request.caller.operator, position, over)
    except NoSuchLeaf:
        raise problems.not_found("event", str(position)) from None
    return Inclusion(position, over, leaf.hex(), tuple(each.hex() for each in path))


@get("/log/consistency", guards=[EVERYONE])
async def prove_consistency(request: Asked, old: Position = 0, size: Position = 0) -> Consistency:
    """Prove that the log went on from an earlier checkpoint, with no event changed, taken out or put in."""
    over = size or (await _latest(request, old))["size"]
    await _taken(request, over)
    try:
        proof = await tree.consistency(request.parts.pool, request.caller.operator, old, over)
    except NoSuchLeaf:
        detail = f"Give `old`, the size of an earlier checkpoint: there is no tree of {old} events in one of {over}."
        raise Problem(400, "BadParameter", detail) from None
    return Consistency(old, over, tuple(each.hex() for each in proof))


async def _latest(request: Asked, size: int) -> Any:
    row = await request.parts.pool.fetchrow(SQL["latest"], request.caller.operator, size)
    if row is None:
        raise await _unsigned(request, size)
    return row


async def _taken(request: Asked, size: int) -> None:
    stand = await request.parts.pool.fetchrow(SQL["tree"], request.caller.operator)
    if stand is None or stand["size"] < size:
        raise await _unsigned(request, size)


async def _unsigned(request: Asked, size: int) -> Problem:
    """What is not there yet is worth another try; what is beyond the log's end is not."""
    tip = await eventlog.tip(request.parts.pool, request.caller.operator)
    stands = tip.position if tip else 0
    return problems.beyond_the_end(size, stands) if size > stands else problems.not_signed(size)


HANDLERS = (read_checkpoint, read_keys, prove_inclusion, prove_consistency)
"""In the order of the documentation."""

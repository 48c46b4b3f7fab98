"""API keys of an operator: minted, listed, rotated and revoked by its own keys of the role operator."""

from typing import Literal

import msgspec
from litestar import Response, delete, get, post
from litestar.params import FromPath
from msgspec import Struct

from domain import house
from domain.game import Role
from domain.names import HOUSE
from domain.texts import Text
from infra import codec, eventlog
from services.api import problems
from services.api.auth import may, new_key
from services.api.bodies import checked_id, decode, nothing
from services.api.commands import Command, command_of, replayed
from services.api.parts import Asked
from services.batch import Accepted

StaffRole = Literal["operator", "studio", "supervisor", "auditor"]


class NewKey(Struct, frozen=True, forbid_unknown_fields=True):
    role: StaffRole
    label: Text = ""


class MintedKey(Struct, frozen=True):
    """`token` is shown in this answer and never again: a repetition of the request has null in its place."""

    id: str
    role: Role
    label: str
    token: str | None
    position: int | None


class KeyEntry(Struct, frozen=True):
    id: str
    role: Role
    label: str
    revoked: bool


class KeyList(Struct, frozen=True):
    keys: tuple[KeyEntry, ...]


class RevokedKey(Struct, frozen=True):
    id: str
    position: int | None


_new_key = msgspec.json.Decoder(NewKey)


@post("/keys", guards=[may(Role.OPERATOR)], body=NewKey)
async def mint_key(request: Asked) -> Response[MintedKey]:
    """Mint a key for a system of yours or for a person of your staff."""
    command = await command_of(request)
    body = decode(_new_key, command.body)
    return await _mint(request, command, Role(body.role), body.label)


@get("/keys", guards=[may(Role.OPERATOR)])
async def list_keys(request: Asked) -> KeyList:
    """All keys of the operator; their secrets are known to nobody."""
    keys = (KeyEntry(key.id, key.role, key.label, key.revoked) for key in (await _house(request)).keys)
    return KeyList(tuple(keys))


@post("/keys/{key:str}/rotate", guards=[may(Role.OPERATOR)])
async def rotate_key(request: Asked, key: FromPath[str]) -> Response[MintedKey]:
    """Mint a key of the same role and label that speaks for the same actor, and revoke this one.

    A command whose answer was lost is known again under the new key. For a time with two keys, mint and revoke later.
    """
    command = await command_of(request)
    decode(nothing, command.body)
    old = (await _house(request)).key(checked_id("key", key))
    if old is None:
        raise problems.not_found("key", key)
    minted = await _mint(request, command, old.role, old.label, old.actor)
    await request.parts.door.send(command.without_key(), HOUSE, house.RevokeKey(key))
    return minted


@delete("/keys/{key:str}", guards=[may(Role.OPERATOR)], status_code=200)
async def revoke_key(request: Asked, key: FromPath[str]) -> Response[RevokedKey]:
    """Revoke a key, and with it every player token it minted; it is refused within a second."""
    command = await command_of(request)
    decode(nothing, command.body)
    accepted = await request.parts.door.send(command, HOUSE, house.RevokeKey(checked_id("key", key)))
    return Response(RevokedKey(key, accepted.last), headers=replayed(accepted))


async def _house(request: Asked) -> house.House:
    row = await request.parts.pool.fetchrow(eventlog.SQL["stream"], request.caller.operator, HOUSE)
    return codec.decode_state("house", row["state"]) if row else house.INITIAL


async def _mint(request: Asked, command: Command, role: Role, label: str, actor: str = "") -> Response[MintedKey]:
    fresh = new_key(request.caller.operator)
    accepted = await request.parts.door.send(command, HOUSE, house.MintKey(fresh.id, role, fresh.digest, label, actor))
    return Response(
        MintedKey(_minted(accepted).id, role, label, None if accepted.repeated else fresh.token, accepted.last),
        headers={"cache-control": "no-store", **replayed(accepted)},
    )


def _minted(accepted: Accepted) -> house.KeyMinted:
    [event] = (each.event for each in accepted.events if isinstance(each.event, house.KeyMinted))
    return event


HANDLERS = (mint_key, list_keys, rotate_key, revoke_key)

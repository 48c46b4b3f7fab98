"""Players and their money: the operator opens players, moves cash in and out, blocks; who may see, sees."""

from typing import Annotated

import msgspec
from litestar import Response, post
from litestar.params import FromPath
from msgspec import Meta, Struct

from domain.decider import WALLET
from domain.game import Role
from domain.money import EXPONENTS
from domain.wallet import commands as wallet
from services.api.auth import TOKEN_S_MAX, may
from services.api.bodies import checked_id, decode
from services.api.commands import Command, CommandAnswer, answer_of_wallet, command_of, respond
from services.api.parts import Asked
from services.api.problems import Problem
from services.settlement import PLATFORM

Id = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+(?![\s\S])")]
Done = Response[CommandAnswer]


class NewPlayer(Struct, frozen=True, forbid_unknown_fields=True):
    """A player with a wallet of one currency. `player` is the operator's own opaque id: nothing that names a person."""

    player: Id
    currency: wallet.Code


class NewSession(Struct, frozen=True, forbid_unknown_fields=True):
    """A token for a player to play with: short, and worth nothing once the key that minted it is revoked."""

    player: Id
    seconds: Annotated[int, Meta(ge=1, le=TOKEN_S_MAX)] = 900


class Session(Struct, frozen=True):
    player: str
    token: str
    expires: int
    """Seconds since 1970 UTC."""


_new_player = msgspec.json.Decoder(NewPlayer)
_new_session = msgspec.json.Decoder(NewSession)
_deposit = msgspec.json.Decoder(wallet.Deposit)
_withdraw = msgspec.json.Decoder(wallet.Withdraw)
_adjust = msgspec.json.Decoder(wallet.Adjust)
_block = msgspec.json.Decoder(wallet.Block)
_unblock = msgspec.json.Decoder(wallet.Unblock)


@post("/players", guards=[may(Role.OPERATOR)])
async def open_player(request: Asked) -> Done:
    """Open a player. One who is there already with the same currency stays as he is."""
    command = await command_of(request)
    body = decode(_new_player, command.body)
    if body.currency not in EXPONENTS:
        detail = f"The currency {body.currency} is not one that wallets can hold: {', '.join(EXPONENTS)}."
        raise Problem(422, "UnknownCurrency", detail, facts={"currency": body.currency})
    if body.player == PLATFORM:
        raise Problem(422, "ReservedId", f"The id {PLATFORM} is that of Croupier's own clock; choose another.")
    return await _sent(request, command, body.player, wallet.OpenWallet(body.currency))


@post("/players/{player:str}/deposits", guards=[may(Role.OPERATOR)])
async def deposit(request: Asked, player: FromPath[str]) -> Done:
    """Move cash of the player into Croupier."""
    command = await command_of(request)
    return await _sent(request, command, player, decode(_deposit, command.body))


@post("/players/{player:str}/withdrawals", guards=[may(Role.OPERATOR)])
async def withdraw(request: Asked, player: FromPath[str]) -> Done:
    """Take cash of the player out of Croupier."""
    command = await command_of(request)
    return await _sent(request, command, player, decode(_withdraw, command.body))


@post("/players/{player:str}/adjustments", guards=[may(Role.OPERATOR)])
async def adjust(request: Asked, player: FromPath[str]) -> Done:
    """Correct a balance, with a reason, against the house."""
    command = await command_of(request)
    return await _sent(request, command, player, decode(_adjust, command.body))


@post("/players/{player:str}/block", guards=[may(Role.OPERATOR)])
async def block(request: Asked, player: FromPath[str]) -> Done:
    """Let the player place no new stakes. Money that is the player's still flows."""
    command = await command_of(request)
    return await _sent(request, command, player, decode(_block, command.body))


@post("/players/{player:str}/unblock", guards=[may(Role.OPERATOR)])
async def unblock(request: Asked, player: FromPath[str]) -> Done:
    command = await command_of(request)
    return await _sent(request, command, player, decode(_unblock, command.body))


async def _sent(request: Asked, command: Command, player: str, asked: wallet.Command) -> Done:
    name = checked_id("player", player)
    accepted = await request.parts.door.send(command, WALLET + name, asked)
    return respond(answer_of_wallet(request.caller, name, accepted), accepted)


@post("/sessions", guards=[may(Role.OPERATOR)])
async def open_session(request: Asked) -> Response[Session]:
    """Mint a token for a player. It changes nothing, so it needs no Idempotency-Key."""
    body = decode(_new_session, await request.body())
    await request.parts.wallet(request.caller.operator, body.player)
    token, expires = request.parts.gate.mint(request.caller, body.player, body.seconds)
    return Response(Session(body.player, token, expires), status_code=201, headers={"cache-control": "no-store"})


HANDLERS = (open_player, deposit, withdraw, adjust, block, unblock, open_session)

"""Players and their money: the operator opens players, moves cash in and out, blocks; who may see, sees."""

from typing import Annotated

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, FromQuery
from msgspec import Meta, Struct

from domain.game import Role
from domain.money import EXPONENTS
from domain.names import WALLET, Id
from domain.proposals import AdjustBalance
from domain.texts import Words
from domain.wallet import commands as wallet
from domain.wallet.rules import AdjustmentCode
from domain.wallet.views import WalletView, view
from services.api import bets, problems
from services.api.auth import TOKEN_S_MAX, check_own, may
from services.api.bets import Bettor, Gain
from services.api.bodies import Cursor, Limit, Position, checked_id, cursor_after, decode
from services.api.commands import Command, CommandAnswer, answer_of_wallet, check_json, command_of, respond
from services.api.parts import Asked
from services.api.problems import Problem
from services.api.proposals import PERSONS, ProposalAnswer, propose
from services.projections import balances, resettled, rounds, statement
from services.settlement import PLATFORM

Done = Response[CommandAnswer]


class NewPlayer(Struct, frozen=True, forbid_unknown_fields=True):
    """A player with a wallet of one currency. `player` is the operator's own opaque id: nothing that names a person."""

    player: Id
    currency: wallet.Code


class NewAdjustment(Struct, frozen=True, forbid_unknown_fields=True):
    """A correction of the player's cash against the house, up or down; never an edit of what was."""

    amount: wallet.Signed
    currency: wallet.Code
    code: AdjustmentCode
    reason: Words


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
_adjustment = msgspec.json.Decoder(NewAdjustment)
_block = msgspec.json.Decoder(wallet.Block)
_unblock = msgspec.json.Decoder(wallet.Unblock)


@post("/players", guards=[may(Role.OPERATOR)], body=NewPlayer)
async def open_player(request: Asked) -> Done:
    """Open a player. One who is there already with the same currency stays as he is."""
    command = await command_of(request)
    body = decode(_new_player, command.body)
    if body.currency not in EXPONENTS:
        detail = f"The currency {body.currency} is not one that wallets can hold: {', '.join(EXPONENTS)}."
        raise Problem(422, "UnknownCurrency", detail, facts={"currency": body.currency})
    if body.player == PLATFORM:
        raise Problem(422, "ReservedId", f"The id {PLATFORM} is that of Croupier's own clock; choose another.")
    if await request.parts.gate.is_key(request.caller.operator, body.player):
        detail = "This id is that of a key of yours, and commands are remembered by their sender's id; choose another."
        raise Problem(422, "ReservedId", detail, facts={"player": body.player})
    return await _sent(request, command, body.player, wallet.OpenWallet(body.currency))


@post("/players/{player:str}/deposits", guards=[may(Role.OPERATOR)], status_code=200, body=wallet.Deposit)
async def deposit(request: Asked, player: FromPath[str]) -> Done:
    """Move cash of the player into Croupier."""
    command = await command_of(request)
    return await _sent(request, command, player, decode(_deposit, command.body))


@post("/players/{player:str}/withdrawals", guards=[may(Role.OPERATOR)], status_code=200, body=wallet.Withdraw)
async def withdraw(request: Asked, player: FromPath[str]) -> Done:
    """Take cash of the player out of Croupier."""
    command = await command_of(request)
    return await _sent(request, command, player, decode(_withdraw, command.body))


@post("/players/{player:str}/adjustments", guards=[PERSONS], status_code=202, body=NewAdjustment)
async def adjust(request: Asked, player: FromPath[str]) -> Response[ProposalAnswer]:
    """Propose to correct a player's cash, with a reason, against the house. It is done when another person approves
    (`POST /v1/proposals/{proposal}/approve`); what could not be done now is refused at once."""
    command = await command_of(request)
    body = decode(_adjustment, command.body)
    if not body.amount:
        raise Problem(400, "InvalidValue", "An adjustment of nothing needs nobody.", facts={"field": "amount"})
    name = checked_id("player", player)
    asked = AdjustBalance(name, body.amount, body.currency, body.code, body.reason)
    return await propose(request, command, asked)


@post("/players/{player:str}/block", guards=[may(Role.OPERATOR)], status_code=200, body=wallet.Block)
async def block(request: Asked, player: FromPath[str]) -> Done:
    """Let the player place no new stakes. Money that is the player's still flows."""
    command = await command_of(request)
    return await _sent(request, command, player, decode(_block, command.body))


@post("/players/{player:str}/unblock", guards=[may(Role.OPERATOR)], status_code=200, body=wallet.Unblock)
async def unblock(request: Asked, player: FromPath[str]) -> Done:
    """Let the player place stakes again."""
    command = await command_of(request)
    return await _sent(request, command, player, decode(_unblock, command.body))


async def _sent(request: Asked, command: Command, player: str, asked: wallet.Command) -> Done:
    name = checked_id("player", player)
    accepted = await request.parts.door.send(command, WALLET + name, asked)
    return respond(answer_of_wallet(request.caller, name, accepted), accepted)


@post("/sessions", guards=[may(Role.OPERATOR)], body=NewSession, keyless=True)
async def open_session(request: Asked) -> Response[Session]:
    """Mint a token for a player. It changes nothing, so it needs no Idempotency-Key."""
    check_json(request.headers.get("content-type", ""))
    body = decode(_new_session, await request.body())
    await request.parts.wallet(request.caller.operator, body.player)
    token, expires = request.parts.gate.mint(request.caller, body.player, body.seconds)
    return Response(Session(body.player, token, expires), headers={"cache-control": "no-store"})


# --- Reads --------------------------------------------------------------------------------------------------------

READERS = may(Role.OPERATOR, Role.SUPERVISOR, Role.AUDITOR, Role.PLAYER)


class PlayerPage(Struct, frozen=True):
    players: tuple[balances.Balance, ...]
    next: str | None


class StatementPage(Struct, frozen=True):
    """Movements of a player's money, the newest first; `next` is the cursor of older ones.

    What is bet with chips at a table is no movement: the chips are bought in and cashed out, as `reference` says where.
    """

    movements: tuple[statement.Movement, ...]
    next: int | None


class HistoryPage(Struct, frozen=True):
    """The rounds a player bet in, of every game, the newest first, each with every wager, its odds, what became of it
    and what it returned (T25); a round played with chips is one wager, on the player's seat."""

    rounds: tuple[Bettor, ...]
    next: int | None
    resettled: tuple[Gain, ...] = ()
    """How those of them came to the player that were settled once more; the rows above stay as they were settled."""


@get("/players", guards=[may(Role.OPERATOR, Role.AUDITOR)])
async def list_players(request: Asked, cursor: FromQuery[str] = "", limit: Limit = 100) -> PlayerPage:
    """Players by their ids."""
    after = checked_id("player", cursor) if cursor else ""
    page = await balances.page(request.parts.pool, request.caller.operator, after=after, limit=limit)
    return PlayerPage(tuple(page), page[-1].player if len(page) == limit else None)


@get("/players/{player:str}", guards=[READERS])
async def read_player(request: Asked, player: FromPath[str]) -> WalletView:
    """A player's money and open bets, as of this moment."""
    check_own(request.caller, player)
    return view(player, await request.parts.wallet(request.caller.operator, player))


@get("/players/{player:str}/balance", guards=[READERS])
async def read_balance(request: Asked, player: FromPath[str], after: Position = 0) -> balances.Balance:
    """A player's balance as projected. `after` waits until the event at that position is in it."""
    await _visible(request, player, "balances", after)
    found = await balances.one(request.parts.pool, request.caller.operator, player)
    if found is None:
        raise problems.not_found("player", player)
    return found


@get("/players/{player:str}/statement", guards=[READERS])
async def read_statement(
    request: Asked,
    player: FromPath[str],
    cursor: Cursor = None,
    limit: Limit = 100,
    after: Position = 0,
) -> StatementPage:
    """Every movement of a player's money, with the balance before and after it."""
    operator = await _visible(request, player, "statement", after)
    page = await statement.page(request.parts.pool, operator, player, before=cursor, limit=limit)
    return StatementPage(tuple(page), cursor_after(page, limit, lambda each: each.position))


@get("/players/{player:str}/bets", guards=[READERS])
async def read_bets(
    request: Asked,
    player: FromPath[str],
    cursor: Cursor = None,
    limit: Limit = 100,
    after: Position = 0,
) -> HistoryPage:
    """A player's bet history."""
    operator = await _visible(request, player, "rounds", after)
    pool = request.parts.pool
    page = await rounds.history(pool, operator, player, before=cursor, limit=limit)
    again = await resettled.of_player(pool, operator, player, [each.round for each in page])
    told, gains = await bets.told(pool, operator, page, again)
    return HistoryPage(told, cursor_after(page, limit, lambda each: each.first), gains)


async def _visible(request: Asked, player: str, projection: str, after: int) -> str:
    """Check that the player is there and the caller's to see, and wait for the projection. Returns the operator."""
    check_own(request.caller, player)
    operator = request.caller.operator
    await request.parts.wallet(operator, player)
    await request.parts.visible(operator, projection, after)
    return operator


HANDLERS = (
    open_player,
    deposit,
    withdraw,
    adjust,
    block,
    unblock,
    open_session,
    list_players,
    read_player,
    read_balance,
    read_statement,
    read_bets,
)

"""The way in: a command is checked, submitted to the executor, and answered. One function for every route.

The route of table commands is an ASGI mount, which saves a third of a request's CPU; all others are ordinary handlers.
"""

import hmac
import re
import time
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from litestar import Request, Response

from domain.decider import Fence, Submission
from domain.game import Micros, Open, Role
from domain.games import GAMES
from domain.money import EXPONENTS, Amount
from domain.names import HOUSE, TABLE, WALLET
from domain.wallet.state import Wallet
from infra import vault
from infra.vault import Vault, VaultClosed
from services.api import metrics, problems
from services.api.auth import Caller
from services.api.lines import Lines
from services.api.problems import Problem
from services.batch import Accepted, Appended, KeyReused, Refused
from services.executor import Busy, Executor, InDoubt, NewerSchema, TookTooLong, Unavailable, UnknownOperator

_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_JSON = "application/json"


class Happened(msgspec.Struct, frozen=True):
    """An event of the log as the caller may see it."""

    position: int
    event: Any


class PlayerBalance(msgspec.Struct, frozen=True):
    """A player's money now. Amounts are whole minor units; `exponent` says how many digits stand behind the point."""

    player: str
    currency: str
    exponent: int
    cash: Amount
    open_stakes: Amount
    blocked: bool
    owed: Amount
    """What the player owes the house: taken from whatever comes."""


class CommandAnswer(msgspec.Struct, frozen=True):
    """What a command did. `position` is that of its last event, to be given as `after` to a read that must see it;
    null if nothing was left to do. `view` is the table as the caller sees it after the command."""

    position: int | None
    at: Micros
    events: tuple[Happened, ...] = ()
    view: Any = None
    balance: PlayerBalance | None = None
    fenced: Literal[True] | msgspec.UnsetType = msgspec.UNSET
    """There was nothing yet to take back: what it names never acts, if it still comes. Else it is left out."""


class Command(msgspec.Struct, frozen=True):
    """A request that changes something, as it came: who sends what under which key by which route."""

    caller: Caller
    key: str
    route: str
    body: bytes

    def without_key(self) -> "Command":
        """For a second step that is once-only by its nature."""
        return msgspec.structs.replace(self, key="")

    def fingerprint(self, secret: bytes) -> bytes:
        told = f"{self.caller.role}\n{self.route}\n".encode() + self.body
        return hmac.digest(secret, told, "sha256")


class Door:
    """Takes commands in, for all routes of one process."""

    def __init__(self, executor: Executor, keys: Vault, secret: bytes) -> None:
        self._executor = executor
        self._vault = keys
        self._secret = hmac.digest(secret, b"croupier-fingerprint-1", "sha256")
        self._lines = Lines()

    async def send(self, command: Command, stream: str, asked: Any, game: str = "", *, opens: bool = False) -> Accepted:
        """Submit what was asked; one line in the log and one count, whatever comes of it. Raises Problem.

        `game`: whose rules may refuse it. `opens`: it opens a table of that game.
        """
        begun = time.perf_counter()
        code, position, repeated = "InternalError", None, False
        try:
            accepted = await self._submit(command, stream, asked, game, opens)
            code, position, repeated = "Accepted", accepted.last, accepted.repeated
            return accepted
        except Problem as problem:
            code, problem.told = problem.code, True
            repeated = "idempotent-replayed" in problem.headers
            raise
        finally:
            took = time.perf_counter() - begun
            self._tell(command, stream, asked, code, position, took, repeated=repeated)

    async def fence(self, caller: Caller, key: str) -> None:
        """Make sure that the caller's command with this key never acts. Raises Problem if it was decided already."""
        await self.send(Command(caller, "", "", b""), HOUSE, Fence(key))

    async def _submit(self, command: Command, stream: str, asked: Any, game: str, opens: bool) -> Accepted:
        caller = command.caller
        opened = game if opens else ""
        try:
            text = self._kept(command, game)
            submission = Submission(
                caller.operator, caller.actor, caller.role, stream, asked, command.key, opened, text
            )
            answer = await self._executor.submit(submission, command.fingerprint(self._secret))
        except VaultClosed as closed:  # before it, or instead of deciding it
            raise problems.keyless(closed, changing=False) from None
        except Busy:
            raise problems.busy() from None
        except UnknownOperator:
            raise problems.unauthorized("This operator is not here any more.") from None
        except NewerSchema:
            raise problems.not_now("This process is older than the data; another will take your command.") from None
        except InDoubt:
            raise problems.not_now(
                "The log may have been restored to an earlier state; it is being looked into."
            ) from None
        except Unavailable as lost:
            why = "The log took too long." if isinstance(lost, TookTooLong) else "The log could not be reached."
            raise problems.unavailable(command.key, why) from None
        match answer:
            case Accepted():
                return answer
            case Refused():
                raise problems.refused(answer.rule, answer.facts, game, repeated=answer.repeated)
            case KeyReused():
                detail = (
                    "This Idempotency-Key was used before, for another request. Give each command a key of its own."
                )
                raise Problem(422, "KeyReused", detail, facts={"key": command.key})

    def _kept(self, command: Command, game: str) -> str:
        """The body as it is kept. Where cards are hidden, what a player sends may name some."""
        text, caller = command.body.decode(), command.caller
        if caller.role is Role.PLAYER and game and GAMES[game].hidden_cards:
            return vault.written(self._vault.seal_text(caller.operator, game, game, text))
        return text

    def _tell(
        self, command: Command, stream: str, asked: Any, code: str, position: int | None, took: float, *, repeated: bool
    ) -> None:
        name, who = type(asked).__name__, command.caller
        metrics.count(name, code, took)
        ids = (who.operator, who.actor, who.role.value, stream, command.key, name)
        self._lines.tell(*ids, code, position, round(took * 1_000, 1), getattr(asked, "round", "") or None, repeated)


# --- What is read of a request ------------------------------------------------------------------------------------


def checked_key(key: str) -> str:
    if not key:
        detail = (
            "A command needs the header Idempotency-Key (1 to 64 of A-Z a-z 0-9 _ and -): a new one for each command."
        )
        raise Problem(400, "KeyMissing", detail)
    if not _KEY.fullmatch(key):
        raise Problem(400, "BadKey", "The Idempotency-Key is not 1 to 64 of A-Z a-z 0-9 _ and -.")
    return key


def check_json(content_type: str) -> None:
    if content_type == _JSON:
        return
    kind, _, parameters = content_type.partition(";")
    charset = parameters.strip().lower()
    if kind.strip().lower() != _JSON or (charset and charset not in ("charset=utf-8", 'charset="utf-8"')):
        detail = "Send the body as Content-Type: application/json (UTF-8)."
        raise Problem(415, "UnsupportedMediaType", detail)


async def command_of(request: Request[Any, Any, Any]) -> Command:
    """The command in a request to an ordinary handler. A missing body is an empty object."""
    key = checked_key(request.headers.get("idempotency-key", ""))
    body = await request.body()
    if body:
        check_json(request.headers.get("content-type", ""))
    return Command(request.scope["user"], key, f"{request.method} {request.scope['path']}", body or b"{}")


# --- What is answered ---------------------------------------------------------------------------------------------


def balance_of(player: str, wallet: Wallet) -> PlayerBalance:
    exponent = EXPONENTS.get(wallet.currency, 0)
    money = (wallet.cash, wallet.open_stakes, wallet.blocked, wallet.owed)
    return PlayerBalance(player, wallet.currency, exponent, *money)


def answer_at_table(caller: Caller, game: str, stream: str, accepted: Accepted, open_seed: Open) -> CommandAnswer:
    """The table's own answer: public events, the caller's view and, for a player, the balance."""
    state, wallet = accepted.states.get(stream), accepted.states.get(WALLET + caller.actor)
    found = GAMES[game]
    bets, balance = (), None
    if caller.role is Role.PLAYER and isinstance(wallet, Wallet):
        round_id = found.round(state)
        bets = wallet.open_in(round_id) if round_id else ()
        balance = balance_of(caller.actor, wallet)
    view = found.view(state, caller.viewer, bets, open_seed)
    events, fenced = events_for(caller, game, accepted.events), True if accepted.fenced else msgspec.UNSET
    return CommandAnswer(accepted.last, accepted.at, events, view, balance, fenced)


def answer_of_wallet(caller: Caller, player: str, accepted: Accepted) -> CommandAnswer:
    wallet = accepted.states.get(WALLET + player)
    balance = balance_of(player, wallet) if isinstance(wallet, Wallet) else None
    return CommandAnswer(accepted.last, accepted.at, events_for(caller, "", accepted.events), None, balance)


def events_for(caller: Caller, game: str, events: Iterable[Appended]) -> tuple[Happened, ...]:
    """Of a table's events what the game makes public; of wallets' events a player's own, or all for the operator."""
    seen: list[Happened] = []
    for each in events:
        if each.stream.startswith(TABLE):
            shown = GAMES[game].public(each.event, caller.viewer)
            if shown is not None:
                seen.append(Happened(each.position, shown))
        elif each.stream.startswith(WALLET) and _may_see(caller, each.stream):
            seen.append(Happened(each.position, each.event))
    return tuple(seen)


def _may_see(caller: Caller, wallet: str) -> bool:
    return caller.role is Role.OPERATOR or (caller.role is Role.PLAYER and wallet == WALLET + caller.actor)


def replayed(accepted: Accepted) -> dict[str, str]:
    return {"idempotent-replayed": "true"} if accepted.repeated else {}


def respond(answer: Any, accepted: Accepted) -> Response[Any]:
    return Response(answer, headers=replayed(accepted))

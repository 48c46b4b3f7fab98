"""One command on the streams it names, decided in memory: all of it or none.

The executor loads streams and appends what comes out; written rounds and property tests run this very code on streams
that begin empty. A game never sees a wallet: its transfers become wallet events here, in the same breath.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import partial
from typing import Any, cast

from msgspec import Struct

from domain import auditing, house, refused
from domain.errors import Rejected
from domain.game import (
    Cancelled,
    Context,
    Game,
    Micros,
    Open,
    Resulted,
    Role,
    RoundTotals,
    SealedSeed,
    SealedText,
    TableFaulted,
)
from domain.games import GAMES
from domain.money import Refund, Settle, Transfer
from domain.wallet import decide as wallet_decide
from domain.wallet import evolve as wallet_evolve
from domain.wallet.events import Event as WalletEvent
from domain.wallet.state import Wallet
from domain.wallet.views import Account, postings

HOUSE = "house"
TABLE, WALLET, REFUSED, AUDIT = "table:", "wallet:", "refused:", "audit:"


class Rule(StrEnum):
    UnknownTable = "UnknownTable"
    TableExists = "TableExists"
    AlreadyDecided = "AlreadyDecided"
    Fenced = "Fenced"


class Stream(Struct, frozen=True):
    """What a stream is now. `decider` names who folds it: a game, "wallet", "house", "refused", "audit"; "" if new."""

    decider: str
    version: int
    state: Any


class Submission(Struct, frozen=True):
    """A command on its way: who sends what to which stream. `key` is the idempotency key, "" for internal commands."""

    operator: str
    actor: str
    role: Role
    stream: str
    command: Any
    key: str = ""
    game: str = ""
    """Only for OpenTable: the game the new table shall have."""
    text: str = ""
    """The command as it was sent, for the record of a refusal."""


class SettleBettor(Struct, frozen=True, tag=True):
    """Settle or refund the wallet's open bets of a round, whichever the round's outcome says. Carries no amount."""

    round: str


class MarkFaulted(Struct, frozen=True, tag=True):
    """The table's clock command failed again and again (see `TableFaulted`)."""

    reason: str


class Fence(Struct, frozen=True, tag=True):
    """Make sure that the caller's command with this key never acts, if it has not been decided yet."""

    key: str


class Recorded(Struct, frozen=True):
    """An event to be appended, with its place in its stream."""

    stream: str
    version: int
    round: str | None
    event: Any


class Decided(Struct, frozen=True):
    """What a command gave; `fences` are keys of its sender that must never act from here on."""

    events: tuple[Recorded, ...]
    fences: tuple[str, ...] = ()


class Missing(Exception):
    """The decision needs a stream that was not loaded: load it and decide again."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.stream = stream


def no_totals(round_id: str) -> RoundTotals:
    raise LookupError(f"the sums of {round_id} cannot be read here")


def none_decided(_actor: str, _key: str) -> bool:
    return False


class Decider:
    """Decides commands one after the other, each seeing those before it.

    `streams` holds what was loaded (a stream that is not there yet as version 0) and, after each command, what became
    of it. `seal` is given the game and the round. Whoever calls appends the events; if that fails, the decider is
    thrown away.
    """

    def __init__(
        self,
        streams: dict[str, Stream],
        now: Micros,
        *,
        seal: Callable[[str, str], SealedSeed],
        seal_text: Callable[[str, str, str], SealedText],
        open_sealed: Open,
        totals: Callable[[str], RoundTotals] = no_totals,
        decided: Callable[[str, str], bool] = none_decided,
    ) -> None:
        self.streams = streams
        self.now = now
        self._seal = seal
        self._seal_text = seal_text
        self._open = open_sealed
        self._totals = totals
        self._decided = decided

    def decide(self, submission: Submission) -> Decided:
        """What the command gives. Raises Rejected, or Missing when a stream has to be loaded first."""
        stream = submission.stream
        if isinstance(submission.command, Fence):
            return Decided((), self._fenced(submission.actor, (submission.command.key,)))
        if stream.startswith(TABLE):
            return self._at_table(submission)
        if stream.startswith(WALLET):
            if isinstance(submission.command, SettleBettor):
                return self._settle(stream, submission.command.round)
            return self._commit(_Trial(self).wallet(stream, submission.command))
        if stream.startswith(AUDIT):
            event = auditing.decide(submission.command)
            return self._commit(_Trial(self).record(stream, "audit", auditing.INITIAL, event, None))
        assert stream == HOUSE, stream
        return self._commit(_Trial(self).house(submission.command))

    def refuse(self, submission: Submission, rejected: Rejected, received: Micros) -> Decided:
        """Put a refused money command on record: what was asked and when, the rule, the facts."""
        event = refused.CommandRefused(
            submission.stream, submission.text, str(rejected.rule), dict(rejected.facts), received
        )
        return self._commit(_Trial(self).record(record_of(submission), "refused", refused.INITIAL, event, None))

    def stream(self, name: str) -> Stream:
        try:
            return self.streams[name]
        except KeyError:
            raise Missing(name) from None

    def _at_table(self, submission: Submission) -> Decided:
        table = self.stream(submission.stream)
        if submission.game and table.decider:
            raise Rejected(Rule.TableExists, table=submission.stream.removeprefix(TABLE))
        game = GAMES[submission.game] if submission.game else _game_of(submission.stream, table)
        state = table.state if table.decider else game.initial
        if isinstance(submission.command, MarkFaulted):
            fault = TableFaulted(submission.command.reason)
            return self._commit(_Trial(self).table(submission.stream, game, state, (fault,)))
        decision = game.decide(state, submission.command, self._context(submission, game, state))
        fences = self._fenced(submission.actor, decision.fences)
        trial = _Trial(self).table(submission.stream, game, state, decision.events)
        for transfer in decision.transfers:
            trial.wallet(WALLET + transfer.player, transfer)
        return self._commit(trial, fences)

    def _fenced(self, actor: str, keys: tuple[str, ...]) -> tuple[str, ...]:
        for key in keys:
            if self._decided(actor, key):
                raise Rejected(Rule.AlreadyDecided, key=key)
        return keys

    def _context(self, submission: Submission, game: Game[Any, Any, Any], state: Any) -> Context:
        round_id = game.round(state)
        stakes = ()
        if submission.role is Role.PLAYER and round_id is not None:
            player = self.stream(WALLET + submission.actor).state
            stakes = player.open_in(round_id) if isinstance(player, Wallet) else ()
        return Context(
            operator=submission.operator,
            table=submission.stream.removeprefix(TABLE),
            now=self.now,
            actor=submission.actor,
            role=submission.role,
            key=submission.key,
            stakes=stakes,
            read_totals=lambda: self._totals(round_id or ""),
            blocked=self._is_blocked,
            seal=partial(self._seal, game.name),
            seal_text=partial(self._seal_text, game.name),
            open=self._open,
        )

    def _is_blocked(self, player: str) -> bool:
        state = self.stream(WALLET + player).state
        return isinstance(state, Wallet) and state.blocked

    def _settle(self, stream: str, round_id: str) -> Decided:
        name = TABLE + table_of(round_id)
        table, player = self.stream(name), self.stream(stream).state
        game = _game_of(name, table)
        bets = player.open_in(round_id) if isinstance(player, Wallet) else ()
        outcome = game.result(table.state)
        if not bets or outcome is None or outcome.round != round_id:
            return Decided(())
        bettor = stream.removeprefix(WALLET)
        match outcome:
            case Resulted():
                transfer: Transfer = Settle(bettor, round_id, game.returns(outcome, bets))
            case Cancelled():
                transfer = Refund(bettor, round_id, outcome.reason)
        return self._commit(_Trial(self).wallet(stream, transfer))

    def _commit(self, trial: "_Trial", fences: tuple[str, ...] = ()) -> Decided:
        trial.assert_conserved()
        self.streams.update(trial.after)
        return Decided(tuple(trial.recorded), fences)


def _game_of(stream: str, table: Stream) -> Game[Any, Any, Any]:
    """The game of a table that is there."""
    if not table.decider:
        raise Rejected(Rule.UnknownTable, table=stream.removeprefix(TABLE))
    return GAMES[table.decider]


class _Trial:
    """The parts of one command, kept aside until all of them are decided."""

    __slots__ = ("_held", "after", "decider", "recorded")

    def __init__(self, decider: Decider) -> None:
        self.decider = decider
        self.after: dict[str, Stream] = {}
        self.recorded: list[Recorded] = []
        self._held = 0

    def table(self, stream: str, game: Game[Any, Any, Any], state: Any, events: Iterable[Any]) -> "_Trial":
        before = state
        for event in events:
            last, state = game.round(state), game.evolve(state, event)
            self.record(stream, game.name, state, event, game.round(state) or last)
            self._held -= game.rake(event)
        self._held += game.holdings(before) - game.holdings(state)
        return self

    def wallet(self, stream: str, asked: Any) -> "_Trial":
        state = self._now(stream).state
        for event in wallet_decide.decide(state, asked):
            state = wallet_evolve.evolve(state, event)
            self.record(stream, "wallet", state, event, _round_of(event))
        return self

    def house(self, command: house.Command) -> "_Trial":
        state = cast(house.House, self._now(HOUSE).state)
        for event in house.decide(state, command, self.decider.now):
            state = house.evolve(state, event)
            self.record(HOUSE, "house", state, event, None)
        return self

    def record(self, stream: str, decider: str, state: Any, event: Any, round_id: str | None) -> "_Trial":
        version = self._now(stream).version + 1
        self.after[stream] = Stream(decider, version, state)
        self.recorded.append(Recorded(stream, version, round_id, event))
        return self

    def _now(self, stream: str) -> Stream:
        return self.after.get(stream) or self.decider.stream(stream)

    def assert_conserved(self) -> None:
        """Money only moves: what wallets and table gained is what the events' double entry says, and sums to zero."""
        cash = stakes = tables = owed = 0
        for name, stream in self.after.items():
            if stream.decider == "wallet":
                before = self.decider.stream(name).state
                cash += stream.state.cash
                stakes += stream.state.open_stakes
                owed -= stream.state.owed
                if isinstance(before, Wallet):
                    cash -= before.cash
                    stakes -= before.open_stakes
                    owed += before.owed
        total = 0
        for recorded in self.recorded:
            if recorded.stream.startswith(WALLET):
                for account, gain in postings(recorded.event):
                    total += gain
                    if account is Account.CASH:
                        cash -= gain
                    elif account is Account.OPEN_STAKES:
                        stakes -= gain
                    elif account is Account.TABLES:
                        tables += gain
                    elif account is Account.OWED:
                        owed -= gain
        if not cash == stakes == owed == total == tables + self._held == 0:
            found = f"cash {cash}, stakes {stakes}, owed {owed}, sum {total}, tables {tables}"
            raise AssertionError(f"money made or lost: {found}")


def record_of(submission: Submission) -> str:
    """The stream that keeps the refusals of this player: whose wallet it is, else who sent it."""
    stream = submission.stream
    return REFUSED + (stream.removeprefix(WALLET) if stream.startswith(WALLET) else submission.actor)


def table_of(round_id: str) -> str:
    """The table of a round id, which is `<table>.<n>`."""
    return round_id.rpartition(".")[0]


def _round_of(event: WalletEvent) -> str | None:
    bet = getattr(event, "bet", None)
    return getattr(event, "round", None) or getattr(bet, "round", None)

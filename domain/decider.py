"""One command on the streams it names, decided in memory: all of it or none.

The executor loads streams and appends what comes out; written rounds and property tests run this very code on streams
that begin empty. A game never sees a wallet: its transfers become wallet events here, in the same breath.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from domain import refused
from domain.errors import Rejected
from domain.game import (
    Cancelled,
    Context,
    Decision,
    Ended,
    Game,
    Micros,
    Open,
    Resulted,
    Role,
    RoundTotals,
    SealedSeed,
    SealedText,
    TableFaulted,
    no_table,
    none_decided,
    none_ended,
)
from domain.games import GAMES
from domain.money import Bet, Refund, Settle, Transfer
from domain.names import DISPUTE, REFUSED, TABLE, WALLET, table_of
from domain.streams import KINDS, Kind, kind_of
from domain.wallet import decide as wallet_decide
from domain.wallet.state import Wallet
from domain.wallet.views import Account, postings


class Rule(StrEnum):
    UnknownTable = "UnknownTable"
    TableExists = "TableExists"
    AlreadyDecided = "AlreadyDecided"
    Fenced = "Fenced"


class Stream(Struct, frozen=True):
    """What a stream is now. `decider` names its kind (see `domain.streams`), "" that of a table that is not there."""

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


def none_blocked(_player: str) -> bool:
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
        ended: Callable[[str], Ended | None] = none_ended,
    ) -> None:
        self.streams = streams
        self.now = now
        self._seal = seal
        self._seal_text = seal_text
        self._open = open_sealed
        self._totals = totals
        self._decided = decided
        self._ended = ended

    def decide(self, submission: Submission) -> Decided:
        """What the command gives. Raises Rejected, or Missing when a stream has to be loaded first."""
        if isinstance(submission.command, Fence):
            return Decided((), self.fenced(submission.actor, (submission.command.key,)))
        if isinstance(submission.command, SettleBettor):
            return self._settle(submission.stream, submission.command.round)
        trial = _Trial(self)
        return self._commit(trial, trial.take(submission))

    def refuse(self, submission: Submission, rejected: Rejected, received: Micros) -> Decided:
        """Put a refused money command on record: what was asked and when, the rule, the facts."""
        event = refused.CommandRefused(
            submission.stream, submission.text, str(rejected.rule), dict(rejected.facts), received
        )
        trial = _Trial(self)
        trial.record(record_of(submission), "refused", refused.INITIAL, event, None)
        return self._commit(trial)

    def stream(self, name: str) -> Stream:
        try:
            return self.streams[name]
        except KeyError:
            raise Missing(name) from None

    def fenced(self, actor: str, keys: tuple[str, ...]) -> tuple[str, ...]:
        for key in keys:
            if self._decided(actor, key):
                raise Rejected(Rule.AlreadyDecided, key=key)
        return keys

    def context(
        self,
        submission: Submission,
        game: str = "",
        round_id: str | None = None,
        stakes: tuple[Bet, ...] = (),
        blocked: Callable[[str], bool] = none_blocked,
        at_table: Callable[[str], tuple[Game[Any, Any, Any], Any]] = no_table,
    ) -> Context:
        return Context(
            operator=submission.operator,
            table=submission.stream.removeprefix(TABLE) if game else "",
            now=self.now,
            actor=submission.actor,
            role=submission.role,
            key=submission.key,
            stream=submission.stream,
            stakes=stakes,
            read_totals=lambda: self._totals(round_id or ""),
            decided=self._decided,
            blocked=blocked,
            ended=self._ended,
            seal=partial(self._seal, game),
            seal_text=partial(self._seal_text, game),
            open=self._open,
            at_table=at_table,
        )

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
        trial = _Trial(self)
        trial.transfer(transfer)
        return self._commit(trial)

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

    def take(self, submission: Submission) -> tuple[str, ...]:
        """Decide a command and all that it asks of other streams. Returns the keys that it fences."""
        at_table = submission.stream.startswith(TABLE)
        decision = self._at_table(submission) if at_table else self._elsewhere(submission)
        for transfer in decision.transfers:
            self.transfer(transfer)
        for ask in decision.asks:
            self.take(replace(submission, stream=ask.stream, command=ask.command))
        if decision.tries:
            aside = _Trial(self.decider)
            aside.after |= self.after
            for ask in decision.tries:
                aside.take(replace(submission, stream=ask.stream, command=ask.command))
        return self.decider.fenced(submission.actor, decision.fences)

    def _at_table(self, submission: Submission) -> Decision:
        table = self._now(submission.stream)
        if submission.game and table.decider:
            raise Rejected(Rule.TableExists, table=submission.stream.removeprefix(TABLE))
        game = GAMES[submission.game] if submission.game else _game_of(submission.stream, table)
        state = table.state if table.decider else game.initial
        if isinstance(submission.command, MarkFaulted):
            decision = Decision((TableFaulted(submission.command.reason),))
        else:
            decision = game.decide(state, submission.command, self._context_of(submission, game, state))
        before = state
        for event in decision.events:
            last, state = game.round(state), game.evolve(state, event)
            self.record(submission.stream, game.name, state, event, game.round(state) or last)
            self._held -= game.rake(event)
        self._held += game.holdings(before) - game.holdings(state)
        return decision

    def _context_of(self, submission: Submission, game: Game[Any, Any, Any], state: Any) -> Context:
        round_id = game.round(state)
        stakes = ()
        if submission.role is Role.PLAYER and round_id is not None:
            player = self._now(WALLET + submission.actor).state
            stakes = player.open_in(round_id) if isinstance(player, Wallet) else ()
        return self.decider.context(submission, game.name, round_id, stakes, self._is_blocked)

    def _is_blocked(self, player: str) -> bool:
        state = self._now(WALLET + player).state
        return isinstance(state, Wallet) and state.blocked

    def _elsewhere(self, submission: Submission) -> Decision:
        kind = kind_of(submission.stream)
        assert kind, submission.stream
        assert kind.decide, submission.stream
        state = self._now(submission.stream).state
        decision = kind.decide(state, submission.command, self.decider.context(submission, at_table=self._at))
        self._append(submission.stream, kind, state, decision.events)
        return decision

    def _at(self, table: str) -> tuple[Game[Any, Any, Any], Any]:
        """A table as it is by now, for whoever decides beside it."""
        found = self._now(TABLE + table)
        return _game_of(TABLE + table, found), found.state

    def transfer(self, transfer: Transfer) -> None:
        stream = WALLET + transfer.player
        state = self._now(stream).state
        self._append(stream, KINDS["wallet"], state, wallet_decide.decide(state, transfer))

    def _append(self, stream: str, kind: Kind, state: Any, events: Iterable[Any]) -> None:
        for event in events:
            state = kind.evolve(state, event)
            self.record(stream, kind.name, state, event, kind.round(state, event))

    def record(self, stream: str, decider: str, state: Any, event: Any, round_id: str | None) -> None:
        version = self._now(stream).version + 1
        self.after[stream] = Stream(decider, version, state)
        self.recorded.append(Recorded(stream, version, round_id, event))

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
    """The stream that keeps the refusals of this player: whose wallet it is, or whom a proposal or dispute is about;
    else of whoever sent it."""
    stream = submission.stream
    if stream.startswith(WALLET):
        return REFUSED + stream.removeprefix(WALLET)
    asked = submission.command if stream.startswith(DISPUTE) else getattr(submission.command, "asked", None)
    return REFUSED + getattr(asked, "player", submission.actor)

"""A round's commands decided again, from nothing but the round's own events and the commands as they were sent.

The table is folded from the round's opening, whose own decision needs the table before it and is not repeated. Of a
wallet the round's events tell the cash at each step, and the bets of this round; of wallets whose money moved in events
that are no part of the round (a buy-in) nothing is known, and nothing is asked.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product, starmap
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from domain import refused
from domain.decider import Decider, MarkFaulted, Missing, Recorded, Rule, SettleBettor, Stream, Submission
from domain.errors import Rejected
from domain.game import (
    ConcludeRound,
    Game,
    Micros,
    Open,
    ResumeLog,
    Role,
    RoundTotals,
    SealedSeed,
    SealedText,
    TableFaulted,
    TimeOut,
)
from domain.games import GAMES
from domain.money import AMOUNT_MAX, Amount, Bet
from domain.names import INCIDENT, TABLE, WALLET, table_of
from domain.wallet import events as wallet
from domain.wallet.state import Wallet
from infra import codec
from infra.eventlog import EventRow
from infra.vault import SEALED
from services import as_sent, what_if
from services.beside_rounds import Beside, command_of
from services.resettled_again import is_play, resettled_again

_AHEAD = 16
"""Events of one command: none gives more that seal something."""

Name = tuple[str, str]
"""Actor and idempotency key of a command."""


class Difference(Struct, frozen=True):
    """At a position the log has one thing, and deciding again gives another; players would have got so much more."""

    position: int
    stored: str
    decided: str
    gained: Amount = 0


class Redecided(Struct, frozen=True):
    """`commands` were decided again; `left` cannot be here, for they are sealed from whoever does it, or were not kept.
    A refusal for what is no part of the round is neither."""

    commands: int
    left: int
    differences: tuple[Difference, ...]


def redecide(
    operator: str,
    round_id: str,
    rows: Iterable[EventRow],
    sent: Mapping[Name, str],
    open_sealed: Open,
    changes: Mapping[str, Any] | None = None,
) -> Redecided:
    """`rows` are the round's, in order, from its opening on, and refusals that belong to it. `sent` has the bodies of
    commands; `open_sealed` opens what was sealed for the round, as far as may be. `changes` to the table's config ask
    what would have been. Raises ValueError if there is no opening, and ValidationError for impossible changes.

    Of what was said about the round and came to it when it was over, incidents and resettlements are decided again; the
    rest has states of its own."""
    whole = list(rows)
    course = _Course(operator, round_id, filter(_is_decided, whole), sent, open_sealed, changes or {})
    try:
        while course.next_command():
            pass
    except Exception as fault:  # noqa: BLE001 - events that never were may break anything; that is a difference too
        course.differences.append(Difference(course.position, "", f"cannot be decided: {fault!r}"))
    if changes:
        return Redecided(course.commands, course.left, tuple(course.differences))
    after = resettled_again(round_id, whole)
    found = (Difference(each.position, each.stored, each.decided) for each in after.found)
    return Redecided(course.commands + after.commands, course.left, (*course.differences, *found))


class _Sealed(Exception):
    """The command is sealed from us, or was not kept."""


class _Elsewhere(Exception):
    """It was refused for what is no part of the round: another command, another table, or the table before it."""


class _Stored(Struct, frozen=True):
    """An event of the log, decoded once."""

    row: EventRow
    event: Any


class _Moment(Struct, frozen=True):
    """The table and one wallet between two commands of a batch, and whether another command that is named was decided
    by then: the round does not always have it, so each is possible."""

    state: Any
    wallet: Wallet | None
    decided: bool


class _Course:
    """Through the round, command by command."""

    def __init__(
        self,
        operator: str,
        round_id: str,
        rows: Iterator[EventRow],
        sent: Mapping[Name, str],
        open_sealed: Open,
        changes: Mapping[str, Any],
    ) -> None:
        self._operator, self._round = operator, round_id
        self._table = TABLE + table_of(round_id)
        self._rows = rows
        self._ahead: deque[_Stored] = deque()
        self._sent, self._open = sent, open_sealed
        self._bettors: dict[str, tuple[int, int, bool]] = {}
        """Of each wallet: what was staked and returned in the round, and whether it is settled or refunded."""
        self.commands = self.left = 0
        self.differences: list[Difference] = []
        opening, game = self._opening()
        self._game: Game[Any, Any, Any] = game
        self._currency: str = opening.event.config.currency
        config = what_if.changed(opening.event.config, changes)
        self._state = game.evolve(game.initial, replace(opening.event, config=config))
        self._version = opening.row.version
        self._wallets: dict[str, Wallet] = {}
        self._beside = Beside()
        self._opened: Micros = opening.row.at
        self._at: Micros = self._opened
        self._earlier: dict[str, list[Any]] = {}
        """What table and wallets were before, in the batch of which an event was taken last."""
        self._ahead.popleft()
        self._pass_over(opening.row)

    @property
    def position(self) -> int:
        """Of the event that is next."""
        return stored.row.position if (stored := self._peek()) else 0

    def _opening(self) -> tuple[_Stored, Game[Any, Any, Any]]:
        """What comes before it, as the match that a first hand opens, needs the table before it just so."""
        while stored := self._peek():
            game = GAMES.get(stored.row.type.partition(".")[0])
            if game is not None and isinstance(stored.event, game.opening):
                return stored, game
            self._ahead.popleft()
        raise ValueError(f"the events of {self._round} have no opening")

    def next_command(self) -> bool:
        """Decide the next command again; False at the end."""
        stored = self._peek()
        if stored is None:
            return False
        try:
            if isinstance(stored.event, refused.CommandRefused):
                self._refuse_again(stored.row, stored.event)
            else:
                self._decide_again(stored.row)
            self.commands += 1
        except (_Elsewhere, _Sealed) as why:
            self.left += isinstance(why, _Sealed)
            self._pass_over_own(stored.row)
        self._pass_over(stored.row)
        return True

    def _pass_over(self, row: EventRow) -> None:
        """What else the log has of a command that could not be decided, or came out otherwise."""
        while (more := self._peek()) and _is_same_command(row, more.row):
            self._take()

    def _pass_over_own(self, row: EventRow) -> None:
        """The same of the platform's own, which has no name: at a table its clock acts once in a batch."""
        while (more := self._peek()) and (more.row.command, more.row.at, more.row.stream) == (None, row.at, row.stream):
            self._take()

    def _decide_again(self, row: EventRow) -> None:
        """What comes of the command must be the next events, as far as it is of this round. Raises _Sealed."""
        said, gained = "", 0
        for submission in self._submissions(row):
            decided = self._decided(row, submission)
            if isinstance(decided, Rejected):
                said = said or f"! {decided.rule}"
            elif decided and self._fits(decided):
                for _ in decided:
                    self._take()
                if (more := self._peek()) and _is_same_command(row, more.row):
                    self.differences.append(Difference(more.row.position, more.row.data, "nothing"))
                return
            elif decided and not said:
                said = ", ".join(codec.encode(each.event) for each in decided)
                gained = sum(map(_given, (each.event for each in decided))) - _given(row.event)
        self.differences.append(Difference(row.position, row.data, said or "nothing", gained))
        self._take()

    def _fits(self, decided: Sequence[Recorded]) -> bool:
        for at, each in enumerate(decided):
            stored = self._peek(at)
            if stored is None or stored.row.stream != each.stream or stored.event != each.event:
                return False
            if not each.stream.startswith(WALLET) and stored.row.version != each.version:
                return False
        return True

    def _refuse_again(self, row: EventRow, event: refused.CommandRefused) -> None:
        """A refusal must be one again, by the same rule. It is recorded when its batch ends, so it was decided at one
        of the moments of that batch; before the round's opening none is known. Raises _Sealed, and _Elsewhere."""
        if event.stream != self._table or row.at == self._opened or event.rule in Rule.__members__:
            self._ahead.popleft()
            raise _Elsewhere
        submission = self._submission(row, self._table, self._read(event.asked, row))
        self._ahead.popleft()
        said = [self._refused(row, submission, event, moment) for moment in self._moments_of(row)]
        if event.rule not in said:
            self.differences.append(Difference(row.position, event.rule, said[0]))

    def _refused(self, row: EventRow, submission: Submission, event: refused.CommandRefused, moment: _Moment) -> str:
        """By which rule, at that moment."""
        decided = self._decided(row, submission, moment, event)
        return str(decided.rule) if isinstance(decided, Rejected) else "accepted"

    def _moments_of(self, row: EventRow) -> Iterator[_Moment]:
        """The table and the sender's wallet as they were while the batch was decided, the last first."""
        wallet_of = WALLET + row.actor
        tables, wallets = [self._state], [self._wallets.get(wallet_of)]
        if self._at == row.at:
            tables += self._earlier.get(self._table, [])[::-1]
            wallets += self._earlier.get(wallet_of, [])[::-1]
        return starmap(_Moment, product(tables, wallets, (False, True)))

    # --- The command, as it was or must have been -----------------------------------------------------------------

    def _submissions(self, row: EventRow) -> Iterator[Submission]:
        """A player's or a member of staff's, from its body; the platform's own, which carry nothing, by their kind."""
        if row.command is not None:
            text = self._sent.get((row.actor, row.command))
            stream = row.stream if row.stream.startswith(INCIDENT) else self._table
            yield self._submission(row, stream, self._read(text, row))
            return
        for stream, command in self._own(row):
            yield self._submission(row, stream, command)

    def _submission(self, row: EventRow, stream: str, command: Any) -> Submission:
        return Submission(self._operator, row.actor, Role(row.role), stream, command, row.command or "")

    def _read(self, text: str | None, row: EventRow) -> Any:
        if text is None or text.startswith(SEALED):
            raise _Sealed
        try:
            if row.stream.startswith(INCIDENT):
                return command_of(row, text)
            return as_sent.read(text, self._game.commands[Role(row.role)])
        except (msgspec.MsgspecError, KeyError) as fault:
            raise _Sealed from fault

    def _own(self, row: EventRow) -> Iterator[tuple[str, Any]]:
        event = row.event
        if row.stream.startswith(WALLET):
            yield row.stream, SettleBettor(self._round)
        elif isinstance(event, TableFaulted):
            yield self._table, MarkFaulted(event.reason)
        elif row.type.endswith(".LogResumed"):
            yield self._table, ResumeLog(event.epoch)
        else:
            yield self._table, TimeOut()
            yield self._table, ConcludeRound(self._round)

    # --- What the decision may know -------------------------------------------------------------------------------

    def _decided(
        self,
        row: EventRow,
        submission: Submission,
        moment: _Moment | None = None,
        refusal: refused.CommandRefused | None = None,
    ) -> tuple[Recorded, ...] | Rejected:
        """Raises _Sealed where it takes a card whose deck is not opened to us."""
        streams: dict[str, Stream] = {}
        decider = Decider(
            streams,
            row.at,
            seal=lambda _game, _round: self._sealed(SealedSeed) or SealedSeed("", "", ""),
            seal_text=lambda _game, _round, _text: self._sealed(SealedText) or SealedText("", ""),
            open_sealed=self._open,
            totals=self._totals,
            decided=lambda _actor, _key: moment is not None and moment.decided,
        )
        while True:
            try:
                told = decider.decide(submission).events
                return tuple(each for each in told if each.round == self._round)
            except Missing as missing:
                streams[missing.stream] = self._known(missing.stream, moment, refusal)
            except Rejected as rejected:
                return rejected
            except LookupError as closed:
                if isinstance(closed, KeyError | IndexError):  # a fault of the decision's own, and no closed vault
                    raise
                raise _Sealed from closed

    def _known(self, stream: str, moment: _Moment | None, refusal: refused.CommandRefused | None) -> Stream:
        """The table as it is, or a wallet with the cash that it had: an event or the refusal tells, else enough."""
        if stream == self._table:
            return Stream(self._game.name, self._version, moment.state if moment else self._state)
        if stream.startswith(INCIDENT):
            return self._beside.known(stream)
        state = (moment.wallet if moment else self._wallets.get(stream)) or Wallet(self._currency)
        if refusal is not None:
            told = {"currency": refusal.facts.get("wallet", state.currency), "blocked": refusal.rule == "PlayerBlocked"}
            return Stream("wallet", 1, replace(state, cash=refusal.facts.get("balance", AMOUNT_MAX // 2), **told))
        cash = next((each.event.before for each in self._soon() if each.row.stream == stream), AMOUNT_MAX // 2)
        return Stream("wallet", 1, replace(state, cash=cash))

    def _sealed(self, kind: type[Any]) -> Any:
        """What the stored events have where the decision seals something: chance cannot be decided again."""
        return next((found for each in self._soon() if (found := next(codec.parts(each.event, kind), None))), None)

    def _totals(self, _round: str) -> RoundTotals:
        told = [each for each in self._bettors.values() if each[0] > 0]
        staked, returned = sum(each[0] for each in told), sum(each[1] for each in told)
        return RoundTotals(len(told), staked, returned, sum(1 for each in told if not each[2]))

    # --- What happened --------------------------------------------------------------------------------------------

    def _soon(self) -> Iterator[_Stored]:
        return filter(None, map(self._peek, range(_AHEAD)))

    def _peek(self, at: int = 0) -> _Stored | None:
        while len(self._ahead) <= at:
            row = next(self._rows, None)
            if row is None:
                return None
            self._ahead.append(_Stored(row, row.event))
        return self._ahead[at]

    def _take(self) -> None:
        """Go on from what is stored, so that one difference is told once."""
        stored = self._ahead.popleft()
        stream = stored.row.stream
        if stored.row.at != self._at:
            self._at, self._earlier = stored.row.at, {}
        if stream == self._table:
            self._earlier.setdefault(stream, []).append(self._state)
            self._state, self._version = self._game.evolve(self._state, stored.event), stored.row.version
        elif stream.startswith(WALLET):
            self._earlier.setdefault(stream, []).append(self._wallets.get(stream))
            self._wallets[stream] = self._moved(stream, stored.event)
        else:
            self._beside.take(stored.row)

    def _moved(self, stream: str, event: Any) -> Wallet:
        state = self._wallets.get(stream) or Wallet(self._currency)
        staked, returned, closed = self._bettors.get(stream, (0, 0, False))
        bets: tuple[Bet, ...] = state.bets
        match event:
            case wallet.BetStaked(bet=bet, amount=amount):
                staked, bets = staked + amount, (*bets, bet)
            case wallet.BetCancelled(bet=bet_id, amount=amount):
                staked, bets = staked - amount, tuple(bet for bet in bets if bet.id != bet_id)
            case wallet.BetsSettled(returned=amount) | wallet.Refunded(amount=amount):
                returned, closed, bets = returned + amount, True, ()
            case _:
                return state
        self._bettors[stream] = (staked, returned, closed)
        return replace(state, bets=bets, cash=event.after, open_stakes=sum(bet.amount for bet in bets))


def _is_decided(row: EventRow) -> bool:
    return is_play(row) or row.stream.startswith(INCIDENT)


def _given(event: Any) -> Amount:
    return event.returned if isinstance(event, wallet.BetsSettled) else 0


def _is_same_command(row: EventRow, other: EventRow) -> bool:
    """The platform's own have no name, and the next may come in the same breath: each is decided by itself."""
    return row.command is not None and (row.actor, row.command) == (other.actor, other.command)

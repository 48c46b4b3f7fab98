"""One batch of commands: decided one after the other in memory, and turned into the rows of one append."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from domain.decider import Decided, Decider, Recorded, Rule, Stream, Submission, record_of
from domain.errors import Fact, Rejected
from domain.game import Ended, Micros, Role, RoundTotals
from domain.names import DISPUTE, INCIDENT, PROPOSAL, REFUSED, TABLE, WALLET, table_of
from domain.resettlements import Advance
from domain.streams import KINDS, kind_of
from domain.wallet.state import Wallet
from infra import codec, eventlog
from infra.columns import nullable, numbers, texts
from infra.eventlog import EventRow, Tip
from infra.vault import Vault


class Appended(Struct, frozen=True):
    """An event as it stands in the log now."""

    position: int
    stream: str
    event: Any


class Accepted(Struct, frozen=True):
    """The command was decided. `first` and `last` bound its events in the log; both None if it gave none."""

    first: int | None
    last: int | None
    events: tuple[Appended, ...]
    at: Micros
    fenced: bool = False
    repeated: bool = False
    states: Mapping[str, Any] = {}
    """For a command with a key: its stream and its sender's wallet after it, by name; for a repetition, as of now."""


class Refused(Struct, frozen=True):
    """A rule refused the command; nothing happened but, for a money command, the record of its refusal."""

    rule: str
    facts: dict[str, Fact]
    repeated: bool = False


class KeyReused(Struct, frozen=True):
    """The idempotency key was used before for another command."""


Answer = Accepted | Refused | KeyReused


class StoredAccepted(Struct, frozen=True, tag="accepted"):
    fenced: bool = False


class StoredRefused(Struct, frozen=True, tag="refused"):
    rule: str
    facts: dict[str, Fact]


class StoredFence(Struct, frozen=True, tag="fenced"):
    """No command came yet under this key, and none may any more."""


Stored = StoredAccepted | StoredRefused | StoredFence
"""The outcome as the `commands` table keeps it."""


class Earlier(Struct, frozen=True):
    """What was decided before under a key."""

    fingerprint: bytes
    outcome: Stored
    first: int | None
    last: int | None
    at: Micros


class Entry(Struct, frozen=True):
    """A command in the queue."""

    submission: Submission
    fingerprint: bytes
    received: Micros


class MissingTotals(Exception):
    def __init__(self, round_id: str) -> None:
        super().__init__(round_id)
        self.round = round_id


class MissingEnded(Exception):
    def __init__(self, round_id: str) -> None:
        super().__init__(round_id)
        self.round = round_id


class MissingAnswer(Exception):
    def __init__(self, actor: str, key: str) -> None:
        super().__init__(actor, key)
        self.name = (actor, key)


class Unwritable(Exception):
    """What a command gave cannot become rows: a bug, and this batch is spoilt, for it was decided already."""


class NotYet(Exception):
    """The command needs the sums of a round that this very batch changes: it waits for the next batch."""


class _CommandRow(Struct, frozen=True):
    entry: Entry | None
    actor: str
    key: str
    outcome: Stored
    first: int | None = None
    last: int | None = None


class Batch:
    """Decides entries in order of arrival. `rows` and `arguments` are what is to be appended."""

    def __init__(self, operator: str, begun: Tip, now: Micros, vault: Vault) -> None:
        """`begun` is where the log stands before it."""
        self.operator = operator
        self.begun = begun
        self.now = now
        self.position = begun.position
        self.tip = begun.hash
        self.streams: dict[str, Stream] = {}
        self.of_one_moment = True
        """Is all that was loaded of the very snapshot in which the log stood there?"""
        self.totals: dict[str, RoundTotals] = {}
        self.earlier: dict[tuple[str, str], Earlier | None] = {}
        self.ended: dict[str, Ended | None] = {}
        self.rows: list[EventRow] = []
        self._hashes: list[str] = []
        self._commands: list[_CommandRow] = []
        self._answers: dict[tuple[str, str], Answer] = {}
        self._rounds: set[str] = set()
        self._decider = Decider(
            self.streams,
            now,
            seal=lambda game, round_id: vault.seal(operator, game, round_id),
            seal_text=lambda game, round_id, text: vault.seal_text(operator, game, round_id, text),
            open_sealed=lambda round_id, sealed: vault.open(operator, round_id, sealed),
            totals=partial(_totals_of, self.totals, self._rounds),
            decided=partial(_was_decided, self.earlier),
            ended=partial(_ended, self.ended),
        )  # no method of this batch: its objects would hold each other, and wait for the collector of cyclic garbage

    @property
    def changes(self) -> bool:
        return bool(self.rows or self._commands)

    @property
    def left(self) -> Tip:
        """Where the log stands once it is written."""
        return Tip(self.begun.epoch, self.position, self.tip, self.now, "") if self.changes else self.begun

    def decide(self, entry: Entry) -> Answer | Earlier | Rejected:
        """Decide one command. An `Earlier` answer is to be completed with its events; a `Rejected` by `refuse`.

        Raises what the decider raises: Missing, MissingTotals, MissingEnded, MissingAnswer or NotYet mean load and
        decide again (or later); Unwritable, that the batch is lost; anything else is this command's own failure and
        leaves the batch as it was.
        """
        submission = entry.submission
        name = (submission.actor, submission.key)
        earlier = self.earlier.get(name) if submission.key else None
        if earlier is not None:
            return self._known(name, earlier, entry.fingerprint)
        try:
            decided = self._decider.decide(submission)
        except Rejected as rejected:
            if submission.key:
                stored = StoredRefused(str(rejected.rule), rejected.facts)
                self.earlier[name] = Earlier(entry.fingerprint, stored, None, None, self.now)
                self._answers[name] = Refused(stored.rule, stored.facts)
            return rejected
        return self._accept(entry, decided)

    def refuse(self, entry: Entry, rejected: Rejected) -> Refused:
        """Answer a refusal, and put it on record if it is a money command.

        Raises Missing for the record's stream, and Unwritable.
        """
        submission, answer = entry.submission, Refused(str(rejected.rule), rejected.facts)
        first = None
        if self._is_on_record(submission):
            first = self._record(submission, self._decider.refuse(submission, rejected, entry.received))[0].position
        if not self._is_fenced((submission.actor, submission.key)):  # the fence stays what is remembered of the key
            self._remember(entry, answer, StoredRefused(answer.rule, answer.facts), first, first)
        return answer

    def states_of(self, submission: Submission) -> Mapping[str, Any]:
        """What the sender may be shown a view of. Only a repetition can meet a stream that was not loaded."""
        names = (submission.stream, WALLET + submission.actor)
        return {name: stream.state for name in names if (stream := self.streams.get(name)) is not None}

    def _is_fenced(self, name: tuple[str, str]) -> bool:
        earlier = self.earlier.get(name)
        return earlier is not None and isinstance(earlier.outcome, StoredFence)

    def _known(self, name: tuple[str, str], earlier: Earlier, fingerprint: bytes) -> Answer | Earlier | Rejected:
        if isinstance(earlier.outcome, StoredFence):
            return Rejected(Rule.Fenced)
        if earlier.fingerprint != fingerprint:
            return KeyReused()
        answer = self._answers.get(name)
        return replace(answer, repeated=True) if isinstance(answer, Accepted | Refused) else earlier

    def _accept(self, entry: Entry, decided: Decided) -> Accepted:
        submission = entry.submission
        appended = self._record(submission, decided)
        for key in decided.fences:
            if key != submission.key:  # that one is taken by this very command: nothing can come under it any more
                self._fence(submission.actor, key)
        first, last = (appended[0].position, appended[-1].position) if appended else (None, None)
        states: Mapping[str, Any] = self.states_of(submission) if submission.key else {}
        answer = Accepted(first, last, appended, self.now, fenced=bool(decided.fences), states=states)
        self._remember(entry, answer, StoredAccepted(answer.fenced), first, last)
        return answer

    def _record(self, submission: Submission, decided: Decided) -> tuple[Appended, ...]:
        try:
            return tuple(self._append(submission, recorded) for recorded in decided.events)
        except Exception as problem:
            raise Unwritable(f"{type(problem).__name__}: {problem}") from problem

    def _append(self, submission: Submission, recorded: Recorded) -> Appended:
        event = recorded.event
        type_name = codec.type_of(event)
        self.position += 1
        row = EventRow(
            self.position,
            recorded.stream,
            recorded.version,
            type_name,
            codec.schema_of(type_name),
            recorded.round,
            submission.key or None,
            submission.actor,
            str(submission.role),
            self.now,
            codec.encode(event),
            b"",
        )
        self.tip = eventlog.link(self.tip, row)
        self.rows.append(row)
        self._hashes.append(self.tip.hex())
        if recorded.round is not None:
            self._rounds.add(recorded.round)
        return Appended(self.position, recorded.stream, event)

    def _remember(self, entry: Entry, answer: Answer, outcome: Stored, first: int | None, last: int | None) -> None:
        submission = entry.submission
        if not submission.key:
            return
        name = (submission.actor, submission.key)
        self._commands.append(_CommandRow(entry, *name, outcome, first, last))
        self.earlier[name] = Earlier(entry.fingerprint, outcome, first, last, self.now)
        self._answers[name] = answer

    def _fence(self, actor: str, key: str) -> None:
        if self.earlier.get((actor, key)) is None:
            self._commands.append(_CommandRow(None, actor, key, StoredFence()))
            self.earlier[actor, key] = Earlier(b"", StoredFence(), None, None, self.now)

    def _is_on_record(self, submission: Submission) -> bool:
        """Refusals of what a player asks, of money an operator moves, of what one person may not do alone, and about a
        dispute, are kept; strangers leave no trace."""
        stream = submission.stream
        if stream.startswith((PROPOSAL, INCIDENT, DISPUTE)) and self._decider.stream(stream).version > 0:
            return True
        from_table = submission.role is Role.PLAYER and stream.startswith(TABLE)
        if from_table or stream.startswith((WALLET, PROPOSAL, DISPUTE)):
            player = record_of(submission).removeprefix(REFUSED)
            return self._decider.stream(WALLET + player).version > 0
        return False

    def arguments(self, until: Micros) -> list[Any]:
        """The arguments of the `append` query, after the operator. After `until`, by the database's clock, it does
        nothing."""
        begun = self.begun
        head = [self.position, self.tip, self.now, begun.epoch, begun.position, begun.hash, begun.at, until]
        return [*head, *self._events(), codec.STATE_SCHEMA, *self._folded(), *self._told()]

    def _events(self) -> list[str]:
        rows = self.rows
        return [
            numbers([row.position for row in rows]),
            texts([row.stream for row in rows]),
            numbers([row.version for row in rows]),
            texts([row.type for row in rows]),
            numbers([row.schema for row in rows]),
            nullable([row.round for row in rows]),
            nullable([row.command for row in rows]),
            texts([row.actor for row in rows]),
            texts([row.role for row in rows]),
            texts([row.data for row in rows]),
            texts(self._hashes),
        ]

    def _folded(self) -> list[str]:
        last = {row.stream: row.position for row in self.rows}
        names = list(last)
        streams = [self.streams[name] for name in names]
        return [
            texts(names),
            texts([stream.decider for stream in streams]),
            numbers([stream.version for stream in streams]),
            numbers(list(last.values())),
            texts([codec.encode(stream.state) for stream in streams]),
            numbers([_balance(stream.state) for stream in streams]),
            numbers([_due(stream) for stream in streams]),
        ]

    def _told(self) -> list[str]:
        commands = self._commands
        return [
            texts([row.actor for row in commands]),
            texts([row.key for row in commands]),
            texts([row.entry.fingerprint.hex() if row.entry else "" for row in commands]),
            texts([row.entry.submission.text if row.entry else "" for row in commands]),
            numbers([row.entry.received if row.entry else self.now for row in commands]),
            texts([codec.encode(row.outcome) for row in commands]),
            numbers([row.first for row in commands]),
            numbers([row.last for row in commands]),
        ]


def _totals_of(known: Mapping[str, RoundTotals], changed: Collection[str], round_id: str) -> RoundTotals:
    if round_id in changed:
        raise NotYet(round_id)
    try:
        return known[round_id]
    except KeyError:
        raise MissingTotals(round_id) from None


def _ended(known: Mapping[str, Ended | None], round_id: str) -> Ended | None:
    """What this very batch ends is not over before the next one."""
    try:
        return known[round_id]
    except KeyError:
        raise MissingEnded(round_id) from None


def _was_decided(known: Mapping[tuple[str, str], Earlier | None], actor: str, key: str) -> bool:
    if (actor, key) not in known:
        raise MissingAnswer(actor, key)
    earlier = known[actor, key]
    return earlier is not None and not isinstance(earlier.outcome, StoredFence)


def streams_named(submission: Submission) -> tuple[str, ...]:
    """The streams that a command surely needs; others are loaded when a decision asks for them."""
    stream = submission.stream
    if stream.startswith(TABLE):
        return (stream, WALLET + submission.actor) if submission.role is Role.PLAYER else (stream,)
    if isinstance(submission.command, Advance):
        return (stream, *(WALLET + each.player for each in submission.command.bettors))
    round_id = getattr(submission.command, "round", None)
    return (stream, TABLE + table_of(round_id)) if round_id and stream.startswith(WALLET) else (stream,)


def fresh(stream: str) -> Stream:
    """A stream that is not there yet."""
    kind = kind_of(stream)
    return Stream(kind.name, 0, kind.initial) if kind else Stream("", 0, None)


def _balance(state: Any) -> int:
    return state.cash if isinstance(state, Wallet) else 0


def _due(stream: Stream) -> Micros | None:
    return KINDS[stream.decider].deadline(stream.state)

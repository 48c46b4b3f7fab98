"""Written rounds: commands, what they gave, refusals and views, as text to be read as prose and run as a test.

A line at the margin is a command or a remark; an indented line is what came of it. `played` runs the commands against
the domain alone, with seeds that are the same every time, and writes the indented lines anew: a written round is true
if that changes nothing.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from domain import incidents
from domain.decider import Decided, Decider, MarkFaulted, Missing, Recorded, Rule, SettleBettor, Stream, Submission
from domain.errors import Rejected
from domain.fairness import seed_hash
from domain.game import (
    SECOND,
    ConcludeRound,
    Game,
    Micros,
    Outcome,
    Role,
    RoundTotals,
    Sealed,
    SealedSeed,
    SealedText,
    TimeOut,
    Viewer,
)
from domain.games import GAMES
from domain.names import INCIDENT, TABLE, WALLET
from domain.streams import kind_of
from domain.wallet import commands as wallet
from domain.wallet import events as wallet_events
from domain.wallet.state import Wallet
from services import notation
from services.notation import Notation, wrapped
from services.projections.rounds import is_match

OPERATOR = "demo"
START: Micros = 1_800_000_000 * SECOND
"""0:00 of every written round: 15 January 2027, 08:00 UTC."""

ROLES = {
    "operator": Role.OPERATOR,
    "studio": Role.STUDIO,
    "supervisor": Role.SUPERVISOR,
    "colleague": Role.SUPERVISOR,
    "auditor": Role.AUDITOR,
    "clock": Role.CLOCK,
}
"""Actors of these names have these roles; everybody else is a player."""


NO_GAME = "a written round begins with the line: game NAME at TABLE"


class Memory:
    """A house in memory: the same decisions as the executor's, on streams that begin empty. Its entropy is a name."""

    def __init__(self, entropy: str) -> None:
        self.streams: dict[str, Stream] = {}
        self.log: list[Recorded] = []
        self.seeds: dict[str, bytes] = {}
        self.texts: dict[str, str] = {}
        self._entropy = entropy
        self._decided: set[tuple[str, str]] = set()
        self._fenced: set[tuple[str, str]] = set()

    def submit(self, now: Micros, submission: Submission) -> Decided:
        """Decide one command and keep what it gave. Raises Rejected."""
        name = (submission.actor, submission.key)
        assert not submission.key or name not in self._decided, f"two commands of {name}"
        if name in self._fenced:
            raise Rejected(Rule.Fenced)
        self._decided.add(name)
        decided = self._decide(now, submission)
        self._fenced.update((submission.actor, key) for key in decided.fences)
        self.log.extend(decided.events)
        return decided

    def state(self, stream: str) -> Any:
        return self.streams[stream].state if stream in self.streams else None

    def wallet(self, player: str) -> Wallet:
        state = self.state(WALLET + player)
        return state if isinstance(state, Wallet) else Wallet("")

    def _decide(self, now: Micros, submission: Submission) -> Decided:
        while True:
            decider = Decider(
                self.streams,
                now,
                seal=self.seal,
                seal_text=self.seal_text,
                open_sealed=self.open,
                totals=self.totals,
                decided=lambda actor, key: (actor, key) in self._decided,
            )
            try:
                return decider.decide(submission)
            except Missing as missing:
                kind = kind_of(missing.stream)
                self.streams[missing.stream] = Stream("", 0, kind.initial if kind else None)

    def seal(self, _game: str, round_id: str) -> SealedSeed:
        seed = hashlib.sha256(f"{self._entropy} {round_id} {len(self.seeds)}".encode()).digest()
        sealed = f"sealed-{len(self.seeds) + 1}"
        self.seeds[sealed] = seed
        return SealedSeed(seed_hash(seed), "test", sealed)

    def seal_text(self, _game: str, _round_id: str, text: str) -> SealedText:
        sealed = f"sealed-text-{len(self.texts) + 1}"
        self.texts[sealed] = text
        return SealedText("test", sealed)

    def open(self, _round_id: str, sealed: Sealed) -> bytes:
        return self.seeds[sealed.sealed] if isinstance(sealed, SealedSeed) else self.texts[sealed.sealed].encode()

    def totals(self, round_id: str) -> RoundTotals:
        """As the log's own query sums it: a bettor is whoever has a stake that was not taken back."""
        staked, returned = dict[str, int](), dict[str, int]()
        for recorded in self.log:
            name, event = recorded.stream, recorded.event
            if recorded.round != round_id or not name.startswith(WALLET):
                continue
            match event:
                case wallet_events.BetStaked():
                    staked[name] = staked.get(name, 0) + event.amount
                case wallet_events.BetCancelled():
                    staked[name] -= event.amount
                case wallet_events.BetsSettled():
                    returned[name] = event.returned
                case wallet_events.Refunded():
                    returned[name] = event.amount
                case _:
                    pass
        bettors = {name for name, amount in staked.items() if amount}
        return RoundTotals(len(bettors), sum(staked.values()), sum(returned.values()), len(bettors - returned.keys()))


class _Play:
    """One written round as it is played."""

    def __init__(self, title: str) -> None:
        self.memory = Memory(title)
        self.notation = Notation(START)
        self.game: Game[Any, Any, Any] | None = None
        self.table = ""
        self.now = START
        self._sent = 0

    def line(self, line: str) -> Iterator[str]:
        """The line as it should stand, and what came of it."""
        words = line.split()
        if not words or line.startswith("#"):
            yield line.rstrip()
        elif words[0] in _DIRECTIVES:
            yield line.rstrip()
            yield from _DIRECTIVES[words[0]](self, *words[1:])
        else:
            time, actor, rest = (*line.split(maxsplit=2), "")[:3]
            yield f"{time:<8}{actor:<12}{rest}".rstrip()
            since, self.now = self.now, self.notation.moment(time)
            if not rest:
                yield from self._time_passes(since)
            else:
                yield from self._all(actor, rest.rstrip())

    def _all(self, actor: str, words: str) -> Iterator[str]:
        """`p1..p64` are so many players who send the same; what came of it is told for the last one."""
        first, _, last = actor.partition("..")
        name = first.rstrip("0123456789")
        for number in range(int(first.removeprefix(name)), int(last.removeprefix(name))) if last else ():
            list(self._commands(f"{name}{number}", words))
        yield from self._commands(last or first, words)

    def _commands(self, actor: str, words: str) -> Iterator[str]:
        """One command, or several after semicolons; one that begins with a field has the name of the one before."""
        name = ""
        for each in notation.pieces(words, ";"):
            first = each.split()[0]
            name = name if "=" in first else first
            try:
                submission = self._submission(actor, f"{name} {each}" if "=" in first else each)
            except msgspec.ValidationError as problem:
                yield from wrapped(f"? {problem}")
            else:
                yield from self._submit(submission)

    def _submission(self, actor: str, words: str) -> Submission:
        """`as=b1` gives the command its idempotency key; `wallet:ann` in front sends it to a wallet, and `incident:i1`
        to an incident, not the table."""
        assert self.game is not None, NO_GAME
        stream, role = TABLE + self.table, ROLES.get(actor, Role.PLAYER)
        union: Any = self.game.commands[role]
        if words.startswith(WALLET):
            stream, _, words = words.partition(" ")
            union = wallet.Command
        elif words.startswith(INCIDENT):
            stream, _, words = words.partition(" ")
            union = incidents.Command
        if role is Role.CLOCK:
            union = union | MarkFaulted | SettleBettor
        parts = notation.pieces(words, " ")
        named = next((part.removeprefix("as=") for part in parts if part.startswith("as=")), None)
        command = notation.command(" ".join(part for part in parts if not part.startswith("as=")), union)
        self._sent += 1
        opens = type(command).__name__ == "OpenTable"
        key = "" if role is Role.CLOCK else named or f"key-{self._sent}"
        return Submission(OPERATOR, actor, role, stream, command, key, self.game.name if opens else "")

    def _submit(self, submission: Submission, *, timed: bool = False) -> Iterator[str]:
        assert self.game is not None
        round_id = self.game.round(self._state())
        try:
            decided = self.memory.submit(self.now, submission)
        except Rejected as refused:
            yield from wrapped(f"! {refused.rule} {self.notation.facts(refused.facts)}")
            return
        if not decided.events and not timed:
            yield from wrapped(f"= fenced: {' '.join(decided.fences)}" if decided.fences else "= nothing")
        time = f"{self.notation.clock(self.now)} " if timed else ""
        for each in decided.events:
            whose = "" if each.stream.startswith(TABLE) else f"{each.stream.removeprefix(WALLET)}: "
            yield from wrapped(f"-> {time}{whose}{self.notation.named(each.event, round_id)}")
            round_id = each.round or round_id

    def _time_passes(self, since: Micros) -> Iterator[str]:
        """All that the clock has to do until now, each thing at its time: deadlines, settlement, conclusion."""
        assert self.game is not None, NO_GAME
        until, self.now = self.now, since
        while (due := self.game.deadline(state := self._state())) is not None and due <= until:
            self.now = max(due, self.now)
            for submission in self._work(self.game.result(state)):
                yield from self._submit(submission, timed=True)
            assert self._state() != state, f"the clock does nothing about {state}"
        self.now = until

    def _work(self, outcome: Outcome | None) -> Iterator[Submission]:
        table = TABLE + self.table
        if outcome is None:
            yield Submission(OPERATOR, "platform", Role.CLOCK, table, TimeOut())
            return
        for name in sorted(self.memory.streams):
            if name.startswith(WALLET):
                yield Submission(OPERATOR, "platform", Role.CLOCK, name, SettleBettor(outcome.round))
        yield Submission(OPERATOR, "platform", Role.CLOCK, table, ConcludeRound(outcome.round))

    def _state(self) -> Any:
        assert self.game is not None, NO_GAME
        stream = self.memory.streams.get(TABLE + self.table)
        return self.game.initial if stream is None or not stream.decider else stream.state

    # --- Directives: lines without a time -------------------------------------------------------------------------

    def sit(self, game: str, _at: str, table: str) -> Iterator[str]:
        self.game, self.table = GAMES[game], table
        return iter(())

    def player(self, player: str, cash: str, currency: str) -> Iterator[str]:
        for asked in (wallet.OpenWallet(currency), wallet.Deposit(int(cash), currency)):
            self.memory.submit(self.now, Submission(OPERATOR, "operator", Role.OPERATOR, WALLET + player, asked))
        return iter(())

    def view(self, player: str) -> Iterator[str]:
        assert self.game is not None, NO_GAME
        state = self._state()
        bets = self.memory.wallet(player).open_in(self.game.round(state) or "")
        viewer = Viewer(player, ROLES.get(player, Role.PLAYER))
        seen = self.game.view(state, viewer, bets, self.memory.open)
        yield from wrapped(" ".join(("=", *self.notation.fields(seen))))

    def hands(self, viewer: str) -> Iterator[str]:
        """Whose cards this viewer may know by now, as in the history of the round."""
        assert self.game is not None, NO_GAME
        known = self.game.hands(self._state(), Viewer(viewer, ROLES.get(viewer, Role.PLAYER)), self.memory.open)
        yield from wrapped(" ".join(("=", *(f"{name}={self.notation.value(hand)}" for name, hand in known.items()))))

    def wallet(self, player: str) -> Iterator[str]:
        held = self.memory.wallet(player)
        yield from wrapped(f"= cash={held.cash} open_stakes={held.open_stakes}")

    def about(self) -> Iterator[str]:
        assert self.game is not None, NO_GAME
        yield from self._sheet(self.game.about(self._state()))

    def proof(self, round_id: str) -> Iterator[str]:
        """What anyone can check of a round's fairness, or of a match, from its events alone."""
        assert self.game is not None, NO_GAME
        log = [each for each in self.memory.log if each.stream.startswith(TABLE)]
        if is_match(round_id):
            assert self.game.reveals_match is not None, f"{self.game.name} has no matches"
            of_match = [each for each in log if getattr(each.event, "match", None) == round_id]
            first, last = log.index(of_match[0]), log.index(of_match[-1])
            yield from self._sheet(self.game.reveals_match(OPERATOR, (each.event for each in log[first : last + 1])))
        else:
            yield from self._sheet(self.game.reveals(OPERATOR, (each.event for each in log if each.round == round_id)))

    def _sheet(self, facts: Struct) -> Iterator[str]:
        """A line a field, and a line for each member of a list."""
        for name in facts.__struct_fields__:
            match getattr(facts, name):
                case (Struct(), *_) as members:
                    for member in members:
                        yield from wrapped(f"= {name}: {' '.join(self.notation.fields(member))}")
                case None | () | {}:
                    pass
                case value:
                    yield from wrapped(f"= {name}: {self.notation.value(value)}")


_DIRECTIVES: dict[str, Callable[..., Iterator[str]]] = {
    "game": _Play.sit,
    "player": _Play.player,
    "view": _Play.view,
    "hands": _Play.hands,
    "wallet": _Play.wallet,
    "about": _Play.about,
    "proof": _Play.proof,
}


def played(text: str) -> str:
    """The written round as it should stand: its own commands, with what they give now."""
    story = [line for line in text.splitlines() if not line.startswith(" ")]
    play = _Play(story[0])
    return "".join(f"{line}\n" for told_line in story for line in play.line(told_line))

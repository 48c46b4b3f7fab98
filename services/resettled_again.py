"""What came to a round after it was settled, from its own events: resettlements decided again, and in words."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from domain import resettlements
from domain.errors import Rejected
from domain.game import Context, Ended, Role, Unexplained, Viewer
from domain.money import Payout
from domain.names import REFUSED, RESETTLEMENT, TABLE, WALLET
from domain.resettlements import Advance, Advanced, Complete, Completed, Opened, Paid, Resettle
from domain.wallet import decide as wallet_decide
from domain.wallet.events import Resettled
from domain.wallet.state import Wallet
from infra import codec
from infra.eventlog import EventRow
from services.ended import ended_of

TYPE = "wallet.Resettled"


def is_play(row: EventRow) -> bool:
    """Whether the event is of the round's own play, and not of what came to the round when it was over."""
    return row.stream.startswith((TABLE, WALLET, REFUSED)) and row.type != TYPE


class Found(Struct, frozen=True):
    """One event that differs: as it is stored, and as it is decided now."""

    position: int
    stored: str
    decided: str


class ResettledAgain(Struct, frozen=True):
    """`commands` were decided again."""

    commands: int
    found: tuple[Found, ...]


def resettled_again(round_id: str, rows: Sequence[EventRow]) -> ResettledAgain:
    """`rows` are the round's, in order; of a match with the events that opened and ended it. What each player was paid
    last is taken from the events before, so that a compensation of other wagers, or one twice, is found."""
    found: list[Found] = []
    course: _Course | None = None
    try:
        course = _Course(round_id, rows)
        found.extend(course.found())  # what was found stays if the next one breaks
    except Exception as fault:  # noqa: BLE001 - events that never were may break anything; that is a difference too
        found.append(Found(rows[-1].position, "", f"cannot be decided: {fault!r}"))
    return ResettledAgain(course.commands if course else 0, tuple(found))


class _Course:
    """Through the resettlements, event by event."""

    def __init__(self, round_id: str, rows: Sequence[EventRow]) -> None:
        self._rows = [row for row in rows if row.stream == RESETTLEMENT + round_id]
        self._compensated = defaultdict[int, list[EventRow]](list)
        for row in rows:
            if row.type == TYPE:
                self._compensated[row.event.number].append(row)
        self._ended = ended_of(round_id, rows)
        self._paid = paid(rows, self._ended)
        self._round = round_id
        self._state: resettlements.State = resettlements.INITIAL
        self.commands = 0

    def found(self) -> Iterator[Found]:
        done = defaultdict[int, int](int)
        for row in self._rows:
            self.commands += 1
            players: list[EventRow] = []
            if isinstance(row.event, Advanced):
                at = done[row.event.number]
                players = self._compensated[row.event.number][at : at + row.event.players]
                done[row.event.number] += len(players)
            yield from self._again(row, players)
            self._state = resettlements.evolve(self._state, row.event)
        for number, rows in self._compensated.items():
            yield from (Found(row.position, row.data, "nothing") for row in rows[done[number] :])

    def _again(self, row: EventRow, players: Sequence[EventRow]) -> Iterator[Found]:
        context = Context("", "", row.at, "", Role.CLOCK, stream=row.stream, ended=lambda _round: self._ended)
        try:
            decision = resettlements.decide(self._state, self._command(row.event, players), context)
        except (Rejected, ValueError, LookupError) as refused:
            yield Found(row.position, row.data, str(refused))
            return
        if decision.events != (row.event,):
            told = ", ".join(codec.encode(event) for event in decision.events)
            yield Found(row.position, row.data, told or "nothing")
        for stored, ask in zip(players, decision.asks, strict=False):
            [decided, *_] = wallet_decide.decide(_wallet_before(stored.event), ask.command)
            if (decided, ask.stream) != (stored.event, stored.stream):
                yield Found(stored.position, stored.data, codec.encode(decided))
            self._paid[stored.stream.removeprefix(WALLET)] = stored.event.payouts
        if isinstance(row.event, Completed) and (left_out := self._left_out(row.event.number)):
            yield Found(row.position, row.data, f"{left_out} was not settled with")

    def _left_out(self, number: int) -> str:
        """A player of the round who got none of its compensations, though the sums of the steps agree; "" if none."""
        settled_with = {row.stream.removeprefix(WALLET) for row in self._compensated[number]}
        return min(self._paid.keys() - settled_with, default="")

    def _command(self, event: resettlements.Event, players: Sequence[EventRow]) -> resettlements.Command:
        after = self._state.after if isinstance(self._state, resettlements.Resettlement) else 0
        match event:
            case Opened():
                return Resettle(event.basis, event.incident, event.reason, event.proposed_by, event.proposal)
            case Advanced():
                names = [row.stream.removeprefix(WALLET) for row in players]
                bettors = tuple(Paid(name, self._paid[name]) for name in names)
                assert self._ended is not None
                return Advance(event.number, after, event.until, bettors, self._ended)
            case Completed():
                told = [row.event for row in self._compensated[event.number]]
                gained = sum(each.gain for each in told)
                owed = sum(each.after - each.before - each.gain for each in told)
                return Complete(event.number, after, len(told), gained, owed)


def paid(rows: Sequence[EventRow], ended: Ended | None) -> dict[str, tuple[Payout, ...]]:
    """How each wager of each player was paid when the round was settled."""
    held = {each.player: each.payouts for each in resettlements.paid_out(ended)} if ended else {}
    bets = {row.stream.removeprefix(WALLET): row.event.payouts for row in rows if row.type == "wallet.BetsSettled"}
    return held | bets


def _wallet_before(event: Resettled) -> Wallet:
    """What cash there was and what was owed, the event itself tells."""
    owed = event.owed - (event.after - event.before - event.gain)
    return Wallet("", cash=event.before, owed=owed)


def explained(rows: Sequence[EventRow], ended: Ended, seen: set[str] | None, *, why: bool) -> Iterator[str]:
    """In words: each resettlement and what it came to, of these players or of all (None). Raises Unexplained."""
    bases: dict[int, Any] = {}
    for row in rows:
        event = row.event if row.type in ("resettlement.Opened", TYPE) else None
        if isinstance(event, Opened):
            bases[event.number] = event.basis
            yield from resettlements.explains(event, ended, why=why)
        elif isinstance(event, Resettled) and event.number in bases:
            player = row.stream.removeprefix(WALLET)
            if seen is None or player in seen:
                yield from resettlements.explains_payouts(bases[event.number], ended, player, event.was, event.payouts)


class Afterwards:
    """What came to a round when it was over, beside its replay: whom it is shown to, what it proves, and in words."""

    def __init__(self, round_id: str, viewer: Viewer) -> None:
        self._round, self._viewer = round_id, viewer
        self._rows: list[EventRow] = []
        self._came = False

    def take(self, row: EventRow) -> None:
        """Of the play that alone is kept which tells how it was settled."""
        if not is_play(row):
            self._came = True
            self._rows.append(row)
        elif row.type == "wallet.BetsSettled" or row.type.endswith(_TELLING):
            self._rows.append(row)

    def sees(self, row: EventRow) -> bool:
        """A player sees what came to the own wallet, the studio nothing: the rest is between members of staff."""
        if row.stream.startswith(WALLET) and self._viewer.role is Role.PLAYER:
            return row.stream == WALLET + self._viewer.actor
        return self._viewer.role not in (Role.PLAYER, Role.STUDIO)

    def told(self, prove: Callable[[str, str, bool], None]) -> tuple[str, ...]:
        ended = ended_of(self._round, self._rows) if self._came else None
        if ended is None:
            return ()
        for row in self._rows:
            if row.type == TYPE:
                prove(
                    "every compensation is what its wagers gained", row.stream.removeprefix(WALLET), _adds_up(row.event)
                )
        again = resettled_again(self._round, self._rows)
        if again.commands:
            prove("every resettlement gives what its basis says", self._round, not again.found)
        if self._viewer.role is Role.STUDIO:
            return ()
        seen = {self._viewer.actor} if self._viewer.role is Role.PLAYER else None
        try:
            return tuple(explained(self._rows, ended, seen, why=seen is None))
        except Unexplained as fault:
            return (f"Contradicted: {fault}",)


_TELLING = (".RoundOpened", ".RoundResulted", ".RoundSettled", ".MatchOpened", ".MatchSettled")


def _adds_up(event: Resettled) -> bool:
    gain = sum(each.returned for each in event.payouts) - sum(each.returned for each in event.was)
    return gain == event.gain and event.after == max(0, event.before + gain) and event.owed >= 0

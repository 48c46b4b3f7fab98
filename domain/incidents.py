"""The stream `incident:<id>`: something went wrong at a table, from the report to how it was resolved (T26-T28).

A report about what is on pauses the table in the same breath. How it may be resolved depends on what it was and on how
far the round is: the table stands below. What changes the table is done by the table's own commands, in the same
breath; a round that is over is never edited: what corrects it takes a proposal (see `domain.proposals`).
"""

from enum import StrEnum
from typing import Any, assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from domain.errors import Rejected
from domain.game import NEVER, Ask, Context, Decision, Game, Micros, Role, Stage, Standing
from domain.names import INCIDENT, TABLE, Id, RoundId, table_of
from domain.texts import Text, Words

NOTES_MAX = 50


class Rule(StrEnum):
    UnknownIncident = "UnknownIncident"
    AnotherTable = "AnotherTable"
    IncidentOfAnotherRound = "IncidentOfAnotherRound"
    IncidentResolved = "IncidentResolved"
    ResolutionNotAllowed = "ResolutionNotAllowed"
    SecondPersonNeeded = "SecondPersonNeeded"
    ProposalNeeded = "ProposalNeeded"
    TooManyNotes = "TooManyNotes"


class IncidentKind(StrEnum):
    """What went wrong. `wrong_card`: another card is on record than lies on the table. `missing_card`: one cannot be
    read, or is gone. `dropped_card`: one left the table. `exposed_card`: one was seen before its time. `deck_count`:
    the deck has not its 52 cards. `late_bet`: a bet is said to have been in time, or not to have been."""

    MISDEAL = "misdeal"
    """Cards were dealt in another way than the rules say."""
    EXPOSED_CARD = "exposed_card"
    """A card was seen before its time."""
    WRONG_CARD = "wrong_card"
    """Another card is on record than lies on the table."""
    DUPLICATE_CARD = "duplicate_card"
    """The same card came twice."""
    MISSING_CARD = "missing_card"
    """A card cannot be read, or is gone."""
    DROPPED_CARD = "dropped_card"
    """A card left the table."""
    DECK_COUNT = "deck_count"
    """The deck has not its 52 cards."""
    STREAM_LOST = "stream_lost"
    """Players could not see the table."""
    LATE_BET = "late_bet"
    """A bet is said to have been in time, or not to have been."""
    WRONG_RESULT = "wrong_result"
    """Another result was announced or recorded than the cards give."""
    SYSTEM_FAULT = "system_fault"
    """Program, device or network failed."""
    OTHER = "other"


class Resolution(StrEnum):
    """What is done about it. While the round is on: `resume` it as it was, `rescan` its cards from the first, `void` it
    (or by `void_match` the match), and stakes go back. Once it is over: `correct` or `void`, by a resettlement, or it
    `stands`. `unfounded`: it was not so."""

    RESUME = "resume"
    """The round goes on as it was (T27)."""
    RESCAN = "rescan"
    """The round goes on, its cards scanned again from the first."""
    VOID = "void"
    """The round counts for nothing, and stakes go back (T28)."""
    VOID_MATCH = "void_match"
    """So does the match that the round is a hand of."""
    CORRECT = "correct"
    """The round that is over is settled by the cards that were on the table."""
    STANDS = "stands"
    """It was so, and what came of the round stays as it is."""
    UNFOUNDED = "unfounded"
    """It was not so, and the round goes on, or stays as it is."""


class IncidentPhase(StrEnum):
    """How far the incident's round is."""

    IDLE = "idle"
    """No round is on, and the incident is about none."""
    BETTING = "betting"
    """Bets are taken, or will be again: what was seen of the cards decides them."""
    PLAYING = "playing"
    """No bets any more, and no result; where players hold chips, until the end."""
    FINAL = "final"
    """The outcome is final, and money is on its way: nothing is corrected before it has arrived."""
    OVER = "over"
    """Settled, refunded or skipped."""
    HAND_OVER = "hand_over"
    """A hand of a match is over: no money is its own, and what is put right is the match, by an incident about it."""
    PAST = "past"
    """The incident is about no round, and the table has gone on."""


R = Resolution
_ON: dict[IncidentKind, str] = {
    IncidentKind.MISDEAL: "rescan void",
    IncidentKind.EXPOSED_CARD: "resume void",
    IncidentKind.WRONG_CARD: "rescan void",
    IncidentKind.DUPLICATE_CARD: "resume rescan void",
    IncidentKind.MISSING_CARD: "resume rescan void",
    IncidentKind.DROPPED_CARD: "resume rescan void",
    IncidentKind.DECK_COUNT: "void",
    IncidentKind.STREAM_LOST: "resume void",
    IncidentKind.LATE_BET: "resume void",
    IncidentKind.WRONG_RESULT: "resume rescan void",
    IncidentKind.SYSTEM_FAULT: "resume rescan void",
    IncidentKind.OTHER: "resume rescan void",
}
"""While the round is on. Where a wrong card is on record, or the deal was wrong, it cannot go on as it was."""
_OVER: dict[IncidentKind, str] = {
    IncidentKind.MISDEAL: "void stands",
    IncidentKind.EXPOSED_CARD: "void stands",
    IncidentKind.WRONG_CARD: "correct void stands",
    IncidentKind.DUPLICATE_CARD: "void stands",
    IncidentKind.MISSING_CARD: "correct void stands",
    IncidentKind.DROPPED_CARD: "correct void stands",
    IncidentKind.DECK_COUNT: "void stands",
    IncidentKind.STREAM_LOST: "stands",
    IncidentKind.LATE_BET: "stands",
    IncidentKind.WRONG_RESULT: "correct void stands",
    IncidentKind.SYSTEM_FAULT: "correct void stands",
    IncidentKind.OTHER: "correct void stands",
}
"""Once it is over. One bet that came late, or a picture that was gone, takes nothing from those who won."""

_ORDERS = {R.VOID: "CancelRound", R.VOID_MATCH: "CancelMatch", R.RESCAN: "RescanCards"}
"""What the table is told to do; a supervisor could. Whatever else, it is told to go on."""


def allowed(kind: IncidentKind, phase: IncidentPhase, game: Game[Any, Any, Any]) -> tuple[Resolution, ...]:
    """How an incident may be resolved at a table of this game."""
    known = {member.__name__ for member in game.commands[Role.SUPERVISOR].__args__}
    named = (each for each in _by_the_rules(kind, phase) if each is not R.CORRECT or Role.STUDIO in game.commands)
    return tuple(each for each in named if _ORDERS.get(each, "Resume") in known)


def _by_the_rules(kind: IncidentKind, phase: IncidentPhase) -> tuple[Resolution, ...]:
    match phase:
        case IncidentPhase.IDLE:
            return (R.RESUME, R.UNFOUNDED)
        case IncidentPhase.FINAL | IncidentPhase.PAST | IncidentPhase.HAND_OVER:
            return (R.STANDS, R.UNFOUNDED)
        case IncidentPhase.BETTING:  # nothing lies there to be scanned; a card that was seen decides bets to come
            not_yet = (R.RESCAN, R.RESUME) if kind is IncidentKind.EXPOSED_CARD else (R.RESCAN,)
            return tuple(each for each in _by_the_rules(kind, IncidentPhase.PLAYING) if each not in not_yet)
        case IncidentPhase.PLAYING:
            named = tuple(map(Resolution, _ON[kind].split()))
            return (*named, R.VOID_MATCH, R.UNFOUNDED)
        case IncidentPhase.OVER:
            return (*map(Resolution, _OVER[kind].split()), R.UNFOUNDED)


# --- Commands -----------------------------------------------------------------------------------------------------


class ReportIncident(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """`round`: which one it is about, if not what is on at the table. `video` says where it can be seen."""

    table: Id
    kind: IncidentKind
    words: Words
    round: RoundId | None = None
    video: Text = ""


class AddNote(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """What else is known of it."""

    words: Words
    video: Text = ""


class ResolveIncident(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    resolution: Resolution
    words: Words


class ResolveByProposal(Struct, frozen=True, tag=True):
    """What a proposal that was approved asks: what the resolution says is done in the same breath."""

    resolution: Resolution
    round: str
    words: str
    proposed_by: str
    proposal: str


Command = ReportIncident | AddNote | ResolveIncident | ResolveByProposal


# --- Events -------------------------------------------------------------------------------------------------------


class Reported(Struct, frozen=True, tag="incident.Reported"):
    """`round` is None for what happened while none was on."""

    table: str
    round: str | None
    kind: IncidentKind
    words: str
    video: str
    by: str


class Noted(Struct, frozen=True, tag="incident.Noted"):
    words: str
    video: str
    by: str


class Resolved(Struct, frozen=True, omit_defaults=True, tag="incident.Resolved"):
    """`by` wanted it; where it took a second person, that is the event's actor, who approved the `proposal`."""

    resolution: Resolution
    words: str
    by: str
    proposal: str = ""


Event = Reported | Noted | Resolved


# --- State --------------------------------------------------------------------------------------------------------


class Absent(Struct, frozen=True, tag="Absent"):
    """Not reported yet."""


class Incident(Struct, frozen=True, omit_defaults=True, tag="Incident"):
    table: str
    round: str | None
    kind: IncidentKind
    words: str
    video: str
    by: str
    notes: int = 0
    resolution: Resolution | None = None
    resolved_by: str = ""
    resolved_words: str = ""
    proposal: str = ""


State = Absent | Incident
INITIAL: State = Absent()


def decide(state: State, command: Command, context: Context) -> Decision:
    match state, command:
        case Absent(), ReportIncident():
            return _report(command, context)
        case Absent(), _:
            raise Rejected(Rule.UnknownIncident)
        case Incident(), ReportIncident():
            return Decision()
        case Incident(), AddNote():
            if state.notes >= NOTES_MAX:
                raise Rejected(Rule.TooManyNotes, limit=NOTES_MAX)
            return Decision((Noted(command.words, command.video, context.actor),))
        case Incident(resolution=Resolution() as resolution), _:
            raise Rejected(Rule.IncidentResolved, resolution=resolution)
        case Incident(), ResolveIncident():
            return _resolve(state, command, context)
        case Incident(), ResolveByProposal():
            return _resolve_by(state, command, context)
        case never:
            assert_never(never)


def _report(command: ReportIncident, context: Context) -> Decision:
    game, standing = _table(command.table, context)
    about = command.round or standing.round
    if about is not None and table_of(about) != command.table:
        raise Rejected(Rule.AnotherTable, table=table_of(about))
    reported = Reported(command.table, about, command.kind, command.words, command.video, context.actor)
    can_pause = not standing.paused and standing.stage in (Stage.IDLE, Stage.BETTING, Stage.PLAYING)
    if about != standing.round or not can_pause:
        return Decision((reported,))
    pause = _order(game, "Pause", reason=_told(command.kind, context))
    return Decision((reported,), asks=(Ask(TABLE + command.table, pause),))


def _resolve(incident: Incident, command: ResolveIncident, context: Context) -> Decision:
    game, standing = _table(incident.table, context)
    phase = phase_of(incident, game, standing)
    _check(incident, command.resolution, phase, game)
    asks: tuple[Ask, ...] = ()
    if phase in (IncidentPhase.IDLE, IncidentPhase.BETTING, IncidentPhase.PLAYING):
        asks = _asks(incident, command.resolution, game, standing, context)
    elif command.resolution in (R.CORRECT, R.VOID):
        raise Rejected(Rule.ProposalNeeded, round=incident.round or "")
    return Decision((Resolved(command.resolution, command.words, context.actor),), asks=asks)


def _resolve_by(incident: Incident, command: ResolveByProposal, context: Context) -> Decision:
    """That the round is over and settled is seen to by what corrects it."""
    if command.round != incident.round:
        raise Rejected(Rule.IncidentOfAnotherRound, round=incident.round or "")
    game, _ = _table(incident.table, context)
    _check(incident, command.resolution, IncidentPhase.OVER, game)
    return Decision((Resolved(command.resolution, command.words, command.proposed_by, command.proposal),))


def _check(incident: Incident, resolution: Resolution, phase: IncidentPhase, game: Game[Any, Any, Any]) -> None:
    may = allowed(incident.kind, phase, game)
    if resolution not in may:
        raise Rejected(Rule.ResolutionNotAllowed, kind=incident.kind, phase=phase, allowed=tuple(map(str, may)))


def _asks(
    incident: Incident, resolution: Resolution, game: Game[Any, Any, Any], standing: Standing, context: Context
) -> tuple[Ask, ...]:
    """What the table is told to do."""
    reason = _told(incident.kind, context)
    match resolution:
        case R.VOID | R.VOID_MATCH if incident.by == context.actor:
            raise Rejected(Rule.SecondPersonNeeded)
        case R.VOID | R.VOID_MATCH | R.RESCAN:
            order = _order(game, _ORDERS[resolution], reason=reason)
        case _ if not standing.paused:
            return ()
        case _:
            order = _order(game, "Resume")
    return (Ask(TABLE + incident.table, order),)


def phase_of(incident: Incident, game: Game[Any, Any, Any], standing: Standing) -> IncidentPhase:
    if incident.round == standing.round and standing.stage is not Stage.CLOSED:
        return IncidentPhase(standing.stage.value)
    if incident.round is None:
        return IncidentPhase.PAST
    is_hand = game.reveals_match is not None and not incident.round.rpartition(".")[2].startswith("m")
    return IncidentPhase.HAND_OVER if is_hand else IncidentPhase.OVER


def _table(table: str, context: Context) -> tuple[Game[Any, Any, Any], Standing]:
    game, state = context.at_table(table)
    return game, game.standing(state)


def _order(game: Game[Any, Any, Any], name: str, **fields: str) -> Any:
    """The supervisor's own command of this name."""
    return msgspec.convert({"type": name, **fields}, type=game.commands[Role.SUPERVISOR])


def _told(kind: IncidentKind, context: Context) -> str:
    """What everybody at the table is told."""
    return f"{kind.replace('_', ' ')} (incident {context.stream.removeprefix(INCIDENT)})"


def evolve(state: State, event: Event) -> State:
    if isinstance(event, Reported):
        return Incident(event.table, event.round, event.kind, event.words, event.video, event.by)
    assert isinstance(state, Incident), "an incident's first event is Reported"
    match event:
        case Noted():
            return replace(state, notes=state.notes + 1)
        case Resolved():
            return replace(
                state,
                resolution=event.resolution,
                resolved_by=event.by,
                resolved_words=event.words,
                proposal=event.proposal,
            )
        case never:
            assert_never(never)


def deadline(state: State) -> Micros | None:
    return NEVER if isinstance(state, Incident) and state.resolution is None else None


def round_of(state: State) -> str | None:
    """The round that it is about, if it is about one."""
    return state.round if isinstance(state, Incident) else None

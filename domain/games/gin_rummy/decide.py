"""May this command happen now, and what is then recorded: every rule of the table, one function a command.

Read `decide` first: the tables of contents for each role follow it. Seats are in `seating`, acts in the hand in
`acting`, what the cards allow in `turns`, turns that nobody plays in `absent`, how hand and match end in `ending`.
"""

from typing import assert_never

from msgspec import UNSET

from domain.errors import Rejected
from domain.game import LATE, Context, Decision, Micros, ResumeLog, TimeOut
from domain.games.gin_rummy import absent, acting, commands, deck, ending, events, seating
from domain.games.gin_rummy.evolve import evolve
from domain.games.gin_rummy.rules import LEAST_TIME_LEFT_MS, Because, LeftBecause, Rule, check
from domain.games.gin_rummy.state import (
    Acting,
    Between,
    Choice,
    Closed,
    Discarding,
    Drawing,
    Ending,
    LayingOff,
    NotOpened,
    Opened,
    Paused,
    RolesDrawn,
    Round,
    State,
    Table,
    phase,
    round_on,
)

NOTHING = Decision()

LOG_RESUMED = "the log was restored to an earlier state"
TABLE_CLOSED = "the table was closed"
PAUSED_TOO_LONG = "paused for too long"


def decide(state: State, command: commands.Command, context: Context) -> Decision:
    if isinstance(state, NotOpened):
        return _open_table(state, command, context)
    assert not isinstance(state, Ending | RolesDrawn), "these last no longer than a command"
    if isinstance(command, commands.Clock):
        return _clock(state, command, context)
    if isinstance(command, commands.Operator):
        return _operator(state, command, context)
    if isinstance(state, Closed):
        raise Rejected(Rule.TableNotOpen, phase=phase(state))
    if isinstance(command, commands.Supervisor):
        return _supervisor(state, command, context)
    if isinstance(state, Paused):
        return _while_paused(state, command, context)
    return _player(state, command, context)


def _clock(state: Between | Acting | Paused | Closed, command: commands.Clock, context: Context) -> Decision:
    """The clock's commands are once-only by state: what is done already gives nothing."""
    match state, command:
        case _, ResumeLog():
            return _resume_log(state, command, context)
        case Between(), TimeOut():
            return _between_hands(state, context)
        case Closed(), TimeOut():
            return NOTHING
        case _, TimeOut():
            return _time_out(state, context)
        case never:
            assert_never(never)


def _operator(state: Between | Acting | Paused | Closed, command: commands.Operator, context: Context) -> Decision:
    match command:
        case commands.ConfigureTable():
            return _configure(state, command, context)
        case commands.DrainTable() | commands.CloseTable():
            return _drain(state, context)
        case commands.ReopenTable():
            return _reopen(state, context)
        case commands.OpenTable():
            raise Rejected(Rule.TableExists, table=context.table)
        case never:
            assert_never(never)


def _supervisor(state: Between | Acting | Paused, command: commands.Supervisor, context: Context) -> Decision:
    match state, command:
        case Paused(), commands.Resume():
            return _resume(state, context)
        case _, commands.Resume():
            raise Rejected(Rule.NotPaused, phase=phase(state))
        case _, commands.Pause():
            return _pause(state, command.reason, context)
        case _, commands.CancelRound():
            return _cancel(state, command.reason, context)
        case _, commands.CancelMatch():
            return _cancel_match(state, command.reason, context)
        case _, commands.DrainTable():
            return _drain(state, context)
        case never:
            assert_never(never)


def _player(state: Between | Acting, command: commands.Player, context: Context) -> Decision:
    match command:
        case commands.SitDown():
            return seating.sit_down(state, command, context)
        case commands.LeaveTable():
            return seating.leave(state, context) if state.table.match is None else absent.left(state, context)
        case commands.GiveClientSeed():
            return _give_client_seed(state, command, context)
        case _:
            return _act(state, command, context)


def _act(state: Between | Acting, command: commands.Act, context: Context) -> Decision:
    """Whoever is in the hand that is on, plays; who sits out may advise."""
    if isinstance(state, Between):
        raise Rejected(Rule.NoRoundOn)
    if command.round not in {None, state.round.id}:
        raise Rejected(Rule.AnotherRound, round=state.round.id)
    seating.seat_of(state.table, context.actor)
    match command:
        case commands.AskAdvice():
            return acting.ask_advice(state, context.actor)
        case commands.SendAdvice():
            return acting.send_advice(state, command, context)
        case _ if state.round.of(context.actor) is None:
            raise Rejected(Rule.NotInHand, round=state.round.id)
        case _:
            return _play(state, command, context)


def _play(state: Acting, command: commands.Play, context: Context) -> Decision:
    """Whose turn it is, and what it has come to, decides what is open."""
    if isinstance(state, LayingOff):
        return _lay(state, command, context)
    if isinstance(command, commands.LayOff | commands.LayDown):
        raise Rejected(Rule.NoLayOffAwaited)
    if state.player != context.actor:
        raise Rejected(Rule.NotYourTurn, player=state.player)
    match state, command:
        case Choice(), commands.Decline():
            return Decision((acting.decline(state, Because.ASKED, context),))
        case _, commands.Decline():
            raise Rejected(Rule.NothingOffered)
        case Discarding(), commands.Draw():
            raise Rejected(Rule.AlreadyDrawn)
        case _, commands.Draw():
            return Decision((acting.draw(state, command.source, Because.ASKED),))
        case Discarding(), commands.Discard():
            return acting.discard(state, command, context)
        case Discarding(), commands.Knock():
            return acting.knock(state, command, context)
        case _:
            raise Rejected(Rule.DrawFirst)


def _lay(state: LayingOff, command: commands.Play, context: Context) -> Decision:
    if state.player != context.actor:
        raise Rejected(Rule.LayOffIsAwaited, player=state.player)
    match command:
        case commands.LayOff():
            return acting.lay_off(state, command, context)
        case commands.LayDown():
            return acting.lay_down(state, command, context)
        case _:
            raise Rejected(Rule.LayOffIsAwaited, player=state.player)


# --- The table's life ---------------------------------------------------------------------------------------------


def _open_table(state: NotOpened, command: commands.Command, context: Context) -> Decision:
    if not isinstance(command, commands.OpenTable):
        raise Rejected(Rule.TableNotOpen, phase=phase(state))
    check(command.config)
    return Decision((events.TableOpened(command.config, context.now),))


def _configure(state: Opened, command: commands.ConfigureTable, context: Context) -> Decision:
    """Who waits for a match paid the entry of another table, and gets it back."""
    table = state.table
    if command.config.currency != table.config.currency:
        raise Rejected(Rule.CurrencyStays, currency=table.config.currency)
    check(command.config)
    configured = events.TableConfigured(command.config, None)
    if table.match is not None or isinstance(state, Closed):
        return Decision((configured,))
    left, transfers = seating.freed(table.seats, LeftBecause.CONFIGURED, context)
    after = evolve(state, configured)
    assert isinstance(after, Between | Paused), "no match is on"
    first = seating.timed(state, configured, context)
    return Decision((first, *seating.all_timed(after, left, context)), transfers)


def _drain(state: Opened, context: Context) -> Decision:
    if isinstance(state, Closed):
        raise Rejected(Rule.TableNotOpen, phase=phase(state))
    if state.table.draining:
        raise Rejected(Rule.AlreadyDraining, phase=phase(state))
    return Decision((seating.timed(state, events.TableDraining(None), context),))


def _reopen(state: Opened, context: Context) -> Decision:
    if not state.table.draining:
        raise Rejected(Rule.NotDraining, phase=phase(state))
    return Decision((seating.timed(state, events.TableReopened(None), context),))


def _resume_log(state: Opened, command: ResumeLog, context: Context) -> Decision:
    """Players may have seen what followed in the lost tail, cards and points: none of it is played again."""
    table = state.table
    if command.epoch <= table.epoch:
        return NOTHING
    so_far: tuple[events.Event, ...] = (events.LogResumed(command.epoch),)
    was = state.was if isinstance(state, Paused) else state
    if table.next_seed is not None:
        dropped = events.SeedDropped(table.next_seed.round, table.next_seed.seed, LOG_RESUMED, None)
        so_far = (*so_far, seating.timed(state, dropped, context))
    if isinstance(was, Between | Acting) and table.match is not None:
        return ending.match_cancelled(was, LOG_RESUMED, context, so_far)
    return Decision(so_far)


# --- Between hands ------------------------------------------------------------------------------------------------


def _between_hands(state: Between, context: Context) -> Decision:
    """What the clock does between hands: close, publish a seed, or deal."""
    table = state.table
    if table.draining and table.match is None:
        return _close(table, context)
    if state.due is None or context.now < state.due:
        return NOTHING
    if table.next_seed is None:
        return Decision((seating.timed(state, deck.published(table, context), context),))
    if table.match is None and (blocked := tuple(seat for seat in table.seats if context.blocked(seat.player))):
        left, transfers = seating.freed(blocked, LeftBecause.BLOCKED, context)
        return Decision(seating.all_timed(state, left, context), transfers)
    return Decision(deck.opened(table, context, context.now + table.config.turn))


def _close(table: Table, context: Context) -> Decision:
    left, transfers = seating.freed(table.seats, LeftBecause.CLOSED, context)
    unused = table.next_seed
    dropped = (events.SeedDropped(unused.round, unused.seed, TABLE_CLOSED, None),) if unused else ()
    return Decision((*left, *dropped, events.TableClosed()), transfers)


def _give_client_seed(state: Between | Acting, command: commands.GiveClientSeed, context: Context) -> Decision:
    seating.seat_of(state.table, context.actor)
    coming = state.table.next_seed
    if coming is None:
        raise Rejected(Rule.NoSeedPublished, phase=phase(state))
    if command.round not in {None, coming.round}:
        raise Rejected(Rule.AnotherRound, round=coming.round)
    if any(given.player == context.actor for given in state.table.client_seeds):
        raise Rejected(Rule.OneClientSeed, round=coming.round)
    return Decision((events.ClientSeedGiven(coming.round, context.actor, command.seed),))


# --- The clock ----------------------------------------------------------------------------------------------------


def _time_out(state: Acting | Paused, context: Context) -> Decision:
    if state.due is None or context.now < state.due:
        return NOTHING
    waited_for = isinstance(state, Paused) or not acting.gone(state.table, state.player)
    if waited_for and context.now > state.due + LATE and not state.extended:
        on = round_on(state)
        return Decision((events.DeadlineExtended(on.id if on else None, context.now + _time_for(state)),))
    if isinstance(state, Paused):
        return _cancel_match(state, PAUSED_TOO_LONG, context)
    return absent.turn_over(state, context)


def _time_for(state: Acting | Paused) -> Micros:
    """Downtime is nobody's fault: whoever had time to act gets it once more."""
    config = state.table.config
    match state:
        case Choice() | Drawing() | Discarding():
            return config.turn
        case LayingOff():
            return config.laying_off
        case Paused():
            return config.pause_limit


# --- Pause, resume, cancel ----------------------------------------------------------------------------------------


def _while_paused(state: Paused, command: commands.Player, context: Context) -> Decision:
    """Who waits for a match may take the entry back, however long the pause is."""
    if isinstance(command, commands.LeaveTable) and state.table.match is None:
        return seating.leave(state, context)
    raise Rejected(Rule.TableIsPaused, reason=state.reason)


def _pause(state: Between | Acting | Paused, reason: str, context: Context) -> Decision:
    """A match does not wait for ever; a table without one may."""
    if isinstance(state, Paused):
        raise Rejected(Rule.TableIsPaused, reason=state.reason)
    limit = None if state.table.match is None else context.now + state.table.config.pause_limit
    if isinstance(state, Between):
        return Decision((events.RoundPaused(None, reason, 0, limit, by=context.person or UNSET),))
    left_ms = max(0, state.due - context.now) // 1_000
    by = UNSET if state.round.rules == 1 else context.person or UNSET
    return Decision((events.RoundPaused(state.round.id, reason, left_ms, limit, by=by),))


def _resume(state: Paused, context: Context) -> Decision:
    was = state.was
    if isinstance(was, Between):
        return Decision((events.RoundResumed(None, seating.next_due(state.table, None, context)),))
    if acting.gone(state.table, was.player):
        return Decision((events.RoundResumed(was.round.id, context.now),))
    faulted = state.due is None  # the clock was to blame: the time begins anew
    left = _time_for(was) if faulted else max(state.left_ms, LEAST_TIME_LEFT_MS) * 1_000
    return Decision((events.RoundResumed(was.round.id, context.now + left),))


def _cancel(state: Between | Acting | Paused, reason: str, context: Context) -> Decision:
    was = state.was if isinstance(state, Paused) else state
    if isinstance(was, Between):
        raise Rejected(Rule.NoRoundOn)
    return ending.cancelled(was, reason, context, paused_by=_first(state, was.round, context))


def _cancel_match(state: Between | Acting | Paused, reason: str, context: Context) -> Decision:
    was = state.was if isinstance(state, Paused) else state
    if state.table.match is None:
        raise Rejected(Rule.NoMatchOn)
    before = was.last if isinstance(was, Between) else was
    assert before is not None, "between the hands of a match there was one"
    return ending.match_cancelled(was, reason, context, paused_by=_first(state, before.round, context))


def _first(state: Between | Acting | Paused, on: Round, context: Context) -> str:
    """Whoever paused it, "" for the platform, was the first of the two whom it takes to void what has entries in it; a
    hand too, for it may decide the match. `on` is the hand that is on, or the last one. The clock needs nobody."""
    if not context.person:
        return ""
    paused_by = state.by if isinstance(state, Paused) else context.person
    if on.rules > 1 and paused_by == context.person and state.table.prize:
        raise Rejected(Rule.SecondPersonNeeded, round=on.id)
    return "" if paused_by == context.person else paused_by

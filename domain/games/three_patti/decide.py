"""May this command happen now, and what is then recorded: every rule of the table, one function a command.

Read `decide` first: the tables of contents for each role follow it. Seats are in `seating`, acts in the hand in
`acting`, prices in `betting`, how a hand ends in `ending`.
"""

from typing import assert_never

from msgspec import UNSET

from domain.errors import Rejected
from domain.game import LATE, Context, Decision, Micros, ResumeLog, TimeOut
from domain.games.three_patti import acting, betting, commands, deck, ending, events, seating
from domain.games.three_patti.evolve import evolve
from domain.games.three_patti.rules import LEAST_TIME_LEFT_MS, Because, EndedBy, LeftBecause, Rule, check
from domain.games.three_patti.state import (
    Acting,
    Answering,
    Between,
    Closed,
    Ending,
    InHand,
    NotOpened,
    Opened,
    Paused,
    Round,
    State,
    Table,
    Turn,
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
    assert not isinstance(state, Ending), "a hand that is over is settled in the same breath"
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


def _clock(state: Opened, command: commands.Clock, context: Context) -> Decision:
    """The clock's commands are once-only by state: what is done already gives nothing."""
    match state, command:
        case _, ResumeLog():
            return _resume_log(state, command, context)
        case Between(), TimeOut():
            return _between_hands(state, context)
        case Turn() | Answering() | Paused(), TimeOut():
            return _time_out(state, context)
        case _:
            return NOTHING


def _operator(state: Opened, command: commands.Operator, context: Context) -> Decision:
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
        case _, commands.DrainTable():
            return _drain(state, context)
        case never:
            assert_never(never)


def _player(state: Between | Acting, command: commands.Player, context: Context) -> Decision:
    match command:
        case commands.SitDown():
            return seating.sit_down(state, command, context)
        case commands.TopUp():
            return seating.top_up(state, command, context)
        case commands.SitOut():
            return seating.sit_out(state, context)
        case commands.SitIn():
            return seating.sit_in(state, context)
        case commands.LeaveTable():
            return _leave(state, context)
        case commands.GiveClientSeed():
            return _give_client_seed(state, command, context)
        case _:
            return _act(state, command, context)


def _act(state: Between | Acting, command: commands.Act, context: Context) -> Decision:
    """Whoever is in the hand that is on, acts; whose turn it is decides what is open."""
    if isinstance(state, Between):
        raise Rejected(Rule.NoRoundOn)
    if command.round not in {None, state.round.id}:
        raise Rejected(Rule.AnotherRound, round=state.round.id)
    me = _in_hand(state, context.actor)
    match state, command:
        case Answering(), commands.AnswerSideShow() if me.seat == state.target:
            return acting.answer(state, command, context)
        case Answering(), _:
            raise Rejected(Rule.AnswerIsAwaited, seat=state.target)
        case Turn(), commands.AnswerSideShow():
            raise Rejected(Rule.NoAnswerAwaited)
        case Turn(), commands.SeeCards():
            return acting.see_cards(state, me)
        case Turn(), _ if me.seat != state.seat:
            raise Rejected(Rule.NotYourTurn, seat=state.seat)
        case Turn(), _:
            return _on_turn(state, me, command, context)
        case never:
            assert_never(never)


def _on_turn(state: Turn, me: InHand, command: commands.Act, context: Context) -> Decision:
    match command:
        case commands.Bet():
            return acting.bet(state, me, command.amount, context)
        case commands.Fold():
            return acting.fold(state, me, Because.ASKED, context)
        case commands.Show():
            payments = betting.show(state.table, state.round, me)
            return ending.show(state, (), EndedBy.SHOW, context, asker=me.seat, payments=payments)
        case commands.ShortShow():
            all_in = betting.short_show(state.table, state.round, me)
            return ending.show(state, (), EndedBy.SHORT_SHOW, context, asker=me.seat, payments=(all_in,))
        case commands.SideShow():
            return acting.side_show(state, me, context)
        case commands.SeeCards() | commands.AnswerSideShow():
            raise AssertionError("decided before it is asked whose turn it is")
        case never:
            assert_never(never)


# --- The table's life ---------------------------------------------------------------------------------------------


def _open_table(state: NotOpened, command: commands.Command, context: Context) -> Decision:
    if not isinstance(command, commands.OpenTable):
        raise Rejected(Rule.TableNotOpen, phase=phase(state))
    check(command.config)
    return Decision((events.TableOpened(command.config, context.now),))


def _configure(state: Opened, command: commands.ConfigureTable, context: Context) -> Decision:
    currency = state.table.config.currency
    if command.config.currency != currency:
        raise Rejected(Rule.CurrencyStays, currency=currency)
    check(command.config)
    configured = events.TableConfigured(command.config, None)
    if round_on(state) is not None or isinstance(state, Closed):
        return Decision((configured,))
    after = evolve(state, configured)
    assert isinstance(after, Between | Paused), "no hand is on"
    out = seating.sat_out(after.table, context)
    first = seating.timed(state, configured, context)
    return Decision((first, *(seating.timed(after, event, context) for event in out)))


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
    """Players may have seen what followed in the lost tail, cards too: none of it is dealt again."""
    table = state.table
    if command.epoch <= table.epoch:
        return NOTHING
    resumed = events.LogResumed(command.epoch)
    was = state.was if isinstance(state, Paused) else state
    if isinstance(was, Acting):
        return ending.cancelled(was, LOG_RESUMED, context, (resumed,))
    if table.next_seed is None:
        return Decision((resumed,))
    dropped = events.SeedDropped(table.next_seed.round, table.next_seed.seed, LOG_RESUMED, None)
    return Decision((resumed, seating.timed(state, dropped, context)))


# --- Between hands ------------------------------------------------------------------------------------------------


def _between_hands(state: Between, context: Context) -> Decision:
    """What the clock does between hands: close, free a seat, publish a seed, or deal."""
    table = state.table
    if table.draining:
        return _close(table, context)
    if gone := seating.idle(table, context):
        left, transfers = seating.freed(gone, LeftBecause.IDLE, context)
        return Decision(tuple(seating.timed(state, event, context) for event in left), transfers)
    if state.due is None or context.now < state.due:
        return NOTHING
    if table.next_seed is None:
        return Decision((seating.timed(state, deck.published(table, context), context),))
    if blocked := seating.blocked(state, context):
        return Decision(blocked)
    return Decision((deck.opened(table, context),))


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


# --- Acts in the hand ---------------------------------------------------------------------------------------------


def _in_hand(state: Acting, player: str) -> InHand:
    me = state.round.of(player)
    if me is None:
        seating.seat_of(state.table, player)
        raise Rejected(Rule.NotInHand, round=state.round.id)
    if me.folded:
        raise Rejected(Rule.AlreadyFolded, round=state.round.id)
    return me


def _leave(state: Between | Acting, context: Context) -> Decision:
    seating.seat_of(state.table, context.actor)
    me = state.round.of(context.actor) if isinstance(state, Acting) else None
    if isinstance(state, Between) or me is None:
        return seating.leave(state, context)
    return acting.leave(state, me, context)


# --- The clock ----------------------------------------------------------------------------------------------------


def _time_out(state: Acting | Paused, context: Context) -> Decision:
    if state.due is None or context.now < state.due:
        return NOTHING
    on = round_on(state)
    if on is None:
        return NOTHING
    if context.now > state.due + LATE and not state.extended:
        return Decision((events.DeadlineExtended(on.id, context.now + _time_for(state)),))
    match state:
        case Turn():
            return _turn_over(state, context)
        case Answering():
            return Decision(acting.refused(state, Because.TIMED_OUT, context))
        case Paused():
            return _cancel(state, PAUSED_TOO_LONG, context)


def _time_for(state: Acting | Paused) -> Micros:
    """Downtime is nobody's fault: whoever had time to act gets it once more."""
    config = state.table.config
    match state:
        case Turn():
            return config.turn
        case Answering():
            return config.answer
        case Paused():
            return config.pause_limit


def _turn_over(state: Turn, context: Context) -> Decision:
    """The time bank, once a hand; then the fold (D16)."""
    on, config = state.round, state.table.config
    me = on.at(state.seat)
    assert me is not None, "whose turn it is, is in the hand"
    if config.time_bank and not me.banked:
        return Decision((events.TimeBankStarted(on.id, me.seat, context.now + config.time_bank),))
    return acting.fold(state, me, Because.TIMED_OUT, context)


# --- Pause, resume, cancel ----------------------------------------------------------------------------------------


def _while_paused(state: Paused, command: commands.Player, context: Context) -> Decision:
    """Whose chips are in no hand may take them away, however long the pause is."""
    on = round_on(state)
    if isinstance(command, commands.LeaveTable) and (on is None or on.of(context.actor) is None):
        return seating.leave(state, context)
    raise Rejected(Rule.TableIsPaused, reason=state.reason)


def _pause(state: Between | Acting | Paused, reason: str, context: Context) -> Decision:
    match state:
        case Paused():
            raise Rejected(Rule.TableIsPaused, reason=state.reason)
        case Between():
            return Decision((events.RoundPaused(None, reason, 0, None, by=context.person or UNSET),))
        case Turn() | Answering():
            left_ms = max(0, state.due - context.now) // 1_000
            limit = context.now + state.table.config.pause_limit
            by = UNSET if state.round.rules == 1 else context.person or UNSET
            return Decision((events.RoundPaused(state.round.id, reason, left_ms, limit, by=by),))


def _resume(state: Paused, context: Context) -> Decision:
    if isinstance(state.was, Between):
        return Decision((events.RoundResumed(None, seating.next_due(state.table, None, context)),))
    faulted = state.due is None  # the clock was to blame: the time begins anew
    left = _time_for(state.was) if faulted else max(state.left_ms, LEAST_TIME_LEFT_MS) * 1_000
    return Decision((events.RoundResumed(state.was.round.id, context.now + left),))


def _cancel(state: Between | Acting | Paused, reason: str, context: Context) -> Decision:
    was = state.was if isinstance(state, Paused) else state
    if isinstance(was, Between):
        raise Rejected(Rule.NoRoundOn)
    _check_second(state, was.round, context)
    first = state.by if isinstance(state, Paused) and context.person else ""
    return ending.cancelled(was, reason, context, paused_by=first)


def _check_second(state: Between | Acting | Paused, on: Round, context: Context) -> None:
    """Whoever paused it was the first; what the clock does needs nobody. Each hand has boots in its pot."""
    if on.rules == 1 or not context.person or (isinstance(state, Paused) and state.by != context.person):
        return
    raise Rejected(Rule.SecondPersonNeeded, round=on.id)

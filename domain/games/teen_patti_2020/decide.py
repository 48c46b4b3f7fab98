"""May this command happen now, and what is then recorded: every rule of the table, one function a command.

Read `decide` first: the tables of contents for each role follow it. Pause, resume and cancel are in `pausing`.
"""

from typing import assert_never

from domain.errors import Rejected
from domain.game import LATE, ConcludeRound, Context, Decision, ResumeLog, TimeOut
from domain.games.teen_patti_2020 import commands, deck, events, pausing, scans
from domain.games.teen_patti_2020.pays import showdown
from domain.games.teen_patti_2020.rules import (
    CLIENT_SEEDS_MAX,
    SLOTS,
    Kind,
    Rule,
    WhenEmpty,
    check,
    within_limits,
)
from domain.games.teen_patti_2020.state import (
    Betting,
    Between,
    Closed,
    Confirming,
    Dealing,
    InRound,
    NotOpened,
    Opened,
    Paused,
    Refunding,
    Settling,
    State,
    Table,
    dealt,
    phase,
)
from domain.money import Bet, Stake, Unstake, Wager

NOTHING = Decision()

LOG_RESUMED = "the log was restored to an earlier state"
TABLE_CLOSED = "the table was closed"
STUDIO_SILENT = "no word from the studio in time"
PAUSED_TOO_LONG = "paused for too long"


def decide(state: State, command: commands.Command, context: Context) -> Decision:
    if isinstance(state, NotOpened):
        return _open_table(state, command, context)
    if isinstance(command, commands.Clock):
        return _clock(state, command, context)
    if isinstance(command, commands.Operator):
        return _operator(state, command, context)
    if isinstance(state, Closed):
        raise Rejected(Rule.TableNotOpen, phase=phase(state))
    if isinstance(command, commands.Supervisor):
        return _supervisor(state, command, context)
    if isinstance(state, Paused):
        raise Rejected(Rule.TableIsPaused, reason=state.reason)
    if isinstance(command, commands.Studio):
        return _studio(state, command, context)
    return _player(state, command, context)


def _clock(state: Opened, command: commands.Clock, context: Context) -> Decision:
    """The clock's commands are once-only by state: what is done already gives nothing."""
    match state, command:
        case _, ResumeLog():
            return _resume_log(state, command, context)
        case Settling() | Refunding(), ConcludeRound():
            return _conclude(state, command, context)
        case Between() | Betting() | Dealing() | Confirming() | Paused(), TimeOut():
            return _time_out(state, context)
        case _:
            return NOTHING


def _operator(state: Opened, command: commands.Operator, context: Context) -> Decision:
    match command:
        case commands.ConfigureTable():
            return _configure(state, command)
        case commands.DrainTable() | commands.CloseTable():
            return _drain(state, context)
        case commands.ReopenTable():
            return _reopen(state, context)
        case commands.OpenTable():
            raise Rejected(Rule.TableExists, table=context.table)
        case never:
            assert_never(never)


def _supervisor(state: Opened, command: commands.Supervisor, context: Context) -> Decision:
    match state, command:
        case Paused(), commands.Resume():
            return pausing.resume(state, context)
        case _, commands.Resume():
            raise Rejected(Rule.NotPaused, phase=phase(state))
        case _, commands.Pause():
            return pausing.pause(state, command.reason, context)
        case _, commands.RescanCards():
            return scans.rescan(state, command, context)
        case _, commands.CancelRound():
            return pausing.cancel(state, command.reason, context)
        case _, commands.DrainTable():
            return _drain(state, context)
        case never:
            assert_never(never)


def _studio(state: Between | InRound, command: commands.Studio, context: Context) -> Decision:
    match state, command:
        case _, commands.ReportFault():
            return pausing.pause(state, command.reason, context)
        case _, _ if state.table.config.kind is Kind.RNG:
            raise Rejected(Rule.DealsByItself)
        case Between(), _:
            raise Rejected(Rule.NoRoundOn, opens_at=state.due)
        case _, _ if command.round not in {None, state.round.id}:
            raise Rejected(Rule.AnotherRound, round=state.round.id)
        case Settling() | Refunding(), _:
            raise Rejected(Rule.RoundIsFinal, round=state.round.id)
        case _, commands.DealCard():
            return scans.deal_card(state, command, context)
        case Confirming(), commands.ConfirmResult():
            return _confirm_result(state, command, context)
        case _, commands.ConfirmResult():
            raise Rejected(Rule.CardsAreMissing, dealt=len(dealt(state)), needed=len(SLOTS))


def _player(state: Between | InRound, command: commands.Player, context: Context) -> Decision:
    match state, command:
        case _, commands.GiveClientSeed():
            return _give_client_seed(state, command, context)
        case Between(), _:
            raise Rejected(Rule.NoRoundOn, opens_at=state.due)
        case Betting(), commands.PlaceBet():
            return _place_bet(state, command, context)
        case Betting(), commands.CancelBet():
            return _cancel_bet(state, command, context)
        case _:
            raise Rejected(Rule.BettingIsClosed, round=state.round.id, phase=phase(state))


# --- The table's life ---------------------------------------------------------------------------------------------


def _open_table(state: NotOpened, command: commands.Command, context: Context) -> Decision:
    if not isinstance(command, commands.OpenTable):
        raise Rejected(Rule.TableNotOpen, phase=phase(state))
    check(command.config)
    return Decision((events.TableOpened(command.config, deck.next_due(Table(command.config), context)),))


def _configure(state: Opened, command: commands.ConfigureTable) -> Decision:
    config = state.table.config
    if (command.config.kind, command.config.currency) != (config.kind, config.currency):
        raise Rejected(Rule.KindAndCurrencyStay, kind=config.kind, currency=config.currency)
    check(command.config)
    return Decision((events.TableConfigured(command.config),))


def _drain(state: Opened, context: Context) -> Decision:
    if isinstance(state, Closed):
        raise Rejected(Rule.TableNotOpen, phase=phase(state))
    if state.table.draining:
        raise Rejected(Rule.AlreadyDraining, phase=phase(state))
    return Decision((events.TableDraining(context.now if isinstance(state, Between) else None),))


def _reopen(state: Opened, context: Context) -> Decision:
    if not state.table.draining:
        raise Rejected(Rule.NotDraining, phase=phase(state))
    due = deck.next_due(state.table, context) if isinstance(state, Between | Closed) else None
    return Decision((events.TableReopened(due),))


def _resume_log(state: Opened, command: ResumeLog, context: Context) -> Decision:
    """Players may have seen what followed in the lost tail, cards and seeds: none of it is dealt again."""
    table = state.table
    if command.epoch <= table.epoch:
        return NOTHING
    resumed: tuple[events.Event, ...] = (events.LogResumed(command.epoch),)
    was = state.was if isinstance(state, Paused) else state
    if isinstance(was, Betting | Dealing | Confirming):
        return Decision((*resumed, events.RoundCancelled(was.round.id, LOG_RESUMED, context.now)))
    if table.next_seed is None:
        return Decision(resumed)
    disclosed = deck.disclosed(table.next_seed, LOG_RESUMED, context)
    return Decision((*resumed, disclosed, *(() if table.draining else (deck.published(table, context),))))


# --- Between rounds -----------------------------------------------------------------------------------------------


def _between_rounds(table: Table, context: Context) -> Decision:
    """What the clock does between rounds: close, publish a seed, or open the next round."""
    if table.draining:
        unused = (deck.disclosed(table.next_seed, TABLE_CLOSED, context),) if table.next_seed else ()
        return Decision((*unused, events.TableClosed()))
    if table.config.kind is Kind.RNG and table.next_seed is None:
        return Decision((deck.published(table, context),))
    return Decision((deck.opened(table, context),))


def _give_client_seed(state: Between | InRound, command: commands.GiveClientSeed, context: Context) -> Decision:
    if not isinstance(state, Between) or state.table.next_seed is None:
        raise Rejected(Rule.NoSeedPublished, phase=phase(state))
    coming, given = state.table.next_seed.round, state.table.client_seeds
    if command.round not in {None, coming}:
        raise Rejected(Rule.AnotherRound, round=coming)
    if any(seed.player == context.actor for seed in given):
        raise Rejected(Rule.OneClientSeed, round=coming)
    if len(given) >= CLIENT_SEEDS_MAX:
        raise Rejected(Rule.ClientSeedsFull, limit=CLIENT_SEEDS_MAX)
    return Decision((events.ClientSeedGiven(coming, context.actor, command.seed),))


# --- Bets: no event of the table, only money asked of the player's wallet -----------------------------------------


def _place_bet(state: Betting, command: commands.PlaceBet, context: Context) -> Decision:
    if command.round != state.round.id:
        raise Rejected(Rule.AnotherRound, round=state.round.id)
    _before_close(state, context)
    config, wagers = state.table.config, tuple(Wager(each.spot, each.amount) for each in command.wagers)
    within_limits(config, wagers, context.stakes)
    bet = Bet(context.key, state.round.id, wagers)
    return Decision(transfers=(Stake(context.actor, config.currency, bet),))


def _before_close(state: Betting, context: Context) -> None:
    """The time decides, whether or not the clock's own TimeOut has come."""
    if context.now >= state.due:
        raise Rejected(Rule.BettingIsClosed, round=state.round.id, closes_at=state.due)


def _cancel_bet(state: Betting, command: commands.CancelBet, context: Context) -> Decision:
    _before_close(state, context)
    if any(bet.id == command.bet for bet in context.stakes):
        return Decision(transfers=(Unstake(context.actor, state.round.id, command.bet),))
    if context.decided(context.actor, command.bet):
        raise Rejected(Rule.BetNotOpen, bet=command.bet, round=state.round.id)
    return Decision(fences=(command.bet,))  # the bet may still be on its way: then it is refused when it comes


# --- The clock ----------------------------------------------------------------------------------------------------


def _time_out(state: Between | Betting | Dealing | Confirming | Paused, context: Context) -> Decision:
    if state.due is None or context.now < state.due:
        return NOTHING
    if context.now > state.due + LATE and (extended := _extended(state, context)):
        return Decision((extended,))
    match state:
        case Between():
            return _between_rounds(state.table, context)
        case Betting():
            return _close_betting(state, context)
        case Dealing() if state.table.config.kind is Kind.RNG:
            return Decision(deck.deal(state.table.config, state.round, state.cards, context))
        case Dealing() | Confirming():
            return pausing.pause(state, STUDIO_SILENT, context)
        case Paused():
            return pausing.cancel(state, PAUSED_TOO_LONG, context)


def _extended(
    state: Between | Betting | Dealing | Confirming | Paused, context: Context
) -> events.DeadlineExtended | None:
    """Downtime is nobody's fault: whoever had time to act gets it once more. The clock's own work needs none.

    Betting at a live table is never extended: the dealer may have shown a card on camera.
    """
    config = state.table.config
    match state:
        case Betting(extended=False, round=on) if config.kind is Kind.RNG:
            return events.DeadlineExtended(on.id, context.now + config.betting)
        case Dealing(extended=False, round=on) | Confirming(extended=False, round=on) if config.kind is Kind.LIVE:
            return events.DeadlineExtended(on.id, context.now + config.card)
        case Paused(extended=False, was=Betting(round=on) | Dealing(round=on) | Confirming(round=on)):
            return events.DeadlineExtended(on.id, context.now + config.pause_limit)
        case _:
            return None


def _close_betting(state: Betting, context: Context) -> Decision:
    config = state.table.config
    if config.when_empty is WhenEmpty.SKIP and context.totals.bettors == 0:
        seed, next_seed = deck.revealed(state.round, context), deck.following(state.table, context)
        skipped = events.RoundSkipped(state.round.id, seed, next_seed, context.now + config.pause)
        return Decision((skipped, *_closing(state.table)))
    closed = events.BettingClosed(state.round.id, context.now + config.card)
    if config.kind is Kind.RNG and config.card == 0:
        return Decision((closed, *deck.deal(config, state.round, (), context)))
    return Decision((closed,))


def _conclude(state: Settling | Refunding, command: ConcludeRound, context: Context) -> Decision:
    if command.round != state.round.id:
        return NOTHING
    totals = context.totals
    if totals.open:
        raise Rejected(Rule.StakesAreOpen, round=state.round.id, open=totals.open)
    concluded = events.RoundSettled if isinstance(state, Settling) else events.RoundRefunded
    event = concluded(
        round=state.round.id,
        bettors=totals.bettors,
        staked=totals.staked,
        returned=totals.returned,
        seed=deck.revealed(state.round, context),
        next_seed=deck.following(state.table, context),
        due=context.now + state.table.config.pause,
    )
    return Decision((event, *_closing(state.table)))


def _closing(table: Table) -> tuple[events.TableClosed, ...]:
    return (events.TableClosed(),) if table.draining else ()


# --- The studio's word --------------------------------------------------------------------------------------------


def _confirm_result(state: Confirming, command: commands.ConfirmResult, context: Context) -> Decision:
    result = showdown(state.cards)
    if command.winner != result.winner:
        return pausing.pause(state, f"the studio says {command.winner}, the cards say {result.winner}", context)
    return Decision((events.RoundResulted(state.round.id, result, context.now),))

"""The wallet after an event. No rule stands here: what is recorded has happened."""

from typing import assert_never

from msgspec.structs import replace

from domain.wallet import events
from domain.wallet.state import Absent, State, Wallet


def evolve(state: State, event: events.Event) -> State:
    if isinstance(event, events.Opened):
        return Wallet(event.currency)
    assert isinstance(state, Wallet), "a wallet's first event is Opened"
    match event:
        case events.BetStaked():
            stakes = state.open_stakes + event.amount
            return replace(state, cash=event.after, bets=(*state.bets, event.bet), open_stakes=stakes)
        case events.BetCancelled():
            kept = tuple(bet for bet in state.bets if (bet.round, bet.id) != (event.round, event.bet))
            return replace(state, cash=event.after, bets=kept, open_stakes=state.open_stakes - event.amount)
        case events.BetsSettled(staked=staked) | events.Refunded(amount=staked):
            kept = tuple(bet for bet in state.bets if bet.round != event.round)
            return replace(state, cash=event.after, bets=kept, open_stakes=state.open_stakes - staked)
        case events.Deposited() | events.Withdrawn() | events.Adjusted() | events.BoughtIn() | events.CashedOut():
            return replace(state, cash=event.after)
        case events.Resettled() | events.OwedTaken():
            return replace(state, cash=event.after, owed=event.owed)
        case events.WrittenOff():
            return replace(state, owed=event.owed)
        case events.Blocked():
            return replace(state, blocked=True)
        case events.Unblocked():
            return replace(state, blocked=False)
        case never:
            assert_never(never)


INITIAL: State = Absent()

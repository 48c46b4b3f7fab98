"""May this change of a wallet happen, and what is then recorded. Every event carries the cash before and after.

`settle`, `refund` and `cash_out` are total: no state of an open wallet refuses money that is the player's. What the
player owes the house is taken from whatever comes, in the same breath.
"""

from typing import assert_never

from domain.errors import Rejected
from domain.money import AMOUNT_MAX, Amount, BuyIn, CashOut, Refund, Settle, Stake, Transfer, Unstake
from domain.wallet import commands, events
from domain.wallet.rules import OPEN_WAGERS_MAX, Rule
from domain.wallet.state import Absent, State, Wallet

Events = tuple[events.Event, ...]


def decide(state: State, asked: commands.Asked) -> Events:
    """The events that `asked` gives; none if it has nothing left to do. Raises Rejected."""
    if isinstance(state, Absent):
        if isinstance(asked, commands.OpenWallet):
            return (events.Opened(asked.currency),)
        raise Rejected(Rule.UnknownPlayer)
    happened = _transfer(state, asked) if isinstance(asked, Transfer) else _operator(state, asked)
    return _collected(state.owed, happened) if state.owed else happened


def _collected(owed: Amount, happened: Events) -> Events:
    """What came, and what is taken of it. There was no cash, for it is taken until nothing is owed any more."""
    for event in happened:
        cash = getattr(event, "after", 0)
        if cash > 0:
            taken = min(cash, owed)
            return (*happened, events.OwedTaken(taken, owed - taken, cash, cash - taken))
    return happened


def _transfer(wallet: Wallet, transfer: Transfer) -> Events:
    match transfer:
        case Stake():
            return _stake(wallet, transfer)
        case Settle():
            return _settle(wallet, transfer)
        case Refund():
            return _refund(wallet, transfer)
        case Unstake():
            return _unstake(wallet, transfer)
        case BuyIn():
            return _buy_in(wallet, transfer)
        case CashOut():
            return _cash_out(wallet, transfer)
        case never:
            assert_never(never)


def _operator(wallet: Wallet, command: commands.Command) -> Events:
    match command:
        case commands.Deposit():
            return _deposit(wallet, command)
        case commands.Withdraw():
            return _withdraw(wallet, command)
        case commands.Adjust():
            return _adjust(wallet, command)
        case commands.Block():
            return () if wallet.blocked else (events.Blocked(command.reason),)
        case commands.Unblock():
            return (events.Unblocked(command.reason),) if wallet.blocked else ()
        case commands.Compensate():
            return _compensate(wallet, command)
        case commands.WriteOff():
            return _write_off(wallet, command)
        case commands.OpenWallet():
            return _open_again(wallet, command)
        case never:
            assert_never(never)


def _open_again(wallet: Wallet, command: commands.OpenWallet) -> Events:
    if wallet.currency != command.currency:
        raise Rejected(Rule.PlayerExists, currency=wallet.currency)
    return ()


def _stake(wallet: Wallet, stake: Stake) -> Events:
    amount = stake.bet.amount
    _may_stake(wallet, amount, stake.currency)
    if sum(len(bet.wagers) for bet in wallet.bets) + len(stake.bet.wagers) > OPEN_WAGERS_MAX:
        raise Rejected(Rule.TooManyOpenBets, limit=OPEN_WAGERS_MAX)
    return (events.BetStaked(stake.bet, amount, wallet.cash, wallet.cash - amount),)


def _unstake(wallet: Wallet, unstake: Unstake) -> Events:
    amount = sum(bet.amount for bet in wallet.open_in(unstake.round) if bet.id == unstake.bet)
    if not amount:
        return ()
    return (events.BetCancelled(unstake.bet, unstake.round, amount, wallet.cash, wallet.cash + amount),)


def _settle(wallet: Wallet, settle: Settle) -> Events:
    staked = sum(bet.amount for bet in wallet.open_in(settle.round))
    if not staked:
        return ()
    if staked != sum(payout.staked for payout in settle.payouts):
        raise ValueError(f"the payouts of {settle.round} do not cover the open stakes")
    returned = sum(payout.returned for payout in settle.payouts)
    after = wallet.cash + returned
    return (events.BetsSettled(settle.round, staked, returned, settle.payouts, wallet.cash, after),)


def _refund(wallet: Wallet, refund: Refund) -> Events:
    amount = sum(bet.amount for bet in wallet.open_in(refund.round))
    if not amount:
        return ()
    return (events.Refunded(refund.round, amount, refund.reason, wallet.cash, wallet.cash + amount),)


def _buy_in(wallet: Wallet, buy_in: BuyIn) -> Events:
    _may_stake(wallet, buy_in.amount, buy_in.currency)
    return (events.BoughtIn(buy_in.table, buy_in.amount, wallet.cash, wallet.cash - buy_in.amount),)


def _cash_out(wallet: Wallet, cash_out: CashOut) -> Events:
    if not cash_out.amount:
        return ()
    return (events.CashedOut(cash_out.table, cash_out.amount, wallet.cash, wallet.cash + cash_out.amount),)


def _deposit(wallet: Wallet, command: commands.Deposit) -> Events:
    _same_currency(wallet, command.currency)
    after = _fitting(wallet.cash + command.amount)
    return (events.Deposited(command.amount, command.reference, wallet.cash, after),)


def _withdraw(wallet: Wallet, command: commands.Withdraw) -> Events:
    _same_currency(wallet, command.currency)
    _has(wallet, command.amount)
    return (events.Withdrawn(command.amount, command.reference, wallet.cash, wallet.cash - command.amount),)


def _adjust(wallet: Wallet, command: commands.Adjust) -> Events:
    _same_currency(wallet, command.currency)
    _has(wallet, -command.amount)
    if not command.amount:
        return ()
    after = _fitting(wallet.cash + command.amount)
    why = (command.code, command.proposed_by, command.proposal)
    return (events.Adjusted(command.amount, command.reason, wallet.cash, after, *why),)


def _compensate(wallet: Wallet, command: commands.Compensate) -> Events:
    wagers = [[(each.bet, each.spot, each.staked) for each in payouts] for payouts in (command.was, command.payouts)]
    if wagers[0] != wagers[1]:
        raise ValueError(f"the payouts of {command.round} are of other wagers than were settled")
    gain = sum(each.returned for each in command.payouts) - sum(each.returned for each in command.was)
    after = max(0, wallet.cash + gain)
    owed = wallet.owed + after - wallet.cash - gain
    told = (command.round, command.number, command.was, command.payouts)
    return (events.Resettled(*told, gain, owed, wallet.cash, after),)


def _write_off(wallet: Wallet, command: commands.WriteOff) -> Events:
    _same_currency(wallet, command.currency)
    if command.amount > wallet.owed:
        raise Rejected(Rule.MoreThanOwed, owed=wallet.owed, asked=command.amount)
    why = (command.reason, command.proposed_by, command.proposal)
    return (events.WrittenOff(command.amount, wallet.owed - command.amount, *why),)


def _may_stake(wallet: Wallet, amount: Amount, currency: str) -> None:
    _same_currency(wallet, currency)
    if wallet.blocked:
        raise Rejected(Rule.PlayerBlocked)
    _has(wallet, amount)


def _same_currency(wallet: Wallet, currency: str) -> None:
    if wallet.currency != currency:
        raise Rejected(Rule.WrongCurrency, wallet=wallet.currency, asked=currency)


def _has(wallet: Wallet, amount: Amount) -> None:
    if amount > wallet.cash:
        raise Rejected(Rule.InsufficientFunds, balance=wallet.cash, needed=amount)


def _fitting(cash: Amount) -> Amount:
    if cash > AMOUNT_MAX:
        raise Rejected(Rule.BalanceTooLarge, limit=AMOUNT_MAX)
    return cash

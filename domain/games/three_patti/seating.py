"""Who sits at the table and with how many chips: sitting down, topping up, sitting out, leaving; and when the table
has its next work, now that these are the players.
"""

from msgspec.structs import replace

from domain.errors import Rejected
from domain.game import Context, Decision, Micros
from domain.games.three_patti import commands, events
from domain.games.three_patti.betting import Range
from domain.games.three_patti.events import Seat
from domain.games.three_patti.evolve import evolve
from domain.games.three_patti.rules import (
    RETURN_WITHIN,
    SEATS_MIN,
    TIME_OUTS_MAX,
    Config,
    LeftBecause,
    OutBecause,
    Rule,
)
from domain.games.three_patti.state import Acting, Between, Opened, State, Table, round_on
from domain.money import Amount, BuyIn, CashOut, Transfer

Sat = Between | Acting


def seat_of(table: Table, player: str) -> Seat:
    """The player's seat, if there is one that is not given up already."""
    seat = table.seat_of(player)
    if seat is None:
        raise Rejected(Rule.NotSeated)
    if seat.leaving:
        raise Rejected(Rule.AlreadyLeaving, seat=seat.number)
    return seat


# --- Sitting down and topping up --------------------------------------------------------------------------------------


def free_seats(table: Table, player: str) -> tuple[int, ...]:
    """Where the player could sit down."""
    if table.draining:
        raise Rejected(Rule.TableIsDraining)
    mine = table.seat_of(player)
    if mine is not None:
        raise Rejected(Rule.AlreadySeated, seat=mine.number)
    taken = {seat.number for seat in table.seats}
    free = tuple(number for number in range(1, table.config.seats + 1) if number not in taken)
    if not free:
        raise Rejected(Rule.TableIsFull, seats=table.config.seats)
    return free


def took_away(table: Table, player: str) -> tuple[Amount, Micros] | None:
    """What the player left with, and until when it binds who comes back."""
    left = next((each for each in table.left if each.player == player), None)
    return (left.amount, left.at + RETURN_WITHIN) if left else None


def buy_ins(config: Config, back: Amount = 0) -> Range:
    """What one may sit down with; who comes back soon, with no less than was taken away."""
    chip = config.chip
    least = max(config.least_buy_in, -(-back // chip) * chip)
    return Range(least, max(config.most_buy_in, least), chip)


def top_ups(config: Config, stack: Amount) -> Range:
    """Up to the greatest buy-in, and never to less than the least."""
    chip = config.chip
    most = (config.most_buy_in - stack) // chip * chip
    least = max(chip, -(-(config.least_buy_in - stack) // chip) * chip)
    if most < least:
        raise Rejected(Rule.BuyInOutOfRange, stack=stack, most=config.most_buy_in)
    return Range(least, most, chip)


def sit_down(state: Sat, command: commands.SitDown, context: Context) -> Decision:
    table = state.table
    free = free_seats(table, context.actor)
    seat = command.seat or free[0]
    if seat > table.config.seats:
        raise Rejected(Rule.NoSuchSeat, seats=table.config.seats)
    if seat not in free:
        raise Rejected(Rule.SeatIsTaken, seat=seat, free=free)
    back = took_away(table, context.actor)
    _in_range(buy_ins(table.config, back[0] if back and context.now < back[1] else 0), command.amount)
    taken = events.SeatTaken(seat, context.actor, command.amount, None)
    return Decision((timed(state, taken, context),), (_buy_in(table, command.amount, context),))


def top_up(state: Sat, command: commands.TopUp, context: Context) -> Decision:
    table = state.table
    seat = seat_of(table, context.actor)
    between_hands(state, context.actor)
    _in_range(top_ups(table.config, seat.stack), command.amount)
    event = events.ToppedUp(seat.number, seat.player, command.amount)
    return Decision((event,), (_buy_in(table, command.amount, context),))


def between_hands(state: Sat, player: str) -> None:
    """Whoever is not dealt in is between hands, whatever the others do."""
    on = round_on(state)
    if on is not None and on.of(player) is not None:
        raise Rejected(Rule.HandIsOn, round=on.id)


def _in_range(amounts: Range, amount: Amount) -> None:
    if not amounts.min <= amount <= amounts.max:
        raise Rejected(Rule.BuyInOutOfRange, least=amounts.min, most=amounts.max, amount=amount)
    if amount % amounts.step:
        raise Rejected(Rule.OffChipUnit, multiple_of=amounts.step, amount=amount)


def _buy_in(table: Table, amount: Amount, context: Context) -> BuyIn:
    return BuyIn(context.actor, table.config.currency, context.table, amount)


# --- Sitting out and in -----------------------------------------------------------------------------------------------


def sit_out(state: Sat, context: Context) -> Decision:
    seat = seat_of(state.table, context.actor)
    if seat.out_since is not None:
        raise Rejected(Rule.AlreadySittingOut, seat=seat.number)
    out = events.SatOut(seat.number, seat.player, OutBecause.ASKED, context.now, None)
    return Decision((timed(state, out, context),))


def sit_in(state: Sat, context: Context) -> Decision:
    seat = seat_of(state.table, context.actor)
    if seat.out_since is None:
        raise Rejected(Rule.NotSittingOut, seat=seat.number)
    boot = state.table.config.boot
    if seat.stack < boot:
        raise Rejected(Rule.StackBelowBoot, boot=boot, stack=seat.stack)
    return Decision((timed(state, events.SatIn(seat.number, seat.player, None), context),))


def sat_out(table: Table, context: Context) -> tuple[events.SatOut, ...]:
    """Who is not dealt in again without asking: after two time-outs in a row (D16), or with less than the boot."""
    staying = (seat for seat in table.seats if seat.out_since is None and not seat.leaving)
    found = ((seat, _unfit(table, seat)) for seat in staying)
    return tuple(events.SatOut(seat.number, seat.player, why, context.now, None) for seat, why in found if why)


def _unfit(table: Table, seat: Seat) -> OutBecause | None:
    if seat.stack < table.config.boot:
        return OutBecause.LOW_STACK
    return OutBecause.TIMED_OUT if seat.time_outs >= TIME_OUTS_MAX else None


def blocked(state: Between, context: Context) -> tuple[events.Event, ...]:
    """Sits out whoever would be dealt in, and so pay a boot, though the operator has blocked him."""
    out: list[events.Event] = []
    after: State = state
    for seat in state.table.ready:
        if context.blocked(seat.player):
            assert isinstance(after, Between), "no hand is on"
            one = events.SatOut(seat.number, seat.player, OutBecause.BLOCKED, context.now, None)
            out.append(timed(after, one, context))
            after = evolve(after, out[-1])
    return tuple(out)


# --- Leaving ----------------------------------------------------------------------------------------------------------


def leave(state: Opened, context: Context) -> Decision:
    """Of one who is not dealt in: the seat is free at once."""
    events_, transfers = freed((seat_of(state.table, context.actor),), LeftBecause.ASKED, context)
    return Decision(tuple(timed(state, event, context) for event in events_), transfers)


def idle(table: Table, context: Context) -> tuple[Seat, ...]:
    """Seats whose players have sat out for too long."""
    return tuple(seat for seat in table.seats if (due := freed_at(table, seat)) is not None and due <= context.now)


def freed_at(table: Table, seat: Seat) -> Micros | None:
    return None if seat.out_since is None else seat.out_since + table.config.idle


def freed(
    seats: tuple[Seat, ...], why: LeftBecause, context: Context
) -> tuple[tuple[events.SeatLeft, ...], tuple[Transfer, ...]]:
    """Exactly what lies before a player leaves the table with him."""
    left = tuple(events.SeatLeft(each.number, each.player, each.stack, why, context.now, None) for each in seats)
    return left, tuple(CashOut(each.player, context.table, each.stack) for each in seats)


# --- When the table has its next work ---------------------------------------------------------------------------------

Timed = events.TableConfigured | events.TableDraining | events.TableReopened | events.SeedPublished | events.SeedDropped
TimedSeat = events.SeatTaken | events.SatOut | events.SatIn | events.SeatLeft


def timed(state: Opened, event: Timed | TimedSeat, context: Context) -> events.Event:
    """The event with the time of the table's next work after it; in mid-hand nothing changes that."""
    after = evolve(state, event)
    if not isinstance(after, Between):
        return event
    keeps = isinstance(event, TimedSeat | events.TableConfigured)
    was = state.due if keeps and isinstance(state, Between) else None
    return replace(event, due=next_due(after.table, was, context))


def next_due(table: Table, was: Micros | None, context: Context) -> Micros | None:
    """A table first publishes a seed, then gives players the pause for theirs; it deals when three are ready (P1)."""
    if table.draining or table.next_seed is None:
        return context.now
    if len(table.ready) < SEATS_MIN:
        return None
    return context.now + table.config.pause if was is None else was

"""Who sits at the table, and whose entry lies there: sitting down and leaving before a match; and when the table has
its next work, now that these are the players.
"""

from msgspec.structs import replace

from domain.errors import Rejected
from domain.game import Context, Decision, Micros
from domain.games.gin_rummy import commands, events
from domain.games.gin_rummy.events import Seat
from domain.games.gin_rummy.evolve import evolve
from domain.games.gin_rummy.rules import LeftBecause, Rule
from domain.games.gin_rummy.state import Acting, Between, NotOpened, Opened, Table
from domain.money import Amount, BuyIn, CashOut, Transfer

Sat = Between | Acting


def seat_of(table: Table, player: str) -> Seat:
    """The player's seat, if there is one, and he is not out of the match."""
    seat = table.seat_of(player)
    if seat is None:
        raise Rejected(Rule.NotSeated)
    me = table.contender(player)
    if me is not None and me.forfeited:
        raise Rejected(Rule.AlreadyForfeited)
    return seat


def entry(table: Table, player: str) -> Amount:
    """What this player could sit down with."""
    if table.draining:
        raise Rejected(Rule.TableIsDraining)
    if table.seat_of(player) is not None:
        raise Rejected(Rule.AlreadySeated)
    if table.match is not None:
        raise Rejected(Rule.MatchIsOn, match=table.match.id)
    if len(table.seats) == table.config.players:
        raise Rejected(Rule.TableIsFull, players=table.config.players)
    return table.config.entry


def sit_down(state: Sat, command: commands.SitDown, context: Context) -> Decision:
    table = state.table
    needed = entry(table, context.actor)
    if command.amount != needed:
        raise Rejected(Rule.NotTheEntry, entry=needed, amount=command.amount)
    taken = events.SeatTaken(context.actor, needed, None)
    paid = BuyIn(context.actor, table.config.currency, context.table, needed)
    return Decision((timed(state, taken, context),), (paid,))


def leave(state: Opened, context: Context) -> Decision:
    """No match is on: the seat is free at once."""
    left, transfers = freed((seat_of(state.table, context.actor),), LeftBecause.ASKED, context)
    return Decision(tuple(timed(state, event, context) for event in left), transfers)


def freed(
    seats: tuple[Seat, ...], why: LeftBecause, context: Context
) -> tuple[tuple[events.SeatLeft, ...], tuple[Transfer, ...]]:
    """The entry goes back to whoever paid it."""
    left = tuple(events.SeatLeft(each.player, each.paid, why, None) for each in seats)
    return left, tuple(CashOut(each.player, context.table, each.paid) for each in seats)


# --- When the table has its next work ---------------------------------------------------------------------------------

Timed = events.TableConfigured | events.TableDraining | events.TableReopened | events.SeedPublished | events.SeedDropped


def timed(state: Opened, event: Timed | events.OfSeat, context: Context) -> events.Event:
    """The event with the time of the table's next work after it; in mid-hand nothing changes that."""
    after = evolve(state, event)
    if not isinstance(after, Between):
        return event
    keeps = isinstance(event, events.OfSeat | events.TableConfigured)
    was = state.due if keeps and isinstance(state, Between) else None
    return replace(event, due=next_due(after.table, was, context))


def all_timed(state: Opened, left: tuple[events.SeatLeft, ...], context: Context) -> tuple[events.Event, ...]:
    """One after the other: the last one tells when the table that all have left has work."""
    told: list[events.Event] = []
    for event in left:
        told.append(timed(state, event, context))
        after = evolve(state, told[-1])
        assert not isinstance(after, NotOpened), "it has seats"
        state = after
    return tuple(told)


def next_due(table: Table, was: Micros | None, context: Context) -> Micros | None:
    """A table first publishes a seed, then gives players the pause for theirs; it deals when all seats are taken."""
    closing = table.draining and table.match is None
    if closing or table.next_seed is None:
        return context.now
    if not table.ready:
        return None
    return context.now + table.config.pause if was is None else was

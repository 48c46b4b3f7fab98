"""How a hand ends: scored, drawn, broken off or cancelled; and how a match ends with it, won or paid back."""

from collections.abc import Iterable

from msgspec import UNSET
from msgspec.structs import replace

from domain.fairness import Deck
from domain.game import Context, Decision, fold
from domain.games.gin_rummy import deck, events, roles, scoring, seating
from domain.games.gin_rummy.events import PlayerResult, Spread
from domain.games.gin_rummy.evolve import evolve
from domain.games.gin_rummy.roles import Match
from domain.games.gin_rummy.rules import EndedBy
from domain.games.gin_rummy.scoring import Won
from domain.games.gin_rummy.state import Acting, Between, InRound, Round, State, Table
from domain.money import Amount, CashOut

Events = tuple[events.Event, ...]

NO_POINTS = "nobody has scored a point"


# --- The hand -------------------------------------------------------------------------------------------------------


def scored(before: State, so_far: Events, knocker: Spread, opponent: Spread, cards: Deck, context: Context) -> Decision:
    """`so_far` are the events that led here from `before`: both hands lie on the table."""
    _, on = _hand(before, so_far)
    score = scoring.score(_table(before).config, knocker, opponent, doubled=on.doubled)
    both = events.RoundScored(on.id, score.why, knocker, opponent, score.winner, score.points)
    held = (place for each in on.players for place in each.cards)
    proofs = deck.openings(cards, {*on.shown, *held})
    return _settled(before, (*so_far, both), score.why, context, score=score, openings=proofs)


def drawn(before: State, so_far: Events, why: EndedBy, cards: Deck, context: Context) -> Decision:
    """Nobody scores, and no hand is shown (G27)."""
    _, on = _hand(before, so_far)
    return _settled(before, so_far, why, context, openings=deck.openings(cards, on.shown))


def forfeited(before: State, so_far: Events, context: Context) -> Decision:
    """One player alone is left, and has won the match at once (D14)."""
    after = fold(evolve, before, so_far)
    if isinstance(after, InRound):
        return _settled(before, so_far, EndedBy.FORFEIT, context)
    table = _table(after)
    won = scoring.won(table.config, _match(table).players, 0)
    assert won is not None, "one player alone is left"
    return _won(before, so_far, won, context)


def _settled(
    before: State,
    so_far: Events,
    why: EndedBy,
    context: Context,
    *,
    score: scoring.Score | None = None,
    openings: tuple[events.Opening, ...] = (),
) -> Decision:
    table, on = _hand(before, so_far)
    match = _match(table)
    winner = score.winner if score else None
    points = {score.winner: score.points} if score else {}
    told = results(match, points, shown(so_far))
    after = roles.after(match.roles, winner, _gone(match))
    totals = {each.player: each.total for each in told}
    players = tuple(replace(each, total=totals[each.player]) for each in match.players)
    won = scoring.won(table.config, players, match.hands + 1)
    due = context.now if won is None else None
    settled = events.RoundSettled(on.id, match.id, why, winner, told, after, openings, due)
    return Decision((*so_far, settled)) if won is None else _won(before, (*so_far, settled), won, context)


def results(match: Match, points: dict[str, int], shown: dict[str, events.Cards]) -> tuple[PlayerResult, ...]:
    """A hand moves points and no money."""
    return tuple(
        PlayerResult(
            each.player,
            paid=0,
            won=0,
            points=(more := points.get(each.player, 0)),
            total=each.total + more,
            cards=shown.get(each.player, ()),
        )
        for each in match.players
    )


def shown(so_far: Iterable[events.Event]) -> dict[str, events.Cards]:
    """All twenty cards of a hand that is scored, as they lie on the table."""
    scores = (event for event in so_far if isinstance(event, events.RoundScored))
    return {each.player: cards_of(each) for score in scores for each in (score.knocker, score.opponent)}


def cards_of(spread: Spread) -> events.Cards:
    laid = (each.card for each in spread.laid)
    return (*(card for meld in spread.melds for card in meld), *laid, *spread.deadwood)


def cancelled(state: Acting, reason: str, context: Context, *, paused_by: str = "") -> Decision:
    """The hand counts for nothing, and the same two play another one."""
    return Decision(_void(state, (), reason, context, paused_by, goes_on=True))


def _void(state: Acting, so_far: Events, reason: str, context: Context, paused_by: str, *, goes_on: bool) -> Events:
    match, on = _match(state.table), state.round
    after = roles.after(match.roles, None, _gone(match))
    due = context.now if goes_on else None
    back = events.RoundRefunded(on.id, match.id, results(match, {}, {}), after, due)
    return (*so_far, events.RoundCancelled(on.id, reason, paused_by or UNSET), back)


# --- The match ------------------------------------------------------------------------------------------------------


def match_cancelled(
    state: Between | Acting, reason: str, context: Context, so_far: Events = (), *, paused_by: str = ""
) -> Decision:
    """Every entry goes back to whoever paid it, without rake; and the hand that is on is void."""
    after = fold(evolve, state, so_far)
    void = _void(after, so_far, reason, context, paused_by, goes_on=False) if isinstance(after, Acting) else so_far
    return _refunded(state, void, reason, context, paused_by)


def _refunded(before: State, so_far: Events, reason: str, context: Context, paused_by: str = "") -> Decision:
    table = _table(fold(evolve, before, so_far))
    back = replace(refunded(table, _match(table), reason), paused_by=paused_by or UNSET)
    return _over(before, so_far, back, context)


def refunded(table: Table, match: Match, reason: str) -> events.MatchRefunded:
    back = _paid_out(table, match, {seat.player: seat.paid for seat in table.seats})
    return events.MatchRefunded(match.id, reason, back, None)


def _won(before: State, so_far: Events, won: Won, context: Context) -> Decision:
    if not won.winners:
        return _refunded(before, so_far, NO_POINTS, context)
    table = _table(fold(evolve, before, so_far))
    return _over(before, so_far, awarded(table, _match(table), won), context)


def awarded(table: Table, match: Match, won: Won) -> events.MatchSettled:
    """The prize less the rake, in equal shares; odd units go one each to the winners in the order of the seats."""
    prize = table.prize
    rake = table.config.rake(prize)
    paid = _paid_out(table, match, scoring.shares(prize - rake, won.winners))
    return events.MatchSettled(match.id, won.why, prize, rake, paid, None)


def _over(
    before: State, so_far: Events, over: events.MatchSettled | events.MatchRefunded, context: Context
) -> Decision:
    """What was won leaves the table with the players; a seed that was published for a next hand waits for its match."""
    after = _table(fold(evolve, before, (*so_far, over)))
    over = replace(over, due=seating.next_due(after, None, context))
    return Decision((*so_far, over), _cash_outs(over.results, context))


def _paid_out(table: Table, match: Match, won: dict[str, Amount]) -> tuple[PlayerResult, ...]:
    totals = {each.player: each.total for each in match.players}
    return tuple(
        PlayerResult(seat.player, seat.paid, won.get(seat.player, 0), total=totals.get(seat.player, 0))
        for seat in table.seats
    )


def _cash_outs(results: Iterable[PlayerResult], context: Context) -> tuple[CashOut, ...]:
    return tuple(CashOut(each.player, context.table, each.won) for each in results if each.won)


# --- What is on ------------------------------------------------------------------------------------------------------


def _hand(before: State, so_far: Events) -> tuple[Table, Round]:
    after = fold(evolve, before, so_far)
    assert isinstance(after, InRound), "a hand is on"
    return after.table, after.round


def _table(state: State) -> Table:
    assert isinstance(state, Between | InRound), "the table is open"
    return state.table


def _match(table: Table) -> Match:
    assert table.match is not None, "a match is on"
    return table.match


def _gone(match: Match) -> frozenset[str]:
    return frozenset(each.player for each in match.players if each.forfeited)

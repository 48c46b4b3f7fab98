"""The hand in words: both hands as they were laid out, what is unmatched, who scores what; and the match, its prize.

All is worked out anew from the events before it; what differs is Unexplained. Of hands that were not shown it says
nothing, for the events name none of their cards.
"""

from collections.abc import Iterable, Iterator

from msgspec import UNSET, Struct
from msgspec.structs import replace

from domain import wording
from domain.game import PaidOut, Unexplained
from domain.games.gin_rummy import ending, events, melds, proof, scoring, views
from domain.games.gin_rummy.events import PlayerResult, Spread
from domain.games.gin_rummy.evolve import evolve
from domain.games.gin_rummy.roles import Match
from domain.games.gin_rummy.rules import HAND, HANDS_MAX, PILE_DRAWS_MAX, STOCK_LEFT, Because, EndedBy, WonBy
from domain.games.gin_rummy.state import INITIAL, Ending, NotOpened, Opened, State, Table
from domain.money import Payout

HandEnd = events.RoundSettled | events.RoundRefunded
MatchEnd = events.MatchSettled | events.MatchRefunded


class _Hand(Struct):
    """What the events say of the hand, and of the match if it ended here; and how the table was just before."""

    opened: events.RoundOpened
    story: tuple[events.Event, ...]
    knocked: events.Knocked | None = None
    scored: events.RoundScored | None = None
    end: HandEnd | None = None
    before_end: Opened | None = None
    over: MatchEnd | None = None
    before_over: Opened | None = None


def explains_round(of_round: Iterable[events.Event]) -> tuple[str, ...]:
    hand = _read(of_round)
    return (*_players(hand), *_hand(hand), *_forfeits(hand), *_match(hand))


def explains_payout(of_round: Iterable[events.Event], player: str, payout: Payout) -> str:
    hand = _read(of_round)
    over = _checked_match(hand)
    told = (each for each in views.chips(over) if isinstance(each, PaidOut) and each.player == player)
    by_the_rules = next(told, None)
    if by_the_rules is None:
        raise Unexplained(f"{player} did not play this match")
    entry, right = f"{player}'s entry of {wording.number(by_the_rules.payout.staked)}", by_the_rules.payout
    if payout != right:
        raise Unexplained(
            f"{entry}: by the rules {wording.number(right.returned)} come back ({right.odds}); "
            f"told is {wording.number(payout.returned)} for {wording.number(payout.staked)} ({payout.odds})"
        )
    came_back = wording.returned(hand.opened.config.currency, payout.returned)
    if isinstance(over, events.MatchRefunded):
        return f"{entry}: the match was cancelled, so it goes back; {came_back}"
    if payout.odds == "won":
        return f"{entry}: {player} won {_of_the_prize(over)}; {came_back}"
    _, match = _match_on(hand.before_over)
    if any(each.forfeited for each in match.players if each.player == player):
        return f"{entry}: {player} has forfeited the match, and it stays in the prize; {came_back}"
    return f"{entry}: {player} did not win the match; {came_back}"


# --- What the events say --------------------------------------------------------------------------------------------


def _read(of_round: Iterable[events.Event]) -> _Hand:
    hand: _Hand | None = None
    story = tuple(of_round)
    state: State = INITIAL
    for event in story:
        before, state = state, evolve(state, event)
        if isinstance(event, events.RoundOpened):
            hand = _Hand(event, story)
        if hand is None or isinstance(before, NotOpened) or hand.over is not None:
            continue
        match event:
            case events.Knocked():
                hand.knocked = event
            case events.RoundScored():
                hand.scored = event
            case events.RoundSettled() | events.RoundRefunded():
                hand.end, hand.before_end = event, before
            case events.MatchSettled() | events.MatchRefunded():
                hand.over, hand.before_over = event, before
            case _:
                pass
    if hand is None:
        raise Unexplained("none of these events deals a hand")
    return hand


def _match_on(at: Opened | None) -> tuple[Table, Match]:
    if at is None or at.table.match is None:
        raise Unexplained("no match is on")
    return at.table, at.table.match


# --- The hand worked out anew ---------------------------------------------------------------------------------------


def _checked_hand(hand: _Hand, end: HandEnd) -> None:
    """The event that ended the hand must be what follows from those before it."""
    table, match = _match_on(hand.before_end)
    scored = hand.scored
    if scored is not None:
        _checked_score(hand, scored)
    points = {scored.winner: scored.points} if scored else {}
    right = ending.results(match, points, ending.shown((scored,) if scored else ()))
    if end.results != right:
        raise Unexplained(f"by the rules the totals are {_totals(right)}; told is {_totals(end.results)}")
    if isinstance(end, events.RoundRefunded):
        return
    why, winner = (scored.why, scored.winner) if scored else (_undecided(hand, table), None)
    if (end.why, end.winner) != (why, winner):
        raise Unexplained(f"by the rules the hand ended by {why} for {winner}; told is {end.why} for {end.winner}")


def _undecided(hand: _Hand, table: Table) -> EndedBy | None:
    """Why a hand without a score was over."""
    if not isinstance(hand.before_end, Ending):
        return EndedBy.FORFEIT if len(table.still_in) < 2 else None
    on = hand.before_end.round
    return EndedBy.STOCK if on.stock <= STOCK_LEFT else EndedBy.PILE if on.taken >= PILE_DRAWS_MAX else None


def _checked_score(hand: _Hand, scored: events.RoundScored) -> None:
    config, opened, knocker, opponent = hand.opened.config, hand.opened, scored.knocker, scored.opponent
    rules = scoring.knock_limit(config, opened.upcard), scoring.doubles(config, opened.upcard)
    if rules != (opened.limit, opened.doubled):
        raise Unexplained(f"by the upcard {wording.cards((opened.upcard,))} the knock limit is {rules[0]}")
    if hand.knocked is None or hand.knocked.spread != knocker:
        raise Unexplained(f"{knocker.player}'s hand is not the one that was laid down at the knock")
    for spread in (knocker, opponent):
        counted = sum(map(melds.points, spread.deadwood))
        if counted != spread.points or len(set(ending.cards_of(spread))) != HAND:
            raise Unexplained(f"{_unmatched(spread)} make {counted} in a hand of {HAND}; told is {spread.points}")
    if not proof.laid_out(scored, opened.limit) or any(each.meld >= len(knocker.melds) for each in opponent.laid):
        raise Unexplained("the hands are not laid out by the rules")
    right = scoring.score(config, knocker, opponent, doubled=opened.doubled)
    if right != scoring.Score(scored.why, scored.winner, scored.points):
        raise Unexplained(
            f"{_unmatched(knocker)} against {_unmatched(opponent)} is {right.why} and {right.points} points for "
            f"{right.winner}; told is {scored.why} and {scored.points} for {scored.winner}"
        )


# --- The match worked out anew --------------------------------------------------------------------------------------


def _checked_match(hand: _Hand) -> MatchEnd:
    """The event that ended the match must be what follows from those before it."""
    told = hand.over
    if told is None:
        raise Unexplained("the match has no end here that a payout could follow from")
    table, match = _match_on(hand.before_over)
    won = scoring.won(table.config, table.still_in, match.hands)
    if isinstance(told, events.MatchRefunded):
        if won is not None and won.winners:
            raise Unexplained(f"by the rules {wording.listed(won.winners)} won the match; told is that it is void")
        _same(told, ending.refunded(table, match, told.reason))
    elif won is None or not won.winners:
        raise Unexplained("by the rules nobody has won the match; told is that it is won")
    else:
        _same(told, ending.awarded(table, match, won))
    return told


def _same(told: MatchEnd, right: MatchEnd) -> None:
    """But for what is no part of it: when the clock goes on, and who stopped it."""
    who = {"paused_by": UNSET} if isinstance(told, events.MatchRefunded) else {}
    if replace(told, due=None, **who) != right:
        raise Unexplained(f"by the rules it ends so: {_paid_out(right)}; told is: {_paid_out(told)}")


def _paid_out(end: MatchEnd) -> str:
    how = "void"
    if isinstance(end, events.MatchSettled):
        how = f"won by {end.why}, prize {wording.number(end.prize)}, rake {wording.number(end.rake)}"
    got = (f"{each.player} {wording.number(each.won)} for {wording.number(each.paid)}" for each in end.results)
    return f"{how}, {', '.join(got)}"


# --- The hand in words ----------------------------------------------------------------------------------------------


def _players(hand: _Hand) -> Iterator[str]:
    roles = hand.opened.match.roles
    out = f"; {roles.sitting_out} sits out" if roles.sitting_out else ""
    yield f"{roles.captain} is captain, {roles.box} is in the box{out}."


def _hand(hand: _Hand) -> Iterator[str]:
    end = hand.end
    if end is None:
        yield "The hand is still on."
        return
    _checked_hand(hand, end)
    if isinstance(end, events.RoundRefunded):
        reasons = (event.reason for event in hand.story if isinstance(event, events.RoundCancelled))
        yield f"The hand was cancelled ({next(reasons, '')}): it counts for nothing."
        return
    if hand.scored is None:
        yield _NO_SCORE[end.why]
    elif hand.knocked is not None:
        yield from _laid_down(hand.scored, hand.knocked, hand.opened.limit)
        yield from _score(hand, hand.scored)
    yield f"The totals: {_totals(end.results)}."


_NO_SCORE = {
    EndedBy.STOCK: "Two cards were left in the stock: the hand is drawn, nobody scores, and no hand is shown (G27).",
    EndedBy.PILE: f"After {PILE_DRAWS_MAX} cards from the discard pile the hand is drawn, and no hand is shown (G27).",
    EndedBy.FORFEIT: "One player alone was left in the match: the hand ends without points (D14).",
}


def _laid_down(scored: events.RoundScored, knocked: events.Knocked, limit: int) -> Iterator[str]:
    knocker, opponent = scored.knocker, scored.opponent
    could = f", where {knocked.least} could have been had" if knocked.least < knocker.points else ""
    declared = f", as declared{could}" if knocked.declared else ""
    yield (
        f"{knocker.player} knocks with a limit of {limit}, discarding {wording.cards((knocked.card,))}: "
        f"{_melded(knocker)}; unmatched {_unmatched(knocker)}{declared}."
    )
    laid = "".join(
        f"; laid off {wording.cards(cards)} on {wording.cards(meld)}"
        for index, meld in enumerate(knocker.melds)
        if (cards := [each.card for each in opponent.laid if each.meld == index])
    )
    yield f"{opponent.player} answers: {_melded(opponent)}{laid}; unmatched {_unmatched(opponent)}."


def _melded(spread: Spread) -> str:
    return f"melded {wording.listed(map(wording.cards, spread.melds))}" if spread.melds else "nothing melded"


def _unmatched(spread: Spread) -> str:
    if not spread.deadwood:
        return "nothing"
    return f"{wording.cards(spread.deadwood)}, {wording.summed(map(melds.points, spread.deadwood))}"


def _score(hand: _Hand, scored: events.RoundScored) -> Iterator[str]:
    config, knocker, opponent = hand.opened.config, scored.knocker, scored.opponent
    match scored.why:
        case EndedBy.GIN:
            points = wording.summed((config.gin_bonus, opponent.points))
            yield f"Gin: {config.gin_bonus} and what {opponent.player} has unmatched, {points} (G25, G26)."
        case EndedBy.UNDERCUT:
            less = f"{knocker.points} - {opponent.points} = {knocker.points - opponent.points}"
            points = wording.summed((config.undercut_bonus, knocker.points - opponent.points))
            yield (
                f"{opponent.player} has no more unmatched than {knocker.player}, an undercut: "
                f"{config.undercut_bonus} and the difference, {less}; {points} (G23)."
            )
        case _:
            more = f"{opponent.points} - {knocker.points} = {opponent.points - knocker.points}"
            yield f"{knocker.player} has less unmatched than {opponent.player}: the difference, {more} (G22)."
    if hand.opened.doubled:
        yield f"{scored.winner} scores 2 x {scored.points // 2} = {scored.points}, doubled by a spade as upcard."
    else:
        yield f"{scored.winner} scores {scored.points}."


def _totals(results: Iterable[PlayerResult]) -> str:
    return wording.listed(
        f"{each.player} {wording.summed((each.total - each.points, each.points) if each.points else (each.total,))}"
        for each in results
    )


# --- The match in words ---------------------------------------------------------------------------------------------


def _forfeits(hand: _Hand) -> Iterator[str]:
    for event in hand.story:
        if isinstance(event, events.Forfeited):
            how = "left" if event.why is Because.LEFT else "missed too many turns in a row"
            yield f"{event.player} {how}, which forfeits the match (D14)."


def _match(hand: _Hand) -> Iterator[str]:
    if hand.over is None:
        return
    over = _checked_match(hand)
    if isinstance(over, events.MatchRefunded):
        yield f"The match was cancelled ({over.reason}): every entry goes back, without rake."
        return
    table, _ = _match_on(hand.before_over)
    config, winners = table.config, wording.listed(each.player for each in over.results if each.won)
    won = {
        WonBy.TARGET: f"with the highest total, and {config.target} or more (G28)",
        WonBy.FORFEITS: "being the only one left (D14)",
        WonBy.HANDS: f"with the highest total after {HANDS_MAX} hands (D14)",
    }
    yield f"{winners} won the match, {won[over.why]}."
    yield f"The prize is all entries, {wording.summed(each.paid for each in over.results)}."
    yield wording.rake(over.prize, config.rake_bps, config.rake_cap, over.rake)


def _of_the_prize(over: events.MatchSettled) -> str:
    left = over.prize - over.rake
    less = f" less the rake, {wording.number(over.prize)} - {wording.number(over.rake)} = {wording.number(left)}"
    whole = f"the prize{less if over.rake else ''}"
    winners = sum(1 for each in over.results if each.won)
    if winners == 1:
        return whole
    share, odd = divmod(left, winners)
    odd_units = f", and {odd} odd, one each in the order of the seats" if odd else ""
    return f"one of {winners} shares of {whole}: {wording.number(share)} each{odd_units}"

"""Gin Rummy: how a match ends, by hands, by forfeits, or with every entry back; and who is paid what."""

import itertools
from typing import Any

from msgspec.structs import replace

from domain.games.gin_rummy import commands, events
from domain.games.gin_rummy.rules import EndedBy, Source, WonBy
from domain.names import TABLE
from tests.domain.gin_table import CASH, SMALL, Table


def patched(table: Table, **changes: Any) -> Table:
    """The table with another match on it; `totals` in the order of the seats."""
    state = table.state
    match = state.table.match
    points = changes.pop("totals", [each.total for each in match.players])
    players = tuple(replace(each, total=total) for each, total in zip(match.players, points, strict=True))
    match = replace(match, **{"players": players} | changes)
    stream = table.memory.streams[TABLE + "t"]
    table.memory.streams[TABLE + "t"] = replace(stream, state=replace(state, table=replace(state.table, match=match)))
    return table


def ended(table: Table) -> Any:
    return next(
        event for event in reversed(table.events) if isinstance(event, events.MatchSettled | events.MatchRefunded)
    )


def drawn_hand(table: Table) -> Any:
    """A hand to its end that nobody scores, by players who never knock."""
    while table.state.round.stock > 2 or table.state.round.id != "t.1":
        player = table.state.player
        open_now = {each.command for each in table.view(player).allowed}
        if "Decline" in open_now:
            table.does(player, commands.Decline())
            continue
        table.does(player, commands.Draw(Source.STOCK))
        told = table.does(player, commands.Discard(table.cards(player)[0]))
        if len(told) > 1:
            return told[1]
    raise AssertionError("no draw")


def test_after_a_hundred_hands_equal_highest_totals_share_and_odd_units_go_by_the_seats() -> None:
    """D14. 3,000 less a rake of 45 are 2,955: 1,478 and 1,477."""
    config = replace(SMALL, rake_bps=150)
    table = patched(Table(config).seated("cid", "ann", "bob"), hands=99, totals=[30, 20, 30])
    assert drawn_hand(table).why is EndedBy.STOCK
    end = ended(table)
    assert (end.why, end.rake) == (WonBy.HANDS, 45)
    assert [(each.player, each.won) for each in end.results] == [("cid", 1_478), ("ann", 0), ("bob", 1_477)]
    assert table.money() == 4 * CASH


def test_after_a_hundred_hands_without_a_point_the_entries_go_back() -> None:
    table = patched(Table(replace(SMALL, rake_bps=150)).seated(), hands=99)
    drawn_hand(table)
    end = ended(table)
    assert isinstance(end, events.MatchRefunded)
    assert {each.won for each in end.results} == {1_000}


def test_if_only_one_who_has_forfeited_has_points_the_others_share_and_his_entry_stays_in_the_prize() -> None:
    """D14: there are points, and theirs are equal."""
    table = Table().seated()
    gone = table.state.round.roles.sitting_out
    patched(table, hands=99, totals=[30 * (seat.player == gone) for seat in table.state.table.seats])
    table.does(gone, commands.LeaveTable())
    drawn_hand(table)
    end = ended(table)
    assert (end.why, end.prize) == (WonBy.HANDS, 3_000)
    assert [each.won for each in end.results] == [0 if each.player == gone else 1_500 for each in end.results]


def test_a_hundred_hands_are_those_that_were_scored_or_drawn() -> None:
    table = patched(Table().seated(), hands=98, totals=[1, 2, 3])
    table.void(commands.CancelRound("void"))
    assert table.state.table.match.hands == 98


def test_the_fiftieth_card_from_the_pile_draws_the_hand_unless_somebody_knocks() -> None:
    table = Table().seated()
    stream = table.memory.streams[TABLE + "t"]
    on = replace(table.state.round, taken=49)
    table.memory.streams[TABLE + "t"] = replace(stream, state=replace(table.state, round=on))
    player = table.state.player
    table.does(player, commands.Draw(Source.PILE))
    [discard, settled] = table.does(player, commands.Discard(table.view(player).allowed[0].cards[0]))
    assert (discard.next, settled.why, settled.winner) == (None, EndedBy.PILE, None)


def test_who_has_forfeited_cannot_win_the_match_whatever_the_hand_brings() -> None:
    """D14: the hand scores, also for him; then he is out."""
    for number in itertools.count():
        table = Table(replace(SMALL, target=40, knock_limit=60), f"gone {number}").seated()
        gone = table.state.round.roles.box
        patched(table, totals=[39 if seat.player == gone else 0 for seat in table.state.table.seats])
        table.does(gone, commands.LeaveTable())
        settled = None
        while settled is None:
            told = table.clock() if table.state.player == gone else table.plays()
            settled = next((event for event in told if isinstance(event, events.RoundSettled)), None)
        if settled.winner == gone:
            break
    assert {each.player: each.total for each in settled.results}[gone] >= 40
    assert table.state.table.match is not None
    assert gone not in (settled.roles.box, settled.roles.captain, settled.roles.sitting_out)


def test_when_both_who_play_have_forfeited_the_one_sitting_out_has_won_at_once() -> None:
    table = Table().seated()
    who = table.state.round.roles
    assert [type(event).__name__ for event in table.does(who.box, commands.LeaveTable())] == ["Forfeited"]
    table.does(who.captain, commands.LeaveTable())
    end = ended(table)
    assert (end.why, {each.player: each.won for each in end.results}[who.sitting_out]) == (WonBy.FORFEITS, 3_000)


def test_when_the_one_sitting_out_has_gone_the_two_play_on_and_nobody_advises() -> None:
    table = Table().seated()
    who = table.state.round.roles
    table.does(who.captain, commands.AskAdvice())
    assert table.cards(who.captain) == table.view(who.sitting_out).seats[seat_of(table, who.captain)].cards
    table.does(who.sitting_out, commands.LeaveTable())
    assert table.view(who.sitting_out).seats[seat_of(table, who.captain)].cards == ()
    assert table.refuses(who.sitting_out, commands.SendAdvice("late")) == "AlreadyForfeited"
    assert table.refuses(who.captain, commands.AskAdvice()) == "NobodyAdvises"
    settled = table.plays_hand()
    assert settled.roles.sitting_out is None
    assert settled.roles.box == (settled.winner or who.box)


def seat_of(table: Table, player: str) -> int:
    return [seat.player for seat in table.state.table.seats].index(player)


def test_at_a_table_for_two_the_first_forfeit_ends_the_match() -> None:
    table = Table(replace(SMALL, players=2)).seated("ann", "bob")
    table.does("ann", commands.LeaveTable())
    assert {each.player: each.won for each in ended(table).results} == {"ann": 0, "bob": 2_000}


def test_three_who_never_come_get_their_entries_back() -> None:
    """None of them has done anything: it is not the one who happens to sit out who wins."""
    table = Table(replace(SMALL, dead_minutes=1)).seated()
    while table.state.table.match is not None:
        table.clock()
    assert isinstance(ended(table), events.MatchRefunded)


def test_while_all_are_away_nobody_forfeits_and_who_comes_back_finds_the_other_forfeiting() -> None:
    config = replace(SMALL, players=2, away_turns=1, dead_minutes=60, time_bank_seconds=0)
    table = Table(config).seated("ann", "bob")
    captain, box = (each.player for each in table.state.round.players)
    for _ in range(6):
        table.clock()
    assert not any(each.forfeited for each in table.state.table.match.players)
    if table.state.player == captain:
        table.clock()
    table.does(box, commands.Draw(Source.STOCK))
    table.does(box, commands.Discard(table.cards(box)[0]))
    table.clock()
    assert {each.player: each.won for each in ended(table).results} == {captain: 0, box: 2_000}


def test_a_seed_published_for_a_next_hand_waits_for_the_next_match() -> None:
    table = Table().seated()
    who = table.state.round.roles
    table.plays_hand()
    table.clock()
    coming = table.state.table.next_seed
    assert coming is not None
    table.does(who.box, commands.LeaveTable())
    table.does(who.captain, commands.LeaveTable())
    assert (table.state.table.next_seed, table.state.due) == (coming, None)
    table.seated()
    assert (table.state.round.id, table.state.round.match) == ("t.2", "t.m2")


def test_who_forfeits_takes_his_client_seed_along_and_the_others_stay_in() -> None:
    """Also when the match goes on, and however he goes: between hands, the only time at which a seed can be given."""
    table = Table().seated()
    table.plays_hand()
    table.clock()
    who = table.state.table.match.roles
    for name in (who.box, who.captain, who.sitting_out):
        table.does(name, commands.GiveClientSeed(f"of-{name}"))
    table.does(who.captain, commands.LeaveTable())
    assert table.refuses(who.captain, commands.GiveClientSeed("again")) == "AlreadyForfeited"
    table.clock()
    given = {each.player: each.seed for each in table.state.round.client_seeds}
    assert given == {name: f"of-{name}" for name in (who.box, who.sitting_out)}


def test_who_sits_out_is_away_if_he_missed_his_last_turn_or_never_played_and_else_there_to_win() -> None:
    """D14: who sits out has no turn to miss. So two who stay away cannot void what the third would win."""
    config = replace(SMALL, time_bank_seconds=0, away_turns=2, dead_minutes=1)
    for missed in (0, 1):
        table = Table(config, "sits out").seated()
        out = table.state.round.roles.sitting_out
        players = table.state.table.match.players
        patched(table, players=tuple(replace(p, acted=True, missed=missed * (p.player == out)) for p in players))
        while table.state.table.match is not None:
            table.clock()
        if missed:
            assert isinstance(ended(table), events.MatchRefunded)
        else:
            assert {each.player: each.won for each in ended(table).results}[out] == 3_000

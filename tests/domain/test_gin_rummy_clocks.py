"""Gin Rummy: what the clock does, and for whom the platform plays."""

from typing import Any

import pytest
from msgspec.structs import replace

from domain.decider import MarkFaulted
from domain.errors import Rejected
from domain.game import LATE, SECOND, Role, TimeOut
from domain.games.gin_rummy import commands, events, melds, rules, state
from domain.games.gin_rummy.evolve import evolve
from domain.games.gin_rummy.rules import LayOffBy, Source
from tests.domain.gin_table import GAME, SMALL, Table


def test_a_closed_table_waits_for_nothing_and_a_table_never_opened_neither() -> None:
    closed = evolve(Table().state, events.TableClosed())
    assert (GAME.deadline(closed), GAME.deadline(state.INITIAL)) == (None, None)
    with pytest.raises(Rejected, match="TableNotOpen"):
        GAME.decide(state.INITIAL, commands.CloseTable(), Table().context("ops", Role.OPERATOR))


def test_a_table_for_two_is_not_dealt_to_one_nor_a_table_for_three_to_two() -> None:
    for players in (2, 3):
        table = Table(replace(SMALL, players=players))
        for name in table.names[: players - 1]:
            table.does(name, commands.SitDown(1_000))
        table.clock()
        assert GAME.deadline(table.state) is None
        table.now += 3_600 * SECOND
        assert table.clock(TimeOut()) == []
        table.does("dee", commands.SitDown(1_000))
        assert GAME.deadline(table.state) == table.now + 5 * SECOND


def test_whatever_a_player_does_himself_begins_the_count_of_missed_turns_anew() -> None:
    table = Table(replace(SMALL, players=2, time_bank_seconds=0, away_turns=2)).seated("ann", "bob")
    captain, box = (each.player for each in table.state.round.players)
    table.does(captain, commands.Decline())
    for _ in range(3):
        table.clock()  # box misses a turn
        table.does(captain, commands.Draw(Source.STOCK))
        table.does(captain, commands.Discard(table.cards(captain)[0]))
        assert table.state.table.contender(box).missed == 1
        table.does(box, commands.Draw(Source.STOCK))
        assert table.state.table.contender(box).missed == 0
        table.does(box, commands.Discard(table.cards(box)[0]))
        table.does(captain, commands.Draw(Source.STOCK))
        table.does(captain, commands.Discard(table.cards(captain)[0]))
    table.clock()
    table.does(captain, commands.Draw(Source.STOCK))
    table.does(captain, commands.Discard(table.cards(captain)[0]))
    table.clock()
    assert table.state.table.match is None


def test_the_platform_never_discards_the_card_just_taken_though_it_would_be_the_best() -> None:
    """SGR.31, D11: of the others the one that leaves least, and of equal ones the highest."""
    for number in range(100):
        table = Table(replace(SMALL, time_bank_seconds=0), f"taken {number}").seated()
        player, [top] = table.state.player, table.state.round.pile
        table.does(player, commands.Draw(Source.PILE))
        hand = table.cards(player)
        if melds.best_discards(hand)[0] is top.card:
            break
    _, discarded = table.clock()
    assert (discarded.player, discarded.why) == (player, rules.Because.TIMED_OUT)
    assert discarded.card is melds.best_discards(hand, top.card)[0]


def test_downtime_gives_the_one_to_lay_off_the_time_again() -> None:
    config = replace(SMALL, layoff=LayOffBy.DECLARED, layoff_seconds=17, time_bank_seconds=0)
    for number in range(50):
        table = Table(config, f"late {number}").seated()
        while isinstance(table.state, state.Turn):
            table.plays()
        if isinstance(table.state, state.LayingOff):
            break
    table.now = table.state.due + LATE + 1
    [extended] = table.clock(TimeOut())
    assert extended.due == table.now + 17 * SECOND
    player = table.state.player
    told = table.clock()
    assert [type(event).__name__ for event in told][:2] == ["TurnMissed", "RoundScored"]
    assert told[1].opponent.player == player


def test_drawing_gives_no_time_the_turn_has_had_it() -> None:
    """Neither the time bank nor what downtime gave is there again for the discard."""
    table = Table(SMALL).seated()
    player = table.state.player
    table.clock()
    assert table.view(player).on_time_bank
    due = table.state.due
    table.does(player, commands.Draw(Source.PILE))
    assert (table.view(player).on_time_bank, table.state.due) == (True, due)
    table.now = due + LATE + 1
    [extended] = table.clock(TimeOut())
    assert isinstance(extended, events.DeadlineExtended)
    late = Table(SMALL).seated()
    late.now = late.state.due + LATE + 1
    late.clock(TimeOut())
    late.does(late.state.player, commands.Draw(Source.PILE))
    late.now = late.state.due + LATE + 1
    assert isinstance(late.clock(TimeOut())[0], events.TimeBankStarted)


def test_the_time_of_a_hand_begins_anew_after_a_fault_of_the_clock() -> None:
    table = Table().seated()
    table.clock(MarkFaulted("failed"))
    table.now += 3_600 * SECOND
    assert table.clock(TimeOut()) == []
    table.send("sue", Role.SUPERVISOR, commands.Resume())
    assert table.state.due == table.now + 30 * SECOND


def test_nobody_waits_for_one_who_has_forfeited_also_after_a_pause() -> None:
    table = Table().seated()
    gone = table.state.player
    table.does(gone, commands.LeaveTable())
    assert table.state.due == table.now
    table.send("sue", Role.SUPERVISOR, commands.Pause("so"))
    table.now += 60 * SECOND
    table.send("sue", Role.SUPERVISOR, commands.Resume())
    assert table.state.due == table.now
    [declined] = table.clock()
    assert (declined.player, declined.why) == (gone, rules.Because.FORFEITED)


def test_who_has_gone_does_not_lay_off_himself() -> None:
    """`layoff: declared`, but the platform does it at once."""
    for number in range(50):
        table = Table(replace(SMALL, layoff=LayOffBy.DECLARED), f"gone {number}").seated()
        who = table.state.round.roles
        table.does(who.box, commands.LeaveTable())
        told: list[Any] = []
        while isinstance(table.state, state.Acting) and not any(isinstance(event, events.Knocked) for event in told):
            told = table.clock() if table.state.player == who.box else table.plays()
        if isinstance(told[0], events.Knocked) and told[0].spread.deadwood:
            break
    assert [type(event).__name__ for event in told[:3]] == ["Knocked", "RoundScored", "RoundSettled"]
    assert told[0].due is None


def test_a_gin_leaves_nothing_to_lay_off_on() -> None:
    """G26: also by `layoff: declared` the hand is scored at once."""
    for number in range(300):
        table = Table(replace(SMALL, layoff=LayOffBy.DECLARED, knock_limit=0), f"gin {number}").seated()
        told: list[Any] = []
        while isinstance(table.state, state.Acting):
            told = table.plays()
        if isinstance(told[0], events.Knocked):
            break
    assert (told[1].why, told[1].opponent.laid) == (rules.EndedBy.GIN, ())
    assert told[1].points == 25 + told[1].opponent.points


def test_a_lay_off_has_its_own_time_and_no_time_bank() -> None:
    """D13: nor does a pause, or a fault of the clock, give it one."""
    for number in range(50):
        table = Table(replace(SMALL, layoff=LayOffBy.DECLARED, layoff_seconds=17), f"bank {number}").seated()
        while isinstance(table.state, state.Turn):
            table.plays()
        if isinstance(table.state, state.LayingOff):
            break
    began, player = table.now, table.state.player
    assert table.state.due == began + 17 * SECOND
    assert not table.state.round.of(player).banked
    told = table.clock()
    assert table.now == began + 17 * SECOND
    assert [type(event).__name__ for event in told][:2] == ["TurnMissed", "RoundScored"]

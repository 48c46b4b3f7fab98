"""Gin Rummy: what a process needs the deck for, what is stored, and who is there when a match would begin."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from domain.cards import DECK
from domain.game import SECOND, ResumeLog, Role, Viewer, fold, no_open
from domain.games.gin_rummy import commands, events, rules, state
from domain.games.gin_rummy.evolve import evolve
from domain.games.gin_rummy.rules import LeftBecause, Source
from domain.names import WALLET
from domain.wallet import commands as wallet
from tests.domain.gin_table import CASH, GAME, SMALL, Table, two_hands
from tests.domain.staff import without_staff

ANYBODY = Viewer("nobody", Role.PLAYER)
GOLDEN = Path(__file__).parents[1] / "golden" / GAME.name
SAMPLES = [
    msgspec.json.decode(line, type=GAME.events)
    for file in GOLDEN.glob("*.json")
    for line in file.read_text().splitlines()
]


@pytest.mark.parametrize(
    ("prize", "bps", "cap", "rake"),
    [(999, 100, None, 9), (1_000, 100, None, 10), (1_000, 100, 9, 9), (1_000, 0, 5, 0), (99, 100, None, 0)],
)
def test_rake_is_rounded_down_and_capped(prize: int, bps: int, cap: int | None, rake: int) -> None:
    assert rules.Config("INR", rake_bps=bps, rake_cap=cap).rake(prize) == rake


# --- Who needs the deck ---------------------------------------------------------------------------------------------


def without_keys(table: Table) -> Any:
    """From here on the process holds no key; what it held before, to give it back."""
    memory: Any = table.memory
    held = memory.open, memory.seal, memory.seal_text
    memory.open, memory.seal, memory.seal_text = no_open, no_key, no_key
    return held


def no_key(*_: Any) -> Any:
    raise LookupError


def test_no_deck_is_opened_but_to_deal_to_discard_and_to_lay_out() -> None:
    """Draws, forfeits, pause, cancel and refund go on in a process that holds no key."""
    table = Table().seated()
    who = table.state.round.roles
    without_keys(table)
    table.does(who.captain, commands.AskAdvice(), commands.Decline())
    table.does(who.box, commands.Draw(Source.PILE))
    for command in (commands.Discard(DECK[0]), commands.Knock(DECK[0])):
        with pytest.raises(LookupError):
            table.does(who.box, command)
    with pytest.raises(LookupError):
        table.does(who.sitting_out, commands.SendAdvice("so"))
    table.send("sue", Role.SUPERVISOR, commands.Pause("so"))
    table.send("sue", Role.SUPERVISOR, commands.Resume())
    table.does(who.sitting_out, commands.LeaveTable())
    table.void(commands.CancelRound("so"))
    with pytest.raises(LookupError):
        table.clock()
    table.clock(ResumeLog(2))
    assert isinstance(table.state, state.Between)
    assert table.money() == 4 * CASH


def test_an_onlooker_s_view_and_that_of_an_adviser_who_was_not_asked_open_no_deck() -> None:
    table = Table().seated()
    who = table.state.round.roles
    for viewer in (ANYBODY, Viewer(who.sitting_out, Role.PLAYER), Viewer("audrey", Role.AUDITOR)):
        GAME.view(table.state, viewer, (), no_open)
    table.does(who.captain, commands.AskAdvice())
    for name in (who.captain, who.box, who.sitting_out):
        with pytest.raises(LookupError):
            GAME.view(table.state, Viewer(name, Role.PLAYER), (), no_open)
    GAME.view(table.state, ANYBODY, (), no_open)


def test_advice_opens_for_its_two_readers_only() -> None:
    table = Table().seated()
    who = table.state.round.roles
    table.does(who.captain, commands.AskAdvice())
    table.does(who.sitting_out, commands.SendAdvice("hold on to the 7h"))
    shown = {name: table.view(name).advice for name in (who.captain, who.sitting_out, who.box)}
    assert shown == {who.captain: ("hold on to the 7h",), who.sitting_out: ("hold on to the 7h",), who.box: ()}
    stored = msgspec.json.encode([table.state, table.events]).decode()
    assert "hold on" not in stored
    [given] = (event for event in table.events if isinstance(event, events.AdviceGiven))
    assert table.memory.open("t.1", given.advice).decode() == "hold on to the 7h"


# --- What is stored ---------------------------------------------------------------------------------------------------


@pytest.fixture
def played() -> Table:
    return two_hands()


def states_along(log: list[Any]) -> Iterator[Any]:
    now = state.INITIAL
    for event in log:
        now = evolve(now, event)
        yield now


def test_a_table_folds_from_its_last_opening_event_as_from_its_first_event(played: Table) -> None:
    log = played.events
    last = max(index for index, event in enumerate(log) if isinstance(event, events.RoundOpened))
    assert last > 10
    assert fold(evolve, state.INITIAL, log[last:]) == fold(evolve, state.INITIAL, log) == played.state


def test_a_hand_that_opens_while_the_table_drains_carries_that_too() -> None:
    table = Table().seated()
    table.send("ops", Role.OPERATOR, commands.DrainTable())
    table.send("ops", Role.OPERATOR, commands.ConfigureTable(replace(SMALL, entry=2_000)))
    table.plays_hand()
    table.clock()
    table.clock()
    assert fold(evolve, state.INITIAL, table.events[-1:]) == table.state
    assert (table.state.table.draining, table.state.table.pending) == (True, replace(SMALL, entry=2_000))


def test_stored_events_come_back_byte_for_byte_and_fold_to_the_same(played: Table) -> None:
    stored = [msgspec.json.encode(event) for event in played.events]
    decoded = [msgspec.json.decode(text, type=GAME.events) for text in stored]
    assert [msgspec.json.encode(event) for event in decoded] == stored
    assert fold(evolve, state.INITIAL, decoded) == played.state


def test_every_state_survives_its_storage(played: Table) -> None:
    for now in (state.INITIAL, *states_along(played.events)):
        assert msgspec.json.decode(msgspec.json.encode(now), type=GAME.states) == now


def test_whatever_comes_before_an_opening_is_passed_over() -> None:
    opening = (events.TableOpened, events.RoundOpened)
    assert {type(event) for event in SAMPLES} >= set(opening)
    for event in SAMPLES:
        assert isinstance(evolve(state.INITIAL, event), state.NotOpened) != isinstance(event, opening)


def test_a_state_stays_small_however_long_a_hand_is_and_however_much_is_said() -> None:
    table = Table().seated()
    who = table.state.round.roles
    table.does(who.captain, commands.AskAdvice())
    for _ in range(rules.ADVICE_MAX):
        table.does(who.sitting_out, commands.SendAdvice("x" * 200))
    while isinstance(table.state, state.Acting):
        player = table.state.player
        choosing = isinstance(table.state, state.Choice)
        table.does(player, commands.Decline() if choosing else commands.Draw(Source.STOCK))
        if not choosing:
            table.does(player, commands.Discard(table.cards(player)[-1]))
        assert len(msgspec.json.encode(table.state)) < 10_000
    assert table.state.last.ended_by is rules.EndedBy.STOCK


def test_what_hides_nothing_is_shown_as_it_is() -> None:
    hidden = {
        events.SeedPublished: "seed", events.SeedDropped: "seed",
        events.RoundOpened: "seed", events.AdviceGiven: "advice",
    }  # fmt: skip
    for event in SAMPLES:
        shown = GAME.public(event, ANYBODY)
        pile = isinstance(event, events.CardDrawn) and event.source is Source.PILE
        if pile or isinstance(event, events.Discarded | events.Knocked):
            assert shown == replace(event, place=None)
        elif type(event) not in hidden:
            assert shown == without_staff(event)
        else:
            sealed = getattr(shown, hidden[type(event)])
            assert (sealed.key, sealed.sealed) == ("", "")
            assert getattr(sealed, "hash", "") == getattr(getattr(event, hidden[type(event)]), "hash", "")


# --- Who is there when a match would begin --------------------------------------------------------------------------


def test_a_table_that_all_have_left_because_of_its_new_configuration_waits_for_players() -> None:
    table = Table()
    table.clock()
    for name in table.names[:3]:
        table.does(name, commands.SitDown(SMALL.entry))
    table.send("ops", Role.OPERATOR, commands.ConfigureTable(replace(SMALL, players=2)))
    assert not table.state.table.seats
    assert GAME.deadline(table.state) is None
    assert not table.clock()
    assert table.money() == 4 * CASH


def test_one_who_is_blocked_before_the_match_begins_has_the_entry_back_and_no_match_begins() -> None:
    table = Table()
    table.clock()
    for name in table.names[:3]:
        table.does(name, commands.SitDown(SMALL.entry))
    table.send("ops", Role.OPERATOR, wallet.Block(), stream=WALLET + table.names[1])
    left = [event for event in table.clock() if isinstance(event, events.SeatLeft)]
    assert [(each.player, each.why) for each in left] == [(table.names[1], LeftBecause.BLOCKED)]
    assert table.state.table.match is None
    assert table.memory.wallet(table.names[1]).cash == CASH
    table.does(table.names[3], commands.SitDown(SMALL.entry))
    assert any(isinstance(event, events.MatchOpened) for event in table.clock())


def test_a_pause_is_nobody_s_absence() -> None:
    """All are away; after a pause that lasts longer than the table waits for them, they are waited for anew (D16)."""
    table = Table(replace(SMALL, dead_minutes=1, pause_limit_seconds=3_600)).seated()
    while table.state.table.match.dead_since is None:
        table.clock()
    table.send("sue", Role.SUPERVISOR, commands.Pause("the lights went out"))
    table.now += 600 * SECOND
    table.send("sue", Role.SUPERVISOR, commands.Resume())
    assert table.state.table.match.dead_since is None
    table.clock()
    assert table.state.table.match is not None

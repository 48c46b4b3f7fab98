"""Gin Rummy: what a process needs the deck for, what is stored, and what can be proved."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from domain import fairness
from domain.cards import DECK, parse
from domain.decider import WALLET
from domain.game import SECOND, ResumeLog, Role, Viewer, fold, no_open
from domain.games.gin_rummy import commands, events, melds, proof, rules, state
from domain.games.gin_rummy.evolve import evolve
from domain.games.gin_rummy.rules import LeftBecause, Source
from domain.wallet import commands as wallet
from services.written_rounds import OPERATOR
from tests.domain.gin_table import CASH, GAME, SMALL, Table

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
    table.send("sue", Role.SUPERVISOR, commands.CancelRound("so"))
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
    """Two hands: one scored, with advice asked for; one that is on."""
    for number in range(100):
        table = Table(SMALL, f"played {number}").seated()
        who = table.state.round.roles
        table.does(who.captain, commands.AskAdvice())
        table.does(who.sitting_out, commands.SendAdvice("so"))
        if table.plays_hand().why is rules.EndedBy.KNOCK:
            break
    table.clock()
    table.does("ann", commands.GiveClientSeed("lucky"))
    table.clock()
    table.plays()
    return table


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
            assert shown == event
        else:
            sealed = getattr(shown, hidden[type(event)])
            assert (sealed.key, sealed.sealed) == ("", "")
            assert getattr(sealed, "hash", "") == getattr(getattr(event, hidden[type(event)]), "hash", "")


# --- What can be proved -------------------------------------------------------------------------------------------


def of_round(table: Table, round_id: str = "t.1") -> list[Any]:
    return [each.event for each in table.memory.log if each.stream == "table:t" and each.round == round_id]


def holding(story: list[Any]) -> dict[str, bool]:
    return {check.what: check.holds for check in GAME.reveals(OPERATOR, story).checks}


def test_a_hand_proves_itself_without_its_seed(played: Table) -> None:
    checks = holding(of_round(played))
    assert len(checks) == 2 + 4 + 3
    assert all(checks.values())
    seed = played.memory.open("t.1", played.state.round.seed)
    assert seed.hex() not in msgspec.json.encode(GAME.reveals(OPERATOR, of_round(played))).decode()
    assert len(holding(of_round(played, "t.2"))) == 2


def test_sgr_35_a_disputed_hand_replayed_has_the_same_stock_draws_and_arrangement(played: Table) -> None:
    story = of_round(played)
    [opened] = (event for event in story if isinstance(event, events.RoundOpened))
    deck = fairness.shuffle(played.memory.open("t.1", opened.seed), operator=OPERATOR, table="t", round="t.1")
    drawn = [event.place for event in story if isinstance(event, events.CardDrawn) and event.source is Source.STOCK]
    assert drawn == list(range(21, 21 + len(drawn)))
    [settled] = (event for event in story if isinstance(event, events.RoundSettled))
    assert all(deck.cards[each.index] is each.card for each in settled.openings)
    [scored] = (event for event in story if isinstance(event, events.RoundScored))
    hand = [card for meld in scored.knocker.melds for card in meld] + list(scored.knocker.deadwood)
    best = melds.best(hand)
    assert (best.melds, best.deadwood) == (scored.knocker.melds, scored.knocker.deadwood)


def forged(story: list[Any], kind: type, **changes: Any) -> list[Any]:
    return [replace(event, **changes) if isinstance(event, kind) else event for event in story]


def test_whatever_is_altered_afterwards_some_check_fails(played: Table) -> None:
    story = of_round(played)
    [opened] = (event for event in story if isinstance(event, events.RoundOpened))
    [scored] = (event for event in story if isinstance(event, events.RoundScored))
    [end] = (event for event in story if isinstance(event, events.RoundSettled))
    knocked = next(event for event in story if isinstance(event, events.Knocked))
    loser = next(each.player for each in end.results if not each.points and each.player != opened.match.players[0])
    salted = (replace(end.openings[0], salt="00" * 16), *end.openings[1:])
    more = tuple(replace(each, total=each.total + 1) for each in end.results)
    moved = tuple(replace(each, points=1 if each.player == loser else 0) for each in end.results)
    other = next(card for card in DECK if card not in {each.card for each in end.openings})
    unmelded = replace(scored.opponent, melds=(), deadwood=scored.opponent.deadwood, points=scored.opponent.points)
    for altered in (
        forged(story, events.RoundOpened, root="00" * 32),
        forged(story, events.RoundOpened, dealt=(opened.dealt[0],) * 2),
        forged(story, events.RoundOpened, upcard=other),
        forged(story, events.CardDrawn, place=30),
        forged(story, events.Knocked, card=other),
        forged(story, events.Knocked, place=knocked.place + 1),
        forged(story, events.RoundScored, points=scored.points + 1),
        forged(story, events.RoundScored, winner=loser, points=scored.points),
        forged(story, events.RoundScored, opponent=unmelded),
        forged(story, events.RoundScored, knocker=replace(scored.knocker, points=scored.knocker.points + 1)),
        forged(story, events.RoundScored, knocker=scored.opponent, opponent=scored.knocker),
        forged(story, events.RoundSettled, openings=salted),
        forged(story, events.RoundSettled, openings=end.openings[1:]),
        forged(story, events.RoundSettled, results=more),
        forged(story, events.RoundSettled, results=moved),
        forged(story, events.RoundSettled, roles=replace(end.roles, box=end.roles.captain, captain=end.roles.box)),
    ):
        assert not all(holding(altered).values())
    assert GAME.reveals(OPERATOR, []) is None


def lying(story: list[Any], knocker: events.Spread) -> bool:
    """Whether it holds that the knocker's hand lay so, with points and totals that agree with it."""
    [scored] = (event for event in story if isinstance(event, events.RoundScored))
    [end] = (event for event in story if isinstance(event, events.RoundSettled))
    more = scored.knocker.points - knocker.points
    gained = tuple(
        replace(each, points=each.points + more, total=each.total + more) if each.player == scored.winner else each
        for each in end.results
    )
    story = forged(story, events.RoundScored, knocker=knocker, points=scored.points + more)
    return all(holding(forged(story, events.RoundSettled, results=gained)).values())


def test_a_hand_that_is_not_laid_out_by_the_rules_is_found(played: Table) -> None:
    story = of_round(played)
    [scored] = (event for event in story if isinstance(event, events.RoundScored))
    lay = scored.knocker
    assert lying(story, lay)
    assert not lying(story, replace(lay, points=lay.points - 1))
    first, *others = lay.deadwood
    loose = replace(lay, melds=((*lay.melds[0], first), *lay.melds[1:]), deadwood=tuple(others))
    assert not lying(story, replace(loose, points=sum(map(melds.points, others))))
    assert not all(holding(forged(story, events.RoundOpened, limit=lay.points - 1)).values())


def test_a_card_laid_off_on_a_gin_is_found() -> None:
    run, kings = parse("As 2s 3s 4s 5s 6s 7s"), parse("Kh Kd Kc")
    gin = events.Spread("ann", (run, kings), (), 0)
    other = events.Spread("bob", (), parse("Qh"), 10, (events.LaidOff(parse("8s")[0], 0),))
    scored = events.RoundScored("t.1", rules.EndedBy.GIN, gin, other, "ann", 35)
    assert not proof.laid_out(scored, 10)
    assert proof.laid_out(replace(scored, opponent=replace(other, laid=())), 10)


def test_a_card_taken_from_the_pile_and_laid_there_again_as_another_is_found() -> None:
    table = Table().seated()
    captain, box = (each.player for each in table.state.round.players)
    [top] = table.state.round.pile
    table.does(captain, commands.Draw(Source.PILE))
    table.does(captain, commands.Discard(next(card for card in table.cards(captain) if card is not top.card)))
    table.does(box, commands.Draw(Source.STOCK))
    table.does(box, commands.Discard(table.cards(box)[0]))
    table.does(captain, commands.Draw(Source.STOCK), commands.Discard(top.card))
    story = of_round(table)
    assert all(holding(story).values())
    other = next(card for card in DECK if card.value not in msgspec.json.encode(story).decode())
    taken = next(at for at, event in enumerate(story) if isinstance(event, events.CardDrawn))
    for at in (taken, len(story) - 1):
        assert story[at].card is top.card
        altered = [*story[:at], replace(story[at], card=other), *story[at + 1 :]]
        assert not all(holding(altered).values())


def test_a_prize_that_is_altered_afterwards_is_found() -> None:
    table = Table(replace(SMALL, rake_bps=500)).seated()
    who = table.state.round.roles
    table.does(who.box, commands.LeaveTable())
    table.does(who.captain, commands.LeaveTable())
    story = of_round(table)
    [end] = (event for event in story if isinstance(event, events.MatchSettled))
    assert end.rake == 150
    assert all(holding(story).values())
    less = tuple(replace(each, won=max(0, each.won - 1)) for each in end.results)
    for altered in (
        forged(story, events.MatchSettled, rake=151, results=less),
        forged(story, events.MatchSettled, results=less),
        forged(story, events.MatchSettled, prize=end.prize + 1),
    ):
        assert not all(holding(altered).values())


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

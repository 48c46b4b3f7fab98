"""3 Patti: limits, who deals, what a process needs the deck for, what is stored, and what can be proved."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from domain import fairness
from domain.cards import DECK
from domain.decider import MarkFaulted
from domain.errors import Rejected
from domain.game import LATE, SECOND, ResumeLog, Role, TimeOut, Viewer, fold, no_open
from domain.games.three_patti import commands, deck, events, rules, state
from domain.games.three_patti.evolve import evolve
from domain.names import TABLE
from services.written_rounds import OPERATOR
from tests.domain.patti_table import GAME, SAMPLES, SMALL, Table
from tests.domain.staff import without_staff

ANYBODY = Viewer("nobody", Role.PLAYER)


# --- Limits that are not given ------------------------------------------------------------------------------------


def test_limits_that_are_not_given_follow_from_the_boot() -> None:
    """D10: 128 boots and 1,024 boots; D9: with the pot limit as buy-in nobody can be driven out by stakes."""
    config = rules.Config("INR", boot=1_000, chip=100)
    rules.check(config)
    limits = config.highest_stake, config.full_pot, config.least_buy_in, config.most_buy_in
    assert limits == (128_000, 1_024_000, 1_024_000, 10_240_000)
    assert rules.Config("INR", pot_limit=0).full_pot is None
    assert rules.Config("INR", boot=1_000, chip=1_000, pot_limit=7_500).least_buy_in == 8_000


@pytest.mark.parametrize(
    ("pot", "bps", "cap", "rake"),
    [(999, 100, None, 9), (1_000, 100, None, 10), (1_000, 100, 9, 9), (1_000, 0, 5, 0), (99, 100, None, 0)],
)
def test_rake_is_rounded_down_and_capped(pot: int, bps: int, cap: int | None, rake: int) -> None:
    assert rules.Config("INR", rake_bps=bps, rake_cap=cap).rake(pot) == rake


def settled(table: Table) -> events.RoundSettled:
    return next(event for event in reversed(table.events) if isinstance(event, events.RoundSettled))


def turn(table: Table) -> str:
    return table.state.round.at(table.state.seat).player


def acts(table: Table, *what: Any) -> None:
    """Whoever's turn it is does one after the other."""
    for each in what:
        table.does(turn(table), each)


def test_no_rake_is_taken_in_the_first_circuit_nor_of_what_goes_back() -> None:
    table = Table(replace(SMALL, rake_bps=1_000)).seated(200, 200, 200)
    acts(table, commands.Bet(20), commands.Fold(), commands.Fold())
    assert (settled(table).pot, settled(table).rake) == (50, 0)
    table.clock()
    table.clock()
    acts(table, commands.Bet(10), commands.Bet(10), commands.Bet(10))
    table.void(commands.CancelRound("void"))
    assert GAME.holdings(table.state) == 600
    table.clock()
    table.clock()
    acts(table, commands.Bet(10), commands.Bet(10), commands.Bet(10), commands.Fold(), commands.Fold())
    assert (settled(table).pot, settled(table).rake) == (60, 6)
    assert GAME.holdings(table.state) == 594


def test_of_equal_hands_at_a_short_show_the_one_who_asked_loses() -> None:
    """D9. The names of the tables are tried one after the other until two hands are equal."""
    for number in range(3_000):
        table = Table(SMALL, f"equal {number}").seated(100, 1_000, 1_000)
        on = table.state.round
        cards = deck.shuffled(on, table.memory.open)
        poor = on.of("ann")
        others = [each for each in on.players if each is not poor]
        equal = [each for each in others if worth(cards, each) == worth(cards, poor)]
        if equal and turn(table) == "ann":
            break
    rival = equal[0].player
    [gone] = (each.player for each in others if each.player != rival)
    acts(table, commands.Bet(20), commands.Bet(40), commands.Bet(80))
    table.does(gone, commands.LeaveTable())
    table.does("ann", commands.ShortShow())
    [winner] = (each for each in settled(table).results if each.won)
    assert (settled(table).why, winner.player) == (rules.EndedBy.SHORT_SHOW, rival)
    story, end = of_round(table), settled(table)
    assert all(holding(story).values())
    won = {"ann": end.pot}
    swapped = tuple(replace(each, won=won.get(each.player, 0)) for each in end.results)
    assert not all(holding(forged(story, events.RoundSettled, results=swapped)).values())


def worth(cards: fairness.Deck, player: Any) -> int:
    return deck.worth(deck.hand(cards, player))


# --- The dealer ---------------------------------------------------------------------------------------------------


def test_the_first_dealer_is_drawn_from_the_seed_of_the_hand_under_a_label_of_its_own() -> None:
    dealers = set[int]()
    for number in range(30):
        table = Table(SMALL, f"draw {number}").seated(200, 200, 200, 200)
        on = table.state.round
        seed = table.memory.open(on.id, on.seed)
        drawn = fairness.draw(seed, "dealer", 4, operator=OPERATOR, table="t", round="t.1")
        assert on.dealer.seat == drawn + 1
        assert table.state.seat == on.players[0].seat == on.dealer.seat % 4 + 1
        assert on.players[-1].seat == on.dealer.seat
        dealers.add(on.dealer.seat)
    assert dealers == {1, 2, 3, 4}


def test_cards_are_dealt_one_by_one_in_play_order() -> None:
    table = Table().seated(200, 200, 200)
    assert [each.cards for each in table.state.round.players] == [(0, 3, 6), (1, 4, 7), (2, 5, 8)]


# --- Who needs the deck ---------------------------------------------------------------------------------------------


def test_no_deck_is_opened_but_to_deal_to_compare_and_to_show() -> None:
    """Pause, cancel, refund and every bet go on in a process that holds no key."""
    table = Table(replace(SMALL, pot_limit=0)).seated(500, 500, 500)
    keyless: Any = table.memory
    keyless.open = no_open
    keyless.seal = no_seal
    acts(table, commands.SeeCards(), commands.Bet(20), commands.Bet(10), commands.SeeCards(), commands.Bet(20))
    acts(table, commands.SideShow())
    table.does(table.state.round.at(table.state.target).player, commands.AnswerSideShow(accept=False))
    with pytest.raises(LookupError):
        acts(table, commands.Fold(), commands.Show())
    table.send("sue", Role.SUPERVISOR, commands.Pause("so"))
    table.send("sue", Role.SUPERVISOR, commands.Resume())
    table.void(commands.CancelRound("so"))
    table.clock(ResumeLog(2))
    assert isinstance(table.state, state.Between)
    with pytest.raises(LookupError):
        table.clock()


def no_seal(_game: str, round_id: str) -> Any:
    raise LookupError(round_id)


def test_an_onlooker_s_view_and_the_view_of_a_blind_player_open_no_deck() -> None:
    table = Table().seated(200, 200, 200)
    for viewer in (ANYBODY, Viewer("ann", Role.PLAYER), Viewer("audrey", Role.AUDITOR), Viewer("sue", Role.SUPERVISOR)):
        GAME.view(table.state, viewer, (), no_open)
    acts(table, commands.SeeCards())
    with pytest.raises(LookupError):
        GAME.view(table.state, Viewer(turn(table), Role.PLAYER), (), no_open)
    GAME.view(table.state, ANYBODY, (), no_open)


# --- What is stored ---------------------------------------------------------------------------------------------------


@pytest.fixture
def played() -> Table:
    """Two hands: one to a show after a sideshow, one that is on."""
    table = Table(replace(SMALL, pot_limit=0)).seated(500, 500, 500)
    table.does("ann", commands.SitOut())
    acts(table, commands.SeeCards(), commands.Bet(20), commands.SeeCards(), commands.Bet(20))
    acts(table, commands.SeeCards(), commands.Bet(20), commands.SideShow())
    table.does(table.state.round.at(table.state.target).player, commands.AnswerSideShow(accept=True))
    acts(table, commands.Show())
    table.does("ann", commands.SitIn())
    table.does("dee", commands.SitDown(100))
    table.clock()
    table.does("ann", commands.GiveClientSeed("lucky"))
    table.clock()
    acts(table, commands.Bet(10))
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


def test_a_state_stays_small_whoever_comes_and_goes() -> None:
    table = Table()
    for number in range(200):
        table.now += SECOND
        left = events.SeatLeft(1, f"player-{number}", 10**12, rules.LeftBecause.ASKED, table.now, None)
        table.memory.streams[TABLE + "t"] = replace(table.memory.streams[TABLE + "t"], state=evolve(table.state, left))
    assert len(table.state.table.left) == rules.LEAVERS_MAX
    full = replace(table.seated(2_000, 2_000, 2_000, 2_000, 2_000, 2_000).state)
    assert len(full.table.seats) == 6
    assert len(msgspec.json.encode(full)) < 10_000


def test_what_hides_no_seed_is_shown_as_it_is() -> None:
    for event in SAMPLES:
        shown = GAME.public(event, ANYBODY)
        if '"sealed":' not in msgspec.json.encode(event).decode():
            assert shown == without_staff(event)
        else:
            assert shown.seed.hash == event.seed.hash
            assert (shown.seed.key, shown.seed.sealed) == ("", "")


def test_what_somebody_took_away_is_forgotten_in_time() -> None:
    table = Table().seated(200, 200, 200)
    acts(table, commands.Fold(), commands.Fold())
    gone, now = table.state.table.seats[0].player, table.now
    table.does(gone, commands.LeaveTable())
    table.does("dee", commands.SitDown(200))
    table.clock()
    table.now = now + rules.RETURN_WITHIN - 1
    assert [left.player for left in deck.opened(table.state.table, table.context("platform")).left] == [gone]
    table.now += 1
    assert deck.opened(table.state.table, table.context("platform")).left == ()


# --- What can be proved -------------------------------------------------------------------------------------------


def of_round(table: Table, round_id: str = "t.1") -> list[Any]:
    return [each.event for each in table.memory.log if each.stream == TABLE + "t" and each.round == round_id]


def holding(story: list[Any]) -> dict[str, bool]:
    return {check.what: check.holds for check in GAME.reveals(OPERATOR, story).checks}


def test_a_hand_proves_itself_without_its_seed(played: Table) -> None:
    checks = holding(of_round(played))
    assert len(checks) == 1 + 6 + 6
    assert all(checks.values())
    seed = played.memory.open("t.1", played.state.round.seed)
    assert seed.hex() not in msgspec.json.encode(GAME.reveals(OPERATOR, of_round(played))).decode()
    assert len(holding(of_round(played, "t.2"))) == 1


def forged(story: list[Any], kind: type, **changes: Any) -> list[Any]:
    return [replace(event, **changes) if isinstance(event, kind) else event for event in story]


def test_whatever_is_altered_afterwards_some_check_fails(played: Table) -> None:
    story = of_round(played)
    [opened] = (event for event in story if isinstance(event, events.RoundOpened))
    [shown] = (event for event in story if isinstance(event, events.HandsShown))
    [end] = (event for event in story if isinstance(event, events.RoundSettled))
    one, two = shown.hands
    other = next(card for card in DECK if card not in (*one.cards, *two.cards))
    salted = replace(one.openings[0], salt="00" * 16)
    swapped = tuple(replace(each, won=end.pot - each.won if each.cards else 0) for each in end.results)
    raked = tuple(replace(each, won=max(0, each.won - 1)) for each in end.results)
    for altered in (
        forged(story, events.RoundSettled, rake=1, results=raked),
        forged(story, events.RoundOpened, root="00" * 32),
        forged(story, events.RoundOpened, dealt=(opened.dealt[0],) * 3),
        forged(story, events.HandsShown, hands=(replace(one, cards=(other, *one.cards[1:])), two)),
        forged(story, events.HandsShown, hands=(replace(one, cards=one.cards[:1] * 3), replace(two, cards=one.cards))),
        forged(story, events.HandsShown, hands=(one, replace(two, cards=two.cards[:1] * 3))),
        forged(story, events.HandsShown, hands=(replace(one, openings=(salted, *one.openings[1:])), two)),
        forged(story, events.HandsShown, hands=(replace(one, seat=two.seat), replace(two, seat=one.seat))),
        forged(story, events.RoundSettled, pot=end.pot + 1),
        forged(story, events.RoundSettled, rake=1),
        forged(story, events.RoundSettled, results=swapped),
    ):
        assert not all(holding(altered).values())
    assert GAME.reveals(OPERATOR, []) is None


# --- The clock ----------------------------------------------------------------------------------------------------


def test_a_closed_table_waits_for_nothing_and_a_table_never_opened_neither() -> None:
    closed = evolve(Table().state, events.TableClosed())
    assert (GAME.deadline(closed), GAME.deadline(state.INITIAL)) == (None, None)
    with pytest.raises(Rejected, match="TableNotOpen"):
        GAME.decide(state.INITIAL, commands.CloseTable(), Table().context("ops", Role.OPERATOR))


def test_s3p_35_nothing_happens_to_a_player_off_turn_until_his_own_turn_times_out() -> None:
    table = Table().seated(200, 200, 200)
    first = turn(table)
    table.now += 19 * SECOND
    assert table.clock(TimeOut()).events == ()
    acts(table, commands.Bet(10))
    assert turn(table) != first
    table.clock()
    table.clock()
    assert [each.player for each in table.state.round.players if each.folded] == [table.state.round.players[1].player]


def test_whatever_a_player_does_himself_begins_the_count_of_time_outs_anew() -> None:
    """Two in a row, and he is sat out (D16)."""
    table = Table(replace(SMALL, time_bank_seconds=0)).seated(500, 500, 500)
    missing = turn(table)
    for does_something in (False, True):
        while turn(table) != missing:
            acts(table, commands.Bet(table.state.round.stake))
        if does_something:
            acts(table, commands.SeeCards())
        table.clock()
        acts(table, commands.Fold())
        assert table.state.table.seat_of(missing).out_since is None
        table.clock()
        table.clock()
    while turn(table) != missing:
        acts(table, commands.Bet(table.state.round.stake))
    table.clock()
    acts(table, commands.Fold())
    assert table.state.table.seat_of(missing).out_since == table.now


def test_downtime_gives_the_one_to_answer_the_time_again() -> None:
    table = Table(replace(SMALL, pot_limit=0)).seated(500, 500, 500)
    for _ in range(3):
        acts(table, commands.SeeCards(), commands.Bet(20))
    acts(table, commands.SideShow())
    table.now = table.state.due + LATE + 1
    [extended] = table.clock(TimeOut()).events
    assert extended.event.due == table.now + 10 * SECOND
    [refused, *_] = table.clock().events
    assert (refused.event.why, table.state.seat) == (rules.Because.TIMED_OUT, table.state.round.players[1].seat)


def test_the_time_of_a_hand_begins_anew_after_a_fault_of_the_clock() -> None:
    table = Table().seated(200, 200, 200)
    table.clock(MarkFaulted("failed"))
    table.now += 3_600 * SECOND
    table.send("sue", Role.SUPERVISOR, commands.Resume())
    assert table.state.due == table.now + 20 * SECOND


# --- At the limit -------------------------------------------------------------------------------------------------


def test_a_stack_of_exactly_the_least_bet_covers_it() -> None:
    """S3P.31: a short show is for less than that."""
    table = Table(replace(SMALL, buy_in_min=10, pot_limit=0)).seated(90, 90, 90)
    acts(table, commands.Bet(20), commands.Bet(40), commands.SeeCards())
    poor = turn(table)
    table.does(next(each.player for each in table.state.round.players), commands.LeaveTable())
    assert table.refuses(poor, commands.ShortShow()) == "ChipsSuffice"
    acts(table, commands.Bet(80))
    assert table.state.table.seat_of(poor).stack == 0


def test_a_stack_of_exactly_the_boot_is_dealt_in() -> None:
    table = Table(replace(SMALL, buy_in_min=10, pot_limit=0)).seated(20, 20, 20)
    acts(table, commands.Fold(), commands.Fold())
    assert not any(isinstance(event, events.SatOut) for event in table.events)
    table.clock()
    table.clock()
    assert sorted(seat.stack for seat in table.state.table.seats) == [0, 0, 30]
    assert {each.command for each in table.view(turn(table)).allowed} & {"Fold", "Bet", "ShortShow"} == {"Fold"}

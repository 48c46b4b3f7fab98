"""3 Patti under whatever may come: what is allowed, money, replay, and that a table never hangs."""

import random
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from domain.game import LATE, Brought, PaidIn, PaidOut, Role, TimeOut, fold
from domain.games.three_patti import commands, events
from domain.games.three_patti.state import Answering, Between, Closed, Ending, Paused, Turn
from domain.names import TABLE
from services.written_rounds import OPERATOR
from tests.domain.patti_table import ANYTHING, CASH, GAME, NAMES, SAMPLES, Table, story, whose_turn

STORIES = 25


def told(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# --- Allowed is what decide accepts -----------------------------------------------------------------------------------


def probes(table: Table, entries: tuple[Any, ...]) -> Iterator[tuple[Any, bool]]:
    """Commands of every kind, inside and just outside of what is listed, and whether they are open."""
    now = [e for e in entries if (e.since or 0) <= table.now and (e.until is None or table.now < e.until)]
    listed = {each.command: each for each in now}
    assert len(listed) == len(now)
    for command in ANYTHING:
        if not hasattr(command, "amount") and getattr(command, "round", None) is None:
            yield command, type(command).__name__ in listed
    for kind in (commands.Bet, commands.TopUp, commands.SitDown):
        entry = listed.get(kind.__name__)
        if entry is None:
            for amount in (1, 10, 20, 40, 100, 160, 800, 4_000):
                yield kind(amount), False
            continue
        least, most, step = entry.min, entry.max, entry.step
        inside = {least, most, least + (most - least) // step // 2 * step}
        outside = {least - step, least - 1, most + 1, most + step, *({least + 1} if step > 1 else ())} - {0, -1}
        for amount in inside | {amount for amount in outside if amount > 0}:
            yield kind(amount), amount in inside
        for seat in range(1, 7) if entry.seats else ():
            yield commands.SitDown(least, seat), seat in entry.seats


def probe(table: Table, chance: random.Random, *_: Any) -> None:
    for name in {whose_turn(table.state) or "ann", chance.choice(NAMES)}:
        entries = table.view(name).allowed
        for command, is_open in probes(table, entries):
            rule = table.refuses(name, command)
            assert (rule is None) == is_open, f"{name} {command}: {rule}, listed: {entries}"
        for entry in entries:
            if entry.pays is not None:
                pays_as_listed(table, name, entry)


def pays_as_listed(table: Table, name: str, entry: Any) -> None:
    decision = GAME.decide(table.state, getattr(commands, entry.command)(), table.context(name))
    first = decision.events[0]
    if isinstance(first, events.SideShowAsked):
        assert (entry.pays, entry.target) == (first.amount, first.target)
    else:
        asker = table.view(name).you
        paid = {each.seat: each.amount for each in first.payments}
        assert paid.pop(asker, 0) == entry.pays
        assert sum(paid.values()) == (entry.other_pays or 0)


def test_decide_accepts_exactly_what_allowed_lists() -> None:
    for seed in range(STORIES):
        story(1_000 + seed, 150, probe)


# --- Money, replay, and that the table never hangs --------------------------------------------------------------------


def test_what_events_say_of_chips_accounts_for_every_change_at_the_table() -> None:
    for seed in range(STORIES):
        state, paid, at = GAME.initial, {}, {}
        for event in story(3_000 + seed, 150, lambda *_: None).events:
            before, told = GAME.holdings(state), GAME.chips(event)
            state = GAME.evolve(state, event)
            brought = sum(each.amount for each in told if isinstance(each, Brought))
            assert GAME.holdings(state) == before + brought - GAME.rake(event)
            for each in told:
                if isinstance(each, PaidIn):
                    player = at.setdefault(each.spot, each.player)
                    paid[player] = paid.get(player, 0) + each.amount
            if ended := {each.player: each.payout for each in told if isinstance(each, PaidOut)}:
                assert {player: payout.staked for player, payout in ended.items()} == paid
                assert sum(paid.values()) == GAME.rake(event) + sum(payout.returned for payout in ended.values())
                assert {payout.spot: player for player, payout in ended.items()} == at
                paid, at = {}, {}
            on = state.round if GAME.round(state) and not isinstance(state, Paused) else None
            if on is not None:
                assert {each.player: each.paid for each in on.players} == paid


def check(table: Table, chance: random.Random, *_: Any) -> None:
    assert table.money() == len(NAMES) * CASH
    state = table.state
    assert all(seat.stack >= 0 for seat in state.table.seats)
    stored = told(state)
    assert msgspec.json.decode(stored, type=GAME.states) == state
    assert not isinstance(state, Ending)
    if chance.random() < 0.1:
        gets_on(table)
    if chance.random() < 0.02:
        opening = [at for at, event in enumerate(table.events) if isinstance(event, events.RoundOpened)]
        log = [msgspec.json.decode(told(event), type=GAME.events) for event in table.events]
        assert fold(GAME.evolve, GAME.initial, log) == state
        if opening:
            assert fold(GAME.evolve, GAME.initial, log[opening[-1] :]) == state
        for event in SAMPLES:
            after = GAME.evolve(state, event)
            assert msgspec.json.decode(told(after), type=GAME.states) == after


def gets_on(table: Table) -> None:
    """Left to the clock alone, with one supervisor who resumes what waits for one, every hand comes to its end."""
    state, now = table.state, table.now
    rounds = {GAME.round(state)}
    for _ in range(40):
        due = GAME.deadline(state)
        if isinstance(state, Paused) and due is None:
            command, role = commands.Resume(), Role.SUPERVISOR
        elif due is None:
            assert isinstance(state, Closed) or (isinstance(state, Between) and len(state.table.ready) < 3)
            break
        else:
            command, role, now = TimeOut(), Role.CLOCK, max(now, due)
        context = replace(table.context("platform", role), now=now)
        decided = GAME.decide(state, command, context)
        assert decided.events, f"the clock does nothing about {state}"
        state = fold(GAME.evolve, state, decided.events)
        rounds.add(GAME.round(state))
    else:
        assert len(rounds - {None}) > 1, f"hangs in {state}"


def test_money_is_conserved_replay_is_exact_and_every_state_leads_on() -> None:
    for seed in range(STORIES):
        table = story(2_000 + seed, 250, check)
        for each in {each.round for each in table.memory.log if each.round}:
            of_round = [e.event for e in table.memory.log if e.round == each and e.stream == TABLE + "t"]
            reveal = GAME.reveals(OPERATOR, of_round)
            assert all(c.holds for c in reveal.checks), reveal


def test_a_time_out_sent_early_or_twice_does_nothing() -> None:
    def early(table: Table, *_: Any) -> None:
        due = GAME.deadline(table.state)
        if due is None or table.now < due:
            assert GAME.decide(table.state, TimeOut(), table.context("platform", Role.CLOCK)).events == ()

    for seed in range(10):
        story(3_000 + seed, 200, early)


def test_a_time_out_that_comes_late_gives_the_time_again_once() -> None:
    def late(table: Table, *_: Any) -> None:
        if not isinstance(table.state, Turn | Answering) or table.state.extended:
            return
        context = replace(table.context("platform", Role.CLOCK), now=table.state.due + LATE + 1)
        [extended] = GAME.decide(table.state, TimeOut(), context).events
        assert isinstance(extended, events.DeadlineExtended)
        after = GAME.evolve(table.state, extended)
        context = replace(context, now=after.due + LATE + 1)
        acts = GAME.decide(after, TimeOut(), context).events
        assert not any(isinstance(event, events.DeadlineExtended) for event in acts)

    for seed in range(5):
        story(4_000 + seed, 200, late)

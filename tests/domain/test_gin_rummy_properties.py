"""Gin Rummy under whatever may come: what is allowed, money, replay, and that a table never hangs."""

import random
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from domain import fairness
from domain.cards import DECK
from domain.game import LATE, Role, TimeOut, fold
from domain.games.gin_rummy import commands, events, melds
from domain.games.gin_rummy.rules import Source
from domain.games.gin_rummy.state import Acting, Between, Closed, Discarding, Ending, LayingOff, Paused, RolesDrawn
from domain.names import TABLE
from services.written_rounds import OPERATOR
from tests.domain.gin_table import CASH, GAME, NAMES, Table, story, whose_turn

GOLDEN = Path(__file__).parents[1] / "golden" / "gin_rummy"
SAMPLES = [
    msgspec.json.decode(line, type=GAME.events)
    for file in sorted(GOLDEN.glob("*.json"))
    for line in file.read_text().splitlines()
]
"""Events of each type and shape, for evolve to bear in any state."""

STORIES = 20


def told(value: Any) -> str:
    return msgspec.json.encode(value).decode()


@pytest.fixture(autouse=True)
def _decks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same deck is shuffled for every look: here it is kept, as a process that deals keeps it."""
    monkeypatch.setattr(fairness, "shuffle", lru_cache(maxsize=64)(fairness.shuffle))


# --- Allowed is what decide accepts -----------------------------------------------------------------------------------


def probes(table: Table, name: str, entries: tuple[Any, ...], chance: random.Random) -> Iterator[tuple[Any, bool]]:
    """Commands of every kind, with every card that is listed and some that are not, and whether they are open."""
    listed = {each.command: each for each in entries}
    assert len(listed) == len(entries)
    for command in (
        commands.Decline(), commands.LayDown(), commands.AskAdvice(), commands.SendAdvice("so"),
        commands.LeaveTable(), commands.GiveClientSeed("lucky"),
    ):  # fmt: skip
        yield command, type(command).__name__ in listed
    for source in Source:
        yield commands.Draw(source), "Draw" in listed and source in listed["Draw"].sources
    for amount in {1, 999, table.state.table.config.entry}:
        yield commands.SitDown(amount), "SitDown" in listed and amount == listed["SitDown"].amount
    hand = table.cards(name) if whose_turn(table.state) == name else ()
    cards = (*hand, *chance.sample(DECK, 4))
    knocks = {each.card: each.deadwood for each in listed["Knock"].knocks} if "Knock" in listed else {}
    lays = {(each.card, each.meld) for each in listed["LayOff"].lays} if "LayOff" in listed else set()
    for card in cards:
        yield commands.Discard(card), "Discard" in listed and card in listed["Discard"].cards
        yield commands.Knock(card), card in knocks
        for meld in range(3):
            yield commands.LayOff(card, meld), (card, meld) in lays


def probe(table: Table, chance: random.Random, *_: Any) -> None:
    for name in {whose_turn(table.state) or "ann", chance.choice(NAMES)}:
        entries = table.view(name).allowed
        for command, is_open in probes(table, name, entries, chance):
            rule = table.refuses(name, command)
            assert (rule is None) == is_open, f"{name} {command}: {rule}, listed: {entries}"
        if chance.random() < 0.3:
            leaves_what_is_listed(table, name, entries)
    if isinstance(table.state, Discarding) and chance.random() < 0.2:
        declares(table, chance)
    if isinstance(table.state, LayingOff):
        lays_down(table)


def declares(table: Table, chance: random.Random) -> None:
    """Melds that a player declares are judged as they are, whatever would have been best (D12)."""
    state = table.state
    if state.table.contender(state.player).forfeited:
        return
    card = chance.choice([each for each in table.cards(state.player) if each is not state.taken])
    rest = [each for each in table.cards(state.player) if each is not card]
    best = melds.best(rest)
    for chosen in (best.melds, best.melds[1:], ()):
        left = [each for each in rest if not any(each in meld for meld in chosen)]
        fits = sum(map(melds.points, left)) <= state.round.limit
        assert table.refuses(state.player, commands.Knock(card, chosen)) == (None if fits else "OverKnockLimit")
    for meld in best.melds:
        assert table.refuses(state.player, commands.Knock(card, (meld, meld))) == "FalseMelds"
        other = next(each for each in DECK if each not in rest)
        assert table.refuses(state.player, commands.Knock(card, ((*meld[1:], other),))) == "NotHeld"


def lays_down(table: Table) -> None:
    """So are those of one who lays down himself, of the cards that he has not laid off (D13)."""
    state = table.state
    if state.table.contender(state.player).forfeited:
        return
    laid = [each.card for each in state.laid]
    rest = [each for each in table.cards(state.player) if each not in laid]
    best = melds.best(rest)
    for chosen in (best.melds, best.melds[1:], ()):
        assert table.refuses(state.player, commands.LayDown(chosen)) is None
    for meld in best.melds:
        assert table.refuses(state.player, commands.LayDown((meld, meld))) == "FalseMelds"
    for not_mine in (*state.knocker.melds, *((card, *rest[:2]) for card in laid)):
        assert table.refuses(state.player, commands.LayDown((not_mine,))) == "NotHeld"
    for card in laid:
        assert table.refuses(state.player, commands.LayOff(card, 0)) == "NotHeld"


def leaves_what_is_listed(table: Table, name: str, entries: tuple[Any, ...]) -> None:
    """A knock that is listed leaves as much unmatched as is listed with it, and gin is what leaves nothing."""
    for each in (knock for entry in entries for knock in entry.knocks):
        [knocked, *then] = GAME.decide(table.state, commands.Knock(each.card), table.context(name)).events
        assert knocked.spread.points == knocked.least == each.deadwood
        gin = [event.why for event in then if isinstance(event, events.RoundScored)] == ["gin"]
        assert gin == (each.deadwood == 0)


@pytest.mark.slow
def test_decide_accepts_exactly_what_allowed_lists() -> None:
    for seed in range(STORIES):
        story(1_000 + seed, 150, probe)


# --- Money, replay, and that the table never hangs --------------------------------------------------------------------


def check(table: Table, chance: random.Random, *_: Any) -> None:
    assert table.money() == len(NAMES) * CASH
    state = table.state
    assert GAME.holdings(state) >= 0
    stored = told(state)
    assert msgspec.json.decode(stored, type=GAME.states) == state
    assert not isinstance(state, Ending | RolesDrawn)
    if chance.random() < 0.05:
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
    """Left to the clock alone, with one supervisor who resumes what waits for one, every match comes to its end."""
    state, now = table.state, table.now
    for _ in range(400):
        due = GAME.deadline(state)
        if isinstance(state, Paused) and due is None:
            command, role = commands.Resume(), Role.SUPERVISOR
        elif due is None:
            assert isinstance(state, Closed) or (isinstance(state, Between) and not state.table.ready)
            return
        else:
            command, role, now = TimeOut(), Role.CLOCK, max(now, due)
        context = replace(table.context("platform", role), now=now)
        decided = GAME.decide(state, command, context)
        assert decided.events, f"the clock does nothing about {state}"
        state = fold(GAME.evolve, state, decided.events)
    raise AssertionError(f"hangs in {state}")


def test_money_is_conserved_replay_is_exact_and_every_state_leads_on() -> None:
    for seed in range(STORIES):
        table = story(2_000 + seed, 250, check)
        for each in {each.round for each in table.memory.log if each.round}:
            of_round = [e.event for e in table.memory.log if e.round == each and e.stream == TABLE + "t"]
            reveal = GAME.reveals(OPERATOR, of_round)
            assert all(c.holds for c in reveal.checks), reveal
        for number in range(1, table.state.table.matches + 1):
            reveal = GAME.reveals_match(OPERATOR, table.of_match(number))
            assert reveal.rounds, reveal
            assert all(c.holds for c in reveal.checks), reveal


def test_every_match_is_paid_out_to_the_last_unit_to_whom_the_rules_say() -> None:
    ends = set[str]()

    def paid_out(table: Table, _chance: Any, _actor: str, _command: Any, count: int) -> None:
        for each in table.memory.log[count:]:
            match each.event:
                case events.MatchSettled(results=results, rake=rake, prize=prize, why=why):
                    assert sum(result.won for result in results) + rake == prize
                    assert sum(result.paid for result in results) == prize
                    ends.add(why)
                case events.MatchRefunded(results=results):
                    assert all(result.won == result.paid for result in results)
                    ends.add("refunded")
                case _:
                    pass

    for seed in range(20):
        story(5_000 + seed, 250, paid_out)
    assert ends >= {"target", "forfeits", "refunded"}


def test_a_time_out_sent_early_or_twice_does_nothing() -> None:
    def early(table: Table, *_: Any) -> None:
        due = GAME.deadline(table.state)
        if due is None or table.now < due:
            assert GAME.decide(table.state, TimeOut(), table.context("platform", Role.CLOCK)).events == ()

    for seed in range(10):
        story(3_000 + seed, 200, early)


def test_a_time_out_that_comes_late_gives_the_time_again_once() -> None:
    """But not to one who has forfeited: nobody waits for him."""

    def late(table: Table, *_: Any) -> None:
        state = table.state
        if not isinstance(state, Acting) or state.extended:
            return
        context = replace(table.context("platform", Role.CLOCK), now=state.due + LATE + 1)
        told_events = GAME.decide(state, TimeOut(), context).events
        gone = state.table.contender(state.player).forfeited
        assert isinstance(told_events[0], events.DeadlineExtended) != gone
        if not gone:
            after = GAME.evolve(state, told_events[0])
            time = state.table.config.laying_off if isinstance(state, LayingOff) else state.table.config.turn
            assert after.due == context.now + time
            context = replace(context, now=after.due + LATE + 1)
            acts = GAME.decide(after, TimeOut(), context).events
            assert not any(isinstance(event, events.DeadlineExtended) for event in acts)

    for seed in range(5):
        story(4_000 + seed, 200, late)

"""3 Patti under whatever may come: many random hands, with every viewer looking on after every event.

Who may know which card is told here once more, by a model that knows neither the game's state nor its views.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from domain import fairness
from domain.cards import Card
from domain.decider import TABLE, WALLET
from domain.errors import Rejected
from domain.game import LATE, Game, Role, TimeOut, Viewer, fold
from domain.games.three_patti import commands, events
from domain.games.three_patti.rules import EndedBy, SeenBecause
from domain.games.three_patti.state import Answering, Between, Closed, Ending, Paused, Turn
from services.written_rounds import OPERATOR, Memory
from tests.domain.patti_table import ANYTHING, CASH, GAME, NAMES, Table, move, some_config, whose_turn

GOLDEN = Path(__file__).parents[1] / "golden" / "three_patti"
SAMPLES = [
    msgspec.json.decode(line, type=GAME.events)
    for file in sorted(GOLDEN.glob("*.json"))
    for line in file.read_text().splitlines()
]
"""Events of each type and shape, for evolve to bear in any state."""

HANDS_WATCHED = 2_000
STORIES = 40


def told(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# --- Cards: who may know what ---------------------------------------------------------------------------------------

VIEWERS = (
    *(Viewer(name, Role.PLAYER) for name in NAMES),
    Viewer("onlooker", Role.PLAYER),
    Viewer("sue", Role.SUPERVISOR),
    Viewer("audrey", Role.AUDITOR),
    Viewer("ops", Role.OPERATOR),
)
CARD = re.compile(r'"([2-9TJQKA][shdc])"')
HEX = re.compile(r"[0-9a-f]{32,}")


class Knowledge:
    """What each viewer may know of the hand that is on, or else of the last one. It reads commands, and of the events
    only what they say of folding and showing."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.known: dict[str, set[str]] = {}
        self.public: set[str] = set()
        self.hands: dict[str, set[str]] = {}
        self.in_hand: dict[int, str] = {}
        self.secrets: set[str] = set()
        """Seeds and salts that nobody may be told."""

    def learn(self, event: Any, actor: str, command: Any) -> None:
        match event:
            case events.RoundOpened():
                self._dealt(event)
            case events.CardsSeen(why=SeenBecause.ASKED):
                assert isinstance(command, commands.SeeCards)
                assert self.in_hand[event.seat] == actor
                self._knows(actor, actor)
            case events.CardsSeen():
                self._knows(self.in_hand[event.seat], self.in_hand[event.seat])
            case events.SideShowResolved():
                assert command == commands.AnswerSideShow(accept=True, round=command.round)
                assert self.in_hand[event.target] == actor
                both = self.in_hand[event.seat], self.in_hand[event.target]
                self._knows(*both)
                self._knows(*reversed(both))
                del self.in_hand[event.folded]
            case events.Folded():
                del self.in_hand[event.seat]
            case events.HandsShown():
                self._shown(event)
            case events.RoundSettled() | events.RoundRefunded():
                for name in self.hands:
                    self._knows(name, name)
            case _:
                pass

    def _dealt(self, event: events.RoundOpened) -> None:
        seed = self.memory.seeds[event.seed.sealed]
        where = {"operator": OPERATOR, "table": "t", "round": event.round}
        deck = fairness.shuffle(seed, **where, client_seeds=event.client_seeds)
        assert deck.root == event.root
        self.deck, self.public, self.known = deck, set(), {}
        self.hands = {each.player: {deck.cards[at].value for at in each.cards} for each in event.dealt}
        assert sum(map(len, self.hands.values())) == len(set().union(*self.hands.values())) == 3 * len(event.dealt)
        self.in_hand = {each.seat: each.player for each in event.dealt}
        self.secrets = {*(salt.hex() for salt in deck.salts), *(s.hex() for s in self.memory.seeds.values())}

    def _knows(self, viewer: str, whose: str) -> None:
        self.known.setdefault(viewer, set()).update(self.hands[whose])

    def _shown(self, event: events.HandsShown) -> None:
        assert {each.seat for each in event.hands} == set(self.in_hand)
        assert event.why is EndedBy.POT_LIMIT or len(event.hands) == 2
        for each in event.hands:
            assert set(each.cards) == self.hands[each.player]
            self.public |= set(each.cards)
            self.secrets -= {opening.salt for opening in each.openings}

    def of(self, viewer: Viewer) -> set[str]:
        own = self.known.get(viewer.actor, set[str]()) if viewer.role is Role.PLAYER else set[str]()
        return self.public | own


class Watch:
    """Looks at all that is stored after every event, and with the eyes of some three viewers at what is shown."""

    def __init__(self, table: Table, game: Game[Any, Any, Any]) -> None:
        self.table, self.game = table, game
        self.knowledge = Knowledge(table.memory)
        self.state: Any = game.initial
        self.hands = 0
        self.chance = random.Random(0)

    def take(self, recorded: list[Any], actor: str, command: Any) -> None:
        for each in recorded:
            event = each.event
            if each.stream == TABLE + "t":
                self.state = self.game.evolve(self.state, event)
                self.knowledge.learn(event, actor, command)
                self.look(event)
            else:
                self.check(told(event), set(), "a wallet")

    def look(self, event: Any) -> None:
        self.hands += isinstance(event, events.RoundSettled | events.RoundRefunded)
        self.check(told(event), self.knowledge.public, "the log")
        self.check(told(self.state), self.knowledge.public, "the stored state")
        self.check(told(self.game.about(self.state)), set(), "the table's particulars")
        for viewer in self.chance.sample(VIEWERS, 3):
            may_know = self.knowledge.of(viewer)
            shown = told(self.game.public(event, viewer))
            view = told(self.game.view(self.state, viewer, (), self.table.memory.open))
            self.check(shown, may_know, f"{viewer.actor}'s event")
            seen = self.check(view, may_know, f"{viewer.actor}'s view")
            over = _hand_of(self.state) is None  # a closed table shows no hand any more
            assert seen == may_know or over or viewer.role is not Role.PLAYER, f"{viewer.actor} sees too little: {view}"
            assert '"sealed-' not in shown + view, "a sealed seed is shown"
            if viewer.role is Role.PLAYER:
                history = self.game.hands(self.state, viewer, self.table.memory.open)
                assert over or set().union(*history.values()) == may_know

    def check(self, text: str, may_know: set[str], where: str) -> set[str]:
        named = set(CARD.findall(text))
        assert named <= may_know, f"{where} names {named - may_know}: {text}"
        assert not self.knowledge.secrets.intersection(HEX.findall(text)), f"{where} holds a seed or salt: {text}"
        return named


def story(
    seed: int, steps: int, game: Game[Any, Any, Any] = GAME, *, each: Callable[[Table, random.Random], None] | None = None
) -> tuple[Table, Watch]:
    """Somebody does something, again and again; `each` is asked after every step."""
    chance = random.Random(seed)
    table = Table(some_config(chance), f"story {seed}")
    watch = Watch(table, game)
    watch.take(table.memory.log, "operator", None)
    for step in range(steps):
        actor, role, command = move(table, chance)
        before, count = table.state, len(table.memory.log)
        try:
            table.send(actor, role, command)
        except Rejected as refused:
            assert table.state == before
            assert len(table.memory.log) == count
            watch.check(told(refused.facts), set(), "a refusal")
        if each is None:
            try:
                watch.take(table.memory.log[count:], actor, command)
            except AssertionError as problem:
                problem.add_note(f"in story {seed}, step {step}: {actor} {command}")
                raise
        else:
            each(table, chance)
    return table, watch


@pytest.fixture
def _decks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same deck is shuffled for every look: here it is kept, as a process that deals keeps it."""
    monkeypatch.setattr(fairness, "shuffle", lru_cache(maxsize=64)(fairness.shuffle))


@pytest.mark.usefixtures("_decks_are_kept")
def test_nothing_stored_or_shown_names_a_card_that_its_reader_may_not_know() -> None:
    """Thousands of hands; and nobody sees less than he may."""
    hands, kinds, seed = 0, Counter[str](), 0
    while hands < HANDS_WATCHED:
        table, watch = story(seed, 400)
        hands += watch.hands
        seed += 1
        kinds.update(type(event).__name__ for event in table.events)
    never = {kind.__name__ for kind in GAME.events.__args__} - set(kinds)
    assert not never, kinds
    assert kinds["SideShowResolved"] > 200, kinds
    assert kinds["HandsShown"] > 200, kinds


def leak_own(state: Any, viewer: Viewer, known: dict[str, Any], deck: Any, on: Any) -> dict[str, Any]:
    """A blind player's own hand."""
    return known | {p.player: deck(p) for p in on.players if p.player == viewer.actor}


def leak_folded(state: Any, viewer: Viewer, known: dict[str, Any], deck: Any, on: Any) -> dict[str, Any]:
    """A folded hand."""
    return known | {p.player: deck(p) for p in on.players if p.folded}


def leak_winner(state: Any, viewer: Viewer, known: dict[str, Any], deck: Any, on: Any) -> dict[str, Any]:
    """The hand of one who won because all others folded."""
    last = state.last.results if isinstance(state, Between) else ()
    return known | {p.player: deck(p) for p in on.players for each in last if each.won and each.player == p.player}


def leak_sideshow(state: Any, viewer: Viewer, known: dict[str, Any], deck: Any, on: Any) -> dict[str, Any]:
    """The hands of a sideshow, to a third."""
    return known | {p.player: deck(p) for p in on.players for pair in on.compared if p.seat in pair}


def leak_to_staff(state: Any, viewer: Viewer, known: dict[str, Any], deck: Any, on: Any) -> dict[str, Any]:
    return known if viewer.role is Role.PLAYER else known | {p.player: deck(p) for p in on.players}


@pytest.mark.parametrize("leak", [leak_own, leak_folded, leak_winner, leak_sideshow, leak_to_staff])
@pytest.mark.usefixtures("_decks_are_kept")
def test_a_view_that_shows_one_hand_too_many_is_found(leak: Any) -> None:
    def view(state: Any, viewer: Viewer, bets: Any, opens: Any) -> Any:
        shown, on = GAME.view(state, viewer, bets, opens), _hand_of(state)
        if on is None:
            return shown
        seed = {"operator": OPERATOR, "table": "t", "round": on.id, "client_seeds": on.client_seeds}
        deck = fairness.shuffle(opens(on.id, on.seed), **seed)
        hands = leak(state, viewer, {}, lambda p: tuple(deck.cards[at] for at in p.cards), on)
        return {"view": shown, "planted": hands}

    with pytest.raises(AssertionError, match="names"):
        for seed in range(20):
            story(seed, 400, replace(GAME, view=view))


def _hand_of(state: Any) -> Any:
    on = state.was if isinstance(state, Paused) else state
    if isinstance(on, Between):
        return on.last.round if on.last else None
    return getattr(on, "round", None)


@pytest.mark.parametrize("what", ["card in an event", "sealed seed", "seed in clear", "salt", "card in the state"])
@pytest.mark.usefixtures("_decks_are_kept")
def test_an_event_or_state_that_tells_too_much_is_found(what: str) -> None:
    memory: list[Memory] = []

    def public(event: Any, viewer: Viewer) -> Any:
        shown = GAME.public(event, viewer)
        if not isinstance(event, events.RoundOpened):
            return shown
        seed = memory[-1].seeds[event.seed.sealed]
        deck = fairness.shuffle(seed, operator=OPERATOR, table="t", round=event.round, client_seeds=event.client_seeds)
        return {
            "card in an event": (shown, deck.cards[0]),
            "sealed seed": event,
            "seed in clear": (shown, seed.hex()),
            "salt": (shown, deck.salts[7].hex()),
        }[what]

    def about(state: Any) -> Any:
        return (GAME.about(state), Card.SA)

    game = replace(GAME, about=about) if what == "card in the state" else replace(GAME, public=public)
    before = Memory.__init__

    def remembered(self: Memory, entropy: str) -> None:
        before(self, entropy)
        memory.append(self)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(AssertionError, match="names|holds|shown"):
        patch.setattr(Memory, "__init__", remembered)
        for seed in range(3):
            story(seed, 200, game)


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


def probe(table: Table, chance: random.Random) -> None:
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
        story(1_000 + seed, 150, each=probe)


# --- Money, replay, and that the table never hangs --------------------------------------------------------------------


def check(table: Table, chance: random.Random) -> None:
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
        table, _ = story(2_000 + seed, 250, each=check)
        for each in {each.round for each in table.memory.log if each.round}:
            of_round = [e.event for e in table.memory.log if e.round == each and e.stream == TABLE + "t"]
            reveal = GAME.reveals(OPERATOR, of_round)
            assert all(c.holds for c in reveal.checks), reveal


def test_a_time_out_sent_early_or_twice_does_nothing() -> None:
    def early(table: Table, _chance: random.Random) -> None:
        due = GAME.deadline(table.state)
        if due is None or table.now < due:
            assert GAME.decide(table.state, TimeOut(), table.context("platform", Role.CLOCK)).events == ()

    for seed in range(10):
        story(3_000 + seed, 200, each=early)


def test_a_time_out_that_comes_late_gives_the_time_again_once() -> None:
    def late(table: Table, _chance: random.Random) -> None:
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
        story(4_000 + seed, 200, each=late)


def test_wallets_of_the_stories_are_those_of_the_players() -> None:
    table, _ = story(5_000, 50, each=lambda _t, _c: None)
    assert all(table.memory.state(WALLET + name) for name in NAMES)

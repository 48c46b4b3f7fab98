"""Which cards are stored and shown in 3 Patti, and to whom: over thousands of random hands, after every event.

Who may know which card is told here once more, by a model that knows neither the game's state nor its views.
"""

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from domain import fairness
from domain.game import Game, Role, SealedSeed, Viewer
from domain.games.three_patti import commands, events
from domain.games.three_patti.rules import SeenBecause
from domain.games.three_patti.state import Answering, Between, Paused
from domain.names import TABLE
from services.written_rounds import OPERATOR, Memory
from tests.domain.patti_knowledge import CARD, Knowledge
from tests.domain.patti_table import GAME, NAMES, Table, story

HANDS_WATCHED = 2_000


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
HEX = re.compile(r"[0-9a-f]{32,}")


def deck_of(round_id: str, seed: bytes, given: Any) -> fairness.Deck:
    return fairness.shuffle(seed, operator=OPERATOR, table="t", round=round_id, client_seeds=given)


class Watch:
    """Looks at all that is stored after every event, and with the eyes of some three viewers at what is shown."""

    def __init__(self, table: Table, game: Game[Any, Any, Any]) -> None:
        self.table, self.game = table, game
        self.knowledge = Knowledge(OPERATOR, lambda _round, seed: table.memory.seeds[seed.sealed])
        self.state: Any = game.initial
        self.hands = 0
        self.chance = random.Random(0)

    def take(self, recorded: list[Any], actor: str, command: Any) -> None:
        for each in recorded:
            event = each.event
            if each.stream == TABLE + "t":
                self.state = self.game.evolve(self.state, event)
                self.asked(event, actor, command)
                self.knowledge.learn(event)
                self.look(event)
            else:
                self.check(told(event), set(), "a wallet")

    def asked(self, event: Any, actor: str, command: Any) -> None:
        """Nobody looks at cards, or lets another look, but by an own command."""
        match event:
            case events.CardsSeen(why=SeenBecause.ASKED):
                assert isinstance(command, commands.SeeCards)
                assert self.knowledge.in_hand[event.seat] == actor
            case events.SideShowResolved():
                assert command == commands.AnswerSideShow(accept=True, round=command.round)
                assert self.knowledge.in_hand[event.target] == actor
            case _:
                pass

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
            over = hand_of(self.state) is None  # a closed table shows no hand any more
            assert seen == may_know or over or viewer.role is not Role.PLAYER, f"{viewer.actor} sees too little: {view}"
            assert '"sealed-' not in shown + view, "a sealed seed is shown"
            history = set[str]().union(*self.game.hands(self.state, viewer, self.table.memory.open).values())
            assert over or history == self.knowledge.in_history(viewer, GAME.round(self.state) is None)

    def check(self, text: str, may_know: set[str], where: str) -> set[str]:
        named = set(CARD.findall(text))
        assert named <= may_know, f"{where} names {named - may_know}: {text}"
        assert not self.knowledge.secrets.intersection(HEX.findall(text)), f"{where} holds a seed or salt: {text}"
        return named


def watched(seed: int, steps: int, game: Game[Any, Any, Any] = GAME) -> tuple[Table, int]:
    """A story that is looked at after every event, and how many hands it had."""
    watches: list[Watch] = []

    def after(table: Table, _chance: random.Random, actor: str, command: Any, count: int) -> None:
        if not watches:
            watches.append(Watch(table, game))
        watches[0].take(table.memory.log[count:], actor, command)

    table = story(seed, steps, after)
    return table, watches[0].hands


def test_nothing_stored_or_shown_names_a_card_that_its_reader_may_not_know() -> None:
    """Thousands of hands; and nobody sees less than he may."""
    hands, kinds, seed = 0, Counter[str](), 0
    while hands < HANDS_WATCHED:
        table, more = watched(seed, 400)
        hands += more
        seed += 1
        kinds.update(type(event).__name__ for event in table.events)
    never = {kind.__name__ for kind in GAME.events.__args__} - set(kinds)
    assert not never, kinds
    assert kinds["SideShowResolved"] > 200, kinds
    assert kinds["HandsShown"] > 200, kinds


# --- Leaks, planted -------------------------------------------------------------------------------------------------

Leak = Callable[[Any, Viewer, Any, Any], bool]
"""Whether a view shows this player's hand, which it should not: player in the hand, viewer, hand, state."""


def blind(player: Any, viewer: Viewer, _on: Any, _state: Any) -> bool:
    """A player's own hand, before he has looked."""
    return player.player == viewer.actor and not player.seen


def folded(player: Any, _viewer: Viewer, _on: Any, _state: Any) -> bool:
    return player.folded


def won_by_folds(player: Any, _viewer: Viewer, _on: Any, state: Any) -> bool:
    """The hand of one who won because all others folded."""
    results = state.last.results if isinstance(state, Between) else ()
    return any(each.won and not each.cards and each.player == player.player for each in results)


def sideshow(player: Any, viewer: Viewer, on: Any, _state: Any) -> bool:
    """The hands of a sideshow, to a third."""
    me = on.of(viewer.actor)
    return any(player.seat in pair and (me is None or me.seat not in pair) for pair in on.compared)


def other_of_sideshow_asked(player: Any, viewer: Viewer, on: Any, state: Any) -> bool:
    """The asker's hand, to the target, before he has accepted."""
    asked = isinstance(state, Answering) and on.at(state.target).player == viewer.actor
    return asked and player.seat == state.asker


def staff(_player: Any, viewer: Viewer, _on: Any, _state: Any) -> bool:
    return viewer.role is not Role.PLAYER


def hand_of(state: Any) -> Any:
    """The hand that is on, or else the one before, as long as it is shown."""
    on = state.was if isinstance(state, Paused) else state
    if isinstance(on, Between):
        return on.last.round if on.last else None
    return getattr(on, "round", None)


def is_found(game: Game[Any, Any, Any]) -> bool:
    try:
        for seed in range(20):
            watched(seed, 400, game)
    except AssertionError as found:
        return re.search(r" names \{| holds a seed| is shown", str(found)) is not None
    return False


@pytest.mark.parametrize("leak", [blind, folded, won_by_folds, sideshow, other_of_sideshow_asked, staff])
def test_a_view_that_shows_one_hand_too_many_is_found(leak: Leak) -> None:
    def view(state: Any, viewer: Viewer, bets: Any, opens: Any) -> Any:
        shown, on = GAME.view(state, viewer, bets, opens), hand_of(state)
        if on is None:
            return shown
        deck = deck_of(on.id, opens(on.id, on.seed), on.client_seeds)
        return shown, [deck.cards[at] for each in on.players if leak(each, viewer, on, state) for at in each.cards]

    assert is_found(replace(GAME, view=view))


@pytest.mark.parametrize("what", ["card", "sealed seed", "seed in clear", "salt"])
def test_an_event_that_tells_too_much_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = seeds_seen(monkeypatch)

    def public(event: Any, viewer: Viewer) -> Any:
        shown = GAME.public(event, viewer)
        if not isinstance(event, events.RoundOpened):
            return shown
        seed = seeds[event.seed.hash]
        deck = deck_of(event.round, seed, event.client_seeds)
        planted = {"card": deck.cards[0], "salt": deck.salts[7].hex(), "seed in clear": seed.hex()}
        return event if what == "sealed seed" else (shown, planted[what])

    assert is_found(replace(GAME, public=public))


def test_a_stored_state_that_names_a_card_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = seeds_seen(monkeypatch)

    def evolve(state: Any, event: Any) -> Any:
        after = GAME.evolve(state, event)
        if not isinstance(event, events.RoundOpened):
            return after
        deck = deck_of(event.round, seeds[event.seed.hash], event.client_seeds)
        return replace(after, round=replace(after.round, root=deck.cards[0]))

    assert is_found(replace(GAME, evolve=evolve))


def seeds_seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Every seed that is sealed from here on, by its hash."""
    seeds, seal = dict[str, bytes](), Memory.seal

    def remembered(memory: Memory, game: str, round_id: str) -> SealedSeed:
        sealed = seal(memory, game, round_id)
        seeds[sealed.hash] = memory.seeds[sealed.sealed]
        return sealed

    monkeypatch.setattr(Memory, "seal", remembered)
    return seeds

"""Which cards are stored and shown in Gin Rummy, and to whom: over a thousand random hands, after every event.

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
from domain.games.gin_rummy import commands, events
from domain.games.gin_rummy.rules import Source
from domain.games.gin_rummy.state import Acting, Between, Choice, LayingOff, Paused
from domain.names import TABLE
from services.written_rounds import OPERATOR, Memory
from tests.domain.gin_knowledge import Knowledge, drawn_for_roles
from tests.domain.gin_table import GAME, NAMES, SMALL, Table, story
from tests.domain.patti_knowledge import CARD

HANDS_WATCHED = 1_000


def told(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# --- Cards: who may know what ---------------------------------------------------------------------------------------

VIEWERS = (
    *(Viewer(name, Role.PLAYER) for name in NAMES),
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
    """Looks at all that is stored after every event, and with the eyes of some viewer at what is shown."""

    def __init__(self, table: Table, game: Game[Any, Any, Any]) -> None:
        self.table, self.game = table, game
        self.knowledge = Knowledge(OPERATOR, table.memory.open)
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
        """Nobody shows a hand, or says a word, but by an own command."""
        match event:
            case events.AdviceAsked():
                assert (actor, event.player) == (self.knowledge.captain, self.knowledge.captain)
            case events.AdviceGiven():
                assert isinstance(command, commands.SendAdvice)
                assert actor == self.knowledge.adviser
            case _:
                pass

    def look(self, event: Any) -> None:
        knowledge = self.knowledge
        self.hands += isinstance(event, events.RoundSettled | events.RoundRefunded)
        logged = knowledge.logged | drawn_for_roles(event)
        self.check(told(event), logged, "the log")
        self.check(told(self.state), knowledge.logged, "the stored state")
        self.check(told(self.game.about(self.state)), set(), "the table's particulars")
        viewer = self.chance.choice(VIEWERS)
        public = self.game.public(event, viewer)
        shown = told(public)
        view = told(self.game.view(self.state, viewer, (), self.table.memory.open))
        self.check(shown, logged, f"{viewer.actor}'s event")
        may_know = knowledge.in_view(viewer)
        seen = self.check(view, may_know, f"{viewer.actor}'s view")
        gone = hand_of(self.state) is None  # a closed table shows no hand any more
        assert seen == may_know or gone, f"{viewer.actor} sees too little: {may_know - seen}: {view}"
        assert '"sealed-' not in shown + view, "a sealed seed or text is shown"
        told_of_place = getattr(public, "place", None) is not None and getattr(public, "source", None) != "stock"
        assert not told_of_place, f"where a card of the pile lay in the deck is shown: {public}"
        history = set[str]().union(*self.game.hands(self.state, viewer, self.table.memory.open).values())
        assert gone or history == knowledge.in_history(viewer)
        self.check_advice(viewer, view, told(event) + told(self.state) + shown)

    def check_advice(self, viewer: Viewer, view: str, stored: str) -> None:
        knowledge = self.knowledge
        for text in knowledge.advice:
            assert text not in stored, f"advice is stored or told in clear: {stored}"
            reads = viewer.role is Role.PLAYER and viewer.actor in (knowledge.captain, knowledge.adviser)
            assert reads or text not in view, f"advice is shown to {viewer.actor}: {view}"
            assert not reads or text in view or knowledge.over, "advice does not arrive"

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


@pytest.mark.slow
def test_nothing_stored_or_shown_names_a_card_that_its_reader_may_not_know() -> None:
    """A thousand hands; and nobody sees less than he may."""
    hands, kinds, seed = 0, Counter[str](), 0
    while hands < HANDS_WATCHED:
        table, more = watched(seed, 400)
        hands += more
        seed += 1
        kinds.update(type(event).__name__ for event in table.events)
    never = {kind.__name__ for kind in GAME.events.__args__} - set(kinds)
    assert not never, kinds
    assert kinds["RoundScored"] > 300, kinds
    assert kinds["AdviceGiven"] > 100, kinds
    assert kinds["CardLaid"] > 20, kinds


# --- Leaks, planted -------------------------------------------------------------------------------------------------

Leak = Callable[[Any, Viewer, Any, Any], bool]
"""Whether a view shows this player's hand, which it should not: player in the hand, viewer, hand, state."""


def opponent(player: Any, viewer: Viewer, on: Any, _state: Any) -> bool:
    """To the one who plays against him."""
    return on.of(viewer.actor) is not None and player.player != viewer.actor


def captain_unasked(player: Any, viewer: Viewer, on: Any, _state: Any) -> bool:
    return player.player == on.roles.captain and viewer.actor == on.roles.sitting_out


def box(player: Any, viewer: Viewer, on: Any, _state: Any) -> bool:
    """To the adviser."""
    return player.player == on.roles.box and viewer.actor == on.roles.sitting_out


def laying_off(player: Any, viewer: Viewer, _on: Any, state: Any) -> bool:
    """What is not laid off yet, to the knocker."""
    return isinstance(state, LayingOff) and player.player == state.player and viewer.actor == state.knocker.player


def drawn(_player: Any, _viewer: Viewer, _on: Any, state: Any) -> bool:
    """The hands of a hand that nobody scored."""
    return isinstance(state, Between) and not any(each.points for each in state.last.results)


def staff(_player: Any, viewer: Viewer, _on: Any, _state: Any) -> bool:
    return viewer.role is not Role.PLAYER


def hand_of(state: Any) -> Any:
    """The hand that is on, or else the one before, as long as it is shown."""
    on = state.was if isinstance(state, Paused) else state
    if isinstance(on, Between):
        return on.last.round if on.last else None
    return getattr(on, "round", None) if not isinstance(getattr(on, "round", None), str) else None


FOUND = r" names \{| holds a seed| is shown|advice is "


def is_found(game: Game[Any, Any, Any]) -> bool:
    try:
        for seed in range(30):
            watched(seed, 400, game)
    except AssertionError as found:
        return re.search(FOUND, str(found)) is not None
    return False


def deck_now(on: Any, opens: Any) -> fairness.Deck:
    return deck_of(on.id, opens(on.id, on.seed), on.client_seeds)


@pytest.mark.parametrize("leak", [opponent, captain_unasked, box, laying_off, drawn, staff])
def test_a_view_that_shows_one_hand_too_many_is_found(leak: Leak) -> None:
    def view(state: Any, viewer: Viewer, bets: Any, opens: Any) -> Any:
        shown, on = GAME.view(state, viewer, bets, opens), hand_of(state)
        if on is None:
            return shown
        deck = deck_now(on, opens)
        return shown, [deck.cards[at] for each in on.players if leak(each, viewer, on, state) for at in each.cards]

    assert is_found(replace(GAME, view=view))


@pytest.mark.parametrize("what", ["the next card of the stock", "a card under the top one", "advice"])
def test_a_view_that_shows_what_nobody_sees_is_found(what: str) -> None:
    def view(state: Any, viewer: Viewer, bets: Any, opens: Any) -> Any:
        shown, on = GAME.view(state, viewer, bets, opens), hand_of(state)
        if on is None or not isinstance(state, Acting):
            return shown
        if what == "advice":
            return shown, [opens(on.id, each).decode() for each in on.advice]
        if what == "a card under the top one":
            return shown, [each.card for each in on.pile]
        return shown, deck_now(on, opens).cards[on.next_place]

    assert is_found(replace(GAME, view=view))


@pytest.mark.parametrize("what", ["card", "sealed seed", "seed in clear", "salt", "Discarded", "CardDrawn", "Knocked"])
def test_an_event_that_tells_too_much_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = seeds_seen(monkeypatch)

    def public(event: Any, viewer: Viewer) -> Any:
        shown = GAME.public(event, viewer)
        if what == type(event).__name__:  # with where the card lay in the deck
            return event
        if not isinstance(event, events.RoundOpened) or what in ("Discarded", "CardDrawn", "Knocked"):
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


# --- The adviser, when the hand is over -----------------------------------------------------------------------------


def scored(table: Table) -> None:
    while table.plays_hand().winner is None:
        asks(table)


def drawn(table: Table) -> None:
    """Nobody knocks."""
    while isinstance(table.state, Acting):
        player = table.state.player
        if isinstance(table.state, Choice):
            table.does(player, commands.Decline())
        else:
            table.does(player, commands.Draw(Source.STOCK))
            table.does(player, commands.Discard(table.cards(player)[0]))


def cancelled(table: Table) -> None:
    table.void(commands.CancelRound("so"))


def forfeited(table: Table) -> None:
    who = table.state.round.roles
    table.does(who.captain, commands.LeaveTable())
    table.does(who.box, commands.LeaveTable())


def match_cancelled(table: Table) -> None:
    table.void(commands.CancelMatch("so"))


def asks(table: Table) -> None:
    """The next hand is dealt, if none is on, and the captain asks."""
    while GAME.round(table.state) is None:
        table.clock()
    table.does(table.state.round.roles.captain, commands.AskAdvice())


@pytest.mark.parametrize("ends", [scored, drawn, cancelled, forfeited, match_cancelled])
@pytest.mark.parametrize("paused", [False, True])
def test_when_the_hand_is_over_the_adviser_sees_the_captain_s_cards_only_if_it_was_scored(
    ends: Callable[[Table], None], paused: bool
) -> None:
    table = Table(SMALL).seated()
    asks(table)
    who = table.state.round.roles
    adviser, captain = Viewer(who.sitting_out, Role.PLAYER), Viewer(who.captain, Role.PLAYER)
    assert len(GAME.hands(table.state, adviser, table.memory.open)[who.captain]) == 10
    ends(table)
    last = table.state.last.round.roles
    adviser, captain = Viewer(last.sitting_out, Role.PLAYER), Viewer(last.captain, Role.PLAYER)
    if paused:
        table.send("sue", Role.SUPERVISOR, commands.Pause("so"))
    seen = GAME.hands(table.state, adviser, table.memory.open)
    shown = {each.player for each in table.view(adviser.actor).last.results if each.cards}
    both = {last.captain, last.box}
    assert set(seen) == shown == (both if ends is scored else set())
    own = GAME.hands(table.state, captain, table.memory.open)
    assert set(own) == (both if ends is scored else {last.captain}), "the captain finds his own"
    assert {each.player for each in table.view(captain.actor).last.results if each.cards} == set(own)

"""Who may know which card of a Gin Rummy table, told once more by a model that knows neither the game's state nor its
views.
"""

from copy import copy
from typing import Any

from domain import fairness
from domain.game import Open, Role, Viewer
from domain.games.gin_rummy import events


class Knowledge:
    """What each viewer may know of the hand that is on, or else of the last one: followed from event to event by the
    deck alone. `logged` is all that the hand has shown to everybody."""

    def __init__(self, operator: str, open_sealed: Open) -> None:
        self.operator = operator
        self.open_sealed = open_sealed
        self.seeds: set[str] = set()
        self.hands: dict[str, set[str]] = {}
        self.open: dict[str, set[str]] = {}
        self.pile: list[str] = []
        self.logged: set[str] = set()
        self.over = True
        self.captain = self.adviser = self.match = ""
        self.opened: set[str] = set()
        """Of the captain's cards, to the adviser, in this hand."""
        self.roles: set[str] = set()
        """Cards that were drawn for the roles of the match."""
        self.asked = self.adviser_gone = self.advising = False
        """Asked in this hand; and whether it is still played, for as long as the captain's cards may be looked at."""
        self.advice: list[str] = []
        self.secrets: set[str] = set()
        """Seeds and salts that nobody may be told."""

    def learn(self, event: Any) -> None:
        match event:
            case events.SeedPublished():
                self.seeds.add(self.open_sealed(event.round, event.seed).hex())
            case events.MatchOpened():
                self.roles = drawn_for_roles(event)
            case events.RoundOpened():
                self._dealt(event)
            case events.CardDrawn():
                self._drawn(event)
            case events.Discarded() | events.Knocked():
                self._discarded(event)
            case events.CardLaid():
                self._opened(event.player, {event.card})
            case events.AdviceAsked():
                self.asked = self.sees != "never"
            case events.Forfeited():
                self.adviser_gone |= event.player == self.adviser and not self.over
            case events.AdviceGiven():
                self.advice.append(self.open_sealed(event.round, event.advice).decode())
            case events.RoundScored():
                for each in (event.knocker, event.opponent):
                    self.open[each.player] = set()
                    self._opened(each.player, set(laid_out(each)))
                    assert self.open[each.player] == self.hands[each.player], "all of a hand is laid out, and no more"
            case _:
                self._ends(event)
        self.advising &= not ends_play(event)
        if self._advises:
            self.opened |= self.hands[self.captain]

    def _ends(self, event: Any) -> None:
        match event:
            case events.RoundSettled():
                self.secrets -= {opening.salt for opening in event.openings}
                assert not event.openings or {each.card for each in event.openings} == self.logged
                if event.why == "forfeit":
                    self.open = {}  # broken off while one laid off: the hand on the table was not scored
                self.over = event.due is not None
            case events.RoundCancelled():
                self.open = {}
            case events.RoundRefunded():
                self.over = event.due is not None
            case events.MatchSettled() | events.MatchRefunded():
                self.over = True
            case _:
                pass

    def kept(self) -> "Knowledge":
        """As it is now: what is learnt later does not change it."""
        now = copy(self)
        now.hands, now.open = ({name: set(cards) for name, cards in each.items()} for each in (self.hands, self.open))
        now.pile, now.advice = list(self.pile), list(self.advice)
        now.logged, now.secrets, now.seeds = set(self.logged), set(self.secrets), set(self.seeds)
        now.opened = set(self.opened)
        return now

    @property
    def _advises(self) -> bool:
        return self.asked and self.advising and not self.adviser_gone

    def in_replay(self, viewer: Viewer) -> set[str]:
        """A replay shows each what the table showed him then: so to the adviser what was opened to him."""
        opened = self.opened if (viewer.actor, viewer.role) == (self.adviser, Role.PLAYER) else set[str]()
        return self.of(viewer) | opened

    def of(self, viewer: Viewer) -> set[str]:
        """In events and views together: the whole discard pile, though a view shows its top alone."""
        return self.logged | self.roles | self._own(viewer)

    def _dealt(self, event: events.RoundOpened) -> None:
        deck = fairness.shuffle(
            self.open_sealed(event.round, event.seed),
            operator=self.operator,
            table=event.round.rpartition(".")[0],
            round=event.round,
            client_seeds=event.client_seeds,
        )
        assert deck.root == event.root
        self.deck, self.open, self.over, self.advice = deck, {}, False, []
        self.hands = {each.player: {deck.cards[at].value for at in each.cards} for each in event.dealt}
        assert sum(map(len, self.hands.values())) == len(set().union(*self.hands.values())) == 20
        self.captain, self.adviser = event.match.roles.captain, event.match.roles.sitting_out or ""
        self.match, self.opened = event.match.id, set()
        self.sees, self.adviser_gone = event.config.adviser_sees, False
        self.asked, self.advising = self.sees == "always", True
        self.pile, self.logged = [event.upcard], {event.upcard}
        assert event.upcard == deck.cards[20]
        self.secrets = {*(salt.hex() for salt in deck.salts), *self.seeds}

    def _drawn(self, event: events.CardDrawn) -> None:
        card = self.deck.cards[event.place].value
        if event.source == "pile":
            assert card == self.pile.pop() == event.card
        self.hands[event.player].add(card)

    def _discarded(self, event: Any) -> None:
        player = event.spread.player if isinstance(event, events.Knocked) else event.player
        self.hands[player].remove(event.card)
        self.pile.append(event.card)
        self.logged.add(event.card)
        if isinstance(event, events.Knocked):
            self._opened(player, set(laid_out(event.spread)))
            assert self.open[player] == self.hands[player]

    def _opened(self, player: str, cards: set[str]) -> None:
        assert cards <= self.hands[player]
        self.open[player] = self.open.get(player, set()) | cards
        self.logged |= cards

    def _own(self, viewer: Viewer) -> set[str]:
        if viewer.role is not Role.PLAYER:
            return set()
        if viewer.actor == self.adviser and self._advises:
            return self.hands[self.captain]
        return self.hands.get(viewer.actor, set())

    def in_history(self, viewer: Viewer) -> set[str]:
        """Of the hands. An auditor may have the deck opened, once the hand is over."""
        if viewer.role is Role.AUDITOR and self.over:
            return set().union(*self.hands.values())
        return set().union(*self.open.values()) | self._own(viewer)

    def in_view(self, viewer: Viewer) -> set[str]:
        """While the hand is on, only the top card of the discard pile; and the whole pile after it."""
        pile = self.pile if self.over else self.pile[-1:]
        return {*pile, *set[str]().union(*self.open.values()), *self._own(viewer)}


def ends_play(event: Any) -> bool:
    """Whether nobody acts in the hand any more: for the events that settle it may be still to come."""
    match event:
        case events.Discarded() | events.Knocked():
            return event.due is None
        case events.RoundScored() | events.RoundSettled() | events.RoundCancelled() | events.RoundRefunded():
            return True
        case _:
            return False


def drawn_for_roles(event: Any) -> set[str]:
    """From a deck that no hand is dealt from."""
    draws = event.draws if isinstance(event, events.MatchOpened) else ()
    return {each.card for draw in draws for each in draw.cards}


def laid_out(spread: Any) -> list[str]:
    return [*(card for meld in spread.melds for card in meld), *(each.card for each in spread.laid), *spread.deadwood]

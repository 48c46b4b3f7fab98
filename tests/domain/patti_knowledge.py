"""Who may know which card of a 3 Patti table, told once more by a model that knows neither the game's state nor its
views: of the events it reads only what they say of looking, folding and showing.
"""

import re
from copy import copy
from typing import Any

from domain import fairness
from domain.game import Open, Role, Viewer
from domain.games.three_patti import events
from domain.games.three_patti.rules import EndedBy

CARD = re.compile(r"""["']([2-9TJQKA][shdc])["']""")
"""A card wherever a text names one."""


class Knowledge:
    """What each viewer may know of the hand that is on, or else of the last one."""

    def __init__(self, operator: str, open_seed: Open) -> None:
        self.operator = operator
        self.open_seed = open_seed
        self.known: dict[str, set[str]] = {}
        self.public: set[str] = set()
        self.hands: dict[str, set[str]] = {}
        self.in_hand: dict[int, str] = {}
        self.seeds: set[str] = set()
        self.secrets: set[str] = set()
        """Seeds and salts that nobody may be told, in hex."""

    def kept(self) -> "Knowledge":
        """As it is now: what is learnt later does not change it."""
        now = copy(self)
        now.known = {name: set(cards) for name, cards in self.known.items()}
        now.public, now.secrets, now.seeds = set(self.public), set(self.secrets), set(self.seeds)
        return now

    def learn(self, event: Any) -> None:
        match event:
            case events.SeedPublished():
                self.seeds.add(self.open_seed(event.round, event.seed).hex())
            case events.RoundOpened():
                self._dealt(event)
            case events.CardsSeen():
                self._knows(self.in_hand[event.seat], self.in_hand[event.seat])
            case events.SideShowResolved():
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
        deck = fairness.shuffle(
            self.open_seed(event.round, event.seed),
            operator=self.operator,
            table=event.round.rpartition(".")[0],
            round=event.round,
            client_seeds=event.client_seeds,
        )
        assert deck.root == event.root
        self.deck, self.public, self.known = deck, set(), {}
        self.hands = {each.player: {deck.cards[at].value for at in each.cards} for each in event.dealt}
        assert sum(map(len, self.hands.values())) == len(set().union(*self.hands.values())) == 3 * len(event.dealt)
        self.in_hand = {each.seat: each.player for each in event.dealt}
        self.secrets = {*(salt.hex() for salt in deck.salts), *self.seeds}

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

    in_replay = of

    def in_history(self, viewer: Viewer, over: bool) -> set[str]:
        """An auditor may have the deck opened, once the hand is over."""
        everything = viewer.role is Role.AUDITOR and over
        return set().union(*self.hands.values()) if everything else self.of(viewer)

"""Who plays a match, and who is who in it: the draw for the roles of the first hand, and how they go round from hand to
hand (G6-G8, D14).
"""

from collections.abc import Callable

from msgspec import Struct

from domain.cards import DECK, Card, Rank
from domain.game import Micros


class Roles(Struct, frozen=True, omit_defaults=True):
    """Who is who in a hand (G6, G7). The box deals, the captain plays first (G9)."""

    box: str
    captain: str
    sitting_out: str | None = None


class Contender(Struct, frozen=True, omit_defaults=True):
    """A player in the match."""

    player: str
    total: int = 0
    missed: int = 0
    """Turns in a row, up to now, that the platform played."""
    acted: bool = False
    """Has done something himself in this match."""
    forfeited: bool = False

    @property
    def away(self) -> bool:
        return self.missed > 0 or not self.acted


class Match(Struct, frozen=True, omit_defaults=True):
    """The match that is on: its players in the order in which they sat down, and the roles of the hand to come."""

    id: str
    number: int
    players: tuple[Contender, ...]
    roles: Roles
    hands: int = 0
    """Scored or drawn up to now."""
    dead_since: Micros | None = None
    """Since then all who are still in it are away."""


class RoleCard(Struct, frozen=True):
    player: str
    card: Card


class RoleDraw(Struct, frozen=True):
    """Each of these drew a card; of equal ranks there is another draw (G6)."""

    cards: tuple[RoleCard, ...]


def drawn(players: tuple[str, ...], below: Callable[[int], int]) -> tuple[tuple[RoleDraw, ...], Roles]:
    """The cards drawn, and what follows: the highest is in the box, then come the captain and who sits out (G6, G7).

    Equal ones draw again from the same deck, which orders only them. `below` gives a number below another.
    """
    rest, draws = list(DECK), list[RoleDraw]()

    def ordered(equal: tuple[str, ...]) -> tuple[str, ...]:
        if len(equal) < 2:
            return equal
        if len(rest) < len(equal):
            rest.extend(DECK)  # after two dozen equal draws in a row: whoever waits for that has earned another deck
        cards = {player: rest.pop(below(len(rest))) for player in equal}
        draws.append(RoleDraw(tuple(RoleCard(player, card) for player, card in cards.items())))
        heights = sorted({_height(card) for card in cards.values()}, reverse=True)
        same = (tuple(player for player in equal if _height(cards[player]) == height) for height in heights)
        return tuple(player for players in same for player in ordered(players))

    roles = Roles(*ordered(players))
    return tuple(draws), roles


def _height(card: Card) -> int:
    """King high, ace low (G2)."""
    return 1 if card.rank is Rank.ACE else card.rank


def after(roles: Roles, winner: str | None, gone: frozenset[str] = frozenset()) -> Roles:
    """Those of the next hand, when `winner` has won this one or nobody has, without those who are out of the match."""
    stood = (roles.box, roles.captain, roles.sitting_out)
    staying = tuple(player for player in stood if player is not None and player not in gone)
    match staying:
        case box, captain, out if winner == box:
            return Roles(box, out, captain)
        case box, captain, out if winner == captain:
            return Roles(captain, out, box)
        case first, second if winner == second:
            return Roles(second, first)
        case _ if len(staying) < 2:
            return roles  # there will be none
        case _:
            return Roles(*staying)

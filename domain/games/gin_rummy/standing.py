"""How a match stands by what its events tell, and whether its end is what follows from that: who has won, which share
of the prize is whose, and what went back. `proof` follows it beside the cards.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from domain.games.gin_rummy import events, scoring
from domain.games.gin_rummy.events import Seat
from domain.games.gin_rummy.roles import Contender, Match
from domain.games.gin_rummy.rules import Config
from domain.games.gin_rummy.scoring import Won

Over = events.MatchSettled | events.MatchRefunded


class Check(Struct, frozen=True):
    what: str
    holds: bool


class Standing:
    """Totals by the points of each hand, hands, and who has forfeited."""

    def __init__(self, match: Match) -> None:
        """As it stood when a hand of it was dealt."""
        self._players = {
            each.player: Contender(each.player, each.total, forfeited=each.forfeited) for each in match.players
        }
        self.hands = match.hands

    def follow(self, event: events.Event) -> None:
        match event:
            case events.Forfeited(player=player) if player in self._players:
                self._players[player] = replace(self._players[player], forfeited=True)
            case events.RoundScored(winner=winner) if winner in self._players:
                before = self._players[winner]
                self._players[winner] = replace(before, total=before.total + event.points)
            case events.RoundSettled():
                self.hands += 1
            case _:
                pass

    def is_like(self, other: "Standing") -> bool:
        return (self.totals, self.gone, self.hands) == (other.totals, other.gone, other.hands)

    @property
    def totals(self) -> dict[str, int]:
        return {player: each.total for player, each in self._players.items()}

    @property
    def gone(self) -> frozenset[str]:
        return frozenset(player for player, each in self._players.items() if each.forfeited)

    def won(self, config: Config) -> Won | None:
        return scoring.won(config, tuple(self._players.values()), self.hands)


def ended(standing: Standing, config: Config, seats: tuple[Seat, ...], over: Over) -> Iterator[Check]:
    """The end of a match, held against how it stood: to the last unit, and for each player."""
    match over:
        case events.MatchSettled():
            yield from _awarded(standing, config, seats, over)
        case events.MatchRefunded():
            won = standing.won(config)
            yield Check("every entry went back to whoever paid it", _given(over) == _given_back(standing, seats))
            yield Check("nobody had won the match that was refunded", won is None or not won.winners)


def _awarded(standing: Standing, config: Config, seats: tuple[Seat, ...], over: events.MatchSettled) -> Iterator[Check]:
    paid, won = sum(seat.paid for seat in seats), standing.won(config)
    rake = config.rake(paid)
    whole = over.prize == paid == sum(each.won for each in over.results) + over.rake
    yield Check("what was won and the rake are all that was paid in", whole)
    yield Check("the rake is what the table takes of the prize", over.rake == rake)
    shares = scoring.shares(paid - rake, won.winners) if won else {}
    due = [(seat.player, seat.paid, shares.get(seat.player, 0), standing.totals.get(seat.player, 0)) for seat in seats]
    right = won is not None and over.why is won.why and _given(over) == due
    yield Check("the prize went to who has won by the points of the hands, each share to the unit", right)


def _given(over: Over) -> list[tuple[str, int, int, int]]:
    return [(each.player, each.paid, each.won, each.total) for each in over.results]


def _given_back(standing: Standing, seats: tuple[Seat, ...]) -> list[tuple[str, int, int, int]]:
    return [(seat.player, seat.paid, seat.paid, standing.totals.get(seat.player, 0)) for seat in seats]

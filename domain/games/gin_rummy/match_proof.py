"""What anyone can check of a whole match from its events alone: each hand by itself, that one follows from the other,
and that the prize, or every entry, went where that leads.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from domain.cards import DECK
from domain.games.gin_rummy import events, proof, roles
from domain.games.gin_rummy.events import Seat
from domain.games.gin_rummy.roles import Contender, Match
from domain.games.gin_rummy.standing import Check, Over, Standing, ended

Story = tuple[events.Event, ...]


class MatchReveal(Struct, frozen=True):
    """What can be checked of a match, checked. `rounds` are its hands: the replay of each has its own proofs."""

    match: str
    rounds: tuple[str, ...]
    checks: tuple[Check, ...]


def reveals_match(operator: str, of_match: Iterable[events.Event]) -> MatchReveal | None:
    """Given the table's events from the match's opening to its end. None if these events open no match."""
    story = tuple(of_match)
    begun = next((event for event in story if isinstance(event, events.MatchOpened)), None)
    if begun is None:
        return None
    hands = [event for event in story if isinstance(event, events.RoundOpened)]
    checks = [
        Check("the cards that were drawn make box, captain and who sits out", _roles_drawn(begun)),
        Check("the prize is the entries of those who sat there", all(_paid_in(begun, each.seats) for each in hands)),
        *_each_hand(operator, story),
        Check("each hand began with the totals and roles that were left before it", _chained(begun, story)),
    ]
    standing = Standing(_begun(begun))
    for event in story:
        if isinstance(event, Over):
            checks += ended(standing, hands[0].config, hands[0].seats, event) if hands else ()
        standing.follow(event)
    return MatchReveal(begun.match, tuple(each.round for each in hands), tuple(checks))


def _begun(begun: events.MatchOpened) -> Match:
    return Match(begun.match, begun.number, tuple(map(Contender, begun.players)), begun.roles)


def _roles_drawn(begun: events.MatchOpened) -> bool:
    """The draw once more, with the cards that came (G6)."""
    rest, came = list(DECK), iter([each.card for draw in begun.draws for each in draw.cards])

    def below(n: int) -> int:
        if n > len(rest):
            rest.extend(DECK)
        card = next(came, None)
        at = rest.index(card) if card is not None and card in rest else 0
        rest.pop(at)
        return at

    return roles.drawn(begun.players, below) == (begun.draws, begun.roles)


def _paid_in(begun: events.MatchOpened, seats: tuple[Seat, ...]) -> bool:
    who, paid = tuple(seat.player for seat in seats), sum(seat.paid for seat in seats)
    return (who, paid) == (begun.players, begun.prize) and len({seat.paid for seat in seats}) == 1


def _each_hand(operator: str, story: Story) -> Iterator[Check]:
    for at, event in enumerate(story):
        if isinstance(event, events.RoundOpened):
            told = proof.reveals(operator, _of_hand(story[at:]))
            proved = told is not None and all(check.holds for check in told.checks)
            yield Check(f"the hand {event.round} proves itself", proved)


def _of_hand(story: Story) -> Story:
    """From its opening to its end, with the end of the match if that came with it."""
    for at, event in enumerate(story):
        if isinstance(event, proof.HandOver):
            return story[: at + 2] if event.due is None else story[: at + 1]
    return story


def _chained(begun: events.MatchOpened, story: Story) -> bool:
    standing, now, first = Standing(_begun(begun)), begun.roles, None
    for event in story:
        match event:
            case events.RoundOpened():
                first = first or event
                same = (event.match.id, event.match.roles, event.config) == (begun.match, now, first.config)
                if not same or not standing.is_like(Standing(event.match)):
                    return False
            case events.RoundSettled() | events.RoundRefunded():
                now = event.roles
            case events.Forfeited():
                now = event.roles or now
            case _:
                pass
        standing.follow(event)
    return True

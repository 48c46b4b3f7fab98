"""The sealed deck: seed published, roles drawn, hand dealt from it, cards opened out of it.

Only a process that holds the vault key can do these. No deck and no seed outlives the function that needs it.
"""

from collections.abc import Callable, Iterable

from domain import fairness
from domain.cards import DECK, Card
from domain.fairness import Opening
from domain.game import Context, Micros, Open, SealedSeed
from domain.games.gin_rummy import events, roles, scoring
from domain.games.gin_rummy.events import Dealt
from domain.games.gin_rummy.roles import Contender, Match
from domain.games.gin_rummy.rules import HAND, RULES_VERSION
from domain.games.gin_rummy.state import STOCK_FROM, InHand, Round, Table


def next_round(table: Table, context: Context) -> str:
    return f"{context.table}.{table.number + 1}"


def published(table: Table, context: Context) -> events.SeedPublished:
    round_id = next_round(table, context)
    return events.SeedPublished(round_id, context.seal(round_id), None)


def opened(table: Table, context: Context, due: Micros) -> tuple[events.Event, ...]:
    """The next hand; and if it is the first one, the match, with the cards drawn for the roles (G6)."""
    assert table.next_seed is not None, "a hand is dealt from a seed that was published before it"
    round_id, sealed = table.next_seed.round, table.next_seed.seed
    seed = context.open(round_id, sealed)
    begun: tuple[events.Event, ...] = ()
    match = table.match
    if match is None:
        first = _begun(table, round_id, seed, context)
        match = Match(first.match, first.number, tuple(map(Contender, first.players)), first.roles)
        begun = (first,)
    given, who = table.client_seeds, match.roles
    deck = _shuffled(seed, context.operator, round_id, given)
    upcard = deck.cards[STOCK_FROM - 1]
    hand = events.RoundOpened(
        round=round_id,
        number=table.number + 1,
        rules=RULES_VERSION,
        config=table.config,
        operator=context.operator,
        seed=sealed,
        root=deck.root,
        client_seeds=given,
        match=match,
        dealt=(_dealt(who.captain, 0), _dealt(who.box, 1)),
        upcard=upcard,
        limit=scoring.knock_limit(table.config, upcard),
        doubled=scoring.doubles(table.config, upcard),
        seats=table.seats,
        due=due,
        epoch=table.epoch,
        pending=table.pending,
        draining=table.draining,
    )
    return (*begun, hand)


def _dealt(player: str, first: int) -> Dealt:
    """One by one, the captain first (G10)."""
    return Dealt(player, tuple(range(first, 2 * HAND, 2)))


def _begun(table: Table, round_id: str, seed: bytes, context: Context) -> events.MatchOpened:
    players = tuple(seat.player for seat in table.seats)
    draws, who = roles.drawn(players, _lots(seed, round_id, table, context))
    number = table.matches + 1
    return events.MatchOpened(f"{context.table}.m{number}", number, round_id, players, table.prize, draws, who)


def _lots(seed: bytes, round_id: str, table: Table, context: Context) -> Callable[[int], int]:
    """Numbers from the seed of the first hand under labels of their own: they say nothing about its deck."""
    drawn = 0

    def below(n: int) -> int:
        nonlocal drawn
        drawn += 1
        return fairness.draw(
            seed, f"roles/{drawn}", n,
            operator=context.operator, table=context.table, round=round_id, client_seeds=table.client_seeds,
        )  # fmt: skip

    return below


def shuffled(on: Round, open_sealed: Open) -> fairness.Deck:
    return reshuffled(on.operator, on.id, on.client_seeds, on.seed, open_sealed)


def reshuffled(
    operator: str, round_id: str, given: tuple[fairness.ClientSeed, ...], seed: SealedSeed, open_sealed: Open
) -> fairness.Deck:
    return _shuffled(open_sealed(round_id, seed), operator, round_id, given)


def _shuffled(seed: bytes, operator: str, round_id: str, given: tuple[fairness.ClientSeed, ...]) -> fairness.Deck:
    return fairness.shuffle(
        seed, operator=operator, table=round_id.rpartition(".")[0], round=round_id, client_seeds=given
    )


def hand(deck: fairness.Deck, player: InHand) -> dict[Card, int]:
    """A player's cards in the order of the deck before any shuffle, each with its place in this one."""
    places = {deck.cards[place]: place for place in player.cards}
    return {card: places[card] for card in sorted(places, key=DECK.index)}


def openings(deck: fairness.Deck, places: Iterable[int]) -> tuple[Opening, ...]:
    """What proves these cards against the root."""
    return tuple(fairness.opening(deck, place) for place in sorted(places))

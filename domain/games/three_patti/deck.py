"""The sealed deck: seed published, hand dealt from it, hands opened out of it.

Only a process that holds the vault key can do these. Decks are kept, a bounded number of them, in its memory alone.
"""

from domain import fairness
from domain.cards import Card
from domain.game import Context, Open
from domain.games.three_patti import events
from domain.games.three_patti.events import Dealer, Dealt, Hand, ShownHand
from domain.games.three_patti.rules import HAND, RETURN_WITHIN, RULES_VERSION
from domain.games.three_patti.state import InHand, Round, Table
from domain.hands import three_card


def next_round(table: Table, context: Context) -> str:
    return f"{context.table}.{table.number + 1}"


def published(table: Table, context: Context) -> events.SeedPublished:
    round_id = next_round(table, context)
    return events.SeedPublished(round_id, context.seal(round_id), None)


def opened(table: Table, context: Context) -> events.RoundOpened:
    """Boots paid and cards dealt, one by one in play order from the seat after the dealer (P2, P3)."""
    assert table.next_seed is not None, "a hand is dealt from a seed that was published before it"
    sealed, given, round_id = table.next_seed.seed, table.client_seeds, table.next_seed.round
    seed = context.open(round_id, sealed)
    where = {"operator": context.operator, "table": context.table, "round": round_id}
    root = fairness.shuffle(seed, **where, client_seeds=given).root
    ready = table.ready
    if table.dealer is None:
        place = fairness.draw(seed, "dealer", len(ready), **where, client_seeds=given)
    else:
        place = _deals(table, table.dealer)
    order = (*ready[place + 1 :], *ready[: place + 1])
    n = len(order)
    dealt = tuple(Dealt(s.number, s.player, (at, at + n, at + HAND * n - n)) for at, s in enumerate(order))
    return events.RoundOpened(
        round=round_id,
        number=table.number + 1,
        rules=RULES_VERSION,
        config=table.config,
        operator=context.operator,
        seed=sealed,
        root=root,
        client_seeds=given,
        dealer=Dealer(ready[place].number, ready[place].player),
        dealt=dealt,
        seats=table.seats,
        left=tuple(left for left in table.left if left.at > context.now - RETURN_WITHIN),
        due=context.now + table.config.turn,
        epoch=table.epoch,
    )


def _deals(table: Table, dealer: Dealer) -> int:
    """Where among the ready the dealer sits: the winner of the hand before (P22), or whoever is dealt in after him."""
    ready = table.ready
    same = (at for at, seat in enumerate(ready) if (seat.number, seat.player) == (dealer.seat, dealer.player))
    after = (at for at, seat in enumerate(ready) if seat.number > dealer.seat)
    return next(same, next(after, 0))


def shuffled(on: Round, open_seed: Open) -> fairness.Deck:
    return fairness.shuffle(
        open_seed(on.id, on.seed),
        operator=on.operator,
        table=on.id.rpartition(".")[0],
        round=on.id,
        client_seeds=on.client_seeds,
    )


def hand(deck: fairness.Deck, player: InHand) -> Hand:
    first, second, third = (deck.cards[place] for place in player.cards)
    return first, second, third


def worth(cards: tuple[Card, ...]) -> int:
    return three_card.rank(cards).strength


def shown(deck: fairness.Deck, player: InHand) -> ShownHand:
    """A hand with what proves each of its cards against the root."""
    cards = hand(deck, player)
    first, second, third = (fairness.opening(deck, place) for place in player.cards)
    return ShownHand(player.seat, player.player, cards, three_card.rank(cards).category, (first, second, third))

"""The deck of a table that deals by itself: seed published, round opened on it, cards dealt, seed revealed.

Only a process that holds the vault key can do these. No deck and no seed outlives the function that needs it.
"""

from domain import fairness
from domain.cards import Card
from domain.game import Context, Micros, SealedSeed
from domain.games.teen_patti_2020 import events
from domain.games.teen_patti_2020.events import NextSeed
from domain.games.teen_patti_2020.pays import showdown
from domain.games.teen_patti_2020.rules import RULES_VERSION, SLOTS, Config, Kind
from domain.games.teen_patti_2020.state import Round, Table


def next_round(table: Table, context: Context) -> str:
    return f"{context.table}.{table.number + 1}"


def published(table: Table, context: Context) -> events.SeedPublished:
    """A seed for the next round, where the round before could publish none."""
    round_id = next_round(table, context)
    return events.SeedPublished(round_id, context.seal(round_id), context.now + table.config.pause)


def following(table: Table, context: Context) -> NextSeed | None:
    """The seed of the next round, committed as the one before ends; none if there will be no next round."""
    if table.draining or table.config.kind is Kind.LIVE:
        return None
    round_id = next_round(table, context)
    return NextSeed(round_id, context.seal(round_id))


def disclosed(unused: NextSeed, reason: str, context: Context) -> events.SeedDisclosed:
    return events.SeedDisclosed(unused.round, context.open(unused.round, unused.seed).hex(), reason)


def revealed(on: Round, context: Context) -> str | None:
    """The seed in hex, once nothing depends on it any more."""
    return context.open(on.id, on.seed).hex() if on.seed else None


def next_due(table: Table, context: Context) -> Micros:
    """A table that deals by itself first publishes a seed; then it gives players the pause for theirs."""
    publishes = table.config.kind is Kind.RNG and table.next_seed is None
    return context.now if publishes else context.now + table.config.pause


def opened(table: Table, context: Context) -> events.RoundOpened:
    config, round_id = table.pending or table.config, next_round(table, context)
    seed, given = (table.next_seed.seed, table.client_seeds) if table.next_seed else (None, ())
    return events.RoundOpened(
        round=round_id,
        number=table.number + 1,
        rules=RULES_VERSION,
        config=config,
        seed=seed,
        root=_shuffled(round_id, seed, given, context).root if seed else None,
        client_seeds=given,
        closes_at=context.now + config.betting,
        recent=table.recent,
        epoch=table.epoch,
    )


def deal(config: Config, on: Round, cards: tuple[Card, ...], context: Context) -> tuple[events.Event, ...]:
    """The next card, or all that are missing if no time shall lie between them; with the last one the result."""
    assert on.seed is not None, "a table that deals by itself opens its rounds with a seed"
    deck = _shuffled(on.id, on.seed, on.client_seeds, context)
    until = len(cards) + 1 if config.card else len(SLOTS)
    due = context.now + config.card
    dealt = tuple(
        events.CardDealt(on.id, SLOTS[index], deck.cards[index], fairness.opening(deck, index), due)
        for index in range(len(cards), until)
    )
    if until < len(SLOTS):
        return dealt
    return (*dealt, events.RoundResulted(on.id, showdown(deck.cards[:until]), context.now))


def _shuffled(
    round_id: str, seed: SealedSeed, given: tuple[fairness.ClientSeed, ...], context: Context
) -> fairness.Deck:
    return fairness.shuffle(
        context.open(round_id, seed),
        operator=context.operator,
        table=context.table,
        round=round_id,
        client_seeds=given,
    )

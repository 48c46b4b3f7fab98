"""What a player may do with the cards in his hand (G12-G20, D11-D13), and who may ask and give advice (G7).

Each question is answered or refused here, once: `decide` acts on the answer, and views list what is not refused.
"""

from collections.abc import Collection, Mapping, Sequence

from domain.cards import Card
from domain.errors import Rejected
from domain.games.gin_rummy import melds
from domain.games.gin_rummy.events import Cards, LaidOff, Spread
from domain.games.gin_rummy.melds import Arrangement, Fault, Faulty
from domain.games.gin_rummy.rules import ADVICE_MAX, AdviserSees, Rule, Source
from domain.games.gin_rummy.state import Acting, Choice, Discarding, Drawing, LayingOff, adviser

# --- Drawing and discarding -------------------------------------------------------------------------------------------


def sources(state: Choice | Drawing) -> tuple[Source, ...]:
    """Where one may draw from: the upcard is the only card offered, and once declined the only one that is not."""
    if isinstance(state, Choice):
        return (Source.PILE,)
    return (Source.STOCK,) if state.stock_only else (Source.STOCK, Source.PILE)


def draw(state: Choice | Drawing, source: Source) -> None:
    if source not in sources(state):
        raise Rejected(Rule.ChooseFirst if isinstance(state, Choice) else Rule.StockOnly)


def discards(state: Discarding, hand: Collection[Card]) -> Cards:
    """All but the card just taken from the discard pile (D11)."""
    return tuple(card for card in hand if card is not state.taken)


def discard(state: Discarding, hand: Collection[Card], card: Card) -> None:
    if card is state.taken:
        raise Rejected(Rule.JustTaken)
    if card not in hand:
        raise Rejected(Rule.NotHeld)


# --- Knock and lay-off ------------------------------------------------------------------------------------------------


def knocks(state: Discarding, hand: Sequence[Card]) -> Mapping[Card, int]:
    """The discards with which one may knock, each with the least that is then unmatched (G17)."""
    return melds.knocks(hand, state.round.limit, state.taken)


def knock(state: Discarding, hand: Collection[Card], card: Card, declared: melds.Melds | None) -> tuple[Spread, int]:
    """The hand laid on the table, as declared or at best (D12), and the least that could have been unmatched."""
    discard(state, hand, card)
    rest = tuple(each for each in hand if each is not card)
    best = melds.best(rest)
    chosen = best if declared is None else _declared(rest, declared)
    if chosen.points > state.round.limit:
        raise Rejected(Rule.OverKnockLimit, limit=state.round.limit)  # a refusal is on record, and tells of no hand
    return Spread(state.player, chosen.melds, chosen.deadwood, chosen.points), best.points


def lays(state: LayingOff, hand: Collection[Card]) -> tuple[LaidOff, ...]:
    """Each card that could now be laid off, with each of the knocker's melds that it fits (G20)."""
    rest = unlaid(state, hand)
    on = enumerate(state.melds)
    return tuple(LaidOff(card, index) for index, meld in on for card in rest if melds.is_meld((*meld, card)))


def lay_off(state: LayingOff, hand: Collection[Card], card: Card, meld: int) -> None:
    if card not in unlaid(state, hand):
        raise Rejected(Rule.NotHeld)
    if meld >= len(state.melds) or not melds.is_meld((*state.melds[meld], card)):
        raise Rejected(Rule.DoesNotFit, melds=len(state.melds))


def lay_down(state: LayingOff, hand: Collection[Card], declared: melds.Melds | None) -> Spread:
    """The rest of the hand on the table: with these melds, or else melded and laid off at best (D13)."""
    rest = unlaid(state, hand)
    if declared is not None:
        chosen = _declared(rest, declared)
        return Spread(state.player, chosen.melds, chosen.deadwood, chosen.points, state.laid)
    return answered(state.player, state.melds, rest, state.laid)


def answered(player: str, on: tuple[Cards, ...], hand: Sequence[Card], so_far: tuple[LaidOff, ...] = ()) -> Spread:
    """The best answer to a knock: least unmatched, after laying off on these melds."""
    best = melds.best_answer(on, hand)
    laid = tuple(LaidOff(card, meld) for card, meld in best.laid)
    return Spread(player, best.melds, best.deadwood, best.points, (*so_far, *laid))


def unlaid(state: LayingOff, hand: Collection[Card]) -> Cards:
    laid = {each.card for each in state.laid}
    return tuple(card for card in hand if card not in laid)


def _declared(hand: Sequence[Card], declared: melds.Melds) -> Arrangement:
    try:
        return melds.arranged(hand, declared)
    except Faulty as faulty:
        raise Rejected(Rule.NotHeld if faulty.fault is Fault.NOT_HELD else Rule.FalseMelds) from None


# --- Advice -----------------------------------------------------------------------------------------------------------


def ask_advice(state: Acting, player: str) -> None:
    """Once in a hand, until somebody knocks."""
    _advised(state)
    if player != state.round.roles.captain:
        raise Rejected(Rule.NotTheCaptain, captain=state.round.roles.captain)
    if _asked(state):
        raise Rejected(Rule.AlreadyAsked)


def send_advice(state: Acting, player: str) -> None:
    advises = _advised(state)
    if player != advises:
        raise Rejected(Rule.NotTheAdviser, adviser=advises)
    if not _asked(state):
        raise Rejected(Rule.NotAsked)
    if len(state.round.advice) >= ADVICE_MAX:
        raise Rejected(Rule.EnoughAdvice, limit=ADVICE_MAX)


def _advised(state: Acting) -> str:
    """Who advises the captain now."""
    advises = adviser(state.table, state.round)
    if advises is None:
        raise Rejected(Rule.NobodyAdvises)
    if isinstance(state, LayingOff):
        raise Rejected(Rule.AdviceIsOver)
    return advises


def _asked(state: Acting) -> bool:
    return state.round.asked or state.table.config.adviser_sees is AdviserSees.ALWAYS

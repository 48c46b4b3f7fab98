"""Bots at tables of Gin Rummy: players of several tempers who play one match after another, and advise each other.

A temper is a pure function of what its player sees, the view with what is `allowed`, and of a number of luck from 0 up
to 1. It holds no rule of the game: it picks among what is allowed, and reckons with the house's own solver of melds.
"""

from collections.abc import Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from domain.cards import Card, Rank
from domain.game import Role
from domain.games import gin_rummy
from ops import bots_table, client_gin
from ops.bots_house import Pace, beside
from ops.bots_table import COMMANDS_A_SECOND, Move, Player, Players
from ops.client import Client
from ops.client_gin import Allowed, View

Temper = Callable[[View, float], Move]
Hand = tuple[Card, ...]

# --- What one can do on one's turn --------------------------------------------------------------------------------


def hand_of(view: View, player: str | None) -> Hand:
    return tuple(map(Card, view.cards(player)))


def fits(hand: Hand, card: Card) -> bool:
    """Whether it would lie in a meld at once: then it adds nothing to what is unmatched."""
    return gin_rummy.melds.deadwood((*hand, card)) <= gin_rummy.melds.deadwood(hand)


def drawn(view: View, may: Allowed) -> Move:
    """From the discard pile whatever makes a meld, else from the stock, or nothing while only the upcard is offered."""
    if "pile" in may.sources and view.top and fits(hand_of(view, view.turn), Card(view.top)):
        return Move("Draw", source="pile")
    return Move("Draw", source="stock") if "stock" in may.sources else Move("Decline")


def knock(view: View, at_most: int) -> Move | None:
    """With the discard that leaves least, if that is little enough."""
    may = view.may("Knock")
    least = min(may.knocks, key=lambda each: each.deadwood, default=None) if may else None
    return Move("Knock", card=least.card) if least and least.deadwood <= at_most else None


def dearest(hand: Hand, may: Allowed) -> Move:
    """The discard that leaves least unmatched; of equals the highest."""
    barred = next((card for card in hand if card not in may.cards), None)
    return Move("Discard", card=gin_rummy.melds.best_discards(hand, barred)[0])


def lonely(hand: Hand, may: Allowed) -> Move:
    """The dearest of the unmatched that have no other of their rank beside them, and none of their suit near."""
    unmatched = gin_rummy.melds.best(hand).deadwood
    alone = [card for card in unmatched if card in may.cards and not any(_near(card, each) for each in hand)]
    return Move("Discard", card=max(alone, key=gin_rummy.melds.points)) if alone else dearest(hand, may)


def _near(one: Card, other: Card) -> bool:
    apart = abs(_height(one) - _height(other))
    return apart == 0 if one.suit is not other.suit else 0 < apart <= 2


def _height(card: Card) -> int:
    """King high, ace low (G2)."""
    return 1 if card.rank is Rank.ACE else card.rank


def turn(view: View, knocks_at: int, discard: Callable[[Hand, Allowed], Move]) -> Move:
    if may_draw := view.may("Draw"):
        return drawn(view, may_draw)
    may_discard = view.may("Discard")
    if may_discard is None:
        raise ValueError(f"it is not this player's turn: {view.allowed}")
    return knock(view, knocks_at) or discard(hand_of(view, view.turn), may_discard)


# --- Tempers ------------------------------------------------------------------------------------------------------

ANY = 98
"""More than this is never unmatched in a hand."""
FEW = 12
"""So few cards in the stock, and whoever waits for more may wait in vain."""


def hasty(view: View, _luck: float) -> Move:
    """Knocks as soon as he may, and gets rid of dear cards until then."""
    return turn(view, ANY, dearest)


def patient(view: View, luck: float) -> Move:
    """Keeps what may become a meld, and knocks when it is cheap; but does not wait until the stock is gone."""
    return turn(view, 4 if view.stock > FEW and luck < 0.95 else ANY, lonely)


def hopeful(view: View, luck: float) -> Move:
    """Wants gin, nearly to the end."""
    return turn(view, 0 if view.stock > FEW // 2 and luck < 0.9 else ANY, lonely)


TEMPERS: dict[str, Temper] = {"bot-mira": hasty, "bot-nils": patient, "bot-omar": hopeful}


def wanted(temper: Temper, view: View, luck: float) -> Move | None:
    """What a player does in the hand now; none if it is not his turn, and he has nothing to say to the captain."""
    if view.may("SendAdvice"):
        return None if view.advice or luck < 0.2 else Move("SendAdvice", text=advice(view))
    if view.may("LayDown"):
        return Move("LayDown")  # the best there is
    if not (view.may("Draw") or view.may("Discard")):
        return None
    if view.may("AskAdvice") and luck < 0.1:
        return Move("AskAdvice")
    return temper(view, luck)


def advice(view: View) -> str:
    """What the adviser would do with the captain's cards."""
    captain = view.roles.captain if view.roles else None
    hand = hand_of(view, captain)
    if not hand:
        return "good luck"
    if view.turn == captain and view.phase == "discarding":
        return f"I would discard the {gin_rummy.melds.best_discards(hand)[0]}"
    if view.top and fits(hand, Card(view.top)):
        return f"I would take the {view.top}"
    return f"I count {gin_rummy.melds.deadwood(hand)} unmatched"


def at_the_table(view: View, luck: float) -> Move | None:
    """Sits down for the next match, but not at once: whoever looks on and would like to play shall be quicker."""
    sit = view.may("SitDown")
    return Move("SitDown", sit.amount) if sit and luck < 0.4 else None


# --- Life ---------------------------------------------------------------------------------------------------------


async def play(operator: Client, table: str, players: Players[View]) -> None:
    """Whoever's turn it is acts, and whoever is asked for advice; and how each hand and match ended is told."""
    async with beside() as begin, aclosing(client_gin.watch(operator, table)) as frames:
        async for frame in frames:
            view, event = frame.view, frame.event or {}
            if line := told(event):
                print(line, flush=True)
            asked = event.get("type", "").endswith(".AdviceAsked")
            adviser = view.roles.sitting_out if asked and view.roles else None
            for name in (view.turn, adviser):
                if name and name in players:
                    begin(players[name].act(table))


def told(event: dict[str, Any]) -> str | None:
    """A hand or a match that has ended in one line, by what everybody knows of it."""
    match event.get("type", "").partition(".")[2]:
        case "RoundSettled":
            ended = event["why"].replace("_", " ")
            scores = (each for each in event["results"] if each.get("points"))
            scored = ", ".join(f"{each['player']} scored {each['points']}" for each in scores) or "nobody scored"
            return f"{event['round']:<12} {_players(event)} played, ended by {ended:<10} {scored}; {_totals(event)}"
        case "MatchSettled":
            won = ", ".join(f"{each['player']} won {each['won'] / 100:,.2f}" for each in _winners(event))
            return f"{event['match']:<12} match over, by {event['why']}: {won}; {_totals(event)}"
        case "MatchRefunded":
            return f"{event['match']:<12} match void: every entry went back"
        case _:
            return None


def _winners(event: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in event["results"] if each["won"]]


def _totals(event: dict[str, Any]) -> str:
    return "totals " + ", ".join(f"{each['player']} {each.get('total', 0)}" for each in event["results"])


def _players(event: dict[str, Any]) -> str:
    shown = [each["player"] for each in event["results"] if each.get("cards")]
    return " and ".join(shown) or "the two"


async def live(callers: Mapping[Role, Client], tables: Mapping[str, Mapping[str, Any]]) -> None:
    operator = callers[Role.OPERATOR]
    pace = Pace(COMMANDS_A_SECOND)
    players = {
        name: Player(name, operator, pace, client_gin, partial(wanted, temper), at_the_table)
        for name, temper in TEMPERS.items()
    }
    await bots_table.live(players, tables, lambda table: play(operator, table, players))

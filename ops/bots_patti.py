"""Bots at tables of 3 Patti: players of several tempers who sit down, play their hands, leave, and come back.

A temper is a pure function of what its player sees, the view with what is `allowed`, and of a number of luck from 0 up
to 1. It holds no rule of the game: it picks among what is allowed.
"""

from collections.abc import Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from domain.cards import Card, parse
from domain.game import Role
from domain.hands import three_card
from ops import bots_table, client_patti
from ops.bots_house import Pace, beside
from ops.bots_table import COMMANDS_A_SECOND, Move, Player, Players
from ops.client import Client
from ops.client_patti import View

PLAYERS_MIN = 3

ACE_HIGH = three_card.rank(parse("As 4h 2d")).strength
PAIR = three_card.rank(parse("2s 2h 3d")).strength
COLOR = three_card.rank(parse("5s 3s 2s")).strength


Temper = Callable[[View, float], Move]


# --- What one can do on one's turn --------------------------------------------------------------------------------


def strength(view: View) -> int:
    """Of the own hand; 0 while its player is blind."""
    cards = view.me.cards if view.me else ()
    return three_card.rank([Card(card) for card in cards]).strength if cards else 0


def first(view: View, *commands: str) -> Move:
    """The first of these that is allowed now; if none is, the cheapest way on, and at last a fold."""
    for command in (*commands, "Bet", "Show", "ShortShow", "Fold"):
        may = view.may(command)
        if may is not None:
            return Move(command, may.min)
    raise ValueError(f"it is not this player's turn: {view.allowed}")


def raised(view: View, part: float) -> Move:
    """A bet so far of the way from the least to the most, in whole steps."""
    may = view.may("Bet")
    if may is None or may.min is None or may.max is None or may.step is None:
        return first(view)
    steps = (may.max - may.min) // may.step
    return Move("Bet", may.min + may.step * int(steps * part))


def dear(view: View) -> bool:
    """To go on costs a good part of what is left."""
    may = view.may("Bet")
    return may is None or may.min is None or view.me is None or view.me.stack < 12 * may.min


def outclassed(view: View, luck: float) -> bool:
    """Looked, and has nothing that is worth the price; now and then a player goes on all the same."""
    worth = strength(view)
    return 0 < worth < (COLOR if dear(view) else ACE_HIGH) and luck < 0.9


# --- Tempers ------------------------------------------------------------------------------------------------------


def cautious(view: View, luck: float) -> Move:
    """Looks at once, goes with good cards only, and wants to see theirs early."""
    if view.may("SeeCards"):
        return Move("SeeCards")
    if outclassed(view, luck):
        return first(view, "Fold")
    return first(view, "Show")


def bold(view: View, luck: float) -> Move:
    """Stays blind for a while, then raises on anything that looks like a hand, and ends it by no show of his own."""
    if view.may("SeeCards"):
        return Move("SeeCards") if luck < 0.4 else raised(view, luck)
    if outclassed(view, 2 * luck):
        return first(view, "Fold")
    return raised(view, 1) if strength(view) >= PAIR else raised(view, luck / 2)


def blind(view: View, luck: float) -> Move:
    """Never looks: half the price, and nobody may ask him for a sideshow. Gives up only where it gets dear."""
    if dear(view) and luck > 0.8:
        return first(view, "Fold")
    return first(view, "Show") if luck < 0.4 else raised(view, luck if luck > 0.8 else 0)


def bluffer(view: View, luck: float) -> Move:
    """Looks, and raises as far as he may with the best cards or with the worst."""
    if view.may("SeeCards"):
        return Move("SeeCards")
    if strength(view) >= COLOR or luck < 0.3:
        return raised(view, 1)
    return first(view, "Fold") if outclassed(view, luck) or luck < 0.4 else first(view)


def curious(view: View, luck: float) -> Move:
    """Pays to see their cards as soon as two are left, and folds only the worst of his own."""
    if view.may("SeeCards") and luck < 0.7:
        return Move("SeeCards")
    if outclassed(view, 2 * luck):
        return first(view, "Fold")
    return first(view, "Show")


def asker(view: View, luck: float) -> Move:
    """Would compare with a neighbour in private, whenever it may be asked for."""
    if view.may("SeeCards"):
        return Move("SeeCards")
    if outclassed(view, 1.5 * luck):
        return first(view, "Fold")
    return first(view, "SideShow", "Show" if luck < 0.5 else "Bet")


TEMPERS: dict[str, Temper] = {
    "bot-gita": cautious,
    "bot-hari": bold,
    "bot-ines": blind,
    "bot-jaya": bluffer,
    "bot-kofi": curious,
    "bot-lena": asker,
}


def wanted(temper: Temper, view: View, luck: float) -> Move | None:
    """What a player does in the hand now; none if it is not his turn."""
    if view.may("AnswerSideShow"):
        return Move("AnswerSideShow", accept=strength(view) >= PAIR or luck < 0.5)
    return temper(view, luck) if view.may("Fold") else None


def at_the_table(view: View, luck: float) -> Move | None:
    """What a player does about the seat. One seat is left free for whoever looks on and would like to play."""
    sit, top_up, me = view.may("SitDown"), view.may("TopUp"), view.me
    if sit is not None:
        short = len(view.seats) < PLAYERS_MIN
        return Move("SitDown", sit.min) if short or (len(sit.seats) > 1 and luck < 0.5) else None
    if me is None:
        return None
    if top_up is not None and top_up.min is not None and me.stack < top_up.min:
        return Move("TopUp", top_up.min)  # more than half of the least buy-in is lost
    if view.may("SitIn"):
        return Move("SitIn")
    if sum(seat.status != "out" for seat in view.seats) <= PLAYERS_MIN or luck < 0.95:
        return None
    return Move("LeaveTable" if luck < 0.98 else "SitOut")


# --- Life ---------------------------------------------------------------------------------------------------------


async def play(operator: Client, table: str, players: Players[View]) -> None:
    """Whenever it is a bot's turn it acts; and how each hand ended is told."""
    async with beside() as begin, aclosing(client_patti.watch(operator, table)) as frames:
        async for frame in frames:
            if frame.event and frame.event["type"].endswith(".RoundSettled"):
                print(told(frame.event), flush=True)
            on_turn = frame.view.at(frame.view.turn)
            if on_turn and on_turn.player in players:
                begin(players[on_turn.player].act(table))


def told(event: dict[str, Any]) -> str:
    """A hand in one line, by what everybody knows of it."""
    results = sorted(event["results"], key=lambda each: -each["won"])
    winners = ", ".join(f"{_shown(each)} won {each['won'] / 100:,.2f}" for each in results if each["won"])
    beaten = [_shown(each) for each in results if each.get("cards") and not each["won"]]
    against = f" against {', '.join(beaten)}" if beaten else ""
    ended = event["why"].replace("_", " ")
    return f"{event['round']:<12} {len(results)} played, ended by {ended:<10} {winners}{against}"


def _shown(result: dict[str, Any]) -> str:
    return " ".join([result["player"], *result.get("cards", ())])


async def live(callers: Mapping[Role, Client], tables: Mapping[str, Mapping[str, Any]]) -> None:
    operator = callers[Role.OPERATOR]
    pace = Pace(COMMANDS_A_SECOND)
    players = {
        name: Player(name, operator, pace, client_patti, partial(wanted, temper), at_the_table)
        for name, temper in TEMPERS.items()
    }
    await bots_table.live(players, tables, lambda table: play(operator, table, players))

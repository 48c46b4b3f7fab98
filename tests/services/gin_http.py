"""A Gin Rummy table at a casino over real HTTP. Any hand may knock here, unless a test says otherwise."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from domain.cards import Card
from domain.games.gin_rummy import melds
from tests.services.conftest import Casino
from tests.services.seats_http import SeatsOverHttp

CONFIG = {"currency": "EUR", "entry": 5_000, "knock_limit": 98, "target": 9_999, "rake_bps": 500, "pause_seconds": 0}
ENTRY, PRIZE, RAKE = 5_000, 15_000, 750

Hand = tuple[Card, ...]


class GinTable(SeatsOverHttp):
    game = "gin_rummy"
    config = CONFIG
    buy_in = ENTRY

    async def dealt(self) -> tuple[str, str, str]:
        """Let the clock tick until a hand is on: its captain, its box, and who sits out."""
        await self.casino.until(self.name, "choice")
        return await self.roles()

    async def roles(self) -> tuple[str, str, str]:
        found = (await self.view())["roles"]
        captain, box, out = found["captain"], found["box"], found.get("sitting_out", "")
        return self.short(captain), self.short(box), self.short(out)

    def short(self, player: str) -> str:
        return player.removeprefix(f"{self.name}-")

    async def turn(self) -> str:
        return self.short((await self.view())["turn"])

    async def hand(self, player: str) -> Hand:
        """The player's own cards, as the player sees them."""
        return (await self.seen(player)).get(player, ())

    async def seen(self, viewer: str = "") -> dict[str, Hand]:
        """Whose cards a viewer sees at the table."""
        seats = (await self.view(viewer)).get("seats", ())
        return {self.short(seat["player"]): tuple(map(Card, seat["cards"])) for seat in seats if "cards" in seat}

    async def dealt_so(self, fits: Callable[[Hand, Hand], bool]) -> tuple[str, str, str]:
        """Cancel hand after hand until captain and box hold what a test needs."""
        for _ in range(100):
            captain, box, out = await self.dealt()
            if fits(await self.hand(captain), await self.hand(box)):
                return captain, box, out
            await self.void("CancelRound", reason="the test needs other cards")
        raise AssertionError("a hundred hands, and none that fits")

    async def takes(self, player: str) -> Card:
        """Take the upcard."""
        await self.does(player, "Draw", source="pile")
        [taken] = set(await self.hand(player)) - {
            Card(each) for each in (await self.allowed(player))["Discard"]["cards"]
        }
        return taken

    async def knocks(self, player: str) -> Any:
        """Knock with what leaves least."""
        knocks = (await self.allowed(player))["Knock"]["knocks"]
        best = min(knocks, key=lambda each: each["deadwood"])
        return await self.does(player, "Knock", card=best["card"])

    async def played(self) -> Any:
        """A hand: the captain takes the upcard and knocks. The answer to the knock."""
        captain, *_ = await self.dealt()
        await self.takes(captain)
        return await self.knocks(captain)

    async def dealt_to_lay_off(self) -> tuple[str, str, str]:
        """The captain has knocked with melds on which the box can lay off, at a table where he does it himself."""

        def fits(mine: Hand, his: Hand) -> bool:
            melds = melds_of(mine)
            return bool(fitting(melds, his)) and sum(map(len, melds)) < len(mine)

        captain, box, out = await self.dealt_so(fits)
        hand = await self.hand(captain)
        melds = melds_of(hand)
        await self.takes(captain)
        card = next(each for each in hand if each not in {card for meld in melds for card in meld})
        await self.does(captain, "Knock", card=card, melds=melds)
        return captain, box, out

    async def both_decline(self, captain: str, box: str) -> None:
        await self.does(captain, "Decline")
        await self.does(box, "Decline")


def melds_of(hand: Sequence[Card]) -> tuple[Hand, ...]:
    return melds.best(hand).melds


def no_meld(hand: Sequence[Card]) -> Hand:
    """Three cards of the hand that are none."""
    ranked = sorted(hand, key=lambda card: (card.rank, card))
    threes = (ranked[first : first + 3] for first in range(len(ranked) - 2))
    return tuple(next(three for three in threes if not melds.is_meld(three)))


def fitting(on: Sequence[Sequence[Card]], hand: Sequence[Card]) -> list[tuple[Card, int]]:
    """What can be laid off at first, and where."""
    return [(card, index) for index, meld in enumerate(on) for card in hand if melds.is_meld((*meld, card))]


def told(answer: Any, kind: str) -> Any:
    """The one event of this kind in an answer."""
    [event] = [each["event"] for each in answer["events"] if each["event"]["type"] == f"gin_rummy.{kind}"]
    return event


def cards_in(text: Any) -> set[str]:
    """Every card that a text names."""
    from_text = json.dumps(text)
    return {card for card in map(str, Card) if f'"{card}"' in from_text}


async def position_of(casino: Casino, table: str, kind: str) -> int:
    """Of the newest event of this kind."""
    query = "select max(position) from events where stream = $1 and type = $2"
    return await casino.services.pool.fetchval(query, f"table:{table}", f"gin_rummy.{kind}")

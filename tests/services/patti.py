"""A 3 Patti table on real servers, played through an executor whose vault has keys: hands of each kind, for tests of
what becomes of them.

Whoever acts first in a hand is `first`, then `second` and `third`: who that is depends on the dealer.
"""

from domain.games import GAMES
from tests.services.seats import Seats

GAME = GAMES["three_patti"]
CONFIG = {
    "currency": "EUR",
    "boot": 100,
    "chip": 10,
    "buy_in_min": 1_000,
    "buy_in_max": 10_000,
    "rake_bps": 500,
    "turn_seconds": 300,
    "pause_seconds": 0,
}
BUY_IN = 5_000
BOOT, BLIND, SEEN = 100, 100, 200
"""What is put in, as long as nobody raises: to be dealt a hand, blind, and seen."""


class Patti(Seats):
    game = GAME.name
    config = CONFIG
    buy_in = BUY_IN

    async def deals(self) -> tuple[str, ...]:
        """The next hand: its id, and whoever is in it, in the order in which they act."""
        state = await self.tick(lambda state: GAME.round(state) is not None)
        return state.round.id, *(each.player for each in state.round.players)

    async def turn(self) -> str:
        state = await self.state()
        return state.round.at(getattr(state, "target", None) or state.seat).player

    # --- Hands of three, played to the end; each gives its round's id -------------------------------------------------

    async def all_see(self) -> tuple[str, ...]:
        """Everybody looks at the cards and goes on: 900 in the pot."""
        round_id, *players = await self.deals()
        for player in players:
            await self.does(player, "SeeCards")
            await self.does(player, "Bet", amount=SEEN)
        return round_id, *players

    async def shown(self) -> str:
        """The third folds, the first asks for a show and both pay: a pot of 1,700, of which 85 are raked."""
        round_id, first, second, third = await self.all_see()
        await self.does(first, "Bet", amount=SEEN)
        await self.does(second, "Bet", amount=SEEN)
        await self.does(third, "Fold")
        await self.does(first, "Show")
        return round_id

    async def folded(self) -> str:
        """The first bets blind and the others fold: a pot of 400, without rake, for it is the first circuit."""
        round_id, first, second, third = await self.deals()
        await self.does(first, "Bet", amount=BLIND)
        await self.does(second, "Fold")
        await self.does(third, "Fold")
        return round_id

    async def sideshow(self) -> str:
        """The first and the third compare their hands in private; the two who are left show: a pot of 1,500."""
        round_id, first, _, third = await self.all_see()
        await self.does(first, "SideShow")
        await self.does(third, "AnswerSideShow", accept=True)
        await self.does(await self.turn(), "Show")
        return round_id

    async def still_on(self) -> str:
        """The first has bet, and the second is to act: 400 in the pot."""
        round_id, first, *_ = await self.deals()
        await self.does(first, "Bet", amount=BLIND)
        return round_id

    async def cancelled(self) -> str:
        round_id = await self.still_on()
        await self.void("CancelRound", reason="a card fell off the table")
        return round_id

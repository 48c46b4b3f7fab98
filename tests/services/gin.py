"""A Gin Rummy table on real servers, played through an executor whose vault has keys: hands and matches of each kind,
for tests of what becomes of them.

Any hand may knock here (`knock_limit`), so that a hand is short; who scores what is the cards' doing.
"""

from functools import partial
from typing import ClassVar

from domain.cards import Card
from domain.game import Role, Viewer
from domain.games import GAMES, gin_rummy
from infra import postgres
from infra.vault import Vault
from services.executor import Executor
from tests.services.seats import Seats

GAME = GAMES["gin_rummy"]
ENTRY, PRIZE, RAKE = 5_000, 15_000, 750
MOST = 123
"""A hand scores no more, so that a match to more than that takes two hands at least."""


class Gin(Seats):
    game = GAME.name
    config: ClassVar = {
        "currency": "EUR",
        "entry": ENTRY,
        "knock_limit": 98,
        "target": MOST + 1,
        "rake_bps": 500,
        "turn_seconds": 300,
        "pause_seconds": 0,
    }
    buy_in = ENTRY

    def __init__(self, executor: Executor, vault: Vault, pool: postgres.Pool, operator: str, table: str = "g") -> None:
        super().__init__(executor, pool, operator, table)
        self.vault = vault

    async def deals(self) -> str:
        """The next hand."""
        state = await self.tick(lambda state: GAME.round(state) is not None)
        return state.round.id

    async def roles(self) -> tuple[str, str, str]:
        """Captain, box, and who sits out, in the hand that is on or the next one."""
        found = (await self.state()).table.match.roles
        return found.captain, found.box, found.sitting_out or ""

    async def turn(self) -> str:
        return (await self.state()).player

    async def hand(self, player: str) -> tuple[Card, ...]:
        open_sealed = partial(self.vault.open, self.operator)
        return GAME.hands(await self.state(), Viewer(player, Role.PLAYER), open_sealed).get(player, ())

    # --- Hands; each gives its round's id -----------------------------------------------------------------------------

    async def still_on(self) -> str:
        """The captain has taken the upcard, and holds eleven cards."""
        round_id = await self.deals()
        await self.does(await self.turn(), "Draw", source="pile")
        return round_id

    async def played(self) -> str:
        """The captain takes the upcard and knocks with what leaves least."""
        round_id = await self.still_on()
        captain = await self.turn()
        await self.does(captain, "Knock", card=await self.least(captain))
        return round_id

    async def least(self, player: str) -> Card:
        """The best discard, but not the upcard that was just taken."""
        taken = (await self.state()).taken
        return gin_rummy.melds.best_discards(await self.hand(player), taken)[0]

    async def drawn(self) -> str:
        """Nobody knocks until the stock has come to its end (G27): no hand is shown."""
        round_id = await self.deals()
        for _ in range(2):
            await self.does(await self.turn(), "Decline")
        while type(await self.state()).__name__ == "Drawing":
            player = await self.turn()
            await self.does(player, "Draw", source="stock")
            await self.does(player, "Discard", card=(await self.hand(player))[-1])
        return round_id

    async def cancelled(self) -> str:
        round_id = await self.still_on()
        await self.void("CancelRound", reason="a card fell off the table")
        return round_id

    # --- Matches; each gives the ids of its hands ---------------------------------------------------------------------

    async def match(self) -> list[str]:
        """To its end, won by points."""
        hands = [await self.played()]
        while (await self.state()).table.match is not None:
            hands.append(await self.played())
        return hands

    async def forfeited_between_hands(self) -> list[str]:
        """One hand; then two of the three leave, and the third has won."""
        hands = [await self.played()]
        _, box, out = await self.roles()
        await self.does(box, "LeaveTable")
        await self.does(out, "LeaveTable")
        return hands

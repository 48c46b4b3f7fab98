"""A live table over HTTP, and those who stand at it: for tests of incidents."""

from typing import Any

from domain.game import Role
from services.settlement import settle_round
from tests.services.conftest import Casino

SLOTS = ("A1", "B1", "A2", "B2", "A3", "B3")
MISREAD = {"table": "pit", "kind": "wrong_card", "words": "B1 is the three of hearts", "video": "camera 2, 08:14:07"}
INCIDENTS = "/v1/incidents"


class Pit:
    """A live table with a bet of 500 of ann's, and the bearers of those who stand at it."""

    def __init__(self, casino: Casino, ann: str) -> None:
        self.casino, self.ann = casino, ann
        self.studio, self.supervisor = casino.bearer(Role.STUDIO), casino.bearer(Role.SUPERVISOR)

    @staticmethod
    async def opened(casino: Casino) -> "Pit":
        """Betting is over, and no card lies there."""
        pit = Pit(casino, await casino.player("ann", 1_000))
        await casino.table("pit", kind="live", betting_seconds=1)
        await casino.bet(pit.ann, "pit.1", "mine", player_a=500)
        await casino.until("pit", "dealing")
        return pit

    async def scan(self, cards: str, at: int = 0) -> None:
        for slot, card in zip(SLOTS[at:], cards.split(), strict=False):
            body = {"type": "DealCard", "slot": slot, "card": card}
            await self.casino.done("/v1/tables/pit/commands", body, self.studio)

    async def confirm(self, winner: str, round_id: str = "pit.1") -> None:
        body = {"type": "ConfirmResult", "round": round_id, "winner": winner}
        await self.casino.done("/v1/tables/pit/commands", body, self.studio)
        await settle_round(self.casino.worker, self.casino.services.pool, "lotus", round_id)

    async def report(self, bearer: str = "", **changed: Any) -> str:
        """The path of a new incident."""
        done = await self.casino.done(INCIDENTS, MISREAD | changed, bearer or self.studio)
        return f"{INCIDENTS}/{done['incident']['id']}"

    async def resolve(self, incident: str, resolution: str, bearer: str = "") -> Any:
        body = {"resolution": resolution, "words": "as the camera shows"}
        return await self.casino.send(f"{incident}/resolve", body, bearer or self.supervisor)

    async def view(self, bearer: str = "") -> Any:
        return (await self.casino.get("/v1/tables/pit", bearer or self.ann))["view"]

    async def cash(self) -> int:
        return (await self.casino.get("/v1/players/ann"))["balance"]

"""The demo's incidents: a card that is misread and scanned again, and one that is found when the round is settled."""

import asyncio
from typing import Any

from ops.bots_2020 import SLOTS
from ops.client import BalanceNow, Client
from ops.demo_teller import WAIT_S, Teller, first, money

MISREAD = "As 2h"
SCANNED = "As 2c Ad 3c 9h 8d"
TRUE = "As 2c Ad 3c 9h 4c"
"""By the last card Player B has a pure sequence, and not Player A a pair of aces against nothing."""
STAKE = 5_000


class Incident:
    """At a live table on which betting has just been opened. `ann` is her id, `player` herself."""

    def __init__(
        self, operator: Client, studio: Client, supervisor: Client, ann: str, player: Client, tell: Teller
    ) -> None:
        self._operator = operator
        self._studio = studio
        self._supervisor = supervisor
        self._id, self._ann = ann, player
        self._tell = tell

    async def play(self, table: str, round_id: str) -> None:
        before = await self._cash()
        await self._ann.place_bet(table, round_id, {"player_a": STAKE})
        self._tell.say(f"Ann bets {money(STAKE)} on Player A")
        await first(self._studio.watch(table), lambda frame: frame.view.phase == "dealing")
        await self._scanned_again(table, round_id)
        won = before + STAKE * 19 // 20
        self._tell.check(f"Player A wins by the cards on record: Ann has {money(won)}", await self._cash() == won)
        await self._put_right(table, round_id)
        lost = before - STAKE
        self._tell.check(f"Ann has {money(lost)}, as if the card had been read right", await self._cash() == lost)

    async def _scanned_again(self, table: str, round_id: str) -> None:
        await self._scan(table, MISREAD)
        incident = await self._reported(table, "B1 is the two of clubs, not of hearts")
        view = await self._ann.table(table)
        self._tell.say(f"the dealer reports a wrong card; the round is paused, and Ann reads: {view.reason}")
        await self._tell.refused("that it simply goes on", "ResolutionNotAllowed", self._resolve(incident, "resume"))
        await self._resolve(incident, "rescan")
        view = await self._ann.table(table)
        self._tell.check("the supervisor has the cards scanned again, from the first", not view.cards)
        await self._scan(table, SCANNED)
        await self._studio.at_table(table, "ConfirmResult", round=round_id, winner="player_a")
        await first(self._studio.watch(table), lambda frame: frame.view.round != round_id)

    async def _put_right(self, table: str, round_id: str) -> None:
        """What is settled stays on record; what corrects it is a settlement of its own, and takes two persons."""
        incident = await self._reported(table, "the video shows the four of clubs on B3", round=round_id)
        self._tell.say("then the video shows another card on B3: reported too, but the round is settled")
        corrected = {"type": "Corrected", "cards": TRUE.split()}
        body = {"basis": corrected, "reason": "B3 was the four of clubs", "incident": incident}
        path = f"/v1/rounds/{round_id}/resettlements"
        proposed = await self._operator.post(path, body, dict[str, Any])
        approve = f"/v1/proposals/{proposed['proposal']['id']}/approve"
        self._tell.say("the operator proposes to settle it by the true cards")
        own = self._operator.post(approve, {}, dict[str, Any])
        await self._tell.refused("to approve that alone", "SecondPersonNeeded", own)
        await self._supervisor.post(approve, {}, dict[str, Any])
        players = await self._completed(path)
        self._tell.say(f"the supervisor approves, and {players} bettor is settled with once more")
        told = await self._operator.get(f"/v1/incidents/{incident}", dict[str, Any])
        self._tell.check("the incident is resolved by it", told["incident"]["resolution"] == "correct")

    async def _completed(self, path: str) -> int:
        for _ in range(WAIT_S * 10):
            [told] = (await self._operator.get(path, dict[str, Any]))["resettlements"]
            if told["completed_at"]:
                return told["players"]
            await asyncio.sleep(0.1)
        raise TimeoutError(path)

    async def _reported(self, table: str, words: str, **more: str) -> str:
        body = {"table": table, "kind": "wrong_card", "words": words, "video": "camera 2", **more}
        return (await self._studio.post("/v1/incidents", body, dict[str, Any]))["incident"]["id"]

    async def _resolve(self, incident: str, resolution: str) -> None:
        body = {"resolution": resolution, "words": "as the camera shows"}
        await self._supervisor.post(f"/v1/incidents/{incident}/resolve", body, dict[str, Any])

    async def _scan(self, table: str, cards: str) -> None:
        for slot, card in zip(SLOTS, cards.split(), strict=False):
            await self._studio.at_table(table, "DealCard", slot=slot, card=card)

    async def _cash(self) -> int:
        return (await self._operator.get(f"/v1/players/{self._id}", BalanceNow)).balance

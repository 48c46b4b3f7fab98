"""Rounds of every game at one casino whose log is signed as it grows, each played once, and dossiers of them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

import ops.standalone.verify_dossier as standalone
from domain.game import Role, Viewer
from infra import notes
from services import make_dossier
from services.dossier import Dossier, Form
from services.notary import Notaries
from services.settlement import settle_round
from services.verify import verify
from services.verify_round import Check

from .conftest import Casino
from .gin import Gin
from .gin_http import GinTable
from .patti import Patti
from .patti_http import PattiTable
from .seats_http import SeatsOverHttp

SEED, OTHER = bytes(range(32)), bytes(range(1, 33))
KEYS = [notes.public_key("croupier/lotus/1", SEED)]
PLAYERS = ("ann", "bob", "cid")
WHO = {"auditor": Viewer("aud", Role.AUDITOR), "operator": Viewer("ops", Role.OPERATOR)}


class Rounds:
    """`ids` are rounds that are over, by what happened in them; `on` is one that is not."""

    def __init__(self, house: Casino, tokens: dict[str, str]) -> None:
        self.house = house
        self.tokens = tokens
        self.ids: dict[str, str] = {}
        self.on = ""
        self._made: dict[tuple[str, str, str], Dossier] = {}

    # --- Dossiers ---------------------------------------------------------------------------------------------------

    async def dossier(self, round_id: str, form: Form, player: str = "") -> Dossier:
        """Each is made once."""
        name = (round_id, form, player)
        if name not in self._made:
            self._made[name] = await self._make(round_id, form, player)
        return self._made[name]

    async def _make(self, round_id: str, form: Form, player: str) -> Dossier:
        pool = self.house.services.pool
        told = await make_dossier.story(pool, "lotus", round_id)
        assert told is not None
        viewer = WHO.get(form) or Viewer(player, Role.PLAYER)
        opened = await self._opened(told) if form == "auditor" else None
        return await make_dossier.make(pool, told, form, viewer, opened)

    async def _opened(self, told: make_dossier.Story) -> make_dossier.Auditing:
        return await make_dossier.record(
            self.house.services.pool, self.house.worker, self.house.services.vault, told, "aud", "a complaint"
        )

    # --- What is played ---------------------------------------------------------------------------------------------

    async def bank(self) -> None:
        """20-20: with seeds of players, bets, one taken back, some refused; then a round that is cancelled."""
        house, ann, bob = self.house, self.tokens["ann"], self.tokens["bob"]
        config = {"currency": "EUR", "betting_seconds": 1, "card_interval_ms": 0, "pause_seconds": 0}
        await house.done("/v1/tables", {"table": "t", "game": "teen_patti_2020", "config": config})
        await house.tick("t")
        for token in (ann, bob):
            body = {"type": "GiveClientSeed", "round": "t.1", "seed": "lucky"}
            await house.done("/v1/tables/t/commands", body, token)
        await house.until("t", "betting")
        await house.bet(ann, "t.1", "one", player_a=1_000, player_b=500)
        await house.bet(ann, "t.1", "two", tie=500)
        await house.done("/v1/tables/t/commands", {"type": "CancelBet", "bet": "two"}, ann)
        assert (await house.bet(bob, "t.1", "three", six_card_bonus=300, player_a=700)).status_code == 200
        assert (await house.bet(ann, "t.1", "four", player_a=999_999_900)).status_code in (409, 422)
        await self.over("t.1")
        self.ids["banked"] = "t.1"
        await house.until("t", "betting")
        await house.bet(bob, "t.2", "five", player_a=700)
        await house.void("t", "a card fell off the table")
        await self.over("t.2")
        self.ids["banked, cancelled"] = "t.2"
        await house.until("t", "betting")
        await self.over("t.3")
        self.ids["skipped"] = "t.3"
        self.on = "t.4"
        await house.until("t", "betting")

    async def live(self) -> None:
        """20-20 from a scanner: a bet is cancelled before it comes; a card is misread, and those that lie there are
        scanned again from the first."""
        house, ann = self.house, self.tokens["ann"]
        await house.table("live", kind="live", betting_seconds=1)
        await house.bet(ann, "live.1", "six", player_a=100, player_b=100)
        await house.done("/v1/tables/live/commands", {"type": "CancelBet", "bet": "gone"}, ann)
        assert (await house.bet(ann, "live.1", "gone", tie=100)).json()["code"] == "Fenced"
        studio, path = house.bearer(Role.STUDIO), "/v1/tables/live/commands"
        await house.until("live", "dealing")
        await house.done(path, {"type": "DealCard", "round": "live.1", "slot": "A1", "card": "2h"}, studio)
        reported = {"table": "live", "kind": "wrong_card", "words": "A1 is the ace of spades"}
        incident = f"/v1/incidents/{(await house.done('/v1/incidents', reported, studio))['incident']['id']}"
        resolved = {"resolution": "rescan", "words": "misread"}
        await house.done(f"{incident}/resolve", resolved, house.bearer(Role.SUPERVISOR))
        for slot, card in zip(("A1", "B1", "A2", "B2", "A3", "B3"), ("As", "2h", "Ad", "7c", "Ac", "9d"), strict=True):
            await house.done(path, {"type": "DealCard", "round": "live.1", "slot": slot, "card": card}, studio)
        await house.done(path, {"type": "ConfirmResult", "round": "live.1", "winner": "player_a"}, studio)
        await self.over("live.1")
        await house.done(f"{incident}/notes", {"words": "the lamp was off", "video": "camera 2"}, studio)
        self.ids["live"] = "live.1"

    async def over(self, round_id: str) -> None:
        table = round_id.partition(".")[0]
        async with asyncio.timeout(15):
            while (now := await self.house.get(f"/v1/tables/{table}"))["view"].get("round") == round_id:
                if now["view"]["phase"] in ("settling", "refunding"):
                    await settle_round(self.house.worker, self.house.services.pool, "lotus", round_id)
                else:
                    await self.house.tick(table)
                await asyncio.sleep(0.02)

    async def patti(self) -> None:
        table = Patti(self.house.worker, self.house.services.pool, "lotus", "p")
        await table.open(*PLAYERS)
        for what in ("shown", "sideshow", "folded", "cancelled"):
            self.ids[f"patti, {what}"] = await getattr(table, what)()
            await table.tick(lambda state: type(state).__name__ != "Ending")

    async def patti_over_http(self) -> None:
        """With a seed of a player's, an act out of turn, one who comes and one who goes while the hand is on."""
        table = PattiTable(self.house, "q")
        await SeatsOverHttp.open(table, "a", "b", "c")
        await table.does("a", "GiveClientSeed", seed="a-word", round="q.1")
        await table.dealt()
        first = await table.turn()
        second = next(name for name in ("a", "b", "c") if name != first)
        assert (await table.send(second, "Fold")).status_code == 409
        await table.arrive("d")
        await table.does("d", "SitDown", amount=table.buy_in)
        await table.does(second, "SeeCards")
        await table.circuit()
        await table.does(await table.turn(), "LeaveTable")
        await table.does(await table.turn(), "Fold")
        await self.over("q.1")
        self.ids["patti, over http"] = "q.1"

    async def gin(self) -> None:
        table = Gin(self.house.worker, self.house.services.vault, self.house.services.pool, "lotus", "g")
        await table.open(*PLAYERS)
        for what in ("played", "drawn", "cancelled"):
            self.ids[f"gin, {what}"] = await getattr(table, what)()
        self.ids["gin, broken off"] = await table.still_on()
        _, box, out = await table.roles()
        await table.does(box, "LeaveTable")
        await table.does(out, "LeaveTable")

    async def gin_over_http(self) -> None:
        """With advice that was asked for, and a discard that was refused."""
        table = await GinTable(self.house, "h").open("a", "b", "c")
        captain, box, out = await table.dealt()
        await table.does(captain, "AskAdvice")
        await table.does(out, "SendAdvice", text="take the upcard")
        await table.takes(captain)
        assert (await table.send(captain, "Discard", card=(await table.hand(box))[0])).status_code in (409, 422)
        await table.knocks(captain)
        self.ids["gin, over http"] = "h.1"


@asynccontextmanager
async def played(house: Casino) -> AsyncGenerator[Rounds]:
    notary = asyncio.create_task(Notaries(house.services.pool, {"k1": SEED}).run())
    tokens = {name: await house.player(name, 100_000) for name in PLAYERS}
    rounds = Rounds(house, tokens)
    for play in (rounds.bank, rounds.live, rounds.patti, rounds.patti_over_http, rounds.gin, rounds.gin_over_http):
        await play()
    yield rounds
    notary.cancel()
    with suppress(asyncio.CancelledError):
        await notary


def failing(raw: bytes, keys: Sequence[notes.PublicKey] = KEYS) -> Check | None:
    """The first check that fails."""
    return next((check for check in verify(raw, keys) if not check.holds), None)


def standalone_failure(raw: bytes, keys: Sequence[notes.PublicKey] = KEYS) -> str | None:
    """What the independent verifier says fails."""
    known = {pair for key in keys for pair in standalone.known_keys(str(key)).items()}
    return standalone.first_failure(raw, dict(known))

"""The demo's story: an operator, two players, a studio and a supervisor, each with a key of their own, over HTTP."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from ops import bots_2020, demo_dossiers, demo_gin, demo_incident, demo_patti, demo_proof
from ops.client import BalanceNow, Client, Frame, LogPage, Replay, Statement, View, new_key
from ops.demo_teller import WAIT_S, Teller, first, money, unless_refused

CURRENCY = "INR"
RNG = {"currency": CURRENCY, "kind": "rng", "betting_seconds": 4, "card_interval_ms": 250, "pause_seconds": 2}
LIVE = {"currency": CURRENCY, "kind": "live", "betting_seconds": 3, "pause_seconds": 1}
ALL_SPOTS = {
    "player_a": 10_000, "player_b": 4_000, "tie": 1_000, "pair_plus_a": 2_000, "pair_plus_b": 2_000,
    "six_card_bonus": 1_000,
}  # fmt: skip


class Story:
    """Each run has players and tables of its own, so that it may be told again at the same house."""

    def __init__(self, operator: Client, house: str, teller: Teller, out: Path | None = None) -> None:
        run = new_key()[:6]
        self.house = house
        self.tell = teller
        self.out = out
        self.operator = operator
        self.studio = self.supervisor = self.auditor = operator
        self.ann = self.bo = operator
        self.ann_id, self.bo_id = f"ann-{run}", f"bo-{run}"
        self.rng, self.live = f"demo-rng-{run}", f"demo-live-{run}"
        self.begin = 0
        self._keys: list[str] = []

    async def play(self) -> None:
        try:
            await self._open_house()
            await self._open_players()
            published, root, round_id = await self._rng_round()
            await self._live_round()
            await self._cancelled_round()
            await self._incidents()
            await self._replay(round_id, published, root)
            patti = demo_patti.Patti(self.operator, self.auditor, self.house, self.tell)
            await patti.play()
            gin = demo_gin.Gin(self.operator, self.auditor, self.house, self.tell)
            await gin.play()
            await demo_dossiers.made(self.auditor, (round_id, patti.round, gin.round), self.out, self.tell)
            await self._books(self.ann_id, self.bo_id, *(guest.id for guest in (*patti.guests, *gin.guests)))
        finally:
            await self._close_house()

    # --- Scenes ---

    async def _open_house(self) -> None:
        self.tell.scene("The operator hires staff and opens a table")
        self.begin = (await self.operator.get("/v1/events", LogPage, limit=1)).tip
        self.studio = await self._staff("studio")
        self.supervisor = await self._staff("supervisor")
        self.auditor = await self._staff("auditor")
        await self.operator.open_table(self.live, "teen_patti_2020", LIVE)
        self.tell.say(f"POST /v1/tables   {self.live}: cards come from the studio")
        await self.tell.refused(
            "a player's command sent by the studio",
            "WrongRole",
            self.studio.place_bet(self.live, f"{self.live}.1", {"tie": 100}),
        )

    async def _staff(self, role: str) -> Client:
        key = await self.operator.mint_key(role, "croupier demo")
        self._keys.append(key.id)
        self.tell.say(f"POST /v1/keys     a key for the {role}; only its digest is stored")
        return self.operator.acting_as(key.token or "")

    async def _open_players(self) -> None:
        self.tell.scene("Ann and Bo become players")
        for player, amount in ((self.ann_id, 100_000), (self.bo_id, 50_000)):
            await self.operator.open_player(player, CURRENCY)
            key = new_key()
            first = await self.operator.deposit(player, amount, CURRENCY, "from their bank", key)
            again = await self.operator.deposit(player, amount, CURRENCY, "from their bank", key)
            cash = again.balance.cash if again.balance else 0
            self.tell.say(f"POST /v1/players/{player}/deposits   {money(amount)}")
            once = again.repeated and again.position == first.position and cash == amount
            self.tell.check("sent twice with one key, the deposit counts once", once)
        self.ann = self.operator.acting_as((await self.operator.session(self.ann_id)).token)
        self.bo = self.operator.acting_as((await self.operator.session(self.bo_id)).token)
        self.tell.say("POST /v1/sessions a short token for each: with it they play, and see only what is theirs")

    async def _rng_round(self) -> tuple[str, str, str]:
        """A round at a table that deals by itself; returns the seed's hash, the deck's root and the round."""
        self.tell.scene(f"A round at {self.rng}, which deals by itself from a sealed deck")
        await self.operator.open_table(self.rng, "teen_patti_2020", RNG)
        view = (await until(self.ann, self.rng, lambda view: view.next_seed_hash is not None)).view
        published, round_id = view.next_seed_hash or "", view.next_round or ""
        self.tell.say(f"before the round the hash of its seed is published: {published[:16]}...")
        await self.ann.at_table(self.rng, "GiveClientSeed", seed="ann-was-here")
        self.tell.say("Ann throws in a word of her own, `ann-was-here`: the house alone cannot choose the deck")
        view = (await until(self.ann, self.rng, lambda view: view.phase == "betting")).view
        root = view.root or ""
        self.tell.say(f"betting is open; the root of 52 sealed cards is published: {root[:16]}...")
        self.tell.check(
            "the round uses the seed whose hash was published", (view.round, view.seed_hash) == (round_id, published)
        )
        await self._bets(round_id)
        await self._watched(self.ann, self.rng, self.ann_id)
        await self.operator.at_table(self.rng, "CloseTable")
        return published, root, round_id

    async def _bets(self, round_id: str) -> None:
        """Bets on every spot, and what is refused."""
        key, total = new_key(), sum(ALL_SPOTS.values())
        placed = await self.ann.place_bet(self.rng, round_id, ALL_SPOTS, key)
        assert placed.balance is not None
        self.tell.say(
            f"Ann bets on all six spots, {money(total)} in one command; she has {money(placed.balance.cash)} left"
        )
        again = await self.ann.place_bet(self.rng, round_id, ALL_SPOTS, key)
        same = again.repeated and again.position == placed.position and again.balance == placed.balance
        self.tell.check("her connection stutters and the bet comes twice: it is taken once", same)
        refused = self.tell.refused
        await refused(
            "the same key for another bet", "KeyReused", self.ann.place_bet(self.rng, round_id, {"tie": 100}, key)
        )
        await refused("a stake of 1.50", "StakeOffStep", self.ann.place_bet(self.rng, round_id, {"tie": 150}))
        await refused(
            "more than Bo has", "InsufficientFunds", self.bo.place_bet(self.rng, round_id, {"player_b": 60_000})
        )
        key = new_key()
        await self.bo.place_bet(self.rng, round_id, {"player_b": 20_000}, key)
        taken_back = await self.bo.at_table(self.rng, "CancelBet", bet=key)
        cash = taken_back.balance.cash if taken_back.balance else 0
        self.tell.check("Bo bets 200.00 and takes it back before the close", cash == 50_000)
        await self.bo.place_bet(self.rng, round_id, {"player_b": 20_000})

    async def _live_round(self) -> None:
        self.tell.scene(f"A round at {self.live}: a dealer, a camera, and a device that reads the cards")
        view = await self._betting()
        round_id = view.round or ""
        await self.ann.place_bet(self.live, round_id, {"player_a": 5_000, "pair_plus_b": 1_000})
        self.tell.say("Ann bets 50.00 on Player A and 10.00 on Pair + (B)")
        early = self.studio.at_table(self.live, "DealCard", slot="A1", card="As", round=round_id)
        await self.tell.refused("a card while bets are taken", "BettingIsOpen", early)
        await until(self.studio, self.live, lambda view: view.phase == "dealing")
        await self.tell.refused(
            "a bet after the close", "BettingIsClosed", self.ann.place_bet(self.live, round_id, {"tie": 100})
        )
        dealing = asyncio.create_task(bots_2020.deal_round(self.studio, self.live, 0.25))
        await self._watched(self.ann, self.live, self.ann_id)
        await dealing

    async def _cancelled_round(self) -> None:
        self.tell.scene("A round goes wrong, and everybody gets their stake back (T26-T28)")
        before = await self._cash(self.ann_id)
        round_id = (await self._betting()).round or ""
        await self.ann.place_bet(self.live, round_id, {"player_a": 5_000, "tie": 500})
        self.tell.say("Ann bets 55.00")
        await until(self.studio, self.live, lambda view: view.phase == "dealing")
        await self.studio.at_table(self.live, "DealCard", slot="A1", card="As", round=round_id)
        await self.studio.at_table(self.live, "ReportFault", reason="a card fell from the table")
        self.tell.say("the dealer shows As, then drops a card and reports it: the round is paused")
        await self.supervisor.at_table(self.live, "CancelRound", reason="a card fell from the table")
        self.tell.say("the supervisor cancels the round: there is money in it, so it takes two persons to void it")
        await until(self.ann, self.live, lambda view: view.phase == "between")
        self.tell.check("Ann has what she had before the round", await self._cash(self.ann_id) == before)

    async def _incidents(self) -> None:
        self.tell.scene("Cards are misread: one is seen in time, one when the round is settled")
        told = demo_incident.Incident(self.operator, self.studio, self.supervisor, self.ann_id, self.ann, self.tell)
        await told.play(self.live, (await self._betting()).round or "")

    async def _replay(self, round_id: str, published: str, root: str) -> None:
        self.tell.scene(f"The round {round_id} is played again from its events")
        replay = await self.auditor.get(f"/v1/rounds/{round_id}/replay", Replay)
        for step in replay.steps:
            name, whose = step.type.partition(".")[2], step.stream.removeprefix("wallet:")
            player = f"{whose} " if step.stream != whose else ""
            self.tell.say(f"{step.number:>3}  {name:<14} {player}{_short(step.event)}")
        for proof in replay.proofs:
            self.tell.check(f"the service says: {proof.what}", proof.holds)
        events = [step.event for step in replay.steps if not step.stream.startswith("wallet:")]
        self.tell.say("and without trusting the service:")
        demo_proof.check_cards(self.house, events, published, root, self.tell.check)

    async def _books(self, *players: str) -> None:
        self.tell.scene("The books")
        entries = await demo_proof.check_log(self.auditor, self.begin, self.tell.check)
        tip = entries[-1].position
        refusals = [entry for entry in entries if entry.stream in (f"refused:{self.ann_id}", f"refused:{self.bo_id}")]
        self.tell.check(f"{len(refusals)} refused bets are on record too", len(refusals) == 3)
        for player in players:
            statement = await self.operator.get(f"/v1/players/{player}/statement", Statement, after=tip)
            told = await self.operator.get(f"/v1/players/{player}/balance", BalanceNow, after=tip)
            cash = last_cash(entries, player)
            self.tell.check(
                f"{player}: {money(told.balance)} in the projection, {money(cash)} by the log", told.balance == cash
            )
            demo_proof.check_statement(player, statement.movements, told.balance, self.tell.check)

    async def _close_house(self) -> None:
        """Nothing of the demo goes on after it."""
        for table in (self.rng, self.live):
            await unless_refused(self.operator.at_table(table, "CloseTable"))
        for key in self._keys:
            await unless_refused(self.operator.revoke_key(key))

    # --- What the scenes share ---

    async def _betting(self) -> View:
        """The live table, as soon as bets are taken with some time left."""
        await until(self.ann, self.live, lambda view: view.phase == "between")
        return (await until(self.ann, self.live, lambda view: view.phase == "betting")).view

    async def _watched(self, player: Client, table: str, name: str) -> None:
        """Follow a round as a player does until it is settled; check that the payouts add up to the balance."""
        before = await self._cash(name)
        async with asyncio.timeout(WAIT_S), aclosing(player.watch(table)) as frames:
            async for frame in frames:
                event = frame.event or {}
                match event.get("type", "").partition(".")[2]:
                    case "CardDealt":
                        self.tell.say(f"{event['slot']}  {event['card']}")
                    case "RoundResulted":
                        shown = event["showdown"]
                        hands = f"A has {shown['category_a']}, B has {shown['category_b']}"
                        self.tell.say(f"{hands}: {shown['winner']}".replace("_", " "))
                    case "BetsSettled":
                        self._payouts(event, before)
                    case "RoundSettled":
                        return
                    case _:
                        pass

    def _payouts(self, event: dict[str, Any], before: int) -> None:
        for each in event["payouts"]:
            won = each["odds"] if each["odds"] == "lost" else f"{money(each['returned'])} at {each['odds']}"
            self.tell.say(f"    {each['spot']:<15} {money(each['staked']):>6}  {won}")
        returned = sum(each["returned"] for each in event["payouts"])
        whole = event["returned"] == returned and event["after"] == before + returned
        self.tell.check(f"to Ann go {money(returned)}; she has {money(event['after'])}", whole)

    async def _cash(self, player: str) -> int:
        return (await self.operator.get(f"/v1/players/{player}", BalanceNow)).balance


async def until(client: Client, table: str, wanted: Callable[[View], bool]) -> Frame:
    return await first(client.watch(table), lambda frame: wanted(frame.view))


def last_cash(entries: list[Any], player: str) -> int:
    """A player's balance by the log alone: what the last event of the wallet says."""
    data = [msgspec.json.decode(entry.data) for entry in entries if entry.stream == f"wallet:{player}"]
    return next((event["after"] for event in reversed(data) if "after" in event), 0)


def _short(event: dict[str, Any]) -> str:
    told = {name: value for name, value in event.items() if name in ("slot", "card", "amount", "winner", "bettors")}
    told |= {name: money(event[name]) for name in ("amount", "staked", "returned", "after") if name in event}
    if "showdown" in event:
        told["winner"] = event["showdown"]["winner"]
    return " ".join(f"{name}={value}" for name, value in told.items())

"""The demo's scenes at a table of Gin Rummy: a match of three players, one hand to its knock, and what proves it.

Cards come as they come. One point wins this match, and one may knock with anything: so the story always comes to its
end, while the two play as the bots do for as long as it lasts.
"""

from typing import Any

from domain.cards import DECK
from ops import bots_gin, client_gin, demo_guests, demo_points, demo_proof
from ops.bots_table import Move
from ops.client import Client, RoundResult, new_key
from ops.client_gin import View
from ops.demo_guests import Follower, Guest, names
from ops.demo_teller import Teller, first, money, unless_refused

CURRENCY = "INR"
CASH, ENTRY, RAKE_BPS = 8_000, 5_000, 250
CONFIG = {
    "currency": CURRENCY, "entry": ENTRY, "rake_bps": RAKE_BPS, "target": 1, "knock_limit": 98,
    "layoff": "declared", "pause_seconds": 1,
}  # fmt: skip
TURNS = 8
"""Then whoever's turn it is knocks, whatever is unmatched."""
KNOCKS_AT = 10
ADVICE = "keep your low cards"


class Gin:
    """Like the story it is part of, it has players and a table of its own each time."""

    def __init__(self, operator: Client, auditor: Client, house: str, tell: Teller) -> None:
        run = new_key()[:6]
        self.house, self.operator, self.auditor, self.tell = house, operator, auditor, tell
        self.table = f"demo-gin-{run}"
        self.guests = [Guest(name, f"{name.lower()}-{run}", operator) for name in ("Fay", "Gil", "Hua")]
        self.published = self.root = self.round = ""
        self.onlooker = Follower()
        self.streams: dict[str, Follower] = {}
        self.dealt: dict[str, tuple[str, ...]] = {}
        self.own: dict[str, set[str]] = {}
        """The cards that each was dealt or drew from the stock: nobody else may know them yet."""
        self.opened_at = self.asked_at = 0

    async def play(self) -> None:
        try:
            await self._arrive()
            async with self.onlooker.following(self.operator, self.table):
                await self._sit_down()
                box, captain, out = await self._roles()
                for guest in self.guests:
                    self.streams[guest.id] = Follower()
                async with (
                    self.streams[box.id].following(box.client, self.table),
                    self.streams[captain.id].following(captain.client, self.table),
                    self.streams[out.id].following(out.client, self.table),
                ):
                    await self._first_turns(box, captain, out)
                    await self._advice(box, captain, out)
                    await self._to_the_knock(captain, box)
                    await self._lay_off(box, captain, out)
                    await self._scored(box, captain, out)
            await self._prize()
            await self._read_back(box)
            await self._auditor_opens(captain)
        finally:
            await unless_refused(self.operator.at_table(self.table, "CloseTable"))

    # --- Scenes ---

    async def _arrive(self) -> None:
        self.tell.scene(f"Gin Rummy at {self.table}: three players pay their entries into a match")
        await self.operator.open_table(self.table, client_gin.GAME, CONFIG)
        self.guests = [await demo_guests.arrived(self.operator, guest, CASH, CURRENCY) for guest in self.guests]
        self.tell.say(f"Fay, Gil and Hua have {money(CASH)} each; the entry is {money(ENTRY)}")
        seen = client_gin.watch(self.operator, self.table)
        view = (await first(seen, lambda frame: frame.view.next_seed_hash is not None)).view
        self.published = view.next_seed_hash or ""
        self.tell.say(f"the hash of the first hand's seed is published: {self.published[:16]}...")

    async def _sit_down(self) -> None:
        fay = self.guests[0]
        less = client_gin.send(fay.client, self.table, "SitDown", amount=ENTRY - 1)
        await self.tell.refused("Fay would play for a little less", "NotTheEntry", less)
        for guest in self.guests:
            sat = await client_gin.send(guest.client, self.table, "SitDown", amount=ENTRY)
            cash = sat.balance.cash if sat.balance else 0
            self.tell.check(f"{guest.name} sits down: {money(cash)} left in the wallet", cash == CASH - ENTRY)
            if guest is fay:
                await client_gin.send(fay.client, self.table, "GiveClientSeed", seed="fay-was-here")
                self.tell.say("Fay throws a word into the next shuffle, `fay-was-here`")

    async def _roles(self) -> tuple[Guest, Guest, Guest]:
        """The three as box, captain, and who sits out."""
        self.tell.scene("Cards are drawn for the roles, and the hand is dealt")
        self.opened_at, opened = await self.onlooker.event("RoundOpened")
        _, begun = await self.onlooker.event("MatchOpened")
        self.round, self.root = opened["round"], opened["root"]
        by_id = {guest.id: guest for guest in self.guests}
        for draw in begun["draws"]:
            drew = ", ".join(f"{by_id[each['player']].name} {each['card']}" for each in draw["cards"])
            self.tell.say(f"drawn: {drew}")
        box, captain, out = (by_id[begun["roles"][role]] for role in ("box", "captain", "sitting_out"))
        self.tell.say(f"{box.name} is in the box and deals; {captain.name} is captain and plays; {out.name} sits out")
        right = demo_points.order(begun["draws"]) == [box.id, captain.id, out.id]
        self.tell.check("king high, ace low, that is who they are", right)
        self.tell.check("the hand uses the seed whose hash was published", opened["seed"]["hash"] == self.published)
        self.tell.say(f"the root of the deck: {self.root[:16]}...; the upcard is {opened['upcard']}")
        views = {guest.id: await self._look(guest) for guest in self.guests}
        seen = {whose: {seat.player: seat.cards for seat in view.seats if seat.cards} for whose, view in views.items()}
        self.dealt = {player.id: views[player.id].cards(player.id) for player in (captain, box)}
        self.own = {player: set(hand) for player, hand in self.dealt.items()}
        apart = seen == {**{player: {player: hand} for player, hand in self.dealt.items()}, out.id: {}}
        whole = len(self.own[captain.id] | self.own[box.id]) == 2 * demo_points.HAND
        self.tell.check(f"the two see ten cards each, their own, and {out.name} sees none", apart and whole)
        return box, captain, out

    async def _first_turns(self, box: Guest, captain: Guest, out: Guest) -> None:
        self.tell.scene("The upcard, and what is refused")
        refused, at = self.tell.refused, self.table
        early = client_gin.send(box.client, at, "Draw", source="pile")
        await refused(f"{box.name} takes the upcard before {captain.name} has chosen", "NotYourTurn", early)
        await refused(f"{out.name}, who sits out, declines it", "NotInHand", client_gin.send(out.client, at, "Decline"))
        await refused(
            f"{captain.name} draws from the stock", "ChooseFirst",
            client_gin.send(captain.client, at, "Draw", source="stock"),
        )  # fmt: skip
        await self._does(captain, Move("Decline"), "declines the upcard")
        taken = await self._does(box, Move("Draw", source="pile"), "takes it")
        own = taken.cards(box.id)
        upcard = next(iter(set(own) - self.own[box.id]))
        back = client_gin.send(box.client, at, "Discard", card=upcard)
        await refused(f"{box.name} would put it back", "JustTaken", back)
        other = next(iter(sorted(self.own[captain.id])))
        foreign = client_gin.send(box.client, at, "Discard", card=other)
        await refused(f"{box.name} discards a card that is not there", "NotHeld", foreign)
        may = taken.may("Discard")
        assert may is not None
        discard = bots_gin.dearest(bots_gin.hand_of(taken, box.id), may)
        await self._does(box, discard, f"discards {discard.card}")

    async def _advice(self, box: Guest, captain: Guest, out: Guest) -> None:
        self.tell.scene("The captain takes advice")
        await self._does(captain, Move("AskAdvice"), f"asks {out.name} for advice")
        self.asked_at, _ = await self.onlooker.event("AdviceAsked")
        opened, closed = await self._look(out), await self._look(box)
        own = opened.cards(captain.id) == self.dealt[captain.id] and not opened.cards(box.id)
        self.tell.check(f"{out.name} sees {captain.name}'s hand now, and {box.name}'s not", own)
        self.tell.check(f"{box.name} sees nothing of it", not closed.cards(captain.id))
        await self._does(out, Move("SendAdvice", text=ADVICE), f"says: {ADVICE}")
        heard = {guest.id: (await self._look(guest)).advice for guest in self.guests}
        right = heard == {captain.id: (ADVICE,), out.id: (ADVICE,), box.id: ()}
        self.tell.check(f"{captain.name} reads it, {box.name} does not", right)

    async def _to_the_knock(self, one: Guest, other: Guest) -> None:
        """In turn they draw and discard, until one knocks."""
        self.tell.scene("The hand is played")
        for number in range(TURNS):
            move = bots_gin.hasty(view := await self._look(one), 0)
            drawn = await self._does(one, move, f"draws from the {move.source}", quiet=True)
            if move.source == "stock":
                self.own[one.id] |= set(drawn.cards(one.id)) - set(view.cards(one.id))
            source = f"takes {view.top}" if move.source == "pile" else "draws"
            knock = bots_gin.knock(drawn, KNOCKS_AT if number < TURNS - 1 else bots_gin.ANY)
            if knock:
                await self._does(one, knock, f"{source}, discards {knock.card} and knocks")
                return
            may = drawn.may("Discard")
            assert may is not None
            discard = bots_gin.dearest(bots_gin.hand_of(drawn, one.id), may)
            await self._does(one, discard, f"{source} and discards {discard.card}")
            one, other = other, one

    async def _lay_off(self, box: Guest, captain: Guest, out: Guest) -> None:
        """On gin nothing is laid off: then the hand has ended with the knock."""
        _, knocked = await self.onlooker.event("Knocked")
        spread = knocked["spread"]
        self._lies("the knocker", spread)
        if not spread["deadwood"]:
            self.tell.say("that is gin: nothing may be laid off")
            return
        opponent = captain if spread["player"] == box.id else box
        knower = (opponent, out) if opponent is captain else (opponent,)
        hidden = [(await self._look(guest)).cards(opponent.id) for guest in self.guests if guest not in knower]
        self.tell.check(f"{opponent.name}'s hand still lies face down", not any(hidden))
        lays = [each for each in (await self._look(opponent)).allowed if each.command == "LayOff"]
        what = "lays off what fits, and" if lays else "has nothing that fits and"
        await self._does(opponent, Move("LayDown"), f"{what} lays the rest down")

    async def _scored(self, box: Guest, captain: Guest, out: Guest) -> None:
        self.tell.scene("Both hands lie on the table, and each card is proved")
        _, scored = await self.onlooker.event("RoundScored")
        _, settled = await self.onlooker.event("RoundSettled")
        for stream in self.streams.values():
            await stream.event("MatchSettled")
        await self.onlooker.event("MatchSettled")
        self._lies("the knocker", scored["knocker"])
        self._lies("the other one", scored["opponent"])
        events = [event for position, event in self.onlooker.events if position >= self.opened_at]
        demo_proof.check_laid_out(events, self.root, self.tell.check)
        demo_proof.check_points(scored, settled, self.tell.check)
        public_at = self._public_at()
        ours, theirs = ({card: public_at[card] for card in self.own[player.id]} for player in (captain, box))
        of_out, at = self.streams[out.id], self.opened_at  # before it were the cards drawn for the roles
        early = {
            *self.onlooker.early(ours | theirs, at),
            *self.streams[box.id].early(ours, at),
            *self.streams[captain.id].early(theirs, at),
            *of_out.early(theirs | dict.fromkeys(ours, self.asked_at), at),
        }
        self.tell.check("no live stream held a card of a hand before its viewer might know it", not early)
        hands = {card for each in (scored["knocker"], scored["opponent"]) for card in demo_points.cards_of(each)}
        streams = (self.onlooker, *self.streams.values())
        then = all(stream.shows([card]) for stream in streams for card in hands)
        self.tell.check("and in the end all of them held both hands", then)
        unseen = set(DECK) - set(public_at)
        still = not any(stream.shows(unseen, since=at) for stream in streams)
        self.tell.check(f"but none of the {len(unseen)} cards that were never shown", still)

    async def _prize(self) -> None:
        self.tell.scene("The match is won")
        at, settled = await self.onlooker.event("MatchSettled")
        totals = {each["player"]: each.get("total", 0) for each in settled["results"]}
        won = {each["player"]: each["won"] for each in settled["results"]}
        prize, rake = len(self.guests) * ENTRY, len(self.guests) * ENTRY * RAKE_BPS // 10_000
        best = max(totals, key=lambda player: totals[player])
        right = won == {player: (prize - rake if player == best else 0) for player in totals}
        told = f"the prize, {money(prize)} less {money(rake)} of rake, goes to the one with {totals[best]} points"
        self.tell.check(told, right and (settled["prize"], settled["rake"]) == (prize, rake))
        cash = {guest.id: await demo_guests.cash(self.operator, guest) for guest in self.guests}
        for guest in self.guests:
            said = f"{guest.name} has {money(cash[guest.id])}: paid {money(ENTRY)}, was given {money(won[guest.id])}"
            self.tell.check(said, cash[guest.id] == CASH - ENTRY + won[guest.id])
        whole = sum(cash.values()) + rake == len(self.guests) * CASH
        self.tell.check(f"their wallets, and {money(rake)} of rake, are all that they came with", whole)
        rows = await self.operator.get(f"/v1/rounds/{settled['match']}", RoundResult, after=at)
        booked = {each.player: (each.staked, each.returned) for each in rows.bettors}
        same = booked == {player: (ENTRY, each) for player, each in won.items()}
        self.tell.check("the match's result says the same of each player's money", same)
        free = not (await self._look(self.guests[0])).seats
        self.tell.check("all seats are free again", free)

    async def _read_back(self, box: Guest) -> None:
        self.tell.scene(f"The hand {self.round} is read back")
        log = await demo_guests.log_of(self.auditor, self.opened_at, self.table, self.guests)
        public_at = self._public_at()
        entries = [(entry.position, entry.data.encode()) for entry in log]
        early = [card for card, at in public_at.items() if any(names(data, [card]) for p, data in entries if p < at)]
        never = any(names(data, set(DECK) - set(public_at)) for _, data in entries)
        spoken = any(ADVICE.encode() in data for _, data in entries)
        self.tell.check("the log itself names no card before all might know it, and the others never",
                        not early and not never)  # fmt: skip
        self.tell.check("nor does it say what the adviser said", not spoken)
        await demo_guests.replayed(self.auditor, self.round, self.tell)
        self.tell.scene("And the match")
        _, begun = await self.onlooker.event("MatchOpened")
        await demo_guests.replayed(self.auditor, begun["match"], self.tell)

    async def _auditor_opens(self, captain: Guest) -> None:
        self.tell.scene("A dispute: the auditor opens the deck, and that is on record")
        opened, deck = await demo_guests.opened_deck(self.auditor, captain, self.round, self.opened_at, self.tell)
        demo_proof.check_deck(self.house, opened, deck, self.published, self.dealt, self.tell.check)
        _, begun = await self.onlooker.event("MatchOpened")
        demo_proof.check_roles(self.house, begun, opened, deck, self.tell.check)

    # --- What the scenes share ---

    def _public_at(self) -> dict[str, int]:
        """From which position on everybody may know a card, by what was told to everybody."""
        public: dict[str, int] = {}
        for position, event in self.onlooker.events:
            shown = [event[name] for name in ("upcard", "card") if event.get(name)]
            for name in ("spread", "knocker", "opponent"):
                shown += demo_points.cards_of(event[name]) if isinstance(event.get(name), dict) else []
            if position >= self.opened_at:
                public |= {card: position for card in shown if card not in public}
        return public

    def _lies(self, who: str, spread: dict[str, Any]) -> None:
        melds = "  ".join(" ".join(meld) for meld in spread["melds"]) or "no meld"
        laid = "".join(f"  laid off {each['card']}" for each in spread.get("laid", ()))
        rest = f"{' '.join(spread['deadwood'])} unmatched, {spread['points']}" if spread["deadwood"] else "and no more"
        self.tell.say(f"{who}: {melds}{laid}; {rest}")

    async def _does(self, guest: Guest, move: Move, words: str, *, quiet: bool = False) -> View:
        told: dict[str, Any] = move.fields
        done = await client_gin.send(guest.client, self.table, move.command, **told)
        if not quiet:
            self.tell.say(f"{guest.name} {words}")
        assert done.view is not None
        return done.view

    async def _look(self, guest: Guest) -> View:
        return await client_gin.seen(guest.client, self.table)

"""The demo's scenes at a table of 3 Patti: three players, one hand with a sideshow and a show, and what proves it.

Cards come as they come; what the three do is open to them whatever their cards are, so the story is always told.
"""

from typing import Any

import msgspec

from ops import client_patti, demo_guests, demo_proof
from ops.client import Client, DeckOpening, RoundResult, new_key
from ops.client_patti import View
from ops.demo_guests import Follower, Guest, names
from ops.demo_teller import Teller, first, money, unless_refused

CURRENCY = "INR"
BOOT, RAKE_BPS = 100, 250
CASH, BUY_IN = 15_000, 10_000
CONFIG = {
    "currency": CURRENCY, "boot": BOOT, "buy_in_min": 5_000, "buy_in_max": 20_000, "rake_bps": RAKE_BPS,
    "pause_seconds": 1,
}  # fmt: skip


class Patti:
    """Like the story it is part of, it has players and a table of its own each time."""

    def __init__(self, operator: Client, auditor: Client, house: str, tell: Teller) -> None:
        run = new_key()[:6]
        self.house, self.operator, self.auditor, self.tell = house, operator, auditor, tell
        self.table = f"demo-patti-{run}"
        self.guests = [Guest(name, f"{name.lower()}-{run}", operator) for name in ("Cy", "Di", "Ed")]
        self.published = self.root = self.round = ""
        self.onlooker, self.third = Follower(), Follower()
        self.hands: dict[str, tuple[str, ...]] = {}
        self.results: dict[str, tuple[int, int]] = {}
        """What each put in, and what each was given."""
        self.opened_at = self.shown_at = self.settled_at = self.rake = 0

    async def play(self) -> None:
        try:
            await self._arrive()
            async with self.onlooker.following(self.operator, self.table):
                await self._sit_down()
                one, two, three = await self._dealt()
                async with self.third.following(three.client, self.table):
                    await self._bets(one, two, three)
                    folded = await self._sideshow(one, two, three)
                    await self._show(three, folded)
            await self._leave(folded)
            await self._read_back(three, folded)
            await self._auditor_opens(three)
        finally:
            await unless_refused(self.operator.at_table(self.table, "CloseTable"))

    # --- Scenes ---

    async def _arrive(self) -> None:
        self.tell.scene(f"3 Patti at {self.table}: three players buy in")
        await self.operator.open_table(self.table, client_patti.GAME, CONFIG)
        self.guests = [await demo_guests.arrived(self.operator, guest, CASH, CURRENCY) for guest in self.guests]
        self.tell.say(f"Cy, Di and Ed have {money(CASH)} each; the boot is {money(BOOT)}")
        seen = client_patti.watch(self.operator, self.table)
        view = (await first(seen, lambda frame: frame.view.next_seed_hash is not None)).view
        self.published = view.next_seed_hash or ""
        self.tell.say(f"the hash of the first hand's seed is published: {self.published[:16]}...")

    async def _sit_down(self) -> None:
        cy = self.guests[0]
        too_much = client_patti.send(cy.client, self.table, "SitDown", amount=20_000)
        await self.tell.refused("Cy buys in for more than there is in the wallet", "InsufficientFunds", too_much)
        nothing = (await self._look(cy)).you is None and await self._cash(cy) == CASH
        self.tell.check("neither money nor seat has moved: it is all or nothing", nothing)
        for guest in self.guests:
            sat = await client_patti.send(guest.client, self.table, "SitDown", amount=BUY_IN)
            cash = sat.balance.cash if sat.balance else 0
            stack = sat.view.me.stack if sat.view and sat.view.me else 0
            one = cash == CASH - BUY_IN and stack == BUY_IN
            self.tell.check(f"{guest.name} sits down: {money(cash)} in the wallet, {money(stack)} on the table", one)
            if guest is cy:
                await client_patti.send(cy.client, self.table, "GiveClientSeed", seed="cy-was-here")
                self.tell.say("Cy throws a word into the next shuffle, `cy-was-here`")
        again = client_patti.send(cy.client, self.table, "SitDown", amount=BUY_IN)
        await self.tell.refused("Cy wants a second seat", "AlreadySeated", again)

    async def _dealt(self) -> tuple[Guest, Guest, Guest]:
        """The three in the order in which they act."""
        self.tell.scene("The hand: blind and seen")
        self.opened_at, opened = await self.onlooker.event("RoundOpened")
        self.round, self.root = opened["round"], opened["root"]
        order = {each["player"]: at for at, each in enumerate(opened["dealt"])}
        self.guests.sort(key=lambda guest: order[guest.id])
        one, two, three = self.guests
        self.tell.say(
            f"{three.name} is drawn as dealer; cards lie face down; the root of the deck: {self.root[:16]}..."
        )
        self.tell.check("the hand uses the seed whose hash was published", opened["seed"]["hash"] == self.published)
        views = [await self._look(guest) for guest in self.guests]
        blind = not any(seat.cards for view in views for seat in view.seats)
        self.tell.check("nobody has looked, and no player's own view holds a card", blind)
        return one, two, three

    async def _bets(self, one: Guest, two: Guest, three: Guest) -> None:
        early = client_patti.send(two.client, self.table, "Bet", amount=BOOT)
        await self.tell.refused(f"{two.name} bets before {one.name} has", "NotYourTurn", early)
        await self._does(one, "Bet", "bets blind")
        await self._does(two, "Bet", "raises, blind", most=True)
        await self._does(three, "SeeCards", "looks")
        low = client_patti.send(three.client, self.table, "Bet", amount=2 * BOOT)
        await self.tell.refused(f"{three.name} has looked and bets as if blind", "BelowMinimum", low)
        await self._does(three, "Bet", "calls at a seen player's price")
        await self._does(one, "SeeCards", "looks")
        await self._does(one, "Bet", "calls")
        await self._does(two, "SeeCards", "looks")
        for guest in self.guests:
            me = (await self._look(guest)).me
            self.hands[guest.id] = me.cards if me else ()
        nine = {card for hand in self.hands.values() for card in hand}
        self.tell.check("each has seen three cards, their own", len(nine) == 9)
        asked = {"position": self.opened_at, "why": "too early"}
        early = self.auditor.post("/v1/openings", asked, DeckOpening)
        await self.tell.refused("the auditor wants the deck while it is played", "RoundIsOn", early)

    async def _sideshow(self, one: Guest, two: Guest, three: Guest) -> Guest:
        """Returns whose hand was the lower one."""
        self.tell.scene("A sideshow: two compare in private")
        await self._does(two, "SideShow", f"asks {one.name} to compare")
        await self._does(one, "AnswerSideShow", "accepts", accept=True)
        _, resolved = await self.onlooker.event("SideShowResolved")
        views = {guest.id: await self._look(guest) for guest in self.guests}
        cards = {guest.id: self.hands[guest.id] for guest in (one, two)}
        for guest, other in ((one, two), (two, one)):
            seat = views[guest.id].of(other.id)
            self.tell.check(f"{guest.name} sees {other.name}'s hand", bool(seat) and seat.cards == cards[other.id])
        lower = two if demo_proof.strength(cards[one.id]) >= demo_proof.strength(cards[two.id]) else one
        seat = views[one.id].at(resolved["folded"])
        self.tell.check(f"the lower hand, {lower.name}'s, is folded", bool(seat) and seat.player == lower.id)
        six = [*cards[one.id], *cards[two.id]]
        path = f"/v1/tables/{self.table}"
        for whose, client in (
            (three.name, three.client),
            ("the operator", self.operator),
            ("the auditor", self.auditor),
        ):
            text = bytes(await client.get(path, msgspec.Raw))
            self.tell.check(f"what {whose} sees holds neither hand", not names(text, six))
        left = await self._does(lower, "LeaveTable", "leaves: the chips follow when the hand has ended")
        self.tell.check("until then they stay on the table", left.leaving and await self._cash(lower) == CASH - BUY_IN)
        return lower

    async def _show(self, three: Guest, folded: Guest) -> None:
        self.tell.scene("The show, and the proof of each card")
        await self._does(three, "Show", "pays for a show")
        at, shown = await self.onlooker.event("HandsShown")
        _, opened = await self.onlooker.event("RoundOpened")
        self.settled_at, settled = await self.onlooker.event("RoundSettled")
        await self.third.event("RoundSettled")
        for hand in shown["hands"]:
            self.tell.say(f"{hand['player']:<12} {' '.join(hand['cards'])}   {hand['category'].replace('_', ' ')}")
        as_seen = {hand["player"]: tuple(hand["cards"]) for hand in shown["hands"]}
        same = len(as_seen) == 2 and as_seen.items() <= self.hands.items()
        self.tell.check("two hands are shown, as their players had seen them", same)
        demo_proof.check_show(opened, shown, self.root, self.tell.check)
        demo_proof.check_winner(shown, settled, self.tell.check)
        agreed = settled["rake"] == settled["pot"] * RAKE_BPS // 10_000
        self.tell.check(f"the rake, {money(settled['rake'])} of {money(settled['pot'])}, is what was agreed", agreed)
        others = {card for player, hand in self.hands.items() if player != three.id for card in hand}
        early = self.onlooker.shows(others | set(self.hands[three.id]), at) or self.third.shows(others, at)
        then = all(self.onlooker.shows([card]) for hand in as_seen.values() for card in hand)
        self.tell.check(
            "no live stream held a card before all were to see it, and then it held the six", not early and then
        )
        secret = self.hands[folded.id]
        self.tell.check(
            f"and none holds {folded.name}'s now", not (self.onlooker.shows(secret) or self.third.shows(secret))
        )
        self.results = {each["player"]: (each["paid"], each["won"]) for each in settled["results"]}
        self.rake, self.shown_at = settled["rake"], at

    async def _leave(self, folded: Guest) -> None:
        self.tell.scene("They leave the table")
        for guest in self.guests:
            if guest is not folded:
                await self._does(guest, "LeaveTable", "leaves")
            paid, won = self.results[guest.id]
            cash = await self._cash(guest)
            said = f"{guest.name} has {money(cash)} again: put in {money(paid)}, was given {money(won)}"
            self.tell.check(said, cash == CASH - paid + won)
        wallets = sum([await self._cash(guest) for guest in self.guests])
        whole = wallets + self.rake == len(self.guests) * CASH
        self.tell.check(f"their wallets, and {money(self.rake)} of rake, are all that they came with", whole)

    async def _read_back(self, three: Guest, folded: Guest) -> None:
        self.tell.scene(f"The hand {self.round} is read back")
        entries = await demo_guests.log_of(self.auditor, self.opened_at, self.table, self.guests)
        secret, told = self.hands[folded.id], "".join(entry.data for entry in entries)
        before = "".join(entry.data for entry in entries if entry.position < self.shown_at)
        nine = {card for hand in self.hands.values() for card in hand}
        unsaid = not names(before.encode(), nine) and not names(told.encode(), secret)
        said = all(names(told.encode(), [card]) for card in nine.difference(secret))
        self.tell.check(
            "the log itself names no card before the show, then six, and the folded ones never", unsaid and said
        )
        await demo_guests.replayed(self.auditor, self.round, self.tell)
        text = bytes(await three.client.get(f"/v1/rounds/{self.round}/replay", msgspec.Raw))
        own = names(text, self.hands[three.id]) and not names(text, secret)
        self.tell.check(f"{three.name}'s own replay shows {three.name}'s cards, and still not {folded.name}'s", own)
        rows = await self.operator.get(f"/v1/rounds/{self.round}", RoundResult, after=self.settled_at)
        booked = {each.player: (each.staked, each.returned) for each in rows.bettors}
        self.tell.check("the round's result says the same of each player's money", booked == self.results)

    async def _auditor_opens(self, three: Guest) -> None:
        self.tell.scene("A dispute: the auditor opens the deck, and that is on record")
        opened, deck = await demo_guests.opened_deck(self.auditor, three, self.round, self.opened_at, self.tell)
        demo_proof.check_deck(self.house, opened, deck, self.published, self.hands, self.tell.check)

    # --- What the scenes share ---

    async def _does(
        self, guest: Guest, kind: str, words: str, *, most: bool = False, **fields: Any
    ) -> client_patti.Seat:
        """Something that is open to the player, at the least price or the highest; the seat after it."""
        may = (await self._look(guest)).may(kind)
        if may and may.min and may.max:
            fields["amount"] = may.max if most else may.min
        price = fields.get("amount") or (may.pays if may else None)
        done = await client_patti.send(guest.client, self.table, kind, **fields)
        self.tell.say(f"{guest.name} {words}{f': {money(price)}' if price else ''}")
        seat = done.view.of(guest.id) if done.view else None
        return seat or client_patti.Seat(0, guest.id, 0, "gone")

    async def _look(self, guest: Guest) -> View:
        return await client_patti.seen(guest.client, self.table)

    async def _cash(self, guest: Guest) -> int:
        return await demo_guests.cash(self.operator, guest)

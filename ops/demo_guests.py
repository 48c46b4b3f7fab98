"""What the demo's scenes at tables with hidden cards share: players, who follows a table live and what was shown there,
a hand read back, a deck opened for the auditor.
"""

import asyncio
import textwrap
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct

from infra import tasks
from ops.client import AuditPage, BalanceNow, Client, DeckOpening, Entry, FrameOf, LogPage, OpenedDeck, Proof, Replay
from ops.demo_teller import WAIT_S, Teller

WIDTH = 110


class Guest(Struct, frozen=True):
    """A player, with the token of a session."""

    name: str
    id: str
    client: Client


class Sight(FrameOf[msgspec.Raw]):
    """A frame of a live stream, with the view as it came over the wire."""


class Follower:
    """Somebody who follows the table live, and all that was shown."""

    def __init__(self) -> None:
        self.sights: list[Sight] = []

    @asynccontextmanager
    async def following(self, client: Client, table: str) -> AsyncGenerator["Follower"]:
        task = asyncio.create_task(self._follow(client, table))
        try:
            yield self
        finally:
            await tasks.end([task])

    async def _follow(self, client: Client, table: str) -> None:
        async with aclosing(client.frames(Sight, table)) as frames:
            async for frame in frames:
                self.sights.append(frame)

    async def event(self, name: str) -> tuple[int, dict[str, Any]]:
        """The last event of this name, once it has come, and its position."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for sight in reversed(self.sights):
                    if sight.event and sight.event["type"].endswith(f".{name}"):
                        return sight.position, sight.event
                await asyncio.sleep(0.02)

    def shows(self, cards: Iterable[str], before: int = 2**62, since: int = 0) -> bool:
        """Whether any of these cards was in anything that was seen before a position, and since another."""
        seen = [sight for sight in self.sights if since <= sight.position < before]
        return names(b"".join(bytes(sight.view) + msgspec.json.encode(sight.event) for sight in seen), cards)

    def early(self, known_at: Mapping[str, int], since: int) -> set[str]:
        """Which of these cards were seen before the position from which on they might be."""
        return {card for card, position in known_at.items() if self.shows([card], position, since)}

    @property
    def events(self) -> list[tuple[int, dict[str, Any]]]:
        """All that was told, in order, each with its position."""
        return [(sight.position, sight.event) for sight in self.sights if sight.event]


def names(text: bytes, cards: Iterable[str]) -> bool:
    return any(f'"{card}"'.encode() in text for card in cards)


async def arrived(operator: Client, guest: Guest, cash: int, currency: str) -> Guest:
    """With an account, money, and a session."""
    await operator.open_player(guest.id, currency)
    await operator.deposit(guest.id, cash, currency, "from their bank")
    token = (await operator.session(guest.id)).token
    return Guest(guest.name, guest.id, operator.acting_as(token))


async def cash(operator: Client, guest: Guest) -> int:
    return (await operator.get(f"/v1/players/{guest.id}", BalanceNow)).balance


async def log_of(auditor: Client, since: int, table: str, guests: Iterable[Guest]) -> list[Entry]:
    """What stands in the log of a table and its players from a position on; others may play beside."""
    page = await auditor.get("/v1/events", LogPage, cursor=since - 1, limit=500)
    whose = {table, *(guest.id for guest in guests)}
    return [entry for entry in page.events if entry.stream.partition(":")[2] in whose]


async def replayed(auditor: Client, round_id: str, tell: Teller) -> None:
    """A hand or match again from its events, and what the service proves of it."""
    replay = await auditor.get(f"/v1/rounds/{round_id}/replay", Replay)
    steps = ", ".join(step.type.partition(".")[2] for step in replay.steps)
    for line in textwrap.wrap(f"replayed: {steps}", WIDTH):
        tell.say(line)
    game: list[Proof] = replay.fairness.checks if replay.fairness else []
    for proof in (*replay.proofs, *game):
        tell.check(f"the service says: {proof.what}", proof.holds)


async def opened_deck(
    auditor: Client, guest: Guest, round_id: str, position: int, tell: Teller
) -> tuple[dict[str, Any], OpenedDeck]:
    """The event that dealt a hand, at this position, and its deck opened for the auditor, which is on record."""
    asked = {"position": position, "why": f"{guest.name} disputes the hand"}
    curious = guest.client.post("/v1/openings", asked, DeckOpening)
    await tell.refused(f"{guest.name} asks for the deck", "Forbidden", curious)
    opening = await auditor.post("/v1/openings", asked, DeckOpening)
    entry = (await auditor.get("/v1/events", LogPage, cursor=position - 1, limit=1)).events[0]
    page = await auditor.get("/v1/audit", AuditPage, after=opening.position, limit=100)
    found = [each for each in page.entries if each.entry.position == opening.position]
    noted = [(each.entry.action, each.told["round"], each.told["why"]) for each in found]
    recorded = noted == [("audit.SealOpened", round_id, asked["why"])]
    tell.check("what was opened, by whom and why, stands in the audit log", recorded)
    return msgspec.json.decode(entry.data), opening.opened

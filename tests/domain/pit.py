"""A live table of 20-20 in memory, with a bettor and staff who report incidents and resolve them."""

from typing import Any

import msgspec

from domain.cards import parse
from domain.decider import SettleBettor, Submission
from domain.game import ConcludeRound, Role, TimeOut
from domain.games import GAMES
from domain.incidents import Incident, IncidentKind, ReportIncident, Resolution, ResolveIncident
from domain.names import INCIDENT, TABLE, WALLET
from domain.wallet import commands as wallet
from services.batch import Accepted, Entry
from tests.domain.pocket_house import OPERATOR, PocketHouse


class Pit:
    """A live table of 20-20 with a bettor of 1,000, and staff whose names say who they are."""

    def __init__(self, kind: str = "live") -> None:
        self.house, self.sent = PocketHouse(), 0
        self.send("ops", WALLET + "ann", wallet.OpenWallet("EUR"))
        self.send("ops", WALLET + "ann", wallet.Deposit(1_000, "EUR"))
        self.open("t", "teen_patti_2020", currency="EUR", kind=kind, card_interval_ms=0)

    def open(self, table: str, game: str, **config: Any) -> None:
        asked = {"type": "OpenTable", "config": config}
        self.send("ops", TABLE + table, msgspec.convert(asked, GAMES[game].commands[Role.OPERATOR]), game=game)

    def send(self, actor: str, stream: str, command: Any, *, game: str = "") -> Any:
        self.sent += 1
        roles = {"platform": Role.CLOCK, "ops": Role.OPERATOR, "dan": Role.STUDIO, "ann": Role.PLAYER}
        role = roles.get(actor, Role.SUPERVISOR)
        key = "" if role is Role.CLOCK else f"k{self.sent}"
        submission = Submission(OPERATOR, actor, role, stream, command, key, game, "{}")
        [answer] = self.house.send([Entry(submission, key.encode(), self.house.now)])
        return answer

    def does(self, actor: str, kind: str, *, table: str = "t", **fields: Any) -> Any:
        role = {"dan": Role.STUDIO, "ann": Role.PLAYER}.get(actor, Role.SUPERVISOR)
        game = GAMES[self.house.streams[TABLE + table].decider]
        return self.send(actor, TABLE + table, msgspec.convert({"type": kind, **fields}, game.commands[role]))

    def tick(self, table: str = "t") -> None:
        stream = self.house.streams[TABLE + table]
        self.house.now = max(self.house.now, GAMES[stream.decider].deadline(stream.state) or 0)
        self.send("platform", TABLE + table, TimeOut())

    def to(self, phase: str) -> "Pit":
        """Let the table come so far, with a bet of ann's on the round."""
        if phase != "idle":
            while self.stage == "idle":
                self.tick()
            self.does("ann", "PlaceBet", round="t.1", wagers=[{"spot": "player_a", "amount": 500}])
        if phase in ("playing", "final", "over"):
            self.tick()
            self.scan("As 2h")
        if phase in ("final", "over"):
            self.scan("Ad 7c Ac 9d", at=2)
            self.does("dan", "ConfirmResult", round="t.1", winner="player_a")
        if phase == "over":
            self.send("platform", WALLET + "ann", SettleBettor("t.1"))
            self.send("platform", TABLE + "t", ConcludeRound("t.1"))
        assert phase in ("over", self.stage)
        return self

    def scan(self, cards: str, at: int = 0) -> None:
        for slot, card in zip(["A1", "B1", "A2", "B2", "A3", "B3"][at:], parse(cards), strict=False):
            assert isinstance(self.does("dan", "DealCard", slot=slot, card=str(card)), Accepted)

    @property
    def table(self) -> Any:
        return self.house.state(TABLE + "t")

    @property
    def stage(self) -> str:
        return GAMES["teen_patti_2020"].standing(self.table).stage.value

    @property
    def paused(self) -> bool:
        return GAMES["teen_patti_2020"].standing(self.table).paused

    def report(self, actor: str = "dan", kind: str = "wrong_card", *, table: str = "t", **more: Any) -> Any:
        return self.send(
            actor, INCIDENT + "i", ReportIncident(table, IncidentKind(kind), "what the camera shows", **more)
        )

    def resolve(self, actor: str, resolution: str) -> Any:
        return self.send(actor, INCIDENT + "i", ResolveIncident(Resolution(resolution), "as we agreed"))

    @property
    def incident(self) -> Incident:
        return self.house.state(INCIDENT + "i")

    @property
    def cash(self) -> int:
        return self.house.state(WALLET + "ann").cash

"""What nobody may know yet of the decks of a house in memory, and that nothing shows it."""

import base64
import json
from collections.abc import Iterator

from domain import fairness
from domain.fairness import ClientSeed
from domain.names import TABLE
from infra.eventlog import EventRow
from tests.domain.pocket_house import OPERATOR, GlassVault

_SLOTS = ("A1", "B1", "A2", "B2", "A3", "B3")


class Secrets:
    def __init__(self, vault: GlassVault) -> None:
        self._vault = vault
        self.hidden: dict[str, set[str]] = {}
        """Of every round whose seed nobody may know yet: its seed and the salts of cards not dealt, as text."""
        self._decks: dict[str, tuple[str, list[str]]] = {}

    def learn(self, fresh: list[EventRow]) -> None:
        for _, seed in self._vault.seeds.values():
            self.hidden.setdefault(seed.hex(), {seed.hex(), base64.b64encode(seed).decode()})
        for row in fresh:
            told, kind = json.loads(row.data), row.type.partition(".")[2]
            if kind == "RoundOpened" and told["seed"]:
                _, seed = self._vault.seeds[told["seed"]["sealed"]]
                given = tuple(ClientSeed(each["player"], each["seed"]) for each in told["client_seeds"])
                where = {"operator": OPERATOR, "table": row.stream.removeprefix(TABLE), "round": told["round"]}
                deck = fairness.shuffle(seed, **where, client_seeds=given)
                assert deck.root == told["root"]
                self._decks[told["round"]] = (seed.hex(), [salt.hex() for salt in deck.salts])
                self.hidden[seed.hex()] |= {salt.hex() for salt in deck.salts}
            elif kind == "CardDealt" and told["opening"]:
                seed, salts = self._decks[told["round"]]
                self.hidden[seed].remove(salts[_SLOTS.index(told["slot"])])
            elif kind in ("RoundSettled", "RoundRefunded", "RoundSkipped", "SeedDisclosed") and told["seed"]:
                self.hidden[told["seed"]] = set()

    def check(self, shown: Iterator[str]) -> None:
        hidden = [secret for of_round in self.hidden.values() for secret in of_round]
        for text in shown:
            assert not any(secret in text for secret in hidden), text

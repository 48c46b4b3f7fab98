"""The executor's part in memory, for property tests: what a batch needs is looked up in dicts, what it gave is kept.

Commands are decided by the very code that the executor runs. Seeds come from a counter, so a failing story fails again.
"""

import hashlib
import json
from typing import Any

from domain.decider import Missing, Rule, Stream, record_of
from domain.errors import Rejected
from domain.fairness import seed_hash
from domain.game import SECOND, RoundTotals, Sealed, SealedSeed
from infra import eventlog
from infra.eventlog import EventRow, Tip
from infra.vault import Vault
from services.batch import (
    Accepted,
    Appended,
    Batch,
    Earlier,
    Entry,
    MissingAnswer,
    MissingEnded,
    MissingTotals,
    NotYet,
    Refused,
    Stored,
    StoredAccepted,
    StoredRefused,
    fresh,
    streams_named,
)
from services.ended import ended_of

OPERATOR = "acme"


class GlassVault(Vault):
    """Remembers every seed it sealed."""

    def __init__(self) -> None:
        super().__init__({})
        self.seeds: dict[str, tuple[str, bytes]] = {}
        """The round and the seed, by what stands for the sealed seed."""

    def seal(self, operator: str, game: str, round_id: str) -> SealedSeed:
        sealed = f"sealed-{len(self.seeds)}"
        seed = hashlib.sha256(f"{operator} {round_id} {sealed}".encode()).digest()
        self.seeds[sealed] = (round_id, seed)
        return SealedSeed(seed_hash(seed), "k", sealed)

    def open(self, operator: str, round_id: str, sealed: Sealed) -> bytes:
        sealed_for, opened = self.seeds[sealed.sealed]
        assert (operator, sealed_for) == (OPERATOR, round_id)
        return opened


class PocketHouse:
    def __init__(self) -> None:
        self.now = 1_800_000_000 * SECOND
        self.tip = eventlog.genesis(OPERATOR, 1)
        self.vault = GlassVault()
        self.rows: list[EventRow] = []
        self.streams: dict[str, Stream] = {}
        self._decided: dict[tuple[str, str], Earlier] = {}

    def state(self, stream: str) -> Any:
        return self.streams[stream].state if stream in self.streams else None

    def send(self, entries: list[Entry]) -> list[Any]:
        """One batch, and a further one for what has to wait for the sums that this one changes. An answer each."""
        batch = Batch(OPERATOR, Tip(1, len(self.rows), self.tip, self.now, ""), self.now, self.vault)
        for name in set[str]().union(*(streams_named(entry.submission) for entry in entries)):
            self._load(batch, name)
        for entry in entries:
            if entry.submission.key:
                self._load_answer(batch, (entry.submission.actor, entry.submission.key))
        decided = [self._decide(batch, entry) for entry in entries]
        answers = [self._complete(batch, *pair) for pair in zip(entries, decided, strict=True)]
        self._keep(batch)
        waiting = [entry for entry, answer in zip(entries, answers, strict=True) if isinstance(answer, NotYet)]
        late = iter(self.send(waiting) if waiting else [])
        return [next(late) if isinstance(answer, NotYet) else answer for answer in answers]

    def _load(self, batch: Batch, name: str) -> None:
        batch.streams[name] = self.streams.get(name) or fresh(name)

    def _load_answer(self, batch: Batch, name: tuple[str, str]) -> None:
        batch.earlier[name] = self._decided.get(name)

    def _decide(self, batch: Batch, entry: Entry) -> Any:
        while True:
            try:
                return batch.decide(entry)
            except Missing as missing:
                self._load(batch, missing.stream)
            except MissingAnswer as missing:
                self._load_answer(batch, missing.name)
            except MissingTotals as missing:
                batch.totals[missing.round] = self._totals(missing.round)
            except MissingEnded as missing:
                about = (row for row in self.rows if row.round == missing.round)
                batch.ended[missing.round] = ended_of(missing.round, about)
            except NotYet as later:
                return later

    def _complete(self, batch: Batch, entry: Entry, answer: Any) -> Any:
        while isinstance(answer, Rejected):
            if answer.rule is Rule.Fenced and self._on_record(batch, entry):
                return Refused(str(answer.rule), answer.facts, repeated=True)
            try:
                return batch.refuse(entry, answer)
            except Missing as missing:
                self._load(batch, missing.stream)
        if not isinstance(answer, Earlier):
            return answer
        match answer.outcome:
            case StoredRefused(rule=rule, facts=facts):
                return Refused(rule, facts, repeated=True)
            case StoredAccepted(fenced=fenced):
                rows = self.rows[answer.first - 1 : answer.last] if answer.first and answer.last else []
                events = tuple(Appended(row.position, row.stream, row.event) for row in rows)
                return Accepted(answer.first, answer.last, events, answer.at, fenced, repeated=True)

    def _on_record(self, batch: Batch, entry: Entry) -> bool:
        place = (record_of(entry.submission), entry.submission.key)
        return any((row.stream, row.command) == place for row in (*self.rows, *batch.rows))

    def _keep(self, batch: Batch) -> None:
        for row in batch.rows:
            self.tip = eventlog.link(self.tip, row)
            self.rows.append(row)
            self.streams[row.stream] = batch.streams[row.stream]
        assert self.tip == batch.tip
        for told in batch._commands:
            name = (told.actor, told.key)
            assert name not in self._decided, "the log would refuse a second answer to one key"
            fingerprint = told.entry.fingerprint if told.entry else b""
            outcome: Stored = told.outcome
            self._decided[name] = Earlier(fingerprint, outcome, told.first, told.last, self.now)

    def _totals(self, round_id: str) -> RoundTotals:
        """As the log's own query sums a round's money."""
        staked, returned = dict[str, int](), dict[str, int]()
        for row in self.rows:
            if row.round != round_id or not row.type.startswith("wallet."):
                continue
            told = json.loads(row.data)
            match row.type:
                case "wallet.BetStaked":
                    staked[row.stream] = staked.get(row.stream, 0) + told["amount"]
                case "wallet.BetCancelled":
                    staked[row.stream] -= told["amount"]
                case "wallet.BetsSettled":
                    returned[row.stream] = told["returned"]
                case "wallet.Refunded":
                    returned[row.stream] = told["amount"]
                case _:
                    pass
        bettors = {name for name, amount in staked.items() if amount}
        return RoundTotals(len(bettors), sum(staked.values()), sum(returned.values()), len(bettors - returned.keys()))

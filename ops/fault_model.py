"""The auditor: an independent model of one operator's house, in plain dicts, held against the stored log.

It knows what clients were told, and the rules of money, cards and the chain as they are published; it shares no code
with what it judges. What it finds wrong, it says in sentences.
"""

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]
Name = tuple[str, str]
"""Who sent a command, and its key."""

PAYS = {"player_a": (19, 20), "player_b": (19, 20), "tie": (50, 1)}
"""The spots that the load bets on, and their odds."""

_ORDER = "23456789TJQKA"
_EVENT = {
    "OpenWallet": "wallet.Opened",
    "Deposit": "wallet.Deposited",
    "Withdraw": "wallet.Withdrawn",
    "Block": "wallet.Blocked",
    "Unblock": "wallet.Unblocked",
    "PlaceBet": "wallet.BetStaked",
    "CancelBet": "wallet.BetCancelled",
}
"""What each kind of command gives when it is accepted."""

_ENDS = ("RoundSettled", "RoundRefunded", "RoundSkipped")


class Model:
    """What the clients of a house know: every command they sent, and what it came to."""

    def __init__(self, operator: str) -> None:
        self.operator = operator
        self.sent: dict[Name, dict[str, Any]] = {}

    def send(self, actor: str, key: str, kind: str, about: Mapping[str, Any]) -> None:
        self.sent[actor, key] = {"kind": kind, "about": dict(about), "became": "unknown"}

    def learn(self, actor: str, key: str, became: str, position: int | None = None, code: str = "") -> None:
        self.sent[actor, key] |= {"became": became, "position": position, "code": code}

    def counted(self) -> Counter[str]:
        """How many commands came to what."""
        return Counter(f"{each['kind']} {each['code'] or each['became']}" for each in self.sent.values())


class Audit:
    """One reading of a whole log. `faults` is empty if all is well."""

    def __init__(self, model: Model, rows: Iterable[Row]) -> None:
        self.model = model
        self.rows = list(rows)
        self.faults: list[str] = []
        self.cash: dict[str, int] = {}
        self.open: dict[str, dict[tuple[str, str], dict[str, int]]] = {}
        """By player: the open bets, by round and key, with the stake on each spot."""
        self.brought = 0
        self.house = 0
        self.cards: dict[str, list[str]] = {}
        self.closes: dict[str, int] = {}
        self.over: dict[str, str] = {}
        """By round: the event that closed betting for good."""
        self.sums: dict[str, Counter[str]] = {}
        self.seeds: Counter[str] = Counter()
        """By published hash: how often it was dealt from, or disclosed as never to be."""
        self._versions: Counter[str] = Counter()
        self._given: dict[Name, list[Row]] = {}

    def run(self) -> list[str]:
        self._chain()
        for row in self.rows:
            try:
                self._row(row, json.loads(row["data"]))
            except KeyError as missing:
                self.faults.append(f"{row['type']} at {row['position']} names {missing}, which is not there")
        self._what_clients_know()
        for hash_, times in self.seeds.items():
            self._same(f"uses of the seed {hash_}", times, 1)
        staked = sum(sum(bet.values()) for bets in self.open.values() for bet in bets.values())
        self._same("cash + open stakes + house", sum(self.cash.values()) + staked + self.house, self.brought)
        return self.faults

    def _same(self, what: str, found: Any, wanted: Any) -> None:
        if found != wanted:
            self.faults.append(f"{what}: {found}, not {wanted}")

    # --- Chain ---

    def _chain(self) -> None:
        """Positions without a gap, each event linked to the one before by the published form of the hash."""
        name = self.model.operator
        before = hashlib.sha256(_field("croupier-log-1") + _field(name) + (1).to_bytes(8, "big")).digest()
        for expected, row in enumerate(self.rows, 1):
            self._same("position", row["position"], expected)
            numbers = struct.pack(">qqqq", row["position"], row["version"], row["schema"], row["at"])
            words = ("stream", "type", "round", "command", "actor", "role", "data")
            canonical = b"\x01" + before + numbers + b"".join(_field(row[word]) for word in words)
            before = hashlib.sha256(canonical).digest()
            self._same(f"hash of event {expected}", row["hash"].hex(), before.hex())

    # --- Money and cards ---

    def _row(self, row: Row, told: dict[str, Any]) -> None:
        self._versions[row["stream"]] += 1
        self._same(f"version of {row['stream']}", row["version"], self._versions[row["stream"]])
        if row["command"]:
            self._given.setdefault((row["actor"], row["command"]), []).append(row)
        kind, _, name = row["stream"].partition(":")
        if kind == "wallet":
            self._wallet(name, row, told)
        elif kind == "table":
            self._table(row, told)

    def _wallet(self, player: str, row: Row, told: dict[str, Any]) -> None:
        kind = row["type"].partition(".")[2]
        if kind == "Opened":
            self._same(f"wallets of {player} before it was opened", player in self.cash, False)
            self.cash[player], self.open[player] = 0, {}
        if "before" not in told:
            return
        where = f"of {player} at {row['position']} ({kind})"
        self._same(f"cash before {where}", told["before"], self.cash[player])
        self.cash[player] += self._gain(player, kind, row, told)
        self._same(f"cash after {where}", told["after"], self.cash[player])
        if self.cash[player] < 0:
            self.faults.append(f"cash {where} is {self.cash[player]}")

    def _gain(self, player: str, kind: str, row: Row, told: dict[str, Any]) -> int:
        bets = self.open[player]
        match kind:
            case "Deposited" | "Withdrawn":
                amount = told["amount"] if kind == "Deposited" else -told["amount"]
                self.brought += amount
                return amount
            case "BetStaked":
                return self._staked(bets, row, told["bet"])
            case "BetCancelled":
                back = sum(bets.pop((told["round"], told["bet"]), {}).values())
                self._same(f"a cancelled stake of {player} at {row['position']}", told["amount"], back)
                self.sums[told["round"]]["staked"] -= back
                self._before_close(told["round"], row)
                return back
            case "BetsSettled" | "Refunded":
                return self._ended(player, kind, row, told)
            case _:
                self.faults.append(f"no load asks for {kind}, which stands at {row['position']}")
                return told["after"] - told["before"]

    def _staked(self, bets: dict[tuple[str, str], dict[str, int]], row: Row, bet: dict[str, Any]) -> int:
        self._same(f"bets {bet['id']} open at {row['position']}", (bet["round"], bet["id"]) in bets, False)
        bets[bet["round"], bet["id"]] = stakes = Counter[str]()
        for wager in bet["wagers"]:
            stakes[wager["spot"]] += wager["amount"]
        self.sums.setdefault(bet["round"], Counter())["staked"] += stakes.total()
        self._before_close(bet["round"], row)
        return -stakes.total()

    def _before_close(self, round_id: str, row: Row) -> None:
        if round_id in self.over or row["at"] >= self.closes[round_id]:
            self.faults.append(f"{row['type']} at {row['position']} came after the close of {round_id}")

    def _ended(self, player: str, kind: str, row: Row, told: dict[str, Any]) -> int:
        """Every open bet of the round, each once, at what its cards are worth."""
        bets, round_id = self.open[player], told["round"]
        mine = {name: bets.pop(name) for name in list(bets) if name[0] == round_id}
        where = f"of {player} in {round_id} at {row['position']}"
        if not mine:
            self.faults.append(f"{kind} {where} without an open bet")
        stakes = sum(sum(bet.values()) for bet in mine.values())
        if kind == "Refunded":
            self._same(f"how {round_id} ended when it was refunded", self.over.get(round_id), "RoundCancelled")
            worth = stakes
        else:
            self._same(f"how {round_id} ended when it was settled", self.over.get(round_id), "RoundResulted")
            winner = winner_of(self.cards[round_id])
            worth = sum(due(spot, stake, winner) for bet in mine.values() for spot, stake in bet.items())
        self._same(f"what goes back {where}", told["after"] - told["before"], worth)
        self.sums[round_id].update(returned=worth, bettors=1)
        self.house += stakes - worth
        return worth

    def _table(self, row: Row, told: dict[str, Any]) -> None:
        kind, round_id = row["type"].partition(".")[2], told.get("round") or ""
        match kind:
            case "RoundOpened":
                self._same(f"rounds {round_id} before it was opened", round_id in self.closes, False)
                self.closes[round_id], self.cards[round_id] = told["closes_at"], []
                if told["seed"]:
                    self.seeds[told["seed"]["hash"]] += 1
            case "DeadlineExtended" | "RoundResumed" if round_id in self.closes and round_id not in self.over:
                self.closes[round_id] = told["due"]
            case "SeedDisclosed":
                self.seeds[seed_hash(bytes.fromhex(told["seed"]))] += 1
            case "BettingClosed" | "RoundCancelled" | "RoundResulted":
                self.over[round_id] = kind
            case "RescanOrdered":
                self.cards[round_id] = []
            case "CardDealt":
                self.cards[round_id].append(told["card"])
                self._same(f"cards of {round_id} twice", len(set(self.cards[round_id])), len(self.cards[round_id]))
            case _ if kind in _ENDS:
                self._books_closed(kind, round_id, told)
            case _:
                pass

    def _books_closed(self, kind: str, round_id: str, told: dict[str, Any]) -> None:
        left = [name for name, bets in self.open.items() if any(bet[0] == round_id for bet in bets)]
        self._same(f"bettors of {round_id} with an open stake at its end", left, [])
        if kind != "RoundSkipped":
            sums = self.sums.get(round_id, Counter())
            for what in ("bettors", "staked", "returned"):
                self._same(f"{what} of {round_id} in {kind}", told[what], sums[what])
        self._same(f"ends of {round_id} before this one", self.over.get(round_id) in _ENDS, False)
        self.over[round_id] = kind

    # --- What clients know ---

    def _what_clients_know(self) -> None:
        for name, sent in self.model.sent.items():
            given = self._given.pop(name, [])
            money = [row for row in given if row["stream"].startswith("wallet:")]
            match sent["became"]:
                case "accepted":
                    self._accepted(name, sent, given)
                case "refused":
                    self._same(f"movements by {name}, which {sent['code']} refused", len(money), 0)
                case other:
                    self.faults.append(f"{name} was sent, and what became of it is {other}")
        for name, given in self._given.items():
            self.faults.append(f"{name} gave {[row['type'] for row in given]}, and nobody sent it")

    def _accepted(self, name: Name, sent: dict[str, Any], given: list[Row]) -> None:
        wanted = [_EVENT[sent["kind"]]] if sent["kind"] in _EVENT and sent["position"] else []
        found = [row["type"] for row in given]
        if sent["kind"] in _EVENT:
            self._same(f"events of {name}, which was accepted", found, wanted)
        if given:
            self._same(f"position of {name}", given[-1]["position"], sent["position"])
        elif sent["position"]:
            self.faults.append(f"{name} was accepted at {sent['position']}, and the log knows nothing of it")
        for row in given:
            told = json.loads(row["data"])
            if "amount" in told and "amount" in sent["about"]:
                self._same(f"amount of {name}", told["amount"], sent["about"]["amount"])


def winner_of(cards: list[str]) -> str:
    """Who won, by the ranking as it is published: cards go to A and B in turn (T8-T17)."""
    a, b = strength(cards[0:6:2]), strength(cards[1:6:2])
    return "player_a" if a > b else "player_b" if b > a else "tie"


def strength(hand: list[str]) -> tuple[Any, ...]:
    ranks = sorted((_ORDER.index(card[0]) for card in hand), reverse=True)
    flush = len({card[1] for card in hand}) == 1
    low_run = ranks == [12, 1, 0]
    run = low_run or ranks[0] - 1 == ranks[1] == ranks[2] + 1
    if len(set(ranks)) == 1:
        return (5, ranks)
    if run:
        return (4 if flush else 3, ranks)  # A-2-3 reads 12, 1, 0: below A-K-Q, above K-Q-J
    if flush:
        return (2, ranks)
    if len(set(ranks)) == 2:
        kicker = ranks[2] if ranks[0] == ranks[1] else ranks[0]
        return (1, [ranks[1], kicker])
    return (0, ranks)


def due(spot: str, stake: int, winner: str) -> int:
    """What a stake gets back, to the unit."""
    if winner == "tie" and spot != "tie":
        return stake
    if spot != winner:
        return 0
    numerator, denominator = PAYS[spot]
    return stake + stake * numerator // denominator


def seed_hash(seed: bytes) -> str:
    parts = (b"croupier/seed/1", seed)
    return hashlib.sha256(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).hexdigest()


def _field(text: str | None) -> bytes:
    if text is None:
        return b"\x00"
    encoded = text.encode()
    return b"\x01" + len(encoded).to_bytes(4, "big") + encoded

"""The figures of every report a second time: plain dicts over the JSON of the log, with nothing of the reports' code.

Written from what the events say alone, so it knows the games by name and looks at amounts only. Positions and moments
are of the event that ended what is counted.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import Any

Row = dict[str, Any]
ENDS = ("three_patti.RoundSettled", "gin_rummy.MatchSettled")
REFUNDS = ("three_patti.RoundRefunded", "gin_rummy.MatchRefunded")


def read(records: Sequence[Any]) -> list[Row]:
    """`data` as JSON, beside its place."""
    return [{**record, "data": json.loads(record["data"])} for record in records]


def table_of(row: Row) -> str:
    return row["stream"].split(":", 1)[1]


def wagers(log: list[Row]) -> list[dict[str, Any]]:
    """Every wager that ended or was voided: where, on what, how much, and what came back."""
    config: dict[str, Any] = {}
    placed: dict[tuple[str, str], list[Any]] = defaultdict(list)
    found: list[dict[str, Any]] = []
    for row in log:
        data, kind = row["data"], row["type"]
        if kind.endswith((".TableOpened", ".RoundOpened")):
            config[table_of(row)] = {"game": kind.split(".")[0], "currency": data["config"]["currency"]}
        if kind == "wallet.BetStaked":
            bet = data["bet"]
            placed[row["stream"], bet["round"]] += [(bet["id"], each) for each in bet["wagers"]]
        elif kind == "wallet.BetCancelled":
            key = (row["stream"], data["round"])
            placed[key] = [each for each in placed[key] if each[0] != data["bet"]]
        elif kind == "wallet.BetsSettled":
            where = {"table": data["round"].rsplit(".", 1)[0], "round": data["round"], "void": False}
            for payout in data["payouts"]:
                money = {"spot": payout["spot"], "staked": payout["staked"], "returned": payout["returned"]}
                found.append({**where, **money, "player": table_of(row), "row": row})
        elif kind == "wallet.Refunded":
            where = {"table": data["round"].rsplit(".", 1)[0], "round": data["round"], "void": True}
            for _, each in placed[row["stream"], data["round"]]:
                money = {"spot": each["spot"], "staked": each["amount"], "returned": each["amount"]}
                found.append({**where, **money, "player": table_of(row), "row": row})
        elif kind in (*ENDS, *REFUNDS):
            where = {"table": table_of(row), "round": data.get("match") or data["round"], "void": kind in REFUNDS}
            for each in data["results"]:
                money = {"spot": "", "staked": each["paid"], "returned": each["won"]}
                found.append({**where, **money, "player": each["player"], "row": row})
    return [{**each, **config[each["table"]]} for each in found]


def resettled(log: list[Row]) -> list[dict[str, Any]]:
    """What each wager gained when its round was settled once more, and when; chips are on no spot."""
    found: list[dict[str, Any]] = []
    games: dict[str, str] = {}
    for row in log:
        data, kind = row["data"], row["type"]
        if kind.endswith(".RoundOpened"):
            games[table_of(row)] = kind.split(".")[0]
        elif kind == "wallet.Resettled":
            table = data["round"].rsplit(".", 1)[0]
            for was, now in zip(data["was"], data["payouts"], strict=True):
                spot = now["spot"] if games[table] == "teen_patti_2020" else ""
                where = {"game": games[table], "table": table, "spot": spot, "row": row}
                found.append({**where, "gained": now["returned"] - was["returned"]})
    return found


def owed(log: list[Row]) -> dict[str, tuple[int, int, int]]:
    """By player: what came to be owed, what was taken, and what was written off."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in log:
        data, kind = row["data"], row["type"]
        if kind == "wallet.Resettled" and data["gain"] < data["after"] - data["before"]:
            sums[table_of(row)][0] += data["after"] - data["before"] - data["gain"]
        elif kind in ("wallet.OwedTaken", "wallet.WrittenOff"):
            sums[table_of(row)][1 if kind == "wallet.OwedTaken" else 2] += data["amount"]
    return {player: (each[0], each[1], each[2]) for player, each in sums.items()}


def disputes(log: list[Row]) -> list[tuple[Any, ...]]:
    """Of each: its name, pieces of evidence, whether overdue, withdrawn, decided, upheld, and what was given."""
    found: dict[str, dict[str, Any]] = {}
    for row in log:
        kind, _, name = row["stream"].partition(":")
        if kind == "dispute":
            found.setdefault(name, defaultdict(int))[row["type"].partition(".")[2]] += 1
            if row["type"] == "dispute.Decided":
                found[name]["upheld"] += row["data"]["ruling"] == "upheld"
                found[name]["amount"] += row["data"]["amount"]
    names = ("EvidenceAttached", "Overdue", "Withdrawn", "Decided", "upheld", "amount")
    return [(name, *(counts[each] for each in names)) for name, counts in found.items()]


def performance(log: list[Row]) -> dict[tuple[str, str, str], dict[str, int]]:
    """By game, table and spot."""
    sums: dict[tuple[str, str, str], Any] = {}
    for each in wagers(log):
        key = (each["game"], each["table"], each["spot"])
        at = sums.setdefault(
            key, {"rounds": set(), "wagers": 0, "stakes": 0, "returns": 0, "voided": 0, "rake": 0, "resettled": 0}
        )
        if each["void"]:
            at["voided"] += each["staked"]
        else:
            at["rounds"].add(each["round"])
            at["wagers"] += 1
            at["stakes"] += each["staked"]
            at["returns"] += each["returned"]
    for each in resettled(log):
        sums[each["game"], each["table"], each["spot"]]["resettled"] += each["gained"]
    for row in log:
        if row["type"] in ENDS:
            sums[row["type"].split(".")[0], table_of(row), ""]["rake"] += row["data"]["rake"]
    return {key: {**at, "rounds": len(at["rounds"])} for key, at in sums.items()}


def by_day(log: list[Row], day_of: Any) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Stakes, returns and what was gained since, by day and game."""
    sums: dict[tuple[str, str], tuple[int, int, int]] = {}
    for each in wagers(log):
        if not each["void"]:
            key = (day_of(each["row"]["at"]), each["game"])
            stakes, returns, gained = sums.get(key, (0, 0, 0))
            sums[key] = (stakes + each["staked"], returns + each["returned"], gained)
    for each in resettled(log):
        key = (day_of(each["row"]["at"]), each["game"])
        stakes, returns, gained = sums.get(key, (0, 0, 0))
        sums[key] = (stakes, returns, gained + each["gained"])
    return sums


def voided(log: list[Row]) -> list[tuple[str, str, int, int]]:
    """Round or match, reason, players and refund, in order of cancelling."""
    back: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for each in wagers(log):
        if each["void"]:
            back[each["round"]][each["player"]] += each["staked"]
    found: list[tuple[str, str, int, int]] = []
    for row in log:
        data = row["data"]
        if row["type"].endswith((".RoundCancelled", ".MatchRefunded")):
            about = data["match"] if row["type"].endswith(".MatchRefunded") else data["round"]
            found.append((about, data["reason"], len(back[about]), sum(back[about].values())))
    return found


def incidents(log: list[Row]) -> list[tuple[str, str, str, str]]:
    """Id, round, kind, and how each was resolved."""
    resolved = {table_of(row): row["data"]["resolution"] for row in log if row["type"] == "incident.Resolved"}
    told = [(table_of(row), row["data"]) for row in log if row["type"] == "incident.Reported"]
    return [(name, data["round"] or "", data["kind"], resolved.get(name, "")) for name, data in told]


def wins(log: list[Row], least: int) -> list[tuple[int, str, str, int]]:
    """Position, player, round, and what was won there."""
    sums: dict[tuple[int, str, str], int] = defaultdict(int)
    for each in wagers(log):
        sums[each["row"]["position"], each["player"], each["round"]] += each["returned"] - each["staked"]
    return [(*key, won) for key, won in sums.items() if won >= least]


def cash(log: list[Row]) -> dict[str, int]:
    """By currency: what each wallet's last event left in it."""
    currency = {row["stream"]: row["data"]["currency"] for row in log if row["type"] == "wallet.Opened"}
    last = {row["stream"]: row["data"]["after"] for row in log if "after" in row["data"]}
    sums: dict[str, int] = dict.fromkeys(currency.values(), 0)
    for stream, after in last.items():
        sums[currency[stream]] += after
    return sums


def percent(part: int, whole: int) -> str:
    with localcontext(prec=60):
        return str((Decimal(part) * 100 / Decimal(whole)).quantize(Decimal("0.000001"), ROUND_HALF_EVEN))

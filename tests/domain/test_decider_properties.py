"""Whatever is asked of two tables and three wallets, in any order and however often: money is conserved, replay gives
the live state, a refusal leaves no trace but its record, and nothing shows a seed or a card before its time.

The books beside the house are plain numbers, kept from the JSON of the events alone.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from domain import incidents, proposals
from domain.cards import DECK
from domain.decider import MarkFaulted, SettleBettor, Submission
from domain.game import SECOND, ConcludeRound, ResumeLog, Role, TimeOut, Viewer, no_open
from domain.games import GAMES
from domain.names import INCIDENT, PROPOSAL, REFUSED, TABLE, WALLET, id_of
from domain.wallet import commands as wallet
from domain.wallet.rules import AdjustmentCode
from infra import codec
from services.batch import Accepted, Entry, KeyReused, Refused
from tests.domain.decided_again import check_decided_again
from tests.domain.pocket_house import OPERATOR, PocketHouse
from tests.domain.secrets_kept import Secrets

GAME = GAMES["teen_patti_2020"]
PLAYERS = ("ann", "bob", "cho")
SLOTS = ("A1", "B1", "A2", "B2", "A3", "B3")
SPOTS = ("player_a", "player_b", "tie", "pair_plus_a", "pair_plus_b", "six_card_bonus")
LIMITS = {"currency": "EUR", "betting_seconds": 10, "pause_seconds": 2, "spot_max": 10_000, "round_max": 20_000}
CONFIGS = {"rng": {**LIMITS, "card_interval_ms": 500}, "live": {**LIMITS, "kind": "live", "scan_timeout_seconds": 30}}
VIEWERS = (Viewer("ann", Role.PLAYER), Viewer("", Role.PLAYER), Viewer("s", Role.STUDIO), Viewer("o", Role.OPERATOR))

STORIES, TURNS = 40, 150
AMOUNTS = (1, 62, 100, 2_000, 30_003)
STAKES = (100, 300, 150, 10_000)
OF_WALLETS = ("Deposit", "Deposit", "Withdraw", "Block", *("Unblock",) * 4)
DECISIONS = (proposals.Approve(), proposals.Approve(), proposals.Decline("no"), proposals.WithdrawProposal())
OF_TWO = ("Propose", "Decide", "Decide")
OF_PLAYERS = ("PlaceBet",) * 6 + ("CancelBet",) * 2 + ("GiveClientSeed",)
OF_STUDIO = ("DealCard",) * 20 + ("ConfirmResult",) * 6 + ("AnyCard", "ReportFault")
OF_BREAKS = ("Pause", "CancelRound", "DrainTable", "CloseTable", "ConfigureTable")
OF_STAFF = ("Resume",) * 6 + ("RescanCards",) * 6 + ("ReopenTable",) * 3 + OF_BREAKS
OF_CLOCK = ("Settle",) * 6 + ("Conclude",) * 3 + ("TimeOut",) * 4
OF_INCIDENTS = ("Report", "Note", "Resolve", "Resolve", "Resolve")
OF_TROUBLE = ("ResumeLog", "MarkFaulted")
OF_SENDERS = ("again", "again", "other body")

Asked = tuple[Any, ...]


def some_command(dice: random.Random) -> Asked:
    """Anything that anybody might ask, sensible more often than not."""
    table, player, number = dice.choice(tuple(CONFIGS)), dice.choice(PLAYERS), dice.randrange(1_000)
    groups = (OF_WALLETS, OF_TWO, OF_PLAYERS, OF_STUDIO, OF_STAFF, OF_INCIDENTS, OF_TROUBLE, OF_CLOCK, OF_SENDERS)
    whose = dice.choices(groups, (17, 6, 80, 60, 10, 7, 1, 60, 20))[0]
    kind = dice.choice(whose)
    if whose is OF_SENDERS:
        return kind, number
    if whose is OF_WALLETS:
        return kind, player, dice.choice(AMOUNTS)
    if whose is OF_TWO:
        return kind, dice.choice(("ops", "sue")), player, dice.choice(AMOUNTS)
    if kind == "PlaceBet":
        wagers = [(dice.choice(SPOTS), dice.choice(STAKES)) for _ in range(dice.randint(1, 3))]
        return kind, table, player, wagers, number % 50
    if kind == "CancelBet":
        return kind, table, player, number
    if kind in ("GiveClientSeed", "Settle"):
        return kind, table, player
    return kind, "live" if kind == "RescanCards" else table, number


def story(dice: random.Random) -> Iterator[tuple[str, list[Asked]]]:
    """Time passes before every second batch or so, and then the clock is heard."""
    for _ in range(TURNS):
        when = dice.choices(("", "due", "late", "a second"), (6, 6, 1, 2))[0]
        table = dice.choice(tuple(CONFIGS))
        commands = [some_command(dice) for _ in range(dice.randint(1, 4))]
        if when:
            commands.insert(dice.randrange(2), ("TimeOut", table, 0))
        if dice.random() < 0.1:
            commands += [*(("Settle", table, player) for player in PLAYERS), ("Conclude", table, 0)]
        yield f"{when} {table}", commands


class Books:
    """Money by hand: what each event's own words say, in dicts."""

    def __init__(self) -> None:
        self.cash: dict[str, int] = {}
        self.bets: dict[str, dict[tuple[str, str], dict[str, int]]] = {}
        """By player: the open bets, by round and id, with the stake on each spot."""
        self.brought = 0
        self.house = 0

    def take(self, name: str, kind: str, told: dict[str, Any]) -> None:
        if kind == "Opened":
            self.cash[name], self.bets[name] = 0, {}
        if "before" not in told:
            return
        assert told["before"] == self.cash[name]
        self.cash[name] += self._gain(self.bets[name], kind, told)
        assert told["after"] == self.cash[name] >= 0

    def _gain(self, bets: dict[tuple[str, str], dict[str, int]], kind: str, told: dict[str, Any]) -> int:
        match kind:
            case "Deposited" | "Adjusted":
                self.brought += told["amount"]
                return told["amount"]
            case "Withdrawn":
                self.brought -= told["amount"]
                return -told["amount"]
            case "BetStaked":
                bet = told["bet"]
                bets[bet["round"], bet["id"]] = {}
                for wager in bet["wagers"]:
                    stakes = bets[bet["round"], bet["id"]]
                    stakes[wager["spot"]] = stakes.get(wager["spot"], 0) + wager["amount"]
                return -sum(bets[bet["round"], bet["id"]].values())
            case "BetCancelled":
                return sum(bets.pop((told["round"], told["bet"])).values())
            case "BetsSettled":
                return self._settled(bets, told)
            case "Refunded":
                back = [bets.pop(name) for name in list(bets) if name[0] == told["round"]]
                assert back
                return sum(sum(bet.values()) for bet in back)
            case _:
                raise AssertionError(f"{kind} moves money in a way the books do not know")

    def _settled(self, bets: dict[tuple[str, str], dict[str, int]], told: dict[str, Any]) -> int:
        """Every wager of the round once, and none besides."""
        open_now = {name: bets.pop(name) for name in list(bets) if name[0] == told["round"]}
        paid: dict[tuple[str, str], dict[str, int]] = {}
        for payout in told["payouts"]:
            stakes = paid.setdefault((told["round"], payout["bet"]), {})
            stakes[payout["spot"]] = stakes.get(payout["spot"], 0) + payout["staked"]
        assert paid == open_now
        returned = sum(payout["returned"] for payout in told["payouts"])
        self.house += sum(sum(bet.values()) for bet in open_now.values()) - returned
        return returned

    def check(self, house: PocketHouse) -> None:
        stakes = {name: sum(sum(bet.values()) for bet in bets.values()) for name, bets in self.bets.items()}
        for name, cash in self.cash.items():
            held = house.state(WALLET + name)
            assert (held.cash, held.open_stakes) == (cash, stakes[name])
        assert sum(self.cash.values()) + sum(stakes.values()) + self.house == self.brought


class Telling:
    """One story as it is told to the house, checked after every batch."""

    def __init__(self) -> None:
        self.house = PocketHouse()
        self.books = Books()
        self.sent: list[tuple[Entry, Any]] = []
        self.replayed: dict[str, Any] = {}
        self.read = 0
        self.secrets = Secrets(self.house.vault)
        self.epoch = self.asked_so_far = 0
        self.proposal = PROPOSAL + 16 * "0"
        self.incident = INCIDENT + 16 * "0"
        for name in PLAYERS:
            self.tell([self.entry(WALLET + name, "ops", Role.OPERATOR, wallet.OpenWallet("EUR"))])
            self.tell([self.entry(WALLET + name, "ops", Role.OPERATOR, wallet.Deposit(50_000, "EUR"))])
        for name, config in CONFIGS.items():
            self.tell([self.at_table(name, Role.OPERATOR, "ops", "OpenTable", game=GAME.name, config=config)])

    # --- What is asked ---

    def entry(self, stream: str, actor: str, role: Role, command: Any, key: str = "", game: str = "") -> Entry:
        self.asked_so_far += 1
        key = "" if role is Role.CLOCK else key or f"k{self.asked_so_far}"
        text = msgspec.json.encode(command).decode()
        return Entry(Submission(OPERATOR, actor, role, stream, command, key, game, text), (stream + text).encode(), 0)

    def at_table(self, table: str, role: Role, actor: str, kind: str, key: str = "", game: str = "", **fields: Any):
        command = msgspec.convert({"type": kind, **fields}, GAME.commands[role])
        return self.entry(TABLE + table, actor, role, command, key, game)

    def clocked(self, stream: str, command: Any) -> Entry:
        return self.entry(stream, "platform", Role.CLOCK, command)

    def asked(self, kind: str, *about: Any) -> Entry | None:
        match kind, *about:
            case (("again" | "other body"), int(which)):
                entry = self.sent[which % len(self.sent)][0]
                other = msgspec.structs.replace(entry, fingerprint=b"another")
                return (other if kind == "other body" else entry) if entry.submission.key else None
            case "Deposit" | "Withdraw", name, int(amount):
                command = getattr(wallet, kind)(amount, "EUR")
                return self.entry(WALLET + name, "ops", Role.OPERATOR, command)
            case "Propose", who, name, amount:
                self.proposal = PROPOSAL + id_of(who, key := f"p{self.asked_so_far}")
                asked = proposals.AdjustBalance(name, 100 - amount, "EUR", AdjustmentCode.OTHER, "so")
                return self.entry(self.proposal, who, Role.SUPERVISOR, proposals.Propose(asked), key)
            case "Decide", who, _, amount:
                return self.entry(self.proposal, who, Role.SUPERVISOR, DECISIONS[amount % 4])
            case "Block" | "Unblock", name, *_:
                return self.entry(WALLET + name, "ops", Role.OPERATOR, getattr(wallet, kind)("so"))
            case "Report" | "Note" | "Resolve", table, number:
                return self.of_incident(kind, table, number)
            case _:
                return self.asked_of_table(kind, *about)

    def asked_of_table(self, kind: str, table: str, *about: Any) -> Entry | None:
        state = self.house.state(TABLE + table)
        on = GAME.round(state) or f"{table}.77"
        match kind, *about:
            case "PlaceBet", name, placed, number:
                told = [{"spot": spot, "amount": amount} for spot, amount in placed]
                return self.at_table(table, Role.PLAYER, name, kind, f"{on}-{number}", round=on, wagers=told)
            case "CancelBet", name, number:
                mine = [bet.id for bet in self.house.state(WALLET + name).open_in(on)]
                bet = mine[0] if mine and number % 2 else f"{on}-{number % 50}"
                return self.at_table(table, Role.PLAYER, name, kind, bet=bet)
            case "GiveClientSeed", name:
                return self.at_table(table, Role.PLAYER, name, kind, seed="lucky")
            case "DealCard" | "AnyCard" | "ConfirmResult", number:
                return self.of_studio(table, kind, number)
            case "ReportFault", *_:
                return self.at_table(table, Role.STUDIO, "studio", kind, reason="a fault")
            case "Pause" | "CancelRound" | "RescanCards", number:
                return self.at_table(table, Role.SUPERVISOR, ("sue", "sid")[number % 2], kind, reason="a fault")
            case "Resume" | "DrainTable", *_:
                return self.at_table(table, Role.SUPERVISOR, "sue", kind)
            case "ReopenTable" | "CloseTable", *_:
                return self.at_table(table, Role.OPERATOR, "ops", kind)
            case "ConfigureTable", *_:
                return self.at_table(table, Role.OPERATOR, "ops", kind, config=CONFIGS[table])
            case "Settle", name:
                return self.clocked(WALLET + name, SettleBettor(on))
            case _:
                return self.clocked(TABLE + table, self.of_clock(kind, on))

    def of_incident(self, kind: str, table: str, number: int) -> Entry:
        """About what is on, or now and then about a round that was; resolved by anybody in any way."""
        who, role = [("studio", Role.STUDIO), ("sue", Role.SUPERVISOR), ("sid", Role.SUPERVISOR)][number % 3]
        if kind == "Report":
            self.incident = INCIDENT + id_of(who, key := f"i{self.asked_so_far}")
            rounds = [row.round for row in self.house.rows if row.type == "teen_patti_2020.RoundOpened"]
            about = next((each for each in rounds if number % 5 == 0 and each.startswith(f"{table}.")), None)
            what = list(incidents.IncidentKind)[number % 12]
            return self.entry(self.incident, who, role, incidents.ReportIncident(table, what, "so", about), key)
        found, resolutions = self.house.state(self.incident), tuple(incidents.Resolution)
        if found is not None and number % 4:
            standing = GAME.standing(self.house.state(TABLE + found.table))
            resolutions = incidents.allowed(found.kind, incidents.phase_of(found, GAME, standing), GAME)
        resolution = resolutions[number % len(resolutions)]
        command = incidents.AddNote("so") if kind == "Note" else incidents.ResolveIncident(resolution, "so")
        return self.entry(self.incident, who, role, command)

    def of_studio(self, table: str, kind: str, number: int) -> Entry:
        """Mostly what a right studio would send next."""
        state = self.house.state(TABLE + table)
        cards = list(GAME.view(state, VIEWERS[2], (), no_open).cards.values())
        if kind == "ConfirmResult":
            winner = ("player_a", "player_b", "tie")[number % 3]
            return self.at_table(table, Role.STUDIO, "studio", kind, round=GAME.round(state) or "none", winner=winner)
        slot = SLOTS[number % 6] if kind == "AnyCard" else SLOTS[min(len(cards), 5)]
        free = [card for card in DECK if card not in cards]
        card = DECK[number % 52] if kind == "AnyCard" else free[number % len(free)]
        return self.at_table(table, Role.STUDIO, "studio", "DealCard", slot=slot, card=card)

    def of_clock(self, kind: str, on: str) -> Any:
        if kind == "ResumeLog":
            self.epoch += 1
        return {
            "TimeOut": TimeOut(),
            "Conclude": ConcludeRound(on),
            "ResumeLog": ResumeLog(self.epoch),
            "MarkFaulted": MarkFaulted("failed three times"),
        }[kind]

    # --- Telling and checking ---

    def turn(self, clock: str, commands: list[tuple[Any, ...]]) -> None:
        when, _, table = clock.partition(" ")
        if when in ("due", "late"):
            due = GAME.deadline(self.house.state(TABLE + table))
            late = 6 * SECOND if when == "late" else 0
            self.house.now = max(self.house.now, (due or 0) + late)
        elif when:
            self.house.now += SECOND
        entries = [entry for command in commands if (entry := self.asked(*command)) is not None]
        if entries:
            self.tell(entries)

    def tell(self, entries: list[Entry]) -> None:
        answers = self.house.send(entries)
        fresh = self.house.rows[self.read :]
        self.read = len(self.house.rows)
        for row in fresh:
            if row.stream.startswith(WALLET):
                self.books.take(row.stream.removeprefix(WALLET), row.type.partition(".")[2], json.loads(row.data))
        self.books.check(self.house)
        self.check_answers(entries, answers)
        self.check_replay(fresh)
        self.secrets.learn(fresh)
        self.secrets.check(self.shown(fresh, answers))

    def check_answers(self, entries: list[Entry], answers: list[Any]) -> None:
        for entry, answer in zip(entries, answers, strict=True):
            submission = entry.submission
            name = (submission.actor, submission.key)
            if not submission.key or isinstance(answer, KeyReused):
                continue
            first = next((told for known, told in self.sent if _name(known) == name), None)
            left = [row for row in self.house.rows if (row.actor, row.command) == name]
            if isinstance(answer, Refused):
                assert all(row.stream.startswith(REFUSED) for row in left)
                assert len(left) <= 1
            else:
                assert [row.position for row in left] == [each.position for each in answer.events]
            if first is None:
                self.sent.append((entry, answer))
            else:
                assert answer.repeated
                assert _told(answer) == _told(first)

    def check_replay(self, fresh: list[Any]) -> None:
        for row in fresh:
            decider = self.house.streams[row.stream].decider
            state = self.replayed.get(row.stream, codec.initial(decider))
            self.replayed[row.stream] = codec.evolve(decider)(state, codec.decode_event(row.type, 1, row.data))
        for name in {row.stream for row in fresh}:
            live = self.house.streams[name]
            assert self.replayed[name] == live.state
            assert codec.decode_state(live.decider, codec.encode(live.state)) == live.state
            versions = [row.version for row in self.house.rows if row.stream == name]
            assert versions == list(range(1, live.version + 1))

    def shown(self, fresh: list[Any], answers: list[Any]) -> Iterator[str]:
        """All that is stored or told since the last time."""
        for row in fresh:
            yield row.data
            if row.stream.startswith(TABLE):
                yield from (codec.encode(GAME.public(row.event, viewer)) for viewer in VIEWERS)
        for answer in answers:
            if isinstance(answer, Accepted):
                yield codec.encode([answer.states, [each.event for each in answer.events]])
            elif isinstance(answer, Refused):
                yield codec.encode(answer)
        for name in CONFIGS:
            if (state := self.house.state(TABLE + name)) is not None:
                yield codec.encode([GAME.view(state, viewer, (), no_open) for viewer in VIEWERS])
                yield codec.encode([state, GAME.about(state)])


def _name(entry: Entry) -> tuple[str, str]:
    return entry.submission.actor, entry.submission.key


def _told(answer: Any) -> tuple[Any, ...]:
    if isinstance(answer, Refused):
        return answer.rule, answer.facts
    return answer.first, answer.last, answer.events, answer.fenced


def test_whatever_is_asked_money_is_conserved_replay_is_exact_all_is_decided_again_and_nothing_leaks() -> None:
    """What that is worth depends on where the stories get to: together they come to every kind of event."""
    kinds, again = set[str](), 0
    for seed, telling in ((seed, Telling()) for seed in range(STORIES)):
        try:
            for clock, commands in story(random.Random(seed)):
                telling.turn(clock, commands)
        except Exception as problem:
            problem.add_note(f"in the story of seed {seed}, at position {len(telling.house.rows)}")
            raise
        kinds |= {row.type for row in telling.house.rows}
        again += check_decided_again(telling.house, {_name(entry): entry.submission.text for entry, _ in telling.sent})
    assert again > 1_000
    known = {kind.__struct_config__.tag for kind in codec.event_types()}
    of_wallets = ("BoughtIn", "CashedOut", "Resettled", "OwedTaken", "WrittenOff")
    others = [*(f"wallet.{name}" for name in of_wallets), *(f"{name}." for name in GAMES if name != GAME.name)]
    elsewhere = ("house.", "audit.", "proposal.Expired", "resettlement.", "dispute.", "docket.", "watch.", *others)
    assert known - kinds == {kind for kind in known if kind.startswith(elsewhere)}


@pytest.mark.parametrize("what", ["seed", "salt"])
def test_a_planted_leak_is_found(what: str) -> None:
    telling = Telling()
    for _ in range(2):
        telling.turn("due rng", [("TimeOut", "rng", 0)])
    [(seed, hidden)] = telling.secrets.hidden.items()
    planted = seed if what == "seed" else min(hidden - {seed})
    with pytest.raises(AssertionError):
        telling.secrets.check(iter([f'{{"said":"{planted}"}}']))

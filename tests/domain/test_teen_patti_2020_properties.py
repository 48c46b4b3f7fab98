"""Teen Patti 20-20 under whatever may come: commands of all roles in any order, at any time.

After every step: money is conserved, what is hidden stays hidden, the stored events fold to the live state, a refusal
changes nothing, and the table never hangs.
"""

from pathlib import Path
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from domain.cards import DECK
from domain.decider import MarkFaulted, SettleBettor, Submission
from domain.errors import Rejected
from domain.fairness import shuffle
from domain.game import SECOND, ConcludeRound, ResumeLog, Role, Stage, TimeOut, Viewer, no_open
from domain.games import GAMES
from domain.games.teen_patti_2020 import commands, events
from domain.games.teen_patti_2020.pays import Spot, Winner, showdown
from domain.games.teen_patti_2020.rules import SLOTS, Config, Kind, Slot, WhenEmpty
from domain.games.teen_patti_2020.state import (
    Betting,
    Between,
    Closed,
    Confirming,
    Dealing,
    Paused,
    Refunding,
    dealt,
    round_on,
)
from domain.incidents import IncidentKind, ReportIncident, Resolution, ResolveIncident, allowed, phase_of
from domain.names import INCIDENT, TABLE, WALLET
from domain.wallet import commands as wallet
from domain.wallet.events import BetsSettled, BetStaked
from services.written_rounds import OPERATOR, START, Memory

GAME = GAMES["teen_patti_2020"]
GOLDEN = Path(__file__).parents[1] / "golden" / "teen_patti_2020"
SAMPLES = [
    msgspec.json.decode(line, type=GAME.events)
    for file in GOLDEN.glob("*.json")
    for line in file.read_text().splitlines()
]
"""One event of each type and shape, for evolve to bear in any state."""

PLAYERS = ("ann", "bob", "eve")
CASH = 20_000
STEPS_TO_THE_NEXT_ROUND = 20

players = st.sampled_from(PLAYERS)
spots = st.sampled_from(Spot)
amounts = st.sampled_from([30, 100, 200, 500, 1_000, 5_000])
configs = st.builds(
    Config,
    currency=st.just("INR"),
    kind=st.sampled_from(Kind),
    spot_max=st.just(1_000),
    round_max=st.just(3_000),
    card_interval_ms=st.sampled_from([0, 700]),
    pause_seconds=st.sampled_from([0, 5]),
    when_empty=st.sampled_from(WhenEmpty),
    pause_limit_seconds=st.sampled_from([None, 30]),
)


class Table(RuleBasedStateMachine):
    """One table and three players; every role does as it likes."""

    @initialize(config=configs)
    def open(self, config: Config) -> None:
        self.memory, self.now, self.keys, self.epoch = Memory("properties"), START, 0, 1
        self.config, self.checked, self.incidents = config, 0, 0
        self.folded: Any = GAME.initial
        self.send("operator", Role.OPERATOR, commands.OpenTable(config), game=GAME.name)
        for player in PLAYERS:
            for asked in (wallet.OpenWallet("INR"), wallet.Deposit(CASH, "INR")):
                self.send("operator", Role.OPERATOR, asked, stream=WALLET + player)

    def send(self, actor: str, role: Role, command: Any, *, stream: str = TABLE + "t", game: str = "") -> bool:
        self.keys += 1
        before = dict(self.memory.streams)
        key = "" if role is Role.CLOCK else f"key-{self.keys}"
        try:
            self.memory.submit(self.now, Submission(OPERATOR, actor, role, stream, command, key, game))
        except Rejected as refused:
            after = {name: each for name, each in self.memory.streams.items() if each.version}
            assert after == {name: each for name, each in before.items() if each.version}
            msgspec.json.encode(refused.facts)
            return False
        return True

    def clock(self, command: Any, stream: str = TABLE + "t") -> bool:
        return self.send("platform", Role.CLOCK, command, stream=stream)

    @property
    def state(self) -> Any:
        return self.memory.state(TABLE + "t")

    @property
    def round(self) -> str:
        return GAME.round(self.state) or f"t.{self.state.table.number + 1}"

    # --- Players --------------------------------------------------------------------------------------------------

    @rule(player=players, wagers=st.lists(st.builds(commands.Wager, spots, amounts), min_size=1, max_size=4))
    def bet(self, player: str, wagers: list[commands.Wager]) -> None:
        self.send(player, Role.PLAYER, commands.PlaceBet(self.round, tuple(wagers)))

    @rule(bets=st.lists(st.tuples(players, spots, st.sampled_from([100, 300, 900])), min_size=1, max_size=6))
    def bet_as_soon_as_one_can(self, bets: list[tuple[str, Spot, int]]) -> None:
        for _ in range(STEPS_TO_THE_NEXT_ROUND):
            if isinstance(self.state, Betting) and self.now < self.state.due:
                break
            self.work()
        for player, spot, amount in bets:
            self.send(player, Role.PLAYER, commands.PlaceBet(self.round, (commands.Wager(spot, amount),)))

    @rule(player=players, number=st.integers(1, 300))
    def take_back(self, player: str, number: int) -> None:
        bets = self.memory.wallet(player).bets
        bet = bets[number % len(bets)].id if bets and number % 2 else f"key-{number}"
        self.send(player, Role.PLAYER, commands.CancelBet(bet))

    @precondition(lambda self: isinstance(self.state, Between))
    @rule(player=players)
    def give_client_seed(self, player: str) -> None:
        self.send(player, Role.PLAYER, commands.GiveClientSeed("lucky"))

    # --- Studio, supervisor, operator -----------------------------------------------------------------------------

    @rule(slot=st.sampled_from(Slot), card=st.sampled_from(DECK))
    def scan_anything(self, slot: Slot, card: Any) -> None:
        self.send("studio", Role.STUDIO, commands.DealCard(slot, card))

    @precondition(lambda self: self.config.kind is Kind.LIVE and isinstance(self.state, Betting | Dealing))
    @rule(cards=st.permutations(DECK))
    def scan_the_missing_cards(self, cards: list[Any]) -> None:
        lying = dealt(self.state)
        missing = [card for card in cards[:12] if card not in lying]
        for slot, card in zip(SLOTS[len(lying) :], missing, strict=False):
            self.send("studio", Role.STUDIO, commands.DealCard(slot, card))

    @precondition(lambda self: self.config.kind is Kind.LIVE and isinstance(self.state, Dealing | Confirming))
    @rule()
    def scan_again_from_the_first_card(self) -> None:
        on, lying = round_on(self.state), dealt(self.state)
        assert self.send("studio", Role.STUDIO, commands.ReportFault("misread"))
        assert self.send("supervisor", Role.SUPERVISOR, commands.RescanCards("misread")) == bool(lying)
        if lying:
            assert (dealt(self.state), round_on(self.state)) == ((), replace(on, rescanned="misread"))

    @precondition(lambda self: isinstance(self.state, Confirming))
    @rule(winner=st.sampled_from([*Winner, None, None, None]))
    def confirm(self, winner: Winner | None) -> None:
        told = winner or showdown(self.state.cards).winner
        assert self.send("studio", Role.STUDIO, commands.ConfirmResult(self.round, told))

    @rule(
        order=st.sampled_from(
            [
                (Role.STUDIO, commands.ReportFault("dark")),
                (Role.SUPERVISOR, commands.Pause("wait")),
                (Role.SUPERVISOR, commands.Resume()),
                (Role.SUPERVISOR, commands.Resume()),
                (Role.SUPERVISOR, commands.RescanCards("misread")),
                (Role.SUPERVISOR, commands.CancelRound("void")),
                (Role.SUPERVISOR, commands.DrainTable()),
                (Role.OPERATOR, commands.CloseTable()),
                (Role.OPERATOR, commands.ReopenTable()),
                (Role.OPERATOR, commands.ReopenTable()),
                (Role.OPERATOR, commands.OpenTable(Config("INR"))),
            ]
        ),
        who=st.sampled_from(["staff", "colleague"]),
    )
    def order(self, order: tuple[Role, Any], who: str) -> None:
        self.send(who, *order)

    @rule(kind=st.sampled_from(IncidentKind))
    def report_an_incident(self, kind: IncidentKind) -> None:
        """Whatever is on, and is not final, is paused by it."""
        self.incidents += 1
        assert self.send("studio", Role.STUDIO, ReportIncident("t", kind, "so"), stream=self.incident)
        standing = GAME.standing(self.state)
        assert standing.paused or standing.stage in (Stage.CLOSED, Stage.FINAL)

    @precondition(lambda self: self.incidents)
    @rule(resolution=st.sampled_from(Resolution))
    def resolve_the_incident(self, resolution: Resolution) -> None:
        """It does what it says, or is refused and does nothing."""
        found, before = self.memory.state(self.incident), GAME.standing(self.state)
        phase = phase_of(found, GAME, before)
        done = self.send("supervisor", Role.SUPERVISOR, ResolveIncident(resolution, "so"), stream=self.incident)
        assert not done or (found.resolution is None and resolution in allowed(found.kind, phase, GAME))
        if done and phase in ("idle", "betting", "playing"):
            expected = {Resolution.VOID: Refunding, Resolution.RESCAN: Dealing}.get(resolution)
            assert isinstance(self.state, expected) if expected else not GAME.standing(self.state).paused
        elif done:
            assert GAME.standing(self.state) == before

    @property
    def incident(self) -> str:
        return f"{INCIDENT}{self.incidents}"

    @rule(config=configs)
    def configure(self, config: Config) -> None:
        self.send("operator", Role.OPERATOR, commands.ConfigureTable(config))

    # --- The clock ------------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0, 1, 3, 16, 61, 700]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @rule()
    def time_out_at_any_time(self) -> None:
        due, state = GAME.deadline(self.state), self.state
        self.clock(TimeOut())
        if due is None or self.now < due:
            assert self.state == state

    @rule()
    def the_clock_works(self) -> None:
        self.work()

    @rule(often=st.integers(1, 9))
    def the_clock_works_on(self, often: int) -> None:
        for _ in range(often):
            self.work()

    @precondition(lambda self: isinstance(self.state, Paused))
    @rule()
    def resume_and_work(self) -> None:
        assert self.send("supervisor", Role.SUPERVISOR, commands.Resume())
        self.work()

    @rule(player=players)
    def settle_early(self, player: str) -> None:
        self.clock(SettleBettor(self.round), WALLET + player)

    @rule()
    def conclude_early(self) -> None:
        stakes = any(self.memory.wallet(player).bets for player in PLAYERS)
        concluded = self.clock(ConcludeRound(self.round))
        assert not (concluded and stakes and GAME.round(self.state) is None and round_on(self.state))

    @precondition(lambda self: self.keys % 5 == 0)
    @rule(again=st.booleans())
    def resume_log(self, again: bool) -> None:
        self.epoch += not again
        self.clock(ResumeLog(self.epoch))

    @precondition(lambda self: self.keys % 5 == 1)
    @rule()
    def fault(self) -> None:
        self.clock(MarkFaulted("its clock failed 3 times"))

    def work(self) -> None:
        """What timers and settlement do at the next deadline."""
        due = GAME.deadline(self.state)
        if due is None:
            return
        self.now = max(self.now, due)
        outcome = GAME.result(self.state)
        if outcome is None:
            self.clock(TimeOut())
            return
        for player in PLAYERS:
            self.clock(SettleBettor(outcome.round), WALLET + player)
        assert self.clock(ConcludeRound(outcome.round))

    # --- What always holds ----------------------------------------------------------------------------------------

    @invariant()
    def money_is_conserved(self) -> None:
        wallets = [self.memory.wallet(player) for player in PLAYERS]
        settled = [each.event for each in self.memory.log if isinstance(each.event, BetsSettled)]
        house = sum(event.staked - event.returned for event in settled)
        assert sum(held.cash + held.open_stakes for held in wallets) + house == len(PLAYERS) * CASH
        assert all(held.cash >= 0 for held in wallets)
        assert all(payout.returned >= 0 for event in settled for payout in event.payouts)

    @invariant()
    def open_bets_are_of_the_round_that_is_on_and_within_its_limits(self) -> None:
        for player in PLAYERS:
            wagers = [wager for bet in self.memory.wallet(player).bets for wager in bet.wagers]
            assert all(bet.round == GAME.round(self.state) for bet in self.memory.wallet(player).bets)
            assert sum(wager.amount for wager in wagers) <= 3_000
            for spot in Spot:
                assert sum(wager.amount for wager in wagers if wager.spot == spot) <= 1_000

    @invariant()
    def stored_events_fold_to_the_live_state_and_bets_come_only_while_betting(self) -> None:
        for each in self.memory.log[self.checked :]:
            if isinstance(each.event, BetStaked):
                assert isinstance(self.folded, Betting)
                assert self.now < self.folded.due
            if each.stream == TABLE + "t":
                stored = msgspec.json.decode(msgspec.json.encode(each.event), type=GAME.events)
                self.folded = GAME.evolve(self.folded, stored)
        self.checked = len(self.memory.log)
        assert self.folded == self.state
        assert msgspec.json.decode(msgspec.json.encode(self.state), type=GAME.states) == self.state

    @invariant()
    def no_seed_is_in_clear_before_its_round_has_ended(self) -> None:
        """A seed that a sealed one in the state still stands for is in no event, state, view or public event."""
        text = msgspec.json.encode([each.event for each in self.memory.log]).decode()
        now = msgspec.json.encode(self.state).decode()
        for sealed, seed in self.memory.seeds.items():
            if f'"{sealed}"' in now:
                assert seed.hex() not in text + now
        viewed = GAME.view(self.state, Viewer("ann", Role.PLAYER), (), no_open)
        assert "sealed" not in msgspec.json.encode(viewed).decode()

    @invariant()
    def of_the_deck_only_dealt_cards_are_named(self) -> None:
        on = round_on(self.state)
        if on is None or on.seed is None:
            return
        of_round = [each.event for each in self.memory.log if each.round == on.id and each.stream == TABLE + "t"]
        text = msgspec.json.encode(
            [of_round, self.state, GAME.view(self.state, Viewer("ann", Role.PLAYER), (), no_open)]
        )
        named = {card for card in DECK if f'"{card}"'.encode() in text}
        cards = dealt(self.state)
        assert named == set(cards)
        seed = self.memory.seeds[on.seed.sealed]
        deck = shuffle(seed, operator=OPERATOR, table="t", round=on.id, client_seeds=on.client_seeds)
        assert cards == deck.cards[: len(cards)]

    @invariant()
    def evolve_bears_any_event(self) -> None:
        for event in SAMPLES:
            after = GAME.evolve(self.state, event)
            assert msgspec.json.decode(msgspec.json.encode(after), type=GAME.states) == after

    @invariant()
    def somebody_can_always_lead_on(self) -> None:
        due = GAME.deadline(self.state)
        if due is None:
            assert isinstance(self.state, Closed | Paused)
        else:
            assert due <= self.now + 3_600 * SECOND

    def teardown(self) -> None:
        """Left to the clock alone, with one supervisor who resumes what waits for one, every table gets on."""
        if not hasattr(self, "memory"):
            return
        state, number = self.state, self.state.table.number
        for _ in range(STEPS_TO_THE_NEXT_ROUND):
            state = self.state
            if isinstance(state, Closed) or state.table.number > number:
                break
            if GAME.deadline(state) is None:
                assert self.send("supervisor", Role.SUPERVISOR, commands.Resume())
            self.work()
        else:
            raise AssertionError(f"hangs in {state}")
        open_bets = [bet for player in PLAYERS for bet in self.memory.wallet(player).bets]
        assert open_bets == []
        for event in {type(each.event): each.event for each in self.memory.log}.values():
            if isinstance(event, events.RoundSettled):
                of_round = [each.event for each in self.memory.log if each.round == event.round]
                reveal = GAME.reveals(OPERATOR, [e for e in of_round if isinstance(e, GAME.events)])
                assert all(check.holds for check in reveal.checks)
        if isinstance(state, Between):
            assert not state.table.draining


TestTable = Table.TestCase
TestTable.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)

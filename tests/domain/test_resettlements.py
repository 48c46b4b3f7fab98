"""A settled round settled once more: what each player gains, once, whoever asks how often, to its end."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.cards import parse
from domain.decider import SettleBettor, Submission
from domain.game import SECOND, ConcludeRound, Ended, Role, TimeOut
from domain.games import GAMES
from domain.names import PROPOSAL, RESETTLEMENT, TABLE, WALLET, id_of
from domain.proposals import Approve, Propose, Resettle
from domain.resettlements import Advance, Advanced, Complete, Completed, Corrected, Paid, Resettlement, Void
from domain.wallet import commands as wallet
from domain.wallet import events
from infra import codec
from services.batch import Accepted, Entry, Refused
from services.ended import ended_of
from services.resettled_again import resettled_again
from tests.domain.pocket_house import OPERATOR, PocketHouse

GAME = GAMES["teen_patti_2020"]
SLOTS = ("A1", "B1", "A2", "B2", "A3", "B3")
SCANNED = "As 2c Ad 3c 9h 8d"
"""Player A has a pair of aces, and Player B nothing."""
TRUE = "As 2c Ad 3c 9h 4c"
"""The last card was the four of clubs: Player B has a pure sequence, and wins."""
PLAYERS = ("ann", "bob", "cem")


CORRECTED = Resettle("t.1", Corrected(parse(TRUE)), "the scanner read 4c as 8d")
VOID = Resettle("t.1", Void(), "a card lay under the table")


class Studio:
    """A house with a live table, where one round is settled: each player bet 1,000 on Player A, and 100 on Player B."""

    def __init__(self, kind: str = "live") -> None:
        self.house = PocketHouse()
        self.asked = 0
        for player in PLAYERS:
            self.send("ops", Role.OPERATOR, WALLET + player, wallet.OpenWallet("EUR"))
            self.send("ops", Role.OPERATOR, WALLET + player, wallet.Deposit(2_000, "EUR"))
        config = {"currency": "EUR", "kind": kind, "card_interval_ms": 0}
        self.at_table("ops", Role.OPERATOR, type="OpenTable", config=config, game=GAME.name)
        self.play()

    def play(self) -> None:
        while not GAME.round(self.house.state("table:t")):
            self.time_out()
        wagers = [{"spot": "player_a", "amount": 1_000}, {"spot": "player_b", "amount": 100}]
        for player in PLAYERS:
            self.at_table(player, Role.PLAYER, type="PlaceBet", round="t.1", wagers=wagers)
        self.time_out()
        if self.house.state("table:t").table.config.kind == "live":
            for slot, card in zip(SLOTS, SCANNED.split(), strict=True):
                self.at_table("studio", Role.STUDIO, type="DealCard", slot=slot, card=card)
            self.at_table("studio", Role.STUDIO, type="ConfirmResult", round="t.1", winner="player_a")

    def settle(self) -> None:
        for player in PLAYERS:
            self.clock(WALLET + player, SettleBettor("t.1"))
        self.clock("table:t", ConcludeRound("t.1"))

    def time_out(self) -> None:
        self.house.now = GAME.deadline(self.house.state("table:t")) or self.house.now + SECOND
        self.clock("table:t", TimeOut())

    def at_table(self, actor: str, role: Role, game: str = "", **fields: Any) -> Any:
        return self.send(actor, role, TABLE + "t", msgspec.convert(fields, GAME.commands[role]), game=game)

    def clock(self, stream: str, command: Any) -> Any:
        return self.send("platform", Role.CLOCK, stream, command)

    def send(self, actor: str, role: Role, stream: str, command: Any, key: str = "", game: str = "") -> Any:
        self.asked += 1
        key = "" if role is Role.CLOCK else key or f"k{self.asked}"
        submission = Submission(OPERATOR, actor, role, stream, command, key, game, "asked so")
        [answer] = self.house.send([Entry(submission, stream.encode(), 0)])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def propose(self, asked: Any, key: str = "p") -> Any:
        return self.send("ops", Role.OPERATOR, PROPOSAL + id_of("ops", key), Propose(asked), key)

    def approve(self, key: str = "p") -> Any:
        return self.send("sue", Role.SUPERVISOR, PROPOSAL + id_of("ops", key), Approve())

    # --- What the service does ---

    @property
    def state(self) -> Any:
        return self.house.state(RESETTLEMENT + "t.1")

    @property
    def ended(self) -> Ended:
        found = ended_of("t.1", self.house.rows)
        assert found is not None
        return found

    def step(self, players: int = 1) -> Any:
        """The next step, as the service would ask for it."""
        state: Resettlement = self.state
        told = [row for row in self.house.rows if row.position > state.after and self._tells(row, state.number)]
        if not told:
            return self.clock(RESETTLEMENT + "t.1", Complete(state.number, state.after, *self.sums(state.number)))
        page = told[:players]
        bettors = tuple(Paid(row.stream.removeprefix(WALLET), row.event.payouts) for row in page)
        return self.clock(
            RESETTLEMENT + "t.1", Advance(state.number, state.after, page[-1].position, bettors, self.ended)
        )

    def _tells(self, row: Any, number: int) -> bool:
        if number == 1:
            return row.type == "wallet.BetsSettled"
        return row.type == "wallet.Resettled" and row.event.number == number - 1

    def of_round(self) -> list[Any]:
        return [row for row in self.house.rows if row.round == "t.1"]

    def sums(self, number: int) -> tuple[int, int, int]:
        found = [each for each in self.resettled() if each.number == number]
        return len(found), sum(each.gain for each in found), sum(each.after - each.before - each.gain for each in found)

    def resettled(self) -> list[events.Resettled]:
        return [row.event for row in self.house.rows if row.type == "wallet.Resettled"]

    def run(self) -> None:
        while self.state.due is not None:
            self.step()

    def agree(self, asked: Any, key: str) -> None:
        self.propose(asked, key)
        self.approve(key)

    def resettle(self, asked: Any, key: str = "p") -> None:
        self.propose(asked, key)
        assert isinstance(self.approve(key), Accepted)
        self.run()

    def purse(self, player: str) -> tuple[int, int]:
        held = self.house.state(WALLET + player)
        return held.cash, held.owed


@pytest.fixture
def studio() -> Studio:
    studio = Studio()
    studio.settle()
    return studio


def test_a_corrected_result_pays_what_the_true_cards_would_have_paid(studio: Studio):
    assert [studio.purse(player) for player in PLAYERS] == [(2_850, 0)] * 3
    studio.resettle(CORRECTED)
    assert [studio.purse(player) for player in PLAYERS] == [(1_095, 0)] * 3
    first = studio.resettled()[0]
    assert (first.round, first.number, first.gain, first.before, first.after) == ("t.1", 1, -1_755, 2_850, 1_095)
    assert [(each.spot, each.odds, each.returned) for each in first.was] == [
        ("player_a", "0.95:1", 1_950),
        ("player_b", "lost", 0),
    ]
    assert [(each.spot, each.odds, each.returned) for each in first.payouts] == [
        ("player_a", "lost", 0),
        ("player_b", "0.95:1", 195),
    ]
    completed = studio.house.rows[-1]
    assert (completed.stream, completed.event) == (RESETTLEMENT + "t.1", Completed("t.1", 1, 3, -5_265, 0))


def test_a_void_round_gives_every_wager_back(studio: Studio):
    studio.resettle(VOID)
    assert [studio.purse(player) for player in PLAYERS] == [(2_000, 0)] * 3
    assert {each.odds for event in studio.resettled() for each in event.payouts} == {"refunded"}


def test_what_was_paid_out_already_is_owed_and_the_second_resettlement_gives_it_back(studio: Studio):
    studio.send("ops", Role.OPERATOR, "wallet:bob", wallet.Withdraw(2_800, "EUR"))
    studio.resettle(CORRECTED)
    assert studio.purse("bob") == (0, 1_705)
    assert studio.house.rows[-1].event == Completed("t.1", 1, 3, -5_265, 1_705)
    studio.send("ops", Role.OPERATOR, "wallet:bob", wallet.Deposit(700, "EUR"))
    assert studio.purse("bob") == (0, 1_005)
    studio.resettle(VOID, "q")
    assert studio.purse("bob") == (0, 100)
    assert studio.purse("ann") == (2_000, 0)
    assert [each.number for each in studio.resettled()] == [1, 1, 1, 2, 2, 2]


def test_each_step_is_once_only_however_often_and_late_it_is_asked_for(studio: Studio):
    studio.propose(CORRECTED)
    studio.approve()
    state, rows = studio.state, [row for row in studio.house.rows if row.type == "wallet.BetsSettled"]
    first = Advance(1, 0, rows[1].position, tuple(Paid(r.stream[7:], r.event.payouts) for r in rows[:2]), studio.ended)
    done = studio.clock(RESETTLEMENT + "t.1", first)
    assert done.events[0].event == Advanced("t.1", 1, rows[1].position, 2, -3_510)
    assert studio.clock(RESETTLEMENT + "t.1", first).events == ()
    assert studio.clock(RESETTLEMENT + "t.1", Complete(1, 0, 0, 0, 0)).events == ()
    studio.run()
    assert studio.clock(RESETTLEMENT + "t.1", first).events == ()
    assert studio.state.number == state.number == 1
    assert len(studio.resettled()) == 3


def test_a_resettlement_cannot_be_completed_before_all_were_settled_with(studio: Studio):
    studio.propose(VOID)
    studio.approve()
    studio.step()
    after = studio.state.after
    with pytest.raises(ValueError, match="other compensations"):
        studio.clock(RESETTLEMENT + "t.1", Complete(1, after, 3, -2_550, 0))


def test_one_resettlement_of_a_round_at_a_time(studio: Studio):
    studio.propose(CORRECTED)
    studio.propose(VOID, "q")
    studio.approve()
    assert studio.approve("q") == Refused("ResettlementIsOn", {"round": "t.1", "number": 1})
    studio.run()
    assert isinstance(studio.approve("q"), Accepted)
    assert studio.state.number == 2


def test_what_was_done_already_is_not_done_again(studio: Studio):
    """As when one mistake was reported twice, and both proposals are approved."""
    same = Resettle("t.1", Corrected(parse(SCANNED)), "read again")
    assert studio.propose(same, "o") == Refused("NothingChanges", {"round": "t.1"})
    studio.resettle(CORRECTED)
    assert studio.propose(CORRECTED, "q") == Refused("NothingChanges", {"round": "t.1"})
    studio.resettle(same, "r")
    assert [studio.purse(player) for player in PLAYERS] == [(2_850, 0)] * 3


@pytest.mark.parametrize("wrong", ["As 2c Ad 3c 9h", "As 2c Ad 3c 9h As", "As 2c Ad 3c 9h 4c 5c"])
def test_six_different_cards_settle_a_round(studio: Studio, wrong: str):
    asked = Resettle("t.1", Corrected(parse(wrong)), "read again")
    assert studio.propose(asked) == Refused("CannotBeCorrected", {"round": "t.1"})


def test_only_what_is_settled_is_settled_once_more():
    studio = Studio()
    assert studio.propose(CORRECTED) == Refused("RoundNotSettled", {"round": "t.1"})
    assert studio.propose(Resettle("t.9", Void(), "no such round"), "q") == Refused("RoundNotSettled", {"round": "t.9"})
    studio.settle()
    assert isinstance(studio.propose(CORRECTED, "r"), Accepted)


def test_cards_that_were_committed_to_cannot_have_been_others():
    studio = Studio("rng")
    studio.settle()
    assert studio.propose(CORRECTED) == Refused("CannotBeCorrected", {"round": "t.1"})
    assert isinstance(studio.propose(VOID, "q"), Accepted)


def test_nobody_who_bet_is_left_out_nor_anybody_else_let_in(studio: Studio):
    studio.send("ops", Role.OPERATOR, "wallet:dee", wallet.OpenWallet("EUR"))
    studio.resettle(CORRECTED)
    touched = {row.stream for row in studio.house.rows if row.type == "wallet.Resettled"}
    assert touched == {WALLET + player for player in PLAYERS}


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("step"), st.integers(1, 3)),
        st.tuples(st.just("again"), st.integers(0, 50)),
        st.tuples(st.just("Deposit"), st.integers(1, 3_000)),
        st.tuples(st.just("Withdraw"), st.integers(1, 3_000)),
        st.tuples(st.just("propose"), st.integers(0, 2)),
        st.tuples(st.just("write off"), st.integers(1, 900)),
    ),
    max_size=30,
)


@given(MOVES, st.randoms(use_true_random=False))
def test_in_whatever_order_it_comes_nothing_is_lost_or_doubled(moves: list[tuple[str, int]], dice: Any):
    """Resettlements one after the other, their steps again and late, and players' money moving meanwhile."""
    studio = Studio()
    studio.settle()
    steps: list[Any] = []
    brought, written_off = 6_000, 0
    bases = (Corrected(parse(TRUE)), Void(), Corrected(parse(SCANNED)))
    for at, (move, amount) in enumerate(moves):
        player = dice.choice(PLAYERS)
        match move:
            case "step" if isinstance(studio.state, Resettlement) and studio.state.due is not None:
                steps.append(studio.state)
                studio.step(amount)
            case "again" if steps:
                old = steps[amount % len(steps)]
                assert studio.clock(RESETTLEMENT + "t.1", Complete(old.number, old.after, 0, 0, 0)).events == () or (
                    studio.state == old
                )
            case "Deposit" | "Withdraw":
                done = studio.send("ops", Role.OPERATOR, WALLET + player, getattr(wallet, move)(amount, "EUR"))
                sign = 1 if move == "Deposit" else -1
                brought += sign * amount if isinstance(done, Accepted) else 0
            case "propose":
                studio.agree(Resettle("t.1", bases[amount], "so"), f"p{at}")
            case "write off":
                off = wallet.WriteOff(amount, "EUR", "gone", "ops", "p")
                done = studio.send("ops", Role.OPERATOR, WALLET + player, off)
                written_off += amount if isinstance(done, Accepted) else 0
            case _:
                pass
    if isinstance(studio.state, Resettlement):
        studio.run()
    purses = [studio.purse(player) for player in PLAYERS]
    assert all(cash >= 0 and owed >= 0 and not (cash and owed) for cash, owed in purses)
    last = studio.state.basis if isinstance(studio.state, Resettlement) else bases[2]
    each = {bases[0]: -905, bases[1]: 0, bases[2]: 850}[last]
    assert sum(cash - owed for cash, owed in purses) == brought + 3 * each + written_off
    done = [(event.number, row.stream) for row in studio.house.rows if isinstance(event := row.event, events.Resettled)]
    assert len(done) == len(set(done)), "each player once in each"
    assert resettled_again("t.1", studio.of_round()).found == ()


def test_decided_again_what_never_was_is_found(studio: Studio):
    """Another payout, another player, a compensation twice, one left out: each at its place."""
    studio.resettle(CORRECTED)
    studio.resettle(VOID, "q")
    rows = studio.of_round()
    assert resettled_again("t.1", rows).commands == 2 * 5
    at = [place for place, row in enumerate(rows) if row.type == "wallet.Resettled"]
    for place in at:
        event = rows[place].event
        other = msgspec.structs.replace(
            rows[place], data=codec.encode(msgspec.structs.replace(event, gain=event.gain + 1))
        )
        renamed = msgspec.structs.replace(rows[place], stream="wallet:dee")
        for wrong in ([other], [renamed], [rows[place]] * 2, []):
            told = resettled_again("t.1", [*rows[:place], *wrong, *rows[place + 1 :]])
            assert told.found, (place, wrong)


def test_decided_again_a_player_whom_no_step_came_to_is_found(studio: Studio):
    """The steps and their sums agree with each other, but not with who had bet."""
    studio.propose(CORRECTED)
    studio.approve("p")
    last = [row for row in studio.house.rows if row.type == "wallet.BetsSettled"].pop()
    studio.house.rows.remove(last)
    studio.run()
    rows = studio.of_round()
    assert resettled_again("t.1", rows).found == ()
    [found] = resettled_again("t.1", [*rows, last]).found
    assert found.decided == f"{last.stream.removeprefix(WALLET)} was not settled with"

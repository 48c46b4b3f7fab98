"""A deck is opened only where a card is needed: the rest can be decided by a process that holds no vault key."""

import pytest

from domain.decider import MarkFaulted, SettleBettor, Submission
from domain.game import ConcludeRound, Role, TimeOut
from domain.games import GAMES
from domain.games.teen_patti_2020 import commands, rules
from domain.games.teen_patti_2020.pays import Spot
from domain.names import TABLE
from domain.wallet import commands as wallet
from services.written_rounds import OPERATOR, START, Memory

GAME = GAMES["teen_patti_2020"]


class CountingMemory(Memory):
    """Counts how often a seed is opened."""

    def __init__(self) -> None:
        super().__init__("test")
        self.opened = 0

    def open(self, _round_id, seed):
        self.opened += 1
        return super().open(_round_id, seed)


class House:
    """An rng table in the betting phase of its first round, with ann's bet in it."""

    def __init__(self) -> None:
        self.memory, self.now = CountingMemory(), START
        self.send(Role.OPERATOR, commands.OpenTable(rules.Config("INR")), game=GAME.name)
        for asked in (wallet.OpenWallet("INR"), wallet.Deposit(10_000, "INR")):
            self.send(Role.OPERATOR, asked, stream="wallet:ann")
        self.clock()
        self.clock()
        self.bet("b1")

    def send(self, role: Role, command: object, *, stream: str = TABLE + "t", key: str = "", game: str = "") -> None:
        actor = "ann" if role is Role.PLAYER else "staff"
        self.memory.submit(self.now, Submission(OPERATOR, actor, role, stream, command, key, game))

    def bet(self, key: str) -> None:
        wagers = (commands.Wager(Spot.PLAYER_A, 200),)
        self.send(Role.PLAYER, commands.PlaceBet("t.1", wagers), key=key)

    def clock(self) -> None:
        self.now = max(self.now, GAME.deadline(self.memory.state(TABLE + "t")) or 0)
        self.send(Role.CLOCK, TimeOut())


@pytest.fixture
def house() -> House:
    return House()


def test_a_round_is_opened_on_its_seed_once_and_no_bet_opens_it_again(house: House) -> None:
    assert house.memory.opened == 1
    house.bet("b2")
    house.send(Role.PLAYER, commands.CancelBet("b2"), key="c")
    assert house.memory.opened == 1


def test_pause_resume_cancel_and_refund_need_no_deck(house: House) -> None:
    house.send(Role.SUPERVISOR, commands.Pause("a word with the dealer"))
    house.send(Role.SUPERVISOR, commands.Resume())
    house.clock()  # closes betting
    house.send(Role.SUPERVISOR, commands.Pause("once more"))
    house.send(Role.CLOCK, MarkFaulted("its clock failed"))
    house.send(Role.SUPERVISOR, commands.CancelRound("it goes on too long"))
    house.send(Role.CLOCK, SettleBettor("t.1"), stream="wallet:ann")
    assert house.memory.wallet("ann").cash == 10_000
    assert house.memory.opened == 1


def test_settling_needs_no_deck(house: House) -> None:
    for _ in range(1 + len(rules.SLOTS)):
        house.clock()
    dealt = house.memory.opened
    house.send(Role.CLOCK, SettleBettor("t.1"), stream="wallet:ann")
    assert house.memory.opened == dealt
    house.send(Role.CLOCK, ConcludeRound("t.1"))
    assert house.memory.opened == dealt + 1, "the end of the round reveals its seed"

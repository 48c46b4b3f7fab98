"""The bots of 3 Patti play whole evenings at a table in memory, by nothing but what they see."""

import random
from collections import Counter

import msgspec
import pytest

from domain.errors import Rejected
from domain.game import Role
from domain.games.three_patti import commands, events
from domain.games.three_patti.rules import Config
from domain.names import WALLET
from domain.wallet import commands as wallet
from ops import bots_house, bots_patti, demo_house
from ops.bots_patti import TEMPERS, at_the_table, wanted
from ops.bots_table import Move
from ops.client_patti import Allowed, Seat, View
from tests.domain.patti_table import Table, whose_turn

CONFIG = msgspec.convert(demo_house.TABLES["three_patti"]["patti-1"], Config)
HANDS = 40


def seen(table: Table, player: str) -> View:
    """What the API would send."""
    return msgspec.json.decode(msgspec.json.encode(table.view(player)), type=View)


def does(table: Table, player: str, move: Move) -> None:
    """Raises Rejected if the table refuses it; money that is gone is brought, as the bots do."""
    try:
        table.does(player, getattr(commands, move.command)(**move.fields))
    except Rejected as refused:
        if refused.rule != "InsufficientFunds":
            raise
        deposit = wallet.Deposit(bots_house.TOP_UP, CONFIG.currency)
        table.send("operator", Role.OPERATOR, deposit, stream=WALLET + player)


def evening(seed: int) -> Table:
    """The bots at the table of `croupier up`, who mind their seats after each hand."""
    chance = random.Random(seed)
    table = Table(CONFIG, f"evening {seed}", tuple(TEMPERS))
    while table.state.table.number < HANDS:
        player = whose_turn(table.state)
        if player is not None:
            while move := wanted(TEMPERS[player], seen(table, player), chance.random()):
                does(table, player, move)
            continue
        for name in chance.sample(list(TEMPERS), len(TEMPERS)):
            if move := at_the_table(seen(table, name), chance.random()):
                does(table, name, move)
        table.clock()
    return table


@pytest.fixture(scope="module")
def evenings() -> list[Table]:
    """Every move in them was allowed, or the evening would have ended there."""
    return [evening(seed) for seed in range(3)]


def test_hands_end_in_every_common_way_and_sideshows_are_answered_in_both(evenings: list[Table]) -> None:
    told = [event for table in evenings for event in table.events]
    ends = Counter(str(event.why) for event in told if isinstance(event, events.RoundSettled))
    assert min(ends["show"], ends["folds"]) >= 3
    assert sum(ends.values()) >= 3 * (HANDS - 1)
    kinds = Counter(type(event).__name__ for event in told)
    assert min(kinds["SideShowResolved"], kinds["SideShowRefused"]) >= 3


def test_bots_come_and_go_and_bring_chips_and_the_table_never_waits_for_them(evenings: list[Table]) -> None:
    kinds = Counter(type(event).__name__ for table in evenings for event in table.events)
    assert min(kinds[name] for name in ("SeatLeft", "ToppedUp", "SatOut", "SatIn")) >= 3
    assert kinds["SeatTaken"] > 3 * len(TEMPERS)
    dealt = [len(e.dealt) for table in evenings for e in table.events if isinstance(e, events.RoundOpened)]
    assert min(dealt) >= 3
    assert len(set(dealt)) > 1


def test_the_blind_one_never_looks_and_all_others_do(evenings: list[Table]) -> None:
    looked = set[str]()
    for table in evenings:
        at: dict[int, str] = {}
        for event in table.events:
            if isinstance(event, events.RoundOpened):
                at = {each.seat: each.player for each in event.dealt}
            if isinstance(event, events.CardsSeen):
                looked.add(at[event.seat])
    assert looked == set(TEMPERS) - {"bot-ines"}


def on_turn(*cards: str) -> View:
    """Seat 1, seen, may call for 20 up to 40, ask for a show, or fold."""
    me = Seat(1, "me", 5_000, "seen" if cards else "blind", cards=cards)
    may = [Allowed("Fold"), Allowed("Bet", 20, 40, 2), Allowed("Show", pays=20)]
    return View("turn", (me, Seat(2, "other", 900, "seen")), "t.1", turn=1, you=1, allowed=tuple(may))


TRIO, NOTHING = ("Ah", "As", "Ad"), ("2h", "3s", "7d")


@pytest.mark.parametrize("temper", TEMPERS.values())
def test_the_best_hand_is_never_folded_and_a_move_is_in_what_is_allowed(temper: bots_patti.Temper) -> None:
    for cards in (TRIO, NOTHING):
        view = on_turn(*cards)
        moves = [temper(view, luck / 100) for luck in range(100)]
        assert {move.command for move in moves} <= {"Fold", "Bet", "Show"}
        assert all(move.amount in range(20, 41, 2) for move in moves if move.command == "Bet")
        assert cards is NOTHING or not any(move.command == "Fold" for move in moves)


def test_tempers_differ() -> None:
    def folds(name: str) -> int:
        return sum(TEMPERS[name](on_turn(*NOTHING), luck / 100).command == "Fold" for luck in range(100))

    assert folds("bot-gita") > 80
    assert folds("bot-jaya") < folds("bot-lena")
    assert folds("bot-ines") == 0
    raises = [TEMPERS["bot-jaya"](on_turn(*NOTHING), luck / 100).amount == 40 for luck in range(100)]
    assert any(raises), "the bluffer never bluffs"


def test_nobody_acts_out_of_turn() -> None:
    idle = View("turn", (Seat(1, "me", 50, "blind"),), "t.1", turn=2, you=1, allowed=(Allowed("LeaveTable"),))
    assert all(wanted(temper, idle, 0.0) is None for temper in TEMPERS.values())


def test_at_a_table_that_has_closed_there_is_nothing_to_do() -> None:
    assert at_the_table(View("closed"), 0.0) is None
    assert wanted(TEMPERS["bot-hari"], View("closed"), 0.0) is None


def test_one_seat_stays_free_for_whoever_looks_on() -> None:
    def sits(taken: int) -> Move | None:
        seats = tuple(Seat(number, f"p{number}", 500, "waiting") for number in range(1, taken + 1))
        free = tuple(range(taken + 1, 7))
        return at_the_table(View("between", seats, allowed=(Allowed("SitDown", 100, 1_000, 1, seats=free),)), 0.4)

    assert sits(2) == sits(4) == Move("SitDown", 100)
    assert sits(5) is None


def test_a_hand_is_told_with_no_card_but_those_that_were_shown() -> None:
    results = [
        {"seat": 1, "player": "ann", "paid": 100, "won": 0},
        {"seat": 2, "player": "bo", "paid": 200, "won": 0, "cards": ["2h", "3s", "7d"]},
        {"seat": 4, "player": "cy", "paid": 200, "won": 500, "cards": ["Ah", "As", "Kd"]},
    ]
    line = bots_patti.told({"round": "t.7", "why": "short_show", "pot": 500, "results": results})
    expected = "t.7 3 played, ended by short show cy Ah As Kd won 5.00 against bo 2h 3s 7d"
    assert " ".join(line.split()) == expected

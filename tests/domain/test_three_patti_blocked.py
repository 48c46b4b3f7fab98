"""3 Patti with a player whom the operator has blocked: no new stake is taken from him, and what he holds is his."""

import pytest

from domain.game import Role, TimeOut
from domain.games.three_patti import commands, events, rules
from domain.names import WALLET
from domain.wallet import commands as wallet
from tests.domain.patti_table import GAME, Table, whose_turn


@pytest.mark.parametrize(("blocked", "dealt"), [(("ann",), {"bob", "cid", "dee"}), (("ann", "bob"), set[str]())])
def test_a_blocked_player_plays_the_hand_to_its_end_and_is_dealt_no_other(blocked: tuple[str, ...], dealt: set[str]):
    """A deal takes the boot of whoever is dealt in, which would be a new stake; two alone are dealt no hand (P1)."""
    table = Table().seated(500, 500, 500, 500)
    for name in blocked:
        table.send("operator", Role.OPERATOR, wallet.Block(), stream=WALLET + name)
    for act in (commands.Bet(10), commands.Bet(10), commands.Bet(10), commands.Bet(10)):
        table.does(whose_turn(table.state) or "", act)
    for _ in range(3):
        table.does(whose_turn(table.state) or "", commands.Fold())
    before = table.money()
    for _ in range(3):
        table.clock()
        if sat_out := {each.player: each.why for each in table.events if isinstance(each, events.SatOut)}:
            break
    assert sat_out == dict.fromkeys(blocked, rules.OutBecause.BLOCKED)
    table.clock(TimeOut())
    on = table.state.round.players if GAME.round(table.state) else ()
    assert {each.player for each in on} == dealt
    for name in blocked:
        [left] = [each for each in table.does(name, commands.LeaveTable()) if isinstance(each, events.SeatLeft)]
        assert left.amount >= 480
    assert table.money() == before

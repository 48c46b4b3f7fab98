"""A live table taken up again while things go on happening."""

from domain.game import Role, no_open
from domain.games import GAMES
from services.api.auth import Caller
from services.api.sse import Watch
from tests.services.conftest import Casino


async def test_what_comes_while_a_reader_catches_up_is_left_to_the_follower(casino: Casino) -> None:
    token = await casino.player("ann")
    round_id = await casino.table("t1")
    watch = Watch(casino.services.pool, Caller("lotus", "ann", Role.PLAYER), "t1", GAMES["teen_patti_2020"], no_open)
    scene = await watch._now()
    assert (await casino.bet(token, round_id, player_a=100)).status_code == 200
    missed = await watch._missed(scene, 0)
    assert missed
    assert max(row.position for row in missed[1]) <= scene.position < await casino.position()

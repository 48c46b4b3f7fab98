"""The games, one line each. Nobody outside enters a game but by the name here."""

from typing import Any

from domain.game import Game
from domain.games import gin_rummy, teen_patti_2020, three_patti

GAMES: dict[str, Game[Any, Any, Any]] = {
    game.name: game
    for game in (
        teen_patti_2020.GAME,
        three_patti.GAME,
        gin_rummy.GAME,
    )
}  # fmt: skip

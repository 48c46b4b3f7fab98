"""`large-wins`: what a player won in one round or match, from a threshold on."""

from msgspec import Struct

from domain.game import Micros
from domain.money import Amount
from services.reports.play import Play
from services.reports.report import Kind, Read

THRESHOLD = 1_000_000


class LargeWin(Struct, frozen=True):
    """`won` is `returned` less `staked`, of all that the player had in the round."""

    position: int
    at: Micros
    gaming_day: str
    player: str
    game: str
    table: str
    round: str
    currency: str
    staked: Amount
    returned: Amount
    won: Amount


class _Fold:
    def __init__(self, threshold: Amount) -> None:
        self._play = Play()
        self._threshold = threshold
        self._found: list[LargeWin] = []

    def take(self, read: Read) -> None:
        """A player's wagers of a round end with one event."""
        sums: dict[tuple[str, str, str, str, str], tuple[Amount, Amount]] = {}
        for each in self._play.take(read.row):
            key = (each.player, each.game, each.table, each.round, each.currency)
            staked, returned = sums.get(key, (0, 0))
            sums[key] = (staked + each.staked, returned + each.returned)
        when = (read.row.position, read.row.at, read.day.isoformat())
        for key, (staked, returned) in sums.items():
            if read.within and returned - staked >= self._threshold:
                self._found.append(LargeWin(*when, *key, staked, returned, returned - staked))

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> list[LargeWin]:
        return self._found


LARGE_WINS = Kind(
    name="large-wins",
    title="Large wins",
    words="What a player won in one round or match, from a threshold on (in minor units of whatever currency).",
    row=LargeWin,
    fold=_Fold,
    sums=("staked", "returned", "won"),
    threshold=THRESHOLD,
)

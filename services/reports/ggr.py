"""`ggr-by-day`: what the house kept, by gaming day, game and currency."""

from msgspec import Struct

from domain.money import Amount
from services.reports.play import Play
from services.reports.report import Kind, Read


class DayOfGame(Struct, frozen=True):
    """Of what ended on that day: `ggr` is `stakes` less `returns`; where players hold chips that is the `rake`."""

    gaming_day: str
    game: str
    currency: str
    stakes: Amount
    returns: Amount
    ggr: Amount
    rake: Amount


class _Fold:
    def __init__(self, _threshold: Amount) -> None:
        self._play = Play()
        self._sums: dict[tuple[str, str, str], tuple[Amount, Amount, Amount]] = {}

    def take(self, read: Read) -> None:
        for ended in self._play.take(read.row):
            if read.within and not ended.void:
                key = (read.day.isoformat(), ended.game, ended.currency)
                stakes, returns, rake = self._sums.get(key, (0, 0, 0))
                self._sums[key] = (stakes + ended.staked, returns + ended.returned, rake + ended.rake)

    def __len__(self) -> int:
        return len(self._sums)

    def rows(self) -> list[DayOfGame]:
        return [
            DayOfGame(*key, stakes, returns, stakes - returns, rake)
            for key, (stakes, returns, rake) in sorted(self._sums.items())
        ]


GGR = Kind(
    name="ggr-by-day",
    title="GGR by gaming day",
    words="Stakes, returns, GGR and rake by gaming day, game and currency.",
    row=DayOfGame,
    fold=_Fold,
    sums=("stakes", "returns", "ggr", "rake"),
)

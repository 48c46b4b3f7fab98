"""`ggr-by-day`: what the house kept, by gaming day, game and currency."""

from msgspec import Struct

from domain.money import Amount
from services.reports.play import Play
from services.reports.report import Kind, Read


class DayOfGame(Struct, frozen=True):
    """Of what ended on that day: `ggr` is `stakes` less `returns`; where players hold chips that is the `rake`. What
    players gained on that day by resettlements of whatever day's rounds is `resettled`, and taken off the `ggr` too."""

    gaming_day: str
    game: str
    currency: str
    stakes: Amount
    returns: Amount
    resettled: Amount
    ggr: Amount
    rake: Amount


class _Fold:
    def __init__(self, _threshold: Amount) -> None:
        self._play = Play()
        self._sums: dict[tuple[str, str, str], tuple[Amount, Amount, Amount, Amount]] = {}

    def take(self, read: Read) -> None:
        for ended in self._play.take(read.row):
            if read.within and not ended.void:
                key = (read.day.isoformat(), ended.game, ended.currency)
                sums = self._sums.get(key, (0, 0, 0, 0))
                more = (ended.staked, ended.returned, ended.resettled, ended.rake)
                self._sums[key] = (sums[0] + more[0], sums[1] + more[1], sums[2] + more[2], sums[3] + more[3])

    def __len__(self) -> int:
        return len(self._sums)

    def rows(self) -> list[DayOfGame]:
        return [
            DayOfGame(*key, stakes, returns, resettled, stakes - returns - resettled, rake)
            for key, (stakes, returns, resettled, rake) in sorted(self._sums.items())
        ]


GGR = Kind(
    name="ggr-by-day",
    title="GGR by gaming day",
    words="Stakes, returns, what resettlements gave, GGR and rake by gaming day, game and currency.",
    row=DayOfGame,
    fold=_Fold,
    sums=("stakes", "returns", "resettled", "ggr", "rake"),
    edition=2,
)

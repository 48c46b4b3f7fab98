"""`game-performance`: what each game, table and bet took and gave back, beside what it gives back in the long run."""

from fractions import Fraction

from msgspec import Struct

from domain.money import Amount
from services.reports.play import Ended, Play
from services.reports.report import Kind, Read, percent

NOT_APPLICABLE = "not applicable"
"""Players play against each other: the house has rake, and no return to speak of."""


class Performance(Struct, frozen=True):
    """`rounds` in which such a bet ended, matches where a match is what is played for. `stakes`, `returns` and `ggr`
    are of what ended; `voided` went back with its round. What players gained when rounds were settled once more is
    `resettled`: taken off the `ggr`, and counted in the actual RTP. RTP is in percent of the stakes; none where nothing
    was."""

    game: str
    table: str
    currency: str
    pay_table: str
    spot: str
    theoretical_rtp: str
    theoretical_rtp_exact: str
    actual_rtp: str | None
    rounds: int
    wagers: int
    stakes: Amount
    returns: Amount
    resettled: Amount
    ggr: Amount
    rake: Amount
    voided: Amount


class _Sums:
    def __init__(self) -> None:
        self.rounds = self.wagers = self.stakes = self.returns = self.resettled = self.rake = self.voided = 0
        self._last = ""

    def add(self, ended: Ended) -> None:
        self.rake += ended.rake
        self.resettled += ended.resettled
        if ended.void:
            self.voided += ended.staked
            return
        if ended.wagers and ended.round != self._last:  # at one table one round ends after the other
            self._last = ended.round
            self.rounds += 1
        self.wagers += ended.wagers
        self.stakes += ended.staked
        self.returns += ended.returned


_Key = tuple[str, str, str, str, str, Fraction | None]


class _Fold:
    def __init__(self, _threshold: Amount) -> None:
        self._play = Play()
        self._sums: dict[_Key, _Sums] = {}

    def take(self, read: Read) -> None:
        for ended in self._play.take(read.row):
            if read.within:
                key = (ended.game, ended.table, ended.currency, ended.pay_table, ended.spot, ended.theory)
                self._sums.setdefault(key, _Sums()).add(ended)

    def __len__(self) -> int:
        return len(self._sums)

    def rows(self) -> list[Performance]:
        return [_row(key, self._sums[key]) for key in sorted(self._sums, key=lambda key: (key[:5], key[5] or 0))]


def _row(key: _Key, sums: _Sums) -> Performance:
    game, table, currency, pay_table, spot, theory = key
    return Performance(
        game=game,
        table=table,
        currency=currency,
        pay_table=pay_table,
        spot=spot,
        theoretical_rtp=NOT_APPLICABLE if theory is None else percent(theory.numerator, theory.denominator),
        theoretical_rtp_exact=NOT_APPLICABLE if theory is None else f"{theory.numerator}/{theory.denominator}",
        actual_rtp=NOT_APPLICABLE if theory is None else _actual(sums),
        rounds=sums.rounds,
        wagers=sums.wagers,
        stakes=sums.stakes,
        returns=sums.returns,
        resettled=sums.resettled,
        ggr=sums.stakes - sums.returns - sums.resettled,
        rake=sums.rake,
        voided=sums.voided,
    )


def _actual(sums: _Sums) -> str | None:
    return percent(sums.returns + sums.resettled, sums.stakes) if sums.stakes else None


PERFORMANCE = Kind(
    name="game-performance",
    title="Game performance",
    words="Theoretical and actual RTP, stakes, returns, GGR and rake by game, table and bet.",
    row=Performance,
    fold=_Fold,
    sums=("wagers", "stakes", "returns", "resettled", "ggr", "rake", "voided"),
    edition=2,
)

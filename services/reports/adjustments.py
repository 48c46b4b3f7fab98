"""`adjustments`: every correction of a player's cash, by whom and why."""

from msgspec import Struct

from domain.game import Micros
from domain.money import Amount
from domain.names import WALLET
from services.reports.report import Kind, Read


class Adjustment(Struct, frozen=True):
    """`amount` is what the player gained, less than nothing for a loss; `before` and `after` are the cash. `by`
    approved what was proposed; before that took two, `by` did it alone and without a code."""

    position: int
    at: Micros
    gaming_day: str
    player: str
    currency: str
    amount: Amount
    before: Amount
    after: Amount
    code: str
    reason: str
    proposed_by: str
    by: str
    role: str


class _Fold:
    def __init__(self, _threshold: Amount) -> None:
        self._found: list[Adjustment] = []

    def take(self, read: Read) -> None:
        row = read.row
        if not read.within or row.type != "wallet.Adjusted":
            return
        event, player = row.event, row.stream.removeprefix(WALLET)
        money = (event.amount, event.before, event.after)
        when = (row.position, row.at, read.day.isoformat())
        why = (event.code or "", event.reason, event.proposed_by)
        self._found.append(Adjustment(*when, player, read.currency, *money, *why, row.actor, row.role))

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> list[Adjustment]:
        return self._found


ADJUSTMENTS = Kind(
    name="adjustments",
    title="Adjustments",
    words="Corrections of players' cash: whose, how much, by whom and why.",
    row=Adjustment,
    fold=_Fold,
    sums=("amount",),
    asks_currency=True,
)

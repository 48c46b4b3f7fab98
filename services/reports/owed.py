"""`owed`: who owes the house what since when, because a resettled round took more than the cash, and what followed."""

from msgspec import Struct
from msgspec.structs import replace

from domain.game import Micros
from domain.money import Amount
from domain.names import WALLET
from domain.wallet import events
from services.reports.report import Kind, Read


class Owed(Struct, frozen=True):
    """A player who owes something as of the position, or owed it once: what `arose` in all was `collected` from what
    came to the player, `written_off`, or is `owed` still, `since` that moment."""

    player: str
    currency: str
    since: Micros | None
    rounds: int
    """Resettled, that made it more."""
    arose: Amount
    collected: Amount
    written_off: Amount
    owed: Amount


class _Fold:
    def __init__(self, _threshold: Amount) -> None:
        self._found: dict[str, Owed] = {}

    def take(self, read: Read) -> None:
        row = read.row
        if row.type not in _OF_OWED:
            return
        event, player = row.event, row.stream.removeprefix(WALLET)
        before = self._found.get(player) or Owed(player, read.currency, None, 0, 0, 0, 0, 0)
        after = replace(before, owed=event.owed)
        match event:
            case events.Resettled(owed=owed) if owed > before.owed:
                after = replace(after, rounds=before.rounds + 1, arose=before.arose + owed - before.owed)
            case events.OwedTaken(amount=amount):
                after = replace(after, collected=before.collected + amount)
            case events.WrittenOff(amount=amount):
                after = replace(after, written_off=before.written_off + amount)
            case _:
                return
        since = (before.since or row.at) if after.owed else None
        self._found[player] = replace(after, since=since)

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> list[Owed]:
        return [self._found[player] for player in sorted(self._found)]


_OF_OWED = {"wallet.Resettled", "wallet.OwedTaken", "wallet.WrittenOff"}

OWED = Kind(
    name="owed",
    title="Owed by players",
    words="What players owe since rounds were resettled: since when, what was collected and what was written off.",
    row=Owed,
    fold=_Fold,
    sums=("arose", "collected", "written_off", "owed"),
    has_period=False,
    asks_currency=True,
)

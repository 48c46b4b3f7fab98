"""`liability`: what the house holds that is its players', as of the position."""

from msgspec import Struct

from domain.games import GAMES
from domain.money import Amount
from domain.wallet.views import Account, postings
from services.reports.play import Tables
from services.reports.report import Kind, Read


class Liability(Struct, frozen=True):
    """`table_holdings` are the chips at tables: what was brought there, less what was taken away and raked. `owed` is
    what players owe the house: no part of the total, for it is no less theirs what they have."""

    currency: str
    player_cash: Amount
    open_stakes: Amount
    table_holdings: Amount
    total: Amount
    owed: Amount


class _Fold:
    """By the double entry of the wallets; rake leaves the tables without any wallet being told."""

    def __init__(self, _threshold: Amount) -> None:
        self._tables = Tables()
        self._held: dict[tuple[str, Account], Amount] = {}

    def take(self, read: Read) -> None:
        row = read.row
        if row.type.startswith("wallet."):
            self._add(read.currency, Account.CASH, 0)
            for account, gain in postings(row.event):
                self._add(read.currency, account, gain)
            return
        event = self._tables.take(row)
        if event is not None and (rake := GAMES[row.type.partition(".")[0]].rake(event)):
            round_id = getattr(event, "match", None) or event.round
            self._add(self._tables.of_round(round_id).currency, Account.TABLES, -rake)

    def _add(self, currency: str, account: Account, gain: Amount) -> None:
        self._held[currency, account] = self._held.get((currency, account), 0) + gain

    def __len__(self) -> int:
        return len(self._held)

    def rows(self) -> list[Liability]:
        return [self._row(currency) for currency in sorted({currency for currency, _ in self._held})]

    def _row(self, currency: str) -> Liability:
        accounts = (Account.CASH, Account.OPEN_STAKES, Account.TABLES, Account.OWED)
        cash, stakes, tables, owed = (self._held.get((currency, account), 0) for account in accounts)
        return Liability(currency, cash, stakes, tables, cash + stakes + tables, -owed)


LIABILITY = Kind(
    name="liability",
    title="Liability",
    words="Players' cash, open stakes and what tables hold, and what players owe, by currency, as of the position.",
    row=Liability,
    fold=_Fold,
    sums=("player_cash", "open_stakes", "table_holdings", "total", "owed"),
    has_period=False,
    asks_currency=True,
    edition=2,
)

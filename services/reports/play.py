"""What was played for, as every report counts it: each wager when it has ended, and what was raked.

GGR, rake and RTP count what has ended; what is open is a liability. Memory grows with the bets that are open at a time
and with the number of tables.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from domain.game import LongRun, PaidOut
from domain.games import GAMES
from domain.money import Amount, Payout
from domain.names import TABLE, table_of
from domain.wallet import events
from infra import codec
from infra.eventlog import EventRow

REFUNDED = "refunded"


class Ended(Struct, frozen=True):
    """A wager that ended; or, with nothing staked, the rake of a pot or prize. Where players hold chips there is no
    spot. `void`: the round was cancelled and the stake went back. `theory`: what such a bet gives back in the long run,
    if that is known of it. With nothing staked and `resettled`: what the player gained when the wager was settled once
    more."""

    game: str
    table: str
    currency: str
    pay_table: str
    spot: str
    theory: Fraction | None
    round: str
    player: str
    staked: Amount
    returned: Amount
    rake: Amount = 0
    resettled: Amount = 0
    void: bool = False
    wagers: int = 1


class AtTable(Struct, frozen=True):
    """What a table's round, or its next one, is played under."""

    game: str
    currency: str
    long_run: LongRun | None


class Tables:
    """What every table is played under, as told by the last round that was opened there."""

    def __init__(self) -> None:
        self._tables: dict[str, AtTable] = {}

    def take(self, row: EventRow) -> Any:
        """The event, if it may be of some account; else None, without decoding it."""
        game, _, name = row.type.partition(".")
        if game not in GAMES or not row.stream.startswith(TABLE):
            return None
        if row.type == codec.opening(game) or name == "TableOpened":
            event, known = row.event, GAMES[game].long_run
            config = event.config
            self._tables[row.stream.removeprefix(TABLE)] = AtTable(
                game, config.currency, known(config) if known else None
            )
            return event
        return row.event if GAMES[game].long_run is None else None

    def of_round(self, round_id: str) -> AtTable:
        return self._tables[table_of(round_id)]


class Play:
    """Rounds as they end."""

    def __init__(self) -> None:
        self.tables = Tables()
        self._open: dict[tuple[str, str], list[tuple[str, str, Amount]]] = {}
        """By wallet and round: bet, spot and amount of each wager that is open."""

    def take(self, row: EventRow) -> Iterator[Ended]:
        if row.type.startswith("wallet."):
            return self._of_wallet(row)
        event = self.tables.take(row)
        return iter(()) if event is None else self._of_table(row, event)

    def _of_table(self, row: EventRow, event: Any) -> Iterator[Ended]:
        game = GAMES[row.type.partition(".")[0]]
        for each in game.chips(event):
            if isinstance(each, PaidOut):
                yield self._ended(each.player, each.payout.bet, "", each.payout)
        if rake := game.rake(event):
            round_id = getattr(event, "match", None) or event.round
            at = self.tables.of_round(round_id)
            table = table_of(round_id)
            yield Ended(at.game, table, at.currency, "", "", None, round_id, "", 0, 0, rake, wagers=0)

    def _of_wallet(self, row: EventRow) -> Iterator[Ended]:
        if row.type not in _OF_BETS:
            return
        event, wallet = row.event, row.stream
        player = wallet.removeprefix("wallet:")
        match event:
            case events.BetStaked(bet=bet):
                placed = self._open.setdefault((wallet, bet.round), [])
                placed.extend((bet.id, wager.spot, wager.amount) for wager in bet.wagers)
            case events.BetCancelled(bet=bet_id):
                left = [each for each in self._open[wallet, event.round] if each[0] != bet_id]
                self._open[wallet, event.round] = left
                if not left:
                    del self._open[wallet, event.round]
            case events.BetsSettled(round=round_id, payouts=payouts):
                del self._open[wallet, round_id]
                for payout in payouts:
                    yield self._ended(player, round_id, payout.spot, payout)
            case events.Refunded(round=round_id):
                for bet_id, spot, amount in self._open.pop((wallet, round_id)):
                    yield self._ended(player, round_id, spot, Payout(bet_id, spot, amount, REFUNDED, amount))
            case events.Resettled():
                yield from self._resettled(player, event)
            case _:
                raise AssertionError(row.type)

    def _resettled(self, player: str, event: events.Resettled) -> Iterator[Ended]:
        """The round was counted when it was settled; this is counted when it happened."""
        for was, now in zip(event.was, event.payouts, strict=True):
            spot = now.spot if self.tables.of_round(event.round).long_run else ""
            ended = self._ended(player, event.round, spot, replace(now, staked=0, odds="", returned=0))
            yield replace(ended, resettled=now.returned - was.returned, wagers=0)

    def _ended(self, player: str, round_id: str, spot: str, payout: Payout) -> Ended:
        at, long_run = self.tables.of_round(round_id), self.tables.of_round(round_id).long_run
        return Ended(
            at.game,
            table_of(round_id),
            at.currency,
            long_run.pay_table if long_run else "",
            spot,
            long_run.returns.get(spot) if long_run else None,
            round_id,
            player,
            payout.staked,
            payout.returned,
            void=payout.odds == REFUNDED,
        )


_OF_BETS = {"wallet.BetStaked", "wallet.BetCancelled", "wallet.BetsSettled", "wallet.Refunded", "wallet.Resettled"}

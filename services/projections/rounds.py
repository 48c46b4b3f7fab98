"""Round results: one row a round, and one a player and round with every wager, its odds and its return.

Generic over games: a game tells a round by events named RoundOpened, BettingClosed, RoundResulted, RoundSettled and so
on, and a match of several rounds, which has a row beside theirs, by MatchOpened, MatchSettled and MatchRefunded. What
they show of the result is what the game's own `public` shows to somebody who is nobody. Bets are events of wallets, or
chips at the table, of which the game's `chips` tells.
"""

from collections.abc import Collection, Iterable
from typing import Any, Generic

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from domain.game import Brought, Chips, Micros, PaidIn, PaidOut, Role, Viewer
from domain.games import GAMES
from domain.money import Amount, Payout
from domain.names import TABLE, WALLET
from domain.wallet import events
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.sql import queries
from services.projections import resettled
from services.projections.resettled import W

SQL = queries("rounds")
LAST = 2**63 - 1
MATCH = "m"
"""Between table and number in the id of a match: `<table>.m<n>`."""
NOBODY = Viewer("", Role.PLAYER)

_STATUS = {
    "RoundOpened": "open",
    "BettingClosed": "closed",
    "RoundResulted": "resulted",
    "RoundCancelled": "cancelled",
    "RoundSettled": "settled",
    "RoundRefunded": "refunded",
    "RoundSkipped": "skipped",
    "MatchOpened": "open",
    "MatchSettled": "settled",
    "MatchRefunded": "refunded",
}
_OF_MATCH = (".MatchOpened", ".MatchSettled", ".MatchRefunded")
_SHOWN = ("RoundResulted", "RoundCancelled", "RoundSettled", "MatchSettled", "MatchRefunded")
"""The first of them that comes has the result: where bets are settled after it, RoundSettled has only the books."""
_ENDS = ("RoundSettled", "RoundRefunded", "RoundSkipped", "MatchSettled", "MatchRefunded")
_NOT_SHOWN = ("type", "round", "due", "openings")
"""What a row has elsewhere, or a replay."""


class Round(Struct, frozen=True):
    """`staked` and `bettors` count what was not cancelled by its player; `returned` counts stakes that went back.

    Where players hold chips, `staked` is the pot and `returned` what was won of it. A match of several rounds has a
    row of its own, `round` being the match's id, `<table>.m<n>`: the money is there, and none in its rounds' rows.
    """

    round: str
    table: str
    game: str
    number: int
    status: str
    opened_at: Micros
    closed_at: Micros | None
    ended_at: Micros | None
    bettors: int
    staked: Amount
    returned: Amount
    result: msgspec.Raw | None
    """What the game shows of the result, or why the round was cancelled."""
    first: int
    last: int


class BettorOf(Struct, Generic[W], frozen=True):
    """One player's bets in one round; what the wagers of chips and of matches are is told in services/api/bets.py."""

    round: str
    player: str
    status: str
    staked: Amount
    returned: Amount
    wagers: tuple[W, ...]
    placed_at: Micros
    ended_at: Micros | None
    first: int
    last: int


class Bettor(BettorOf[Payout], frozen=True):
    """A wager's odds are "" while it is open, else as in a payout, or "cancelled" by its player, or "refunded" with its
    round; readers are told outcome and odds apart (services/api/bets.py)."""


_encode = msgspec.json.Encoder().encode
_wagers = msgspec.json.Decoder(tuple[Payout, ...])


class Book:
    """Rounds and bettors as a batch changes them, over those that were known before it."""

    def __init__(self, known: "Book | None" = None) -> None:
        self.rounds: dict[str, Round] = {}
        self.bettors: dict[tuple[str, str], Bettor] = {}
        self.seats: dict[tuple[str, str], str] = {}
        """Who holds chips at which spot of a round; of no use for other rounds."""
        self._known = known

    def add(self, rounds: Iterable[Round] = (), bettors: Iterable[Bettor] = ()) -> None:
        """Rows as they were saved."""
        self.rounds.update((each.round, each) for each in rounds)
        for each in bettors:
            self.bettors[each.round, each.player] = each
            if each.wagers:
                self.seats[each.round, each.wagers[0].spot] = each.player

    def take_over(self, changed: "Book") -> None:
        """What a batch made of these."""
        self.rounds.update(changed.rounds)
        self.bettors.update(changed.bettors)
        self.seats.update(changed.seats)

    def forget(self, rounds: Collection[str]) -> None:
        for about in rounds:
            del self.rounds[about]
        self.bettors = {key: each for key, each in self.bettors.items() if each.round not in rounds}
        self.seats = {key: player for key, player in self.seats.items() if key[0] not in rounds}

    def round(self, about: str) -> Round | None:
        return self.rounds.get(about) or (self._known.round(about) if self._known else None)

    def bettor(self, about: str, player: str) -> Bettor | None:
        return self.bettors.get((about, player)) or (self._known.bettor(about, player) if self._known else None)

    def player_at(self, about: str, spot: str) -> str:
        return self.seats.get((about, spot)) or (self._known.player_at(about, spot) if self._known else "")

    def take(self, row: EventRow) -> tuple[str, ...]:
        """The players whose rows this event changed."""
        about = told_of(row)
        if about is None:
            return ()
        before = self.round(about) or _begun(row, about)
        if row.type.startswith("wallet."):
            player = row.stream.removeprefix(WALLET)
            wagered = _wagered(self.bettor(about, player), row, about, player)
            self.rounds[about] = self._counted(before, wagered, row)
            return (player,)
        if after := _told(before, row):
            self.rounds[about] = after
        return tuple(self._moved(self.rounds.get(about, before), each, row) for each in moved_by(row))

    def _moved(self, round_: Round, chips: PaidIn | PaidOut, row: EventRow) -> str:
        spot = chips.spot if isinstance(chips, PaidIn) else chips.payout.spot
        player = chips.player or self.player_at(round_.round, spot)
        self.seats[round_.round, spot] = player
        after = _seated(self.bettor(round_.round, player), row, round_, player, chips)
        self.rounds[round_.round] = self._counted(round_, after, row)
        return player

    def _counted(self, round_: Round, after: Bettor, row: EventRow) -> Round:
        """The round with this bettor as he is now."""
        before = self.bettor(after.round, after.player)
        self.bettors[after.round, after.player] = after
        staked, returned = (before.staked, before.returned) if before else (0, 0)
        return replace(
            round_,
            bettors=round_.bettors + (after.staked > 0) - (staked > 0),
            staked=round_.staked + after.staked - staked,
            returned=round_.returned + after.returned - returned,
            last=row.position,
        )


def match_of(row: EventRow) -> str | None:
    """The match that an event opens or ends. It may have been recorded in one of its rounds, or in none."""
    return row.event.match if row.type.endswith(_OF_MATCH) else None


def told_of(row: EventRow) -> str | None:
    """Which row is told of: a round's or a match's. What came to it when it was over changes neither."""
    if row.type == resettled.TYPE or not row.stream.startswith((TABLE, WALLET)):
        return None
    return match_of(row) or row.round


def ends(row: EventRow) -> bool:
    """Whether nothing that follows changes the row that is told of, of a game with chips."""
    return row.type.partition(".")[2] in _ENDS


def is_match(round_id: str) -> bool:
    return round_id.rpartition(".")[2].startswith(MATCH)


def _begun(row: EventRow, round_id: str) -> Round:
    table, _, number = round_id.rpartition(".")
    return Round(
        round=round_id,
        table=table,
        game="",
        number=int(number.removeprefix(MATCH)),
        status="open",
        opened_at=row.at,
        closed_at=None,
        ended_at=None,
        bettors=0,
        staked=0,
        returned=0,
        result=None,
        first=row.position,
        last=row.position,
    )


def _told(round_: Round, row: EventRow) -> Round | None:
    """The round after an event of its table; None if the event says nothing of the round's row."""
    game, _, name = row.type.partition(".")
    status = _STATUS.get(name)
    if status is None:
        return None
    return replace(
        round_,
        game=game,
        status=status,
        closed_at=row.at if name == "BettingClosed" else round_.closed_at,
        ended_at=row.at if name in _ENDS else round_.ended_at,
        result=_shown(game, row.event) if name in _SHOWN and round_.result is None else round_.result,
        last=row.position,
    )


def _shown(game: str, event: Any) -> msgspec.Raw:
    public: dict[str, Any] = msgspec.to_builtins(GAMES[game].public(event, NOBODY))
    return msgspec.Raw(_encode({name: value for name, value in public.items() if name not in _NOT_SHOWN}))


def moved_by(row: EventRow) -> tuple[PaidIn | PaidOut, ...]:
    """The chips that an event of a table moved into its round or match, or out of it."""
    game = GAMES.get(row.type.partition(".")[0])
    told: tuple[Chips, ...] = game.chips(row.event) if game else ()
    return tuple(each for each in told if not isinstance(each, Brought))


def _seated(bettor: Bettor | None, row: EventRow, round_: Round, player: str, chips: PaidIn | PaidOut) -> Bettor:
    bettor = bettor or _new(row, round_.round, player)
    if isinstance(chips, PaidOut):
        payout = chips.payout
        return _bettor(bettor, row, round_.status, (payout,), staked=payout.staked, returned=payout.returned)
    staked = bettor.staked + chips.amount
    return _bettor(bettor, row, "open", (Payout(round_.round, chips.spot, staked, "", 0),), staked=staked)


def _new(row: EventRow, round_id: str, player: str) -> Bettor:
    return Bettor(round_id, player, "open", 0, 0, (), row.at, None, row.position, row.position)


def _wagered(bettor: Bettor | None, row: EventRow, round_id: str, player: str) -> Bettor:
    bettor = bettor or _new(row, round_id, player)
    event, wagers = row.event, bettor.wagers
    match event:
        case events.BetStaked(bet=bet, amount=amount):
            placed = tuple(Payout(bet.id, wager.spot, wager.amount, "", 0) for wager in bet.wagers)
            return _bettor(bettor, row, "open", (*wagers, *placed), staked=bettor.staked + amount)
        case events.BetCancelled(bet=bet_id, amount=amount):
            back = tuple(_back(wager, "cancelled") if wager.bet == bet_id else wager for wager in wagers)
            left = bettor.staked - amount
            return _bettor(bettor, row, "open" if left else "cancelled", back, staked=left)
        case events.BetsSettled(payouts=payouts, returned=returned):
            ended = (*(wager for wager in wagers if wager.odds), *payouts)
            return _bettor(bettor, row, "settled", ended, staked=bettor.staked, returned=bettor.returned + returned)
        case events.Refunded(amount=amount):
            back = tuple(wager if wager.odds else _back(wager, "refunded") for wager in wagers)
            return _bettor(bettor, row, "refunded", back, staked=bettor.staked, returned=bettor.returned + amount)
        case _:
            return bettor


def _back(wager: Payout, why: str) -> Payout:
    return Payout(wager.bet, wager.spot, wager.staked, why, wager.staked)


def _bettor(
    before: Bettor, row: EventRow, status: str, wagers: tuple[Payout, ...], *, staked: Amount, returned: Amount = 0
) -> Bettor:
    ended = None if status == "open" else row.at
    return Bettor(
        before.round,
        before.player,
        status,
        staked,
        returned,
        wagers,
        before.placed_at,
        ended,
        before.first,
        row.position,
    )


def round_of(record: Any) -> Round:
    round_ = Round(*record)
    return replace(round_, result=msgspec.Raw(record["result"].encode())) if record["result"] else round_


def bettor_of(record: Any) -> Bettor:
    round_id, player, status, staked, returned, wagers, *rest = record
    return Bettor(round_id, player, status, staked, returned, _wagers.decode(wagers), *rest)


async def one(pool: Pool, operator: str, round_id: str) -> Round | None:
    record = await pool.fetchrow(SQL["one"], operator, round_id)
    return round_of(record) if record else None


async def page(
    pool: Pool, operator: str, table: str | None = None, *, before: int | None = None, limit: int = 100
) -> list[Round]:
    """Rounds, of one table or of all, the newest first; the cursor is a round's `first`."""
    until = LAST if before is None else before
    if table is None:
        records = await pool.fetch(SQL["page"], operator, until, limit)
    else:
        records = await pool.fetch(SQL["page_of_table"], operator, table, until, limit)
    return [round_of(record) for record in records]


async def bettors(pool: Pool, operator: str, round_id: str, *, after: str = "", limit: int = 100) -> list[Bettor]:
    """Who bet in a round, by name after one."""
    return [bettor_of(record) for record in await pool.fetch(SQL["bettors_of_round"], operator, round_id, after, limit)]


async def history(
    pool: Pool, operator: str, player: str, *, before: int | None = None, limit: int = 100
) -> list[Bettor]:
    """A player's bet history, the newest round first; the cursor is `first` (T25)."""
    until = LAST if before is None else before
    return [bettor_of(record) for record in await pool.fetch(SQL["history"], operator, player, until, limit)]

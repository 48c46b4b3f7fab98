"""Replay: a stored round again, by the same evolve over the same events, step by step, and what it proves.

A viewer sees what the table showed them: events and views come from the game's `public` and `view`, and of wallets a
player sees only their own. The proofs are worked out from all of it, whoever asks.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import asyncpg
from msgspec import Struct

from domain.decider import TABLE, WALLET, table_of
from domain.game import (
    Brought,
    Cancelled,
    Game,
    Micros,
    Open,
    Outcome,
    PaidIn,
    PaidOut,
    Role,
    RoundTotals,
    Viewer,
    no_open,
)
from domain.games import GAMES
from domain.money import Amount, Bet
from domain.wallet import events as wallet
from domain.wallet.views import Account, postings
from infra import codec, eventlog
from infra.eventlog import EventRow, LogTorn
from infra.postgres import Pool
from infra.sql import queries
from services.projections.rounds import match_of
from services.projections.statement import Movement, movement

SQL = queries("replay")
STEPS_MAX = 1_000


class Step(Struct, frozen=True):
    """One event, the table as the viewer saw it then, and the money it moved. `hash` is its link in the log's chain.

    There is no view before the round's opening: what the table was then is in no event of the round.
    """

    number: int
    position: int
    at: Micros
    actor: str
    role: str
    command: str | None
    stream: str
    type: str
    event: Any
    view: Any
    money: Movement | None
    hash: str


class Proof(Struct, frozen=True):
    """Something worked out again from the events. `tried` counts the cases, `failed` names those that differ."""

    what: str
    holds: bool
    tried: int
    failed: tuple[str, ...] = ()


class Replay(Struct, frozen=True):
    round: str
    table: str
    game: str
    title: str
    ended: bool
    totals: RoundTotals
    proofs: tuple[Proof, ...]
    fairness: Any
    """What anyone can check of the round's cards, checked, as its game tells it; None if the game has nothing.
    Its `checks` are each a `what` and a `holds`, in every game."""
    steps_in_all: int
    steps: tuple[Step, ...]

    @property
    def checks(self) -> tuple[Any, ...]:
        return () if self.fairness is None else self.fairness.checks

    @property
    def holds(self) -> bool:
        return all(each.holds for each in (*self.proofs, *self.checks))


async def replay(
    pool: Pool,
    operator: str,
    round_id: str,
    viewer: Viewer,
    open_seed: Open = no_open,
    *,
    after: int = 0,
    limit: int = STEPS_MAX,
) -> Replay | None:
    """The round, with at most `limit` steps after number `after`; None if the log knows no such round."""
    playing: _Playing | None = None
    async for row in eventlog.of_round(pool, operator, round_id):
        if playing is None:
            game = GAMES.get(row.type.partition(".")[0])
            if game is None:
                return None  # the round's opening is its first event, so this is no round
            playing = _Playing(game, round_id, viewer, open_seed, after, limit)
        playing.play(row)
    if playing is None:
        return None
    stored = await pool.fetchrow(eventlog.SQL["stream"], operator, TABLE + table_of(round_id))
    if stored is not None and stored["version"] == playing.version:
        live = codec.decode_state(stored["decider"], stored["state"])
        playing.prove("the table's state is what its round's own events fold to", round_id, live == playing.state)
    return playing.ended(operator)


def replayed(operator: str, game: Game[Any, Any, Any], round_id: str, rows: Iterable[EventRow]) -> Replay:
    """The same without a log and without steps, from events that are at hand."""
    playing = _Playing(game, round_id, Viewer("", Role.AUDITOR), no_open, 0, 0)
    for row in rows:
        playing.play(row)
    return playing.ended(operator)


class _Proofs:
    def __init__(self) -> None:
        self._tried = defaultdict[str, int](int)
        self._failed = defaultdict[str, list[str]](list)

    def prove(self, what: str, case: str, holds: bool) -> None:
        self._tried[what] += 1
        if not holds:
            self._failed[what].append(case)

    def all(self, *, named: bool) -> tuple[Proof, ...]:
        """What was proved; the cases that failed are named only to those who may know of them."""
        return tuple(
            Proof(what, what not in self._failed, tried, tuple(self._failed.get(what, ())) if named else ())
            for what, tried in self._tried.items()
        )


class _Playing:
    """A round on its way: the table's state, every bettor's open bets or chips, and what is proved so far."""

    def __init__(
        self, game: Game[Any, Any, Any], round_id: str, viewer: Viewer, open_seed: Open, after: int, limit: int
    ) -> None:
        self._game = game
        self._round = round_id
        self._viewer = viewer
        self._open_seed = open_seed
        self._window = range(after + 1, after + limit + 1)
        self._story: list[Any] = []
        self._bets = defaultdict[str, list[Bet]](list)
        self._seats: dict[str, str] = {}
        """Whose chips are still in the round, by spot."""
        self._staked = defaultdict[str, Amount](int)
        self._returned: Amount = 0
        self._proofs = _Proofs()
        self._steps: list[Step] = []
        self._number = 0
        self.prove = self._proofs.prove
        self.state = game.initial
        self.version = 0

    def play(self, row: EventRow) -> None:
        event = row.event
        if row.stream.startswith(WALLET):
            self._wallet(row.stream.removeprefix(WALLET), event)
            shown = event if self._sees_wallet(row.stream.removeprefix(WALLET)) else None
        else:
            self._table(row, event)
            shown = self._game.public(event, self._viewer)
        if shown is None:
            return
        self._number += 1
        if self._number in self._window:
            self._steps.append(self._step(row, shown))

    def ended(self, operator: str) -> Replay:
        return Replay(
            round=self._round,
            table=table_of(self._round),
            game=self._game.name,
            title=self._game.title,
            ended=self._game.round(self.state) != self._round,
            totals=self._totals(),
            proofs=self._proofs.all(named=self._viewer.role not in (Role.PLAYER, Role.STUDIO)),
            fairness=self._game.reveals(operator, self._story),
            steps_in_all=self._number,
            steps=tuple(self._steps),
        )

    def _sees_wallet(self, player: str) -> bool:
        if self._viewer.role is Role.PLAYER:
            return self._viewer.actor == player
        return self._viewer.role is not Role.STUDIO

    def _step(self, row: EventRow, shown: Any) -> Step:
        own = tuple(self._bets[self._viewer.actor]) if self._viewer.role is Role.PLAYER else ()
        return Step(
            number=self._number,
            position=row.position,
            at=row.at,
            actor=row.actor,
            role=row.role,
            command=row.command,
            stream=row.stream,
            type=row.type,
            event=shown,
            view=self._game.view(self.state, self._viewer, own, self._open_seed) if self._begun else None,
            money=movement(row) if row.stream.startswith(WALLET) else None,
            hash=row.hash.hex(),
        )

    def _table(self, row: EventRow, event: Any) -> None:
        self.version = row.version
        before = self._game.holdings(self.state) if self._begun else None
        self.state = self._game.evolve(self.state, event)
        self._chips(row, before)
        self._story.append(event)
        if said := _books(event):
            totals = self._totals()
            said_right = said == (totals.bettors, totals.staked, totals.returned)
            self.prove("the closed books say what the bettors' events add up to", row.type, said_right)

    @property
    def _begun(self) -> bool:
        """A match may have been opened before: the round's own opening tells all that the table was."""
        return self.state != self._game.initial

    def _chips(self, row: EventRow, before: Amount | None) -> None:
        """What moved at a table that holds chips, `before` the event in all. What a match takes and gives is not in the
        books of its rounds."""
        told, rake, after = self._game.chips(row.event), self._game.rake(row.event), self._game.holdings(self.state)
        if before is not None and (before or after):
            brought = sum(each.amount for each in told if isinstance(each, Brought))
            same = after == before + brought - rake
            self.prove("chips are only moved, but for those brought, taken away and raked", row.type, same)
        if match_of(row) is not None:
            return
        for each in told:
            if isinstance(each, PaidIn):
                player = self._seats.setdefault(each.spot, each.player)
                self._staked[player] += each.amount
        if ended := [each for each in told if isinstance(each, PaidOut)]:
            self._paid_out(row, ended, rake)

    def _paid_out(self, row: EventRow, ended: list[PaidOut], rake: Amount) -> None:
        """The round's end says of each player what the events before it add up to, and leaves nothing in the pot."""
        said = {each.player: each.payout.staked for each in ended}
        back = sum(each.payout.returned for each in ended)
        whole = said == self._staked and back + rake == sum(said.values())
        self.prove("the closed books say what the bettors' events add up to", row.type, whole)
        for each in ended:
            if each.payout.odds == "refunded":
                same = each.payout.returned == self._staked[each.player]
                self.prove("every refund is the whole open stake of a cancelled round", each.player, same)
        self._returned += back
        self._seats.clear()

    def _wallet(self, player: str, event: wallet.Event) -> None:
        bets = self._bets[player]
        cash = sum(gain for account, gain in postings(event) if account is Account.CASH)
        moved = getattr(event, "after", 0) - getattr(event, "before", 0)
        self.prove("every balance changed by what its event says", player, cash == moved)
        match event:
            case wallet.BetStaked(bet=bet, amount=amount):
                bets.append(bet)
                self._staked[player] += amount
            case wallet.BetCancelled(bet=bet_id, amount=amount):
                bets[:] = [bet for bet in bets if bet.id != bet_id]
                self._staked[player] -= amount
            case wallet.BetsSettled():
                self._settled(player, event, tuple(bets))
                bets.clear()
            case wallet.Refunded(amount=amount):
                self._refunded(player, amount, tuple(bets))
                bets.clear()
            case _:
                pass

    def _settled(self, player: str, event: wallet.BetsSettled, bets: tuple[Bet, ...]) -> None:
        self._returned += event.returned
        outcome: Outcome | None = self._game.result(self.state)
        payouts = self._game.returns(outcome, bets) if outcome is not None else ()
        same = payouts == event.payouts and sum(payout.returned for payout in payouts) == event.returned
        self.prove("every payout is what the game returns for its bet", player, same)

    def _refunded(self, player: str, amount: Amount, bets: tuple[Bet, ...]) -> None:
        self._returned += amount
        whole = isinstance(self._game.result(self.state), Cancelled) and amount == sum(bet.amount for bet in bets)
        self.prove("every refund is the whole open stake of a cancelled round", player, whole)

    def _totals(self) -> RoundTotals:
        staked = [amount for amount in self._staked.values() if amount]
        still_open = sum(1 for bets in self._bets.values() if bets) + len(self._seats)
        return RoundTotals(len(staked), sum(staked), self._returned, still_open)


def _books(event: Any) -> tuple[int, Amount, Amount] | None:
    """What an event that closes a round's books says; None for every other event."""
    try:
        return event.bettors, event.staked, event.returned
    except AttributeError:
        return None


class Fold:
    """Every stream's state, folded from the log from its beginning: the way back, for all of it at once."""

    def __init__(self) -> None:
        self.states: dict[str, Any] = {}
        self.position = 0
        self._evolve: dict[str, Callable[[Any, Any], Any]] = {}

    def take(self, stream: str, event_type: str, schema: int, data: str) -> None:
        evolve = self._evolve.get(stream)
        if evolve is None:
            decider = event_type.partition(".")[0]
            evolve = self._evolve[stream] = codec.evolve(decider)
            self.states[stream] = codec.initial(decider)
        self.states[stream] = evolve(self.states[stream], codec.decode_event(event_type, schema, data))

    async def pages(self, pool: Pool, operator: str) -> AsyncIterator[int]:
        """Fold page after page, each read while the one before is folded; gives the count of each. Raises LogTorn."""
        following = asyncio.create_task(self._page(pool, operator, self.position))
        try:
            while records := await following:
                first, last = self.position + 1, records[-1][0]
                if last - first + 1 != len(records):
                    raise LogTorn(f"{operator}: a position between {first} and {last} is missing from the log")
                following = asyncio.create_task(self._page(pool, operator, last))
                await asyncio.sleep(0)  # so that the request is on its way before the fold takes the processor
                for _, stream, event_type, schema, data in records:
                    self.take(stream, event_type, schema, data)
                self.position = last
                yield len(records)
        finally:
            following.cancel()

    async def _page(self, pool: Pool, operator: str, after: int) -> list[asyncpg.Record]:
        return await pool.fetch(SQL["facts"], operator, after, eventlog.PAGE)

"""Replay: a stored round again, by the same evolve over the same events, step by step, and what it proves.

A match of several rounds is folded whole, and its steps are what belongs to none of its rounds, or names the match: how
it began, what came between hands, how each hand ended, and how the match did.
A viewer sees what the table showed them: events and views come from the game's `public` and `view`, and of wallets a
player sees only their own. The proofs are worked out from all of it, whoever asks.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

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
    Unexplained,
    Viewer,
    no_open,
)
from domain.games import GAMES
from domain.money import Amount, Bet, Payout
from domain.names import TABLE, WALLET, table_of
from domain.wallet import events as wallet
from domain.wallet.views import Account, postings
from infra import codec, eventlog
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.sql import queries
from services.ended import of_match
from services.frames import Scene, Sight, encode, table_at
from services.projections.rounds import is_match, match_of
from services.projections.statement import Movement, movement
from services.proofs import Proof, Proofs
from services.resettled_again import Afterwards, is_play

SQL = queries("replay")
STEPS_MAX = 1_000
IN_WALLETS = "what the match gave its players came to their wallets"


class Step(Struct, frozen=True):
    """One event, the table as the viewer saw it then, and the money it moved. `hash` is its link in the log's chain.

    `sent` is the body of the command as it was sent, where it was the viewer's own, or an auditor looks on who has
    opened what is sealed. `frame`, if it is asked for, is what this viewer was sent of the event live, byte for byte.
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
    sent: str | None = None
    frame: str | None = None


class Replay(Struct, frozen=True):
    """Of a round, or of a match: then `round` is its id, and `totals` are the entries and what was given of them."""

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
    explained: tuple[str, ...]
    """In plain English: how the round came out, then each payout that the viewer may see, at most as many as steps."""
    steps_in_all: int
    steps: tuple[Step, ...]
    viewer: Viewer
    """As whom it is seen."""
    view_number: int
    """Of views and frames: a frame of the same number is equal byte for byte."""
    opening: int | None
    """The position of the event that opened the round. What is sealed of its cards is opened there."""

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
    frames: bool = False,
) -> Replay | None:
    """The round or match, with at most `limit` steps after number `after`; None if the log knows none of this name."""
    playing: _Playing | None = None
    rows = of_match(pool, operator, round_id) if is_match(round_id) else eventlog.of_round(pool, operator, round_id)
    async for row in rows:
        if playing is None:
            game = GAMES.get(row.type.partition(".")[0])
            if game is None:
                return None  # the round's opening is its first event, so this is no round
            table = await table_at(pool, operator, game, row.stream, row.version - 1)
            playing = _Playing(game, round_id, viewer, open_seed, table, range(after + 1, after + limit + 1), frames)
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
    playing = _Playing(game, round_id, Viewer("", Role.AUDITOR), no_open, game.initial, range(0), frames=False)
    for row in rows:
        playing.play(row)
    return playing.ended(operator)


class _Playing:
    """A round on its way: the table's state, every bettor's open bets or chips, and what is proved so far."""

    def __init__(
        self,
        game: Game[Any, Any, Any],
        round_id: str,
        viewer: Viewer,
        open_seed: Open,
        table: Any,
        window: range,
        frames: bool,
    ) -> None:
        self._game = game
        self._round = round_id
        self._match = round_id if is_match(round_id) else None
        """Whose money is told of: that of a match is not in its rounds."""
        self._over = False
        self._viewer = viewer
        self._sight = Sight(game, table_of(round_id), viewer, open_seed)
        self._scene = Scene(0, table, 0, None, 0)
        """What the viewer saw: the table with what it was before the round, of which the proofs know nothing."""
        self._window = window
        self._frames = frames
        self._opening: int | None = None
        self._story: list[Any] = []
        self._bets = defaultdict[str, list[Bet]](list)
        self._seats: dict[str, str] = {}
        """Whose chips came from a spot, as the opening names them."""
        self._seated: set[str] = set()
        """Players whose chips are still in."""
        self._owed: dict[str, Amount] = {}
        """What the match gave, until a wallet tells of it."""
        self._staked = defaultdict[str, Amount](int)
        self._returned: Amount = 0
        self._payouts: list[tuple[str, Payout]] = []
        """Those that the viewer may see."""
        self._proofs = Proofs()
        self._afterwards = Afterwards(round_id, viewer)
        self._steps: list[Step] = []
        self.prove = self._proofs.prove
        self.state = game.initial
        self._number = self.version = 0

    def play(self, row: EventRow) -> None:
        event, told = row.event, None
        self._afterwards.take(row)
        if row.stream in self._sight.streams and is_play(row):
            self._scene, told = self._sight.after(self._scene, row)
        if not is_play(row):
            shown = event if self._afterwards.sees(row) else None
        elif row.stream.startswith(WALLET):
            self._wallet(row.stream.removeprefix(WALLET), event)
            shown = event if self._sees_wallet(row.stream.removeprefix(WALLET)) else None
        else:
            self._table(row, event)
            shown = told if self._tells(row, event) else None
        if shown is None:
            return
        self._number += 1
        if self._number in self._window:
            self._steps.append(self._step(row, shown, told))

    def ended(self, operator: str) -> Replay:
        for player in self._owed:
            self.prove(IN_WALLETS, player, holds=False)
        explained = (*self._explained(), *self._afterwards.told(self.prove))
        return Replay(
            round=self._round,
            table=table_of(self._round),
            game=self._game.name,
            title=self._game.title,
            ended=self._over if self._match is not None else self._game.round(self.state) != self._round,
            totals=self._totals(),
            proofs=self._proofs.all(named=self._viewer.role not in (Role.PLAYER, Role.STUDIO)),
            fairness=self._fairness(operator),
            explained=explained,
            steps_in_all=self._number,
            steps=tuple(self._steps),
            viewer=self._viewer,
            view_number=self._game.view_number,
            opening=self._opening,
        )

    def _tells(self, row: EventRow, event: Any) -> bool:
        """Whether the event is a step: of a round every one is."""
        return self._match is None or row.round is None or getattr(event, "match", None) == self._match

    def _fairness(self, operator: str) -> Any:
        reveals = self._game.reveals if self._match is None else self._game.reveals_match
        return reveals(operator, self._story) if reveals is not None else None

    def _explained(self) -> tuple[str, ...]:
        what, game = "the round and its payouts can be explained from the events", self._game
        told: list[str] = []
        if self._match is not None:
            return ()  # its hands are explained in their own replays
        try:
            told += game.explains_round(self._story)
            told += (game.explains_payout(self._story, *each) for each in self._payouts[: len(self._window)])
            self.prove(what, self._round, True)
        except Unexplained as fault:
            told.append(f"Contradicted: {fault}")
            self.prove(what, self._round, False)
        return tuple(told)

    def _sees_wallet(self, player: str) -> bool:
        if self._viewer.role is Role.PLAYER:
            return self._viewer.actor == player
        return self._viewer.role is not Role.STUDIO

    def _step(self, row: EventRow, shown: Any, told: Any) -> Step:
        frame = self._sight.frame(self._scene, row, shown)
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
            view=frame.view,
            money=movement(row) if row.stream.startswith(WALLET) else None,
            hash=row.hash.hex(),
            frame=encode(frame).decode() if self._frames and told is not None else None,
        )

    def _table(self, row: EventRow, event: Any) -> None:
        self.version = row.version
        before = self._game.holdings(self.state) if self._begun else None
        self.state = self._game.evolve(self.state, event)
        self._chips(row, before)
        self._story.append(event)
        if isinstance(event, self._game.opening):
            self._opening = row.position
        if said := _books(event):
            totals = self._totals()
            said_right = said == (totals.bettors, totals.staked, totals.returned)
            self.prove("the closed books say what the bettors' events add up to", row.type, said_right)

    @property
    def _begun(self) -> bool:
        """A match may have been opened before: the round's own opening tells all that the table was."""
        return self.state != self._game.initial

    def _chips(self, row: EventRow, before: Amount | None) -> None:
        """What moved at a table that holds chips, `before` the event in all. What a match takes and gives is in its own
        books, and not in those of its rounds."""
        told, rake, after = self._game.chips(row.event), self._game.rake(row.event), self._game.holdings(self.state)
        if before is not None and (before or after):
            brought = sum(each.amount for each in told if isinstance(each, Brought))
            same = after == before + brought - rake
            self.prove("chips are only moved, but for those brought, taken away and raked", row.type, same)
        self._payouts += ((each.player, each.payout) for each in told if isinstance(each, PaidOut))
        if match_of(row) != self._match:
            return
        for each in told:
            if isinstance(each, PaidIn):
                player = self._seats[each.spot] = each.player or self._seats.get(each.spot, "")
                self._seated.add(player)
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
        self._seated.clear()
        if self._match is not None:
            self._over = True
            self._owed = {each.player: each.payout.returned for each in ended if each.payout.returned}

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
            case wallet.CashedOut(amount=amount):
                self.prove(IN_WALLETS, player, self._owed.pop(player, 0) == amount)
            case _:
                pass

    def _settled(self, player: str, event: wallet.BetsSettled, bets: tuple[Bet, ...]) -> None:
        self._returned += event.returned
        self._payouts += ((player, each) for each in event.payouts if self._sees_wallet(player))
        outcome: Outcome | None = self._game.result(self.state)
        payouts = self._game.returns(outcome, bets) if outcome is not None else ()
        same = payouts == event.payouts and sum(payout.returned for payout in payouts) == event.returned
        self.prove("every payout is what the game returns for its bet", player, same)

    def _refunded(self, player: str, amount: Amount, bets: tuple[Bet, ...]) -> None:
        self._returned += amount
        outcome = self._game.result(self.state)
        if isinstance(outcome, Cancelled) and self._sees_wallet(player):
            self._payouts += ((player, each) for each in self._game.returns(outcome, bets))
        whole = isinstance(outcome, Cancelled) and amount == sum(bet.amount for bet in bets)
        self.prove("every refund is the whole open stake of a cancelled round", player, whole)

    def _totals(self) -> RoundTotals:
        staked = [amount for amount in self._staked.values() if amount]
        still_open = sum(1 for bets in self._bets.values() if bets) + len(self._seated)
        return RoundTotals(len(staked), sum(staked), self._returned, still_open)


def _books(event: Any) -> tuple[int, Amount, Amount] | None:
    """What an event that closes a round's books says; None for every other event."""
    try:
        return event.bettors, event.staked, event.returned
    except AttributeError:
        return None

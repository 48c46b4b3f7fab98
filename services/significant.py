"""Significant events: of all that the log holds, what a regulator wants to look at: who changed, overrode, voided,
opened or adjusted something, who allowed it and why, what it was before and after; and large wins and wagers.

Told from the log itself, in its order. One reading goes over a bounded stretch of positions and tells how far it came.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from domain import disputes, house, incidents, proposals, resettlements, selfcheck, watch
from domain.auditing import SealOpened
from domain.game import Micros, PaidOut, TableFaulted
from domain.games import GAMES
from domain.money import Amount
from domain.wallet import events as wallet
from infra import codec, eventlog
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.sql import queries
from services.projections.audit import shown

SQL = queries("significant")
STRETCH = 20_000
"""Positions that one reading goes over at most."""


class SignificantKind(StrEnum):
    KEY_MINTED = "key_minted"
    KEY_ROTATED = "key_rotated"
    KEY_REVOKED = "key_revoked"
    KEY_USED = "key_used"
    TURNED_AWAY = "turned_away"
    CONFIG_CHANGED = "config_changed"
    TABLE_OPENED = "table_opened"
    TABLE_DRAINING = "table_draining"
    TABLE_REOPENED = "table_reopened"
    TABLE_CLOSED = "table_closed"
    TABLE_FAULTED = "table_faulted"
    PAUSED = "paused"
    RESUMED = "resumed"
    HELD_UP = "held_up"
    VOIDED = "voided"
    RESCANNED = "rescanned"
    INCIDENT_REPORTED = "incident_reported"
    INCIDENT_RESOLVED = "incident_resolved"
    SEAL_OPENED = "seal_opened"
    ADJUSTED = "adjusted"
    RESETTLED = "resettled"
    RESETTLEMENT_COMPLETED = "resettlement_completed"
    WRITTEN_OFF = "written_off"
    PROPOSED = "proposed"
    PROPOSAL_DECLINED = "proposal_declined"
    PROPOSAL_WITHDRAWN = "proposal_withdrawn"
    PROPOSAL_EXPIRED = "proposal_expired"
    DISPUTE_OPENED = "dispute_opened"
    DISPUTE_OVERDUE = "dispute_overdue"
    DISPUTE_DECIDED = "dispute_decided"
    DISPUTE_WITHDRAWN = "dispute_withdrawn"
    PLAYER_BLOCKED = "player_blocked"
    PLAYER_UNBLOCKED = "player_unblocked"
    LOG_RESUMED = "log_resumed"
    BOOKS_DIFFERED = "books_differed"
    SELF_CHECK_FAILED = "self_check_failed"
    MANIFEST_ACCEPTED = "manifest_accepted"
    LARGE_WIN = "large_win"
    LARGE_WAGER = "large_wager"


AT_TABLES = {
    "TableConfigured": SignificantKind.CONFIG_CHANGED,
    "TableOpened": SignificantKind.TABLE_OPENED,
    "TableDraining": SignificantKind.TABLE_DRAINING,
    "TableReopened": SignificantKind.TABLE_REOPENED,
    "TableClosed": SignificantKind.TABLE_CLOSED,
    "RoundPaused": SignificantKind.PAUSED,
    "RoundResumed": SignificantKind.RESUMED,
    "DeadlineExtended": SignificantKind.HELD_UP,
    "RoundCancelled": SignificantKind.VOIDED,
    "MatchRefunded": SignificantKind.VOIDED,
    "RescanOrdered": SignificantKind.RESCANNED,
}
"""What games call their events by. `held_up` is downtime: a deadline passed while nothing ran."""

_ELSEWHERE: dict[type, SignificantKind] = {
    house.KeyMinted: SignificantKind.KEY_MINTED,
    house.KeyRevoked: SignificantKind.KEY_REVOKED,
    house.LogResumed: SignificantKind.LOG_RESUMED,
    watch.KeyUsed: SignificantKind.KEY_USED,
    watch.TurnedAway: SignificantKind.TURNED_AWAY,
    watch.BooksDiffered: SignificantKind.BOOKS_DIFFERED,
    selfcheck.SelfChecked: SignificantKind.SELF_CHECK_FAILED,
    selfcheck.ManifestAccepted: SignificantKind.MANIFEST_ACCEPTED,
    wallet.Adjusted: SignificantKind.ADJUSTED,
    incidents.Reported: SignificantKind.INCIDENT_REPORTED,
    incidents.Resolved: SignificantKind.INCIDENT_RESOLVED,
    resettlements.Opened: SignificantKind.RESETTLED,
    resettlements.Completed: SignificantKind.RESETTLEMENT_COMPLETED,
    wallet.WrittenOff: SignificantKind.WRITTEN_OFF,
    proposals.Proposed: SignificantKind.PROPOSED,
    proposals.Declined: SignificantKind.PROPOSAL_DECLINED,
    proposals.Withdrawn: SignificantKind.PROPOSAL_WITHDRAWN,
    proposals.Expired: SignificantKind.PROPOSAL_EXPIRED,
    disputes.DisputeOpened: SignificantKind.DISPUTE_OPENED,
    disputes.DisputeOverdue: SignificantKind.DISPUTE_OVERDUE,
    disputes.DisputeDecided: SignificantKind.DISPUTE_DECIDED,
    disputes.DisputeWithdrawn: SignificantKind.DISPUTE_WITHDRAWN,
    wallet.Blocked: SignificantKind.PLAYER_BLOCKED,
    wallet.Unblocked: SignificantKind.PLAYER_UNBLOCKED,
    SealOpened: SignificantKind.SEAL_OPENED,
    TableFaulted: SignificantKind.TABLE_FAULTED,
}
_TYPES = frozenset(codec.type_of(event) for event in codec.event_types())
KINDS: dict[str, SignificantKind] = {
    **{codec.type_of(event): kind for event, kind in _ELSEWHERE.items()},
    **{of: kind for game in GAMES for name, kind in AT_TABLES.items() if (of := f"{game}.{name}") in _TYPES},
}
"""By type of event; those with amounts are looked at besides."""

ENDS = ("RoundSettled", "MatchSettled")
"""Where players hold chips, these say what each of them put in and won."""


class Thresholds(Struct, frozen=True):
    """From which amount on, in minor units of whatever currency, a win (what came back) or a wager is large. None: no
    such event is told."""

    win: Amount | None = None
    wager: Amount | None = None


class Significant(Struct, frozen=True):
    """`component` is the stream where it happened. `authoriser` allowed what `actor` proposed, or cancelled what he
    paused, where it took two; the role is that of whoever came last.
    `before` and `after` are what was changed, `told` is what else the event says, as everybody may see it."""

    position: int
    at: Micros
    kind: SignificantKind
    component: str
    actor: str
    role: str
    authoriser: str | None
    reason: str | None
    before: Any
    after: Any
    round: str | None
    player: str | None
    amount: Amount | None
    told: dict[str, Any]


class SignificantPage(Struct, frozen=True):
    """What was found, in the order of the log. All of it up to `reached` is told; `tip` is where the log stood."""

    found: tuple[Significant, ...]
    reached: int
    tip: int


async def page(
    pool: Pool, operator: str, after: int, limit: int, large: Thresholds, kind: SignificantKind | None = None
) -> SignificantPage:
    """One stretch of the log, or the part of it in which `limit` such events lie."""
    tip = await eventlog.tip(pool, operator)
    end = tip.position if tip else 0
    until = min(end, after + STRETCH)
    large = Thresholds(
        large.win if kind in (None, SignificantKind.LARGE_WIN) else None,
        large.wager if kind in (None, SignificantKind.LARGE_WAGER) else None,
    )
    ends = [] if large == Thresholds() else [f"{game}.{name}" for game in GAMES for name in ENDS]
    asked = (operator, after, until, _types(kind), ends, large.win, large.wager, limit)
    records = await pool.fetch(SQL["between"], *asked)
    rows = [eventlog.row_of(record) for record in records]
    found = [each for row in rows for each in await _of_row(pool, operator, row, large) if kind in (None, each.kind)]
    reached = rows[-1].position if len(rows) == limit else until
    return SignificantPage(tuple(found), max(after, reached), end)


async def position_at(pool: Pool, operator: str, moment: Micros) -> int:
    """The last position before a moment: times never go back in a log, so halving finds it."""
    tip = await eventlog.tip(pool, operator)
    low, high = 0, tip.position if tip else 0
    while low < high:
        middle = (low + high + 1) // 2
        if await pool.fetchval(SQL["at"], operator, middle) < moment:
            low = middle
        else:
            high = middle - 1
    return low


def _types(kind: SignificantKind | None) -> list[str]:
    """The types of events that may be of this kind, or of any."""
    of_kind = SignificantKind.KEY_MINTED if kind is SignificantKind.KEY_ROTATED else kind
    return [name for name, each in KINDS.items() if of_kind in (None, each)]


async def _of_row(pool: Pool, operator: str, row: EventRow, large: Thresholds) -> list[Significant]:
    event = row.event
    amounts = [_entry(row, kind, player, amount) for kind, player, amount in _large(row, event, large)]
    kind = KINDS.get(row.type)
    if amounts or kind is None:
        return amounts
    if kind is SignificantKind.CONFIG_CHANGED:
        return [_entry(row, kind, before=await _config_before(pool, operator, row), after=_plain(event.config))]
    if isinstance(event, house.KeyMinted) and event.actor:
        return [_entry(row, SignificantKind.KEY_ROTATED)]
    return [_entry(row, kind)]


def _entry(
    row: EventRow,
    kind: SignificantKind,
    player: str | None = None,
    amount: Amount | None = None,
    *,
    before: Any = None,
    after: Any = None,
) -> Significant:
    event = row.event
    told = shown(row.type, event)
    reason = next((told.pop(name) for name in ("reason", "why", "words") if told.get(name)), None)
    reason = reason or told.get("asked", {}).get("reason")
    if before is None and after is None:
        before, after = _changed(event)
    first = event.by if getattr(event, "proposal", "") and isinstance(event, incidents.Resolved) else ""
    first = first or getattr(event, "proposed_by", "") or getattr(event, "paused_by", "")  # the second sent the command
    actor, authoriser = (first, row.actor) if first else (row.actor, None)
    whose = (row.position, row.at, kind, row.stream, actor, row.role, authoriser, reason)
    owner = player or (row.stream.removeprefix("wallet:") if row.stream.startswith("wallet:") else None)
    round_id = row.round or getattr(event, "round", None)  # an opening is in no round, but of one
    return Significant(*whose, before, after, round_id, owner, amount, told)


def _changed(event: Any) -> tuple[Any, Any]:
    match event:
        case wallet.Blocked() | wallet.Unblocked():
            blocked = isinstance(event, wallet.Blocked)
            return {"blocked": not blocked}, {"blocked": blocked}
        case wallet.WrittenOff():
            return {"owed": event.owed + event.amount}, {"owed": event.owed}
        case selfcheck.SelfChecked():
            return event.expected, event.found
        case selfcheck.ManifestAccepted():
            return event.before, event.expected
        case _:
            return getattr(event, "before", None), getattr(event, "after", None)


def _large(row: EventRow, event: Any, large: Thresholds) -> Iterator[tuple[SignificantKind, str | None, Amount]]:
    match event:
        case wallet.BetsSettled():
            outcomes: Sequence[tuple[str | None, Amount, Amount]] = [(None, 0, event.returned)]
        case wallet.BetStaked():
            outcomes = [(None, event.amount, 0)]
        case _:
            game = GAMES.get(row.type.partition(".")[0])
            chips = game.chips(event) if game and row.type.endswith(ENDS) else ()
            ended = [each for each in chips if isinstance(each, PaidOut)]
            outcomes = [(each.player, each.payout.staked, each.payout.returned) for each in ended]
    for player, staked, returned in outcomes:
        if large.win is not None and returned >= large.win:
            yield SignificantKind.LARGE_WIN, player, returned
        if large.wager is not None and staked >= large.wager:
            yield SignificantKind.LARGE_WAGER, player, staked


async def _config_before(pool: Pool, operator: str, row: EventRow) -> Any:
    """As the table's last round, opening or change before had it: a round's opening carries its config."""
    data = await pool.fetchval(SQL["config_before"], operator, row.stream, row.version)
    return msgspec.json.decode(data) if data is not None else None


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)

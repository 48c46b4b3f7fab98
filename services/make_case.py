"""Making a dispute's case file from the log, the notary's tree, and the dossier of its round."""

from collections.abc import Sequence

from msgspec import Raw, Struct

from domain.disputes import DisputeDecided, DisputeOpened
from domain.game import Role, Viewer
from domain.names import DISPUTE, REFUSED, WALLET
from infra import eventlog
from infra.eventlog import EventRow
from infra.postgres import Pool
from infra.vault import SEALED
from services import dossier, make_dossier, tree
from services.case_file import CaseFile, CaseForm
from services.disputes import SQL
from services.dossier import Dossier, Proved, Sent
from services.make_dossier import Story

_OPERATOR = Viewer("", Role.OPERATOR)


class Case(Struct, frozen=True):
    """A dispute as the log has it now."""

    operator: str
    dispute: str
    opened: DisputeOpened
    rows: tuple[EventRow, ...]

    @property
    def names(self) -> list[tuple[str, str]]:
        """The commands that it came of."""
        return [(row.actor, row.command) for row in self.rows if row.command is not None]


async def case(pool: Pool, operator: str, dispute: str) -> Case | None:
    """None if the log knows no such dispute."""
    rows = [row async for row in eventlog.of_stream(pool, operator, DISPUTE + dispute)]
    return Case(operator, dispute, rows[0].event, tuple(rows)) if rows else None


async def make(pool: Pool, of: Case, told: Story, form: CaseForm) -> CaseFile:
    """`told` is the story of its round. Raises NotSigned when the notary does not come to it."""
    opened, operator = of.opened, of.operator
    viewer = _OPERATOR if form == "operator" else Viewer(opened.player, Role.PLAYER)
    within = await make_dossier.make(pool, told, form, viewer)
    refused = await _refused_outside(pool, of, within)
    rows = [*of.rows, *await _paid(pool, of), *refused]
    if form == "operator":
        rows += await _proposals(pool, of)
    rows.sort(key=lambda row: row.position)
    size, note = await make_dossier.signed(pool, operator, rows[-1].position)
    paths = await tree.inclusions(pool, operator, [row.position for row in rows], size)
    return CaseFile(
        operator=operator,
        dispute=of.dispute,
        form=form,
        player=opened.player,
        round=opened.round,
        bet=opened.bet,
        note=note,
        events=tuple(_proved(row, paths[row.position][1]) for row in rows),
        commands=await _commands(pool, of, within, rows, refused),
        replay=f"/v1/rounds/{opened.round}/replay",
        dossier=Raw(dossier.write(within)),
    )


def _proved(row: EventRow, path: Sequence[bytes]) -> Proved:
    return Proved(row.position, tuple(each.hex() for each in path), make_dossier.entry(row))


async def _paid(pool: Pool, of: Case) -> list[EventRow]:
    """The correction follows its ruling in the log."""
    decided = of.rows[-1]
    if not (isinstance(decided.event, DisputeDecided) and decided.event.amount):
        return []
    next_one = await pool.fetch(eventlog.SQL["events_between"], of.operator, decided.position + 1, decided.position + 1)
    paid = [eventlog.row_of(record) for record in next_one]
    assert [row.stream for row in paid] == [WALLET + of.opened.player]
    return paid


async def _proposals(pool: Pool, of: Case) -> list[EventRow]:
    about = (of.operator, of.opened.round, of.rows[0].position, of.dispute)
    streams = [record["stream"] for record in await pool.fetch(SQL["proposed"], *about)]
    return [row for stream in streams async for row in eventlog.of_stream(pool, of.operator, stream)]


async def _refused_outside(pool: Pool, of: Case, within: Dossier) -> list[EventRow]:
    """The record of the disputed command's refusal, where it came when the round was not on."""
    sent = await pool.fetchrow(eventlog.SQL["command"], of.operator, of.opened.player, of.opened.bet)
    if sent is None or sent["first"] is None or sent["first"] in {each.position for each in within.events}:
        return []
    found = await pool.fetch(eventlog.SQL["events_between"], of.operator, sent["first"], sent["first"])
    rows = [eventlog.row_of(record) for record in found]
    return [row for row in rows if row.stream == REFUSED + of.opened.player]


async def _commands(
    pool: Pool, of: Case, within: Dossier, rows: Sequence[EventRow], refused: Sequence[EventRow]
) -> tuple[Sent, ...]:
    """Those of the dispute without what was said, which the events have."""
    of_round = [each for each in within.commands if each.actor == of.opened.player]
    outside = [(row.actor, row.command) for row in refused if row.command is not None]
    own = [*outside, *{(row.actor, row.command): None for row in rows if row.command is not None}]
    late = await make_dossier.sent(pool, of.operator, outside, _unless_sealed)
    said = await make_dossier.sent(pool, of.operator, [name for name in own if name not in outside], _nothing)
    return tuple(sorted((*of_round, *late, *said), key=lambda each: (each.first, each.actor, each.key)))


def _unless_sealed(body: str) -> str | None:
    return None if body.startswith(SEALED) else body


def _nothing(_body: str) -> None:
    return None

"""All rounds of a house in memory, decided again from their own events."""

import json
from functools import partial

from domain.names import REFUSED
from infra.eventlog import EventRow
from services.redecide import redecide
from services.resettled_again import is_play
from tests.domain.pocket_house import OPERATOR, PocketHouse


def check_decided_again(house: PocketHouse, sent: dict[tuple[str, str], str]) -> int:
    """Each round's commands, accepted and refused, from its own events alone; returns how many."""
    commands = 0
    for round_id in {row.round for row in house.rows if row.round and not row.round.endswith(".77")}:
        own = [row for row in house.rows if row.round == round_id]
        played = [row for row in own if is_play(row)]
        rows = [row for row in house.rows if row.round == round_id or _is_refusal(row, played)]
        again = redecide(OPERATOR, round_id, rows, sent, partial(house.vault.open, OPERATOR))
        assert again.differences == ()
        assert again.left <= sum(row.round is None for row in rows)
        commands += again.commands
    return commands


def _is_refusal(row: EventRow, own: list[EventRow]) -> bool:
    """Of the table, while the round was on; of wallets only while it was."""
    if not row.stream.startswith(REFUSED) or not own[0].position < row.position < own[-1].position:
        return False
    return json.loads(row.data)["stream"] == own[0].stream

"""What players gained when a settled round was settled once more: a row each time, beside the rows of the round and of
its bettors, which stay as they were settled. It is kept with them, under the same checkpoint.
"""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from domain.game import Micros
from domain.money import Amount, Payout
from domain.names import WALLET
from infra import columns
from infra.eventlog import EventRow
from infra.postgres import Connection, Pool
from infra.sql import queries
from services.projections.projection import Place

SQL = queries("resettled")

W = TypeVar("W")
"""A wager, as rows have it or as readers are told."""
TYPE = "wallet.Resettled"

_encode = msgspec.json.Encoder().encode
_payouts = msgspec.json.Decoder(tuple[Payout, ...])


class GainOf(Struct, Generic[W], frozen=True):
    """What one resettlement of a round was to one player."""

    position: int
    round: str
    number: int
    player: str
    gain: Amount
    payouts: tuple[W, ...]
    at: Micros


class Gain(GainOf[Payout], frozen=True):
    """As the log has it."""


def resettled(row: EventRow) -> Gain:
    event, player = row.event, row.stream.removeprefix(WALLET)
    return Gain(row.position, event.round, event.number, player, event.gain, event.payouts, row.at)


def of_rows(rows: Sequence[EventRow]) -> list[Gain]:
    return [resettled(row) for row in rows if row.type == TYPE]


async def apply(connection: Connection, place: Place, rows: Sequence[EventRow]) -> None:
    if found := of_rows(rows):
        await connection.execute(
            SQL["apply"],
            place.operator,
            place.generation,
            columns.numbers([each.position for each in found]),
            columns.texts([each.round for each in found]),
            columns.numbers([each.number for each in found]),
            columns.texts([each.player for each in found]),
            columns.numbers([each.gain for each in found]),
            columns.texts([_encode(each.payouts).decode() for each in found]),
            columns.numbers([each.at for each in found]),
        )


def row_of(record: Any) -> Gain:
    position, round_id, number, player, gain, payouts, at = record
    return Gain(position, round_id, number, player, gain, _payouts.decode(payouts), at)


async def of_round(pool: Pool, operator: str, round_id: str, players: Sequence[str]) -> list[Gain]:
    """Of these players, by name and number."""
    return [row_of(record) for record in await pool.fetch(SQL["of_round"], operator, round_id, players)]


async def of_player(pool: Pool, operator: str, player: str, rounds: Sequence[str]) -> list[Gain]:
    """Of these rounds, in the order in which it came."""
    return [row_of(record) for record in await pool.fetch(SQL["of_player"], operator, rounds, player)]


async def among(pool: Pool, operator: str, rounds: Sequence[str]) -> list[str]:
    """Which of these rounds were settled once more."""
    return [record["round"] for record in await pool.fetch(SQL["among"], operator, rounds)]

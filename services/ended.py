"""A round or match that is over, as the events of its table tell it: what opened it, how it came out, how it ended."""

from collections.abc import Iterable

from domain.game import Ended
from domain.games import GAMES
from infra.eventlog import SQL, EventRow
from services.projections.rounds import is_match

_ENDS = ("RoundSettled", "RoundRefunded", "RoundSkipped", "MatchSettled", "MatchRefunded")


def query_of(round_id: str) -> str:
    """The name of the query that finds these events: by operator, round and the table's stream."""
    return "ended_match" if is_match(round_id) else "ended"


QUERIES = {name: SQL[name] for name in ("ended", "ended_match")}


def ended_of(rows: Iterable[EventRow]) -> Ended | None:
    """None as long as the round is on, or where there is none."""
    opened = resulted = None
    for row in rows:
        game, _, name = row.type.partition(".")
        if game not in GAMES:
            continue
        if name in ("RoundOpened", "MatchOpened"):
            opened = row.event
        elif name == "RoundResulted":
            resulted = row.event
        elif name in _ENDS and opened is not None:
            return Ended(game, opened, resulted, row.event)
    return None

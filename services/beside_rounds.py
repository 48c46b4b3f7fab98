"""Incidents of a round, which are about it and no part of it: the commands they came of, and their streams as the
round's own events fold them.
"""

from typing import Any

from domain import incidents
from domain.decider import Stream
from domain.streams import KINDS
from infra.eventlog import EventRow
from services import as_sent

_COMMANDS: dict[type, type] = {
    incidents.Reported: incidents.ReportIncident,
    incidents.Noted: incidents.AddNote,
    incidents.Resolved: incidents.ResolveIncident,
}
"""By the first event that a command gave."""


def command_of(row: EventRow, text: str) -> Any:
    """The command that gave the event, from its body as it was sent. Raises MsgspecError, and KeyError where a body
    alone does not tell."""
    event = row.event
    if isinstance(event, incidents.Resolved) and event.proposal:  # whoever approved said yes, and no more
        return incidents.ResolveByProposal(event.resolution, row.round or "", event.words, event.by, event.proposal)
    return as_sent.read(text, _COMMANDS[type(event)])


class Beside:
    """Such streams, each from its beginning: all that they tell is about one round."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}

    def known(self, stream: str) -> Stream:
        kind = KINDS[stream.partition(":")[0]]
        return self._streams.get(stream) or Stream(kind.name, 0, kind.initial)

    def take(self, row: EventRow) -> None:
        before = self.known(row.stream)
        state = KINDS[before.decider].evolve(before.state, row.event)
        self._streams[row.stream] = Stream(before.decider, row.version, state)

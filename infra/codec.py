"""How events and states become stored text and come back, for as long as the log is kept.

New fields of an event get defaults. A real change is a new `schema` number of its type here and an upcaster for the
old one, keyed by (type, schema), that turns the stored JSON object into the new shape before it is decoded.
"""

import operator
from collections.abc import Callable, Iterator
from typing import Any, Union, cast

import msgspec

from domain.games import GAMES
from domain.streams import KINDS

SCHEMAS: dict[str, int] = {}
"""Types of events whose shape has changed, with their number now. All others are 1."""

UPCASTERS: dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From (type, schema) to the next schema of that type."""

STATE_SCHEMA = 2
"""The shape of folded states in `streams`. Raise it when a state changes shape: older rows are folded anew."""

_encoder = msgspec.json.Encoder()
_unions: list[Any] = [kind.events for kind in KINDS.values()]
_events: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Union[(*_unions,)])
_states: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(kind.states) for name, kind in KINDS.items()
}


_config: Callable[[Any], Any] = operator.attrgetter("__struct_config__")


class NewerEvent(Exception):
    """An event was written by a newer version of this program than this one."""


def encode(value: Any) -> str:
    """JSON text of an event, a state, an outcome."""
    return _encoder.encode(value).decode()


def type_of(event: Any) -> str:
    """The event's wire name, as "wallet.BetStaked"."""
    return _config(event).tag


def schema_of(type_name: str) -> int:
    return SCHEMAS.get(type_name, 1)


def decode_event(type_name: str, schema: int, data: str) -> Any:
    """The event, lifted from an older schema where needed.

    Raises ValidationError on what is no event of ours, and NewerEvent.
    """
    now = SCHEMAS.get(type_name, 1)
    if schema == now:
        return _of_type.get(type_name, _events).decode(data)
    if schema > now:
        raise NewerEvent(f"{type_name} has schema {schema}, and this program knows {now}: run a newer one")
    fields = msgspec.json.decode(data, type=dict[str, Any])
    for old in range(schema, now):
        fields = UPCASTERS[type_name, old](fields)
    return _events.decode(_encoder.encode(fields))


def decode_state(decider: str, state: str) -> Any:
    return _states[decider].decode(state)


def initial(decider: str) -> Any:
    """The state of a stream before its first event."""
    return KINDS[decider].initial


def evolve(decider: str) -> Callable[[Any, Any], Any]:
    return KINDS[decider].evolve


def opening(decider: str) -> str | None:
    """The type of event that a stream of this kind can be folded from, besides its first; None if there is none."""
    game = GAMES.get(decider)
    return _config(game.opening).tag if game else None


def parts(value: Any, kind: type[Any]) -> Iterator[Any]:
    """All parts of an event that are of a kind."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from parts(getattr(value, name), kind)
    elif isinstance(value, tuple):
        for each in cast("tuple[Any, ...]", value):
            yield from parts(each, kind)


def event_types() -> list[type]:
    """Every type of event that the log may hold, for the tests that keep them decodable."""
    return [event for union in _unions for event in getattr(union, "__args__", (union,))]


_of_type: dict[str, msgspec.json.Decoder[Any]] = {type_of(kind): msgspec.json.Decoder(kind) for kind in event_types()}
"""By wire name: what is known to be of one type is decoded a third quicker than what must first be told from all."""

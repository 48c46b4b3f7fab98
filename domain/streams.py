"""The kinds of streams: for each, what it holds, how it is folded and decided, and when the clock has work there.

A new kind is a page that says so and one line in `KINDS`. Of the tables' streams each game is a kind.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from domain import auditing, disputes, docket, house, incidents, proposals, refused, resettlements, watch
from domain.game import Context, Decision, Game, Micros
from domain.games import GAMES
from domain.names import TABLE
from domain.wallet import decide as wallet_decide
from domain.wallet import evolve as wallet_evolve
from domain.wallet import views as wallet_views
from domain.wallet.events import Event as WalletEvent
from domain.wallet.state import State as WalletState


def _stays(state: Any, _event: Any) -> Any:
    return state


def _none(*_: Any) -> None:
    return None


class Kind(Struct, frozen=True):
    """`name` is what its events' names begin with, as in `wallet.Opened`, and its streams', as in `wallet:ann`."""

    name: str
    events: Any
    states: Any
    initial: Any
    evolve: Callable[[Any, Any], Any] = _stays
    decide: Callable[[Any, Any, Context], Decision] | None = None
    """None where nothing is asked of such a stream by its name alone: of tables, and of refusals."""
    round: Callable[[Any, Any], str | None] = _none
    """The round that an event is about, if it is about one, given the state after it."""
    deadline: Callable[[Any], Micros | None] = _none
    """When the clock has work: the next `TimeOut`. What is a case, and open, always has one: lists find it by that."""


def _of_game(game: Game[Any, Any, Any]) -> Kind:
    return Kind(game.name, game.events, game.states, game.initial, game.evolve, deadline=game.deadline)


_WALLET = Kind(
    "wallet",
    WalletEvent,
    WalletState,
    wallet_evolve.INITIAL,
    wallet_evolve.evolve,
    lambda state, command, _context: Decision(wallet_decide.decide(state, command)),
    lambda _state, event: wallet_views.round_of(event),
)
_HOUSE = Kind(
    "house",
    house.Event,
    house.House,
    house.INITIAL,
    house.evolve,
    lambda state, command, context: Decision(house.decide(state, command, context.now)),
)
_REFUSED = Kind("refused", refused.CommandRefused, refused.Refusals, refused.INITIAL)
_AUDIT = Kind(
    "audit",
    auditing.SealOpened,
    auditing.Openings,
    auditing.INITIAL,
    decide=lambda _state, command, _context: Decision((auditing.decide(command),)),
)
_PROPOSAL = Kind(
    "proposal",
    proposals.Event,
    proposals.State,
    proposals.INITIAL,
    proposals.evolve,
    proposals.decide,
    lambda state, _event: proposals.round_of(state),
    proposals.deadline,
)
_RESETTLEMENT = Kind(
    "resettlement",
    resettlements.Event,
    resettlements.State,
    resettlements.INITIAL,
    resettlements.evolve,
    resettlements.decide,
    lambda _state, event: event.round,
    resettlements.deadline,
)
_INCIDENT = Kind(
    "incident",
    incidents.Event,
    incidents.State,
    incidents.INITIAL,
    incidents.evolve,
    incidents.decide,
    lambda state, _event: incidents.round_of(state),
    incidents.deadline,
)
_WATCH = Kind("watch", watch.Event, watch.Watched, watch.INITIAL, watch.evolve, watch.decide)

_DISPUTE = Kind(
    "dispute",
    disputes.Event,
    disputes.State,
    disputes.INITIAL,
    disputes.evolve,
    disputes.decide,
    lambda state, _event: disputes.round_of(state),
    disputes.deadline,
)
_DOCKET = Kind(
    "docket",
    docket.Event,
    docket.Docket,
    docket.INITIAL,
    docket.evolve,
    lambda state, command, _context: Decision(docket.decide(state, command)),
)

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        _WALLET,
        _HOUSE,
        _REFUSED,
        _AUDIT,
        _PROPOSAL,
        _RESETTLEMENT,
        _INCIDENT,
        _DISPUTE,
        _DOCKET,
        _WATCH,
        *map(_of_game, GAMES.values()),
    )
}  # fmt: skip
"""By name, which `streams.decider` has of every stream."""


def kind_of(stream: str) -> Kind | None:
    """By a stream's name; None for a table, whose game its name does not tell. Raises KeyError if there is none."""
    return None if stream.startswith(TABLE) else KINDS[stream.partition(":")[0]]

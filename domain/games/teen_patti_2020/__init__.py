"""Teen Patti 20-20, house-banked: players bet on which of two three-card hands wins.

Pages in reading order: rules.md, rules, pays (with joint), commands, events, state, decide (with pausing, scans, deck),
evolve, views, explain.
"""

from domain.cards import Card
from domain.game import Chips, Game, Open, Role, Viewer
from domain.games.teen_patti_2020 import commands, events, explain, views
from domain.games.teen_patti_2020.decide import decide
from domain.games.teen_patti_2020.evolve import evolve
from domain.games.teen_patti_2020.pays import PayTable, Result, Spot, Winner, returns, showdown
from domain.games.teen_patti_2020.rules import Config
from domain.games.teen_patti_2020.state import INITIAL, State, standing

__all__ = ["GAME", "PayTable", "Result", "Spot", "Winner", "showdown"]
"""The game; and its pure rules, for auditors who hold their own figures against them (`croupier calc`)."""


def _nothing(_: State | events.Event) -> int:
    return 0  # bets lie in the players' wallets until they are settled; the house takes no rake


def _no_chips(_: events.Event) -> tuple[Chips, ...]:
    return ()


def _no_hands(_state: State, _viewer: Viewer, _open: Open) -> dict[str, tuple[Card, ...]]:
    return {}  # players hold no cards here


GAME: Game[State, events.Event, commands.Command] = Game(
    name="teen_patti_2020",
    title="Teen Patti 20-20",
    commands={
        Role.PLAYER: commands.Player,
        Role.STUDIO: commands.Studio,
        Role.SUPERVISOR: commands.Supervisor,
        Role.OPERATOR: commands.Operator,
        Role.CLOCK: commands.Clock,
    },
    config=Config,
    events=events.Event,
    states=State,
    initial=INITIAL,
    decide=decide,
    evolve=evolve,
    opening=events.RoundOpened,
    returns=returns,
    holdings=_nothing,
    rake=_nothing,
    chips=_no_chips,
    view=views.view,
    hands=_no_hands,
    public=views.public,
    view_number=views.VIEW_NUMBER,
    about=views.about,
    deadline=views.deadline,
    round=views.round_id,
    standing=standing,
    result=views.result,
    hidden_cards=False,
    reveals=views.reveals,
    explains_round=explain.explains_round,
    explains_payout=explain.explains_payout,
    offers=views.offers,
    long_run=views.long_run,
    corrected=views.corrected,
)

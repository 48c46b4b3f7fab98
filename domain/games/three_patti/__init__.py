"""3 Patti: three to six players at a table, each with three hidden cards, bet blind or seen until one is left or shows.

Pages in reading order: rules.md, rules, commands, events, state, betting, decide (with seating, acting, ending, deck),
evolve, views (with allowed, proof), explain.
"""

from domain.game import Game, Outcome, Role
from domain.games.three_patti import commands, events, explain, proof, views
from domain.games.three_patti.decide import decide
from domain.games.three_patti.evolve import evolve
from domain.games.three_patti.rules import Config
from domain.games.three_patti.state import INITIAL, State, standing
from domain.money import Bet, Payout


def _no_returns(_outcome: Outcome, _bets: tuple[Bet, ...]) -> tuple[Payout, ...]:
    return ()  # bets are chips at the table: no wallet holds one


def _no_result(_state: State) -> None:
    return None  # the pot is awarded with the hand's last event: nothing is left to settle


GAME: Game[State, events.Event, commands.Command] = Game(
    name="three_patti",
    title="3 Patti",
    commands={
        Role.PLAYER: commands.Player,
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
    returns=_no_returns,
    holdings=views.holdings,
    rake=views.rake,
    chips=views.chips,
    view=views.view,
    hands=views.hands,
    public=views.public,
    view_number=views.VIEW_NUMBER,
    about=views.about,
    deadline=views.deadline,
    round=views.round_id,
    standing=standing,
    result=_no_result,
    hidden_cards=True,
    reveals=proof.reveals,
    explains_round=explain.explains_round,
    explains_payout=explain.explains_payout,
)

"""Gin Rummy for three: two play, the third sits out; melds, knocks and lay-offs, to a hundred points.

Pages in reading order: rules.md, rules, melds, roles, commands, events, scoring, state, turns, decide (with seating,
acting, absent, ending, deck), evolve, views (with allowed), proof (with standing, match_proof), explain.
"""

from domain.game import Game, Outcome, Role
from domain.games.gin_rummy import commands, events, explain, match_proof, melds, proof, views
from domain.games.gin_rummy.decide import decide
from domain.games.gin_rummy.evolve import evolve
from domain.games.gin_rummy.rules import Config
from domain.games.gin_rummy.state import INITIAL, State, standing
from domain.money import Bet, Payout

__all__ = ["GAME", "melds"]
"""The game; and its solver, for auditors who hold their own figures against it (`croupier calc`), and for the bench."""


def _no_returns(_outcome: Outcome, _bets: tuple[Bet, ...]) -> tuple[Payout, ...]:
    return ()  # entries lie at the table: no wallet holds one


def _no_result(_state: State) -> None:
    return None  # the prize is awarded with the match's last event: nothing is left to settle


GAME: Game[State, events.Event, commands.Command] = Game(
    name="gin_rummy",
    title="Gin Rummy",
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
    reveals_match=match_proof.reveals_match,
)

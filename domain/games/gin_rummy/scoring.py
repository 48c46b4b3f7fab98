"""What a knock scores, and for whom (G22-G26); and when a match is won (G28, D14)."""

from msgspec import Struct

from domain.cards import Card, Rank, Suit
from domain.games.gin_rummy import melds
from domain.games.gin_rummy.events import Spread
from domain.games.gin_rummy.roles import Contender
from domain.games.gin_rummy.rules import HANDS_MAX, Config, EndedBy, Oklahoma, WonBy
from domain.money import Amount


class Score(Struct, frozen=True):
    why: EndedBy
    winner: str
    points: int


def score(config: Config, knocker: Spread, opponent: Spread, *, doubled: bool) -> Score:
    times, more = 2 if doubled else 1, opponent.points - knocker.points
    if not knocker.deadwood:
        return Score(EndedBy.GIN, knocker.player, times * (config.gin_bonus + more))
    if more > 0:
        return Score(EndedBy.KNOCK, knocker.player, times * more)
    return Score(EndedBy.UNDERCUT, opponent.player, times * (config.undercut_bonus - more))


def knock_limit(config: Config, upcard: Card) -> int:
    """What may be unmatched at a knock (G17); by `oklahoma` the upcard's points, and for an ace nothing."""
    if config.oklahoma is Oklahoma.OFF:
        return config.knock_limit
    return 0 if upcard.rank is Rank.ACE else melds.points(upcard)


def doubles(config: Config, upcard: Card) -> bool:
    return config.oklahoma is Oklahoma.SPADES_DOUBLE and upcard.suit is Suit.SPADES


class Won(Struct, frozen=True):
    """How a match is over, and for whom; nobody: without any points it is void."""

    why: WonBy
    winners: tuple[str, ...]


def won(config: Config, players: tuple[Contender, ...], hands: int) -> Won | None:
    """Whether these have come to the end of their match after so many hands. Who has forfeited cannot win it, but that
    he has scored means that there are points: the entries go back only if nobody has any (D14)."""
    still_in = tuple(each for each in players if not each.forfeited)
    top = max((each.total for each in still_in), default=0)
    best = tuple(each.player for each in still_in if each.total == top)
    if len(still_in) < 2:
        return Won(WonBy.FORFEITS, best)
    if top >= config.target:
        return Won(WonBy.TARGET, best)
    if hands < HANDS_MAX:
        return None
    return Won(WonBy.HANDS, best if any(each.total for each in players) else ())


def shares(amount: Amount, winners: tuple[str, ...]) -> dict[str, Amount]:
    """Equal ones; odd units go one each to the winners in the order of the seats."""
    if not winners:
        return {}
    share, odd = divmod(amount, len(winners))
    return {player: share + (at < odd) for at, player in enumerate(winners)}

"""Gin Rummy: what anyone can prove of a hand; and that whatever is altered is found."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from domain import fairness
from domain.cards import DECK, parse
from domain.games.gin_rummy import commands, events, melds, proof, rules
from domain.games.gin_rummy.roles import after
from domain.games.gin_rummy.rules import Source
from services.written_rounds import OPERATOR
from tests.domain.gin_table import GAME, Table, two_hands


@pytest.fixture
def played() -> Table:
    return two_hands()


def of_round(table: Table, round_id: str = "t.1") -> list[Any]:
    return [each.event for each in table.memory.log if each.stream == "table:t" and each.round == round_id]


def holding(story: list[Any]) -> dict[str, bool]:
    return {check.what: check.holds for check in GAME.reveals(OPERATOR, story).checks}


def test_a_hand_proves_itself_without_its_seed(played: Table) -> None:
    checks = holding(of_round(played))
    assert len(checks) == 3 + 4 + 3 + 3
    assert all(checks.values())
    seed = played.memory.open("t.1", played.state.round.seed)
    assert seed.hex() not in msgspec.json.encode(GAME.reveals(OPERATOR, of_round(played))).decode()
    assert len(holding(of_round(played, "t.2"))) == 3


def test_sgr_35_a_disputed_hand_replayed_has_the_same_stock_draws_and_arrangement(played: Table) -> None:
    story = of_round(played)
    [opened] = (event for event in story if isinstance(event, events.RoundOpened))
    deck = fairness.shuffle(played.memory.open("t.1", opened.seed), operator=OPERATOR, table="t", round="t.1")
    drawn = [event.place for event in story if isinstance(event, events.CardDrawn) and event.source is Source.STOCK]
    assert drawn == list(range(21, 21 + len(drawn)))
    [settled] = (event for event in story if isinstance(event, events.RoundSettled))
    assert all(deck.cards[each.index] is each.card for each in settled.openings)
    [scored] = (event for event in story if isinstance(event, events.RoundScored))
    hand = [card for meld in scored.knocker.melds for card in meld] + list(scored.knocker.deadwood)
    best = melds.best(hand)
    assert (best.melds, best.deadwood) == (scored.knocker.melds, scored.knocker.deadwood)


def forged(story: list[Any], kind: type, **changes: Any) -> list[Any]:
    return [replace(event, **changes) if isinstance(event, kind) else event for event in story]


def test_whatever_is_altered_afterwards_some_check_fails(played: Table) -> None:
    story = of_round(played)
    [opened] = (event for event in story if isinstance(event, events.RoundOpened))
    [scored] = (event for event in story if isinstance(event, events.RoundScored))
    [end] = (event for event in story if isinstance(event, events.RoundSettled))
    knocked = next(event for event in story if isinstance(event, events.Knocked))
    loser = next(each.player for each in end.results if not each.points and each.player != opened.match.players[0])
    salted = (replace(end.openings[0], salt="00" * 16), *end.openings[1:])
    more = tuple(replace(each, total=each.total + 1) for each in end.results)
    moved = tuple(replace(each, points=1 if each.player == loser else 0) for each in end.results)
    other = next(card for card in DECK if card not in {each.card for each in end.openings})
    unmelded = replace(scored.opponent, melds=(), deadwood=scored.opponent.deadwood, points=scored.opponent.points)
    for altered in (
        forged(story, events.RoundOpened, root="00" * 32),
        forged(story, events.RoundOpened, dealt=(opened.dealt[0],) * 2),
        forged(story, events.RoundOpened, upcard=other),
        forged(story, events.CardDrawn, place=30),
        forged(story, events.Knocked, card=other),
        forged(story, events.Knocked, place=knocked.place + 1),
        forged(story, events.RoundScored, points=scored.points + 1),
        forged(story, events.RoundScored, winner=loser, points=scored.points),
        forged(story, events.RoundScored, opponent=unmelded),
        forged(story, events.RoundScored, knocker=replace(scored.knocker, points=scored.knocker.points + 1)),
        forged(story, events.RoundScored, knocker=scored.opponent, opponent=scored.knocker),
        forged(story, events.RoundSettled, openings=salted),
        forged(story, events.RoundSettled, openings=end.openings[1:]),
        forged(story, events.RoundSettled, results=more),
        forged(story, events.RoundSettled, results=moved),
        forged(story, events.RoundSettled, roles=replace(end.roles, box=end.roles.captain, captain=end.roles.box)),
    ):
        assert not all(holding(altered).values())
    assert GAME.reveals(OPERATOR, []) is None


def test_an_end_that_is_not_that_of_the_hand_is_found(played: Table) -> None:
    story = of_round(played)
    [opened] = (event for event in story if isinstance(event, events.RoundOpened))
    [end] = (event for event in story if isinstance(event, events.RoundSettled))
    loser = opened.match.roles.captain if end.winner == opened.match.roles.box else opened.match.roles.box
    for altered in (
        forged(story, events.RoundSettled, roles=replace(end.roles, sitting_out=None)),
        forged(story, events.RoundSettled, openings=()),
        forged(story, events.RoundSettled, results=end.results[1:]),
        forged(story, events.RoundSettled, results=tuple(replace(each, won=1) for each in end.results)),
        forged(story, events.RoundSettled, results=tuple(replace(each, cards=()) for each in end.results)),
        forged(story, events.RoundSettled, why=rules.EndedBy.GIN),
        forged(story, events.RoundSettled, why=rules.EndedBy.FORFEIT),
        forged(story, events.RoundSettled, winner=loser, roles=after(opened.match.roles, loser)),
        forged(story, events.RoundOpened, doubled=True),
        forged(story, events.RoundOpened, limit=11),
        [event for event in story if not isinstance(event, events.RoundScored)],
    ):
        assert not all(holding(altered).values())


def lying(story: list[Any], knocker: events.Spread) -> bool:
    """Whether it holds that the knocker's hand lay so, with points and totals that agree with it."""
    [scored] = (event for event in story if isinstance(event, events.RoundScored))
    [end] = (event for event in story if isinstance(event, events.RoundSettled))
    more = scored.knocker.points - knocker.points
    gained = tuple(
        replace(each, points=each.points + more, total=each.total + more) if each.player == scored.winner else each
        for each in end.results
    )
    story = forged(story, events.RoundScored, knocker=knocker, points=scored.points + more)
    return all(holding(forged(story, events.RoundSettled, results=gained)).values())


def test_a_hand_that_is_not_laid_out_by_the_rules_is_found(played: Table) -> None:
    story = of_round(played)
    [scored] = (event for event in story if isinstance(event, events.RoundScored))
    lay = scored.knocker
    assert lying(story, lay)
    assert not lying(story, replace(lay, points=lay.points - 1))
    first, *others = lay.deadwood
    loose = replace(lay, melds=((*lay.melds[0], first), *lay.melds[1:]), deadwood=tuple(others))
    assert not lying(story, replace(loose, points=sum(map(melds.points, others))))
    assert not all(holding(forged(story, events.RoundOpened, limit=lay.points - 1)).values())


def test_a_card_laid_off_on_a_gin_is_found() -> None:
    run, kings = parse("As 2s 3s 4s 5s 6s 7s"), parse("Kh Kd Kc")
    gin = events.Spread("ann", (run, kings), (), 0)
    other = events.Spread("bob", (), parse("Qh"), 10, (events.LaidOff(parse("8s")[0], 0),))
    scored = events.RoundScored("t.1", rules.EndedBy.GIN, gin, other, "ann", 35)
    assert not proof.laid_out(scored, 10)
    assert proof.laid_out(replace(scored, opponent=replace(other, laid=())), 10)


def test_a_card_taken_from_the_pile_and_laid_there_again_as_another_is_found() -> None:
    table = Table().seated()
    captain, box = (each.player for each in table.state.round.players)
    [top] = table.state.round.pile
    table.does(captain, commands.Draw(Source.PILE))
    table.does(captain, commands.Discard(next(card for card in table.cards(captain) if card is not top.card)))
    table.does(box, commands.Draw(Source.STOCK))
    table.does(box, commands.Discard(table.cards(box)[0]))
    table.does(captain, commands.Draw(Source.STOCK), commands.Discard(top.card))
    story = of_round(table)
    assert all(holding(story).values())
    other = next(card for card in DECK if card.value not in msgspec.json.encode(story).decode())
    taken = next(at for at, event in enumerate(story) if isinstance(event, events.CardDrawn))
    for at in (taken, len(story) - 1):
        assert story[at].card is top.card
        altered = [*story[:at], replace(story[at], card=other), *story[at + 1 :]]
        assert not all(holding(altered).values())


def test_a_hand_that_the_platform_did_not_lay_out_at_best_is_found(played: Table) -> None:
    """D12, D13: nobody declared anything, and yet there is more unmatched than need be."""
    story = of_round(played)
    [scored] = (event for event in story if isinstance(event, events.RoundScored))
    other = scored.opponent
    loose = (*(card for meld in other.melds for card in meld), *(each.card for each in other.laid), *other.deadwood)
    worse = replace(other, melds=(), laid=(), deadwood=loose, points=sum(map(melds.points, loose)))
    assert worse.points > other.points
    more = scored.points + worse.points - other.points
    [end] = (event for event in story if isinstance(event, events.RoundSettled))
    gained = tuple(
        replace(each, points=more, total=more) if each.player == scored.winner
        else replace(each, cards=loose) if each.player == other.player else each
        for each in end.results
    )  # fmt: skip
    altered = forged(
        forged(story, events.RoundScored, opponent=worse, points=more), events.RoundSettled, results=gained
    )
    failing = [what for what, holds in holding(altered).items() if not holds]
    assert failing == ["where nobody declared anything, they lie as well as they can"]


def test_a_hand_that_is_called_drawn_before_its_time_is_found() -> None:
    table = Table().seated()
    player = table.state.player
    table.does(player, commands.Draw(Source.PILE))
    table.does(player, commands.Discard(table.view(player).allowed[0].cards[0]))
    story = of_round(table)
    results = tuple(events.PlayerResult(each.player, 0, 0) for each in table.state.table.match.players)
    who = table.state.round.roles
    for why in (rules.EndedBy.STOCK, rules.EndedBy.PILE, rules.EndedBy.FORFEIT):
        drawn = events.RoundSettled("t.1", "t.m1", why, None, results, who, (), 0)
        assert not holding([*story, drawn])["the hand had come to an end without a score"]

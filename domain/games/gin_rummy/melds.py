"""Gin Rummy solved exactly: melds, least deadwood, best discards, legal knocks, and the best answer to a knock.

Inside, a set of cards is one number: bit i is DECK[i], so each suit has 13 bits in a row, from its ace to its king.
Only the cards in sets need a search. Once these are chosen, each card left that has two neighbours in a row lies in a
run, and all such cards do at once; so a hand of 11 takes at most 72 choices, and most hands take one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import chain, product, takewhile

from msgspec import Struct

from domain.cards import DECK, Card, Rank, show

Melds = tuple[tuple[Card, ...], ...]
Laid = tuple[tuple[Card, int], ...]
"""Cards laid off, each with the index of the knocker's meld on which it lies."""


class Arrangement(Struct, frozen=True):
    """A hand laid out: melds that share no card (G18), and what is unmatched. All in the order of the deck."""

    melds: Melds
    deadwood: tuple[Card, ...]
    points: int


class Answer(Struct, frozen=True):
    """What the knocker's opponent lays out (G20): own melds, cards laid off on the knocker's, and the rest."""

    melds: Melds
    laid: Laid
    deadwood: tuple[Card, ...]
    points: int


class Fault(StrEnum):
    """What can be wrong with what a player lays out."""

    TWICE = "twice"
    NOT_HELD = "not_held"
    NO_MELD = "no_meld"
    DOES_NOT_FIT = "does_not_fit"


class Faulty(ValueError):
    """What a player lays out cannot be: why, and which cards are to blame."""

    def __init__(self, fault: Fault, cards: Sequence[Card]) -> None:
        super().__init__(f"{show(cards)}: {_SAID[fault]}")
        self.fault = fault
        self.cards = tuple(cards)


_SAID = {
    Fault.TWICE: "a card has one place (G18)",
    Fault.NOT_HELD: "not in the hand",
    Fault.NO_MELD: "no set of three or four of a rank, and no run of three or more of a suit",
    Fault.DOES_NOT_FIT: "does not fit that meld of the knocker",
}


# --- Sets of cards as numbers -----------------------------------------------------------------------------------------

_Cards = int
_SUIT = (1 << 13) - 1
_SUITS = (0, 13, 26, 39)
_RANK = 1 | 1 << 13 | 1 << 26 | 1 << 39
"""The four aces; shifted by n, the four cards n ranks above."""

_BIT = {card: 1 << place for place, card in enumerate(DECK)}
_ACES, _KINGS = _RANK, _RANK << 12
_RUN_STARTS = ~(_RANK << 11 | _RANK << 12)
"""No run begins with queen or king: the ace is low and never high (G2)."""
_COLUMNS = [_RANK << rank for rank in range(13)]

_POINTS = {card: 1 if card.rank is Rank.ACE else min(card.rank, 10) for card in DECK}


def _points_of_each_set(suit: Sequence[Card]) -> list[int]:
    sums = [0]
    for card in suit:
        sums += [fewer + _POINTS[card] for fewer in sums]
    return sums


_SUIT_POINTS = _points_of_each_set(DECK[:13])
"""The points of each of the 8,192 sets of cards of one suit (G3)."""


def _number(cards: Iterable[Card]) -> _Cards:
    number = count = 0
    for card in cards:
        number |= _BIT[card]
        count += 1
    if number.bit_count() != count:
        raise ValueError("there is one of each card in the deck, and here a card comes twice")
    return number


def _cards(number: _Cards) -> tuple[Card, ...]:
    """In the order of the deck."""
    cards: list[Card] = []
    while number:
        bit = number & -number
        cards.append(DECK[bit.bit_length() - 1])
        number ^= bit
    return tuple(cards)


def _points(number: _Cards) -> int:
    return (
        _SUIT_POINTS[number & _SUIT]
        + _SUIT_POINTS[number >> 13 & _SUIT]
        + _SUIT_POINTS[number >> 26 & _SUIT]
        + _SUIT_POINTS[number >> 39]
    )


# --- Melds and deadwood -----------------------------------------------------------------------------------------------


def points(card: Card) -> int:
    """Face cards 10, number cards their number, the ace 1 (G3)."""
    return _POINTS[card]


def is_meld(cards: Sequence[Card]) -> bool:
    """A set of three or four of a rank, or a run of three or more of a suit, in whatever order (G4).

    A-2-3 is a run; Q-K-A and K-A-2 are not (G2).
    """
    if len(cards) < 3 or len(set(cards)) < len(cards):
        return False
    number = _number(cards)
    lowest = number & -number
    in_a_row = number == lowest * ((1 << len(cards)) - 1) and not (number ^ lowest) & _ACES
    return in_a_row or len({card.rank for card in cards}) == 1


def deadwood(hand: Sequence[Card]) -> int:
    """The least points that can be left unmatched, of any number of cards: of 11 too, as if none were discarded."""
    return _least(_number(hand))


def arrangements(hand: Sequence[Card]) -> tuple[Arrangement, ...]:
    """Every arrangement that leaves the least deadwood, the one that D12 chooses first.

    A run of six and two runs of three are two arrangements.
    """
    held = _number(hand)
    choices = {sets: held & ~sets for sets in _choices_of_sets(held)}
    least = min(map(_unmatched, choices.values()))
    found: list[list[_Cards]] = []
    for sets, rest in choices.items():
        if _unmatched(rest) == least:
            chosen = [sets & column for column in _COLUMNS if sets & column]
            found += [[*chosen, *runs] for runs in _ways_to_run(_in_runs(rest))]
    arranged = [_arranged(held, melds) for melds in found]
    return tuple(sorted(arranged, key=_order) if len(arranged) > 1 else arranged)


def best(hand: Sequence[Card]) -> Arrangement:
    """What is laid out for a player who declares nothing (D12)."""
    return arrangements(hand)[0]


def best_discards(hand: Sequence[Card], barred: Card | None = None) -> tuple[Card, ...]:
    """The discards that leave the least deadwood, in the order in which the platform takes them: higher rank first,
    then S H D C (D16). `barred` is the card just taken from the discard pile (D11)."""
    after = _after_discards(hand, barred)
    least = min(after.values(), default=0)
    return tuple(sorted((card for card in after if after[card] == least), key=_rank_from_above))


def knocks(hand: Sequence[Card], limit: int, barred: Card | None = None) -> Mapping[Card, int]:
    """The discards with which one may knock (G17), each with the deadwood it leaves; in the order of the deck.

    With 0 as the limit only gin is left. `barred` is the card just taken from the discard pile (D11).
    """
    return {card: left for card, left in _after_discards(hand, barred).items() if left <= limit}


def _after_discards(hand: Sequence[Card], barred: Card | None) -> dict[Card, int]:
    held = _number(hand)
    return {card: _least(held ^ _BIT[card]) for card in _cards(held) if card is not barred}


def _rank_from_above(card: Card) -> tuple[int, int]:
    suit, rank = divmod(DECK.index(card), 13)
    return -rank, suit


def _least(held: _Cards) -> int:
    return min(_unmatched(held & ~sets) for sets in _choices_of_sets(held))


def _unmatched(rest: _Cards) -> int:
    return _points(rest & ~_in_runs(rest))


def _in_runs(rest: _Cards) -> _Cards:
    starts = rest & rest >> 1 & rest >> 2 & _RUN_STARTS
    return starts | starts << 1 | starts << 2


def _choices_of_sets(held: _Cards) -> list[_Cards]:
    """The cards that lie in sets, in every way: of each rank none, any three, or all four."""
    one, two, three, four = (held >> suit & _SUIT for suit in _SUITS)
    ranks = one & two & (three | four) | three & four & (one | two)
    choices = [0]
    while ranks:
        lowest = ranks & -ranks
        ranks ^= lowest
        column = held & lowest * _RANK
        sets = [0, column]
        if column.bit_count() == 4:
            sets += [column ^ lowest << suit for suit in _SUITS]
        choices = [chosen | each for chosen in choices for each in sets]
    return choices


def _ways_to_run(cards: _Cards) -> Iterator[list[_Cards]]:
    """Every way to cut cards, each of which lies in some run, into runs."""
    stretches: list[list[list[_Cards]]] = []
    for suit in _SUITS:
        rest = cards >> suit & _SUIT
        while rest:
            lowest = rest & -rest
            stretch = rest & ~(rest + lowest)
            rest ^= stretch
            stretches.append([[run * lowest << suit for run in cut] for cut in _cuts(stretch.bit_count())])
    return (list(chain.from_iterable(cuts)) for cuts in product(*stretches))


@cache
def _cuts(length: int, start: int = 0) -> list[list[_Cards]]:
    """So many cards in a row, as one run or cut into several."""
    cuts = [[(1 << length) - 1 << start]]
    for first in range(3, length - 2):
        cuts += [[(1 << first) - 1 << start, *others] for others in _cuts(length - first, start + first)]
    return cuts


def _arranged(held: _Cards, melds: Iterable[_Cards]) -> Arrangement:
    rest = held
    for meld in melds:
        rest ^= meld
    in_order = sorted(melds, key=lambda meld: meld & -meld)
    return Arrangement(tuple(map(_cards, in_order)), _cards(rest), _points(rest))


def _order(arrangement: Arrangement) -> tuple[int, list[list[int]]]:
    """Fewest open places for the opponent's cards, then the order of the deck (D12)."""
    places = sum(map(_open_places, arrangement.melds))
    return places, [[_BIT[card] for card in meld] for meld in arrangement.melds]


def _open_places(meld: Sequence[Card]) -> int:
    """A fourth card of the rank, or a card at either end of a run. Only the meld itself is looked at."""
    first, last = meld[0], meld[-1]
    if first.rank is last.rank:
        return 4 - len(meld)
    return (first.rank is not Rank.ACE) + (last.rank is not Rank.KING)


# --- The answer to a knock --------------------------------------------------------------------------------------------


def best_answer(knocker_melds: Melds, hand: Sequence[Card]) -> Answer:
    """The opponent's optimum: least deadwood, own melds broken where that helps; then the fewest cards laid off.

    Nothing may be laid off on a gin (G20): then no melds are given.
    """
    _number(chain(hand, *knocker_melds))
    held = _number(hand)
    laid = min(_ways_to_lay(knocker_melds, held), key=lambda laid: (_least(held - sum(laid)), len(laid)))
    own = best(_cards(held - sum(laid)))
    where = tuple((DECK[bit.bit_length() - 1], index) for bit, index in laid.items())
    return Answer(own.melds, where, own.deadwood, own.points)


def answer(knocker_melds: Melds, hand: Sequence[Card], melds: Melds, laid: Laid) -> Answer:
    """The answer that the opponent declares, with its deadwood; Faulty, if it cannot be.

    Cards may come in any order: a chain on a run is judged as it lies in the end.
    """
    left = _left(hand, melds, [card for card, _ in laid])
    for index in dict.fromkeys(index for _, index in laid):
        cards = [card for card, on in laid if on == index]
        if not 0 <= index < len(knocker_melds) or not is_meld((*knocker_melds[index], *cards)):
            raise Faulty(Fault.DOES_NOT_FIT, cards)
    return Answer(melds, laid, left, _points(_number(left)))


def arranged(hand: Sequence[Card], melds: Melds) -> Arrangement:
    """The arrangement that a knocker declares, with its deadwood, the least or not (D12); Faulty, if it cannot be."""
    left = _left(hand, melds, ())
    return Arrangement(melds, left, _points(_number(left)))


def _left(hand: Sequence[Card], melds: Melds, laid: Sequence[Card]) -> tuple[Card, ...]:
    """What of the hand lies in none of these places."""
    placed = [*chain.from_iterable(melds), *laid]
    if twice := [card for card in dict.fromkeys(placed) if placed.count(card) > 1]:
        raise Faulty(Fault.TWICE, twice)
    if foreign := [card for card in placed if card not in hand]:
        raise Faulty(Fault.NOT_HELD, foreign)
    for meld in melds:
        if not is_meld(meld):
            raise Faulty(Fault.NO_MELD, meld)
    return _cards(_number(hand) & ~_number(placed))


def _ways_to_lay(knocker_melds: Melds, held: _Cards) -> list[dict[_Cards, int]]:
    """Which cards may be laid off on which meld, in every way that can matter: for each end of a meld none, one or two.

    Two are enough: three in a row are a run of one's own and weigh as little there.
    """
    ways: list[dict[_Cards, int]] = [{}]
    for index, meld in enumerate(knocker_melds):
        for line in _lines(meld, held):
            longer = [dict.fromkeys(line[: length + 1], index) for length in range(len(line))]
            ways += [way | more for way in ways for more in longer if way.keys().isdisjoint(more)]
    return ways


def _lines(meld: Sequence[Card], held: _Cards) -> list[list[_Cards]]:
    """The held cards that fit a meld: the fourth of a rank, or what goes on from either end of a run, nearest first."""
    number = _number(meld)
    if meld[0].rank is meld[1].rank:
        fourth = held & ~number & _RANK << DECK.index(meld[0]) % 13
        return [[fourth]] if fourth else []
    lowest, highest = number & -number, 1 << number.bit_length() - 1
    # below an ace comes the king of another suit, above a king an ace
    below = takewhile((held & ~_KINGS).__and__, (lowest >> 1, lowest >> 2))
    above = takewhile((held & ~_ACES).__and__, (highest << 1, highest << 2))
    return [list(below), list(above)]

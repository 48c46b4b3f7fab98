"""How explanations write things in plain English: cards, amounts, sums, lists. Every digit of them is exact."""

from collections.abc import Iterable

from domain.cards import Card, Rank, Suit
from domain.money import EXPONENTS, Amount

_SUITS = {Suit.SPADES: "♠", Suit.HEARTS: "♥", Suit.DIAMONDS: "♦", Suit.CLUBS: "♣"}


def cards(shown: Iterable[Card]) -> str:
    """As they are printed: K♠ 10♦ 2♥."""
    return " ".join(card[0].replace("T", "10") + _SUITS[card.suit] for card in shown)


def rank(one: Rank) -> str:
    return one.name.lower()


def ranks(several: Rank) -> str:
    """Several of them: kings, sixes."""
    return rank(several) + ("es" if several is Rank.SIX else "s")


def a_rank(one: Rank) -> str:
    return f"{'an' if one in (Rank.ACE, Rank.EIGHT) else 'a'} {rank(one)}"


def number(whole: int) -> str:
    return f"{whole:,}"


def summed(parts: Iterable[int]) -> str:
    """What they add up to, and how: 600 + 570 = 1,170."""
    terms = tuple(parts)
    total = number(sum(terms))
    return total if len(terms) < 2 else f"{' + '.join(map(number, terms))} = {total}"


def money(amount: Amount, currency: str) -> str:
    """In minor units, as all amounts here, and as people say it: 1,170 (11.70 INR)."""
    exponent = EXPONENTS.get(currency, 0)
    whole, part = divmod(amount, 10**exponent)
    decimals = f".{part:0{exponent}}" if exponent else ""
    return f"{number(amount)} ({number(whole)}{decimals} {currency})"


def returned(currency: str, *parts: Amount) -> str:
    """How the sentence about every payout ends: what came back, and of which parts."""
    summands = f"{' + '.join(map(number, parts))} = " if len(parts) > 1 else ""
    return f"returned: {summands}{money(sum(parts), currency)}."


def listed(items: Iterable[str]) -> str:
    """One, two and three."""
    *rest, last = tuple(items) or ("nobody",)
    return f"{', '.join(rest)} and {last}" if rest else last


def rake(of: Amount, bps: int, cap: Amount | None, taken: Amount) -> str:
    """How much the house takes of what is awarded, and why so much."""
    if not bps:
        return "There is no rake."
    at_most = f", at most {number(cap)}" if cap is not None else ""
    return f"The rake is {bps // 100}.{bps % 100:02}% of {number(of)}, rounded down{at_most}: {number(taken)}."

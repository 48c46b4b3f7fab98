"""Cards as the files in tests/data and people write them: "As" or "AS"."""

from collections.abc import Iterable, Mapping, Sequence

from domain.cards import Card


def cards(words: Iterable[str]) -> tuple[Card, ...]:
    return tuple(Card(word[:1] + word[1:].lower()) for word in words)


def written(words: Sequence[str]) -> Mapping[Card, str]:
    """These cards, each different, with how it was written."""
    read = dict(zip(cards(words), words, strict=True))
    if len(read) < len(words):
        raise ValueError(f"a hand is {len(words)} different cards, not {' '.join(words)!r}")
    return read

"""Streams that stay in memory from one batch to the next: a stream is what its events made it, and a writer is told at
every batch whose events others have written meanwhile.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from domain.decider import Stream
from domain.wallet.state import Wallet

KEPT_MAX = 20_000
"""In one process, for all its operators; some 1 KB each."""

BETS_MAX = 16
"""A wallet with more open bets is not kept, so that what is kept has a bound in bytes too."""


class Kept:
    """One operator's, those used last at the end."""

    def __init__(self, room: Callable[[], int]) -> None:
        """`room` says how many may be kept now."""
        self._room = room
        self._streams: OrderedDict[str, Stream] = OrderedDict()

    def among(self, names: Iterable[str]) -> dict[str, Stream]:
        return {name: self._streams[name] for name in names if name in self._streams}

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._streams.pop(name, None)

    def clear(self) -> None:
        self._streams.clear()

    def keep(self, streams: Mapping[str, Stream]) -> None:
        """What a batch that is committed made of the streams it used."""
        for name, stream in streams.items():
            self._streams.pop(name, None)
            if _is_small(stream):
                self._streams[name] = stream
        room = self._room()
        while len(self._streams) > room:
            self._streams.popitem(last=False)


def _is_small(stream: Stream) -> bool:
    return not isinstance(stream.state, Wallet) or len(stream.state.bets) <= BETS_MAX

"""Streams that stay in memory from one batch to the next, while nobody else writes their log: a stream is what its
events made it, so where the log still stands where the last batch left it, so does the stream.
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
        self.alone = False
        """Has nobody else written since the batch before?"""

    def among(self, names: Iterable[str]) -> dict[str, Stream]:
        return {name: self._streams[name] for name in names if name in self._streams}

    def check(self, *, alone: bool) -> None:
        """Whether the log, under its lock, stands where the last batch left it; if not, nothing is known any more."""
        self.alone = alone
        if not alone:
            self._streams.clear()

    def keep(self, streams: Mapping[str, Stream]) -> None:
        """What a batch that is committed made of the streams it used. Where others write the same log in turn nothing
        is kept: it would be found old every time, and then cost a query more."""
        if not self.alone:
            return
        for name, stream in streams.items():
            self._streams.pop(name, None)
            if _is_small(stream):
                self._streams[name] = stream
        room = self._room()
        while len(self._streams) > room:
            self._streams.popitem(last=False)


def _is_small(stream: Stream) -> bool:
    return not isinstance(stream.state, Wallet) or len(stream.state.bets) <= BETS_MAX

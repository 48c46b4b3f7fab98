"""Python's collector of cyclic garbage, set for processes that hold much and make little that is cyclic."""

import gc

THRESHOLDS = (20_000, 20, 20)


def calm() -> None:
    """To be called once all is loaded: none of that is looked at again, and new objects only 20,000 at a time.

    By default each 700 objects more than before set it off, and every wave of commands in flight is more than that:
    it took an eighth of a bet's CPU (ops/decisions/0008).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)

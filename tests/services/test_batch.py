"""A batch in memory."""

import gc

from domain.decider import Submission
from domain.game import Role
from domain.wallet import commands
from infra.eventlog import Tip
from infra.vault import Vault
from services.batch import Accepted, Batch, Entry, fresh


def test_a_batch_leaves_nothing_to_the_collector_of_cyclic_garbage():
    """A thousand objects a batch waited for it once, and their collection took an eighth of a bet's CPU."""
    gc.collect()
    gc.disable()
    try:
        decided_and_forgotten()
        assert gc.collect() == 0
    finally:
        gc.enable()


def decided_and_forgotten() -> None:
    batch = Batch("acme", Tip(1, 0, bytes(32), 0, ""), 1, Vault({}))
    batch.streams["wallet:ann"] = fresh("wallet:ann")
    batch.earlier["ops", "k"] = None
    asked = Submission("acme", "ops", Role.OPERATOR, "wallet:ann", commands.OpenWallet("EUR"), "k")
    assert isinstance(batch.decide(Entry(asked, b"f", 1)), Accepted)
    assert batch.arguments(until=2)

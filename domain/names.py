"""What streams are called: a prefix that says of which kind they are, and whose. The house has a name of its own."""

import hashlib

HOUSE = "house"
TABLE, WALLET, REFUSED, AUDIT = "table:", "wallet:", "refused:", "audit:"
PROPOSAL, RESETTLEMENT, INCIDENT = "proposal:", "resettlement:", "incident:"
DISPUTE, DOCKET = "dispute:", "docket:"


def table_of(round_id: str) -> str:
    """The table of a round id, which is `<table>.<n>`."""
    return round_id.rpartition(".")[0]


def id_of(actor: str, key: str) -> str:
    """The id of what an actor begins under an idempotency key, as a proposal: so that a repetition finds the same."""
    return hashlib.sha256(f"{actor}\n{key}".encode()).hexdigest()[:16]

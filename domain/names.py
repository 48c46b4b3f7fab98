"""What streams are called: a prefix that says of which kind they are, and whose. The house has a name of its own.
And what an id may look like.
"""

import hashlib
from typing import Annotated

from msgspec import Meta

HOUSE = "house"
TABLE, WALLET, REFUSED, AUDIT = "table:", "wallet:", "refused:", "audit:"
PROPOSAL, RESETTLEMENT, INCIDENT = "proposal:", "resettlement:", "incident:"
DISPUTE, DOCKET = "dispute:", "docket:"

Id = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9_-]+(?![\s\S])",
        description="1 to 64 of A-Z a-z 0-9 _ and -.",
    ),
]
RoundId = Annotated[
    str,
    Meta(
        max_length=81,
        pattern=r"^[A-Za-z0-9_-]{1,64}\.m?[1-9][0-9]{0,14}(?![\s\S])",
        description="A round's id, as `table-1.42`, or a match's, as `table-1.m3`.",
    ),
]


def table_of(round_id: str) -> str:
    """The table of a round id, which is `<table>.<n>`."""
    return round_id.rpartition(".")[0]


def id_of(actor: str, key: str) -> str:
    """The id of what an actor begins under an idempotency key, as a proposal: so that a repetition finds the same."""
    return hashlib.sha256(f"{actor}\n{key}".encode()).hexdigest()[:16]

"""The projections, one line each: what is folded from the log for reading."""

from services.projections.audit import AUDIT
from services.projections.balances import BALANCES
from services.projections.projection import Place, Projection
from services.projections.round_rows import ROUNDS
from services.projections.statement import STATEMENT

PROJECTIONS: tuple[Projection, ...] = (
    BALANCES,
    STATEMENT,
    ROUNDS,
    AUDIT,
)

__all__ = ["PROJECTIONS", "Place", "Projection"]

"""The projections, one line each: what is folded from the log for reading."""

from services.projections.balances import BALANCES
from services.projections.projection import Place, Projection
from services.projections.statement import STATEMENT

PROJECTIONS: tuple[Projection, ...] = (
    BALANCES,
    STATEMENT,
)

__all__ = ["PROJECTIONS", "Place", "Projection"]

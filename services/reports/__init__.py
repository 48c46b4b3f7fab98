"""Reports: figures that follow from the log up to a position, so that whoever asks again, years later, gets the same
body byte for byte. One line each; a family has a page."""

from services.reports.adjustments import ADJUSTMENTS
from services.reports.disputes import DISPUTES
from services.reports.ggr import GGR
from services.reports.incidents import INCIDENTS
from services.reports.large_wins import LARGE_WINS
from services.reports.liability import LIABILITY
from services.reports.owed import OWED
from services.reports.performance import PERFORMANCE
from services.reports.report import Kind
from services.reports.resettlements import RESETTLEMENTS
from services.reports.voided import VOIDED

REPORTS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        PERFORMANCE,
        GGR,
        VOIDED,
        INCIDENTS,
        ADJUSTMENTS,
        LARGE_WINS,
        LIABILITY,
        RESETTLEMENTS,
        OWED,
        DISPUTES,
    )
}

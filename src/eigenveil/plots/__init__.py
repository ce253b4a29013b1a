"""Pictures of a private model: displays that keep numbers apart from drawing, all of them from releases."""

from eigenveil.plots.biplot import BiplotDisplay
from eigenveil.plots.convergence import ConvergenceDisplay
from eigenveil.plots.cumulative import CumulativeVarianceDisplay
from eigenveil.plots.ledger import LedgerDisplay
from eigenveil.plots.loadings import LoadingsDisplay
from eigenveil.plots.score_map import ScoreMapDisplay
from eigenveil.plots.scree import ScreeDisplay

__all__ = [
    "BiplotDisplay",
    "ConvergenceDisplay",
    "CumulativeVarianceDisplay",
    "LedgerDisplay",
    "LoadingsDisplay",
    "ScoreMapDisplay",
    "ScreeDisplay",
]

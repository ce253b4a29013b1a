"""Displays of a private model. Each separates its values from drawing, and shows released values only."""

from eigenveil._extras import matplotlib  # noqa: F401  # if missing, the error names the extra
from eigenveil.plots.biplot import BiplotDisplay
from eigenveil.plots.convergence import ConvergenceDisplay
from eigenveil.plots.cumulative import CumulativeVarianceDisplay
from eigenveil.plots.ledger import LedgerDisplay
from eigenveil.plots.loadings import LoadingsDisplay
from eigenveil.plots.loadings_image import LoadingsImageDisplay
from eigenveil.plots.score_map import ScoreMapDisplay
from eigenveil.plots.scree import ScreeDisplay

__all__ = [
    "BiplotDisplay",
    "ConvergenceDisplay",
    "CumulativeVarianceDisplay",
    "LedgerDisplay",
    "LoadingsDisplay",
    "LoadingsImageDisplay",
    "ScoreMapDisplay",
    "ScreeDisplay",
]

"""Differentially private PCA: principal components with a guarantee for every person in the data."""

from importlib.metadata import version

from eigenveil import datasets, metrics, schedules, theory
from eigenveil.operators import samples
from eigenveil.subspace import (
    Release,
    TrackedStream,
    black_box_pca,
    dp_gauss_1,
    dp_gauss_2,
    dp_power_method,
    k_dp_ojas,
    k_dp_pca,
    oja,
    tracked_pca,
)

__version__ = version("eigenveil")
__all__ = [
    "Release",
    "TrackedStream",
    "__version__",
    "black_box_pca",
    "datasets",
    "dp_gauss_1",
    "dp_gauss_2",
    "dp_power_method",
    "k_dp_ojas",
    "k_dp_pca",
    "metrics",
    "oja",
    "samples",
    "schedules",
    "theory",
    "tracked_pca",
]

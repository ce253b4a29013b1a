"""Tracked PCA, the method of this package: one module per idea."""

from eigenveil.algorithms.tracked.algorithm import TRACKED, TrackedOptions, tracked_pca
from eigenveil.algorithms.tracked.tuning import Tuning

__all__ = ["TRACKED", "TrackedOptions", "Tuning", "tracked_pca"]

"""Tracked PCA, the method of this package: one module per idea."""

from eigenveil.subspace.tracked.algorithm import TRACKED, TrackedOptions, tracked_pca
from eigenveil.subspace.tracked.tuning import Tuning

__all__ = ["TRACKED", "TrackedOptions", "Tuning", "tracked_pca"]

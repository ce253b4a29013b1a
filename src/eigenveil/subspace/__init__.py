"""k directions: deflation over oracles, block iteration, and the matrix-level baselines."""

from eigenveil.subspace.release import Release

__all__ = ["Release"]

"""Leading eigenvectors of a symmetric matrix."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from eigenveil._typing import FloatArray


def leading(matrix: FloatArray, M: int) -> tuple[FloatArray, FloatArray]:
    """Return the M largest eigenvalues, largest first, and their eigenvectors."""
    d = len(matrix)
    try:
        values, vectors = linalg.eigh(matrix, subset_by_index=[d - M, d - 1])
    except linalg.LinAlgError:
        values = np.zeros(0)
    if values.size < M:  # for equal eigenvalues LAPACK may fail on a subset, or return fewer of them
        values, vectors = (found[..., d - M :] for found in np.linalg.eigh(matrix))
    return values[::-1], np.ascontiguousarray(vectors[:, ::-1])

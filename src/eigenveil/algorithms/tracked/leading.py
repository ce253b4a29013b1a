"""Leading eigenvectors of a symmetric matrix, and their order by bought variances."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import linalg

from eigenveil._typing import FloatArray
from eigenveil.algorithms.variances import CLEAR, NoisyVariances


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


def settled(bought: NoisyVariances) -> tuple[npt.NDArray[np.intp], NoisyVariances]:
    """Return an order of the components, and their variances in that order: none exceeds the one before.

    The given order stays unless a later variance is clearly larger: rounds distinguish components better than
    these variances do. Variances that then still rise are replaced by their mean.

    Examples
    --------
    >>> bought = NoisyVariances(
    ...     explained=np.array([4.0, 5.0, 9.0]), total=20.0, noise=0.5, total_noise=1.0, share_above=0.0,
    ...     centre=np.array([4.0, 4.0, 4.0]),
    ... )
    >>> order, found = settled(bought)
    >>> order, found.explained
    (array([2, 0, 1]), array([9. , 4.5, 4.5]))
    """
    order = np.arange(bought.explained.size)
    clear = CLEAR * math.sqrt(2) * bought.noise
    for last in range(1, order.size):
        for place in range(last, 0, -1):
            if bought.explained[order[place]] - bought.explained[order[place - 1]] <= clear:
                break
            order[[place - 1, place]] = order[[place, place - 1]]
    falling = _pooled(bought.explained[order])
    return order, replace(bought.in_order(order), explained=np.asarray(falling, dtype=np.float64))


def _pooled(values: FloatArray) -> FloatArray:
    """Return the values with each run that rises replaced by its mean, until none does."""
    runs: list[tuple[float, int]] = []
    for value in values:
        runs.append((float(value), 1))
        while len(runs) > 1 and runs[-2][0] < runs[-1][0]:
            (one, m), (other, n) = runs.pop(-2), runs.pop(-1)
            runs.append(((m * one + n * other) / (m + n), m + n))
    return np.array([mean for mean, n in runs for _ in range(n)])

"""Energy captured by a subspace, relative to the best subspace (def-zeta-useful)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from eigenveil.metrics.checks import covariance_spectrum, orthonormal_rows, same_width


def zeta(components: npt.ArrayLike, covariance: npt.ArrayLike) -> float:
    """Return the error sqrt(1 - Tr(U S U^T) / (sum of the k largest eigenvalues of S)).

    0 is best, 1 is worst. It is the smallest zeta for which the components are zeta-approximate (def-zeta-useful).

    Parameters
    ----------
    components : array of shape (k, d)
        U, with orthonormal rows.
    covariance : array of shape (d, d)
        S, symmetric and positive semi-definite.

    Returns
    -------
    float
        Value in [0, 1], never nan. It is accurate far below 1e-8, where rounding dominates the formula above.

    Notes
    -----
    Let w_i = norm(U v_i)^2, the share of eigenvector v_i that U captures. Because the shares sum to k, the lost
    energy is a sum of non-negative terms, each computed without cancellation::

        sum_{i<k} (l_i - l_k) (1 - w_i) + sum_{i>k} (l_k - l_i) w_i

    References
    ----------
    arXiv 2508.10879, definition of zeta-approximate utility.

    Examples
    --------
    >>> zeta([[1.0, 0.0]], np.diag([4.0, 1.0]))
    0.0
    >>> round(zeta([[0.0, 1.0]], np.diag([4.0, 1.0])), 4)
    0.866
    >>> zeta([[1.0, 1e-12]], np.diag([4.0, 0.0]))
    1e-12
    """
    return math.sqrt(_lost_share(components, covariance))


def energy_ratio(components: npt.ArrayLike, covariance: npt.ArrayLike) -> float:
    """Return the captured energy Tr(U S U^T) / (sum of the k largest eigenvalues of S) = 1 - zeta^2.

    Examples
    --------
    >>> energy_ratio([[0.0, 1.0]], np.diag([4.0, 1.0]))
    0.25
    """
    return 1.0 - _lost_share(components, covariance)


def _lost_share(components: npt.ArrayLike, covariance: npt.ArrayLike) -> float:
    """Return zeta^2, in [0, 1]."""
    U = orthonormal_rows(components, name="components")
    eigenvalues, vectors = covariance_spectrum(covariance)
    same_width(U, vectors)
    k = len(U)
    top, rest = vectors[:k], vectors[k:]
    missed = np.sum((top - (top @ U.T) @ U) ** 2, axis=1)
    strayed = np.sum((rest @ U.T) ** 2, axis=1)
    last = eigenvalues[k - 1]
    lost = (eigenvalues[:k] - last) @ missed + (last - eigenvalues[k:]) @ strayed
    return min(1.0, float(lost / eigenvalues[:k].sum()))

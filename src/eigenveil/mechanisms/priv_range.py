"""PrivRange, the paper's Top-Eigenvalue-Estimation: how widely vectors spread, up to a factor.

PrivRange({g_i}, i = 1..B; epsilon, delta, tau):
  1  take differences of neighbours in the list: h_i = g_2i - g_(2i-1), i = 1..floor(B/2)
  2  cut them into s = ceil(C1 ln(1/(delta tau))/epsilon) subsets of b = floor(B/2s) each, one after the other
  3  of each subset, the top eigenvalue l_j of (1/b) sum h h^T
  4  the bin of l_j among [2^(c/4), 2^((c+1)/4)), c any whole number
  5  a stability histogram of the bins at (epsilon, delta)
  6  no bin named: return bottom (None); else the left end of the fullest
"""

from __future__ import annotations

import math

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import ExplicitPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.gradients import check_tau, gradients, need_fixed_places
from eigenveil.mechanisms.histogram import stability_histogram
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.gaussian import check_delta, check_epsilon


def priv_range(
    population: ExplicitPopulation,
    *,
    epsilon: float,
    delta: float,
    tau: float,
    veil: Veil,
    C1: float = 1.0,
    what: str = "PrivRange",
    purpose: Purpose = Purpose.COMPONENTS,
) -> float | None:
    """A private lower end for the top eigenvalue of the covariance of differences; None is bottom.

    Parameters
    ----------
    population : ExplicitPopulation
        Units with a vector each; their order is that of the data.
    epsilon, delta : float
        The cost.
    tau : float in (0, 1)
        The probability with which the answer may be wrong; more subsets the smaller it is.
    C1 : float
        The constant of step 2, which the paper leaves open.

    Formal guarantees
    -----------------
    *Replace*, with the number of units public: (epsilon, delta)-DP. A unit is in one difference, a difference
    in one subset, and the eigenvalue of a subset is computed from a fresh array of that subset alone, of public
    shape. So one unit moves one eigenvalue from one bin to another (or in, or out): L1 sensitivity 2, which
    `stability_histogram` takes under this relation. *Add-remove* is refused: a removed unit would shift all
    differences behind it.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    fewer than 2 s units            bottom; paid for all the same
    all equal                       differences are 0, which is in no bin: bottom
    one unit huge                   its subset is in another bin
    nan, inf, norm overflows        such a unit counts as the zero vector
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    The number of subsets is rounded up. The printed bins leave out [2^(-1/4), 1), surely by accident. A subset
    whose eigenvalue is exactly 0 has no bin: the bins do not reach 0, and 0 would be of no use as a range.

    References
    ----------
    The paper, label algo-top-eval-est; Liu, Kong, Jain & Oh 2022, arXiv 2205.13709, algorithm 4.
    """
    need_fixed_places(veil, "PrivRange", fixed_places=population.fixed_places)
    subsets = subset_count(epsilon=epsilon, delta=delta, tau=tau, C1=C1)
    g, _ = gradients(population)
    # 1
    half = len(g) // 2
    h = g[1 : 2 * half : 2] - g[0 : 2 * half : 2]
    # 2
    b = half // subsets
    # 3
    logs = [_log2_top_eigenvalue(h[j * b : (j + 1) * b].copy()) for j in range(subsets)] if b else []
    # 4
    bins = [math.floor(4 * value) for value in logs if math.isfinite(value)]
    # 5
    histogram = stability_histogram(bins, epsilon=epsilon, delta=delta, veil=veil, what=what, purpose=purpose)
    # 6
    return 2.0 ** (max(histogram, key=histogram.__getitem__) / 4) if histogram else None


def subset_count(*, epsilon: float, delta: float, tau: float, C1: float = 1.0) -> int:
    """How many subsets step 2 makes.

    Examples
    --------
    >>> subset_count(epsilon=0.5, delta=0.005, tau=0.01 / 20)
    26
    """
    check_epsilon(epsilon), check_delta(delta), check_tau(tau)
    if not (math.isfinite(C1) and C1 > 0):
        raise InvalidInputError(f"C1 must be a finite number above 0, got {C1!r}.")
    return max(1, math.ceil(C1 * math.log(1 / (delta * tau)) / epsilon))


def _log2_top_eigenvalue(h: FloatArray) -> float:
    """log2 of the top eigenvalue of (1/b) sum h h^T; minus infinity for 0, and no overflow."""
    scale = float(np.abs(h).max())
    if not 0 < scale < math.inf:
        return -math.inf
    largest = float(np.linalg.norm(h / scale, 2))  # at least 1: some entry is
    return 2 * math.log2(largest) + 2 * math.log2(scale) - math.log2(len(h))

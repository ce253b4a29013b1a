"""PrivRange, the Top-Eigenvalue-Estimation of the paper: the spread of vectors, up to a factor.

PrivRange({g_i}, i = 1..B; epsilon, delta, tau):
  1  differences of consecutive vectors: h_i = g_2i - g_(2i-1), i = 1..floor(B/2) 2  divide them into s = ceil(C1
  ln(1/(delta tau))/epsilon) consecutive subsets of b = floor(B/2s) differences each 3  for each subset j: the top
  eigenvalue l_j of (1/b) sum h h^T 4  the bin of l_j among [2^(c/4), 2^((c+1)/4)), c any integer 5  a stability
  histogram of the bins at (epsilon, delta) 6  if no bin is released: return bottom (None); else return the left
  end of the largest bin
"""

from __future__ import annotations

import math

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import ExplicitPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.histogram import stability_histogram
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.mechanisms.paper.gradients import check_tau, gradients, need_fixed_places
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
    """Release a lower bound on the top eigenvalue of the covariance of differences; None represents bottom.

    Parameters
    ----------
    population : ExplicitPopulation
        Units with a vector each, in the order of the data.
    epsilon, delta : float
        Cost of the release.
    tau : float in (0, 1)
        Upper bound on the probability that the result is wrong. A smaller tau needs more subsets.
    C1 : float
        The constant of step 2, which the paper does not specify.

    Formal guarantees
    -----------------
    *Replace*, with a public number of units: (epsilon, delta)-DP. A unit is in one difference, and a difference is
    in one subset. The eigenvalue of a subset is computed from a fresh array of public shape that contains this
    subset alone. One unit therefore moves at most one eigenvalue from one bin to another (or into or out of the
    bins): L1 sensitivity 2, which is what `stability_histogram` uses under this relation. *Add-remove* is refused:
    the removal of a unit would shift all differences after it.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    fewer than 2 s units            bottom; the cost is charged nevertheless
    all equal                       differences are 0, which is in no bin: bottom
    one unit huge                   its subset is in another bin
    nan, inf, norm overflows        such a unit is replaced by the zero vector
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    The number of subsets is rounded up. The printed bins omit [2^(-1/4), 1), certainly by mistake; this
    implementation includes it. A subset whose eigenvalue is exactly 0 has no bin: the bins do not reach 0, and 0
    is not a valid range.

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
    """Return the number of subsets in step 2.

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
    """Return log2 of the top eigenvalue of (1/b) sum h h^T without overflow; minus infinity if it is 0."""
    scale = float(np.abs(h).max())
    if not 0 < scale < math.inf:
        return -math.inf
    largest = float(np.linalg.norm(h / scale, 2))  # at least 1, because some entry of h / scale is +-1
    return 2 * math.log2(largest) + 2 * math.log2(scale) - math.log2(len(h))

"""PrivMean, the Private-Mean-Estimation of the paper: a rough centre by histograms, then a truncated mean.

PrivMean({g_i}, i = 1..B, in R^D; L, epsilon, delta, tau):            # L: an approximate top eigenvalue
  1  u <- 2^(1/4) K sqrt(L) ln(25)^2
  2  for every coordinate j: a stability histogram of {g_ij} over the bins (c u, (c+1) u], c any integer, at
     (epsilon / (4 sqrt(2 D ln(4/delta))), delta / (4 D))
  3  if no bin is released in some coordinate: return bottom (None); else m_j <- left end of the largest bin
  4  r <- 3 K sqrt(L) ln(B D/tau)^a; clip coordinate j of every g_i to [m_j - r, m_j + r]
  5  return the mean of the clipped vectors plus Gaussian noise: sensitivity 2 r sqrt(D)/B, at (epsilon/2, delta/2)
"""

from __future__ import annotations

import math

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines import TensorPopulation
from eigenveil.engines.population import ExplicitPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.histogram import stability_histograms
from eigenveil.mechanisms.noise.veil import Veil, check_sensitivity
from eigenveil.mechanisms.paper.gradients import check_tau, gradients, need_fixed_places
from eigenveil.mechanisms.paper.truncated_sum import noisy_truncated_sum
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.gaussian import check_delta, check_epsilon, gaussian_mu


def priv_mean(
    population: ExplicitPopulation,
    *,
    top_eigenvalue: float,
    epsilon: float,
    delta: float,
    tau: float,
    veil: Veil,
    K: float = 1.0,
    a: float = 1.0,
    what: str = "PrivMean",
    purpose: Purpose = Purpose.COMPONENTS,
) -> FloatArray | None:
    """Release the mean of vectors whose spread is roughly known; None represents bottom.

    Parameters
    ----------
    population : ExplicitPopulation
        Units with a vector each.
    top_eigenvalue : float
        Public approximate top eigenvalue: the result of PrivRange, or a number fixed in advance.
    epsilon, delta : float
        Cost of the release: half for the histograms, half for the noise.
    tau : float in (0, 1)
        Upper bound on the probability that a coordinate is clipped.
    K, a : float
        Public constants of the tails (assumption A.4).

    Formal guarantees
    -----------------
    *Replace*, with a public number of units. A unit has one bin in every histogram. A histogram is (e, delta/(4
    D))-DP at L1 sensitivity 2, e being its epsilon in step 2. The D histograms together are (epsilon/2,
    delta/2)-DP by advanced composition with slack delta/4, or by basic composition. This bound is computed, and
    the release is refused if it does not hold. The sum of the truncated residuals is a Gaussian release of exact
    sensitivity (`noisy_truncated_sum`), gaussian_mu(epsilon/2, delta/2)-GDP. Together they are (epsilon,
    delta)-DP. After bottom, the second half is not charged, since nothing is released for it. *Add-remove* is
    refused: steps 4 and 5 use B, which would be secret.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units                        bottom, at no cost (the number of units is public)
    one unit, too few for a bin     bottom
    all equal                       their value, plus noise
    one unit huge                   clipped
    nan, inf, norm overflows        such a unit is in no bin, and is replaced by the centre
    top_eigenvalue 0, inf, nan      refused (a public number)
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    The printed noise is the classical formula at (epsilon/2, delta/2), proven for epsilon/2 <= 1 only. This
    implementation uses the exact (analytic) formula at the same cost, which is valid for every epsilon, and gives
    less noise. The input "target error alpha" is never used in the printed text, and is omitted. "BD" is read as B
    times the dimension, and logarithms are natural. The printed text does not say what happens if no bin is
    released; this implementation returns bottom.

    References
    ----------
    The paper, label algo-priv-mean-est; Liu, Kong, Jain & Oh 2022, arXiv 2205.13709, algorithm 5; Balle & Wang
    2018.
    """
    need_fixed_places(veil, "PrivMean", fixed_places=population.fixed_places)
    check_epsilon(epsilon), check_delta(delta), check_tau(tau), check_sensitivity(top_eigenvalue)
    _check_tails(K, a)
    g, good = gradients(population)
    B, D = g.shape
    if not B:
        return None
    # 1
    u = 2**0.25 * K * math.sqrt(top_eigenvalue) * math.log(25) ** 2
    # 2
    with np.errstate(over="ignore"):
        bins = np.ceil(g / u) - 1
    kept = np.isfinite(bins) & good[:, None]
    histograms = stability_histograms(
        [map(int, bins[kept[:, j], j]) for j in range(D)],
        epsilon=epsilon / (4 * math.sqrt(2 * D * math.log(4 / delta))),
        delta=delta / (4 * D),
        slack=delta / 4,
        total=(epsilon / 2, delta / 2),
        veil=veil,
        what=f"{what}: histograms",
        purpose=purpose,
    )
    # 3
    if not all(histograms):
        return None
    m = np.array([u * max(histogram, key=histogram.__getitem__) for histogram in histograms])
    # 4
    r = 3 * K * math.sqrt(top_eigenvalue) * math.log(B * D / tau) ** a
    # 5
    total = noisy_truncated_sum(
        TensorPopulation(np.where(good[:, None], g, np.nan)),
        centre=m,
        reach=r,
        mu=gaussian_mu(epsilon / 2, delta / 2),
        veil=veil,
        what=f"{what}: truncated sum",
        purpose=purpose,
    )
    mean: FloatArray = (m + total / B).reshape(population.shape)
    return mean


def _check_tails(K: float, a: float) -> None:
    if not (math.isfinite(K) and K > 0 and math.isfinite(a) and a >= 0):
        raise InvalidInputError(
            f"K must be a finite number above 0 and a a finite number of at least 0, got {K!r} and {a!r}."
        )

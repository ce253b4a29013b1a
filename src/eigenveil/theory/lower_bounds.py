"""Lower bounds on the error of any private algorithm.

The universal constants of these theorems are not known. They are the keyword `constant`, 1 by default, so the
values are rates.
"""

from __future__ import annotations

import math

import numpy.typing as npt

from eigenveil._checks import positive
from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.theory.checks import share, spectrum, whole


def lower_bound_spiked(
    n: float, *, d: int, spikes: npt.ArrayLike, sigma: float, epsilon: float, constant: float = 1.0
) -> float:
    """Return the lower bound on zeta for rows of N(0, U diag(spikes) U^T + sigma^2 I).

    corollary-lower-bound-spiked-cov:
    constant * min(sigma sqrt(l_1 + sigma^2) / sum_i (l_i + sigma^2) * (sqrt(d k / n) + d k / (n epsilon)), 1),
    where l are the spikes, all of the same order of magnitude, and k is their number.

    Deviations from the paper
    -------------------------
    As printed. The proof uses the factor gap / sum of lemma:reduction-to-frob-norm without the square root that is
    needed to go from zeta^2 to zeta. The corollary therefore states less than the proof shows: see
    `lower_bound_spiked_rederived`. The signal here is Gaussian; spiked-cov-example, with which the paper compares,
    has a signal of fixed length. The condition on the spikes, printed as exp(e epsilon - ...), is not checked
    (n epsilon seems to be meant).

    Examples
    --------
    >>> round(lower_bound_spiked(10**5, d=100, spikes=[1.0, 1.0], sigma=0.1, epsilon=1.0), 5)
    0.00232
    """
    values = _spikes(spikes, d=d, sigma=sigma)
    square = sigma**2
    rate = sigma * math.sqrt(values[0] + square) / float((values + square).sum())
    return constant * min(rate * _distance_rate(n, d=d, k=values.size, epsilon=epsilon, constant=constant), 1.0)


def lower_bound_spiked_distance(
    n: float, *, d: int, spikes: npt.ArrayLike, sigma: float, epsilon: float, constant: float = 1.0
) -> float:
    """Return the lower bound on the expected Frobenius distance of projectors (spiked-cov-lower-bound).

    For rows of N(0, U diag(spikes) U^T + sigma^2 I):

    constant * min(sigma sqrt(l_1 + sigma^2) / l_1 * (sqrt(d k / n) + d k / (n epsilon)), sqrt(k)).

    References
    ----------
    Cai, Xia & Zha, arXiv 2401.03820, theorem 4.2, with both sides multiplied by sqrt(k).

    Examples
    --------
    >>> round(lower_bound_spiked_distance(10**5, d=100, spikes=[1.0, 1.0], sigma=0.1, epsilon=1.0), 5)
    0.0047
    """
    values = _spikes(spikes, d=d, sigma=sigma)
    top = float(values[0])
    rate = sigma * math.sqrt(top + sigma**2) / top
    distance = rate * _distance_rate(n, d=d, k=values.size, epsilon=epsilon, constant=constant)
    return constant * min(distance, math.sqrt(values.size))


def lower_bound_spiked_rederived(
    n: float, *, d: int, spikes: npt.ArrayLike, sigma: float, epsilon: float, constant: float = 1.0
) -> float:
    """Return the lower bound on zeta, from the distance by lemma:reduction-to-frob-norm with the square root.

    This is `lower_bound_spiked_distance` times sqrt(l_k / (2 sum_i (l_i + sigma^2))). For equal spikes it is at
    least sqrt(k / 2) times the printed corollary, so k-DP-PCA is within a factor of order sqrt(k) of the optimum,
    not k.

    Examples
    --------
    >>> setting = dict(d=100, spikes=[1.0] * 8, sigma=0.01, epsilon=1.0)
    >>> round(lower_bound_spiked_rederived(10**6, **setting) / lower_bound_spiked(10**6, **setting), 3)
    2.0
    """
    values = _spikes(spikes, d=d, sigma=sigma)
    distance = lower_bound_spiked_distance(n, d=d, spikes=values, sigma=sigma, epsilon=epsilon, constant=constant)
    return distance * math.sqrt(values[-1] / (2 * float((values + sigma**2).sum())))


def lower_bound_gaussian(
    n: float, *, d: int, lambda_1: float, lambda_2: float, epsilon: float, constant: float = 1.0
) -> float:
    """Return the lower bound on the expected sine, one component of a Gaussian, delta = 0.

    thm-gauss-lower-bound-k-1: constant * min(kappa (sqrt(d / n) + d / (epsilon n)) sqrt(l_2 / l_1), 1) with
    kappa = l_1 / (l_1 - l_2). Multiply by sqrt(1 / kappa) to get zeta (`zeta_range_from_sin`).

    References
    ----------
    Liu, Kong, Jain & Oh, arXiv 2205.13709, theorem 5.3.

    Examples
    --------
    >>> round(lower_bound_gaussian(10**5, d=100, lambda_1=2.0, lambda_2=1.0, epsilon=1.0), 5)
    0.04614
    """
    whole(d=d)
    positive(n=n, lambda_1=lambda_1, lambda_2=lambda_2, epsilon=epsilon, constant=constant)
    if lambda_2 >= lambda_1:
        raise InvalidInputError(f"lambda_1 must exceed lambda_2, got {lambda_1!r} and {lambda_2!r}.")
    kappa = lambda_1 / (lambda_1 - lambda_2)
    rate = kappa * (math.sqrt(d / n) + d / (epsilon * n)) * math.sqrt(lambda_2 / lambda_1)
    return constant * min(rate, 1.0)


def lower_bound_without_tails(
    n: float, *, d: int, kappa: float, epsilon: float, delta: float, constant: float = 1.0
) -> float:
    """Return the lower bound on the expected sine without A.4 (thm-lower-bound-k-1-wo-ass-4).

    constant * kappa * min(sqrt(min(d, log((1 - exp(-epsilon)) / delta)) / (epsilon n)), 1), over distributions
    with M of order d + sqrt(n epsilon / d), V of order d, gamma of order 1. It decreases like 1 / sqrt(epsilon n),
    whereas A.4 allows 1 / (epsilon n). Without light tails the cost of privacy therefore never becomes negligible
    compared with the sampling error. The bound is 0 if delta is so large that the logarithm is negative. kappa is
    outside the minimum, as printed.

    References
    ----------
    Liu, Kong, Jain & Oh, arXiv 2205.13709, theorem 5.4.

    Examples
    --------
    >>> round(lower_bound_without_tails(10**5, d=100, kappa=2.0, epsilon=0.1, delta=1e-6), 5)
    0.06772
    """
    whole(d=d)
    if d < 2:
        raise InvalidInputError(f"d must be at least 2, got {d}.")
    positive(n=n, kappa=kappa, epsilon=epsilon, constant=constant)
    share(delta=delta)
    budget = min(float(d), math.log(-math.expm1(-epsilon) / delta))
    return constant * kappa * min(math.sqrt(max(budget, 0.0) / (epsilon * n)), 1.0)


def _spikes(spikes: npt.ArrayLike, *, d: int, sigma: float) -> FloatArray:
    """Return the eigenvalues of the signal. Raise unless there are fewer than d and all are above 0."""
    values = spectrum(spikes, name="spikes")
    whole(d=d)
    positive(sigma=sigma, smallest_spike=float(values[-1]))
    if values.size >= d:
        raise InvalidInputError(f"there must be fewer spikes than dimensions, got {values.size} and d = {d}.")
    return values


def _distance_rate(n: float, *, d: int, k: int, epsilon: float, constant: float) -> float:
    """Return sqrt(d k / n) + d k / (n epsilon)."""
    positive(n=n, epsilon=epsilon, constant=constant)
    return math.sqrt(d * k / n) + d * k / (n * epsilon)

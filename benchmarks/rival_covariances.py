"""CoinPress and AdaptiveCov, two private estimators of a covariance, in numpy.

CoinPress: Biswas, Dong, Kamath & Ullman 2020, arXiv 2006.06618, the multivariate covariance (MVC, MVCRec).
AdaptiveCov: Dong, Liang & Yi 2022, arXiv 2205.14324 (GaussCov, SeparateCov and the choice of a clip between them).
EMCov, which the second paper compares with, is the sampler that diffprivlib and OpenDP have.

Steps and constants (shares of rho, clip, ridge, beta, a sixth of a bound) were read in the authors' public code,
twistedcubic/coin-press and hkustDB/PrivateCovariance; we did not have the full text of the papers. Four things
differ from that code, as we think they are meant: A is transposed where it is not symmetric; eigenvalues are
sorted by value, not by size; the error of GaussCov grows with the square of the clip also while clips are tried;
methods are compared at the clip that is used.

Rows have mean 0, and what the methods take as known is given for free: the number of rows, their largest norm
(AdaptiveCov), the largest eigenvalue of their second moment (CoinPress). The number of CoinPress's steps was
chosen in its favour: of one to four, on five cells of the table with two draws each. Two steps were best on flat
d=100 and d=200, three on decay d=100 and one on digits; on decay d=500 zeta was above .97 with any. With ten times
the largest eigenvalue it was above .78 on all five.

Both have a budget of rho-zCDP, with a row replaced. Here, as for all others in the table, a row is added or
removed. Then the sensitivity of a sum of x x^T is R^2, not sqrt(2) R^2, and noise is smaller by as much. rho is
the largest for which the whole is (epsilon, delta)-DP: by the exact curve of the Gaussian mechanism, after the
pure epsilon of AdaptiveCov's comparisons is set aside. For (1, 1e-6) this is .028 and .027, where the usual
conversion, rho + 2 sqrt(rho log(1/delta)) = epsilon, would give .017. Noise is numpy's: good enough to measure
accuracy.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from eigenveil.privacy.gaussian import gaussian_mu

FloatArray = np.typing.NDArray[np.float64]
Random = np.random.Generator

SHARES = (1 / 4, 3 / 4)
"""Of rho, for each step of CoinPress."""
TRACE, COMPARISONS, COVARIANCE = 1 / 8, 1 / 8, 3 / 4
"""Of rho, for each part of AdaptiveCov."""
OUTSIDE = 0.1
"""The probability beta with which bounds on noise and on Gaussian rows may fail."""
LEVELS = 80
"""How many clips AdaptiveCov may try, each half as large as the one before."""


# -- budgets -------------------------------------------------------------------------------------------


def coin_press_rho(epsilon: float, delta: float) -> float:
    """The largest budget within (epsilon, delta); all noise is Gaussian, so rho = mu^2 / 2."""
    return gaussian_mu(epsilon, delta) ** 2 / 2


def adaptive_cov_rho(epsilon: float, delta: float) -> float:
    """The largest budget within (epsilon, delta), the comparisons' share being pure DP."""

    def excess(rho: float) -> float:
        left = epsilon - pure_epsilon(COMPARISONS * rho)
        return math.sqrt(2 * (TRACE + COVARIANCE) * rho) - gaussian_mu(left, delta)

    most = epsilon**2 / (2 * COMPARISONS)  # all of epsilon for the comparisons
    return float(brentq(excess, 1e-12 * most, (1 - 1e-9) * most, rtol=1e-12))


def pure_epsilon(rho: float) -> float:
    """The epsilon of a pure mechanism that is rho-zCDP."""
    return math.sqrt(2 * rho)


# -- noise and clipped sums ----------------------------------------------------------------------------


def deviation(sensitivity: float, rho: float) -> float:
    """The standard deviation of Gaussian noise that is rho-zCDP."""
    return sensitivity / math.sqrt(2 * rho)


def noise(rng: Random, size: int | tuple[int, int], *, sensitivity: float, rho: float) -> FloatArray:
    """All Gaussian noise comes from here."""
    return deviation(sensitivity, rho) * rng.standard_normal(size)


def symmetric_noise(rng: Random, d: int, *, sensitivity: float, rho: float) -> FloatArray:
    """The same noise on and above the diagonal, as both papers have it."""
    Z = noise(rng, (d, d), sensitivity=sensitivity, rho=rho)
    return np.triu(Z) + np.triu(Z, 1).T


def second_moment(X: FloatArray, radius: float, A: FloatArray | None = None) -> FloatArray:
    """The mean of w w^T over rows w = A x, clipped to a norm."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), 8192):
        W = X[start : start + 8192]
        W = W if A is None else W @ A.T
        W = W * np.minimum(1.0, radius / np.maximum(np.linalg.norm(W, axis=1), 1e-300))[:, None]
        total += W.T @ W
    return total / len(X)


def leading(covariance: FloatArray, k: int) -> FloatArray:
    """The top k eigenvectors, as rows."""
    return np.linalg.eigh(covariance)[1][:, ::-1][:, :k].T


# -- CoinPress -----------------------------------------------------------------------------------------


def coin_press(X: FloatArray, largest: float, rho: float, rng: Random) -> FloatArray:
    """A covariance whose eigenvalues are at most `largest`: each step whitens rows by the one before.

    Rows A x of a Gaussian have a covariance of at most I, so they are clipped where all but a tenth of standard
    normal rows lie.
    """
    n, d = X.shape
    radius, ridge = _normal_norm(d, OUTSIDE), math.sqrt(d / n) + d / (2 * n)
    A = None  # the first step has rows as they are, in units of sqrt(largest)

    def eigen(share: float) -> tuple[FloatArray, FloatArray]:
        Z = second_moment(X, radius * math.sqrt(largest), A) / largest
        Z += symmetric_noise(rng, d, sensitivity=radius**2 / n, rho=share * rho)
        values, V = np.linalg.eigh(Z)
        return np.maximum(values, 0.0), V

    for share in SHARES[:-1]:
        values, V = eigen(share)
        whiten = (V / np.sqrt(values + ridge)) @ V.T
        A = whiten if A is None else whiten @ A
    values, V = eigen(SHARES[-1])
    half = V * np.sqrt(values * largest)
    half = half if A is None else np.linalg.solve(A, half)
    return half @ half.T


# -- AdaptiveCov ---------------------------------------------------------------------------------------


def adaptive_cov(X: FloatArray, largest: float, rho: float, rng: Random) -> FloatArray:
    """A covariance of rows of norm at most `largest`, which becomes the unit.

    Clips are tried from 1 downwards until the squared norm that is cut exceeds the error that noise makes; both
    are bounds. The method with the smaller error is used. Eigenvalues are not clipped to [0, 1] in the end, which
    would change no direction.
    """
    n, d = X.shape
    norms = np.minimum(np.linalg.norm(X, axis=1) / largest, 1.0)
    trace = private_trace(norms, TRACE * rho, rng)
    clip = private_clip(norms, d, trace, rho, rng)
    S = second_moment(X, clip * largest) / largest**2
    gauss, separate = errors(n, d, clip, trace, COVARIANCE * rho)
    method = gauss_cov if gauss <= separate else separate_cov
    return method(S, clip**2 / n, COVARIANCE * rho, rng) * largest**2


def private_trace(norms: FloatArray, rho: float, rng: Random) -> float:
    """A number that is rarely below the trace, from 0 to 1."""
    sensitivity = 1 / len(norms)
    drawn = noise(rng, 1, sensitivity=sensitivity, rho=rho)[0]
    above = deviation(sensitivity, rho) * math.sqrt(2 * math.log(8 / OUTSIDE))
    return min(max(float(np.mean(norms**2)) + drawn + above, 1e-16), 1.0)


def private_clip(norms: FloatArray, d: int, trace: float, rho: float, rng: Random) -> float:
    """The last clip at which less is cut than noise adds, by the sparse vector technique.

    A norm counts as the next power of 2, so one row changes n times what is cut by at most 1.
    """
    n, epsilon = len(norms), pure_epsilon(COMPARISONS * rho)
    with np.errstate(divide="ignore"):
        upper = 4.0 ** np.ceil(np.log2(norms))
    threshold = rng.laplace(scale=2 / epsilon)
    clip = 1.0
    for _ in range(LEVELS):
        cut = np.maximum(upper - clip**2, 0.0).sum()
        added = n * min(errors(n, d, clip, trace, COVARIANCE * rho))
        if cut - added + rng.laplace(scale=4 / epsilon) >= threshold:
            break
        clip /= 2
    return min(2 * clip, 1.0)


def errors(n: int, d: int, clip: float, trace: float, rho: float) -> tuple[float, float]:
    """Bounds on the error of GaussCov and SeparateCov in the Frobenius norm.

    Of what turned eigenvectors make, a sixth is taken, as the authors do: the bound is loose.
    """
    outside, half = 0.75 * OUTSIDE, deviation(clip**2 / n, rho / 2)
    gauss = deviation(clip**2 / n, rho) * _wigner_frobenius(d, outside)
    turned = 2 * math.sqrt(trace * half * _wigner_norm(d, outside / 2)) / 6
    return gauss, turned + half * _normal_norm(d, outside / 2)


def gauss_cov(S: FloatArray, sensitivity: float, rho: float, rng: Random) -> FloatArray:
    """GaussCov: noise on every entry."""
    return S + symmetric_noise(rng, len(S), sensitivity=sensitivity, rho=rho)


def separate_cov(S: FloatArray, sensitivity: float, rho: float, rng: Random) -> FloatArray:
    """SeparateCov: eigenvectors of GaussCov, and noise on the eigenvalues, for half of rho each."""
    V = np.linalg.eigh(gauss_cov(S, sensitivity, rho / 2, rng))[1]
    values = np.linalg.eigvalsh(S) + noise(rng, len(S), sensitivity=sensitivity, rho=rho / 2)
    return (V * values) @ V.T


# -- bounds that hold but with probability b -----------------------------------------------------------


def _normal_norm(d: int, b: float) -> float:
    """On the norm of d standard normals."""
    log = math.log(1 / b)
    return math.sqrt(d + 2 * math.sqrt(d * log) + 2 * log)


def _wigner_norm(d: int, b: float) -> float:
    """On the largest eigenvalue of a symmetric matrix of standard normals."""
    t = min((math.log(d) / d) ** 0.3, 0.5)
    middle = (1 + t) * (2 * math.sqrt(d) + 6 * math.sqrt(math.log(d) / math.log(1 + t)))
    return middle + math.sqrt(2 * math.log(2 / b))


def _wigner_frobenius(d: int, b: float) -> float:
    """On its Frobenius norm."""
    log = math.log(2 / b)
    return math.sqrt(d * d + 2 * math.sqrt(d * log) * (1 + math.sqrt(2 * (d - 1))) + 6 * log)

"""The exact privacy curve of the Gaussian mechanism and its inverses, numerically stable far into the tails.

A mechanism is *mu-GDP* if distinguishing neighbouring datasets is at least as hard as distinguishing N(0, 1) from
N(mu, 1). Adding noise of standard deviation sigma to a statistic of L2 sensitivity Delta is mu-GDP with mu = Delta
/ sigma. It is (epsilon, delta)-DP if and only if

    delta >= Phi(-a) - exp(epsilon) Phi(-b),   a = epsilon/mu - mu/2,   b = epsilon/mu + mu/2.

References
----------
Balle & Wang 2018, arXiv 1805.06530, theorem 8; Dong, Roth & Su 2019, arXiv 1905.02383.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from eigenveil.errors import InvalidInputError

_SAFETY = 1e-9
"""Relative margin by which computed values stay on the private side of the exact root."""

MOST_EPSILON, MOST_MU = 1e290, 1e150
"""Largest numbers whose squares and sums do not overflow. Far smaller ones protect nothing."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def check_epsilon(epsilon: float) -> float:
    """Return `epsilon` if it is a positive finite number; raise otherwise."""
    if not (isinstance(epsilon, int | float | np.number) and 0 < epsilon <= MOST_EPSILON):
        raise InvalidInputError(
            f"epsilon must be a finite number above 0 and at most {MOST_EPSILON:g}, got {epsilon!r}.",
            hint="Typical values lie between 0.1 (strong) and 8 (weak).",
        )
    return float(epsilon)


def check_delta(delta: float) -> float:
    """Return `delta` if it lies strictly between 0 and 1; raise otherwise."""
    if not (isinstance(delta, int | float | np.number) and 0 < delta < 1):
        raise InvalidInputError(
            f"delta must lie strictly between 0 and 1, got {delta!r}.",
            hint="Choose delta well below 1 / (number of people), for instance 1e-6; "
            "Gaussian noise cannot give delta = 0.",
        )
    return float(delta)


def check_mu(mu: float) -> float:
    """Return `mu` if it is a positive finite number; raise otherwise."""
    if not (isinstance(mu, int | float | np.number) and 0 < mu <= MOST_MU):
        raise InvalidInputError(
            f"mu must be a finite number above 0 and at most {MOST_MU:g}, got {mu!r}.",
            hint="mu is sensitivity / sigma; mu = 1 is close to (epsilon, delta) = (4.4, 1e-5).",
        )
    return float(mu)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the smallest delta for which mu-GDP implies (epsilon, delta)-DP.

    With the Mills ratio m(t) = Phi(-t)/phi(t), and since phi(a) = exp(epsilon) phi(b), the curve is
    phi(a) (m(a) - m(b)). No large terms cancel in this form. For small mu, the difference m(a) - m(b) is computed
    as an integral (-m'(t) = 1 - t m(t)), so that no terms cancel at all.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 1 / 4.2247) * 1e6, 2)
    1.0
    """
    if mu == 0:
        return 0.0
    if not epsilon >= 0:
        raise InvalidInputError(f"epsilon must be a number of at least 0, got {epsilon!r}.")
    if math.isinf(epsilon):
        return 0.0
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a < 0 and mu >= 0.5:
        return max(0.0, float(ndtr(-a) - np.exp(epsilon + log_ndtr(-b))))
    density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    if mu < 0.5:
        t = a + (_NODES + 1) * (mu / 2)
        slope = 1 - t * math.sqrt(math.pi / 2) * erfcx(t / math.sqrt(2))
        return density * float(_WEIGHTS @ slope) * (mu / 2)
    mills = math.sqrt(math.pi / 2) * (erfcx(a / math.sqrt(2)) - erfcx(b / math.sqrt(2)))
    return density * float(mills)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP.

    The result is rounded to the private side by a relative 1e-9, so that shares still fit the budget if their last
    bits are rounded up.

    Examples
    --------
    >>> round(1 / gaussian_mu(1.0, 1e-6), 4)
    4.2247
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)

    def excess(log_mu: float) -> float:
        return math.log(max(gaussian_delta(epsilon, math.exp(log_mu)), 1e-320)) - math.log(delta)

    low = high = math.log(epsilon)
    while excess(low) > 0:
        low -= 1
    while excess(high) < 0:
        high += 1
    root = brentq(excess, low, high, xtol=1e-13, rtol=8.9e-16)
    return math.exp(root) * (1 - _SAFETY)


def gaussian_epsilon(delta: float, mu: float) -> float:
    """Return the smallest epsilon for which mu-GDP implies (epsilon, delta)-DP; 0 if (0, delta)-DP holds already.

    Examples
    --------
    >>> round(gaussian_epsilon(1e-6, 1 / 4.2247), 4)
    1.0
    """
    delta = check_delta(delta)
    if mu == 0 or gaussian_delta(0.0, mu) <= delta:
        return 0.0
    # delta(epsilon) <= Phi(-a), so the root lies at or below the epsilon at which Phi(-a) = delta
    high = max(mu * (mu / 2 - float(ndtri(delta))), 1e-300) * (1 + 1e-9)

    def excess(epsilon: float) -> float:
        return math.log(max(gaussian_delta(epsilon, mu), 1e-320)) - math.log(delta)

    root = brentq(excess, 0.0, high, xtol=1e-16 * high, rtol=8.9e-16)
    return float(min(root * (1 + 1e-11), high))

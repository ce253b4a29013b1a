"""Lower bounds on mu and epsilon from the errors of a test that distinguishes two neighbouring datasets.

A test says "with" if a score exceeds a threshold. Let a be its rate of false alarms (on releases without the
canary), and b its rate of misses (on releases with it). If the mechanism is mu-GDP, or (epsilon, delta)-DP, then

    mu >= -Phi^-1(a) - Phi^-1(b),   a exp(epsilon) + b >= 1 - delta,   b exp(epsilon) + a >= 1 - delta.

The rates are not known, but counts of both errors are. `error_region` is an exact confidence region for (a, b),
and each bound is its minimum over that region. So it holds with at least the stated confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, binom, norm

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Budget

GATE = 1 - 1e-5
"""Confidence of gates, which run often and must not fail by chance. People may look at 95 %."""
_CORNERS = 128
_LARGEST = 64.0
_THRESHOLDS = np.linspace(0.01, 0.99, 99)


@dataclass(frozen=True)
class ErrorCounts:
    """Errors of a test.

    Parameters
    ----------
    false_alarms, misses : int
        Number of errors on releases without and with the canary.
    without, with_canary : int
        Number of these releases.
    """

    false_alarms: int
    misses: int
    without: int
    with_canary: int

    @classmethod
    def of(cls, without: FloatArray, with_canary: FloatArray, threshold: float) -> ErrorCounts:
        """Count the errors of the test that says "with" above a threshold."""
        alarms, misses = int(np.sum(without > threshold)), int(np.sum(with_canary <= threshold))
        return cls(alarms, misses, len(without), len(with_canary))

    @property
    def mu(self) -> float:
        """Estimate of mu, without a confidence. Half an error is added to both counts, so that it is finite."""
        alarms = (self.false_alarms + 0.5) / (self.without + 1)
        misses = (self.misses + 0.5) / (self.with_canary + 1)
        return float(-norm.ppf(alarms) - norm.ppf(misses))


def check_confidence(confidence: float) -> float:
    """Return `confidence` if it lies strictly between 0 and 1; raise otherwise."""
    if not 0 < confidence < 1:
        raise InvalidInputError(
            f"confidence must lie strictly between 0 and 1, got {confidence!r}.",
            hint="Use 0.95 to look at, and 0.99999 for a gate that must not fail by chance.",
        )
    return confidence


def error_region(errors: ErrorCounts, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return corners (a, b) of a region that contains the true error rates with at least this confidence.

    With p(a) = P(Binomial(n, a) <= false alarms), and likewise p(b), the region has p(a) p(b) >= t. The two counts
    are independent, so p(a) p(b) is at least a product of two uniform numbers, which is below t with probability
    t (1 - log t) (Fisher's method). Every point of the region has both coordinates at or below those of a corner.

    Examples
    --------
    >>> a, b = error_region(ErrorCounts(10, 20, 1000, 1000), 0.95)
    >>> bool(np.all((a > 0.01) | (b > 0.02))), round(float(a.max()), 3), round(float(b.max()), 3)
    (True, 0.02, 0.033)
    """
    check_confidence(confidence)
    log_t = brentq(lambda x: x + math.log1p(-x) - math.log1p(-confidence), -800.0, 0.0)
    shares = np.linspace(0.0, 1.0, _CORNERS + 1)
    a = _upper(errors.false_alarms, errors.without, np.exp(log_t * shares[1:]))
    b = _upper(errors.misses, errors.with_canary, np.exp(log_t * (1 - shares[:-1])))
    return a, b


def mu_bound(errors: ErrorCounts, confidence: float) -> float:
    """Return a lower bound on mu, if the mechanism is mu-GDP; at least 0.

    Examples
    --------
    >>> round(mu_bound(ErrorCounts(3000, 3000, 10_000, 10_000), 0.95), 2)
    1.01
    """
    a, b = error_region(errors, confidence)
    return max(0.0, float(np.min(-norm.ppf(a) - norm.ppf(b))))


def epsilon_bound(errors: ErrorCounts, confidence: float, budget: Callable[[float], Budget]) -> float:
    """Return the largest epsilon whose whole privacy curve is refuted; 0 if none is.

    Parameters
    ----------
    errors : ErrorCounts
        Errors of a test.
    confidence : float
        Confidence of the bound.
    budget : callable
        Claimed budget as a function of epsilon. A mechanism within a budget is (e, budget.delta(e))-DP for every
        e >= 0, so that its error rates satisfy a exp(e) + b >= 1 - budget.delta(e), and the same with a and b
        exchanged.

    Examples
    --------
    >>> pure = lambda epsilon: Budget(mu=0.0, epsilon_aside=epsilon)
    >>> round(epsilon_bound(ErrorCounts(3000, 3000, 10_000, 10_000), 0.95, pure), 2)
    0.82
    """
    a, b = error_region(errors, confidence)

    def refuted(epsilon: float) -> bool:
        stated = budget(epsilon)
        e = stated.epsilon_aside + np.linspace(0.0, 8 * max(stated.mu, 0.1), 60)
        left = 1 - np.array([stated.delta(one) for one in e])
        growth = np.exp(e)
        least = np.minimum(np.outer(a, growth) + b[:, None], np.outer(b, growth) + a[:, None])
        return bool(np.all(np.any(least < left, axis=1)))

    low, high = 0.0, 1e-3
    while refuted(high) and high < _LARGEST:
        low, high = high, 2 * high
    while high - low > 1e-3 * high and high > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


Bound = Callable[[ErrorCounts, float], float]
"""Function of error counts and a confidence, such as `mu_bound`."""


def best_threshold(without: FloatArray, with_canary: FloatArray) -> float:
    """Return the threshold with the largest `lower_estimate`. A bound must use other scores than these."""
    thresholds = np.unique(np.quantile(np.concatenate([without, with_canary]), _THRESHOLDS))
    lower = [lower_estimate(ErrorCounts.of(without, with_canary, one)) for one in thresholds]
    return float(thresholds[int(np.argmax(lower))])


def mu_lower_bound(without: FloatArray, with_canary: FloatArray, *, confidence: float = GATE) -> float:
    """Return a lower bound on mu from scores: the first half chooses a threshold, the second half bounds mu."""
    half = len(without) // 2
    threshold = best_threshold(without[:half], with_canary[:half])
    return mu_bound(ErrorCounts.of(without[half:], with_canary[half:], threshold), confidence)


def smallest_mu_seen(bound: Bound, claimed: float, trials: int, confidence: float, *, power: float) -> float:
    """Return the smallest true mu for which a bound exceeds the claimed value with probability `power`.

    It is for Gaussian scores, a test with equal error rates, and `trials` releases a side that decide. The bound
    is a function of the sum of both errors, so each may exceed its mean by 1/sqrt(2) of the quantile.

    Examples
    --------
    >>> round(smallest_mu_seen(mu_bound, 1.0, 10_000, GATE, power=0.999), 2)
    1.14
    """
    each = norm.cdf(norm.ppf(power) / math.sqrt(2))

    def excess(mu: float) -> float:
        worst = int(binom.ppf(each, trials, norm.cdf(-mu / 2)))
        return bound(ErrorCounts(worst, worst, trials, trials), confidence) - claimed

    largest = 40.0
    return float(brentq(excess, 0.0, largest, xtol=1e-4)) if excess(largest) > 0 else math.inf


def lower_estimate(errors: ErrorCounts) -> float:
    """Return the estimate of mu minus four standard errors, for choices only: it is not a bound.

    A bound at the confidence `GATE` subtracts about as much. With fewer, extreme thresholds are chosen too often.
    """
    alarms = (errors.false_alarms + 0.5) / (errors.without + 1)
    misses = (errors.misses + 0.5) / (errors.with_canary + 1)
    variance = 0.0
    for rate, trials in ((alarms, errors.without), (misses, errors.with_canary)):
        variance += rate * (1 - rate) / trials / norm.pdf(norm.ppf(rate)) ** 2
    return errors.mu - 4 * math.sqrt(variance)


def _upper(errors: int, trials: int, level: FloatArray) -> FloatArray:
    """Return the Clopper-Pearson upper limits of a rate: at each, so few errors have probability `level`."""
    if errors >= trials:
        return np.ones(level.shape)
    return np.asarray(beta.isf(level, errors + 1, trials - errors))

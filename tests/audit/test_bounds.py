"""Lower bounds hold with the stated confidence, and are close to the truth."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from eigenveil.audit import ErrorCounts, epsilon_bound, mu_bound, mu_lower_bound
from eigenveil.audit.bounds import GATE, error_region, smallest_mu_seen
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Budget


def errors_of(mu, trials, rng):
    rate = norm.cdf(-mu / 2)
    return ErrorCounts(rng.binomial(trials, rate), rng.binomial(trials, rate), trials, trials)


@pytest.mark.parametrize(("a", "b", "trials"), [(0.3, 0.3, 50), (0.02, 0.5, 200), (0.001, 0.9, 300)])
def test_the_region_holds_the_truth_as_often_as_it_says(a, b, trials):
    """At 80 %, over 1000 draws: more than 261 misses have a probability of about 1e-6."""
    rng, outside = np.random.default_rng(0), 0
    for _ in range(1000):
        errors = ErrorCounts(rng.binomial(trials, a), rng.binomial(trials, b), trials, trials)
        high_a, high_b = error_region(errors, 0.8)
        outside += not np.any((a <= high_a) & (b <= high_b))
    assert outside <= 261


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_mu_is_bounded_from_below_closely(mu):
    rng, trials = np.random.default_rng(1), 20_000
    found = [mu_bound(errors_of(mu, trials, rng), 0.95) for _ in range(100)]
    assert np.mean(np.array(found) > mu) <= 0.15
    assert 0.6 * mu < np.median(found) < mu


def test_pure_epsilon_is_bounded_from_below():
    """Randomised response: error rates 1/(1 + e^epsilon)."""
    trials, epsilon = 100_000, 1.0
    rate = round(trials / (1 + math.exp(epsilon)))
    found = epsilon_bound(ErrorCounts(rate, rate, trials, trials), GATE, lambda e: Budget(mu=0.0, epsilon_aside=e))
    assert 0.95 < found < 1


def test_the_two_bounds_agree_for_gaussian_claims():
    errors = ErrorCounts(3000, 3000, 10_000, 10_000)
    by_curve = epsilon_bound(errors, 0.95, lambda e: Budget.from_epsilon_delta(e, 1e-6))
    assert by_curve == pytest.approx(Budget.from_mu(mu_bound(errors, 0.95)).epsilon(1e-6), rel=0.01)


@pytest.mark.parametrize("count", [0, 100])
def test_the_ends_of_the_counts(count):
    errors = ErrorCounts(count, count, 100, 100)
    assert 0 <= mu_bound(errors, GATE) < 6
    assert (mu_bound(errors, GATE) == 0) == (count == 100)


def test_scores_that_tell_nothing_bound_nothing():
    rng = np.random.default_rng(2)
    assert mu_lower_bound(*rng.normal(size=(2, 4000))) == 0
    assert mu_lower_bound(rng.normal(size=4000), rng.normal(size=4000) + 2) > 1.5


def test_the_smallest_fault_is_what_is_found_half_of_the_time():
    rng, claimed, trials = np.random.default_rng(3), 0.8, 1000
    at = {power: smallest_mu_seen(mu_bound, claimed, trials, GATE, power=power) for power in (0.5, 0.999)}
    found = {
        power: np.mean([mu_bound(errors_of(mu, trials, rng), GATE) > claimed for _ in range(100)])
        for power, mu in at.items()
    }
    assert 0.3 < found[0.5] < 0.7
    assert found[0.999] > 0.97


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, math.nan])
def test_a_confidence_that_is_none(confidence):
    with pytest.raises(InvalidInputError, match="confidence"):
        mu_bound(ErrorCounts(1, 1, 10, 10), confidence)

"""Agreement with OpenDP, which shares no code with eigenveil: Gaussian, Laplace and thresholded histogram."""

import math

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from eigenveil.mechanisms import Veil, stability_histogram
from eigenveil.mechanisms.histogram import stability_threshold
from eigenveil.privacy import Budget, Ledger
from eigenveil.privacy.gaussian import gaussian_delta

ALARM = 1e-6
SIZE = 8_000
dp.enable_features("contrib")


def ours(kind):
    veil = Veil(Ledger(Budget(mu=100.0, epsilon_aside=100.0)))
    if kind == "gaussian":
        grant = veil.gaussian("x", mu=0.2, sensitivity=1.0, draws=SIZE)
    else:
        grant = veil.laplace("x", epsilon=0.2, sensitivity=1.0, draws=SIZE)
    return grant.release(grant.on_grid(np.zeros(SIZE)))


def theirs(kind):
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    if kind == "gaussian":
        mechanism = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=5.0)
    else:
        mechanism = dp.m.make_laplace(space, dp.l1_distance(T=float), scale=5.0)
    return np.array(mechanism([0.0] * SIZE))


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_same_distribution(kind):
    a, b = ours(kind), theirs(kind)
    assert stats.ks_2samp(a, b).pvalue > ALARM
    assert stats.ks_2samp(np.abs(a), np.abs(b)).pvalue > ALARM
    assert stats.ks_2samp(a * 1.5, b).pvalue < ALARM  # the test can fail


def test_same_gaussian_curve():
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    mechanism = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=5.0))
    for epsilon in (0.5, 1.0, 2.0):
        # theirs goes through zCDP and is looser; ours must lie below, and not absurdly so
        their_delta = mechanism.map(1.0).delta(epsilon)
        assert their_delta / 200 < gaussian_delta(epsilon, 0.2) <= their_delta


def threshold_mechanism(scale, threshold):
    space = (
        dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int)),
        dp.l01inf_distance(dp.absolute_distance(T=int)),
    )
    return dp.m.make_laplace_threshold(*space, scale=scale, threshold=threshold)


def test_same_threshold():
    """The privacy map of OpenDP gives the cost of our threshold, for one bin that changes by one."""
    for epsilon, delta in [(1.0, 1e-6), (0.3, 1e-4), (2.0, 1e-9)]:
        threshold = stability_threshold(1 / epsilon, delta)
        spent_epsilon, spent_delta = threshold_mechanism(1 / epsilon, math.ceil(threshold)).map((1, 1, 1))
        assert spent_epsilon == pytest.approx(epsilon, rel=1e-6)
        assert spent_delta <= delta * 1.2
        _, below = threshold_mechanism(1 / epsilon, math.floor(threshold) - 1).map((1, 1, 1))
        assert below > delta


def test_same_release_rates():
    epsilon, delta, rounds = 1.0, 1e-3, 3_000
    threshold = math.ceil(stability_threshold(1 / epsilon, delta))
    sizes = [1, threshold - 2, threshold + 1, threshold + 4, 40]
    bins = [b for b, size in enumerate(sizes) for _ in range(size)]
    mechanism = threshold_mechanism(1 / epsilon, threshold)
    counts = dict(enumerate(sizes))
    us, them = np.zeros(len(sizes)), np.zeros(len(sizes))
    for _ in range(rounds):
        ledger = Ledger(Budget(mu=0.0, epsilon_aside=epsilon, delta_aside=delta))
        for b in stability_histogram(bins, epsilon=epsilon, delta=delta, veil=Veil(ledger)):
            us[b] += 1
        for b in mechanism(counts):
            them[b] += 1
    # their discrete noise passes at >= threshold and ours is continuous: rates within what that moves
    for size, mine, other in zip(sizes, us / rounds, them / rounds, strict=True):
        spread = 5 * math.sqrt(0.25 / rounds)
        low = 1 - stats.laplace.cdf(threshold + 0.5 - size)
        high = 1 - stats.laplace.cdf(threshold - 1.0 - size)
        assert low - spread <= other <= high + spread
        exact = 1 - stats.laplace.cdf(stability_threshold(1 / epsilon, delta) - size)
        assert abs(mine - exact) <= spread
    assert us[-1] == them[-1] == rounds

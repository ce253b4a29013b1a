"""Predictions are within a factor of 1.5 of real fits, in small settings."""

import numpy as np
import pytest

import eigenveil as ev
from eigenveil.planner.table import even_rotation

DECAY = 10 * 0.7 ** np.arange(40) + 0.1
FLAT = np.array([10.0, 8.0, 6.0, 5.0, 4.0] + [1.0] * 35)
SPIKED = np.array([11.0, 6.0] + [1.0] * 38)


def _rows(values):
    return lambda n, seed: np.random.default_rng(seed).standard_normal((n, values.size)) * np.sqrt(values)


def _table(values, n, seed, *, scaled):
    """Draw rows of a table: means off 0, and columns in units of their own. Return them, and their covariance."""
    rng = np.random.default_rng(seed)
    d = values.size
    Q = even_rotation(values, rng)
    units = 10 ** rng.uniform(0, 3, d) if scaled else np.ones(d)
    spread = np.sqrt(values.mean())
    X = (rng.standard_normal((n, d)) * np.sqrt(values)) @ Q.T + 3 * spread * rng.choice([-1.0, 1.0], d)
    return X * units, (Q * values) @ Q.T, units


def _people(rows):
    def draw(n, seed):
        X = np.random.default_rng(seed).standard_normal((n * rows, DECAY.size)) * np.sqrt(DECAY)
        return ev.samples.people(X, np.repeat(np.arange(n), rows))

    return draw


def _spiked(n, seed):
    Z = np.random.default_rng(seed).standard_normal((n, SPIKED.size))
    return ev.samples.spiked(np.eye(SPIKED.size, 2), [10.0, 5.0], Z)


@pytest.mark.filterwarnings("ignore:about .* units are few")
@pytest.mark.parametrize(
    ("draw", "values", "spread", "numbers"),
    [
        (_rows(DECAY), DECAY, "rows", (10_000, 3, 0.5)),
        (_rows(FLAT), FLAT, "rows", (5000, 5, 1.0)),
        (_people(8), DECAY, 8, (2000, 2, 1.0)),
        (_spiked, SPIKED, float(np.sqrt(40 * 41)), (3000, 2, 0.5)),
    ],
    ids=["decay", "flat", "people", "spiked"],
)
def test_prediction_is_within_a_factor_of_one_and_a_half(draw, values, spread, numbers):
    n, k, epsilon = numbers
    expected = ev.plan(n, values.size, k, epsilon=epsilon, spectrum=values, spread=spread, center=False).rows[0]
    assert 1e-4 < expected.zeta < 0.7
    zetas = []
    for seed in range(2):
        release = ev.tracked_pca(draw(n, seed), k, epsilon=epsilon, delta=1e-6, random_state=seed)
        zetas.append(ev.metrics.zeta(release.components, np.diag(values)))
    assert 1 / 1.5 < expected.zeta / np.mean(zetas) < 1.5
    low, high = expected.interval
    assert low < np.mean(zetas) < high


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scale", [None, "private"])
def test_plans_of_tables_agree_with_fits_that_pay_for_mean_and_scales(scale):
    ratios = []
    for n, values in ((1500, DECAY[:8]), (3000, FLAT[:30]), (20_000, DECAY[:20])):
        expected = ev.plan(n, values.size, 2, epsilon=1.0, spectrum=values, scale=scale).rows[0].zeta
        zetas = []
        for seed in range(4):
            X, covariance, units = _table(values, n, seed, scaled=scale is not None)
            fitted = ev.DPPCA(2, epsilon=1.0, delta=1e-6, scale=scale, random_state=seed).fit(X)
            in_spreads = fitted.components_ * units / (1.0 if scale is None else fitted.scale_)
            zetas.append(ev.metrics.zeta(np.linalg.qr(in_spreads.T)[0].T, covariance))
        ratios.append(expected / np.mean(zetas))
    assert 1 / 1.3 < np.exp(np.mean(np.log(ratios))) < 1.3
    assert 1 / 1.8 < min(ratios) < max(ratios) < 1.8

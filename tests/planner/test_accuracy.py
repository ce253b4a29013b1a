"""Predictions are within a factor of 1.5 of real fits, in small settings."""

import numpy as np
import pytest

import eigenveil as ev

DECAY = 10 * 0.7 ** np.arange(40) + 0.1
FLAT = np.array([10.0, 8.0, 6.0, 5.0, 4.0] + [1.0] * 35)
SPIKED = np.array([11.0, 6.0] + [1.0] * 38)


def _rows(values):
    return lambda n, seed: np.random.default_rng(seed).standard_normal((n, values.size)) * np.sqrt(values)


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
    expected = ev.plan(n, values.size, k, epsilon=epsilon, spectrum=values, spread=spread).rows[0]
    assert 1e-4 < expected.zeta < 0.7
    zetas = []
    for seed in range(2):
        release = ev.tracked_pca(draw(n, seed), k, epsilon=epsilon, delta=1e-6, random_state=seed)
        zetas.append(ev.metrics.zeta(release.components, np.diag(values)))
    assert 1 / 1.5 < expected.zeta / np.mean(zetas) < 1.5
    low, high = expected.interval
    assert low < np.mean(zetas) < high

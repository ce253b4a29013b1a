import math

import numpy as np
import pytest

from eigenveil.engines import TensorPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import Veil, no_noise, tracked_mean
from eigenveil.mechanisms.radius import EDGES
from eigenveil.privacy import Budget, Ledger


def run(values, *, centre=None, n_hat=None, quantile=0.5, source=no_noise, symmetric=False, relation="add-remove"):
    population = TensorPopulation(values, symmetric=symmetric)
    veil = Veil(Ledger(Budget.from_mu(1.0), relation=relation), source=source)
    release = tracked_mean(
        population,
        centre=np.zeros(population.shape) if centre is None else centre,
        n_hat=len(values) if n_hat is None else n_hat,
        mu_radius=0.1,
        mu_sum=0.5,
        quantile=quantile,
        veil=veil,
    )
    return release, veil.ledger


def transcription(values, centre, n_hat, quantile):
    """The three steps of the pseudo-code, written once more in plain numpy."""
    residuals = (values - centre).reshape(len(values), -1)
    norms = np.linalg.norm(residuals, axis=1)
    radius = next((edge for edge in EDGES if np.sum(norms <= edge) >= quantile * n_hat), EDGES[-1])
    total = (residuals * np.minimum(1, radius / norms)[:, None]).sum(axis=0).reshape(values.shape[1:])
    return centre + total / n_hat, radius


@pytest.mark.parametrize("shape", [(7,), (4, 3), (5, 5)])
@pytest.mark.parametrize("quantile", [0.5, 0.9, 1.0])
def test_without_noise_it_is_the_pseudo_code(shape, quantile):
    rng = np.random.default_rng(1)
    values, centre = rng.normal(size=(200, *shape)), rng.normal(size=shape) / 3
    mean, radius = transcription(values, centre, 200.0, quantile)
    release, _ = run(values, centre=centre, quantile=quantile)
    assert release.radius == radius
    np.testing.assert_allclose(release.mean, mean, atol=1e-4)


def test_symmetric_matrices():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(300, 6))
    values = rows[:, :, None] * rows[:, None, :]
    release, _ = run(values, symmetric=True)
    mean, radius = transcription(values, np.zeros((6, 6)), 300.0, 0.5)
    assert release.radius == radius
    np.testing.assert_allclose(release.mean, mean, atol=1e-4)
    noisy, _ = run(values, symmetric=True, source=None)
    np.testing.assert_array_equal(noisy.mean, noisy.mean.T)


@pytest.mark.parametrize(("relation", "factor"), [("add-remove", 1), ("replace", 2)])
def test_ledger_is_radius_and_sum(relation, factor):
    release, ledger = run(np.random.default_rng(0).normal(size=(50, 3)), relation=relation)
    radius, total = ledger.entries
    assert (radius.mu, radius.releases, radius.sensitivity) == (0.1, 10, 1.0)
    assert (total.mu, total.sensitivity) == (0.5, release.radius * factor)
    assert ledger.mu == pytest.approx(math.sqrt(0.26))


def test_noise_shrinks_with_the_spread_around_the_centre():
    """The point of tracking: a good centre makes the same mean far more exact at the same cost."""
    rng = np.random.default_rng(3)
    values = 1000 + rng.normal(size=(5000, 10)) * 0.01
    far, _ = run(values, source=None)
    near, _ = run(values, centre=np.full(10, 1000.0), source=None)
    truth = values.mean(axis=0)
    error_far, error_near = np.linalg.norm(far.mean - truth), np.linalg.norm(near.mean - truth)
    assert near.radius < 0.1
    assert far.radius > 1000
    assert error_near < 1e-3
    assert error_far > 0.1


def test_edge_cases():
    empty, _ = run(np.zeros((0, 2)), n_hat=0.0)
    np.testing.assert_array_equal(empty.mean, [0, 0])
    one, _ = run(np.array([[3.0, 4.0]]), n_hat=-17.3)
    np.testing.assert_allclose(one.mean, [3, 4], atol=1e-4)
    equal, _ = run(np.ones((5000, 2)), centre=np.ones(2), source=None)
    np.testing.assert_allclose(equal.mean, [1, 1], atol=1e-30)
    assert equal.radius == EDGES[0]
    bad, _ = run(np.array([[np.nan, 1.0], [1.0, 1.0], [np.inf, 1.0], [1e300, 0.0]]), n_hat=1.0)
    np.testing.assert_allclose(bad.mean, [1, 1], atol=1e-4)
    for quantile in (0.0, 1.1, math.nan):
        with pytest.raises(InvalidInputError, match="quantile"):
            run(np.ones((1, 1)), quantile=quantile)


def test_a_centre_that_a_wild_round_has_thrown_far_away_is_no_error():
    centre = np.full(2, 1e60)
    release, _ = run(np.ones((3, 2)), centre=centre, source=None)
    assert np.all(np.isfinite(release.mean))

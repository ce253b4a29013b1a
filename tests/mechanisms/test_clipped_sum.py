import math

import numpy as np
import pytest

from eigenveil.engines import TensorPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import Veil, no_noise, noisy_clipped_sum
from eigenveil.privacy import Budget, Ledger


def release(values, *, radius=1.0, mu=0.5, relation="add-remove", source=no_noise, symmetric=False, centre=None):
    population = TensorPopulation(values, symmetric=symmetric)
    veil = Veil(Ledger(Budget.from_mu(1.0), relation=relation), source=source)
    centre = np.zeros(population.shape) if centre is None else centre
    total = noisy_clipped_sum(population, centre=centre, radius=radius, mu=mu, veil=veil)
    assert total.noise == pytest.approx(veil.ledger.entries[-1].scale, rel=1e-6)
    return total.value, veil.ledger


@pytest.mark.parametrize(("relation", "factor"), [("add-remove", 1), ("replace", 2)])
def test_noise_is_sensitivity_over_mu(relation, factor):
    out, ledger = release(np.zeros((1, 40, 50)), radius=3.0, relation=relation, source=None)
    (entry,) = ledger.entries
    assert entry.sensitivity == 3.0 * factor
    assert entry.scale == pytest.approx(6.0 * factor, rel=1e-6)
    assert entry.draws == 2000
    assert np.std(out) == pytest.approx(6.0 * factor, rel=0.1)


def test_symmetric_noise_is_mirrored_and_smaller_off_the_diagonal():
    d = 200
    out, ledger = release(np.zeros((1, d, d)), symmetric=True, source=None)
    np.testing.assert_array_equal(out, out.T)
    assert ledger.entries[0].draws == d * (d + 1) // 2
    upper = out[np.triu_indices(d, 1)]
    assert np.std(np.diag(out)) == pytest.approx(2.0, rel=0.3)
    assert np.std(upper) == pytest.approx(2.0 / math.sqrt(2), rel=0.05)
    # in the coordinates in which the Frobenius norm is Euclidean, all noise is alike
    svec = np.concatenate([np.diag(out), upper * math.sqrt(2)])
    assert np.std(svec) == pytest.approx(2.0, rel=0.05)


def test_value_without_noise():
    rng = np.random.default_rng(0)
    rows, centre = rng.normal(size=(500, 6)), rng.normal(size=6)
    residuals = rows - centre
    plain = residuals * np.minimum(1, 1.2 / np.linalg.norm(residuals, axis=1))[:, None]
    out, _ = release(rows, radius=1.2, centre=centre)
    np.testing.assert_allclose(out, plain.sum(axis=0), atol=500 * 1e-5)


@pytest.mark.parametrize(
    "rows", [np.zeros((0, 3)), np.array([[np.nan, 1, 1], [np.inf, 0, 0], [1e200, 0, 0]]), np.zeros((4, 3))]
)
def test_no_valid_units(rows):
    out, _ = release(rows)
    np.testing.assert_array_equal(out, np.zeros(3))


def test_a_huge_unit_adds_no_more_than_the_radius():
    out, _ = release(np.array([[1e150, 0.0, 0.0]]), radius=2.0)
    assert 1.99 < out[0] <= 2.0


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf])
def test_invalid_radius_is_refused_before_the_charge(radius):
    veil = Veil(Ledger(Budget.from_mu(1.0)))
    with pytest.raises(InvalidInputError):
        noisy_clipped_sum(TensorPopulation(np.zeros((1, 2))), centre=np.zeros(2), radius=radius, mu=0.1, veil=veil)
    assert veil.ledger.entries == ()

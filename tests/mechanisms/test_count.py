import numpy as np
import pytest

from eigenveil.engines import TensorPopulation
from eigenveil.mechanisms import Veil, no_noise, noisy_count
from eigenveil.privacy import Budget, Ledger


def make_veil(relation="add-remove", source=no_noise):
    return Veil(Ledger(Budget.from_mu(1.0), relation=relation), source=source)


@pytest.mark.parametrize(
    ("rows", "good"),
    [
        (np.zeros((0, 2)), 0),
        (np.ones((1, 2)), 1),
        (np.ones((7, 2)), 7),
        (np.array([[np.nan, 1.0], [np.inf, 1.0], [1e200, 1.0], [1.0, 1.0]]), 1),
        (np.full((3, 2), 1e150), 3),
    ],
)
def test_edge_cases(rows, good):
    assert noisy_count(TensorPopulation(rows), mu=0.1, veil=make_veil()) == good
    assert noisy_count(TensorPopulation(rows), mu=0.1, veil=make_veil("replace")) == len(rows)


def test_costs_mu_under_add_remove_and_nothing_under_replace():
    veil = make_veil()
    noisy_count(TensorPopulation(np.ones((5, 1))), mu=0.1, veil=veil)
    assert veil.ledger.mu == pytest.approx(0.1)
    veil = make_veil("replace")
    noisy_count(TensorPopulation(np.ones((5, 1))), mu=0.1, veil=veil)
    assert veil.ledger.mu == 0
    assert "public under replace" in str(veil.ledger)


def test_noise_has_the_paid_spread():
    population = TensorPopulation(np.ones((100, 1)))
    counts = [noisy_count(population, mu=0.5, veil=make_veil(source=None)) for _ in range(2000)]
    assert np.mean(counts) == pytest.approx(100, abs=6 * 2 / np.sqrt(2000))
    assert np.std(counts) == pytest.approx(2.0, rel=0.1)

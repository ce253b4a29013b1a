import numpy as np
import pytest

from eigenveil.engines import TensorPopulation
from eigenveil.mechanisms import AtQuantile, Veil, clipped_mean, private_mean
from eigenveil.privacy import Budget, Ledger


def test_finds_rows_far_from_the_origin():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 20)) + 300.0
    veil = Veil(Ledger(Budget.from_epsilon_delta(1.0, 1e-6)))
    release = private_mean(TensorPopulation(rows), n_hat=20_000, mu=veil.ledger.budget.mu, veil=veil)
    assert np.linalg.norm(release.value - rows.mean(axis=0)) < 0.05
    assert veil.ledger.mu == pytest.approx(veil.ledger.budget.mu)
    assert veil.ledger.epsilon(1e-6) <= 1.0
    assert release.noise * 20_000 == pytest.approx(veil.ledger.entries[-1].scale, rel=1e-6)
    assert [entry.what for entry in veil.ledger.entries] == [
        "mean, rough: radius, histogram",
        "mean, rough: radius",
        "mean, rough: sum",
        "mean: radius, histogram",
        "mean: radius",
        "mean: sum",
    ]


def test_beats_one_round_around_zero():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(5_000, 20)) + 300.0
    population, truth = TensorPopulation(rows), rows.mean(axis=0)
    once = Veil(Ledger(Budget.from_mu(0.2)))
    rule = AtQuantile(mu=0.05)
    rough = clipped_mean(population, centre=np.zeros(20), n_hat=5_000, radius=rule, mu=0.19, veil=once)
    twice = private_mean(population, n_hat=5_000, mu=0.2, veil=Veil(Ledger(Budget.from_mu(0.2))))
    assert np.linalg.norm(twice.value - truth) * 5 < np.linalg.norm(rough.value - truth)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_units_never_fail(n):
    veil = Veil(Ledger(Budget.from_epsilon_delta(0.05, 1e-6)))
    release = private_mean(TensorPopulation(np.ones((n, 3))), n_hat=n, mu=veil.ledger.budget.mu, veil=veil)
    assert np.all(np.isfinite(release.value))

"""Means of columns that are bought together are those that each column would buy by itself."""

import numpy as np
import pytest

from eigenveil.engines import ColumnPopulation, SampledPopulation
from eigenveil.mechanisms import AtQuantile, Veil, clipped_mean, no_noise, private_mean
from eigenveil.mechanisms.column_means import ColumnMeans
from eigenveil.mechanisms.radius import EDGES, reachable_quantile
from eigenveil.operators import Matrices, MeanRows, samples
from eigenveil.privacy import Budget, Ledger
from eigenveil.privacy.budget import split_mu
from support.veils import CountingZeros

RELATIONS = ["add-remove", "replace"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 4)) * [1.0, 20.0, 1e-3, 3.0] + [5.0, -300.0, 0.0, 2.0]
X[:3, 1] = [np.nan, np.inf, 1e200]


def columns(operator, *, squared=False):
    return ColumnPopulation(SampledPopulation(operator, MeanRows()), squared=squared)


def quiet(relation):
    return Veil(Ledger(Budget.from_mu(3.0), relation=relation), source=no_noise)


def told(ledger):
    """What an entry says, but for notes; in no order."""
    return sorted(
        (entry.what, entry.mu, entry.sensitivity, entry.scale, entry.releases, entry.draws, entry.purpose.value)
        for entry in ledger.entries
    )


@pytest.mark.parametrize("relation", RELATIONS)
def test_private_means_and_their_entries_are_those_of_single_columns(relation):
    together = quiet(relation)
    found = ColumnMeans(n_hat=3000.0, mu=0.5, veil=together).private(columns(samples.rows(X)))
    one_by_one, means = quiet(relation), []
    for j in range(4):
        population = SampledPopulation(samples.rows(X[:, j : j + 1]), MeanRows())
        means.append(private_mean(population, n_hat=3000.0, mu=0.5, veil=one_by_one).value[0])
    assert told(together.ledger) == told(one_by_one.ledger)
    np.testing.assert_allclose(found, means, rtol=1e-5)


@pytest.mark.parametrize("relation", RELATIONS)
def test_clipped_squares_and_their_entries_are_those_of_single_columns(relation):
    together = quiet(relation)
    means = ColumnMeans(n_hat=3000.0, mu=0.5, veil=together)
    found = means.clipped(columns(samples.rows(X), squared=True), np.zeros(4), 0.99, what="scale")
    one_by_one, single = quiet(relation), []
    mu_radius, mu = split_mu(0.5, [0.2, 0.8])
    rule = AtQuantile(mu=mu_radius, quantile=reachable_quantile(0.99, n_hat=3000.0, mu=mu_radius))
    options = {"centre": np.zeros((1, 1)), "n_hat": 3000.0, "radius": rule, "mu": mu, "what": "scale"}
    for j in range(4):
        population = SampledPopulation(samples.rows(X[:, j : j + 1]), Matrices())
        single.append(clipped_mean(population, veil=one_by_one, **options).value[0, 0])
    assert told(together.ledger) == told(one_by_one.ledger)
    np.testing.assert_allclose(found, single, rtol=1e-5)


def test_noise_is_that_of_the_ledger_and_of_every_column_by_itself():
    ones = np.ones((1000, 3)) * [1.0, 10.0, 100.0]
    veil = Veil(Ledger(Budget.from_mu(1000.0)))
    found = np.array(
        [
            ColumnMeans(n_hat=1000.0, mu=1.0, veil=veil).clipped(columns(samples.rows(ones)), np.zeros(3), 0.5)
            for _ in range(400)
        ]
    )
    scales = np.array([entry.scale for entry in veil.ledger.entries[-3:]]) / 1000.0
    np.testing.assert_allclose(found.std(axis=0) / scales, 1.0, atol=0.25)
    assert np.abs(np.corrcoef(found.T) - np.eye(3)).max() < 0.25


def test_everything_is_charged_before_noise_is_drawn():
    class Watched(CountingZeros):
        def __call__(self, n):
            paid = sum(entry.draws for entry in veil.ledger.entries)
            out = super().__call__(n)
            assert self.draws <= paid
            return out

    veil = Veil(Ledger(Budget.from_mu(3.0)), source=Watched())
    ColumnMeans(n_hat=3000.0, mu=0.5, veil=veil).private(columns(samples.rows(X)))
    assert veil.source.draws == sum(entry.draws for entry in veil.ledger.entries) == 4 * 22
    assert veil.ledger.mu == pytest.approx(1.0)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_units_never_fail(n):
    veil = Veil(Ledger(Budget.from_epsilon_delta(0.05, 1e-6)))
    rows = samples.rows(np.ones((n, 3)))
    found = ColumnMeans(n_hat=n, mu=veil.ledger.budget.mu / 3, veil=veil).private(columns(rows))
    assert np.all(np.isfinite(found))


def test_a_unit_bad_in_one_column_counts_in_the_others():
    X = np.ones((1000, 2))
    X[:900, 0] = np.nan
    population = columns(samples.rows(X))
    assert population.counts_within(np.zeros(2), EDGES)[:, -1].tolist() == [100, 1000]

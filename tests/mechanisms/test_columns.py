"""Without noise, counts and sums of columns are exact, and one entry of the ledger pays for all columns."""

import numpy as np
import pytest

from eigenveil.engines import ColumnPopulation, SampledPopulation
from eigenveil.mechanisms import SeededBytes, Veil, no_noise
from eigenveil.mechanisms.columns import column_counts, column_sums
from eigenveil.operators import MeanRows, samples
from eigenveil.privacy import Budget, Ledger

X = np.random.default_rng(0).normal(size=(3000, 4)) * [1.0, 20.0, 1e-3, 3.0]
X[:3, 1] = [np.nan, np.inf, 1e200]
GOOD = X[3:]
EDGES = 2.0 ** np.arange(-12, 8)


def columns(which=(0, 1, 2, 3)):
    return ColumnPopulation(SampledPopulation(samples.rows(X), MeanRows()), np.array(which))


def veil(relation, source=no_noise):
    return Veil(Ledger(Budget.from_mu(3.0), relation=relation), source=source)


@pytest.mark.parametrize(("relation", "root", "twice"), [("add-remove", 2.0, 1), ("replace", 8**0.5, 2)])
def test_counts_and_sums_and_their_cost(relation, root, twice):
    own = veil(relation)
    counts = column_counts(columns(), EDGES, mu=0.5, veil=own, note="all")
    expected = [np.histogram(np.abs(column), np.append(0, EDGES))[0] for column in GOOD.T]
    np.testing.assert_array_equal(counts.value, expected)
    radii = np.array([0.5, 60.0, 1e-3, 1.0])
    sums = column_sums(columns(), radii, mu=0.25, veil=own)
    np.testing.assert_allclose(sums.value, np.clip(GOOD, -radii, radii).sum(axis=0), rtol=1e-3, atol=1e-3)
    first, second = own.ledger.entries
    assert first.sensitivity == pytest.approx(root)
    assert (first.draws, first.note) == (4 * 20, "all")
    assert counts.noise == pytest.approx(first.scale, rel=1e-6)
    assert (second.sensitivity, second.draws) == (2.0 * twice, 4)
    np.testing.assert_allclose(sums.noise, radii * second.scale, rtol=1e-6)
    assert own.ledger.mu == pytest.approx(np.hypot(0.5, 0.25))


def test_fewer_columns_have_less_noise():
    assert column_counts(columns([2]), EDGES, mu=1.0, veil=veil("add-remove")).noise == 1.0
    assert column_counts(columns(), EDGES, mu=1.0, veil=veil("add-remove")).noise == 2.0


def test_bins_that_nobody_is_in_get_the_same_noise():
    """Otherwise one person in an empty bin would be seen with certainty."""
    edges = 2.0 ** np.arange(300)
    own = ColumnPopulation(SampledPopulation(samples.rows(np.full((50, 4), 0.5)), MeanRows()), np.arange(4))
    counts = column_counts(own, edges, mu=1.0, veil=veil("add-remove", SeededBytes(0)))
    empty = counts.value[:, 1:]
    assert np.all(empty != 0)
    assert empty.std() == pytest.approx(counts.noise, rel=0.1)

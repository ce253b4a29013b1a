"""Rows are rescaled once, by the product of all scales."""

import numpy as np
import pytest
from scipy import sparse

from eigenveil.engines import PoissonPlan, SampledPopulation
from eigenveil.kernels import Clip
from eigenveil.operators import MeanRows, samples
from eigenveil.operators.rescaled import rescaled

SCALES = np.array([3.0, 0.1, 7.0]), np.array([0.3, 2.0, 1e-5])


def rows_of(operator):
    return np.concatenate([np.atleast_2d(np.asarray(block.values)) for block in operator.source.blocks()])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scales_of_scales_are_multiplied(dtype):
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(dtype)
    twice = rescaled(rescaled(samples.rows(X).shifted(np.ones(3)), SCALES[0]), SCALES[1])
    once = rescaled(samples.rows(X), SCALES[0] * SCALES[1])
    assert rows_of(twice).tobytes() == rows_of(once).tobytes()
    np.testing.assert_allclose(
        rows_of(twice), X / (SCALES[0] * SCALES[1]), rtol=1e-15 if dtype is np.float64 else 1e-6
    )
    np.testing.assert_allclose(twice.shift, 1 / (SCALES[0] * SCALES[1]), rtol=1e-6)


def test_products_of_scales_that_overflow_are_not_formed():
    far = np.full(2, 1e-200)
    rows = rescaled(rescaled(samples.rows(np.array([[1e-300, -2e-310]])), far), far)
    np.testing.assert_allclose(rows_of(rows), [[1e100, -2e90]])


def test_a_sample_of_rescaled_rows_has_the_units_of_the_sample():
    X = np.random.default_rng(1).normal(size=(9000, 3))
    plan, clips = PoissonPlan(0.05), [Clip(2.0, -30)]
    kept = ~plan.skip(0, 0, len(X))
    whole, part = rescaled(samples.rows(X), SCALES[0]), rescaled(samples.rows(X[kept]), SCALES[0])
    edges = np.array([0.5, 1.0, np.inf])
    one = SampledPopulation(whole, MeanRows(), plan=plan).survey(np.zeros(3), edges, clips)
    other = SampledPopulation(part, MeanRows()).survey(np.zeros(3), edges, clips)
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])


def test_sparse_rows_stay_sparse():
    X = sparse.random_array((20, 3), density=0.4, format="csr", rng=np.random.default_rng(2))
    block = next(rescaled(samples.rows(X), SCALES[0]).source.blocks())
    assert isinstance(block.values, sparse.csr_array)
    np.testing.assert_array_equal(block.values.toarray(), X.toarray() / SCALES[0])

"""Every operator equals its explicit matrices, for every view, plan and number of threads."""

import numpy as np
import pytest

from contracts.catalogue import OPERATORS, D
from eigenveil.engines import (
    Coins,
    DisjointPlan,
    LocalEngine,
    PoissonPlan,
    SampledPopulation,
    TensorPopulation,
)
from eigenveil.kernels import Clip
from eigenveil.operators import Matrices, Products

EDGES = 2.0 ** (np.arange(-40, 60) / 4)
CLIPS = [Clip(1.5, -24), Clip(6.0, -22)]
RNG = np.random.default_rng(9)
W = RNG.normal(size=(D, 3))
CENTRE = np.ldexp(np.rint(np.ldexp(RNG.normal(size=(D, 3)), 10)), -10)
SQUARE = np.ldexp(np.rint(np.ldexp(RNG.normal(size=(D, D)), 10)), -10)
SYMMETRIC = (SQUARE + SQUARE.T) / 2
KEY = Coins(b"k" * 32)
PLANS = {
    "full": None,
    "part": DisjointPlan(3, KEY).part(1),
    "poisson": PoissonPlan(0.6, 2, KEY),
}


def tensors_of(explicit, skip, w):
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(explicit, axis=(1, 2))
        good = np.isfinite(norms) & (norms < 1e100)
        good &= True if skip is None else ~skip
        return explicit[good] @ w if w is not None else (explicit[good] + np.swapaxes(explicit[good], 1, 2)) / 2


def compare(population, tensors, centre, *, single=False):
    """Check equality up to rounding, which is coarser in `single` precision: norms to 2^-19, sums to 2^-15."""
    counts, sums = population.survey(centre, EDGES, CLIPS)
    plain = TensorPopulation(tensors.reshape(len(tensors), *centre.shape))
    expected_counts, expected = plain.survey(
        (centre + centre.T) / 2 if population.symmetric else centre, EDGES, CLIPS
    )
    residual = (tensors - centre).reshape(len(tensors), -1)
    on_edge = np.isclose(np.linalg.norm(residual, axis=1)[:, None], EDGES[None], rtol=1e-5 if single else 1e-9)
    on_edge = on_edge.any(axis=0)
    np.testing.assert_array_equal(counts[~on_edge], expected_counts[~on_edge])
    for clip, got, want in zip(CLIPS, sums, expected, strict=True):
        # rounding moves every entry of a unit, and clipping reserves a margin for that
        steps = (8 * np.sqrt(centre.size) + 20) * len(tensors) + 20
        grid = 2.0**clip.exponent
        atol = steps * grid
        if single:
            atol += 2.0**-15 * len(tensors) * (clip.radius + np.linalg.norm(centre))
        np.testing.assert_allclose(got * grid, want * grid, atol=atol)
    assert population.count() == len(tensors)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", OPERATORS)
def test_block_survey_equals_explicit_matrices(name, plan, threads):
    operator, explicit = OPERATORS[name]()
    population = SampledPopulation(operator, Products(W), plan=PLANS[plan], engine=LocalEngine(threads))
    skip = None if PLANS[plan] is None else PLANS[plan].skip(0, 0, len(explicit))
    compare(population, tensors_of(explicit, skip, W), CENTRE, single="float32" in name)
    assert population.slots() == (len(explicit) if skip is None else int((~skip).sum()))


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", OPERATORS)
def test_matrix_survey_equals_explicit_matrices(name, plan):
    operator, explicit = OPERATORS[name]()
    skip = None if PLANS[plan] is None else PLANS[plan].skip(0, 0, len(explicit))
    tensors = tensors_of(explicit, skip, None)
    population = SampledPopulation(operator, Matrices(), plan=PLANS[plan])
    compare(population, tensors, SYMMETRIC, single="float32" in name)
    compare(population, tensors, np.zeros((D, D)), single=True)  # rows are rounded to 2^-17 of the longest


@pytest.mark.parametrize("name", OPERATORS)
def test_products_equal_explicit_matrices(name):
    operator, explicit = OPERATORS[name]()
    products = np.concatenate(list(SampledPopulation(operator, Products(W)).tensors()))
    good = np.isfinite(explicit).all(axis=(1, 2)) & (np.abs(explicit).max(axis=(1, 2)) < 1e100)
    np.testing.assert_allclose(products[good], explicit[good] @ W, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", OPERATORS)
def test_projection_twice(name):
    operator, explicit = OPERATORS[name]()
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(D, 2)))[0]
    P = np.eye(D) - basis @ basis.T
    projected = operator.projected(basis[:, :1]).projected(basis[:, 1:])
    compare(SampledPopulation(projected, Products(W)), P @ tensors_of(explicit, None, P @ W), CENTRE)
    matrices = P @ tensors_of(explicit, None, P)
    compare(SampledPopulation(projected, Matrices()), (matrices + np.swapaxes(matrices, 1, 2)) / 2, SYMMETRIC)

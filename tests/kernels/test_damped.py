"""Norms of damped units, computed from the products with the directions alone, equal those of explicit tensors."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenveil.engines import SampledPopulation
from eigenveil.kernels import Columns, DampedNormSurveyor, RowSurveyor, loops
from eigenveil.operators import Products, samples
from kernels.test_loops import each_variant, problems


def question(d, m, seed=0, inside=0.3):
    """W, C and P of a last round with m directions."""
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(d, m)))[0]
    weights = rng.uniform(0.3, 1.0, size=m)
    return V * (weights / inside), V * (weights * inside * rng.uniform(1, 9, m)), V * np.sqrt(1 - inside)


@settings(max_examples=60)
@given(problems().filter(lambda problem: problem[0].shape[1] > 1), st.integers(2, 9))
def test_numpy_twin_and_all_variants_give_the_same_bits(problem, m):
    rows, _, _, shift, skip = problem
    W, C, P = question(rows.shape[1], min(m, rows.shape[1]))
    forms = (rows, Columns(list(rows.T.copy()))) if len(rows) else (rows,)
    results = [
        DampedNormSurveyor.of(W, C, P, shift).fresh().add(form, skip).tobytes()
        for _ in each_variant()
        for form in forms
    ]
    assert all(result == results[0] for result in results)
    alone = DampedNormSurveyor.of(W, C, P, shift)
    each = [alone.add(rows[i : i + 1], None if skip is None else skip[i : i + 1])[0] for i in range(len(rows))]
    assert np.array(each).tobytes() == results[0], "other rows do not matter"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shifted", [False, True])
def test_norms_are_those_of_the_explicit_tensors(dtype, shifted):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 12)).astype(dtype)
    shift = rng.normal(size=12) if shifted else None
    W, C, P = question(12, 3)
    rows[0] = np.nan
    rows[1] = np.inf
    skip = np.arange(200) == 2
    x = loops.projected_out(loops.shifted(rows, shift), P)
    with np.errstate(invalid="ignore"):
        want = np.linalg.norm(x[:, :, None] * (x @ W)[:, None, :] - np.float32(C), axis=(1, 2))
    got = DampedNormSurveyor.of(W, C, P, shift).add(rows, skip)
    assert np.all(np.isinf(got[:3]))
    assert np.allclose(got[3:], want[3:], rtol=1e-6)
    assert np.array_equal(np.isinf(got), np.isinf(RowSurveyor(W, C, [], shift=shift, removed=P).add(rows, skip)))


def test_other_questions_are_left_to_the_general_loop():
    W, C, P = question(12, 3)
    assert DampedNormSurveyor.of(W, C, P[:, :2], None) is None
    assert DampedNormSurveyor.of(W[:, ::-1].copy(), C, P, None) is None
    assert DampedNormSurveyor.of(W, C[:, ::-1].copy(), P, None) is None
    slanted = P + 1e-6 * P[:, ::-1]
    assert DampedNormSurveyor.of(slanted, C, slanted, None) is None


def test_a_survey_of_counts_takes_it_and_one_of_sums_does_not():
    W, C, P = question(12, 3)
    operator = samples.rows(np.random.default_rng(0).normal(size=(500, 12))).projected(P)
    assert isinstance(operator.surveyor(Products(W), C, []), DampedNormSurveyor)
    population = SampledPopulation(operator, Products(W))
    counts = population.counts_within(C, np.array([0.0, 5.0, 1e9]))
    assert counts[0] == 0
    assert 0 < counts[1] < 500
    assert counts[2] == 500
    assert np.any(population.clipped_sum(C, 5.0, -20))


def test_it_travels_without_its_work_space():
    rows = np.random.default_rng(0).normal(size=(5, 12))
    surveyor = DampedNormSurveyor.of(*question(12, 3), None)
    here = surveyor.add(rows, None)
    there = pickle.loads(pickle.dumps(surveyor))  # noqa: S301
    assert "_work" not in vars(there)
    assert np.array_equal(there.add(rows, None), here)
    assert surveyor.sums() == []

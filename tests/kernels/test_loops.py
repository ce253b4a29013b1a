"""Compiled and numpy loops give the same bits, and a row's bits do not depend on other rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from eigenveil.kernels import loops

EXPONENTS, INNER = [-20, -18], [1.5, 4.0]
VARIANTS = [
    "plain",
    *(["middle"] if loops._VARIANT != "plain" else []),
    *(["wide"] if loops._VARIANT == "wide" else []),
]


@st.composite
def problems(draw):
    n, d, m = draw(st.integers(0, 70)), draw(st.integers(1, 40)), draw(st.integers(1, 11))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = rng.normal(size=(n, d))
    for bad in draw(st.lists(st.sampled_from([math.nan, math.inf, 1e200, 1e154, 5e-324, 0.0]), max_size=4)):
        if n:
            rows[rng.integers(n), rng.integers(d)] = bad
    single = draw(st.booleans())
    with np.errstate(over="ignore"):
        rows = rows.astype(np.float32) if single else rows
    W = rng.normal(size=(d, m))
    C = np.ldexp(np.rint(np.ldexp(rng.normal(size=(d, m)), 15)), -15)
    shift = rng.normal(size=d) if draw(st.booleans()) else None
    skip = rng.random(n) < 0.3 if draw(st.booleans()) else None
    return rows, W, C, shift, skip


def survey(rows, W, C, shift, skip):
    loop = loops.RowLoop(W, C, inner=INNER, exponents=EXPONENTS, f_scale=2.0**30, shift=shift)
    return loop.add(rows, skip), [*loop.sums, loop.f_sums]


def test_the_loops_are_compiled_here():
    assert loops.compiled()


def each_variant():
    """The numpy twin and every compiled variant this machine can run, one after the other."""
    for variant in ["numpy", *VARIANTS]:
        with pytest.MonkeyPatch.context() as patch:
            if variant == "numpy":
                patch.setattr(loops, "_LIBRARY", None)
            patch.setattr(loops, "_VARIANT", variant)
            yield variant


@settings(max_examples=60)
@given(problems())
def test_numpy_twin_and_all_variants_give_the_same_bits(problem):
    rows, W, C, shift, skip = problem
    results = []
    for _ in each_variant():
        norms, sums = survey(rows, W, C, shift, skip)
        product = loops.row_product(rows, W, shift=shift)
        offsets = np.array([0, len(rows) // 3, len(rows) // 3, len(rows)])
        bad = ~np.isfinite(norms)
        means = loops.outer_means(rows, np.where(bad[:, None], 0.0, product), offsets, bad, shift=shift)
        results.append([a.tobytes() for a in (norms, *sums, product + 0.0, means) if not np.isnan(a).any()])
    assert all(result == results[0] for result in results)


@settings(max_examples=40)
@given(problems())
def test_sparse_numpy_twin_and_all_variants_give_the_same_bits(problem):
    rows, W, C, shift, skip = problem
    csr = sparse.csr_array(np.where(np.abs(rows) < 0.7, 0.0, rows).astype(np.float64))
    results = []
    for _ in each_variant():
        loop = loops.SparseRowLoop(
            W, C, inner=INNER, exponents=EXPONENTS, y_scales=[2.0**20, 2.0**19], f_scale=2.0**30, shift=shift
        )
        norms = loop.add(csr, skip)
        results.append([a.tobytes() for a in (norms, *loop.sums, loop.y_sums, loop.f_sums)])
    assert all(result == results[0] for result in results)


@settings(max_examples=60)
@given(problems(), st.randoms(use_true_random=False))
def test_a_row_adds_the_same_bits_wherever_it_stands(problem, random):
    rows, W, C, shift, skip = problem
    skip = np.zeros(len(rows), dtype=bool) if skip is None else skip
    norms, sums = survey(rows, W, C, shift, skip)
    alone = [survey(rows[i : i + 1], W, C, shift, skip[i : i + 1]) for i in range(len(rows))]
    assert norms.tobytes() == np.array([a[0][0] for a in alone]).tobytes()
    for q, total in enumerate(sums):
        np.testing.assert_array_equal(total, sum((a[1][q] for a in alone), start=np.zeros_like(total)))
    order = list(range(len(rows)))
    random.shuffle(order)
    shuffled_norms, shuffled_sums = survey(rows[order], W, C, shift, skip[order])
    assert shuffled_norms.tobytes() == norms[order].tobytes()
    for total, again in zip(sums, shuffled_sums, strict=True):
        np.testing.assert_array_equal(total, again)


def test_values_against_explicit_matrices():
    rng = np.random.default_rng(0)
    rows, W, shift = rng.normal(size=(50, 30)), rng.normal(size=(30, 4)), rng.normal(size=30)
    C = np.ldexp(np.rint(np.ldexp(rng.normal(size=(30, 4)), 10)), -10)
    norms, (small, large, f_sums) = survey(rows, W, C, shift, None)
    x = rows - shift
    tensors = x[:, :, None] * (x @ W)[:, None, :] - C
    exact = np.linalg.norm(tensors.reshape(50, -1), axis=1)
    assert np.all(norms >= exact)
    np.testing.assert_allclose(norms, exact, rtol=1e-9)
    for total, f_sum, inner, exponent in ((small, f_sums[0], 1.5, -20), (large, f_sums[1], 4.0, -18)):
        clipped = (tensors * np.minimum(1, inner / exact)[:, None, None]).sum(axis=0)
        got = np.ldexp(total.astype(float), exponent) - f_sum / 2.0**30 * C
        np.testing.assert_allclose(got, clipped, atol=50 * 2.0**exponent)


@pytest.mark.parametrize("closeness", [1e-3, 1e-6, 1e-9, 0.0])
def test_norms_are_upper_bounds_where_the_centre_nearly_cancels(closeness):
    from fractions import Fraction

    rng = np.random.default_rng(1)
    x, W = rng.normal(size=(1, 40)), rng.normal(size=(40, 3))
    y = loops.row_product(x, W)
    C = np.ldexp(np.rint(np.ldexp(x.T * y + closeness * rng.normal(size=(40, 3)), 45)), -45)
    norms = loops.RowLoop(W, C, inner=[], exponents=[], f_scale=1.0).add(x)
    exact = sum(
        (Fraction(x[0, k]) * Fraction(y[0, j]) - Fraction(C[k, j])) ** 2 for k in range(40) for j in range(3)
    )
    assert Fraction(float(norms[0])) ** 2 >= exact
    assert norms[0] <= 1.01 * math.sqrt(exact) + 2e-6 * np.linalg.norm(C)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "d", "height"), [(0, 3, 5), (1, 1, 1), (300, 19, 7), (300, 16, 1000), (129, 8, 128)]
)
def test_interleave_is_a_transpose(n, d, height, dtype):
    columns = list(np.random.default_rng(0).normal(size=(d, n)).astype(dtype))
    for library in (loops._LIBRARY, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loops, "_LIBRARY", library)
            blocks = list(loops.interleave(columns, height))
        assert all(len(block) <= height and block.flags.c_contiguous and block.dtype == dtype for block in blocks)
        np.testing.assert_array_equal(np.concatenate([np.zeros((0, d)), *blocks]), np.array(columns).T)

"""Compiled and numpy loops give the same bits, and a row's bits do not depend on other rows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from eigenveil.kernels import Columns, loops
from eigenveil.kernels.row_loop import RowLoop, distance_from_multiples, norm_error
from eigenveil.kernels.single_row_loop import SPAN, SingleRowLoop, fits, single_error
from eigenveil.kernels.sparse_row_loop import SparseRowLoop, SparseSpread

EXPONENTS, INNER = [-20, -18], [1.5, 4.0]
COARSE = [-11, -10]  # single precision is possible: (inner + ||C||) 2^11 is below SPAN
KINDS = {"double": (RowLoop, EXPONENTS), "single": (SingleRowLoop, COARSE)}
VARIANTS = [
    "plain",
    *(["middle"] if loops._VARIANT != "plain" else []),
    *(["wide"] if loops._VARIANT == "wide" else []),
]


ODD = [math.nan, math.inf, -math.inf, 1e200, 1e154, 5e-324, 0.0, 3e38, 1e30, 1e-30, 1e-44, 2.0**40, 2.0**-45]


@st.composite
def problems(draw, single=None):
    n, d, m = draw(st.integers(0, 70)), draw(st.integers(1, 150)), draw(st.integers(1, 19))
    if draw(st.booleans()):
        n, d, m = n * 10, min(d, 5), min(m, 3)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = rng.normal(size=(n, d))
    for bad in draw(st.lists(st.sampled_from(ODD), max_size=4)):
        if n:
            rows[rng.integers(n), rng.integers(d)] = bad
            if draw(st.booleans()):
                rows[rng.integers(n)] = bad
    single = draw(st.booleans()) if single is None else single
    with np.errstate(over="ignore"):
        rows = rows.astype(np.float32) if single else rows
    W = rng.normal(size=(d, m))
    C = np.ldexp(np.rint(np.ldexp(rng.normal(size=(d, m)), 15)), -15) * draw(st.sampled_from([0.0, 2.0**-45, 1.0]))
    if draw(st.booleans()):  # a centre for which C^T x is not computed
        C = np.float32(W * rng.normal(size=m) * 2.0 ** draw(st.integers(-30, 30))).astype(float)
    if n and draw(st.booleans()):  # a row close to the centre
        rows[-1] = 1.0
        C = np.float32(np.tile(W.sum(axis=0), (d, 1))).astype(float)
    shift = rng.normal(size=d) if draw(st.booleans()) else None
    skip = rng.random(n) < 0.3 if draw(st.booleans()) else None
    return rows, W, C, shift, skip


def survey(rows, W, C, shift, skip, *, kind="double"):
    make, exponents = KINDS[kind]
    loop = make(W, C, inner=INNER, exponents=exponents, f_scale=2.0**30, shift=shift)
    return loop.add(rows, skip), [*loop.sums, loop.f_sums]


@settings(max_examples=40)
@given(problems(), st.integers(1, 12))
def test_projection_in_the_loop_is_exact_to_the_bit(problem, rank):
    """Every variant, for rows and columns, equals a loop over rows that were projected before."""
    rows, W, C, shift, skip = problem
    removed = np.random.default_rng(rank).normal(size=(rows.shape[1], rank)) / 4
    same = {"inner": INNER, "exponents": EXPONENTS, "f_scale": 2.0**30}
    results = []
    for _ in each_variant():
        for form in (rows, Columns(list(rows.T.copy()))) if len(rows) else (rows,):
            loop = RowLoop(W, C, shift=shift, removed=removed, **same)
            results.append([a.tobytes() for a in (loop.add(form, skip), *loop.sums, loop.f_sums)])
        before = loops.projected_out(loops.shifted(rows, shift), removed)
        loop = RowLoop(W, C, **same)
        results.append([a.tobytes() for a in (loop.add(before, skip), *loop.sums, loop.f_sums)])
    assert all(result == results[0] for result in results)


def test_the_loops_are_compiled_here():
    assert loops.compiled()


def each_variant():
    """Yield the numpy version and every compiled variant that this machine can run."""
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
        loop = SparseRowLoop(
            W, C, inner=INNER, exponents=EXPONENTS, y_scales=[2.0**20, 2.0**19], f_scale=2.0**30, shift=shift
        )
        norms = loop.add(csr, skip)
        results.append([a.tobytes() for a in (norms, *loop.sums, loop._y_words, loop.f_sums)])
    assert all(result == results[0] for result in results)


@settings(max_examples=40)
@given(problems())
def test_sparse_rows_around_a_centre_of_0_give_the_bits_of_one_that_is_computed(problem):
    """If C is 0, its columns are not computed."""
    rows, W, C, shift, skip = problem
    csr = sparse.csr_array(np.where(np.abs(rows) < 0.7, 0.0, rows).astype(np.float64))
    for _ in each_variant():
        results = []
        for centred in (False, True):
            loop = SparseRowLoop(
                W,
                0 * C,
                inner=INNER,
                exponents=EXPONENTS,
                y_scales=[2.0**20, 2.0**19],
                f_scale=2.0**30,
                shift=shift,
            )
            assert not loop.centred
            if centred:
                loop.centred = True
                loop.both = loops.padded_columns(W, 0 * C)
                loop.both_shift = np.append(loop.both_shift[: loop.m], np.zeros(loop.both.shape[1] - loop.m))
            norms = loop.add(csr, skip)
            results.append([a.tobytes() for a in (norms, *loop.sums, loop._y_words, loop.f_sums)])
        assert results[0] == results[1]


@settings(max_examples=60)
@given(problems())
def test_sparse_spread_numpy_twin_and_all_variants_give_the_same_bits(problem):
    rows, W, _, shift, _ = problem
    csr = sparse.csr_array(np.where(np.abs(rows) < 0.7, 0.0, rows).astype(np.float64))
    results = []
    for _ in each_variant():
        whole = SparseSpread(W, shift)(csr)
        results.append((np.isnan(whole).tobytes(), np.nan_to_num(whole).tobytes()))
    assert all(result == results[0] for result in results)


@settings(max_examples=80)
@given(problems(single=True))
def test_single_numpy_twin_and_all_variants_give_the_same_bits_for_rows_and_columns(problem):
    rows, W, C, shift, skip = problem
    results = []
    for _ in each_variant():
        for chunk in (rows, Columns(list(rows.T))):
            norms, sums = survey(chunk, W, C, shift, skip, kind="single")
            results.append([a.tobytes() for a in (norms, *sums)])
    assert all(result == results[0] for result in results)


@settings(max_examples=30)
@given(problems())
def test_columns_give_the_same_bits_as_rows(problem):
    rows, W, C, shift, skip = problem
    want = survey(rows, W, C, shift, skip)
    got = survey(Columns(list(rows.T)), W, C, shift, skip)
    assert [a.tobytes() for a in (got[0], *got[1])] == [a.tobytes() for a in (want[0], *want[1])]


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_adds_the_same_bits_at_every_position(kind):
    @settings(max_examples=60)
    @given(problems(single=True if kind == "single" else None), st.randoms(use_true_random=False))
    def search(problem, random):
        rows, W, C, shift, skip = problem
        skip = np.zeros(len(rows), dtype=bool) if skip is None else skip
        norms, sums = survey(rows, W, C, shift, skip, kind=kind)
        alone = [survey(rows[i : i + 1], W, C, shift, skip[i : i + 1], kind=kind) for i in range(len(rows))]
        assert norms.tobytes() == np.array([a[0][0] for a in alone]).tobytes()
        for q, total in enumerate(sums):
            np.testing.assert_array_equal(total, sum((a[1][q] for a in alone), start=np.zeros_like(total)))
        order = list(range(len(rows)))
        random.shuffle(order)
        shuffled_norms, shuffled_sums = survey(rows[order], W, C, shift, skip[order], kind=kind)
        assert shuffled_norms.tobytes() == norms[order].tobytes()
        for total, again in zip(sums, shuffled_sums, strict=True):
            np.testing.assert_array_equal(total, again)

    search()


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
    rng = np.random.default_rng(1)
    x, W = rng.normal(size=(1, 40)), rng.normal(size=(40, 3))
    y = loops.row_product(x, W)
    C = np.ldexp(np.rint(np.ldexp(x.T * y + closeness * rng.normal(size=(40, 3)), 45)), -45)
    norms = RowLoop(W, C, inner=[], exponents=[], f_scale=1.0).add(x)
    exact = sum(
        (Fraction(x[0, k]) * Fraction(y[0, j]) - Fraction(C[k, j])) ** 2 for k in range(40) for j in range(3)
    )
    assert Fraction(float(norms[0])) ** 2 >= exact
    assert norms[0] <= 1.01 * math.sqrt(exact) + 2e-6 * np.linalg.norm(C)


@pytest.mark.parametrize("scale", [2.0**-120, 2.0**-60, 1e-8, 1.0, 1e4, 1e9])
@pytest.mark.parametrize("stretch", [1.0, 1e-3])
@pytest.mark.parametrize("size", [5e-324, 1e-160, 1e-8, 1.0, 1e8, 1e70])
def test_norms_are_upper_bounds_where_the_centre_is_a_multiple_of_the_directions(scale, stretch, size):
    """C^T x is then not computed. C is in single precision, so it is not an exact multiple.

    mutant: `distance_from_multiples` is 0.
    """
    rng = np.random.default_rng(3)
    W = np.linalg.qr(rng.normal(size=(12, 3)))[0]
    multiples = scale * np.array([3.0, 2.0, 2.0 * stretch])
    C = np.float32(W * multiples).astype(float)
    loop = RowLoop(W, C, inner=[], exponents=[], f_scale=1.0)
    assert loop.multiples is not None
    assert loop.both.shape[1] == 8
    along = W @ rng.normal(size=(3, 20)) / math.sqrt(3) * math.sqrt(min(scale, 1e30))
    rows = np.concatenate([rng.normal(size=(20, 12)) * size, along.T])
    y = loops.row_product(rows, W)
    norms = loop.add(rows)
    assert np.isfinite(norms).all()
    for x, own, norm in zip(rows, y.tolist(), norms.tolist(), strict=True):
        exact = squared_norm(x, own, C)
        assert exact <= Fraction(norm) ** 2 <= exact * (1 + Fraction(1, 2000)) + Fraction(2) ** -900


def test_norms_where_the_rounding_of_the_centre_goes_one_way():
    """All entries of C are rounded down, and x is chosen so that the effect is largest.

    mutant: `distance_from_multiples` is 0.
    """
    d = 64
    W = np.zeros((d, 2))
    W[: d // 2, 0] = W[d // 2 :, 1] = math.sqrt(2 / d)
    value = 1 + 2.0**-23 * 0.49
    multiples = np.array([1.0, 1.0]) * value / math.sqrt(2 / d)
    C = np.where(W > 0, 1.0, 0.0)
    x = np.ones((1, d))
    loop = RowLoop(W, C, inner=[], exponents=[], f_scale=1.0)
    assert loop.multiples is not None
    loop.multiples = multiples  # the largest error of rounding to single precision
    loop.error = norm_error(d, 2) + distance_from_multiples(W, C, multiples)
    (norm,) = loop.add(x)
    exact = squared_norm(x, loops.row_product(x, W)[0].tolist(), C)
    assert Fraction(float(norm)) ** 2 >= exact
    loop.error = norm_error(d, 2)
    (norm,) = loop.add(x)
    assert Fraction(float(norm)) ** 2 < exact  # so the test depends on the distance


@pytest.mark.parametrize(
    "C",
    [
        np.eye(6, 2),  # not a multiple of W
        np.outer(np.arange(6.0), [1.0, 0.0]),  # one column: rows may be close to it
        np.full((6, 2), 2.0**40),
    ],
)
def test_other_centres_are_multiplied(C):
    W = np.stack([np.arange(6.0), np.ones(6)], axis=1)
    assert RowLoop(W, C, inner=[], exponents=[], f_scale=1.0).multiples is None


@pytest.mark.parametrize("kind", ["rows", "sparse rows"])
def test_norms_near_the_centre_where_every_rounding_goes_the_same_way(kind):
    """Of the 1000 terms of C^T x the first is 1.0625, the others a little more than half a unit in its last place,
    so every addition rounds up, and the computed ||x y^T - C||^2 is too small.

    mutants: `norm_error` is 0; the relative error of sparse rows is 0.
    """
    x, W = np.full((1, 1000), 2.0**-27), np.zeros((1000, 1))
    C = np.full((1000, 1), 2.0**-26 * (1 + 2.0**-10))
    x[0, 0] = W[0, 0] = 1.0
    C[0, 0] = 1.0625
    cross = sum(Fraction(a) * Fraction(c) for a, c in zip(x[0].tolist(), C[:, 0].tolist(), strict=True))
    exact = squared_norm(x, [1.0], C)
    for _ in each_variant():
        assert Fraction(float(loops.row_product(x, C)[0, 0])) - cross > 900 * Fraction(2) ** -53
        loop = RowLoop(W, C, inner=[], exponents=[], f_scale=1.0)
        if kind == "sparse rows":
            loop = SparseRowLoop(W, C, inner=[], exponents=[], y_scales=[], f_scale=1.0)
        (norm,) = loop.add(x if kind == "rows" else sparse.csr_array(x))
        assert exact <= Fraction(float(norm)) ** 2 <= exact * (1 + Fraction(1, 10**8))


def test_single_norms_where_every_rounding_goes_the_same_way():
    """Of the 64 terms of C^T x the first is 1.0625, the others a little more than half a unit in its last place,
    so every addition rounds up: the error is close to its bound, and makes the computed norm too small.

    mutant: the error bound of single precision is 16 times too small.
    """
    x = np.full((1, 64), 2.0**-12, dtype=np.float32)
    C = np.full((64, 1), 2.0**-12 * (1 + 2.0**-10))
    W = np.zeros((64, 1))
    x[0, 0] = W[0, 0] = 1.0
    C[0, 0] = 1.0625
    exact = squared_norm(x.astype(float), [1.0], C)
    for _ in each_variant():
        loop = SingleRowLoop(W, C, inner=[], exponents=[], f_scale=1.0)
        products = loop._products(x)[0].tolist()
        assert products[0] == 1.0
        cross = sum(Fraction(float(a)) * Fraction(float(c)) for a, c in zip(x[0], C[:, 0], strict=True))
        missed = 2 * (Fraction(products[1]) - cross)
        bound = Fraction(single_error(64, 1)) * (squared_norm(x, [1.0], 0 * C) + squared_norm(0 * x, [1.0], C))
        assert bound * Fraction(9, 10) < missed < bound
        square = Fraction(float(loop.add(x)[0])) ** 2
        assert square >= exact
        assert square <= exact + 2 * bound  # computed in single precision, with its margin


def squared_norm(x, y, C):
    """||x y^T - C||^2, exactly."""
    pairs = zip(np.ravel(x).tolist(), C.tolist(), strict=True)
    return sum(
        (Fraction(a) * Fraction(b) - Fraction(c)) ** 2 for a, row in pairs for b, c in zip(y, row, strict=True)
    )


def assert_single_norm_is_right(x, W, C):
    """It exceeds the norm of the contribution (y in single or in double precision), by at most 1 %."""
    assert fits(W, C)
    loop = SingleRowLoop(W, C, inner=[], exponents=[], f_scale=1.0)
    square = Fraction(float(loop.add(x)[0])) ** 2
    either = [loop._products(x)[0, : W.shape[1]].tolist(), loops.row_product(x, W)[0].tolist()]
    exact = [squared_norm(x, y, C) for y in either if np.isfinite(y).all()]
    slack = squared_norm(x, either[1], 0 * C) + squared_norm(0 * x, either[1], C)
    assert any(e <= square <= e * Fraction(102, 100) + slack / 10**11 for e in exact)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("closeness", [1.0, 0.1, 0.03, 1e-2, 1e-3, 1e-6, 0.0])
def test_single_norms_near_the_centre(closeness, scale):
    rng = np.random.default_rng(2)
    for _ in range(3):
        x, W = (rng.normal(size=(1, 150)) * scale).astype(np.float32), rng.normal(size=(150, 3))
        C = x.T * (x.astype(float) @ W) * (1 + closeness * rng.normal(size=(150, 3)))
        assert_single_norm_is_right(x, W, C.astype(np.float32).astype(float))


@pytest.mark.parametrize("scale", [1e-44, 1e-30, 2.0**-45, 1e-9, 1.0, 1e9, 2.0**40, 1e30, 1e37])
@pytest.mark.parametrize("reach", [0.0, 2.0**-49, 1e-5, 1.0, 2.0**35])
def test_single_norms_at_any_scale(reach, scale):
    rng = np.random.default_rng(3)
    for _ in range(3):
        x, W = (rng.normal(size=(1, 70)) * scale).astype(np.float32), rng.normal(size=(70, 2))
        C = (rng.normal(size=(70, 2)) * reach).astype(np.float32).astype(float)
        assert_single_norm_is_right(x, W, C)


@pytest.mark.parametrize("scale", [1e-44, 1e-30, 1e-12, 1.0, 1e9, 1e30, 1e37])
@pytest.mark.parametrize("inner", [2.0**-60, 1.0, 2.0**30])
def test_single_rounding_is_as_near_as_stated(inner, scale):
    """Every integer lies within 1/2 + 2^-22.9 |v| + 2^-21 of v = c x_k y_j/2^exponent, for rows of any length."""
    rng = np.random.default_rng(4)
    x, W = (rng.normal(size=(1, 20)) * scale).astype(np.float32), rng.normal(size=(20, 3))
    exponent = math.frexp(inner / SPAN)[1]
    loop = SingleRowLoop(W, np.zeros((20, 3)), inner=[inner], exponents=[exponent], f_scale=1.0)
    factor = Fraction(min(1.0, inner / loop.add(x)[0]))
    either = [loop._products(x)[0, :3].tolist(), loops.row_product(x, W)[0].tolist()]
    misses = []
    for y in either:
        if not np.isfinite(y).all():
            continue
        v = [[Fraction(float(a)) * Fraction(b) * factor / Fraction(2) ** exponent for b in y] for a in x[0]]
        pairs = [
            (Fraction(int(u)), w)
            for us, ws in zip(loop.sums[0], v, strict=True)
            for u, w in zip(us, ws, strict=True)
        ]
        misses.append(max(abs(u - w) - abs(w) / 2**22 * Fraction(536, 1000) for u, w in pairs))
    assert min(misses) <= Fraction(1, 2) + Fraction(1, 2**21)


def test_single_sums_do_not_overflow():
    """Far more rows than fit into 32 bits, all with the largest allowed integer."""
    x, W = np.full((5000, 1), 1e4, dtype=np.float32), np.ones((1, 1))
    loop = SingleRowLoop(W, np.zeros((1, 1)), inner=[SPAN], exponents=[0], f_scale=1.0)
    loop.add(x)
    ((total,),) = loop.sums[0].tolist()
    assert 5000 * (SPAN - 20) <= total <= 5000 * SPAN


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "d", "height"), [(0, 3, 5), (1, 1, 1), (300, 19, 7), (300, 16, 1000), (129, 8, 128)]
)
def test_columns_are_a_transpose(n, d, height, dtype):
    columns = list(np.random.default_rng(0).normal(size=(d, n)).astype(dtype))
    for _ in each_variant():
        whole = Columns(columns)
        blocks = [whole[start : start + height] for start in range(0, n, height)]
        formed = [np.asarray(block) for block in blocks]
        assert all(a.shape == b.shape == (len(b), d) for a, b in zip(formed, blocks, strict=True))
        assert all(
            a.flags.c_contiguous and a.dtype == b.dtype == dtype for a, b in zip(formed, blocks, strict=True)
        )
        assert all(a.nbytes == b.nbytes for a, b in zip(formed, blocks, strict=True))
        np.testing.assert_array_equal(np.concatenate([np.zeros((0, d)), *formed]), np.array(columns).T)
        np.testing.assert_array_equal(np.asarray(whole[1:][1:3]), np.array(columns).T[2:4])
        for chosen in (slice(None, None, 2), np.arange(n) % 3 == 1):
            np.testing.assert_array_equal(whole[chosen], np.array(columns).T[chosen])

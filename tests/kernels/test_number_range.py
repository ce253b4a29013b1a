"""Rule 14: at the edge of the number range no unit adds more than the radius, and every norm is an upper bound.

Rows and public matrices consist of zeros, subnormals, numbers whose squares underflow and numbers whose squares
nearly overflow, in a fixed order. Every loop, compiled and in numpy, is searched in exact arithmetic.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, GramSurveyor, RowSurveyor, SparseRowSurveyor, TensorSurveyor, loops, to_single
from eigenveil.kernels.fixed_point import inner_radius
from eigenveil.kernels.row_loop import FLOOR, RowLoop, residuals, upper_norm, upper_square
from eigenveil.kernels.single_row_loop import SingleRowLoop, fits, single_error
from eigenveil.kernels.sparse_row_loop import SparseRowLoop

DOUBLES = [0.0, 5e-324, 1e-310, 1e-200, 1e-163, -1e-160, 1e-154, 1e-100, 1.0, -1.0]
DOUBLES += [-1e100, 1e150, 1e154, 1.3e154, 1e300]
SINGLES = [0.0, 1e-45, 1e-40, 1e-30, -1e-19, 1e-6, 1.0, 1e12, -1e25, 3e38]
SIZES = [(2.0**-128, 12), (2.0**-128, 32), (2.0**-40, 22), (1.0, 12), (1.0, 32), (2.0**127.75, 24)]
CLIPS = [Clip(radius, math.frexp(radius)[1] - bits) for radius, bits in SIZES]
WEIGHTS = {
    "first axis": [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
    "two axes": [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]],
    "subnormal": [[5e-324, 1e-310], [1.0, 0.0], [0.0, 1e-300]],
    "tiny": [[1e-162, 0.0], [0.0, 1e-170], [1e-160, 0.0]],
    "huge": [[1e300, 0.0], [1e-300, 1.0], [0.0, 1.7e308]],
    "ordinary": [[0.3, -0.7], [0.5, 0.1], [-0.2, 0.6]],
}
CENTRES = {
    "0": [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
    "subnormal": [[5e-324, 0.0], [1e-310, 0.0], [0.0, 1e-308]],
    "tiny": [[1e-163, 1e-40], [0.0, 0.0], [0.0, -1e-160]],
    "ordinary": [[0.5, 0.0], [0.0, -0.25], [0.0, 0.0]],
    "huge": [[1e30, 0.0], [0.0, 1e-300], [1e100, 0.0]],
    "nearly overflows": [[1.2e154, 1.0], [0.0, 1e-300], [1.7e308, 0.0]],
}
SHIFTS = {
    "no shift": None,
    "ordinary": [1.0, -0.5, 0.0],
    "tiny": [1e-163, 0.0, -1e-300],
    "huge": [1e100, 0.0, -1e150],
}
PAIRS = [
    (W, C) for W, C in itertools.product(WEIGHTS, CENTRES) if C == "0" or W in ("two axes", "tiny", "ordinary")
]


def rows_of(values):
    """All rows (a, b, 0) and some with a third entry."""
    pairs = list(itertools.product(values, repeat=2))
    return np.array([(a, b, 0.0) for a, b in pairs] + [(a, b, a) for a, b in pairs[::3]])


@pytest.fixture(params=["compiled", "numpy"])
def rows(request, monkeypatch):
    """Rows for the compiled or the numpy loop; fewer for numpy, which is slow."""
    if request.param == "numpy":
        monkeypatch.setattr(loops, "_LIBRARY", None)
        return rows_of([0.0, 5e-324, 1e-163, 1.0, 1e154])
    return rows_of(DOUBLES)[::2]


BACKGROUND = np.array([[1.0, 2.0, -3.0], [1e-163, 1e154, 0.0], [0.5, -1e-200, 1e100], [math.nan, 1.0, 1e200]])


def exceeds(step, clip, *, symmetric=False):
    """Whether integers exceed the radius, exactly; entries off the diagonal of symmetric matrices count twice."""
    if symmetric:
        step = np.triu(step) + np.triu(step, 1).T
    return sum(int(v) ** 2 for v in np.ravel(step)) * Fraction(4) ** clip.exponent > Fraction(clip.radius) ** 2


def search(surveyor, chunks, background, clips=CLIPS, *, symmetric=False):
    """Check that the contribution of each unit, alone and added to others, is within the radius of every clip."""
    others = surveyor.fresh()
    others.add(background, None)
    before = others.sums()
    for i, chunk in enumerate(chunks):
        alone, with_others = surveyor.fresh(), surveyor.fresh()
        alone.add(chunk, None)
        with_others.merge(others)
        with_others.merge(alone)
        for clip, step, total, least in zip(clips, alone.sums(), with_others.sums(), before, strict=True):
            assert not exceeds(step, clip, symmetric=symmetric), (i, clip)
            assert not exceeds(total - least, clip, symmetric=symmetric), (i, clip)


def singly(rows):
    return [rows[i : i + 1] for i in range(rows.shape[0])]


@pytest.mark.parametrize(("weights", "centre"), PAIRS)
def test_dense_rows(weights, centre, rows):
    surveyor = RowSurveyor(np.array(WEIGHTS[weights]), np.array(CENTRES[centre]), CLIPS)
    search(surveyor, singly(rows), BACKGROUND)


@pytest.mark.parametrize(("weights", "centre"), PAIRS)
def test_rows_of_float32(weights, centre, rows):
    rows = rows_of(SINGLES if len(rows) > 100 else SINGLES[::2]).astype(np.float32)
    with np.errstate(over="ignore"):
        background = BACKGROUND.astype(np.float32)
    for clip in CLIPS[1:5]:  # one by one: single precision is used only if all clips allow it
        surveyor = RowSurveyor(np.array(WEIGHTS[weights]), np.array(CENTRES[centre]), [clip])
        search(surveyor, singly(rows[::5]), background, [clip])


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize(("weights", "centre"), PAIRS[::2])
def test_sparse_rows(weights, centre, shift, rows):
    shift = None if SHIFTS[shift] is None else np.array(SHIFTS[shift])
    surveyor = SparseRowSurveyor(np.array(WEIGHTS[weights]), np.array(CENTRES[centre]), CLIPS[1::2], shift=shift)
    near = rows[:15] if shift is None else to_single(shift) + rows[:15]
    chunks = singly(sparse.csr_array(np.concatenate([rows[::6], near])))
    search(surveyor, chunks, sparse.csr_array(BACKGROUND), CLIPS[1::2])


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("centre", [[0.0, 0.0, 0.0], [5e-324, 1e-163, 1.0], [1e154, 0.0, 1e-310]])
def test_sparse_vectors(centre, shift, rows):
    shift = None if SHIFTS[shift] is None else np.array(SHIFTS[shift])
    surveyor = SparseRowSurveyor(None, np.array(centre), CLIPS, shift=shift)
    search(surveyor, singly(sparse.csr_array(rows[::3])), sparse.csr_array(BACKGROUND))


@pytest.mark.parametrize("shift", SHIFTS)
def test_matrices(shift, rows):
    rows, shift = rows[::3], None if SHIFTS[shift] is None else np.array(SHIFTS[shift])
    search(GramSurveyor(3, CLIPS, shift=shift), singly(rows), BACKGROUND, symmetric=True)
    identity, zero = np.eye(3), np.zeros((3, 3))
    search(RowSurveyor(identity, zero, CLIPS, shift=shift), singly(rows), BACKGROUND, symmetric=True)
    surveyor = SparseRowSurveyor(identity, zero, CLIPS, shift=shift)
    search(surveyor, singly(sparse.csr_array(rows)), sparse.csr_array(BACKGROUND), symmetric=True)


@pytest.mark.parametrize(
    "centre", [[0.0, 0.0, 0.0], [5e-324, 1e-163, 1.0], [1e154, 0.0, 1e-310], [1.7e308, 1.0, 0.0]]
)
def test_tensors(centre, rows):
    search(TensorSurveyor(np.array(centre), CLIPS), singly(rows[::2]), BACKGROUND)


def squared_norm(x, y, C):
    """||x y^T - C||^2, exactly."""
    return sum(
        (Fraction(a) * Fraction(b) - Fraction(c)) ** 2
        for a, row in zip(np.ravel(x).tolist(), C.tolist(), strict=True)
        for b, c in zip(y, row, strict=True)
    )


@pytest.mark.parametrize(("weights", "centre"), PAIRS)
def test_norms_are_upper_bounds(weights, centre, rows):
    """They bound the norm of the computed x (W^T x)^T - C, in every loop.

    mutants: `TINY` or `FLOOR` left out of the margin, in C, in `residuals` or in the sparse numpy loop.
    """
    W, C = np.array(WEIGHTS[weights]), to_single(np.array(CENTRES[centre]))
    single = rows_of(SINGLES).astype(np.float32)[::3]
    public = {"inner": [], "exponents": [], "f_scale": 1.0}
    cases = [
        (RowLoop(W, C, **public), rows, rows),
        (RowLoop(W, C, **public), single, single.astype(float)),
        (SparseRowLoop(W, C, y_scales=[], **public), sparse.csr_array(rows), rows),
    ]
    if fits(W, C):
        cases.append((SingleRowLoop(W, C, **public), single, single.astype(float)))
    for loop, chunk, x in cases:
        norms = loop.add(chunk)
        y = loops.row_product(x, W)
        if isinstance(loop, SingleRowLoop):
            y = np.where(too_hard(loop, chunk)[:, None], y, loop._products(chunk)[:, :2])
        for i in np.flatnonzero(np.isfinite(norms)):
            assert Fraction(float(norms[i])) ** 2 >= squared_norm(x[i], y[i].tolist(), C), (i, type(loop))


def too_hard(loop, chunk):
    """Whether the products of a float32 row are computed in double precision."""
    with np.errstate(all="ignore"):
        s = loops.squared_row_norms(chunk.astype(float))
        exact, whole = residuals(s, loop._products(chunk), loop.d, loop.m, loop.cc)
        margin = single_error(loop.d, loop.m) * (whole + loop.cc) + FLOOR
        return ~((s >= 2.0**-90) & (s <= 2.0**80) & (margin <= exact / 128))


def test_a_product_that_overflows_makes_a_row_with_a_finite_norm_invalid(rows):
    """C^T x overflows, because every addition rounds up, while ||x||^2 and ||C||^2 do not.

    mutant: the computed squared norm, which is minus infinity, is not checked.
    """
    del rows
    x, W = np.full((1, 1000), math.sqrt(2.0**970 * (1 + 2.0**-10))), np.zeros((1000, 1))
    x[0, 0], W[1, 0] = math.sqrt(np.finfo(float).max - 1600 * 2.0**970), 1e-154
    C = x.T.copy()
    assert np.isfinite(loops.squared_row_norms(x)).all()
    assert np.isfinite(upper_square(upper_norm(C)))
    assert np.isinf(loops.row_product(x, C)).all()
    public = {"inner": [1e154], "exponents": [490], "f_scale": 1.0}
    for loop, chunk in (
        (RowLoop(W, C, **public), x),
        (SparseRowLoop(W, C, y_scales=[1.0], **public), sparse.csr_array(x)),
    ):
        assert np.isinf(loop.add(chunk)).all()
        assert not loop.sums[0].any()


EXTREME = [math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 1e200, 1.3e154, 1e154, 1e-163, 5e-324, 3e38, -0.0]
SIGNALLING = np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64)[0]
SIGNALLING_SINGLE = np.array([0x7F800001], dtype=np.uint32).view(np.float32)


def extreme_rows(dtype):
    with np.errstate(all="ignore"):
        rows = np.array([(a, b, 1.0) for a in EXTREME for b in EXTREME]).astype(dtype)
    rows[0, 2:] = SIGNALLING if dtype == np.float64 else SIGNALLING_SINGLE
    return rows


@pytest.mark.parametrize("shift", [None, [1.0, -1e-300, 0.5], [-1.7e308, 1.7e308, 1e300]])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_row_makes_numpy_warn(dtype, shift, rows):
    """Warnings are errors here: no row may cause one, in any loop."""
    del rows
    x = extreme_rows(dtype)
    shift = None if shift is None else np.array(shift)
    W, C = np.array(WEIGHTS["ordinary"]), np.array(CENTRES["ordinary"])
    clips = [Clip(1.0, -20), Clip(2.0**100, 80)]
    bad = ~np.isfinite(loops.squared_row_norms(loops.shifted(x, shift)))
    y = loops.row_product(x, W, shift=shift)
    loops.outer_means(x, y, np.array([0, 10, 50, 51, len(x)]), bad, shift=shift)
    loops.outer_means(x, y, np.array([0, 10, 50, 51, len(x)]), np.zeros_like(bad), shift=shift)
    for surveyor in (RowSurveyor(W, C, clips, shift=shift), GramSurveyor(3, clips, shift=shift)):
        assert np.isinf(surveyor.add(x, None)).any()
        surveyor.sums()
    for surveyor in (
        SparseRowSurveyor(W, C, clips, shift=shift),
        SparseRowSurveyor(None, np.ones(3), clips, shift=shift),
    ):
        surveyor.add(sparse.csr_array(x), None)
        surveyor.sums()
    surveyor = TensorSurveyor(np.full(3, -1e300), clips)
    surveyor.add(x, None)
    surveyor.sums()


@pytest.mark.parametrize("C", [[3e-200, 4e-200], [3e-324, 4e-324], [3e300, 4e300], [1e-170, 1.0], [0.0, -7.0]])
def test_upper_norm(C):
    exact = sum(Fraction(c) ** 2 for c in C)
    norm = upper_norm(np.array(C))
    assert exact <= Fraction(norm) ** 2
    assert norm == 2.0**-1000 or Fraction(norm) ** 2 <= exact * (1 + Fraction(1, 2**44))


def test_upper_norm_of_nothing_and_beyond():
    assert upper_norm(np.zeros((2, 3))) == 0
    assert upper_norm(np.full((2, 3), 1.7e308)) == math.inf


@pytest.mark.parametrize(("radius", "exponent"), [(2.0**-520, -540), (2.0**600, 580), (1.0, -62), (1e300, -501)])
def test_grids_outside_the_range_are_refused(radius, exponent):
    with pytest.raises(InvalidInputError, match="expected a grid"):
        inner_radius(size=1, radius=radius, exponent=exponent)


def test_sparse_rows_with_a_shift_refuse_more_steps_than_sums_can_hold():
    W, C, shift = np.eye(2), np.zeros((2, 2)), np.ones(2)
    SparseRowSurveyor(W, C, [Clip(1.0, -32)], shift=shift)
    SparseRowSurveyor(W, C, [Clip(1.0, -33)])
    with pytest.raises(InvalidInputError, match="at most 2\\^32 grid steps"):
        SparseRowSurveyor(W, C, [Clip(1.0, -33)], shift=shift)


def test_to_single_stays_finite():
    largest, single = np.finfo(float).max, (2 - 2.0**-23) * 2.0**1023
    np.testing.assert_array_equal(to_single(np.array([largest, -largest, single])), [single, -single, single])

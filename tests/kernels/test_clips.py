"""Surveyors: exact final products, and radii below the rounding error of the centre."""

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from eigenveil.kernels import Clip, Columns, RowSurveyor, SparseRowSurveyor, TensorSurveyor, to_single
from eigenveil.kernels.clips import _floored_products
from kernels.test_loops import each_variant

wide = st.floats(-1e6, 1e6).map(lambda x: float(to_single(np.array([x]))[0]))


@given(
    st.lists(wide, min_size=1, max_size=4),
    st.lists(st.integers(-(2**62), 2**62) | st.integers(-(2**90), 2**90), min_size=1, max_size=3),
    st.integers(-60, 20),
)
@example([-5e-324], [1], -1)
@example([1.0, -3.0], [2**89 - 1, -(2**89)], 0)
def test_floored_products_are_exact_modulo_2_to_the_64(single, whole, exponent):
    got = _floored_products(np.array(single), whole, exponent)
    mask = (1 << 29) - 1
    for k, x in enumerate(single):
        for j, w in enumerate(whole):
            parts = ((w >> 87) << 87, ((w >> 58) & mask) << 58, ((w >> 29) & mask) << 29, w & mask)
            exact = sum(math.floor(Fraction(x) * part * Fraction(2) ** exponent) for part in parts)
            assert (int(got[k, j]) - exact) % (1 << 64) == 0


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_to_single_has_24_bits_and_is_near(x):
    y = float(to_single(np.array([x]))[0])
    if abs(x) > 1e-290:
        assert abs(y - x) <= abs(x) * 2.0**-24
        assert math.ldexp(math.frexp(y)[0], 24).is_integer()


def test_a_huge_centre_with_a_small_radius_clips_all_units_to_zero():
    rows, W = np.ones((5, 2)), np.eye(2)
    centre = np.full((2, 2), 1e38)
    for surveyor, chunk in (
        (RowSurveyor(W, centre, [Clip(1e-6, -40)]), rows),
        (SparseRowSurveyor(W, centre, [Clip(1e-6, -40)]), sparse.csr_array(rows)),
    ):
        assert np.all(np.isfinite(surveyor.add(chunk)))
        np.testing.assert_array_equal(surveyor.sums()[0], 0)


def test_sums_survive_a_centre_far_larger_than_the_radius():
    """Large parts cancel: sums modulo 2^64 are still correct."""
    rng = np.random.default_rng(0)
    n, d = 40_000, 3
    rows = np.array([[3.0, 4.0, 5.0]]) + rng.normal(size=(n, d)) * 1e-5
    W = np.eye(d)[:, :2]
    centre = to_single(rows.mean(axis=0)[:, None] * (rows @ W).mean(axis=0)[None])
    clip = Clip(2.0**-10, -40)
    tensors = rows[:, :, None] * (rows @ W)[:, None, :]
    plain = TensorSurveyor(centre, [clip])
    plain.add(tensors)
    for surveyor, chunk in (
        (RowSurveyor(W, centre, [clip]), rows),
        (SparseRowSurveyor(W, centre, [clip]), sparse.csr_array(rows)),
    ):
        surveyor.add(chunk)
        np.testing.assert_allclose(
            np.ldexp(surveyor.sums()[0] * 1.0, -40), np.ldexp(plain.sums()[0] * 1.0, -40), atol=n * 2.0**-28
        )


def excess(whole, clip):
    """Norm of an integer array in radii, exactly, if it exceeds 1; else 0."""
    square = sum(int(v) ** 2 for v in np.ravel(whole)) * Fraction(4) ** clip.exponent
    return math.sqrt(square / Fraction(clip.radius) ** 2) if square > Fraction(clip.radius) ** 2 else 0.0


def near_the_shift(bits, *, d=4, m=2, trials=6):
    """Rows close to their shift, and clips of about their norms, with 2^bits to 2^(bits + 1) steps."""
    rng = np.random.default_rng(0)
    W = np.linalg.qr(rng.normal(size=(d, m)))[0]
    for size, close in itertools.product((0, 22), (0, -10, -20, -22, -24, -30, -50)):
        shift = to_single(rng.normal(size=d) * 2.0**size)
        for _ in range(trials):
            x = (shift + rng.normal(size=d) * 2.0 ** (size + close))[None]
            norm = float(SparseRowSurveyor(W, np.zeros((d, m)), [], shift=shift).add(sparse.csr_array(x))[0])
            radius = norm * 2.0 ** rng.uniform(-3, 1)
            yield x, W, shift, Clip(radius, math.frexp(radius)[1] - 1 - bits)


@pytest.mark.parametrize("bits", [16, 22, 26, 28, 29, 30, 31])
def test_a_sparse_row_near_a_large_shift_adds_the_radius_at_most(bits):
    """c x y^T/grid is up to 2^22 times the radius before the shift is subtracted, too large for 1.5 2^52.

    mutant: the addition of 1.5 2^52 is used for all rows.
    """
    for _ in each_variant():
        for x, W, shift, clip in near_the_shift(bits, trials=6 if bits == 31 else 2):
            surveyor = SparseRowSurveyor(W, np.zeros((4, 2)), [clip], shift=shift)
            surveyor.add(sparse.csr_array(x))
            assert excess(surveyor.sums()[0], clip) == 0


@pytest.mark.parametrize(("size", "n", "bits"), [(22, 1 << 12, 31), (22, 1 << 15, 26), (24, 1 << 17, 24)])
def test_many_sparse_rows_near_a_large_shift_sum_up_exactly(size, n, bits):
    """The sum of Y exceeds 2^63: n equal rows add n times as much as one row, up to the final rounding down.

    mutant: the sum of Y is kept in one word of 64 bits.
    """
    rng = np.random.default_rng(0)
    W = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    shift = to_single(rng.normal(size=4) * 2.0**size)
    x = (shift + rng.normal(size=4))[None]
    C = np.zeros((4, 2))
    radius = float(SparseRowSurveyor(W, C, [], shift=shift).add(sparse.csr_array(x))[0])
    clip = Clip(radius, math.frexp(radius)[1] - 1 - bits)
    one, many, fewer = (SparseRowSurveyor(W, C, [clip], shift=shift) for _ in range(3))
    one.add(sparse.csr_array(x))
    many.add(sparse.csr_array(np.repeat(x, n, axis=0)))
    fewer.add(sparse.csr_array(np.repeat(x, n - 1, axis=0)))
    whole = many.sums()[0]
    assert np.abs(whole - n * one.sums()[0]).max() <= 4 * n
    assert excess(whole - fewer.sums()[0], clip) == 0
    assert many._loop.y_sums[0] == [n * y for y in one._loop.y_sums[0]]
    assert max(abs(y) for y in many._loop.y_sums[0]) > 1 << 63


def test_words_of_the_sum_of_y_hold_two_thousand_million_rows():
    """For the row with the largest Y, 2^31 times each of its words fits into 64 bits, and the sum is exact."""
    largest = 0
    for x, W, shift, clip in near_the_shift(31):
        surveyor = SparseRowSurveyor(W, np.zeros((4, 2)), [clip], shift=shift)
        surveyor.add(sparse.csr_array(x))
        words = [abs(int(w)) for w in np.ravel(surveyor._loop._y_words)]
        assert max(words) << 31 < 1 << 62
        largest = max(largest, *(abs(y) for y in surveyor._loop.y_sums[0]))
        for _ in range(31):
            surveyor.merge(copy.deepcopy(surveyor))
        one = SparseRowSurveyor(W, np.zeros((4, 2)), [clip], shift=shift)
        one.add(sparse.csr_array(x))
        assert surveyor._loop.y_sums[0] == [y << 31 for y in one._loop.y_sums[0]]
        assert np.abs(surveyor.sums()[0] / 2.0**31 - one.sums()[0]).max() <= 4
    assert 1 << 50 < largest < 1 << 58


@pytest.mark.parametrize("kind", [RowSurveyor, SparseRowSurveyor])
def test_merged_parts_equal_the_whole(kind):
    rng = np.random.default_rng(0)
    rows, W, centre = rng.normal(size=(90, 6)), rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    turn = sparse.csr_array if kind is SparseRowSurveyor else np.asarray
    whole = kind(W, centre, [Clip(2.0, -20)], shift=np.full(6, 0.5))
    whole.add(turn(rows))
    parts = kind(W, centre, [Clip(2.0, -20)], shift=np.full(6, 0.5))
    for part in np.array_split(rows, 4):
        another = parts.fresh()
        another.add(turn(part))
        parts.merge(pickle.loads(pickle.dumps(another)))  # noqa: S301
    np.testing.assert_array_equal(parts.sums()[0], whole.sums()[0])


@pytest.mark.parametrize("chunk", [np.asarray, lambda rows: Columns(list(rows.T))])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e18, 1e37])
@pytest.mark.parametrize("times", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("radius", [2.0**-30, 0.7, 1e6])
def test_a_row_of_float32_adds_the_radius_at_most_and_nearly_as_much_if_it_is_long(radius, times, scale, chunk):
    rng = np.random.default_rng(0)
    d, m = 150, 3
    W, direction = np.linalg.qr(rng.normal(size=(d, m)))[0], rng.normal(size=(d, m))
    clip = Clip(radius, math.frexp(radius)[1] - 31)
    centre = direction * (times * radius / np.linalg.norm(direction))
    surveyor = RowSurveyor(W, centre, [clip])
    assert surveyor._single is not None
    rows = (rng.normal(size=(20, d)) * scale).astype(np.float32)
    for i in range(len(rows)):
        alone = surveyor.fresh()
        (norm,) = alone.add(chunk(rows[i : i + 1]))
        square = sum(int(step) ** 2 for step in alone.sums()[0].ravel()) * Fraction(4) ** clip.exponent
        assert square <= Fraction(radius) ** 2
        if norm > radius:
            assert square > Fraction(radius) ** 2 * Fraction(99, 100)


@pytest.mark.parametrize(("times", "size"), [(1e4, 1.0), (0.0, 1e60), (1.0, 1e60), (1.0, 1e-60)])
def test_rows_of_float32_use_float64_where_single_precision_would_cost_too_much(times, size):
    rows, W = np.ones((5, 3), dtype=np.float32), np.full((3, 2), max(size, 1.0))
    centre = np.full((3, 2), times * size)
    surveyor = RowSurveyor(W, centre, [Clip(size, math.frexp(size)[1] - 30)])
    double = RowSurveyor(W, centre, [Clip(size, math.frexp(size)[1] - 30)])
    np.testing.assert_array_equal(surveyor.add(rows), double.add(rows.astype(np.float64)))
    np.testing.assert_array_equal(surveyor.sums()[0], double.sums()[0])


def test_rows_of_both_types_add_up():
    rng = np.random.default_rng(0)
    rows, W, centre = rng.normal(size=(90, 6)).astype(np.float32), rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    surveyor = RowSurveyor(W, centre, [Clip(2.0, -20)], shift=np.full(6, 0.5))
    alone = [surveyor.fresh() for _ in range(2)]
    for another, chunk in zip(alone, (rows[:40], rows[40:].astype(float)), strict=True):
        surveyor.add(chunk)
        another.add(chunk)
    apart = alone[0].sums()[0] + alone[1].sums()[0]
    assert np.abs(surveyor.sums()[0] - apart).max() <= 3  # F C is rounded down once instead of twice
    exact = RowSurveyor(W, centre, [Clip(2.0, -20)], shift=np.full(6, 0.5))
    exact.add(rows.astype(float))
    np.testing.assert_allclose(surveyor.sums()[0], exact.sums()[0], atol=90 * 2.0**-17 * 6 * 2.0**20)


def test_grids_given_as_numpy_integers_are_exact():
    """Powers of numpy integers overflow, and would make an inner radius far too small."""
    assert Clip(1000.0, np.int64(-20)) == Clip(1000.0, -20)
    assert type(Clip(1000.0, np.int64(-20)).exponent) is int

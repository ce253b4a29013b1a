"""Rule 3: clipped norms never exceed the radius, checked in rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, target
from hypothesis import strategies as st

from eigenveil.errors import InvalidInputError
from eigenveil.kernels.fixed_point import (
    clip_to_grid,
    exact_dots,
    exact_sum,
    inner_radius,
    padded_width,
    squared_norms,
    to_single,
    upper_norms,
)

entries = st.one_of(
    st.floats(-10, 10),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-310, 1e154, 1.3e154, 1e308, -1e308, math.inf, -math.inf, math.nan]),
)


def padded(rows):
    rows = np.atleast_2d(np.asarray(rows, dtype=float))
    out = np.zeros((len(rows), padded_width(rows.shape[1])))
    out[:, : rows.shape[1]] = rows
    return out


def clip(rows, radius, exponent):
    block = padded(rows)
    return clip_to_grid(block, squared_norms(block), size=len(rows[0]), radius=radius, exponent=exponent)


def exact_square(row):
    return sum((Fraction(float(x)) ** 2 for x in row), start=Fraction(0))


@given(
    st.integers(1, 9).flatmap(
        lambda d: st.lists(st.lists(entries, min_size=d, max_size=d), min_size=1, max_size=4)
    ),
    st.floats(-120, 120).map(lambda x: 2.0**x),
    st.integers(6, 40),
)
def test_no_row_is_ever_above_the_radius(rows, radius, fineness):
    exponent = math.floor(math.log2(radius)) - fineness
    clipped = clip(rows, radius, exponent)
    assert np.all(clipped == np.rint(clipped))
    largest = max(exact_square(row) for row in clipped) * Fraction(4) ** exponent
    target(float(largest / Fraction(radius) ** 2))
    assert largest <= Fraction(radius) ** 2


def test_naive_clipping_fails_the_same_check():
    """The check can fail: plain x * min(1, R/norm) leaves many rows above R."""
    rows = np.random.default_rng(0).normal(size=(2000, 7))
    norms = np.sqrt((rows**2).sum(axis=1))
    naive = rows * np.minimum(1, 1 / norms)[:, None]
    above = sum(exact_square(row) > 1 for row in naive)
    assert above > 400
    ours = clip(rows, 1.0, -40)
    assert not any(exact_square(row) * Fraction(4) ** -40 > 1 for row in ours)
    np.testing.assert_allclose(np.ldexp(ours[:, :7], -40), naive, atol=1e-11)


def test_rows_inside_are_only_rounded():
    rows = np.random.default_rng(1).normal(size=(50, 5))
    ours = np.ldexp(clip(rows, 100.0, -30)[:, :5], -30)
    assert np.max(np.abs(ours - rows)) <= 2.0**-31


@given(st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=33))
def test_upper_norm_is_an_upper_bound(row):
    block = padded([row])
    upper = float(upper_norms(squared_norms(block), block.shape[1])[0])
    assert Fraction(upper) ** 2 >= exact_square(row)


@pytest.mark.parametrize(
    "row", [[math.nan, 1.0], [math.inf, 1.0], [-math.inf, math.nan], [1e200, 1.0], [1e308, 1e308]]
)
def test_bad_rows_become_zero(row):
    assert not np.any(clip([row], 1.0, -20))


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_bad_radius(radius):
    with pytest.raises(InvalidInputError, match="radius"):
        inner_radius(size=1, radius=radius, exponent=-10)


def test_a_grid_too_coarse_is_refused():
    with pytest.raises(InvalidInputError, match="too coarse"):
        inner_radius(size=100, radius=1.0, exponent=-2)


@pytest.mark.parametrize("size", [1, 2, 3, 64, 65])
def test_padded_width(size):
    width = padded_width(size)
    assert width >= size > width / 2
    assert width & (width - 1) == 0


@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 3, 1023, 1024, 1025, 3000]),
    st.sampled_from([0, 1, 20, 300, 1000]),
    st.lists(entries, max_size=3),
)
def test_exact_dots_have_the_bits_of_exact_sums(seed, rows, spread, nasty):
    rng = np.random.default_rng(seed)
    matrix = np.ldexp(rng.normal(size=(rows, 3)), rng.integers(-spread, spread + 1, size=(rows, 3)))
    matrix[rng.random((rows, 3)) < 0.2] = 0.0
    matrix[rows // 2 :, 0] = -matrix[: rows - rows // 2, 0]  # most terms cancel
    matrix[: len(nasty), 1] = nasty[:rows]
    vector = rng.normal(size=rows)
    with np.errstate(all="ignore"):
        want = np.array([exact_sum(column * vector) for column in matrix.T])
    assert exact_dots(matrix, vector).tobytes() == want.tobytes()


@given(st.lists(entries.filter(math.isfinite) | st.floats(2.0**-130, 2.0**-120), min_size=1))
def test_both_paths_of_to_single_agree(values):
    """Single numbers use the fast path if possible; in an array with a huge number all use the slow path."""
    slow = to_single(np.array([*values, 2.0**200]))[:-1]
    assert np.array([to_single(np.array([value]))[0] for value in values]).tobytes() == slow.tobytes()

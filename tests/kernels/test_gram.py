"""Sums of x x^T over integer rows: exact, the same bits in every variant, and never beyond the radius."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, Columns, GramSurveyor, gram, loops
from kernels.test_loops import each_variant, problems

CLIPS = [Clip(1.5, -24), Clip(40.0, -17)]


def whole_rows(surveyor, rows):
    """Rows as the integers that BLAS multiplies, for one clip."""
    y = np.empty((1, *rows.shape))
    surveyor._whole(rows, None, np.empty(len(rows)), y)
    return y[0]


def survey(rows, clips=CLIPS, *, shift=None, skip=None):
    surveyor = GramSurveyor(rows.shape[1], clips, shift=shift)
    return surveyor.add(rows, skip), surveyor.sums()


def length(whole, clip):
    """Squared Frobenius norm of an integer matrix in grid steps, exactly."""
    return sum(int(value) ** 2 for value in np.ravel(whole)) * Fraction(4) ** clip.exponent


@settings(max_examples=40)
@given(problems())
def test_numpy_twin_and_all_variants_give_the_same_bits_for_rows_and_columns(problem):
    rows, _, _, shift, skip = problem
    results = []
    for _ in each_variant():
        for form in (rows, Columns(list(rows.T.copy()))) if len(rows) else (rows,):
            norms, sums = survey(form, shift=shift, skip=skip)
            results.append([a.tobytes() for a in (norms, *sums)])
    assert all(result == results[0] for result in results)


@settings(max_examples=60)
@given(problems(), st.floats(-60, 60), st.floats(0, 12), st.integers(12, 30))
def test_no_row_moves_the_sum_by_more_than_the_radius(problem, scale, times, fineness):
    rows, *_ = problem
    with np.errstate(over="ignore"):
        rows = rows[:6] * 2.0**scale
    d = rows.shape[1]
    radius = 2.0 ** (2 * scale + times) * 1.37
    clip = Clip(radius, math.frexp(radius)[1] - fineness - 2 * d.bit_length() // 2)
    whole = survey(rows, [clip])[1][0]
    for i in range(len(rows)):
        step = whole - survey(np.delete(rows, i, axis=0), [clip])[1][0]
        assert length(step, clip) <= Fraction(radius) ** 2
        np.testing.assert_array_equal(step, step.T)


def test_clipping_removes_little_more_than_necessary():
    rows = np.random.default_rng(0).normal(size=(20, 30)) * 1e3
    for i in range(len(rows)):
        _, sums = survey(rows[i : i + 1])
        for clip, whole in zip(CLIPS, sums, strict=True):
            assert 0.999 * clip.radius < math.sqrt(length(whole, clip)) <= clip.radius


def test_sums_are_those_of_the_clipped_matrices():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(700, 12)) * rng.lognormal(size=(700, 1))
    norms, sums = survey(rows)
    squares = np.sum(rows**2, axis=1)
    np.testing.assert_allclose(norms, squares, rtol=1e-14)
    for clip, whole in zip(CLIPS, sums, strict=True):
        c = np.minimum(1, clip.radius / squares)
        expected = (rows * c[:, None]).T @ rows
        got = whole * 2.0**clip.exponent
        np.testing.assert_allclose(got, expected, atol=len(rows) * clip.radius * 2.0**-15)
        assert np.linalg.norm(got - expected) < 1e-4 * np.linalg.norm(expected)


def test_floats_sum_integers_exactly():
    """They agree with Python integers, for rows that all lie at the radius."""
    rows = np.random.default_rng(2).normal(size=(3000, 5)) * 1e6
    clip = Clip(1.0, -31)
    surveyor = GramSurveyor(5, [clip])
    y = whole_rows(surveyor, rows)
    assert np.abs(y).max() > 2**15
    whole = [[int(value) for value in row] for row in y.T]
    exact = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in whole] for u in whole]
    surveyor.add(rows)
    up = 2 * surveyor._row_exponents[0] - clip.exponent
    assert surveyor.sums()[0].tolist() == [[math.floor(value * 2.0**up) for value in row] for row in exact]


@pytest.mark.parametrize("radius", [math.nextafter(4.0**k * 2**odd, 0.0) for k in (-60, 0, 9) for odd in (0, 1)])
def test_sums_of_the_longest_rows_do_not_overflow(radius):
    """2^21 rows fit into floats and 2^31 into 64-bit integers, for a radius just below a power of two.

    mutants: `_BITS` 33 in place of 32; more than 2^(53 - `_BITS`) rows summed as floats.
    """
    surveyor = GramSurveyor(1, [Clip(radius, math.frexp(radius)[1] - 31)])
    far = np.full((1, 1), 1e60)
    ((entry,),) = whole_rows(surveyor, far).tolist()
    square = int(entry) ** 2
    assert square > 2**30  # the longest rows, so the check is not trivial
    assert square * gram._MOST_ROWS <= 2**53
    assert square * 2**31 < 2**63
    surveyor.add(far, None)
    surveyor._multiply()
    surveyor._near *= gram._MOST_ROWS - 1  # as after that many rows
    surveyor._rows = gram._MOST_ROWS - 1
    surveyor.add(far, None)
    surveyor._settle()
    assert surveyor._sums.item() == square * gram._MOST_ROWS


def added_many_times(surveyor, row, times):
    """Return a surveyor that has added a row `times` times, by merging two copies again and again."""
    whole, double = surveyor.fresh(), surveyor.fresh()
    double.add(row)
    while times:
        if times % 2:
            whole.merge(pickle.loads(pickle.dumps(double)))  # noqa: S301
        double.merge(pickle.loads(pickle.dumps(double)))  # noqa: S301
        times //= 2
    return whole


@pytest.mark.parametrize("exponent", [-31, -20, -4])
@pytest.mark.parametrize("n", [5, 2**30, 2**31 - 1, 2**33 + 7, 3**25])
def test_sums_of_any_number_of_rows_are_exact_modulo_two_to_the_64(exponent, n):
    """Coarse grids divide the sum, so it may not be reduced first: one of 2^31 rows would move it by 2^32 R.

    mutants: sums in one word; the low word takes 2^31 rows and more.
    """
    row, clip = np.array([[1.0, -1.0, 0.25]]), Clip(1.0, exponent)
    surveyor = GramSurveyor(3, [clip])
    y = [int(entry) for entry in whole_rows(surveyor, row)[0]]
    up = 2 * surveyor._row_exponents[0] - clip.exponent
    (sums,) = added_many_times(surveyor, row, n).sums()
    exact = [[math.floor(Fraction(n * a * b) * Fraction(2) ** up) for b in y] for a in y]
    assert sums.tolist() == [[(entry + 2**63) % 2**64 - 2**63 for entry in line] for line in exact]


def test_rounding_the_sum_down_is_included_in_the_sensitivity():
    """A row changes the sum by at most the radius, also if one grid step per entry is a large part of it.

    mutant: the steps by which the sum is rounded down are not subtracted from the radius.
    """
    rng = np.random.default_rng(8)
    closest = 0.0
    for trial in range(400):
        d = 2 + trial % 3
        clip = Clip(1.0, -(d + trial % 5).bit_length() - 2)
        row = np.abs(rng.normal(size=(1, d))) * 100
        others = rng.normal(size=(int(rng.integers(1, 6)), d)) * 2.0 ** rng.uniform(-3, 1)
        step = survey(np.concatenate([others, row]), [clip])[1][0] - survey(others, [clip])[1][0]
        assert length(step, clip) <= 1
        closest = max(closest, length(step, clip))
    assert closest > 0.7  # some rows come close to it


@pytest.mark.parametrize("most", [256, 1000])
def test_moving_floats_into_integers_changes_nothing(monkeypatch, most):
    rows = np.random.default_rng(3).normal(size=(5000, 600))[:, :4].copy()
    before = survey(rows)[1]
    monkeypatch.setattr(gram, "_MOST_ROWS", most)
    monkeypatch.setattr(gram, "_BLOCK_ENTRIES", 256)
    monkeypatch.setattr(gram, "_FEWEST_ROWS", 64)
    np.testing.assert_array_equal(before, survey(rows)[1])


def test_merged_parts_equal_the_whole():
    rows = np.random.default_rng(4).normal(size=(90, 6))
    surveyor = GramSurveyor(6, CLIPS)
    for i in range(3):
        another = surveyor.fresh()
        another.add(rows[30 * i : 30 * (i + 1)], None)
        surveyor.merge(pickle.loads(pickle.dumps(another)))  # noqa: S301
    np.testing.assert_array_equal(surveyor.sums(), survey(rows)[1])


def test_invalid_rows_add_nothing():
    rows = np.ones((6, 3))
    rows[1, 0], rows[2, 1], rows[3, 2], rows[4, 0] = math.nan, math.inf, 1e200, 1e80
    norms, sums = survey(rows)
    assert np.isinf(norms).tolist() == [False, True, True, True, True, False]
    np.testing.assert_array_equal(sums, survey(rows[[0, 5]])[1])
    np.testing.assert_array_equal(survey(rows, skip=np.array([True] + 5 * [False]))[1], survey(rows[[5]])[1])


def test_a_grid_too_coarse_is_refused():
    with pytest.raises(InvalidInputError, match="too coarse"):
        GramSurveyor(100, [Clip(1.0, -5)])


def test_squared_norms_are_compiled_as_they_are_in_numpy():
    rows = np.random.default_rng(5).normal(size=(40, 37))
    results = [loops.squared_row_norms(rows).tobytes() for _ in each_variant()]
    assert len(set(results)) == 1

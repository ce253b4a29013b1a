"""Vectors per row: the same bits in every variant, never beyond the radius, and correct sums."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenveil.kernels import Clip, Columns, RowVectorSurveyor, TensorSurveyor, VarianceSurveyor, spread
from kernels.test_loops import each_variant, problems

CLIPS = [Clip(1.5, -24), Clip(40.0, -17), Clip(3.0, -52)]


def made(kind, d, clips, *, shift=None, seed=0):
    """A surveyor of rows, of variances, or of the rest alone, around a centre that is not 0."""
    rng = np.random.default_rng(seed)
    if kind == "rows":
        return RowVectorSurveyor(rng.normal(size=d), clips, shift=shift)
    k = max(1, d // 2)
    U = np.linalg.qr(rng.normal(size=(d, k)))[0]
    entries = {"variances": slice(k), "rest": slice(k, None), "all": slice(None)}[kind]
    return VarianceSurveyor(U, entries, rng.random(len(range(k + 1)[entries])), clips, shift=shift)


KINDS = ("rows", "variances", "rest", "all")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(problems())
def test_numpy_twin_and_all_variants_give_the_same_bits_for_rows_and_columns(kind, problem):
    rows, _, _, shift, skip = problem
    results = []
    for _ in each_variant():
        for form in (rows, Columns(list(rows.T.copy()))) if len(rows) else (rows,):
            surveyor = made(kind, rows.shape[1], CLIPS, shift=shift)
            norms = surveyor.add(form, skip)
            results.append([a.tobytes() for a in (norms, *surveyor.sums())])
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(problems(), st.floats(-60, 60), st.floats(0, 12), st.integers(12, 60))
def test_no_row_moves_the_sum_by_more_than_the_radius(kind, problem, scale, times, fineness):
    rows, *_ = problem
    with np.errstate(over="ignore"):
        rows = rows[:6] * 2.0**scale
    radius = 2.0 ** (scale + times) * 1.37
    clip = Clip(radius, math.frexp(radius)[1] - fineness)
    whole = summed(made(kind, rows.shape[1], [clip]), rows)
    for i in range(len(rows)):
        step = whole - summed(made(kind, rows.shape[1], [clip]), np.delete(rows, i, axis=0))
        length = sum(int(value) ** 2 for value in step) * Fraction(4) ** clip.exponent
        assert length <= Fraction(radius) ** 2


def summed(surveyor, rows):
    surveyor.add(rows)
    return surveyor.sums()[0]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_and_norms_are_those_of_explicit_tensors(kind):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(700, 12)) * rng.lognormal(size=(700, 1))
    shift = rng.normal(size=12)
    surveyor = made(kind, 12, CLIPS, shift=shift)
    norms = surveyor.add(rows)
    plain = rows - shift
    vectors = plain if kind == "rows" else spread(rows, surveyor._U, shift)[:, surveyor._entries]
    explicit = TensorSurveyor(surveyor._centre, CLIPS)
    np.testing.assert_allclose(norms, explicit.add(vectors), rtol=1e-12)
    for clip, got, expected in zip(CLIPS, surveyor.sums(), explicit.sums(), strict=True):
        assert np.linalg.norm(got - expected) <= 1 + 2 * len(rows) * clip.radius * 2.0 ** (-40 - clip.exponent)
    if kind == "all":
        np.testing.assert_allclose(vectors.sum(axis=1), np.sum(plain**2, axis=1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200, 1e160])
def test_an_invalid_row_adds_nothing_and_has_an_infinite_norm(kind, bad):
    rows = np.random.default_rng(2).normal(size=(50, 6))
    rows[7, 3] = bad
    surveyor, without = (made(kind, 6, CLIPS) for _ in range(2))
    norms = surveyor.add(rows)
    finite = np.isfinite(norms)
    assert finite[np.arange(50) != 7].all()
    if kind == "rows" and bad == 1e160:
        assert not finite[7]
    if not finite[7]:
        without.add(np.delete(rows, 7, axis=0))
        assert all(np.array_equal(a, b) for a, b in zip(surveyor.sums(), without.sums(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_it_can_be_pickled_and_merged(kind):
    rows = np.random.default_rng(3).normal(size=(100, 5))
    whole = made(kind, 5, CLIPS)
    whole.add(rows)
    one = made(kind, 5, CLIPS)
    one.add(rows[:30])
    other = pickle.loads(pickle.dumps(one.fresh()))  # noqa: S301
    other.add(rows[30:])
    one.merge(pickle.loads(pickle.dumps(other)))  # noqa: S301
    assert all(np.array_equal(a, b) for a, b in zip(one.sums(), whole.sums(), strict=True))


def test_a_radius_of_many_steps_is_rounded_to_the_same_integers():
    rows = np.random.default_rng(4).normal(size=(5, 4))
    fine, coarse = (summed(made("rows", 4, [Clip(1.0, exponent)]), rows) for exponent in (-60, -49))
    np.testing.assert_allclose(fine / 2.0**60, coarse / 2.0**49, atol=5 * 2.0**-49)

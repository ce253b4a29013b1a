"""Units of several rows: the same bits in every variant and as explicit tensors, and never beyond the radius."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenveil.kernels import (
    Clip,
    Columns,
    MeanMatrixSurveyor,
    MeanProductSurveyor,
    MeanRowSurveyor,
    MeanVarianceSurveyor,
    People,
    TensorSurveyor,
    loops,
)
from kernels.test_loops import ODD, each_variant

CLIPS = [Clip(1.5, -24), Clip(40.0, -17), Clip(3.0, -52)]
KINDS = ("products", "matrices", "rows", "variances", "rest")


def made(kind, d, clips, *, m=3, reach=1.0, seed=0, **same):
    """A surveyor around a centre whose entries are about `reach`."""
    rng = np.random.default_rng(seed)
    if kind == "products":
        return MeanProductSurveyor(rng.normal(size=(d, m)), rng.normal(size=(d, m)) * reach, clips, **same)
    if kind == "matrices":
        centre = rng.normal(size=(d, d)) * reach
        return MeanMatrixSurveyor(d, centre + centre.T, clips, **same)
    if kind == "rows":
        return MeanRowSurveyor(rng.normal(size=d) * reach, clips, **same)
    k = max(1, min(m, d // 2))
    U = np.linalg.qr(rng.normal(size=(d, k)))[0]
    entries = slice(k) if kind == "variances" else slice(k, None)
    return MeanVarianceSurveyor(U, entries, rng.random(len(range(k + 1)[entries])) * reach, clips, **same)


@st.composite
def crowds(draw, most_columns=40):
    """People of 0 to 50 rows, some with unusual numbers, and the settings of their survey."""
    d, m = draw(st.integers(1, most_columns)), draw(st.integers(1, 19))
    sizes = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 7, 31, 32, 33, 50]), max_size=8))
    offsets = np.cumsum([0, *sizes])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = rng.normal(size=(offsets[-1], d))
    for bad in draw(st.lists(st.sampled_from([*ODD, -1e154, 9e153, 1e-160, -0.0]), max_size=5)):
        if len(rows):
            rows[rng.integers(len(rows)), rng.integers(d)] = bad
            if draw(st.booleans()):
                rows[rng.integers(len(rows))] = bad
    with np.errstate(over="ignore"):
        rows = rows.astype(np.float32) if draw(st.booleans()) else rows
    removed = rng.normal(size=(d, draw(st.integers(1, 12)))) / 4 if draw(st.booleans()) else None
    shift = rng.normal(size=d) if draw(st.booleans()) else None
    skip = rng.random(len(sizes)) < 0.3 if draw(st.booleans()) else None
    how = {"m": m, "reach": draw(st.sampled_from([0.0, 1.0, 1e-300, 1e160])), "shift": shift, "removed": removed}
    return People(rows, offsets), skip, how


def bits(surveyor, people, skip=None):
    norms = surveyor.add(people, skip)
    return [a.tobytes() for a in (norms, *surveyor.sums())]


def chosen(people, units):
    """Some of the people, in this order."""
    rows, offsets = people
    parts = [rows[offsets[u] : offsets[u + 1]] for u in units]
    return People(np.concatenate([rows[:0], *parts]), np.cumsum([0, *map(len, parts)]))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(crowds())
def test_numpy_twin_all_variants_and_explicit_tensors_give_the_same_bits(kind, crowd):
    people, skip, how = crowd
    d = people.rows.shape[1]
    results = []
    for _ in each_variant():
        results.append(bits(made(kind, d, CLIPS, **how), people, skip))
        if len(people.rows):
            columns = People(Columns(list(people.rows.T.copy())), people.offsets)
            results.append(bits(made(kind, d, CLIPS, **how), columns, skip))
        surveyor = made(kind, d, CLIPS, **how)
        x = loops.shifted(people.rows, how["shift"])
        x = x if how["removed"] is None else loops.projected_out(x, how["removed"])
        explicit = TensorSurveyor(surveyor._centre, CLIPS)
        results.append(bits(explicit, surveyor._tensors(x, people.offsets), skip))
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(crowds(), st.randoms(use_true_random=False))
def test_a_unit_adds_the_same_bits_whatever_the_other_units_are(kind, crowd, random):
    people, skip, how = crowd
    d, units = people.rows.shape[1], len(people.offsets) - 1
    skip = np.zeros(units, dtype=bool) if skip is None else skip
    surveyor = made(kind, d, CLIPS, **how)
    norms = surveyor.add(people, skip)
    order = list(range(units))
    random.shuffle(order)
    cuts = sorted(random.sample(range(units + 1), min(2, units)))
    pieces = [order[a:b] for a, b in zip([0, *cuts], [*cuts, units], strict=True)]
    for parts in ([[u] for u in range(units)], [order], pieces):
        again = made(kind, d, CLIPS, **how)
        found = np.full(units, -1.0)
        for part in parts:
            found[part] = again.add(chosen(people, part), skip[part])
        assert found.tobytes() == norms.tobytes()
        assert all(np.array_equal(a, b) for a, b in zip(surveyor.sums(), again.sums(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(
    crowds(most_columns=9),
    st.sampled_from([-700, -400, -60, 0, 60, 300, 400]),
    st.floats(-3, 12),
    st.integers(14, 60),
)
def test_no_unit_adds_more_than_the_radius(kind, crowd, scale, times, fineness):
    people, _, how = crowd
    d = people.rows.shape[1]
    with np.errstate(over="ignore", under="ignore"):
        rows = np.float64(people.rows) * 2.0**scale
    lengths = 2 * scale if kind != "rows" else scale
    exponent = min(max(int(lengths + times) - fineness, -500), 500 - 60)
    radius = 1.37 * math.ldexp(1.0, exponent + fineness)
    for u in range(len(people.offsets) - 1):
        surveyor = made(kind, d, [Clip(radius, exponent)], **how)
        surveyor.add(chosen(People(rows, people.offsets), [u]))
        step = surveyor.sums()[0].ravel()
        assert sum(int(value) ** 2 for value in step) * Fraction(4) ** exponent <= Fraction(radius) ** 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("kind", KINDS)
def test_an_invalid_row_is_excluded_from_its_unit(kind, bad):
    rng = np.random.default_rng(2)
    rows, offsets = rng.normal(size=(90, 6)), np.array([0, 40, 41, 90])
    spoiled = rows.copy()
    spoiled[[3, 35, 40, 89], [0, 1, 2, 5]] = bad
    surveyor, without = (made(kind, 6, CLIPS) for _ in range(2))
    norms = surveyor.add(People(spoiled, offsets))
    assert np.isfinite(norms).tolist() == [True, False, True]
    keep = np.isfinite(spoiled).all(axis=1) & (np.abs(spoiled) < 1e100).all(axis=1)
    expected = without.add(People(rows[keep], np.array([0, 38, 38, 86])))
    assert norms.tobytes() == expected.tobytes()
    assert all(np.array_equal(a, b) for a, b in zip(surveyor.sums(), without.sums(), strict=True))


def test_values_against_means():
    rng = np.random.default_rng(3)
    rows, offsets, shift = rng.normal(size=(200, 11)), np.array([0, 80, 120, 200]), rng.normal(size=11)
    P = np.linalg.qr(rng.normal(size=(11, 2)))[0]
    x = (rows - shift) @ (np.eye(11) - P @ P.T)
    for kind in KINDS:
        surveyor = made(kind, 11, [Clip(1e3, -30)], shift=shift, removed=P)
        units = [x[a:b] for a, b in itertools.pairwise(offsets)]
        W = surveyor._matrix
        tensors = {
            "products": lambda u, W=W: u.T @ (u @ W) / len(u),
            "matrices": lambda u: u.T @ u / len(u),
            "rows": lambda u: u.mean(axis=0),
            "variances": lambda u, W=W: ((u @ W) ** 2).mean(axis=0),
            "rest": lambda u, W=W: np.mean([(u**2).sum(axis=1) - ((u @ W) ** 2).sum(axis=1)], axis=1),
        }[kind]
        residuals = np.array([tensors(u) - surveyor._centre for u in units])
        norms = surveyor.add(People(rows, offsets))
        np.testing.assert_allclose(norms, np.linalg.norm(residuals.reshape(3, -1), axis=1), rtol=1e-12)
        np.testing.assert_allclose(surveyor.sums()[0] * 2.0**-30, residuals.sum(axis=0), atol=3 * 2.0**-30)


@pytest.mark.parametrize("kind", KINDS)
def test_it_can_be_pickled_and_merged(kind):
    people = People(np.random.default_rng(4).normal(size=(100, 5)), np.array([0, 10, 30, 33, 100]))
    how = {"shift": np.ones(5), "removed": np.eye(5)[:, :1]}
    whole = made(kind, 5, CLIPS, **how)
    whole.add(people)
    one = made(kind, 5, CLIPS, **how)
    one.add(chosen(people, [0, 2]))
    other = pickle.loads(pickle.dumps(one)).fresh()  # noqa: S301
    other.add(chosen(people, [3, 1]))
    one.merge(pickle.loads(pickle.dumps(other)))  # noqa: S301
    assert all(np.array_equal(a, b) for a, b in zip(one.sums(), whole.sums(), strict=True))
    assert "_work" not in pickle.loads(pickle.dumps(whole)).__dict__  # noqa: S301


def test_rows_that_do_not_fit_are_refused():
    surveyor = made("rows", 4, [])
    for rows, offsets in (((3, 4), [0, 5]), ((3, 4), [1, 3]), ((3, 4), [0, 2, 1]), ((3, 5), [0, 3])):
        with pytest.raises(AssertionError):
            surveyor.add(People(np.zeros(rows), np.array(offsets)))


def test_a_radius_of_many_steps_is_rounded_to_the_same_integers():
    people = People(np.random.default_rng(5).normal(size=(9, 4)), np.array([0, 4, 9]))
    fine, coarse = made("products", 4, [Clip(100.0, -54)]), made("products", 4, [Clip(100.0, -42)])
    for surveyor in (fine, coarse):
        surveyor.add(people)
    np.testing.assert_allclose(fine.sums()[0] / 2.0**54, coarse.sums()[0] / 2.0**42, atol=4 * 2.0**-42)

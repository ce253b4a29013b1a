"""The guarantees of `Population`, for explicit tensors."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenveil.engines import TensorPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import clips

EDGES = 2.0 ** (np.arange(-40, 40) / 4)
shapes = st.sampled_from([(1,), (3,), (5,), (2, 3), (8,)])
values = st.one_of(
    st.floats(-4, 4), st.sampled_from([math.nan, math.inf, 1e200, 1e154, 5e-324, 0.0, 2.0**0.25, -1.0])
)


def populations(max_units=12):
    return shapes.flatmap(
        lambda shape: hnp.arrays(np.float64, st.integers(0, max_units).map(lambda n: (n, *shape)), elements=values)
    )


def answers(array, centre, **options):
    population = TensorPopulation(array, **options)
    return (
        population.count(),
        population.counts_within(centre, EDGES),
        population.clipped_sum(centre, 1.5, -20),
    )


@given(populations(), st.randoms(use_true_random=False))
def test_a_unit_adds_the_same_bits_whatever_the_other_units_are(array, random):
    """Rule 4: the answer equals the sum of the answers for single units, in any order, to the last bit."""
    centre = np.full(array.shape[1:], 0.3)
    count, counts, total = answers(array, centre)
    alone = [answers(array[i : i + 1], centre) for i in range(len(array))]
    assert count == sum(a[0] for a in alone)
    np.testing.assert_array_equal(counts, sum((a[1] for a in alone), start=np.zeros(EDGES.size, dtype=int)))
    np.testing.assert_array_equal(total, sum((a[2] for a in alone), start=np.zeros(array.shape[1:], dtype=int)))
    order = list(range(len(array)))
    random.shuffle(order)
    for got, expected in zip(answers(array[order], centre), (count, counts, total), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("d", [1, 5, 64, 200])
def test_bits_do_not_depend_on_block_size_or_place(d, monkeypatch):
    array = np.random.default_rng(d).normal(size=(997, d))
    centre = array[0] / 3
    expected = answers(array, centre)
    for entries in (1, 1 << 10, 1 << 20):
        monkeypatch.setattr(clips, "_BLOCK_ENTRIES", entries)
        for part in (array, np.asfortranarray(array), array[::-1]):
            for got, want in zip(answers(part, centre), expected, strict=True):
                np.testing.assert_array_equal(got, want)


def test_equal_rows_have_equal_norms():
    """With BLAS, 4001 equal rows had two distinct norms; here all are on the same side of every edge."""
    row = np.random.default_rng(0).normal(size=200)
    counts = TensorPopulation(np.tile(row, (4001, 1))).counts_within(np.zeros(200), EDGES)
    assert set(counts.tolist()) == {0, 4001}


@given(populations(4))
def test_sum_is_of_clipped_rows(array):
    total = answers(array, np.zeros(array.shape[1:]))[2]
    assert exact_norm_square(total, -20) <= (Fraction(3, 2) * len(array)) ** 2


def exact_norm_square(integers, exponent):
    return sum(int(v) ** 2 for v in np.ravel(integers)) * Fraction(4) ** exponent


def test_counts_and_sums_equal_plain_numpy():
    rng = np.random.default_rng(5)
    array, centre = rng.normal(size=(300, 4, 2)), rng.normal(size=(4, 2))
    population = TensorPopulation(array)
    residuals = (array - centre).reshape(300, 8)
    norms = np.linalg.norm(residuals, axis=1)
    np.testing.assert_array_equal(
        population.counts_within(centre, EDGES), (norms[:, None] <= EDGES[None]).sum(axis=0)
    )
    plain = (residuals * np.minimum(1, 2.0 / norms)[:, None]).sum(axis=0).reshape(4, 2)
    np.testing.assert_allclose(
        np.ldexp(population.clipped_sum(centre, 2.0, -40).astype(float), -40), plain, atol=1e-8
    )


def test_symmetric_takes_the_symmetric_part():
    array = np.random.default_rng(2).normal(size=(20, 3, 3))
    total = TensorPopulation(array, symmetric=True).clipped_sum(np.zeros((3, 3)), 1.0, -30)
    np.testing.assert_array_equal(total, total.T)
    half = (array + np.swapaxes(array, 1, 2)) / 2
    np.testing.assert_array_equal(total, TensorPopulation(half).clipped_sum(np.zeros((3, 3)), 1.0, -30))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.uint16, np.bool_])
def test_any_real_dtype(dtype):
    array = np.random.default_rng(0).integers(0, 2, size=(10, 3)).astype(dtype)
    total = TensorPopulation(array).clipped_sum(np.zeros(3), 100.0, -10)
    np.testing.assert_array_equal(total, array.astype(np.int64).sum(axis=0) << 10)


def test_edge_cases():
    empty = TensorPopulation(np.zeros((0, 3)))
    assert (empty.slots(), empty.count()) == (0, 0)
    assert not empty.counts_within(np.zeros(3), EDGES).any()
    assert not empty.clipped_sum(np.zeros(3), 1.0, -20).any()
    bad = TensorPopulation(np.array([[np.nan], [np.inf], [1e300]]))
    assert (bad.slots(), bad.count()) == (3, 0)
    assert not bad.counts_within(np.zeros(1), EDGES).any()


@pytest.mark.parametrize(
    ("array", "options", "words"),
    [
        (np.zeros(3), {}, "one vector or matrix per unit"),
        (np.zeros((3, 0)), {}, "one vector or matrix per unit"),
        (np.array([["a", "b"]]), {}, "real numbers"),
        (np.zeros((2, 2), dtype=complex), {}, "real numbers"),
        (np.array([[object()]]), {}, "real numbers"),
        (np.zeros((2, 2, 3)), {"symmetric": True}, "square"),
    ],
)
def test_clear_errors(array, options, words):
    with pytest.raises(InvalidInputError, match=words):
        TensorPopulation(array, **options)


def test_bad_public_arguments():
    population = TensorPopulation(np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="centre"):
        population.counts_within(np.zeros(2), EDGES)
    with pytest.raises(InvalidInputError, match="centre"):
        population.clipped_sum(np.full(3, np.nan), 1.0, -20)
    with pytest.raises(InvalidInputError, match="ascending"):
        population.counts_within(np.zeros(3), EDGES[::-1])

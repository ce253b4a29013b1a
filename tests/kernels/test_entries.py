"""Compiled and numpy versions of counts and sums per column give the same integers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenveil.kernels import EntryCounts, EntrySums, compiled
from kernels.test_loops import each_variant

OCTAVES = np.exp2(np.arange(-128, 128) + 0.5)
DENSE = np.sort(np.concatenate([[5e-324, 1e-310], 1 + np.arange(40) / 64, [3.0, 1e308]]))
NASTY = [0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1e-310, 2.2e-308, 1e308, -1.7e308]
COLUMNS = np.array([2, 0, 3])


def some_numbers(draw, around):
    at = np.concatenate([around, np.nextafter(around, 0), np.nextafter(around, np.inf), np.abs(NASTY)])
    values = st.sampled_from(np.concatenate([at, -at, NASTY]).tolist()) | st.floats()
    rows = draw(st.lists(st.tuples(*[values] * COLUMNS.size), max_size=20))
    return np.array(rows, dtype=np.float64).reshape(-1, COLUMNS.size)


def integers(kernel, numbers):
    """Return the integers of numpy, after a check that those of all compiled variants are the same."""
    out = []
    with np.errstate(all="raise"):
        for _ in each_variant():
            out.append(kernel.empty())
            kernel.add(out[-1], numbers, COLUMNS)
            kernel.add(out[-1], np.asfortranarray(numbers[::-1]), COLUMNS)
    for other in out[1:]:
        np.testing.assert_array_equal(other, out[0])
    return out[0]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("edges", [OCTAVES, OCTAVES**2, DENSE, np.array([1.0])], ids=["1", "2", "dense", "one"])
def test_counts(edges, signed):
    kernel = EntryCounts(5, edges, signed=signed)

    @settings(max_examples=50)
    @given(st.data())
    def search(data):
        numbers = some_numbers(data.draw, edges)
        one = integers(kernel, numbers)
        assert one.sum() == 2 * numbers.size
        for j, column in enumerate(COLUMNS):
            sizes = np.where(np.isnan(numbers[:, j]), np.inf, np.abs(numbers[:, j]))
            place = (edges < sizes[:, None]).sum(axis=1) + (numbers[:, j] < 0) * signed * edges.size
            good = np.isfinite(sizes) & (sizes <= edges[-1])
            wanted = 2 * np.bincount(place[good], minlength=edges.size * (1 + signed))
            np.testing.assert_array_equal(kernel.between(one)[column], wanted)

    search()


@pytest.mark.parametrize("exponent", [-32, -20, -1, 0])
def test_sums(exponent):
    kernel = EntrySums(np.array([1.0, 2.0**-500, 0.1, 2.0**500, 3.0]), exponent)
    halves = (np.arange(8) + 0.5) * 2.0**exponent

    @settings(max_examples=50)
    @given(st.data())
    def search(data):
        numbers = some_numbers(data.draw, np.concatenate([halves, 0.1 * halves, 2.0**500 * halves, [1.0, 0.1]]))
        one = integers(kernel, numbers)
        assert np.all(np.abs(one) <= 2 * len(numbers) * math.floor(2.0**-exponent))

    search()


@pytest.mark.skipif(not compiled(), reason="numpy checks positions itself")
def test_columns_out_of_range_are_refused():
    for kernel in (EntryCounts(2, OCTAVES), EntrySums(np.ones(2), -1)):
        for columns in (np.array([0, 2]), np.array([-1, 0])):
            with pytest.raises(AssertionError, match="rely on"):
                kernel.add(kernel.empty(), np.ones((1, 2)), columns)

"""Counts by size, and clipped sums, of the numbers in many columns, each column separately.

The contribution of a number is computed by element-wise IEEE operations on that number and on public numbers.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import loops

_EXACT_ROWS = 1 << 21
"""Number of integers below 2^32 whose sum as floats has no error."""

_CELL_BITS = 49
"""Floats that agree in all but these lower bits (an eighth of an octave) share a cell of `EntryCounts`."""

_MOST_STEP_BITS = 32
_SMALLEST = 2.0**-500


class EntryCounts:
    """Counts, for every column, of numbers whose absolute value lies between ascending edges above 0.

    A table has one row per column. Its entry b counts the numbers beyond exactly b edges. The last entry also
    counts numbers that are not finite; `between` excludes it.

    Formal guarantees
    -----------------
    A finite number x is counted once, between the two edges around |x|. This only compares floats, so it is exact.
    A number that is not finite, or beyond the last edge, is not counted in `between`. Which entry of the table a
    number increases by 1 is a function of that number and of public numbers, to the bit. The compiled loop makes
    the same comparisons as the numpy version, so it counts the same.

    Examples
    --------
    >>> counts = EntryCounts(2, np.array([1.0, 2.0]))
    >>> table = counts.empty()
    >>> counts.add(table, np.array([[1.0, -2.0], [np.nan, 2.5]]), np.arange(2))
    >>> counts.between(table).tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, columns: int, edges: FloatArray, *, signed: bool = False) -> None:
        if not (
            edges.ndim == 1
            and edges.size
            and edges[0] > 0
            and np.isfinite(edges[-1])
            and np.all(np.diff(edges) > 0)
        ):
            raise InvalidInputError("edges must be a strictly ascending list of finite numbers above 0.")
        self._columns, self._signs = columns, 1 + signed
        self._edges = np.append(edges, np.inf)
        starts = (np.arange(1 << (63 - _CELL_BITS), dtype=np.int64) << _CELL_BITS).view(np.float64)
        starts[np.isnan(starts)] = np.inf
        self._first = np.searchsorted(edges, starts).astype(np.int32)
        self._most = int(np.diff(self._first).max())

    def empty(self) -> IntArray:
        """Return a table of zeros."""
        return np.zeros((self._columns, self._signs * self._edges.size), dtype=np.int64)

    def add(self, table: IntArray, numbers: FloatArray, columns: IntArray, times: IntArray | int = 1) -> None:
        """Count each number `times` times in its column; `columns` broadcasts with `numbers`."""
        if _dense(numbers, columns, times) and loops.compiled():
            assert columns.min(initial=0) >= 0, "the compiled loops rely on these numbers"
            assert columns.max(initial=0) < len(table), "the compiled loops rely on these numbers"
            rows, where = _contiguous(numbers, columns)
            search = (self._first, _CELL_BITS, self._most, self._edges, self._edges.size)
            loops.call("count_entries", rows, *rows.shape, where, *search, ctypes.c_int(self._signs == 2), table)
            return
        sizes = np.abs(numbers)
        sizes[np.isnan(sizes)] = np.inf
        beyond = self._first.take(sizes.view(np.int64) >> _CELL_BITS)
        for _ in range(self._most):  # the largest number of edges in one cell
            beyond += sizes > self._edges.take(beyond)
        if self._signs == 2:
            beyond += np.where(numbers < 0, np.int32(self._edges.size), np.int32(0))
        np.add.at(table.reshape(-1), (columns * table.shape[1] + beyond).ravel(), times)

    def between(self, table: IntArray) -> IntArray:
        """Return the counts up to the first edge, and between each edge and the next: shape (columns, edges).

        With signs, the counts of negative numbers follow those of the others: shape (columns, 2 edges).
        """
        both = table.reshape(self._columns, self._signs, self._edges.size)[:, :, :-1]
        return both.reshape(self._columns, -1)


class EntrySums:
    """Sums, for every column, of its numbers, each clipped to the column's radius and divided by it.

    Formal guarantees
    -----------------
    Let R be the radius of a column. A finite number x adds the integer nearest to x (2^-exponent / R), as
    computed, clipped to +-floor(2^-exponent): at most 1 in absolute value, in units of 2^exponent, exactly. A
    number that is not finite adds 0. Integers up to 2^32 add without error over 2^31 units, in any order. The
    compiled loop clips before it rounds, by adding 1.5 2^52: the limits are integers below 2^51, so this gives the
    same integer.

    Examples
    --------
    >>> sums = EntrySums(np.array([1.0, 4.0]), -1)
    >>> total = sums.empty()
    >>> sums.add(total, np.array([[3.0, 4.0], [-0.5, 9.0]]), np.arange(2))
    >>> (total / 2).tolist()
    [0.5, 2.0]
    """

    def __init__(self, radii: FloatArray, exponent: int) -> None:
        if not (np.all(radii >= _SMALLEST) and np.all(radii <= 1 / _SMALLEST) and exponent >= -_MOST_STEP_BITS):
            raise InvalidInputError(
                f"radii must lie between 2^-500 and 2^500, on a grid of 2^-{_MOST_STEP_BITS} or coarser."
            )
        self._most = math.floor(math.ldexp(1.0, -exponent))
        self._per_step = math.ldexp(1.0, -exponent) / radii

    def empty(self) -> IntArray:
        """Return sums of zero."""
        return np.zeros(self._per_step.size, dtype=np.int64)

    def add(self, sums: IntArray, numbers: FloatArray, columns: IntArray, times: IntArray | int = 1) -> None:
        """Add each number `times` times to the sum of its column; `columns` broadcasts with `numbers`."""
        if _dense(numbers, columns, times) and loops.compiled():
            assert columns.min(initial=0) >= 0, "the compiled loops rely on these numbers"
            assert columns.max(initial=0) < len(sums), "the compiled loops rely on these numbers"
            rows, where = _contiguous(numbers, columns)
            clip = (self._per_step[where], float(self._most))
            loops.call("sum_entries", rows, *rows.shape, where, *clip, sums, np.empty_like(where))
            return
        with np.errstate(all="ignore"):  # a warning would reveal something about the values
            whole = np.where(np.isfinite(numbers), numbers, 0.0) * self._per_step[columns]
            np.rint(whole, out=whole)
            np.clip(whole, -self._most, self._most, out=whole)
        if whole.ndim == 2 and len(whole) <= _EXACT_ROWS:
            whole, columns = whole.sum(axis=0), columns.ravel()
        np.add.at(sums, np.broadcast_to(columns, whole.shape).ravel(), (whole.astype(np.int64) * times).ravel())


def _dense(numbers: FloatArray, columns: IntArray, times: IntArray | int) -> bool:
    """Return whether numbers are rows of one number per column, each counted once: the case of compiled loops."""
    return numbers.ndim == 2 and columns.shape == numbers.shape[1:] and isinstance(times, int) and times == 1


def _contiguous(numbers: FloatArray, columns: IntArray) -> tuple[FloatArray, IntArray]:
    """Return numbers and columns in the layout of the compiled loops."""
    return np.ascontiguousarray(numbers, dtype=np.float64), np.ascontiguousarray(columns, dtype=np.int64)

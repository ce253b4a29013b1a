"""Counts by size, and clipped sums, of the numbers in many columns, each column separately.

The contribution of a number is computed by element-wise IEEE operations on that number and on public numbers.
"""

from __future__ import annotations

import math

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.errors import InvalidInputError

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
    number increases by 1 is a function of that number and of public numbers, to the bit.

    Examples
    --------
    >>> counts = EntryCounts(2, np.array([1.0, 2.0]))
    >>> table = counts.empty()
    >>> counts.add(table, np.array([[1.0, -2.0], [np.nan, 2.5]]), np.arange(2))
    >>> counts.between(table).tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, columns: int, edges: FloatArray) -> None:
        if not (
            edges.ndim == 1
            and edges.size
            and edges[0] > 0
            and np.isfinite(edges[-1])
            and np.all(np.diff(edges) > 0)
        ):
            raise InvalidInputError("edges must be a strictly ascending list of finite numbers above 0.")
        self._columns = columns
        self._edges = np.append(edges, np.inf)
        starts = (np.arange(1 << (63 - _CELL_BITS), dtype=np.int64) << _CELL_BITS).view(np.float64)
        starts[np.isnan(starts)] = np.inf
        self._first = np.searchsorted(edges, starts).astype(np.int32)
        self._most = int(np.diff(self._first).max())

    def empty(self) -> IntArray:
        """Return a table of zeros."""
        return np.zeros((self._columns, self._edges.size), dtype=np.int64)

    def add(self, table: IntArray, numbers: FloatArray, columns: IntArray, times: IntArray | int = 1) -> None:
        """Count each number `times` times in its column; `columns` broadcasts with `numbers`."""
        sizes = np.abs(numbers)
        sizes[np.isnan(sizes)] = np.inf
        beyond = self._first.take(sizes.view(np.int64) >> _CELL_BITS)
        for _ in range(self._most):  # the largest number of edges in one cell
            beyond += sizes > self._edges.take(beyond)
        np.add.at(table.reshape(-1), (columns * self._edges.size + beyond).ravel(), times)

    def between(self, table: IntArray) -> IntArray:
        """Return the counts up to the first edge, and between each edge and the next: shape (columns, edges)."""
        return table[:, :-1]


class EntrySums:
    """Sums, for every column, of its numbers, each clipped to the column's radius and divided by it.

    Formal guarantees
    -----------------
    Let R be the radius of a column. A finite number x adds the integer nearest to x (2^-exponent / R), as
    computed, clipped to +-floor(2^-exponent): at most 1 in absolute value, in units of 2^exponent, exactly. A
    number that is not finite adds 0. Integers up to 2^32 add without error over 2^31 units, in any order.

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
        with np.errstate(all="ignore"):  # a warning would reveal something about the values
            whole = np.where(np.isfinite(numbers), numbers, 0.0) * self._per_step[columns]
            np.rint(whole, out=whole)
            np.clip(whole, -self._most, self._most, out=whole)
        if whole.ndim == 2 and len(whole) <= _EXACT_ROWS:
            whole, columns = whole.sum(axis=0), columns.ravel()
        np.add.at(sums, np.broadcast_to(columns, whole.shape).ravel(), (whole.astype(np.int64) * times).ravel())

"""Numbers of many columns, every column by itself: how far they lie from its centre, and its clipped sum.

What becomes of a number is a chain of element-wise IEEE operations on that number and on public ones.
"""

from __future__ import annotations

import math

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.errors import InvalidInputError

_LARGEST = math.nextafter(2.0**512, 0.0)
"""The largest number whose square is finite: one beyond it is bad, as a unit whose norm overflows is."""

_PLAIN = 2.0**510
"""Where neither a centre nor a distance from it is beyond, no number is bad."""

_EXACT_ROWS = 1 << 21
"""So many whole numbers below 2^32 are added as floats without error."""

_CELL_BITS = 49
"""Floats that agree in all but these lower bits (an eighth of an octave) share a cell of `EntryCounts`."""

_FARTHEST_EXPONENT, _MOST_STEP_BITS = 500, 32


class EntryCounts:
    """For every column and each of some ascending edges above 0, how many numbers lie within it of the centre.

    A table has a row per column. Its entry b counts the numbers beyond exactly b edges, the last one bad numbers
    too; `within` adds them up.

    Formal guarantees
    -----------------
    A good number, |x| and |x - centre| below 2^512 as computed, is counted at the edges that |x - centre| does not
    exceed: comparisons of floats, so exact for the computed difference. A bad one is counted at none. Which entry
    of the table a number adds 1 to is a function of that number and of public ones, to the bit.

    Examples
    --------
    >>> counts = EntryCounts(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    >>> table = counts.empty()
    >>> counts.add(table, np.array([[1.0, 3.0], [np.nan, 3.5]]), np.arange(2))
    >>> counts.within(table).tolist()
    [[1, 1], [0, 1]]
    """

    def __init__(self, centre: FloatArray, edges: FloatArray) -> None:
        if not (
            edges.ndim == 1
            and edges.size
            and edges[0] > 0
            and edges[-1] <= _LARGEST
            and np.all(np.diff(edges) > 0)
        ):
            raise InvalidInputError("edges must be a strictly ascending list of numbers above 0 and below 2^512.")
        self._centre = _finite(centre)
        self._edges = np.append(edges, np.inf)
        starts = (np.arange(1 << (63 - _CELL_BITS), dtype=np.int64) << _CELL_BITS).view(np.float64)
        starts[np.isnan(starts)] = np.inf
        self._first = np.searchsorted(edges, starts).astype(np.int32)
        self._most = int(np.diff(self._first).max())

    def empty(self) -> IntArray:
        """A table in which nothing is counted."""
        return np.zeros((self._centre.size, self._edges.size), dtype=np.int64)

    def add(self, table: IntArray, numbers: FloatArray, columns: IntArray, times: IntArray | int = 1) -> None:
        """Count numbers, each as many `times` as is said; `columns`, of which each is, broadcast with them."""
        _, distances = _measured(numbers, self._centre[columns])
        beyond = self._first.take(distances.view(np.int64) >> _CELL_BITS)
        for _ in range(self._most):  # as many edges as one cell holds at most: one of the grid of radii
            beyond += distances > self._edges.take(beyond)
        np.add.at(table.reshape(-1), (columns * self._edges.size + beyond).ravel(), times)

    def within(self, table: IntArray) -> IntArray:
        """The counts at the edges: shape (columns, edges)."""
        return np.cumsum(table[:, :-1], axis=1)


class EntrySums:
    """For every column, the sum of its numbers less the centre, each clipped to the column's radius.

    Formal guarantees
    -----------------
    With R the radius and g = 2^exponent the grid of a column, a good number adds the integer nearest to (x -
    centre)/g, cut to +-floor(R/g): at most R/g in absolute value, exactly. (Dividing by a power of two is exact,
    or overflows beyond R/g, or underflows to what is rounded to 0.) A bad one, as in `EntryCounts`, adds 0.
    Integers below 2^32 add without error over 2^31 units, in any order.

    Examples
    --------
    >>> sums = EntrySums(np.zeros(2), np.array([1.0, 4.0]), np.array([-1, -1]))
    >>> total = sums.empty()
    >>> sums.add(total, np.array([[3.0, 3.0], [-0.5, 9.0]]), np.arange(2))
    >>> (total / 2).tolist()
    [0.5, 7.0]
    """

    def __init__(self, centre: FloatArray, radii: FloatArray, exponents: IntArray) -> None:
        self._centre = _finite(centre)
        if not (
            np.all(radii > 0) and np.all(np.isfinite(radii)) and np.all(np.abs(exponents) <= _FARTHEST_EXPONENT)
        ):
            raise InvalidInputError(
                f"radii must be finite and above 0, on grids of 2^-{_FARTHEST_EXPONENT} to 2^{_FARTHEST_EXPONENT}."
            )
        self._per_grid = np.ldexp(1.0, -exponents)
        self._most = np.floor(radii * self._per_grid)
        if np.any(self._most >= 2.0**_MOST_STEP_BITS):
            raise InvalidInputError(f"radii must be below 2^{_MOST_STEP_BITS} grid steps.")

    def empty(self) -> IntArray:
        """Sums of nothing."""
        return np.zeros(self._centre.size, dtype=np.int64)

    def add(self, sums: IntArray, numbers: FloatArray, columns: IntArray, times: IntArray | int = 1) -> None:
        """Sum numbers, each as many `times` as is said; `columns`, of which each is, broadcast with them."""
        whole, _ = _measured(numbers, self._centre[columns])
        most = self._most[columns]
        with np.errstate(all="ignore"):
            whole *= self._per_grid[columns]
            np.rint(whole, out=whole)
            np.minimum(np.maximum(whole, -most, out=whole), most, out=whole)
        if whole.ndim == 2 and len(whole) <= _EXACT_ROWS:
            whole, columns = whole.sum(axis=0), columns.ravel()
        np.add.at(sums, np.broadcast_to(columns, whole.shape).ravel(), (whole.astype(np.int64) * times).ravel())


def _measured(numbers: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Numbers less the centre, and how far they lie from it: 0 and infinity for bad ones."""
    with np.errstate(all="ignore"):  # a warning would tell of the values
        away = numbers - centre
        distances = np.abs(away)
        if not np.max(distances, initial=np.max(np.abs(centre), initial=0.0)) <= _PLAIN:
            bad = ~((np.abs(numbers) <= _LARGEST) & (distances <= _LARGEST))
            away[bad], distances[bad] = 0.0, np.inf
    return away, distances


def _finite(centre: FloatArray) -> FloatArray:
    if not (centre.ndim == 1 and np.all(np.isfinite(centre))):
        raise InvalidInputError(f"centre must be finite, one number per column, got shape {centre.shape}.")
    return centre

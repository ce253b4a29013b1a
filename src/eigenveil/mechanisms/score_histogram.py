"""Noisy histogram of scores: the weight of units in each cell of a public grid over public axes.

ScoreMap({rows of unit i}, axes, edges, mu):
  1  scores of a row <- (row - origin) axes; cell of the row <- the cell that contains its scores, or "outside" 2
  a unit has weight 1, shared equally by its valid rows; the sum of a cell includes the shares of the rows in it,
     rounded down to the grid
  3  release the sums of all cells, and of "outside", plus Gaussian noise
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.engines import SampledPopulation
from eigenveil.engines.query import Chunk
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import row_product, squared_row_norms, sums_by
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.operators import PeopleOperator, RowsOperator, made_of_rows
from eigenveil.operators.operator import cut
from eigenveil.privacy.entries import Purpose

MOST_CELLS = 1 << 24
"""Largest number of cells; each cell gets its own noise."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreGrid:
    """Axes, cells and groups of a score histogram. All of them are public.

    Parameters
    ----------
    axes : array of shape (d, m)
        Matrix by which rows are multiplied.
    origin : array of shape (d,)
        Vector that is subtracted from rows first.
    edges : sequence of m arrays
        Ascending edges of the cells along every axis. A score on an edge belongs to the cell above it; a score on
        the last edge belongs to the last cell, as in `numpy.histogramdd`.
    groups : int, optional
        Number of groups. Rows then have one more column, the last, with the number of the group of the row,
        starting at 0. A row with any other number in this column adds nothing.

    Examples
    --------
    >>> edges = np.array([0.0, 1.0, 2.0])
    >>> ScoreGrid(axes=np.eye(2), origin=np.zeros(2), edges=(edges, edges)).shape
    (2, 2)
    """

    axes: FloatArray
    origin: FloatArray
    edges: Sequence[FloatArray]
    groups: int | None = None

    def __post_init__(self) -> None:
        axes, origin = np.asarray(self.axes), np.asarray(self.origin)
        if axes.ndim != 2 or origin.shape != axes.shape[:1] or axes.shape[1] != len(self.edges):
            raise InvalidInputError(
                f"expected axes of shape (d, m), an origin of shape (d,) and m lists of edges, got shapes "
                f"{axes.shape} and {origin.shape}, and {len(self.edges)} lists."
            )
        if not (np.all(np.isfinite(axes)) and np.all(np.isfinite(origin))):
            raise InvalidInputError("axes and origin must be finite.")
        for edges in self.edges:
            _check_edges(edges)
        if self.groups is not None and self.groups < 1:
            raise InvalidInputError(f"there must be at least one group, got {self.groups}.")
        if self.size > MOST_CELLS:
            raise InvalidInputError(
                f"a score histogram may have at most {MOST_CELLS} cells, got {self.size}.",
                hint="Use fewer bins: noise per cell is the same, and fewer cells contain more people each.",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of groups, if there are any, followed by the number of cells along every axis."""
        cells = tuple(len(edges) - 1 for edges in self.edges)
        return cells if self.groups is None else (self.groups, *cells)

    @property
    def size(self) -> int:
        """Number of sums: all cells of every group, and "outside" of every group."""
        return (math.prod(len(edges) - 1 for edges in self.edges) + 1) * (self.groups or 1)

    @property
    def d(self) -> int:
        """Number of columns that rows must have."""
        return len(self.axes) + (self.groups is not None)


@dataclass(frozen=True, kw_only=True, eq=False)
class CellSums:
    """Noisy sums of weights. They are not rounded, and may be negative.

    Parameters
    ----------
    inside : array of the shape of the grid
        The sum of every cell.
    outside : array of shape (groups,), or ()
        The sum of the weights beyond the edges.
    noise : float
        Standard deviation of the noise on each sum.
    """

    inside: FloatArray
    outside: FloatArray
    noise: float


def score_histogram(
    population: SampledPopulation, grid: ScoreGrid, *, mu: float, veil: Veil, what: str = "score histogram"
) -> CellSums:
    """Release the weight of units in every cell of `grid`, plus Gaussian noise.

    Parameters
    ----------
    population : SampledPopulation
        A population of rows or people, with any tensor.
    grid : ScoreGrid
        Public axes, edges and number of groups.
    mu : float
        Cost of the release.

    Formal guarantees
    -----------------
    A unit adds a vector v over all cells of all groups. Its entries are whole numbers of grid steps, and bitwise a
    function of the unit and of public numbers: the scores of a row are summed in a fixed order (`row_product`),
    and its cell is found by comparisons with the edges. Let T be the number of grid steps in 1, and m the number
    of valid rows of the unit (m = 1 where rows are units). A cell with c of these rows gets floor(c T / m) >= 0
    steps, so the entries of v are non-negative and their sum is at most T steps. As numbers, ||v||_2 <= ||v||_1 <=
    1. Integers add without error.

    *Add-remove, empty-slot:* the sums change by v: L2 sensitivity 1, attained by a unit in one cell.

    *Replace:* the sums change by v - v', and ||v - v'||^2 = ||v||^2 + ||v'||^2 - 2 v.v' <= 2, since v.v' >= 0: L2
    sensitivity sqrt(2), attained by a unit that moves from one cell to another. It is not 2, because shares in the
    same cell cancel.

    *Groups* are one more axis of the same vector, so the proof includes them without change, under every relation:
    a person may have rows in several groups, and the new unit may be in a different group than the replaced unit.
    Parallel composition is neither claimed nor needed. The *list* of groups is public, and must not come from the
    data.

    Every cell, and "outside", gets noise of standard deviation sensitivity/mu: mu-GDP.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units                        noise around 0
    one unit, all equal, huge       a weight of 1 in one cell, or outside
    nan, inf, norm overflows        such a row adds nothing, silently; the other rows of its unit share 1
    a row of no known group         the same
    a person with many rows         a total weight of 1, minus less than a grid step per cell
    units that are matrices         refused (public)
    ==============================  ==================================================================

    Examples
    --------
    >>> from eigenveil.operators import MeanRows, samples
    >>> from eigenveil.privacy import Budget, Ledger
    >>> X = np.tile([[1.0, 2.0], [-1.0, 2.0], [1.0, -2.0], [-1.0, -2.0]], (2500, 1))
    >>> veil = Veil(Ledger(Budget.from_mu(1.0)))
    >>> edges = np.array([-4.0, 0.0, 4.0])
    >>> grid = ScoreGrid(axes=np.eye(2), origin=np.zeros(2), edges=(edges, edges))
    >>> rows = SampledPopulation(samples.rows(X), MeanRows())
    >>> sums = score_histogram(rows, grid, mu=1.0, veil=veil)
    >>> sums.inside.shape, bool(np.all(np.abs(sums.inside - 2500) < 200)), sums.noise < 1.01
    ((2, 2), True, True)
    """
    operator = population.operator
    if not made_of_rows(operator):
        raise InvalidInputError("a score histogram needs rows or people: units given as matrices have no scores.")
    if operator.d != grid.d:
        raise InvalidInputError(f"expected rows with {grid.d} columns, got {operator.d} columns.")
    grant = veil.gaussian(
        what, mu=mu, sensitivity=veil.relation.distance_between_histograms, draws=grid.size, purpose=Purpose.SCORES
    )
    whole = (1 << -grant.exponent) if grant.exponent <= 0 else 0
    sums = population.reduce(CellQuery(operator=operator.without_data(), grid=grid, whole=whole))
    noisy = grant.release(sums).reshape(grid.groups or 1, -1)
    inside, outside = noisy[:, :-1].reshape(grid.shape), noisy[:, -1]
    return CellSums(
        inside=inside, outside=outside.reshape(grid.shape[: grid.groups is not None]), noise=grant.scale
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class CellQuery:
    """Query for the sums of weights in the cells of a grid; its state is a whole number of grid steps per cell.

    Parameters
    ----------
    operator : RowsOperator or PeopleOperator
        The operator, without data.
    grid : ScoreGrid
        Axes, edges and number of groups.
    whole : int
        Number of grid steps in a weight of 1.
    """

    operator: RowsOperator | PeopleOperator
    grid: ScoreGrid
    whole: int

    def zero(self) -> IntArray:
        """Return empty cells."""
        return np.zeros(self.grid.size, dtype=np.int64)

    def add(self, state: IntArray, chunk: Chunk) -> IntArray:
        """Add the weights of a chunk of rows, or of people."""
        cells = self._cells(chunk.block.values)
        counted, offsets = cells >= 0, chunk.block.offsets
        person = None if offsets is None else np.repeat(np.arange(chunk.block.units), np.diff(offsets))
        if chunk.skip is not None:
            counted &= ~(chunk.skip if person is None else chunk.skip[person])
        if person is None:
            state += self.whole * np.bincount(cells[counted], minlength=state.size)
        else:
            self._add_people(state, person[counted], cells[counted])
        return state

    def merge(self, one: IntArray, other: IntArray) -> IntArray:
        """Add two states; they are integers, so the sum is exact."""
        return one + other

    def finish(self, state: IntArray) -> IntArray:
        """Return the sums in grid steps."""
        return state

    def _add_people(self, state: IntArray, person: IntArray, cells: IntArray) -> None:
        """Step 2: add the share of each person's rows in each cell."""
        rows = np.bincount(person)
        pairs, together = np.unique(np.stack([person, cells]), axis=1, return_counts=True)
        parts = together.astype(np.int64) * self.whole // rows[pairs[0]]  # both factors are below 2^31
        np.add.at(state, pairs[1], parts)

    def _cells(self, values: Any) -> IntArray:
        """Step 1: return the number of the cell of every row; -1 for rows that add nothing."""
        out = np.empty(values.shape[0], dtype=np.int64)
        for where in cut(len(out), 64 if self.operator.sparse else 4 * self.grid.d):
            out[where] = self._of_piece(values[where])
        return out

    def _of_piece(self, values: Any) -> IntArray:
        scores, good, codes = self._scores(values)
        cell, inside = np.zeros(len(scores), dtype=np.int64), good.copy()
        for score, edges in zip(scores.T, self.grid.edges, strict=True):
            place = np.searchsorted(edges, score, side="right") - 1
            place[score == edges[-1]] = len(edges) - 2
            inside &= (place >= 0) & (place < len(edges) - 1)
            cell = cell * (len(edges) - 1) + place
        per_group = self.grid.size // (self.grid.groups or 1)
        cell = np.where(inside, cell, per_group - 1)
        return np.where(good, codes * per_group + cell, -1)

    def _scores(self, values: Any) -> tuple[FloatArray, BoolArray, IntArray]:
        """Return the scores of rows, which rows are valid, and their groups."""
        grid, d = self.grid, len(self.grid.axes)
        if self.operator.sparse and self.operator.shift is None and self.operator.removed is None:
            scores, squares, last = _sparse_scores(values, grid)
        else:
            rows = self.operator.dense(values)
            plain = np.ascontiguousarray(rows[:, :d])
            scores = row_product(plain, grid.axes, shift=grid.origin)
            squares, last = squared_row_norms(plain), rows[:, d:].ravel()
        good = np.isfinite(squares) & np.isfinite(scores).all(axis=1)
        codes = np.zeros(len(scores), dtype=np.int64)
        if grid.groups is not None:
            known = np.isin(last, np.arange(grid.groups))
            good &= known
            codes[known] = last[known].astype(np.int64)
        return scores, good, codes


def _sparse_scores(values: Any, grid: ScoreGrid) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the scores, squared norms and last column of sparse rows, from their stored entries."""
    n, d = values.shape[0], len(grid.axes)
    of_row, column = np.repeat(np.arange(n), np.diff(values.indptr)), values.indices
    x = values.data.astype(np.float64)
    own = column < d
    of_row_own, column_own, x_own = of_row[own], column[own], x[own]
    with np.errstate(invalid="ignore", over="ignore"):
        columns = [x_own * axis[column_own] for axis in grid.axes.T]
        sums = sums_by(of_row_own, n, [*columns, x_own * x_own])
    scores = sums[:, :-1] - [math.fsum(axis * grid.origin) for axis in grid.axes.T]
    return scores, sums[:, -1], sums_by(of_row[~own], n, [x[~own]])[:, 0]


def _check_edges(edges: FloatArray) -> None:
    array = np.asarray(edges, dtype=np.float64)
    if array.ndim != 1 or array.size < 2 or not np.all(np.isfinite(array)) or not np.all(np.diff(array) > 0):
        raise InvalidInputError(
            "edges must be a strictly ascending list of at least two finite numbers.",
            hint="Edges are public: derive them from released variances or from public knowledge of the columns.",
        )

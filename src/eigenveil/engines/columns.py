"""Columns as populations of numbers, all queried in the same pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines.query import Chunk
from eigenveil.engines.sampled import SampledPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import EntryCounts, EntrySums
from eigenveil.operators import PeopleOperator, RowsOperator, column_entries, made_of_rows


class ColumnPopulation:
    """One number per unit and column: the mean of the unit's rows, or of their squares, in that column.

    The contribution of a unit to an answer is a function of the unit's own rows and of the arguments, to the bit.
    In each column, a unit adds 1 to at most one count, and at most 1 to a sum in units of the radius. A row that
    is invalid in any column, requested or not, is excluded from all columns. A unit without a valid row adds
    nothing to any column.

    Parameters
    ----------
    population : SampledPopulation
        Units that are rows or people. Its tensor is ignored.
    columns : array of int
        The requested columns. Answers have the same order.
    squared : bool
        Whether to use the squares of the entries.

    Examples
    --------
    >>> from eigenveil.operators import MeanRows, samples
    >>> rows = samples.rows(np.array([[3.0, 4.0], [0.0, 1.0], [np.nan, 1.0]]))
    >>> both = ColumnPopulation(SampledPopulation(rows, MeanRows()), np.arange(2))
    >>> both.counts_between(np.array([1.0, 5.0])).tolist()
    [[1, 1], [1, 1]]
    >>> (both.clipped_sums(np.array([2.0, 8.0]), -4) / 16).tolist()
    [1.0, 0.625]
    """

    def __init__(self, population: SampledPopulation, columns: IntArray, *, squared: bool = False) -> None:
        operator = population.operator
        if not made_of_rows(operator):
            raise InvalidInputError("units given as matrices have no rows, so they have no columns of numbers.")
        self._population, self._squared = population, squared
        self._public = operator.without_data()
        self.columns = columns

    def counts_between(self, edges: FloatArray, *, signed: bool = False) -> IntArray:
        """Return, for each column, how many numbers have an absolute value in each interval of the edges.

        The edges are ascending. The first interval is from 0 to the first edge; each interval includes its upper
        edge. Numbers beyond the last edge are not counted. Shape (columns, edges), or (columns, 2 edges) with
        `signed`: the counts of negative numbers follow those of the others. Makes one pass.
        """
        query = self._query(edges=edges, signed=signed)
        return query.counts.between(self._population.reduce(query))

    def clipped_sums(self, radii: FloatArray, exponent: int) -> IntArray:
        """Return, for each column, the sum of its numbers, each clipped to the column's radius and divided by it.

        The sums are in units of 2^exponent. Makes one pass.
        """
        if np.shape(radii) != self.columns.shape:
            raise InvalidInputError(
                f"expected {self.columns.size} radii, one per column, got shape {np.shape(radii)}."
            )
        return self._population.reduce(self._query(clips=(radii, exponent)))

    def _query(self, **asked: Any) -> ColumnQuery:
        return ColumnQuery(operator=self._public, squared=self._squared, columns=self.columns, **asked)


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnQuery:
    """Query for counts between edges, or clipped sums, of each column separately. The state is an integer array.

    Parameters
    ----------
    operator : RowsOperator or PeopleOperator
        Public part of the operator, without data.
    squared : bool
        Whether to use the squares of the entries.
    columns : array of int
        The requested columns.
    edges : array, optional
        Ascending edges, for counts.
    signed : bool
        Whether negative numbers are counted apart.
    clips : array and int, optional
        Radii and an exponent, for sums.
    """

    operator: RowsOperator | PeopleOperator
    squared: bool
    columns: IntArray
    edges: FloatArray | None = None
    signed: bool = False
    clips: tuple[FloatArray, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields only."""
        return {name: value for name, value in vars(self).items() if name not in ("counts", "_sums")}

    @cached_property
    def counts(self) -> EntryCounts:
        """The kernel for counts."""
        assert self.edges is not None, "the query has no edges"
        return EntryCounts(self.columns.size, self.edges, signed=self.signed)

    @cached_property
    def _sums(self) -> EntrySums:
        assert self.clips is not None, "the query has no clips"
        return EntrySums(*self.clips)

    @property
    def _kernel(self) -> EntryCounts | EntrySums:
        return self._sums if self.edges is None else self.counts

    def zero(self) -> IntArray:
        """Return a state of zeros."""
        return self._kernel.empty()

    def add(self, state: IntArray, chunk: Chunk) -> IntArray:
        """Count or sum the included units of a chunk."""
        chunk.check_columns(self.operator.d)
        for some in column_entries(self.operator, chunk.included_units(), self.columns, squared=self.squared):
            self._kernel.add(state, *some)
        return state

    def merge(self, one: IntArray, other: IntArray) -> IntArray:
        """Add the states."""
        one += other
        return one

    def finish(self, state: IntArray) -> IntArray:
        """Return the state."""
        return state

"""Columns of units, each a population of numbers, asked together: in as many passes as one of them."""

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
    """A number per unit and column: the unit's mean row there, or the mean of its rows' squares.

    What a unit adds to an answer is a function of the unit's own rows and of the arguments, to the bit. In each
    column it adds 1 to one count at most, and at most 1 to a sum in units of the radius. Rows that are bad in any
    column, also one that is not asked for, are left out of all; a unit without a good row adds nothing anywhere.

    Parameters
    ----------
    population : SampledPopulation
        Of rows or people, whatever their tensor.
    columns : array of int
        Which columns are asked for; answers are in this order.
    squared : bool
        Whether squares are meant.

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

    def counts_between(self, edges: FloatArray) -> IntArray:
        """For each column, how many numbers are up to the first of the ascending edges in size, or between two.

        One pass; shape (columns, edges). Numbers beyond the last edge are not counted.
        """
        query = self._query(edges=edges)
        return query.counts.between(self._population.reduce(query))

    def clipped_sums(self, radii: FloatArray, exponent: int) -> IntArray:
        """For each column the sum of its numbers, clipped to its radius and measured in it.

        One pass; in units of 2^exponent.
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
    """Counts between edges, or clipped sums, of every column by itself; the state is an array of whole numbers.

    Parameters
    ----------
    operator : RowsOperator or PeopleOperator
        Without data.
    squared : bool
        Whether squares are meant.
    columns : array of int
        Which columns are.
    edges : array, optional
        Ascending; numbers between them are counted.
    clips : array and int, optional
        Radii and an exponent, where sums are asked for.
    """

    operator: RowsOperator | PeopleOperator
    squared: bool
    columns: IntArray
    edges: FloatArray | None = None
    clips: tuple[FloatArray, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone."""
        return {name: value for name, value in vars(self).items() if name not in ("counts", "_sums")}

    @cached_property
    def counts(self) -> EntryCounts:
        """What counts."""
        assert self.edges is not None, "only sums were asked for"
        return EntryCounts(self.columns.size, self.edges)

    @cached_property
    def _sums(self) -> EntrySums:
        assert self.clips is not None, "only counts were asked for"
        return EntrySums(*self.clips)

    @property
    def _kernel(self) -> EntryCounts | EntrySums:
        return self._sums if self.edges is None else self.counts

    def zero(self) -> IntArray:
        """Nothing counted, nothing summed."""
        return self._kernel.empty()

    def add(self, state: IntArray, chunk: Chunk) -> IntArray:
        """Count, or sum, the units of a chunk that are let in."""
        chunk.check_columns(self.operator.d)
        for some in column_entries(self.operator, chunk.let_in(), self.columns, squared=self.squared):
            self._kernel.add(state, *some)
        return state

    def merge(self, one: IntArray, other: IntArray) -> IntArray:
        """Integers add up."""
        one += other
        return one

    def finish(self, state: IntArray) -> IntArray:
        """All of it."""
        return state

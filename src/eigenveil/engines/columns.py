"""The columns of units, each a population of numbers, asked together: in as many passes as one of them."""

from __future__ import annotations

from collections.abc import Iterator
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

_TABLE_ENTRIES = 1 << 22
"""Counts of so many pairs of a column and an edge are held at a time: 32 MB."""


class ColumnPopulation:
    """A number per unit and column: the unit's mean row there, or the mean of its rows' squares.

    What a unit adds to an answer for a column is a function of the unit's own entries in that column and of the
    arguments, to the bit. For each column by itself the promises of `Population` hold, as for tensors of one
    number: a unit adds 0 or 1 to a count and at most `radius` to a sum, and nothing where it is bad *in that
    column*.

    Parameters
    ----------
    population : SampledPopulation
        Of rows or people, whatever their tensor.
    squared : bool
        Whether squares are meant.

    Examples
    --------
    >>> from eigenveil.operators import MeanRows, samples
    >>> rows = samples.rows(np.array([[3.0, 4.0], [0.0, 1.0], [np.nan, 1.0]]))
    >>> both = ColumnPopulation(SampledPopulation(rows, MeanRows()))
    >>> both.counts_within(np.zeros(2), np.array([1.0, 5.0])).tolist()
    [[1, 2], [2, 3]]
    >>> (both.clipped_sums(np.zeros(2), np.array([2.0, 9.0]), np.array([-4, -4])) / 16).tolist()
    [2.0, 6.0]
    """

    def __init__(self, population: SampledPopulation, *, squared: bool = False) -> None:
        operator = population.operator
        if not made_of_rows(operator):
            raise InvalidInputError("units given as matrices have no rows, so they have no columns of numbers.")
        self._population, self._squared = population, squared
        self._public = operator.without_data()

    @property
    def d(self) -> int:
        """Number of columns."""
        return self._public.d

    def counts_within(self, centre: FloatArray, edges: FloatArray, columns: slice = slice(None)) -> IntArray:
        """For each of some columns and of the ascending edges, how many units lie within it: (columns, edges).

        One pass. The whole table is held in memory: `column_groups` says how many columns to ask for.
        """
        query = ColumnQuery(
            operator=self._public,
            squared=self._squared,
            columns=columns,
            centre=self._checked(centre)[columns],
            edges=edges,
        )
        return query.counts.within(self._population.reduce(query))

    def clipped_sums(self, centre: FloatArray, radii: FloatArray, exponents: IntArray) -> IntArray:
        """For each column the sum of its numbers less the centre, clipped to its radius, in units of 2^exponent.

        One pass.
        """
        clips = (self._checked(radii), self._checked(exponents))
        query = ColumnQuery(
            operator=self._public,
            squared=self._squared,
            columns=slice(None),
            centre=self._checked(centre),
            clips=clips,
        )
        return self._population.reduce(query)

    def _checked(self, numbers: Any) -> Any:
        if np.shape(numbers) != (self.d,):
            raise InvalidInputError(f"expected {self.d} numbers, one per column, got shape {np.shape(numbers)}.")
        return numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnQuery:
    """Counts at edges, or clipped sums, of every column by itself; the state is an array of whole numbers.

    Parameters
    ----------
    operator : RowsOperator or PeopleOperator
        Without data.
    squared : bool
        Whether squares are meant.
    columns : slice
        Which columns are; all that follows is one number for each of them.
    centre : array
        Finite.
    edges : array, optional
        Ascending; units within them are counted.
    clips : pair of arrays, optional
        Radii and exponents, where sums are asked for.
    """

    operator: RowsOperator | PeopleOperator
    squared: bool
    columns: slice
    centre: FloatArray
    edges: FloatArray | None = None
    clips: tuple[FloatArray, IntArray] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone."""
        return {name: value for name, value in vars(self).items() if name not in ("counts", "_sums")}

    @cached_property
    def counts(self) -> EntryCounts:
        """What counts."""
        assert self.edges is not None, "only sums were asked for"
        return EntryCounts(self.centre, self.edges)

    @cached_property
    def _sums(self) -> EntrySums:
        assert self.clips is not None, "only counts were asked for"
        return EntrySums(self.centre, *self.clips)

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


def column_groups(d: int, edges: int) -> Iterator[slice]:
    """The columns in groups, a few thousand each, whose counts at so many edges are held at a time.

    Examples
    --------
    >>> [group.stop - group.start for group in column_groups(10_000, 1023)]
    [4096, 4096, 1808]
    """
    width = max(1, _TABLE_ENTRIES // (edges + 1))
    return (slice(start, min(start + width, d)) for start in range(0, d, width))

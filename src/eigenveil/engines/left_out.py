"""Counts of excluded rows (missing values) and of values outside the declared categories, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from eigenveil._typing import BoolArray, IntArray
from eigenveil.engines.engine import Engine
from eigenveil.engines.plans import SamplingPlan
from eigenveil.engines.query import Chunk
from eigenveil.engines.sampled import Passes
from eigenveil.operators import PeopleOperator, RowsOperator
from eigenveil.sources import Block
from eigenveil.sources.source import Values

PLACES = 10
"""Numbers are multiples of 2^-10, so sums are exact."""
_ONE = 1 << PLACES


@dataclass(frozen=True, eq=False)
class LeftOutQuery:
    """Query for sums over units of several numbers in [0, 1], in steps of 2^-10.

    For people, the first two numbers are whether a person has an excluded row, and the share of the person's rows
    that are excluded. Then follows, for every group of columns, whether the unit has a row that is 0 in the whole
    group.

    Parameters
    ----------
    operator : RowsOperator or PeopleOperator
        Public part of the operator, without data.

    Examples
    --------
    >>> from eigenveil.operators import samples
    >>> people = samples.people(np.array([[1.0], [np.nan], [2.0]]), ["ann", "ann", "bob"])
    >>> query = LeftOutQuery(people.without_data())
    >>> chunks = [Chunk(0, block) for block in people.source.blocks()]
    >>> (query.finish(query.add(query.zero(), chunks[0])) / 2**PLACES).tolist()
    [1.0, 0.5]
    """

    operator: RowsOperator | PeopleOperator

    @property
    def of_people(self) -> bool:
        """Whether single rows can be excluded from a unit. A unit of one row is excluded as an invalid unit."""
        return not self.operator.single_rows

    @property
    def size(self) -> int:
        """How many numbers a unit has."""
        return 2 * self.of_people + len(self.operator.groups)

    def zero(self) -> IntArray:
        """Return a state of zeros."""
        return np.zeros(self.size, dtype=np.int64)

    def add(self, state: IntArray, chunk: Chunk) -> IntArray:
        """Add the units of a chunk."""
        chunk.check_columns(self.operator.d)
        block = chunk.included_units()
        found: list[IntArray] = []
        if self.of_people:
            rows = np.maximum(_lengths(block), 1)
            lost = _per_unit(self.operator.bad_rows(block.values), block)
            share = (2 * _ONE * lost + rows) // (2 * rows)  # to the nearest step, from 0 to 1
            found += [_ONE * (lost > 0), share]
        for group in self.operator.groups:
            found.append(_ONE * (_per_unit(_all_zero(block.values, group.columns), block) > 0))
        state += np.array([int(numbers.sum()) for numbers in found], dtype=np.int64)
        return state

    def merge(self, one: IntArray, other: IntArray) -> IntArray:
        """Add the states."""
        return one + other

    def finish(self, state: IntArray) -> IntArray:
        """Return the sums."""
        return state


class LeftOut:
    """The sums of `LeftOutQuery` over the units of an operator that a plan includes.

    Parameters
    ----------
    operator : RowsOperator or PeopleOperator
        The units.
    plan, engine, passes
        As for `SampledPopulation`.
    """

    def __init__(
        self, operator: RowsOperator | PeopleOperator, *, plan: SamplingPlan, engine: Engine, passes: Passes
    ) -> None:
        self.operator, self.plan, self.engine, self.passes = operator, plan, engine, passes
        self.query = LeftOutQuery(operator.without_data())
        self._kept: IntArray | None = None

    def sums(self) -> IntArray:
        """Return the sums of `LeftOutQuery`; makes a pass unless they were read ahead."""
        if self._kept is None:
            self.passes.made += 1
            self.keep(self.engine.reduce(self.operator.partitions(), self.plan, self.query))
        assert self._kept is not None
        return self._kept

    def keep(self, sums: IntArray) -> None:
        """Store an answer that was read ahead."""
        self._kept = sums


def _lengths(block: Block) -> IntArray:
    """Return the number of rows of every unit."""
    if block.offsets is None:
        return np.ones(block.units, dtype=np.int64)
    return np.diff(block.offsets).astype(np.int64)


def _per_unit(rows: BoolArray, block: Block) -> IntArray:
    """Return the number of marked rows of every unit."""
    if block.offsets is None:
        return rows.astype(np.int64)
    upto = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)])
    counts: IntArray = upto[block.offsets[1:]] - upto[block.offsets[:-1]]
    return counts


def _all_zero(values: Values, columns: slice) -> BoolArray:
    """Return, for every row, whether it is 0 in all these columns; nan is not 0."""
    some: Any = values[:, columns] if isinstance(values, sparse.csr_array) else np.asarray(values)[:, columns]
    found: BoolArray = np.asarray((some != 0).sum(axis=1)).ravel() == 0
    return found

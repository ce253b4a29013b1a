"""Queries over units in one pass: a query starts a state, adds chunks to it, merges states and returns the answer.

Queries and their states are pickled, and sent to the workers that hold the data and back. States contain integers,
which add exactly. So an answer is the same for any number of workers, any chunking and any order, and also if a
partition is computed twice and one of the results is discarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.engines.plans import SamplingPlan
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, RowVectorSurveyor, Surveyor
from eigenveil.operators import Operator, RowsOperator, Tensor, Variances
from eigenveil.sources import Block, Partition

StateT = TypeVar("StateT")
ResultT_co = TypeVar("ResultT_co", covariant=True)


@dataclass(frozen=True, repr=False, eq=False)
class Chunk:
    """Some units of a partition, and which of them the plan excludes."""

    partition: int
    block: Block
    skip: BoolArray | None = None

    @property
    def slots(self) -> int:
        """Number of included units, valid or not."""
        return self.block.units if self.skip is None else int(np.sum(~self.skip))

    def check_columns(self, d: int) -> None:
        """Raise an error if rows do not have d columns."""
        if self.block.values.shape[-1] != d:
            raise InvalidInputError(
                f"expected rows of {d} columns, as when the data were opened, got {self.block.values.shape[-1]}."
            )

    def included_units(self) -> Block:
        """Return the units that the plan includes."""
        return self.block if self.skip is None else self.block.only(~self.skip)


class Query(Protocol[StateT, ResultT_co]):
    """A query over units. It is small and contains no data, so it can be sent to the workers that hold the data.

    The contribution of a unit to the state is a function of that unit and of the query, to the bit.
    """

    def zero(self) -> StateT:
        """Return the state before any unit was added."""

    def add(self, state: StateT, chunk: Chunk) -> StateT:
        """Return the state with a chunk's units added; `state` may be changed in place."""

    def merge(self, one: StateT, other: StateT) -> StateT:
        """Return the state with the units of both added; either may be changed in place."""

    def finish(self, state: StateT) -> ResultT_co:
        """Return the answer."""


def fold(
    query: Query[StateT, ResultT_co], plan: SamplingPlan, partitions: Iterable[tuple[int, Partition]]
) -> StateT:
    """Return the state of some partitions, each with its number in the data. Workers run this function."""
    every = (chunk for number, partition in partitions for chunk in chunks(plan, partition, number))
    return reduce(query.add, every, query.zero())


def chunks(plan: SamplingPlan, partition: Partition, number: int) -> Iterator[Chunk]:
    """Yield the units of one partition that a plan includes, in the order of the data."""
    start = 0
    for block in partition.blocks():
        units = block.units
        if units:
            yield from _without_skipped(Chunk(number, block, plan.skip(number, start, units)))
        start += units


def _without_skipped(chunk: Chunk) -> Iterator[Chunk]:
    """Yield the chunk, reduced to its included units if they are few. This changes no unit's contribution."""
    skip = chunk.skip
    if skip is None or 2 * int(skip.sum()) < skip.size:
        yield chunk
    elif not skip.all():
        yield Chunk(chunk.partition, chunk.included_units())


# -- queries -----------------------------------------------------------------------------------------


class Survey(NamedTuple):
    """Counts of units at all edges, clipped sums at all clips, and the number of included units, valid or not."""

    counts: IntArray
    sums: list[IntArray]
    slots: int


@dataclass
class SurveyState:
    """Counts and sums of a survey so far."""

    surveyor: Surveyor
    counts: IntArray
    slots: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class SurveyQuery:
    """Query for counts and clipped sums of one tensor per unit, minus a centre, in one pass.

    Parameters
    ----------
    operator : Operator
        Public part of the operator, without data.
    tensor : Tensor
        The tensor of a unit to measure.
    centre : array of the tensor's shape
        Centre to subtract. Finite, and symmetric if tensors are.
    edges : array
        Ascending edges. For each, units whose norm does not exceed it are counted.
    clips : tuple of Clip
        Radii and grids. For each, tensors are clipped, rounded and summed.
    """

    operator: Operator
    tensor: Tensor
    centre: FloatArray
    edges: FloatArray
    clips: tuple[Clip, ...]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields only."""
        return {name: value for name, value in vars(self).items() if name != "_empty"}

    @cached_property
    def _empty(self) -> Surveyor:
        """An empty surveyor, created once: `fresh` copies it, which is much faster than creating another."""
        return self.operator.surveyor(self.tensor, self.centre, self.clips)

    def zero(self) -> SurveyState:
        """Return a state of zeros."""
        return self.starting_with(self._empty.fresh())

    def starting_with(self, surveyor: Surveyor) -> SurveyState:
        """Return a state of zeros that uses this surveyor, which must be empty."""
        return SurveyState(surveyor, np.zeros(self.edges.size, dtype=np.int64))

    def add(self, state: SurveyState, chunk: Chunk) -> SurveyState:
        """Measure and sum the units of a chunk, piece by piece."""
        chunk.check_columns(self.operator.d)  # the compiled loops rely on this number
        for piece, where in self.operator.pieces(self.tensor, chunk.block):
            norms = state.surveyor.add(piece, None if chunk.skip is None else chunk.skip[where])
            state.counts += counts_at(norms, self.edges)
        state.slots += chunk.slots
        return state

    def merge(self, one: SurveyState, other: SurveyState) -> SurveyState:
        """Add the states."""
        one.surveyor.merge(other.surveyor)
        one.counts += other.counts
        one.slots += other.slots
        return one

    def finish(self, state: SurveyState) -> Survey:
        """Return counts, sums in grid steps, and slots."""
        return Survey(state.counts, state.surveyor.sums(), state.slots)


@dataclass(frozen=True, eq=False)
class JointQuery:
    """Several queries in one pass: every chunk is read once, and each query adds it to a state of its own."""

    queries: tuple[Query[Any, Any], ...]

    @classmethod
    def of(cls, queries: tuple[Query[Any, Any], ...]) -> JointQuery:
        """Return the fastest joint query for these queries."""
        surveys = tuple(query for query in queries if isinstance(query, SurveyQuery))
        tensors = [survey.tensor for survey in surveys if isinstance(survey.tensor, Variances)]
        alike = len(tensors) == len(queries) > 1 and all(np.array_equal(one.U, tensors[0].U) for one in tensors)
        return VariancesQuery(surveys) if alike and surveys[0].operator.single_rows else cls(queries)

    def zero(self) -> list[Any]:
        """Return one zero state per query."""
        return [query.zero() for query in self.queries]

    def add(self, state: list[Any], chunk: Chunk) -> list[Any]:
        """Add a chunk to all states."""
        return [query.add(own, chunk) for query, own in zip(self.queries, state, strict=True)]

    def merge(self, one: list[Any], other: list[Any]) -> list[Any]:
        """Merge the states of each query."""
        return [query.merge(*both) for query, *both in zip(self.queries, one, other, strict=True)]

    def finish(self, state: list[Any]) -> list[Any]:
        """Return one answer per query."""
        return [query.finish(own) for query, own in zip(self.queries, state, strict=True)]


@dataclass(frozen=True, eq=False)
class VariancesQuery(JointQuery):
    """Several surveys of variances along the same directions, which are computed once per chunk."""

    queries: tuple[SurveyQuery, ...]

    def __getstate__(self) -> dict[str, Any]:
        """Return the queries only."""
        return {"queries": self.queries}

    @cached_property
    def _variances(self) -> Callable[[Block], FloatArray]:
        """The function from a block to its units' variances; public numbers are computed once for all blocks."""
        operator, tensor = self.queries[0].operator, self.queries[0].tensor
        assert isinstance(tensor, Variances)
        if isinstance(operator, RowsOperator) and operator.removed is None:
            spreading = operator.spreading(tensor.U)
            return lambda block: spreading(block.values)
        return lambda block: operator.variances(block, tensor.U)

    def zero(self) -> list[SurveyState]:
        """Return one zero state per survey."""
        return [survey.starting_with(RowVectorSurveyor(survey.centre, survey.clips)) for survey in self.queries]

    def add(self, state: list[SurveyState], chunk: Chunk) -> list[SurveyState]:
        """Add a chunk to all states."""
        chunk.check_columns(self.queries[0].operator.d)
        tensors = [survey.tensor for survey in self.queries if isinstance(survey.tensor, Variances)]
        whole = self._variances(chunk.block)
        for survey, tensor, own in zip(self.queries, tensors, state, strict=True):
            selected = np.ascontiguousarray(whole[:, tensor.entries])
            own.counts += counts_at(own.surveyor.add(selected, chunk.skip), survey.edges)
            own.slots += chunk.slots
        return state


def counts_at(norms: FloatArray, edges: FloatArray) -> IntArray:
    """Return, for each edge, how many of the finite norms do not exceed it."""
    bins = np.bincount(np.searchsorted(edges, norms[np.isfinite(norms)]), minlength=edges.size + 1)
    return np.cumsum(bins[: edges.size])


@dataclass(frozen=True)
class SlotsQuery:
    """Query for the number of included units, valid or not, in each partition."""

    partitions: int

    def zero(self) -> IntArray:
        """Return a state of zeros."""
        return np.zeros(self.partitions, dtype=np.int64)

    def add(self, state: IntArray, chunk: Chunk) -> IntArray:
        """Count the units of a chunk."""
        state[chunk.partition] += chunk.slots
        return state

    def merge(self, one: IntArray, other: IntArray) -> IntArray:
        """Add the states."""
        return one + other

    def finish(self, state: IntArray) -> IntArray:
        """Return one number per partition."""
        return state


# -- transforms for `Engine.map` -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tensors:
    """Function from a chunk to the tensors of its included units."""

    operator: Operator
    tensor: Tensor

    def __call__(self, chunk: Chunk) -> FloatArray:
        """Return one tensor per included unit."""
        tensors = self.tensor.of(self.operator, chunk.block)
        return tensors if chunk.skip is None else tensors[~chunk.skip]

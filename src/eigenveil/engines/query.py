"""What is asked of units in one pass: a query starts a state, adds chunks to it, merges states and finishes one.

Queries, and the states that they make, are pickled and sent to where the data are and back. States hold integers
that add up exactly. So an answer is the same for any number of workers, any chunking and any order, and also where
a partition is computed twice and one of the results is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.engines.plans import Plan
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, RowVectorSurveyor, Surveyor
from eigenveil.operators import Operator, RowsOperator, Tensor, Variances
from eigenveil.sources import Block, Partition

StateT = TypeVar("StateT")
ResultT_co = TypeVar("ResultT_co", covariant=True)


@dataclass(frozen=True, repr=False, eq=False)
class Chunk:
    """Some units of a partition, and which of them are left out."""

    partition: int
    block: Block
    skip: BoolArray | None = None

    @property
    def slots(self) -> int:
        """How many units are let in, bad ones included."""
        return self.block.units if self.skip is None else int(np.sum(~self.skip))

    def check_columns(self, d: int) -> None:
        """Raise unless rows have so many columns."""
        if self.block.values.shape[-1] != d:
            raise InvalidInputError(
                f"expected rows of {d} columns, as when the data were opened, got {self.block.values.shape[-1]}."
            )

    def let_in(self) -> Block:
        """The units that are let in."""
        return self.block if self.skip is None else self.block.only(~self.skip)


class Query(Protocol[StateT, ResultT_co]):
    """A question about units; small and without data, so that it can be sent to where the data are.

    What a unit adds to the state is a function of that unit and of the query, to the bit.
    """

    def zero(self) -> StateT:
        """The state in which no unit has been seen."""

    def add(self, state: StateT, chunk: Chunk) -> StateT:
        """The state with a chunk's units added; the one that was given may be changed."""

    def merge(self, one: StateT, other: StateT) -> StateT:
        """The state in which the units of both have been seen; either may be changed."""

    def finish(self, state: StateT) -> ResultT_co:
        """The answer."""


def fold(query: Query[StateT, ResultT_co], plan: Plan, partition: Partition, number: int) -> StateT:
    """The state after one partition, the `number`-th of the data: what a worker does where the partition is."""
    state = query.zero()
    for chunk in chunks(plan, partition, number):
        state = query.add(state, chunk)
    return state


def chunks(plan: Plan, partition: Partition, number: int) -> Iterator[Chunk]:
    """The units of one partition that a plan lets in, in the order of the data."""
    start = 0
    for block in partition.blocks():
        units = block.units
        if units:
            yield from _without_skipped(Chunk(number, block, plan.skip(number, start, units)))
        start += units


def _without_skipped(chunk: Chunk) -> Iterator[Chunk]:
    """The chunk as it is, or only its units that are let in where those are few: what a unit adds is the same."""
    skip = chunk.skip
    if skip is None or 2 * int(skip.sum()) < skip.size:
        yield chunk
    elif not skip.all():
        yield Chunk(chunk.partition, chunk.let_in())


# -- queries -----------------------------------------------------------------------------------------


class Survey(NamedTuple):
    """Counts of units at all edges, clipped sums at all clips, and how many units were let in, good or bad."""

    counts: IntArray
    sums: list[IntArray]
    slots: int


@dataclass
class SurveyState:
    """What a survey has counted and summed so far."""

    surveyor: Surveyor
    counts: IntArray
    slots: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class SurveyQuery:
    """Counts and clipped sums of one tensor per unit, less a centre, in one pass.

    Parameters
    ----------
    operator : Operator
        Without data.
    tensor : Tensor
        Which tensor of a unit is meant.
    centre : array of the tensor's shape
        Finite; symmetric if tensors are.
    edges : array
        Ascending; for each, units whose norm does not exceed it are counted.
    clips : tuple of Clip
        For each, tensors are clipped, rounded and summed.
    """

    operator: Operator
    tensor: Tensor
    centre: FloatArray
    edges: FloatArray
    clips: tuple[Clip, ...]

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone."""
        return {name: value for name, value in vars(self).items() if name != "_empty"}

    @cached_property
    def _empty(self) -> Surveyor:
        """Made once, as that takes far longer than to start another with the same public numbers."""
        return self.operator.surveyor(self.tensor, self.centre, self.clips)

    def zero(self) -> SurveyState:
        """Nothing counted, nothing summed."""
        return self.starting_with(self._empty.fresh())

    def starting_with(self, surveyor: Surveyor) -> SurveyState:
        """The same with this surveyor, which is empty."""
        return SurveyState(surveyor, np.zeros(self.edges.size, dtype=np.int64))

    def add(self, state: SurveyState, chunk: Chunk) -> SurveyState:
        """Measure and sum the units of a chunk, piece by piece."""
        chunk.check_columns(self.operator.d)  # loops go over memory by this number
        for piece, where in self.operator.pieces(self.tensor, chunk.block):
            norms = state.surveyor.add(piece, None if chunk.skip is None else chunk.skip[where])
            state.counts += counts_at(norms, self.edges)
        state.slots += chunk.slots
        return state

    def merge(self, one: SurveyState, other: SurveyState) -> SurveyState:
        """Integers add up."""
        one.surveyor.merge(other.surveyor)
        one.counts += other.counts
        one.slots += other.slots
        return one

    def finish(self, state: SurveyState) -> Survey:
        """Counts, sums in whole grid steps, slots."""
        return Survey(state.counts, state.surveyor.sums(), state.slots)


@dataclass(frozen=True, eq=False)
class JointQuery:
    """Several queries in one pass: every chunk is read once, and each query adds it to a state of its own."""

    queries: tuple[Query[Any, Any], ...]

    @classmethod
    def of(cls, queries: tuple[Query[Any, Any], ...]) -> JointQuery:
        """The quickest way to do these."""
        surveys = tuple(query for query in queries if isinstance(query, SurveyQuery))
        tensors = [survey.tensor for survey in surveys if isinstance(survey.tensor, Variances)]
        alike = len(tensors) == len(queries) > 1 and all(np.array_equal(one.U, tensors[0].U) for one in tensors)
        return VariancesQuery(surveys) if alike and surveys[0].operator.single_rows else cls(queries)

    def zero(self) -> list[Any]:
        """Nothing counted, nothing summed."""
        return [query.zero() for query in self.queries]

    def add(self, state: list[Any], chunk: Chunk) -> list[Any]:
        """Add a chunk to all of them."""
        return [query.add(own, chunk) for query, own in zip(self.queries, state, strict=True)]

    def merge(self, one: list[Any], other: list[Any]) -> list[Any]:
        """Integers add up."""
        return [query.merge(*both) for query, *both in zip(self.queries, one, other, strict=True)]

    def finish(self, state: list[Any]) -> list[Any]:
        """One answer per query."""
        return [query.finish(own) for query, own in zip(self.queries, state, strict=True)]


@dataclass(frozen=True, eq=False)
class VariancesQuery(JointQuery):
    """Several surveys of some of the same variances, which are computed once for each chunk."""

    queries: tuple[SurveyQuery, ...]

    def __getstate__(self) -> dict[str, Any]:
        """The queries alone."""
        return {"queries": self.queries}

    @cached_property
    def _variances(self) -> Callable[[Block], FloatArray]:
        """From a block to its units' variances; what is public is worked out once for all blocks."""
        operator, tensor = self.queries[0].operator, self.queries[0].tensor
        assert isinstance(tensor, Variances)
        if isinstance(operator, RowsOperator) and operator.removed is None:
            spreading = operator.spreading(tensor.U)
            return lambda block: spreading(block.values)
        return lambda block: operator.variances(block, tensor.U)

    def zero(self) -> list[SurveyState]:
        """Nothing counted, nothing summed."""
        return [survey.starting_with(RowVectorSurveyor(survey.centre, survey.clips)) for survey in self.queries]

    def add(self, state: list[SurveyState], chunk: Chunk) -> list[SurveyState]:
        """Add a chunk to all of them."""
        chunk.check_columns(self.queries[0].operator.d)
        tensors = [survey.tensor for survey in self.queries if isinstance(survey.tensor, Variances)]
        whole = self._variances(chunk.block)
        for survey, tensor, own in zip(self.queries, tensors, state, strict=True):
            meant = np.ascontiguousarray(whole[:, tensor.entries])
            own.counts += counts_at(own.surveyor.add(meant, chunk.skip), survey.edges)
            own.slots += chunk.slots
        return state


def counts_at(norms: FloatArray, edges: FloatArray) -> IntArray:
    """For each edge, how many of the finite norms do not exceed it."""
    bins = np.bincount(np.searchsorted(edges, norms[np.isfinite(norms)]), minlength=edges.size + 1)
    return np.cumsum(bins[: edges.size])


@dataclass(frozen=True)
class SlotsQuery:
    """How many units are let in, bad ones included, in each of some partitions."""

    partitions: int

    def zero(self) -> IntArray:
        """None."""
        return np.zeros(self.partitions, dtype=np.int64)

    def add(self, state: IntArray, chunk: Chunk) -> IntArray:
        """Count the units of a chunk."""
        state[chunk.partition] += chunk.slots
        return state

    def merge(self, one: IntArray, other: IntArray) -> IntArray:
        """Integers add up."""
        return one + other

    def finish(self, state: IntArray) -> IntArray:
        """One number per partition."""
        return state


# -- what is handed out in the order of the data ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tensors:
    """From a chunk to the tensors of its units that are let in."""

    operator: Operator
    tensor: Tensor

    def __call__(self, chunk: Chunk) -> FloatArray:
        """One tensor per unit."""
        tensors = self.tensor.of(self.operator, chunk.block)
        return tensors if chunk.skip is None else tensors[~chunk.skip]

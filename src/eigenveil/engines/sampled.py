"""The population of an operator, a plan and an engine, through which mechanisms query real data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines.engine import Engine
from eigenveil.engines.local import LocalEngine
from eigenveil.engines.plans import FullPlan, SamplingPlan
from eigenveil.engines.population import Population, SurveyedPopulation
from eigenveil.engines.query import JointQuery, Query, SlotsQuery, Survey, SurveyQuery, Tensors
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip
from eigenveil.operators import MeanRows, Operator, Tensor
from eigenveil.sources import Partition

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")


@dataclass
class Passes:
    """Number of passes over the units so far."""

    made: int = 0


@dataclass(frozen=True, eq=False)
class Asked:
    """A future query of a population: counts at all edges and sums at all clips, around a centre."""

    population: Population
    centre: FloatArray
    edges: FloatArray
    clips: tuple[Clip, ...] = ()


@dataclass(frozen=True, eq=False)
class _Kept:
    """An answer that was read ahead."""

    centre: FloatArray
    edges: FloatArray
    clips: tuple[Clip, ...]
    answer: Survey

    def to(self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]) -> Survey | None:
        """Return the part of the answer that a query needs, or None if the answer does not contain all of it."""
        places = np.searchsorted(self.edges, edges)
        known = not edges.size or (places[-1] < self.edges.size and np.array_equal(self.edges[places], edges))
        if not (known and np.array_equal(self.centre, centre) and all(clip in self.clips for clip in clips)):
            return None
        sums = [self.answer.sums[self.clips.index(clip)] for clip in clips]
        return Survey(self.answer.counts[places], sums, self.answer.slots)


class Beside(Protocol):
    """An object with another query of the same units, which stores the answer."""

    @property
    def query(self) -> Query[Any, Any]:
        """The query."""

    def keep(self, sums: Any) -> None:
        """Store the answer."""


def read_ahead(*asked: Asked, beside: Beside | None = None) -> None:
    """Answer future queries of populations of the same units in one pass; each then needs no pass of its own.

    The query of `beside` is answered in the same pass, and `beside` stores its answer.

    Only exact counts and sums are stored, inside the populations, so nothing is released. Populations without data
    (those of the planner) are ignored.
    """
    real = [(one.population, one) for one in asked if isinstance(one.population, SampledPopulation)]
    if not real:
        return
    first = real[0][0]
    assert all(population.operator is first.operator and population.plan is first.plan for population, _ in real)
    queries = tuple(population.query(one.centre, one.edges, one.clips) for population, one in real)
    more = () if beside is None else (beside.query,)
    answers = first.reduce(JointQuery.of((*queries, *more)))
    for (population, one), answer in zip(real, answers[: len(real)], strict=True):
        population.keep(one, answer)
    if beside is not None:
        beside.keep(answers[-1])


class SampledPopulation(SurveyedPopulation):
    """One tensor per unit of an operator that a plan includes; an engine reads the data.

    Parameters
    ----------
    operator : Operator
        The units.
    tensor : Tensor
        `Products(W)`, `Matrices()`, `MeanRows()` or `Variances(U)`.
    plan : SamplingPlan, optional
        The plan that includes units; all units by default.
    engine : Engine, optional
        The engine that reads the data; by default all threads of this machine.
    passes : Passes, optional
        Counter of passes over the data.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenveil.operators import Products, Variances, samples
    >>> rows = samples.rows(np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> block = SampledPopulation(rows, Products(np.eye(2)[:, :1]))
    >>> block.shape, block.count(), (block.clipped_sum(np.zeros((2, 1)), 100.0, -10) / 2**10).tolist()
    ((2, 1), 2, [[9.0], [12.0]])
    >>> both = SampledPopulation(rows, Variances(np.eye(2)[:, :1]))
    >>> np.concatenate(list(both.tensors())).tolist()
    [[9.0, 16.0], [0.0, 1.0]]
    >>> rest = SampledPopulation(rows, Variances(np.eye(2)[:, :1], slice(1, None)))
    >>> rest.shape, rest.counts_within(np.zeros(1), np.array([2.0, 20.0])).tolist()
    ((1,), [1, 2])
    """

    def __init__(
        self,
        operator: Operator,
        tensor: Tensor,
        *,
        plan: SamplingPlan | None = None,
        engine: Engine | None = None,
        passes: Passes | None = None,
    ) -> None:
        self.operator = operator
        self.tensor: Tensor = tensor.checked(operator.d)
        self.plan = FullPlan() if plan is None else plan
        self.engine: Engine = LocalEngine() if engine is None else engine
        self.passes = Passes() if passes is None else passes
        self._kept: _Kept | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one tensor."""
        return self.tensor.shape(self.operator.d)

    @property
    def symmetric(self) -> bool:
        """Whether every tensor is a symmetric matrix."""
        return self.tensor.symmetric

    @property
    def fixed_places(self) -> bool:
        """As for the operator, because a plan includes units by their places."""
        return self.operator.fixed_places

    def slots(self) -> int:
        """Return the number of units that the plan includes, valid or not."""
        return sum(self.slots_by_partition())

    def slots_by_partition(self) -> list[int]:
        """Return `slots` for each partition."""
        partitions = self.operator.partitions()
        return [int(count) for count in self._over(partitions, SlotsQuery(len(partitions)))]

    def survey(
        self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]
    ) -> tuple[IntArray, list[IntArray]]:
        """Return counts at all edges and sums at all clips, in one pass."""
        answer = self._surveyed(centre, edges, clips)
        return answer.counts, answer.sums

    def tally(self) -> tuple[int, int]:
        """Return the number of valid units and the number of included units, in one pass."""
        answer = self._surveyed(np.zeros(self.shape), np.array([np.inf]), [])
        return int(answer.counts[0]), answer.slots

    def query(self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]) -> SurveyQuery:
        """Return the query for these counts and sums."""
        return SurveyQuery(
            operator=self.operator.without_data(),
            tensor=self.tensor,
            centre=self._checked(centre, edges),
            edges=edges,
            clips=tuple(clips),
        )

    def keep(self, asked: Asked, answer: Survey) -> None:
        """Store an answer that was read ahead; it replaces an earlier one."""
        self._kept = _Kept(asked.centre, asked.edges, asked.clips, answer)

    def _surveyed(self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]) -> Survey:
        kept = None if self._kept is None else self._kept.to(centre, edges, clips)
        return self.reduce(self.query(centre, edges, clips)) if kept is None else kept

    def tensors(self) -> Iterator[FloatArray]:
        """Yield the tensors of the included units, in the order of the data. Mean rows are not available."""
        if isinstance(self.tensor, MeanRows):
            raise InvalidInputError("mean rows can be counted and summed, but not returned one by one.")
        self.passes.made += 1
        transform = Tensors(self.operator.without_data(), self.tensor)
        return self.engine.map(self.operator.partitions(), self.plan, transform)

    def reduce(self, query: Query[StateT, ResultT]) -> ResultT:
        """Return the answer of any query over the units that the plan includes."""
        return self._over(self.operator.partitions(), query)

    def _over(self, partitions: Sequence[Partition], query: Query[StateT, ResultT]) -> ResultT:
        self.passes.made += 1
        return self.engine.reduce(partitions, self.plan, query)

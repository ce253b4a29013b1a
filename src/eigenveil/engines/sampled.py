"""The population made of an operator, a plan and an engine: what mechanisms get to see of real data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines.engine import Engine
from eigenveil.engines.local import LocalEngine
from eigenveil.engines.plans import FullPlan, Plan
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
    """How often units have been read."""

    made: int = 0


@dataclass(frozen=True, eq=False)
class Asked:
    """What a population will be asked: counts at all edges and sums at all clips, around a centre."""

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
        """The part of it that answers a question; None if it does not hold all of that."""
        places = np.searchsorted(self.edges, edges)
        known = not edges.size or (places[-1] < self.edges.size and np.array_equal(self.edges[places], edges))
        if not (known and np.array_equal(self.centre, centre) and all(clip in self.clips for clip in clips)):
            return None
        sums = [self.answer.sums[self.clips.index(clip)] for clip in clips]
        return Survey(self.answer.counts[places], sums, self.answer.slots)


class Beside(Protocol):
    """Something else that is asked of the same units, and keeps the answer."""

    @property
    def query(self) -> Query[Any, Any]:
        """What is asked."""

    def keep(self, sums: Any) -> None:
        """Keep the answer."""


def read_ahead(*asked: Asked, beside: Beside | None = None) -> None:
    """Read, in one pass, what populations of the same units will be asked; each then answers without another one.

    `beside` is read in the same pass, and keeps its answer too.

    Only exact counts and sums are kept, inside the populations: nothing is released by it. Populations that are
    not read from data (the planner's) need nothing of the kind.
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
    """One tensor of each unit of an operator that a plan lets in, surveyed by an engine.

    Parameters
    ----------
    operator : Operator
        The units.
    tensor : Tensor
        `Products(W)`, `Matrices()`, `MeanRows()` or `Variances(U)`.
    plan : Plan, optional
        Which units are meant: all by default.
    engine : Engine, optional
        Who goes over the data: all threads of this machine by default.
    passes : Passes, optional
        Where passes over the data are counted.

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
        plan: Plan | None = None,
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
        """As the units of the operator have; a plan lets units in by their places."""
        return self.operator.fixed_places

    def slots(self) -> int:
        """How many units the plan lets in, bad ones included."""
        return sum(self.slots_by_partition())

    def slots_by_partition(self) -> list[int]:
        """The same for every partition."""
        partitions = self.operator.partitions()
        return [int(count) for count in self._over(partitions, SlotsQuery(len(partitions)))]

    def survey(
        self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]
    ) -> tuple[IntArray, list[IntArray]]:
        """Counts at all edges and sums at all clips, in one pass."""
        answer = self._surveyed(centre, edges, clips)
        return answer.counts, answer.sums

    def tally(self) -> tuple[int, int]:
        """How many units are good, and how many the plan lets in, in one pass."""
        answer = self._surveyed(np.zeros(self.shape), np.array([np.inf]), [])
        return int(answer.counts[0]), answer.slots

    def query(self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]) -> SurveyQuery:
        """The survey that tells these counts and sums."""
        return SurveyQuery(
            operator=self.operator.without_data(),
            tensor=self.tensor,
            centre=self._checked(centre, edges),
            edges=edges,
            clips=tuple(clips),
        )

    def keep(self, asked: Asked, answer: Survey) -> None:
        """Keep an answer that was read ahead, in place of an earlier one."""
        self._kept = _Kept(asked.centre, asked.edges, asked.clips, answer)

    def _surveyed(self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]) -> Survey:
        kept = None if self._kept is None else self._kept.to(centre, edges, clips)
        return self.reduce(self.query(centre, edges, clips)) if kept is None else kept

    def tensors(self) -> Iterator[FloatArray]:
        """The tensors themselves, of the units let in, in the order of the data; not those of mean rows."""
        if isinstance(self.tensor, MeanRows):
            raise InvalidInputError("mean rows are only ever surveyed, not handed out.")
        self.passes.made += 1
        transform = Tensors(self.operator.without_data(), self.tensor)
        return self.engine.map(self.operator.partitions(), self.plan, transform)

    def reduce(self, query: Query[StateT, ResultT]) -> ResultT:
        """The answer of any query about the units that the plan lets in."""
        return self._over(self.operator.partitions(), query)

    def _over(self, partitions: Sequence[Partition], query: Query[StateT, ResultT]) -> ResultT:
        self.passes.made += 1
        return self.engine.reduce(partitions, self.plan, query)

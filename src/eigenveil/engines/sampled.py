"""Populations made of an operator, a plan and an engine: what mechanisms get to see of real data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.engines.local import LocalEngine
from eigenveil.engines.plans import FullPlan, Plan
from eigenveil.engines.population import Population, counts_at
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, Surveyor, TensorSurveyor, symmetric_part
from eigenveil.operators import Operator
from eigenveil.operators.operator import Prepared
from eigenveil.operators.picking import pick


class SampledPopulation(Population):
    """Units of an operator that a plan lets in, surveyed by an engine."""

    def __init__(self, operator: Operator, *, plan: Plan | None = None, engine: LocalEngine | None = None) -> None:
        self.operator = operator
        self.plan = FullPlan() if plan is None else plan
        self.engine = LocalEngine() if engine is None else engine

    @abstractmethod
    def _surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """A surveyor of this population's tensors."""

    @property
    def fixed_places(self) -> bool:
        """As the units of the operator have; a plan lets units in by their places."""
        return self.operator.fixed_places

    def slots(self) -> int:
        """How many units the plan lets in, bad ones included."""
        return sum(
            self.operator.units(chunk) if skip is None else int(np.sum(~skip)) for chunk, skip in self._chunks()
        )

    def survey(
        self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]
    ) -> tuple[IntArray, list[IntArray]]:
        """Counts at all edges and sums at all clips, in one pass."""
        surveyor = self._surveyor(self._checked(centre, edges), clips)
        counts, sums = self.engine.run(self._chunks(), surveyor, lambda norms: counts_at(norms, edges))
        return np.zeros(edges.size, dtype=np.int64) + counts, sums

    def _chunks(self) -> Iterator[tuple[Any, BoolArray | None]]:
        start = 0
        for chunk in self.operator.chunks():
            units = self.operator.units(chunk)
            if units:
                yield from _without_skipped(chunk, self.plan.skip(start, units))
            start += units


def _without_skipped(chunk: Any, skip: BoolArray | None) -> Iterator[tuple[Any, BoolArray | None]]:
    """The chunk as it is, or only its units that are let in where those are few: what a unit adds is the same."""
    if skip is None or 2 * int(skip.sum()) < skip.size:
        yield chunk, skip
    elif not skip.all():
        picked = pick(chunk, ~skip)
        yield (chunk, skip) if picked is None else (picked, None)


class BlockPopulation(SampledPopulation):
    """Tensors A_i W, W a public d x m matrix.

    Examples
    --------
    >>> from eigenveil.operators import samples
    >>> X = np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> block = BlockPopulation(samples.rows(X), np.eye(2)[:, :1])
    >>> block.shape, block.count(), (block.clipped_sum(np.zeros((2, 1)), 100.0, -10) / 2**10).tolist()
    ((2, 1), 2, [[9.0], [12.0]])
    """

    def __init__(
        self, operator: Operator, W: FloatArray, *, plan: Plan | None = None, engine: LocalEngine | None = None
    ) -> None:
        super().__init__(operator, plan=plan, engine=engine)
        self.W = _checked_columns("W", W, operator.d)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one tensor."""
        return self.W.shape

    @property
    def symmetric(self) -> bool:
        """Products A W are not symmetric."""
        return False

    def tensors(self) -> Iterator[FloatArray]:
        """Blocks of gradients A_i W, of the units let in."""
        for chunk, skip in self._chunks():
            products = self.operator.products(chunk, self.W)
            yield products if skip is None else products[~skip]

    def _surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        return self.operator.surveyor(self.W, centre, clips)


class MatrixPopulation(SampledPopulation):
    """Tensors A_i themselves, as symmetric d x d matrices: for small d."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one tensor."""
        return (self.operator.d, self.operator.d)

    @property
    def symmetric(self) -> bool:
        """Every tensor is the symmetric part of A_i."""
        return True

    def tensors(self) -> Iterator[FloatArray]:
        """Blocks of matrices, of the units let in."""
        identity = np.eye(self.operator.d)
        for chunk, skip in self._chunks():
            products = symmetric_part(self.operator.products(chunk, identity))
            yield products if skip is None else products[~skip]

    def _surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        return self.operator.matrix_surveyor(centre, clips)


class VectorPopulation(SampledPopulation):
    """Each unit's mean row: what the private mean is made of."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one tensor."""
        return (self.operator.d,)

    @property
    def symmetric(self) -> bool:
        """Vectors are not matrices."""
        return False

    def tensors(self) -> Iterator[FloatArray]:
        """Not needed by any mechanism."""
        raise InvalidInputError("mean rows are only ever surveyed, not handed out.")

    def _surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        return self.operator.vector_surveyor(centre, clips)


class VariancePopulation(SampledPopulation):
    """Each unit's u_j^T A_i u_j for the columns u_j of a public U, and last the rest of its trace.

    Parameters
    ----------
    operator : Operator
        The matrices.
    U : array of shape (d, k)
        Orthonormal columns.
    entries : slice
        Which of the k + 1 numbers are meant: all by default.

    Examples
    --------
    >>> from eigenveil.operators import samples
    >>> X = np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> both = VariancePopulation(samples.rows(X), np.eye(2)[:, :1])
    >>> np.concatenate(list(both.tensors())).tolist()
    [[9.0, 16.0], [0.0, 1.0]]
    >>> rest = VariancePopulation(samples.rows(X), np.eye(2)[:, :1], entries=slice(1, None))
    >>> rest.shape, rest.counts_within(np.zeros(1), np.array([2.0, 20.0])).tolist()
    ((1,), [1, 2])
    """

    def __init__(
        self,
        operator: Operator,
        U: FloatArray,
        *,
        entries: slice = slice(None),
        plan: Plan | None = None,
        engine: LocalEngine | None = None,
    ) -> None:
        super().__init__(operator, plan=plan, engine=engine)
        self.U = _checked_columns("U", U, operator.d)
        self.entries = entries
        if not len(range(self.U.shape[1] + 1)[entries]):
            raise InvalidInputError(f"none of the {self.U.shape[1] + 1} numbers of a unit is among {entries!r}.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one tensor."""
        return (len(range(self.U.shape[1] + 1)[self.entries]),)

    @property
    def symmetric(self) -> bool:
        """Vectors are not matrices."""
        return False

    def tensors(self) -> Iterator[FloatArray]:
        """Blocks of these numbers, of the units let in."""
        for chunk, skip in self._chunks():
            numbers = self._of(chunk)
            yield numbers if skip is None else numbers[~skip]

    def _surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        return Prepared(TensorSurveyor(centre, clips), lambda chunk: iter([(self._of(chunk), slice(None))]))

    def _of(self, chunk: Any) -> FloatArray:
        return self.operator.variances(chunk, self.U)[:, self.entries]


def _checked_columns(name: str, matrix: FloatArray, d: int) -> FloatArray:
    """The matrix, if it is finite and has d rows and a column at least."""
    out = np.ascontiguousarray(matrix, dtype=np.float64)
    if out.ndim != 2 or out.shape[0] != d or not out.shape[1]:
        raise InvalidInputError(f"{name} must have shape ({d}, m), got {np.shape(matrix)}.")
    if not np.all(np.isfinite(out)):
        raise InvalidInputError(f"{name} must be finite.")
    return out

"""Units with a veil and a privacy budget: everything that an algorithm may ask of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.engines import (
    Coins,
    ColumnPopulation,
    DisjointPlan,
    Engine,
    FullPlan,
    LeftOut,
    LocalEngine,
    PoissonPlan,
    RangePlan,
    SampledPopulation,
    SamplingPlan,
)
from eigenveil.engines.query import Chunk
from eigenveil.engines.sampled import Passes
from eigenveil.errors import InvalidInputError, NotDisjointError
from eigenveil.mechanisms.noise.byte_source import SeededBytes
from eigenveil.mechanisms.noise.exact_noise import gaussian_integers
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.operators import (
    Matrices,
    MeanRows,
    Operator,
    PeopleOperator,
    Products,
    RowsOperator,
    Squares,
    Tensor,
    Variances,
    made_of_rows,
)
from eigenveil.operators.rescaled import rescaled
from eigenveil.privacy.budget import Budget
from eigenveil.privacy.relation import Relation
from eigenveil.sources import Block


@dataclass(frozen=True)
class Units:
    """Units with a d x d matrix A_i each, a veil for all releases about them, and a privacy budget.

    Parameters
    ----------
    operator : Operator
        The matrices A_i, as products A_i W.
    veil : Veil
        Charges the ledger for releases, and draws noise.
    budget : Budget
        Privacy budget for these units. Every part of a split has the full budget again, since a unit is in one
        part only.
    plan : SamplingPlan
        Which units are included.
    engine : Engine
        Computes sums over units.
    removed : array of shape (d, i), optional
        Orthonormal directions that were projected out; `projected` sets it.
    stated : (float, float), optional
        Privacy budget (epsilon, delta) of the whole run, as the caller stated it.
    passes : Passes
        Number of passes over these units and over all units derived from them.

    Examples
    --------
    >>> from eigenveil.operators import samples
    >>> from eigenveil.privacy import Ledger
    >>> budget = Budget.from_mu(1.0)
    >>> units = Units(samples.rows(np.eye(3)), Veil(Ledger(budget)), budget)
    >>> units.d, units.block(np.ones((3, 2))).shape, len(units.split(4))
    (3, (3, 2), 4)
    """

    operator: Operator
    veil: Veil
    budget: Budget
    plan: SamplingPlan = field(default_factory=FullPlan)
    engine: Engine = field(default_factory=LocalEngine)
    removed: FloatArray | None = None
    stated: tuple[float, float] | None = None
    passes: Passes = field(default_factory=Passes)

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.operator.d

    @property
    def stated_cost(self) -> tuple[float, float]:
        """The stated (epsilon, delta), for algorithms of the paper whose noise formula depends on them."""
        if self.stated is None:
            raise InvalidInputError("noise as printed needs units that were opened with an epsilon and a delta.")
        return self.stated

    @property
    def single_rows(self) -> bool:
        """Whether every unit is one row; this is public."""
        return self.operator.single_rows

    def block(self, W: FloatArray) -> SampledPopulation:
        """Return the population of the products A_i W."""
        return self._population(Products(W))

    def matrices(self) -> SampledPopulation:
        """Return the population of the matrices A_i (their symmetric part).

        It is always the same object, which keeps data that were read ahead.
        """
        return self._matrices

    def vectors(self) -> SampledPopulation:
        """Return the population of the mean rows of units.

        It is always the same object, which keeps data that were read ahead.
        """
        return self._vectors

    @cached_property
    def _matrices(self) -> SampledPopulation:
        return self._population(Matrices())

    @cached_property
    def _vectors(self) -> SampledPopulation:
        return self._population(MeanRows())

    def columns(self, columns: IntArray, *, squared: bool = False) -> ColumnPopulation:
        """Return some columns of the mean rows of units, or of the means of their squared rows, as populations."""
        return ColumnPopulation(self.vectors(), columns, squared=squared)

    def squares(self, columns: IntArray, weights: FloatArray, most: float) -> SampledPopulation:
        """Return the population of the mean squares of units in some columns, weighted and clipped at `most`."""
        return self._population(Squares(columns, weights, most))

    def variances(self, U: FloatArray, *, entries: slice = slice(None)) -> SampledPopulation:
        """Return the population of u_j^T A_i u_j and, as the last entry, the rest of the trace.

        `entries` selects some of these entries.
        """
        return self._population(Variances(U, entries))

    def left_out(self) -> LeftOut | None:
        """Return what is excluded: rows of people, and unknown values by group of columns.

        None for units given as matrices, and for single rows without groups of columns.
        """
        if not made_of_rows(self.operator) or (self.single_rows and not self.operator.groups):
            return None
        return LeftOut(self.operator, plan=self.plan, engine=self.engine, passes=self.passes)

    def _population(self, tensor: Tensor) -> SampledPopulation:
        return SampledPopulation(self.operator, tensor, plan=self.plan, engine=self.engine, passes=self.passes)

    def shifted(self, shift: FloatArray) -> Units:
        """Return these units with `shift` subtracted from every row. Raises an error if units have no rows."""
        return replace(self, operator=self.operator.shifted(shift))

    def rescaled(self, scale: FloatArray) -> Units:
        """Return these units with every column divided by its scale, in single precision."""
        return replace(self, operator=rescaled(rows_of(self.operator), scale))

    def projected(self, removed: FloatArray) -> Units:
        """Return the units P A_i P, P = I - removed removed^T; `removed` (d, i) has orthonormal columns."""
        if not removed.shape[1]:
            return self
        both = removed if self.removed is None else np.concatenate([self.removed, removed], axis=1)
        return replace(self, operator=self.operator.projected(removed), removed=both)

    def damped(self, directions: FloatArray, factor: float) -> Units:
        """Return the units M A_i M, M = I - (1 - factor) D D^T, D orthonormal.

        M multiplies the part along `directions` by `factor`.
        """
        return replace(self, operator=self.operator.projected(directions * np.sqrt(1 - factor)))

    def inside(self, vectors: FloatArray) -> FloatArray:
        """Return P v for a vector, or for every column, where P projects out the removed directions."""
        out = np.array(vectors, dtype=np.float64)
        if self.removed is not None:
            for _ in range(2):  # the second time for the rounding error of the first
                out -= self.removed @ (self.removed.T @ out)
        return out

    @property
    def number_is_public(self) -> bool:
        """Whether neighbouring datasets have the same number of units, each in a fixed place."""
        return self.veil.relation is Relation.REPLACE and self.operator.fixed_places

    def by_position(self) -> Units:
        """Return these units in the order of the data; their parts are ranges of positions, as in the paper."""
        if self.veil.relation is not Relation.REPLACE:
            raise InvalidInputError(
                "parts by position need relation='replace': the removal of a unit would move all units after it.",
                hint="Pass relation='replace', under which the number of units is public, or use parts by coin.",
            )
        if not self.operator.fixed_places:
            raise InvalidInputError(
                "parts by position need units in fixed places, but people found by their ids are in the order of "
                "the ids: one person with a different id would move others to different parts.",
                hint="Use parts by coin (mean_estimator='tracked'), or pass one array per person to "
                "eigenveil.samples.factors.",
            )
        if not isinstance(self.plan, FullPlan):
            raise InvalidInputError(
                "parts by position need undivided units, got units that are already a part or a sample.",
                hint="Call by_position before units are split or sampled.",
            )
        _, *ends = np.cumsum([0, *self.vectors().slots_by_partition()]).tolist()
        return replace(self, plan=RangePlan(0, ends[-1], fixed_places=True, starts=(0, *ends[:-1])))

    def split(self, parts: int) -> tuple[Units, ...]:
        """Return disjoint parts, each with its own ledger; all together cost as much as the most expensive part.

        Each unit is assigned to a part by its own coin, or by its position if the plan is a range of positions.
        """
        split = self.plan.split(parts, self.veil.fresh_key())
        ledgers = self.veil.ledger.parallel(split)
        return tuple(
            replace(self, plan=split.part(index), veil=self.veil.over(ledger))
            for index, ledger in enumerate(ledgers)
        )

    def batches(self, parts: int) -> tuple[Units, ...]:
        """Return disjoint parts under one charge: their sums, one after the other, are one release.

        A unit is in one part only, so the sums of all parts together change by at most as much as the sum of one
        part. This also holds if the query to a part depends on the results of earlier parts. Pay once, for the
        sensitivity of one sum.
        """
        split = self.plan.split(parts, self.veil.fresh_key())
        if self.veil.relation.part_must_survive not in split.stable_under:
            raise NotDisjointError(f"parts must survive the {self.veil.relation.part_must_survive} of a unit.")
        split.assert_disjoint()
        return tuple(replace(self, plan=split.part(index)) for index in range(parts))

    def sampled(self, rate: float) -> Iterator[Units]:
        """Yield a fresh Poisson sample of these units for every round; the number of rounds is unbounded."""
        coins, round_ = Coins(self.veil.fresh_key()), 0
        while True:
            yield replace(self, plan=Both(self.plan, PoissonPlan(rate, round_, coins)))
            round_ += 1

    def singly(self) -> Iterator[Callable[[FloatArray], FloatArray]]:
        """Yield one unit after the other in the order of the data, each as the function W -> A_i W."""
        self.passes.made += 1
        for block in self.engine.map(self.operator.partitions(), self.plan, Chunk.included_units):
            for place in range(block.units):
                yield self._product(block.between(place, place + 1))

    def _product(self, unit: Block) -> Callable[[FloatArray], FloatArray]:
        def product(W: FloatArray) -> FloatArray:
            own: FloatArray = self.operator.products(unit, W)[0]
            return own

        return product

    def random_start(self, columns: int) -> FloatArray:
        """Return a random d x columns matrix with orthonormal columns in the image of P, independent of data."""
        stream = SeededBytes(int.from_bytes(self.veil.fresh_key(), "little"))
        Z = gaussian_integers(1 << 24, self.d * columns, stream).reshape(self.d, columns) / 2.0**24
        Q: FloatArray = np.linalg.qr(self.inside(Z))[0]
        return Q


def rows_of(operator: Operator) -> RowsOperator | PeopleOperator:
    """Return the operator of units that consist of rows, or raise."""
    if not made_of_rows(operator):
        raise InvalidInputError(
            "units given as matrices have no rows, so they cannot be centred or scaled.",
            hint="Use center=False and scale=None, or give rows or people.",
        )
    return operator


@dataclass(frozen=True)
class Both:
    """The plan that includes the units that two plans both include."""

    first: SamplingPlan
    second: SamplingPlan

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """Return which units to skip: those that either plan excludes."""
        one, other = (plan.skip(partition, start, units) for plan in (self.first, self.second))
        if one is None or other is None:
            return other if one is None else one
        return one | other

    def split(self, parts: int, key: bytes) -> DisjointPlan:
        """Return parts by the coin of each unit."""
        return DisjointPlan(parts, Coins(key), within=self)

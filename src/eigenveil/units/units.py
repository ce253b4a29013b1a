"""Units under a veil: what an algorithm is handed, and all it may ask of the data."""

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
    Plan,
    PoissonPlan,
    RangePlan,
    SampledPopulation,
)
from eigenveil.engines.query import Chunk
from eigenveil.engines.sampled import Passes
from eigenveil.errors import InvalidInputError, NotDisjointError
from eigenveil.mechanisms.byte_source import SeededBytes
from eigenveil.mechanisms.exact_noise import gaussian_integers
from eigenveil.mechanisms.veil import Veil
from eigenveil.operators import Matrices, MeanRows, Operator, Products, Squares, Tensor, Variances, made_of_rows
from eigenveil.privacy.budget import Budget
from eigenveil.privacy.relation import Relation
from eigenveil.sources import Block


@dataclass(frozen=True)
class Units:
    """Units with a d x d matrix A_i each, the veil through which anything about them leaves, and a budget.

    Parameters
    ----------
    operator : Operator
        The matrices, as products.
    veil : Veil
        Charges what is released.
    budget : Budget
        What may be spent on these units. In a part of a split it is the same again: a unit is in one part only.
    plan : Plan
        Which units are meant.
    engine : Engine
        Who does the sums.
    removed : array of shape (d, i), optional
        Orthonormal directions that were taken off; `projected` sets it.
    stated : (float, float), optional
        The (epsilon, delta) that the whole run may cost, as its caller stated it.
    passes : Passes
        How often these units, and all that were made of them, have been read.

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
    plan: Plan = field(default_factory=FullPlan)
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
        """The (epsilon, delta) that was stated, for algorithms whose noise is printed in terms of them."""
        if self.stated is None:
            raise InvalidInputError("noise as printed needs units that were opened with an epsilon and a delta.")
        return self.stated

    @property
    def single_rows(self) -> bool:
        """Whether every unit is one row, which is public."""
        return self.operator.single_rows

    def block(self, W: FloatArray) -> SampledPopulation:
        """The population of A_i W."""
        return self._population(Products(W))

    def matrices(self) -> SampledPopulation:
        """The population of A_i (their symmetric part); always the same one, which keeps what was read ahead."""
        return self._matrices

    def vectors(self) -> SampledPopulation:
        """The population of the units' mean rows; always the same one, which keeps what was read ahead."""
        return self._vectors

    @cached_property
    def _matrices(self) -> SampledPopulation:
        return self._population(Matrices())

    @cached_property
    def _vectors(self) -> SampledPopulation:
        return self._population(MeanRows())

    def columns(self, columns: IntArray, *, squared: bool = False) -> ColumnPopulation:
        """Some columns of the units' mean rows, or of the means of their rows' squares, each a population."""
        return ColumnPopulation(self.vectors(), columns, squared=squared)

    def squares(self, columns: IntArray, weights: FloatArray, most: float) -> SampledPopulation:
        """The population of the means of a unit's squares in some columns, weighted and cut at `most`."""
        return self._population(Squares(columns, weights, most))

    def variances(self, U: FloatArray, *, entries: slice = slice(None)) -> SampledPopulation:
        """The population of u_j^T A_i u_j and, last, the rest of the trace; `entries` says which of them."""
        return self._population(Variances(U, entries))

    def left_out(self) -> LeftOut | None:
        """What is left out of people, and by groups of columns; None for matrices, and rows without groups."""
        if not made_of_rows(self.operator) or (self.single_rows and not self.operator.groups):
            return None
        return LeftOut(self.operator, plan=self.plan, engine=self.engine, passes=self.passes)

    def _population(self, tensor: Tensor) -> SampledPopulation:
        return SampledPopulation(self.operator, tensor, plan=self.plan, engine=self.engine, passes=self.passes)

    def shifted(self, shift: FloatArray) -> Units:
        """The same with `shift` taken off every row."""
        return replace(self, operator=self.operator.shifted(shift))

    def projected(self, removed: FloatArray) -> Units:
        """The units P A_i P, P = I - removed removed^T; `removed` (d, i) has orthonormal columns."""
        if not removed.shape[1]:
            return self
        both = removed if self.removed is None else np.concatenate([self.removed, removed], axis=1)
        return replace(self, operator=self.operator.projected(removed), removed=both)

    def damped(self, directions: FloatArray, factor: float) -> Units:
        """The units M A_i M, M = I - (1 - factor) D D^T, D orthonormal: what lies along the directions shrinks."""
        return replace(self, operator=self.operator.projected(directions * np.sqrt(1 - factor)))

    def inside(self, vectors: FloatArray) -> FloatArray:
        """P v for a vector, or for every column: what lies in the directions taken off is dropped."""
        out = np.array(vectors, dtype=np.float64)
        if self.removed is not None:
            for _ in range(2):  # once more for what rounding left
                out -= self.removed @ (self.removed.T @ out)
        return out

    @property
    def number_is_public(self) -> bool:
        """Whether neighbours have the same number of units, each in a place of its own."""
        return self.veil.relation is Relation.REPLACE and self.operator.fixed_places

    def by_position(self) -> Units:
        """The same, in the order of the data: parts are then ranges of places, as the paper's batches are."""
        if self.veil.relation is not Relation.REPLACE:
            raise InvalidInputError(
                "parts by position need relation='replace': a removed unit would move all that follow it.",
                hint="Pass relation='replace', under which the number of units is public, or use parts by coin.",
            )
        if not self.operator.fixed_places:
            raise InvalidInputError(
                "parts by position need units in fixed places, but people found by their ids come in the order of "
                "the ids: one person with another id would move others to other parts.",
                hint="Use parts by coin (mean_estimator='tracked'), or pass one array per person to "
                "eigenveil.samples.factors.",
            )
        if not isinstance(self.plan, FullPlan):
            raise InvalidInputError(
                "a part by coin has no places of its own; take places before anything is split."
            )
        _, *ends = np.cumsum([0, *self.vectors().slots_by_partition()]).tolist()
        return replace(self, plan=RangePlan(0, ends[-1], fixed_places=True, starts=(0, *ends[:-1])))

    def split(self, parts: int) -> tuple[Units, ...]:
        """Disjoint parts, each charged by itself; the whole costs what the dearest part costs.

        Each unit goes by its own coin, or by its place where the plan is a range of places.
        """
        split = self.plan.split(parts, self.veil.fresh_key())
        ledgers = self.veil.ledger.parallel(split)
        return tuple(
            replace(self, plan=split.part(index), veil=self.veil.over(ledger))
            for index, ledger in enumerate(ledgers)
        )

    def batches(self, parts: int) -> tuple[Units, ...]:
        """Disjoint parts under one charge: their sums, one after the other, are one release.

        A unit is in one part only, so the sums of all parts together move by no more than one of them can, also
        where a part is asked what earlier answers suggest. Pay once, for the sensitivity of one.
        """
        split = self.plan.split(parts, self.veil.fresh_key())
        if self.veil.relation.part_must_survive not in split.stable_under:
            raise NotDisjointError(
                f"these parts do not survive the {self.veil.relation.part_must_survive} of a unit."
            )
        split.assert_disjoint()
        return tuple(replace(self, plan=split.part(index)) for index in range(parts))

    def sampled(self, rate: float) -> Iterator[Units]:
        """A fresh Poisson sample of these units every round, without end."""
        coins, round_ = Coins(self.veil.fresh_key()), 0
        while True:
            yield replace(self, plan=Both(self.plan, PoissonPlan(rate, round_, coins)))
            round_ += 1

    def singly(self) -> Iterator[Callable[[FloatArray], FloatArray]]:
        """One unit after the other, in the order of the data: each as the function W -> A_i W."""
        self.passes.made += 1
        for block in self.engine.map(self.operator.partitions(), self.plan, Chunk.let_in):
            for place in range(block.units):
                yield self._product(block.between(place, place + 1))

    def _product(self, unit: Block) -> Callable[[FloatArray], FloatArray]:
        def product(W: FloatArray) -> FloatArray:
            own: FloatArray = self.operator.products(unit, W)[0]
            return own

        return product

    def random_start(self, columns: int) -> FloatArray:
        """A random d x columns matrix with orthonormal columns in the image of P; it depends on no data."""
        stream = SeededBytes(int.from_bytes(self.veil.fresh_key(), "little"))
        Z = gaussian_integers(1 << 24, self.d * columns, stream).reshape(self.d, columns) / 2.0**24
        Q: FloatArray = np.linalg.qr(self.inside(Z))[0]
        return Q


@dataclass(frozen=True)
class Both:
    """The units that two plans let in."""

    first: Plan
    second: Plan

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """All that either leaves out are left out."""
        one, other = (plan.skip(partition, start, units) for plan in (self.first, self.second))
        if one is None or other is None:
            return other if one is None else one
        return one | other

    def split(self, parts: int, key: bytes) -> DisjointPlan:
        """Parts by each unit's own coin."""
        return DisjointPlan(parts, Coins(key), within=self)

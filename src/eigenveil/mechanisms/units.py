"""Units under a veil: what an algorithm is handed, and all it may ask of the data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from eigenveil.engines import (
    BlockPopulation,
    FullPlan,
    LocalEngine,
    MatrixPopulation,
    Plan,
    RangePlan,
    VectorPopulation,
)
from eigenveil.engines.population import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.veil import Veil
from eigenveil.operators import Operator
from eigenveil.privacy.budget import Budget
from eigenveil.privacy.relation import Relation


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
    engine : LocalEngine
        Who does the sums.

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
    engine: LocalEngine = field(default_factory=LocalEngine)

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.operator.d

    def block(self, W: FloatArray) -> BlockPopulation:
        """The population of A_i W."""
        return BlockPopulation(self.operator, W, plan=self.plan, engine=self.engine)

    def matrices(self) -> MatrixPopulation:
        """The population of A_i (their symmetric part)."""
        return MatrixPopulation(self.operator, plan=self.plan, engine=self.engine)

    def vectors(self) -> VectorPopulation:
        """The population of the units' mean rows."""
        return VectorPopulation(self.operator, plan=self.plan, engine=self.engine)

    def shifted(self, shift: FloatArray) -> Units:
        """The same with `shift` taken off every row."""
        return replace(self, operator=self.operator.shifted(shift))

    def projected(self, removed: FloatArray) -> Units:
        """The units P A_i P, P = I - removed removed^T; `removed` (d, i) has orthonormal columns."""
        return replace(self, operator=self.operator.projected(removed)) if removed.shape[1] else self

    def by_position(self) -> Units:
        """The same, in the order of the data: parts are then ranges of places, as the paper's batches are."""
        if self.veil.relation is not Relation.REPLACE:
            raise InvalidInputError(
                "parts by position need relation='replace': a removed unit would move all that follow it.",
                hint="Pass relation='replace', under which the number of units is public, or use parts by coin.",
            )
        return replace(self, plan=RangePlan(0, self.vectors().slots()))

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

    def random_start(self, columns: int) -> FloatArray:
        """A random d x columns matrix with orthonormal columns: it depends on no data, so numpy may draw it."""
        rng = np.random.default_rng(int.from_bytes(self.veil.fresh_key(), "little"))
        Q: FloatArray = np.linalg.qr(rng.standard_normal((self.d, columns)))[0]
        return Q

"""Sums and counts over units, in one pass. Knows nothing of privacy or principal components."""

from eigenveil.engines.local import LocalEngine
from eigenveil.engines.plans import Coins, DisjointPlan, FullPlan, Plan, PoissonPlan, RangePlan, batches
from eigenveil.engines.population import Population
from eigenveil.engines.sampled import (
    BlockPopulation,
    MatrixPopulation,
    SampledPopulation,
    VariancePopulation,
    VectorPopulation,
)
from eigenveil.engines.tensors import TensorPopulation

__all__ = [
    "BlockPopulation",
    "Coins",
    "DisjointPlan",
    "FullPlan",
    "LocalEngine",
    "MatrixPopulation",
    "Plan",
    "PoissonPlan",
    "Population",
    "RangePlan",
    "SampledPopulation",
    "TensorPopulation",
    "VariancePopulation",
    "VectorPopulation",
    "batches",
]

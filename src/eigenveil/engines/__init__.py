"""Sums and counts over units, in one pass. This layer has no logic for privacy or principal components."""

from eigenveil.engines.columns import ColumnPopulation
from eigenveil.engines.dask_engine import DaskEngine
from eigenveil.engines.engine import Engine
from eigenveil.engines.left_out import LeftOut
from eigenveil.engines.local import LocalEngine
from eigenveil.engines.plans import Coins, DisjointPlan, FullPlan, PoissonPlan, RangePlan, SamplingPlan, batches
from eigenveil.engines.population import ExplicitPopulation, Population
from eigenveil.engines.query import Query, SlotsQuery, SurveyQuery
from eigenveil.engines.sampled import Asked, SampledPopulation, read_ahead
from eigenveil.engines.spark_engine import SparkEngine
from eigenveil.engines.tensors import TensorPopulation

__all__ = [
    "Asked",
    "Coins",
    "ColumnPopulation",
    "DaskEngine",
    "DisjointPlan",
    "Engine",
    "ExplicitPopulation",
    "FullPlan",
    "LeftOut",
    "LocalEngine",
    "PoissonPlan",
    "Population",
    "Query",
    "RangePlan",
    "SampledPopulation",
    "SamplingPlan",
    "SlotsQuery",
    "SparkEngine",
    "SurveyQuery",
    "TensorPopulation",
    "batches",
    "read_ahead",
]

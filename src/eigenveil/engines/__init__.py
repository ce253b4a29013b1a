"""Sums and counts over units. Knows nothing of privacy or principal components."""

from eigenveil.engines.population import Population
from eigenveil.engines.tensors import TensorPopulation

__all__ = ["Population", "TensorPopulation"]

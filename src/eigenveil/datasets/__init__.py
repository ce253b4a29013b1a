"""The paper's data models with known true covariance, for studies and tests. Synthetic data, not private."""

from eigenveil.datasets.dataset import Dataset
from eigenveil.datasets.gaussian import gaussian
from eigenveil.datasets.pareto import pareto
from eigenveil.datasets.rare_spikes import rare_spikes
from eigenveil.datasets.spiked import spiked_covariance

__all__ = ["Dataset", "gaussian", "pareto", "rare_spikes", "spiked_covariance"]

"""Differentially private PCA: principal components with a guarantee for every person in the data."""

from importlib.metadata import version

from eigenveil.operators import samples

__version__ = version("eigenveil")
__all__ = ["__version__", "samples"]

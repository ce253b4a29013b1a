"""Differentially private PCA: principal components with a guarantee for every person in the data."""

from importlib.metadata import version

__version__ = version("eigenveil")
__all__ = ["__version__"]

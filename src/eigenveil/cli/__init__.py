"""Command line `eigenveil`: differentially private PCA of files. A thin layer over the other packages."""

from eigenveil.cli.front import main

__all__ = ["main"]

"""What the three figures on Gaussian rows share."""

from eigenveil.experiments.methods import EVERY
from eigenveil.experiments.names import GAUSS_1_BOUGHT
from eigenveil.experiments.setting import Setting

GAUSSIAN = Setting(model="gaussian", n=20_000, sigma=0.1**0.5)
"""Eigenvalues 10, 5, and .1 for all others, which the paper leaves open."""

METHODS = (*EVERY, GAUSS_1_BOUGHT)
"""On rows the clip that holds all of them is wide, so DP-Gauss-1 is also shown with one that it buys itself."""

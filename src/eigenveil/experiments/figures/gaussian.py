"""Setting and methods shared by the three figures on Gaussian rows."""

from eigenveil.experiments.methods import EVERY
from eigenveil.experiments.names import GAUSS_1_BOUGHT
from eigenveil.experiments.setting import Setting

GAUSSIAN = Setting(model="gaussian", n=20_000, sigma=0.1**0.5)
"""Eigenvalues 10 and 5, and .1 for all others, which the paper does not print."""

METHODS = (*EVERY, GAUSS_1_BOUGHT)
"""A clip that exceeds the norm of every row is large here, so DP-Gauss-1 is also shown with a bought clip."""

"""DP-Gauss-1 with the number of units and its best clip for free: what the arena compares with."""

from __future__ import annotations

import numpy as np
from cells import Cell, Drawn, FloatArray
from scipy import linalg

from eigenveil import metrics
from eigenveil.privacy.gaussian import gaussian_mu

QUANTILES = (0.1, 0.3, 0.5, 0.75, 0.9, 0.99)
RIVALS = ("printed", "ours", "none")
"""Whose noise: DP-Gauss-1 as printed, with our noise, with none."""


def gauss_1(cell: Cell, data: Drawn, seed: int) -> dict[tuple[int, str], list[float]]:
    """Zeta of DP-Gauss-1 at each quantile, for every k and kind of noise."""
    d, ks, mu = len(data.covariance), cell.ks, gaussian_mu(1.0, cell.delta)
    Z = np.random.default_rng(seed).standard_normal((d, d))
    noises = {"printed": np.triu(Z) + np.triu(Z, 1).T, "ours": (Z + Z.T) / 2, "none": 0 * Z}
    out: dict[tuple[int, str], list[float]] = {(k, name): [] for k in ks for name in RIVALS}
    for quantile in QUANTILES:
        radius = float(np.quantile(data.norms, quantile))
        total = data.clipped_sum(np.minimum(1.0, radius / data.norms))
        for name, noise in noises.items():
            top = _leading(total + noise * radius / mu, max(ks))
            for k in ks:
                out[k, name].append(metrics.zeta(top[:k], data.covariance))
    return out


def _leading(matrix: FloatArray, k: int) -> FloatArray:
    d = len(matrix)
    top: FloatArray = linalg.eigh(matrix, subset_by_index=[d - k, d - 1])[1][:, ::-1].T
    return top

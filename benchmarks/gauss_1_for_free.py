"""DP-Gauss-1 with the number of units and its best clip for free, or at fixed clips: the rivals of the arena."""

from __future__ import annotations

import math

import numpy as np
from cells import Cell, Drawn, FloatArray
from scipy import linalg

from eigenveil import metrics
from eigenveil.privacy.gaussian import gaussian_mu

QUANTILES = (0.1, 0.3, 0.5, 0.75, 0.9, 0.99)
FIXED = (0.25, 0.5, 0.75, 0.9)
"""Clips that somebody would fix without looking, for few rows."""
LEFT = 0.97
"""The share of mu^2 that tracked has left after its count and variances; DP-Gauss-1 gets it at a fixed clip."""
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


def fixed_clips(cell: Cell, data: Drawn, seed: int) -> dict[tuple[int, str], list[float]]:
    """Zeta of DP-Gauss-1 with our noise at each of the fixed quantiles, for every k."""
    d, mu = len(data.covariance), gaussian_mu(1.0, cell.delta) * math.sqrt(LEFT)
    Z = np.random.default_rng(seed).standard_normal((d, d))
    out: dict[tuple[int, str], list[float]] = {(k, "fixed"): [] for k in cell.ks}
    for quantile in FIXED:
        radius = float(np.quantile(data.norms, quantile))
        total = data.clipped_sum(np.minimum(1.0, radius / np.maximum(data.norms, 1e-300)))
        top = _leading(total + (Z + Z.T) / 2 * radius / mu, max(cell.ks))
        for k in cell.ks:
            out[k, "fixed"].append(metrics.zeta(top[:k], data.covariance))
    return out


def _leading(matrix: FloatArray, k: int) -> FloatArray:
    d = len(matrix)
    top: FloatArray = linalg.eigh(matrix, subset_by_index=[d - k, d - 1])[1][:, ::-1].T
    return top
